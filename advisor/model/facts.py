"""What somebody knows about one operator at one time: the facts file (docs/facts-format.md).

Every field is optional; an absent one is unknown, never zero. Units are in the names, ratios are 0 to 1.
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "SCHEMA",
    "ClientFacts",
    "ControllerFacts",
    "DemandFacts",
    "ExternalFacts",
    "Facts",
    "OperatorFacts",
    "ProcessFacts",
    "ScalingPoint",
]

SCHEMA: Final = "kuberay-advisor/facts/v1"

Amount = Annotated[float, Meta(ge=0.0)]
Ratio = Annotated[float, Meta(ge=0.0, le=1.0)]
Count = Annotated[int, Meta(ge=0)]
Limit = Annotated[float, Meta(ge=-1.0)]
Workers = Annotated[float, Meta(ge=1.0)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a facts file: an unknown key is an error."""


class OperatorFacts(_Part, frozen=True, kw_only=True):
    """Which operator it is; any controller-runtime operator is accepted."""

    name: str | None = None
    version: str | None = None
    queue: Literal["classic", "priority", "unknown"] = "unknown"
    profile: str | None = None
    """Name of the profile that is right for it; None where its name and its controllers tell."""


class ScalingPoint(_Part, frozen=True, kw_only=True):
    """A measured throughput at a number of workers."""

    workers: Workers
    items_per_second: Amount


class ControllerFacts(_Part, frozen=True, kw_only=True):
    """One controller."""

    max_concurrent_reconciles: Workers | None = None
    configured_concurrency: Workers | None = None
    active_workers_mean: Amount | None = None
    utilisation: Ratio | None = None
    depth_mean: Amount | None = None
    depth_max: Amount | None = None
    depth_by_priority: dict[str, Amount] = {}
    depth_trend_per_second: float | None = None
    adds_per_second: Amount | None = None
    reconciles_per_second: Amount | None = None
    queue_wait_seconds_mean: Amount | None = None
    queue_wait_seconds_p99: Amount | None = None
    reconcile_seconds_mean: Amount | None = None
    reconcile_seconds_p99: Amount | None = None
    longest_running_seconds: Amount | None = None
    error_ratio: Ratio | None = None
    terminal_error_ratio: Ratio | None = None
    requeue_after_ratio: Ratio | None = None
    retries_per_second: Amount | None = None
    hottest_key_share: Ratio | None = None
    distinct_keys: Count | None = None
    api_calls_per_reconcile: Amount | None = None
    scaling: tuple[ScalingPoint, ...] = ()


class ClientFacts(_Part, frozen=True, kw_only=True):
    """The operator's Kubernetes client; ``qps`` of -1 means that its limiter is off."""

    qps: Limit | None = None
    burst: Limit | None = None
    requests_per_second: Amount | None = None
    requests_per_second_by_code: dict[str, Amount] = {}
    write_requests_per_second: Amount | None = None
    limiter_wait_seconds_mean: Amount | None = None
    limiter_wait_seconds_p99: Amount | None = None
    limited_share: Ratio | None = None
    request_seconds_mean: Amount | None = None
    request_seconds_p99: Amount | None = None
    conflict_ratio: Ratio | None = None
    in_flight: Amount | None = None


class ExternalFacts(_Part, frozen=True, kw_only=True):
    """Calls to something else than the API server, made while a worker is held."""

    call_seconds_mean: Amount | None = None
    timeouts_per_second: Amount | None = None


class ProcessFacts(_Part, frozen=True, kw_only=True):
    """The process and its container."""

    cpu_cores: Amount | None = None
    cpu_limit_cores: Amount | None = None
    cpu_throttled_ratio: Ratio | None = None
    memory_bytes: Amount | None = None
    memory_limit_bytes: Amount | None = None
    restarts: Count | None = None
    oom_kills: Count | None = None
    replicas: Count | None = None
    leader: bool | None = None
    lease_errors_per_hour: Amount | None = None


class DemandFacts(_Part, frozen=True, kw_only=True):
    """What is asked of the operator."""

    objects: dict[str, Count] = {}
    resync_seconds: Annotated[float, Meta(gt=0.0)] | None = None
    items_in_burst: Amount | None = None
    drain_seconds: Amount | None = None
    api_calls_per_item: Amount | None = None


class Facts(_Part, frozen=True, kw_only=True):
    """A whole facts file."""

    schema: Literal["kuberay-advisor/facts/v1"] = SCHEMA
    operator: OperatorFacts = OperatorFacts()
    controllers: dict[str, ControllerFacts] = {}
    client: ClientFacts = ClientFacts()
    external: ExternalFacts = ExternalFacts()
    process: ProcessFacts = ProcessFacts()
    demand: DemandFacts = DemandFacts()
    missing_metrics: tuple[str, ...] = ()
