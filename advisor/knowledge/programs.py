"""What a reconcile of each kind asks of the API server, and the load that follows (research: kuberay 4).

Reads come from the informer cache and cost the API server nothing; only writes are listed. A request costs
``count + count_per_worker_pod * pods`` each time its phase occurs. Buckets are named by kind because the client has
one token bucket per kind (research: kuberay 1.7), shared by all controllers.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from advisor.knowledge.defaults import (
    DEFAULT_RESYNC_SECONDS,
    MTLS_CHECK_SECONDS,
    MTLS_NOT_READY_SECONDS,
    RAYCLUSTER_SETTLE_SECONDS,
    RAYJOB_POLL_SECONDS,
    RAYSERVICE_POLL_SECONDS,
)
from advisor.knowledge.program import ExternalCall, FirstPassRequests, ReconcileProgram, RequestCost, Verb

__all__ = [
    "EXTERNAL_CALLERS",
    "FIXED_WORKERS",
    "PROGRAMS",
    "REDIS_CLEANUP_HEAD_POLL_SECONDS",
    "REDIS_CLEANUP_JOB_POLL_SECONDS",
    "ExternalCall",
    "FirstPassRequests",
    "ReconcileProgram",
    "RequestCost",
    "Verb",
    "base_load_by_controller",
    "base_load_per_second",
    "first_pass_requests",
    "program_of",
]

FIXED_WORKERS: Final[Mapping[str, int]] = MappingProxyType({"raycluster-mtls": 1})
"""Controllers that ignore the concurrency flag, and the workers they have."""

REDIS_CLEANUP_HEAD_POLL_SECONDS: Final = 10.0
"""Requeue of a deleted RayCluster with Redis fault tolerance while its head Pod exists."""
REDIS_CLEANUP_JOB_POLL_SECONDS: Final = 2.0
"""The same while the clean-up Job runs."""


def _optional_post(kind: str, only_when: str) -> RequestCost:
    return RequestCost(phase="first-pass", verb="POST", kind=kind, bucket=kind, count=1, only_when=only_when)


def _events(phase: str, *, count: int = 0, count_per_worker_pod: int = 0) -> RequestCost:
    return RequestCost(
        phase=phase,
        verb="POST",
        kind="Event",
        bucket="Event",
        count=count,
        count_per_worker_pod=count_per_worker_pod,
        holds_worker=False,
    )


def _status(phase: str, kind: str) -> RequestCost:
    return RequestCost(phase=phase, verb="PUT", kind=f"{kind}/status", bucket=kind, count=1)


_RAYCLUSTER: Final = ReconcileProgram(
    controller="raycluster",
    kind="RayCluster",
    requeue_seconds=DEFAULT_RESYNC_SECONDS,
    settle_requeue_seconds=RAYCLUSTER_SETTLE_SECONDS,
    requests=(
        RequestCost(phase="first-pass", verb="POST", kind="Service", bucket="Service", count=1),
        RequestCost(phase="first-pass", verb="POST", kind="Pod", bucket="Pod", count=1, count_per_worker_pod=1),
        _status("first-pass", "RayCluster"),
        _events("first-pass", count=2, count_per_worker_pod=1),
        _optional_post("ServiceAccount", "autoscaler"),
        _optional_post("Role", "autoscaler"),
        _optional_post("RoleBinding", "autoscaler"),
        _optional_post("Ingress", "ingress or route enabled"),
        _optional_post("Secret", "authentication enabled"),
        _optional_post("Service", "multi-host workers or serve"),
        _optional_post("PersistentVolumeClaim", "embedded fault-tolerance storage"),
        RequestCost(phase="scale-up", verb="POST", kind="Pod", bucket="Pod", count_per_worker_pod=1),
        _status("scale-up", "RayCluster"),
        _events("scale-up", count_per_worker_pod=1),
        RequestCost(phase="scale-down", verb="DELETE", kind="Pod", bucket="Pod", count_per_worker_pod=1),
        _status("scale-down", "RayCluster"),
        _events("scale-down", count_per_worker_pod=1),
        _status("pod-status-change", "RayCluster"),
        RequestCost(
            phase="deletion", verb="POST", kind="Job", bucket="Job", count=1, only_when="Redis fault tolerance"
        ),
        RequestCost(
            phase="deletion",
            verb="PUT",
            kind="RayCluster",
            bucket="RayCluster",
            count=1,
            only_when="Redis fault tolerance",
        ),
    ),
    note="Pods are created one after another within one pass, so concurrency cannot shorten it. A steady pass writes "
    "nothing. CPU grows with the number of Pods of the cluster, and so does the number of triggers.",
)

_RAYJOB: Final = ReconcileProgram(
    controller="rayjob",
    kind="RayJob",
    requeue_seconds=RAYJOB_POLL_SECONDS,
    requests=(
        RequestCost(phase="new", verb="PUT", kind="RayJob", bucket="RayJob", count=1),
        _status("new", "RayJob"),
        RequestCost(phase="initializing", verb="POST", kind="RayCluster", bucket="RayCluster", count=1),
        RequestCost(
            phase="initializing", verb="POST", kind="Job", bucket="Job", count=1, only_when="submission by Job"
        ),
        _status("cluster-status-change", "RayJob"),
        RequestCost(phase="running", verb="POST", kind="Service", bucket="Service", count=1),
        _status("job-status-change", "RayJob"),
        RequestCost(phase="terminal", verb="DELETE", kind="RayCluster", bucket="RayCluster", count=1),
    ),
    external_calls=(
        ExternalCall(phase="every-pass", method="GET", target="job information", only_when="submitted and not ended"),
        ExternalCall(phase="initializing", method="POST", target="submission", only_when="submission over HTTP"),
        ExternalCall(phase="deletion", method="POST", target="stop of the job"),
    ),
    note="Its own status writes trigger it again. Initializing and Running poll; Waiting and ended ones do not.",
)

_RAYSERVICE: Final = ReconcileProgram(
    controller="rayservice",
    kind="RayService",
    requeue_seconds=RAYSERVICE_POLL_SECONDS,
    requests=(
        RequestCost(
            phase="creation", verb="PUT", kind="RayService", bucket="RayService", count=1, only_when="finalizer missing"
        ),
        RequestCost(phase="creation", verb="POST", kind="RayCluster", bucket="RayCluster", count=1),
        RequestCost(phase="health-change", verb="PUT", kind="Pod", bucket="Pod", count=1),
        RequestCost(phase="switch", verb="PUT", kind="Service", bucket="Service", count=1),
        _status("status-change", "RayService"),
    ),
    external_calls=(
        ExternalCall(phase="every-pass", method="GET", target="Serve proxy health", per_live_cluster=True),
        ExternalCall(phase="every-pass", method="GET", target="Serve details", per_live_cluster=True),
        ExternalCall(phase="config-change", method="PUT", target="Serve configuration", per_live_cluster=True),
    ),
    note="Requeued for ever unless suspended, invalid or timed out. With two clusters whose heads are dead, a pass "
    "holds its worker for up to four time-outs.",
)

_RAYCRONJOB: Final = ReconcileProgram(
    controller="raycronjob",
    kind="RayCronJob",
    requeue_seconds=None,
    requests=(
        RequestCost(phase="schedule", verb="POST", kind="RayJob", bucket="RayJob", count=1),
        _status("schedule", "RayCronJob"),
    ),
    feature_gate="RayCronJob",
    since="1.6",
    note="Its timer is the time to the next run of the schedule.",
)

_NETWORKPOLICY: Final = ReconcileProgram(
    controller="networkpolicy",
    kind="RayCluster",
    requeue_seconds=None,
    requests=(
        RequestCost(phase="every-pass", verb="POST", kind="NetworkPolicy", bucket="NetworkPolicy", count=2),
        RequestCost(
            phase="every-pass",
            verb="PUT",
            kind="NetworkPolicy",
            bucket="NetworkPolicy",
            count=2,
            only_when="the specification changed",
        ),
    ),
    feature_gate="RayClusterNetworkPolicy",
    since="1.7",
    note="It creates first and relies on 409 (already exists) afterwards: no conflict. One policy for the head, one "
    "for the workers, and only for RayClusters with network isolation.",
)

_MTLS: Final = ReconcileProgram(
    controller="raycluster-mtls",
    kind="RayCluster",
    requeue_seconds=MTLS_CHECK_SECONDS,
    settle_requeue_seconds=MTLS_NOT_READY_SECONDS,
    requests=(
        RequestCost(phase="first-pass", verb="PUT", kind="RayCluster", bucket="RayCluster", count=1),
        RequestCost(phase="first-pass", verb="POST", kind="Issuer", bucket="Issuer", count=2),
        RequestCost(phase="first-pass", verb="POST", kind="Certificate", bucket="Certificate", count=3),
        RequestCost(phase="deletion", verb="DELETE", kind="Secret", bucket="Secret", count=3),
        RequestCost(phase="deletion", verb="PUT", kind="RayCluster", bucket="RayCluster", count=1),
    ),
    feature_gate="RayClusterMTLS",
    since="1.7",
    note="Always one worker, whatever the flag says, and only for RayClusters with TLS; with a user's own certificate "
    "it writes nothing.",
)

PROGRAMS: Final[tuple[ReconcileProgram, ...]] = (
    _RAYCLUSTER,
    _RAYJOB,
    _RAYSERVICE,
    _RAYCRONJOB,
    _NETWORKPOLICY,
    _MTLS,
)


EXTERNAL_CALLERS: Final = frozenset(program.controller for program in PROGRAMS if program.makes_external_calls)
"""Controllers whose workers may wait for something that no series of the client shows."""


def program_of(controller: str) -> ReconcileProgram | None:
    """The program of a controller, or None for a controller that is not KubeRay's."""
    return next((program for program in PROGRAMS if program.controller == controller), None)


def first_pass_requests(worker_pods: int) -> FirstPassRequests:
    """Writes of the first pass of a plain RayCluster with a head and ``worker_pods`` workers.

    Raises:
        ValueError: if ``worker_pods`` is negative.
    """
    if worker_pods < 0:
        raise ValueError(f"worker_pods must not be negative, got {worker_pods}")
    costs = [cost for cost in _RAYCLUSTER.requests_in("first-pass") if not cost.only_when]
    return FirstPassRequests(
        by_bucket=tuple((cost.bucket, cost.requests(worker_pods)) for cost in costs if cost.holds_worker),
        event_writes=sum(cost.requests(worker_pods) for cost in costs if not cost.holds_worker),
    )


def base_load_by_controller(
    *,
    rayclusters: int,
    active_rayjobs: int,
    rayservices: int,
    resync_seconds: float = DEFAULT_RESYNC_SECONDS,
) -> dict[str, float]:
    """Reconciles per second that timers alone cause, by controller (research: kuberay 4.4).

    Args:
        rayclusters: RayClusters that exist, idle ones included.
        active_rayjobs: RayJobs that are initializing or running; ended and waiting ones do not poll.
        rayservices: RayServices that are neither suspended nor timed out.
        resync_seconds: the idle RayCluster's timer.

    Raises:
        ValueError: if a count is negative or ``resync_seconds`` is not positive.
    """
    if min(rayclusters, active_rayjobs, rayservices) < 0:
        raise ValueError(f"counts must not be negative, got {rayclusters}, {active_rayjobs}, {rayservices}")
    if not resync_seconds > 0:
        raise ValueError(f"resync_seconds must be positive, got {resync_seconds}")
    return {
        "raycluster": rayclusters / resync_seconds,
        "rayjob": active_rayjobs / RAYJOB_POLL_SECONDS,
        "rayservice": rayservices / RAYSERVICE_POLL_SECONDS,
    }


def base_load_per_second(
    *,
    rayclusters: int,
    active_rayjobs: int,
    rayservices: int,
    resync_seconds: float = DEFAULT_RESYNC_SECONDS,
) -> float:
    """Reconciles per second that timers alone cause, all controllers together; see ``base_load_by_controller``."""
    load = base_load_by_controller(
        rayclusters=rayclusters,
        active_rayjobs=active_rayjobs,
        rayservices=rayservices,
        resync_seconds=resync_seconds,
    )
    return sum(load.values())
