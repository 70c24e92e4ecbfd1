"""What a run of the twin needs to know of the world and the operator, apart from the load."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["GATES", "Faults", "OperatorSettings", "QueueKind", "WorldParameters"]


GATES = ("raycronjob", "networkpolicy", "raycluster-mtls")
"""Controllers that are there only with a feature gate."""


class QueueKind(Enum):
    """Generation of the work queue."""

    PRIORITY = "priority"
    CLASSIC = "classic"


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """What can be set: the three flags, the CPU limit, and what the release brings with it.

    Attributes:
        concurrency: workers of each controller.
        qps: refill rate of each client bucket; negative for no limiter.
        burst: capacity of each client bucket.
        cpu_limit_cores: CFS quota; None for none.
        queue: generation of the work queue.
        events_as_series: repeated events are patched into one (controller-runtime 0.23) instead of posted each.
        resync_seconds: after how long a RayCluster at rest is looked at again (research: kuberay 1.4).
        replicas: of the operator; all but one only watch the lease.
        gates: controllers that feature gates turn on, of `GATES`.
    """

    concurrency: int = 1
    qps: float = 100.0
    burst: int = 200
    cpu_limit_cores: float | None = None
    queue: QueueKind = QueueKind.PRIORITY
    events_as_series: bool = True
    resync_seconds: float = 300.0
    replicas: int = 1
    gates: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Faults:
    """Answers that are not what was asked for, and Pods that do not do what they should, by chance.

    Attributes:
        throttled_ratio: share of the operator's writes answered with 429.
        retry_after_seconds: what those say; the client sleeps and tries again, up to ten times.
        pod_refused_ratio: share of Pod creations that fail for good.
        throttled_kinds: kinds whose writes are answered with 429; empty for all.
        pod_refused_status: with what; 403 is a quota, 500 a broken webhook.
        pod_refused_namespace: only Pods of this namespace are refused; empty for all.
        pod_pending_ratio: share of Pods that are created but never scheduled.
        pod_stuck_ratio: share of deleted Pods that stay Terminating until `to_seconds`, or for good.
        dashboard_timeout_ratio: share of calls to dashboards that end only by their time-out.
        from_seconds: all of this begins then.
        to_seconds: and ends then; None for never.
    """

    throttled_ratio: float = 0.0
    retry_after_seconds: float = 1.0
    pod_refused_ratio: float = 0.0
    throttled_kinds: tuple[str, ...] = ()
    pod_refused_status: int = 403
    pod_refused_namespace: str = ""
    pod_pending_ratio: float = 0.0
    pod_stuck_ratio: float = 0.0
    dashboard_timeout_ratio: float = 0.0
    from_seconds: float = 0.0
    to_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WorldParameters:
    """Times of the world around the operator. Every figure has the unit in its name and is at least zero.

    The API server is one line of work, served in order: each request takes `server_work_seconds` of it, and the rest of
    its time (`request_seconds`) is delay that does not depend on load. 1 / `server_work_seconds` is the most requests a
    second that it answers.

    Attributes:
        request_seconds: time of one write outside the line, by verb, or by verb and kind (`POST Pod`), which goes
            before; what is missing takes as long as POST.
        request_spread: quantiles of that time as factors with mean 1, drawn from at random.
        server_work_seconds: time of one write in the line.
        pod_work_seconds: time in the line of each of the writes that others make for a Pod (bind, status, removal).
        pod_start_seconds: from a Pod's creation to running, what is not spent in the line.
        pod_start_spread: quantiles of that time as factors with mean 1.
        pod_starters: how many Pods can be on the way from bound to running at a time, over all nodes.
        pod_stop_seconds: from the request to delete a Pod to its end, what is not spent in the line.
        watch_lag_seconds: from a write to its sight in the operator's cache, what is not spent in the line.
        watch_lag_spread: quantiles of that time as factors with mean 1.
        watch_share: how much of the line's backlog a watch event waits for as well, from 0 to 1.
        reconcile_seconds: CPU time of a reconcile without its requests.
        read_seconds: from a key's hand-off until its reconcile reads the cache; None reads after its CPU time.
        request_cpu_seconds: CPU time of each request of the operator.
        event_cpu_seconds: CPU time of each watch event that the operator receives; holds no worker.
        dashboard_seconds: time of one call to a Ray dashboard or Serve.
        dashboard_timeout_seconds: when the operator gives such a call up (research: kuberay 4.2: 2 s direct).
        certificate_seconds: from the request for a certificate until cert-manager writes its Secret.
        faults: wrong answers and Pods that hang.
    """

    request_seconds: dict[str, float] = field(default_factory=lambda: {"POST": 0.02, "PUT": 0.02, "PATCH": 0.02})
    request_spread: tuple[float, ...] = (1.0,)
    server_work_seconds: float = 0.001
    pod_work_seconds: float = 0.001
    pod_start_seconds: float = 0.0
    pod_start_spread: tuple[float, ...] = (1.0,)
    pod_starters: int = 1000
    pod_stop_seconds: float = 0.0
    watch_lag_seconds: float = 0.002
    watch_lag_spread: tuple[float, ...] = (1.0,)
    watch_share: float = 1.0
    reconcile_seconds: float = 0.002
    read_seconds: float | None = None
    request_cpu_seconds: float = 0.0
    event_cpu_seconds: float = 0.0
    dashboard_seconds: float = 0.0
    dashboard_timeout_seconds: float = 2.0
    certificate_seconds: float = 1.0
    faults: Faults = field(default_factory=Faults)
