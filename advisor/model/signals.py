"""Signals of one operator over one window, grouped by what they are about."""

import enum

import msgspec

from advisor.knowledge.profile import Profile
from advisor.knowledge.profiles import KUBERAY
from advisor.model.facts import ScalingPoint
from advisor.model.settings import Settings
from advisor.model.signal import Signal, Window

__all__ = [
    "ApiServerSignals",
    "ClientSignals",
    "ControllerSignals",
    "DemandSignals",
    "Episode",
    "EpisodeKind",
    "ExternalSignals",
    "KeyLoad",
    "LogSignals",
    "NamespaceLoad",
    "OperatorSignals",
    "PriorityDepth",
    "ProcessSignals",
    "TimeBudget",
    "VerbSignals",
]


class EpisodeKind(enum.StrEnum):
    """What the operator was doing during an episode."""

    STARTUP = "startup"
    LOAD = "load"
    QUIET = "quiet"


class Episode(msgspec.Struct, frozen=True):
    """A contiguous time of one behaviour, and why it was cut there."""

    kind: EpisodeKind
    window: Window
    reason: str


class PriorityDepth(msgspec.Struct, frozen=True):
    """Depth of the ready queue at one priority; "" is the classic queue, which has none."""

    priority: str
    mean: Signal
    peak: Signal


class ControllerSignals(msgspec.Struct, frozen=True, kw_only=True):
    """One controller: its workers, its queue and its reconciles (identities: controller-runtime 8.1)."""

    controller: str
    max_concurrent_reconciles: Signal
    configured_concurrency: Signal
    busy_worker_seconds: Signal
    busy_workers_mean: Signal
    active_workers_peak: Signal
    utilisation: Signal
    depth_mean: Signal
    depth_peak: Signal
    depth_end: Signal
    depth_trend_per_second: Signal
    depth_by_priority: tuple[PriorityDepth, ...]
    backlog_mean: Signal
    backlog_peak: Signal
    blocked_ratio: Signal
    adds_per_second: Signal
    reconciles: Signal
    reconciles_per_second: Signal
    queue_wait_seconds_mean: Signal
    queue_wait_seconds_p99: Signal
    waiting_key_seconds: Signal
    oldest_wait_seconds_peak: Signal
    work_seconds_mean: Signal
    reconcile_seconds_mean: Signal
    reconcile_seconds_p99: Signal
    longest_running_seconds: Signal
    error_ratio: Signal
    error_ratio_net: Signal
    errors_per_second: Signal
    terminal_error_ratio: Signal
    requeue_after_ratio: Signal
    delayed_adds_per_second: Signal
    hottest_key_share: Signal
    distinct_keys: Signal
    api_calls_per_reconcile: Signal
    scaling: tuple[ScalingPoint, ...]
    """Throughputs measured at other numbers of workers, where somebody has them."""


class VerbSignals(msgspec.Struct, frozen=True, kw_only=True):
    """Requests of one HTTP verb, of all kinds and callers together."""

    verb: str
    requests_per_second: Signal
    request_seconds_mean: Signal
    limiter_wait_seconds_mean: Signal
    api_seconds_mean: Signal


class ClientSignals(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's Kubernetes client, over all its buckets (controller-runtime 5, kuberay 1.7 and 2.3)."""

    requests_per_second: Signal
    requests_per_second_by_code: dict[str, Signal]
    write_requests_per_second: Signal
    post_requests_per_second: Signal
    peak_post_per_second: Signal
    request_seconds_mean: Signal
    limiter_wait_seconds_mean: Signal
    limiter_wait_seconds: Signal
    api_seconds_mean: Signal
    write_api_seconds_mean: Signal
    inferred_write_seconds_mean: Signal
    api_seconds: Signal
    limited_share: Signal
    in_flight: Signal
    conflict_ratio: Signal
    conflicts_per_second: Signal
    too_many_requests_ratio: Signal
    server_error_ratio: Signal
    refused_ratio: Signal
    verbs: tuple[VerbSignals, ...]


class ProcessSignals(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's process and container."""

    cpu_seconds: Signal
    cpu_cores: Signal
    cpu_limit_cores: Signal
    cpu_throttled_ratio: Signal
    cpu_throttled_seconds: Signal
    memory_bytes: Signal
    memory_limit_bytes: Signal
    restarts: Signal
    oom_kills: Signal
    replicas: Signal
    leader: Signal
    lease_errors_per_hour: Signal
    uptime_seconds: Signal


class DemandSignals(msgspec.Struct, frozen=True, kw_only=True):
    """What the cluster asked of the operator, from the object timeline or, as a count, from ``kuberay_*`` series."""

    objects: dict[str, Signal]
    clusters_created: Signal
    ready_seconds_mean: Signal
    ready_seconds_p95: Signal
    unready_cluster_seconds: Signal
    unready_clusters_peak: Signal
    pods_created: Signal
    peak_pods_created_per_second: Signal
    sustained_pods_per_second: Signal
    largest_fanout_pods: Signal
    pending_pod_seconds: Signal
    missing_pod_cluster_seconds: Signal
    resync_seconds: Signal
    items_in_burst: Signal
    drain_seconds: Signal
    api_calls_per_item: Signal


class ExternalSignals(msgspec.Struct, frozen=True, kw_only=True):
    """Calls to something else than the API server; no series tells them, a person may."""

    call_seconds_mean: Signal
    timeouts_per_second: Signal


class ApiServerSignals(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server's own series say of the writes of Ray objects, Pods and Services by anybody, and of 429."""

    write_seconds_mean: Signal
    rejected_per_second: Signal


class LogSignals(msgspec.Struct, frozen=True, kw_only=True):
    """What only the operator's log tells."""

    throttle_lines: Signal
    throttle_wait_seconds_peak: Signal
    throttled_kind: str
    blocked_groups: Signal
    blocked_seconds_peak: Signal
    control_flow_errors: Signal
    conflicts: Signal
    commonest_error: str
    lease_losses: Signal


class TimeBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Shares (0..1) of a busy worker's second by what it waited for, each with bounds.

    ``rest`` is what nothing measured can explain; with it the known shares add up to one.
    """

    busy_worker_seconds: Signal
    api_server: Signal
    client_limiter: Signal
    cpu: Signal
    external: Signal
    rest: Signal


class KeyLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one key cost. ``busy_share`` is its part of all busy worker time that the log shows."""

    controller: str
    namespace: str
    name: str
    reconciles: int
    busy_seconds: float
    busy_share: float
    errors: int
    conflicts: int
    pods_created: int


class NamespaceLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What one namespace takes; a namespace has no fair share of its own."""

    namespace: str
    reconciles: int
    busy_share: float
    errors: int
    pods_created: int


class OperatorSignals(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything known about one operator over one window, whatever the source."""

    window: Window
    settings: Settings
    controllers: tuple[ControllerSignals, ...]
    client: ClientSignals
    process: ProcessSignals
    demand: DemandSignals
    log: LogSignals
    external: ExternalSignals
    budget: TimeBudget
    keys: tuple[KeyLoad, ...]
    namespaces: tuple[NamespaceLoad, ...]
    queue: str
    """``priority``, ``classic`` or ``unknown``."""
    absent_series: tuple[str, ...]
    """Series of the catalogue that this operator should expose and does not."""
    api_server: ApiServerSignals | None = None
    """None where the input holds nothing of the API server itself."""
    profile: Profile = KUBERAY
    """What is known of this kind of operator."""

    def controller(self, name: str) -> ControllerSignals | None:
        """The controller of that label, or None."""
        return next((one for one in self.controllers if one.controller == name), None)
