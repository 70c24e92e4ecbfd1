"""RayJobs in the twin: the reconcile program of research: kuberay 4.2.

Each one is looked at every three seconds until it has ended, with one call to its dashboard while it runs, and at each
event of its own, its status writes included.
"""

from collections.abc import Generator
from enum import IntEnum
from typing import NamedTuple

from advisor.queueing.outcome import Outcome
from advisor.twin.client import Request, Status
from advisor.twin.cluster import NO_STATUS, ClusterStatus
from advisor.twin.owners import Owner, Owners, OwnersWorld
from advisor.twin.workers import FAILED, GONE, Reconcile
from advisor.twin.workload import Arrival, Existing

__all__ = ["Job", "JobState", "Phase", "RayJobs"]

_SECOND_NS = 1_000_000_000
_AGAIN = Outcome(requeue_after_ns=3 * _SECOND_NS)


class Phase(IntEnum):
    """Job deployment status."""

    NEW = 0
    INITIALIZING = 1
    RUNNING = 2
    COMPLETE = 3


class JobState(NamedTuple):
    """What is written in a RayJob.

    Attributes:
        phase: its deployment status.
        has_finalizer: whether the operator has put its finalizer on it.
        is_deleting: whether somebody has asked for its end.
        is_known: whether the dashboard has told a status of the job.
        cluster: the status of its cluster, as copied into it.
    """

    phase: Phase = Phase.NEW
    has_finalizer: bool = False
    is_deleting: bool = False
    is_known: bool = False
    cluster: ClusterStatus = NO_STATUS

    @property
    def shown(self) -> str | None:
        """The deployment status as KubeRay spells it."""
        return None if self.phase is Phase.NEW else self.phase.name.capitalize()


_Step = Generator[Request | int, int, JobState | None]


class Job(Owner[JobState]):
    """One RayJob.

    Attributes:
        run_ns: how long it runs; None for longer than the run.
        ends_ns: when it has run; None before it runs.
    """

    __slots__ = ("ends_ns", "is_shut_down", "job_created", "makes_job", "run_ns")

    def __init__(self, key: str, workers: int, groups: int, created_ns: int, state: JobState) -> None:
        super().__init__(key, workers, groups, created_ns, state)
        self.run_ns: int | None = None
        self.ends_ns: int | None = None
        self.makes_job = False
        self.is_shut_down = False
        self.job_created = False


class RayJobs(Owners[JobState]):
    """All RayJobs."""

    kind = "RayJob"
    wakes_on_status = True

    def __init__(self, world: OwnersWorld) -> None:
        super().__init__(world)
        self._post_job = world.client.request("POST", "Job")

    def arrive(self, arrival: Arrival) -> None:
        """Somebody creates a RayJob."""
        job = Job(arrival.key, arrival.workers, arrival.groups, self._engine.now_ns, JobState())
        job.run_ns = round(arrival.run_seconds * _SECOND_NS)
        job.makes_job = arrival.makes_job
        job.is_shut_down = arrival.is_shut_down
        self.create(job)

    def exist(self, existing: Existing) -> None:
        """A RayJob runs since long."""
        job = Job(existing.key, existing.workers, existing.groups, 0, JobState())
        if existing.run_seconds is not None:
            job.ends_ns = round(existing.run_seconds * _SECOND_NS)
        cluster = self.owned_cluster(job)
        self.clusters.add_ready(cluster)
        job.state = JobState(Phase.RUNNING, has_finalizer=True, is_known=True, cluster=cluster.status)
        self.add_existing(job, cluster)

    def delete(self, key: str) -> None:
        """Somebody deletes a RayJob; it stays until the operator lets it go."""
        job = self.by_key.get(key)
        if job is not None and not job.is_gone:
            self.change(job, job.state._replace(is_deleting=True))

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of a RayJob."""
        job = self.by_key.get(key)
        if not isinstance(job, Job) or job.seen_state is None:
            return GONE
        state, version = job.seen_state, job.seen_version
        if state.is_deleting:
            return (yield from self._let_go(job, state, version))
        if state.phase is Phase.COMPLETE:
            return (yield from self._clean_up(job))
        if state.phase is Phase.NEW and not state.has_finalizer:
            state = state._replace(has_finalizer=True)
            if not (yield from self.write(job, version, state)):
                return FAILED
            version += 1
        wanted = yield from self._next(job, state)
        if wanted is None or (wanted != state and not (yield from self.write(job, version, wanted))):
            return FAILED
        return _AGAIN

    def _next(self, job: Job, state: JobState) -> _Step:
        """The state that follows; None where something failed."""
        if state.phase is Phase.NEW:
            return state._replace(phase=Phase.INITIALIZING)
        if state.phase is Phase.INITIALIZING:
            return (yield from self._initialize(job, state))
        return (yield from self._poll(job, state))

    def _initialize(self, job: Job, state: JobState) -> _Step:
        cluster = job.seen_cluster
        if cluster is None:
            return state if (yield from self.create_cluster(job)) else None
        if not cluster.seen_status.is_ready:
            return state._replace(cluster=cluster.seen_status)
        if job.makes_job and not job.job_created:
            if (yield self._post_job) != Status.OK:
                return None
            job.job_created = True
            self.events.record(job.key, "job")
        if job.run_ns is not None:
            job.ends_ns = self._engine.now_ns + job.run_ns
        return state._replace(phase=Phase.RUNNING)

    def _poll(self, job: Job, state: JobState) -> _Step:
        cluster = job.seen_cluster
        if cluster is None and not (yield from self.create_cluster(job)):
            return None
        if not job.service_created and not (yield from self.create_service(job)):
            return None
        nanoseconds, is_answered = self.dashboard.call()
        yield nanoseconds
        if not is_answered:
            return state
        is_over = job.ends_ns is not None and self._engine.now_ns >= job.ends_ns
        return state._replace(
            phase=Phase.COMPLETE if is_over else Phase.RUNNING,
            is_known=True,
            cluster=cluster.seen_status if cluster is not None else state.cluster,
        )

    def _clean_up(self, job: Job) -> Reconcile:
        if job.is_shut_down and job.seen_cluster is not None and not (yield from self.delete_cluster(job)):
            return FAILED
        return GONE

    def _let_go(self, job: Job, state: JobState, version: int) -> Reconcile:
        """Stop the job and take the finalizer off, whatever the dashboard answers."""
        if state.phase is not Phase.COMPLETE:
            nanoseconds, _ = self.dashboard.call()
            yield nanoseconds
        return _AGAIN if (yield from self.release(job, version)) else FAILED
