"""What happens to the operator: objects that exist, arrive and change, other writers, and what goes wrong.

Times are seconds from the start of a run. Keys are "namespace/name".
"""

from dataclasses import dataclass

from advisor.twin.parameters import OperatorSettings

__all__ = [
    "KINDS",
    "Arrival",
    "CronJob",
    "Deletion",
    "Existing",
    "Restart",
    "Scaling",
    "Slowdown",
    "Workload",
    "Writer",
]

KINDS = ("RayCluster", "RayJob", "RayService")


@dataclass(frozen=True, slots=True)
class Existing:
    """An object that is there and at rest before the run: its cluster is ready, a RayJob runs, a RayService serves.

    Attributes:
        key: its key.
        workers: worker Pods of the RayCluster that it is or has.
        groups: worker groups these are spread over.
        kind: RayCluster, RayJob or RayService.
        run_seconds: how long a RayJob goes on running; None for longer than the run.
    """

    key: str
    workers: int
    groups: int = 1
    kind: str = "RayCluster"
    run_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody creates a RayCluster, RayJob or RayService.

    Attributes:
        at_seconds: when.
        key: its key.
        workers: worker Pods of the RayCluster that it is or brings.
        groups: worker groups these are spread over.
        kind: RayCluster, RayJob or RayService.
        run_seconds: how long a RayJob runs once its cluster is ready.
        makes_job: a RayJob is submitted by a Kubernetes Job (K8sJobMode), which is one more write.
        is_shut_down: a RayJob's cluster is deleted when it has finished (shutdownAfterJobFinishes).
    """

    at_seconds: float
    key: str
    workers: int
    groups: int = 1
    kind: str = "RayCluster"
    run_seconds: float = 60.0
    makes_job: bool = False
    is_shut_down: bool = False


@dataclass(frozen=True, slots=True)
class CronJob:
    """A RayCronJob that is there from the start; its RayJobs are called KEY-0, KEY-1 and so on.

    Attributes:
        key: its key.
        period_seconds: from one run to the next.
        from_seconds: when the first is due.
        workers: worker Pods of the RayCluster that each RayJob brings.
        groups: worker groups these are spread over.
        run_seconds: how long each RayJob runs once its cluster is ready.
        makes_job: see `Arrival`.
        is_shut_down: see `Arrival`.
    """

    key: str
    period_seconds: float
    from_seconds: float = 0.0
    workers: int = 1
    groups: int = 1
    run_seconds: float = 60.0
    makes_job: bool = False
    is_shut_down: bool = False


@dataclass(frozen=True, slots=True)
class Scaling:
    """Somebody sets the number of workers of a RayCluster, over all its groups."""

    at_seconds: float
    key: str
    workers: int


@dataclass(frozen=True, slots=True)
class Deletion:
    """Somebody deletes an object."""

    at_seconds: float
    key: str
    kind: str = "RayCluster"


@dataclass(frozen=True, slots=True)
class Writer:
    """Another client that keeps writing labels or annotations of RayClusters.

    Attributes:
        keys: the clusters, written in turn.
        writes_per_second: pace over all of them.
        from_seconds: when it begins.
        to_seconds: when it ends.
    """

    keys: tuple[str, ...]
    writes_per_second: float
    from_seconds: float
    to_seconds: float


@dataclass(frozen=True, slots=True)
class Restart:
    """The operator's process ends and another takes its place: a restart, or a change of leader.

    Attributes:
        at_seconds: when it ends; 0 lets the run begin with a process that starts.
        down_seconds: until the next one has its caches and the lease.
        settings: what the next one is started with: workers, QPS and Burst of these are taken over, all else stays as
            the run began; None for those before.
    """

    at_seconds: float
    down_seconds: float = 5.0
    settings: OperatorSettings | None = None


@dataclass(frozen=True, slots=True)
class Slowdown:
    """The API server answers the operator more slowly for a time.

    Attributes:
        factor: by which each request's own delay grows.
        from_seconds: when it begins.
        to_seconds: when it ends.
    """

    factor: float
    from_seconds: float
    to_seconds: float


@dataclass(frozen=True, slots=True)
class Workload:
    """All that happens in a run.

    Attributes:
        existing: objects that are at rest at the start.
        arrivals: what is created.
        scalings: what is scaled.
        deletions: what is deleted.
        writers: who else writes.
        restarts: of the operator.
        cron_jobs: RayCronJobs, which run where their controller is on.
        slowdowns: of the API server; at most one at a time.
        duration_seconds: length of the run; None ends it when all arrivals are ready, all scalings have got what they
            asked for, and `tail_seconds` have passed.
        tail_seconds: how long to look on after that.
        limit_seconds: the longest that such a run may take.
    """

    existing: tuple[Existing, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    scalings: tuple[Scaling, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    writers: tuple[Writer, ...] = ()
    restarts: tuple[Restart, ...] = ()
    cron_jobs: tuple[CronJob, ...] = ()
    slowdowns: tuple[Slowdown, ...] = ()
    duration_seconds: float | None = None
    tail_seconds: float = 2.0
    limit_seconds: float = 7200.0
