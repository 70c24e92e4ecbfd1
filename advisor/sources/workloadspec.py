"""What a workload file may hold (docs/workload-format.md). Units are in the names, ratios are 0 to 1."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

__all__ = [
    "SCHEMA",
    "ArrivalSpec",
    "CronJobSpec",
    "DeletionSpec",
    "ExistingSpec",
    "FaultSpec",
    "JobSpec",
    "OperatorSpec",
    "Paced",
    "RestartSpec",
    "ScalingSpec",
    "Verb",
    "WorkloadSpec",
    "WorldSpec",
    "WriterSpec",
]

SCHEMA: Final = "kuberay-advisor/workload/v1"

_LONGEST_SECONDS: Final = 30 * 86400.0
_NAME: Final = r"^[a-z0-9]([-a-z0-9]{0,48}[a-z0-9])?$"

Time = Annotated[float, Meta(ge=0.0, le=_LONGEST_SECONDS)]
Duration = Annotated[float, Meta(gt=0.0, le=_LONGEST_SECONDS)]
Amount = Annotated[float, Meta(ge=0.0, le=3600.0)]
Factor = Annotated[float, Meta(ge=0.0, le=1000.0)]
Rate = Annotated[float, Meta(gt=0.0, le=100_000.0)]
Ratio = Annotated[float, Meta(ge=0.0, le=1.0)]
Objects = Annotated[int, Meta(ge=1, le=50_000)]
Pods = Annotated[int, Meta(ge=0, le=10_000)]
Groups = Annotated[int, Meta(ge=1, le=100)]
Workers = Annotated[int, Meta(ge=1, le=1000)]
Requests = Annotated[int, Meta(ge=1, le=1_000_000)]
Name = Annotated[str, Meta(pattern=_NAME)]
Namespaces = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=1000)]
Verb = Literal["POST", "PUT", "PATCH", "DELETE"]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a workload file: an unknown key is an error."""


class ExistingSpec(_Part, frozen=True, kw_only=True):
    """Objects of one kind and size that are there and at rest at the start."""

    kind: Literal["RayCluster", "RayJob", "RayService"] = "RayCluster"
    count: Objects
    workers: Pods = 1
    groups: Groups = 1
    run_seconds: Time | None = None
    namespaces: Namespaces = ("default",)


class Paced(_Part, frozen=True, kw_only=True):
    """Objects one after another: at once, so many a second, or over so many seconds."""

    from_seconds: Time = 0.0
    per_second: Rate | None = None
    over_seconds: Duration | None = None
    spacing: Literal["even", "random"] = "even"


class ArrivalSpec(Paced, frozen=True, kw_only=True):
    """RayClusters or RayServices that somebody creates."""

    count: Objects
    workers: Pods = 1
    groups: Groups = 1
    namespaces: Namespaces = ("default",)


class JobSpec(ArrivalSpec, frozen=True, kw_only=True):
    """RayJobs that somebody creates."""

    run_seconds: Time = 60.0
    makes_job: bool = False
    is_shut_down: bool = False


class CronJobSpec(_Part, frozen=True, kw_only=True):
    """RayCronJobs that are there from the start; each creates a RayJob every so many seconds."""

    count: Objects = 1
    every_seconds: Annotated[float, Meta(ge=1.0, le=_LONGEST_SECONDS)]
    from_seconds: Time = 0.0
    workers: Pods = 1
    groups: Groups = 1
    run_seconds: Time = 60.0
    makes_job: bool = False
    is_shut_down: bool = False
    namespaces: Namespaces = ("default",)


class DeletionSpec(Paced, frozen=True, kw_only=True):
    """Somebody deletes objects: the first so many under a name, all where no number is given."""

    of: Name
    count: Objects | None = None


class ScalingSpec(DeletionSpec, frozen=True, kw_only=True):
    """Somebody sets the number of workers of RayClusters, chosen in the same way."""

    workers: Pods


class WriterSpec(_Part, frozen=True, kw_only=True):
    """Another client that keeps writing labels or annotations of RayClusters."""

    of: Name
    count: Objects | None = None
    writes_per_second: Rate
    from_seconds: Time = 0.0
    to_seconds: Duration


class RestartSpec(_Part, frozen=True, kw_only=True):
    """The operator's process ends and another takes its place."""

    at_seconds: Time
    down_seconds: Amount = 5.0


class OperatorSpec(_Part, frozen=True, kw_only=True):
    """The operator's settings; ``qps`` below zero means that its client has no limiter."""

    concurrency: Workers = 1
    qps: Annotated[float, Meta(ge=-1.0, le=100_000.0)] = 100.0
    burst: Requests = 200
    cpu_limit_cores: Annotated[float, Meta(gt=0.0, le=1000.0)] | None = None
    queue: Literal["priority", "classic"] = "priority"
    resync_seconds: Duration = 300.0
    replicas: Annotated[int, Meta(ge=1, le=10)] = 1
    gates: frozenset[Literal["raycronjob", "networkpolicy", "raycluster-mtls"]] = frozenset()


class FaultSpec(_Part, frozen=True, kw_only=True):
    """Answers that are not what was asked for, and Pods that do not do what they should, by chance."""

    throttled_ratio: Ratio = 0.0
    retry_after_seconds: Amount = 1.0
    pod_refused_ratio: Ratio = 0.0
    pod_refused_status: Annotated[int, Meta(ge=400, le=599)] = 403
    pod_refused_namespace: Name | None = None
    pod_pending_ratio: Ratio = 0.0
    pod_stuck_ratio: Ratio = 0.0
    dashboard_timeout_ratio: Ratio = 0.0
    from_seconds: Time = 0.0
    to_seconds: Duration | None = None


class WorldSpec(_Part, frozen=True, kw_only=True):
    """Times of the world around the operator."""

    request_seconds: Annotated[float, Meta(gt=0.0, le=3600.0)] = 0.02
    request_seconds_by_verb: dict[Verb, Annotated[float, Meta(gt=0.0, le=3600.0)]] = {}
    request_spread: Annotated[tuple[Factor, ...], Meta(min_length=1, max_length=1000)] = (1.0,)
    server_requests_per_second: Rate = 1000.0
    pod_start_seconds: Amount = 0.0
    pod_start_spread: Annotated[tuple[Factor, ...], Meta(min_length=1, max_length=1000)] = (1.0,)
    pod_starters: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    pod_stop_seconds: Amount = 0.0
    watch_lag_seconds: Amount = 0.002
    watch_share: Ratio = 1.0
    reconcile_seconds: Amount = 0.002
    request_cpu_seconds: Amount = 0.0
    event_cpu_seconds: Amount = 0.0
    dashboard_seconds: Amount = 0.0
    dashboard_timeout_seconds: Amount = 2.0
    certificate_seconds: Amount = 1.0


class WorkloadSpec(_Part, frozen=True, kw_only=True):
    """A whole workload file."""

    schema: Literal["kuberay-advisor/workload/v1"] = SCHEMA
    seed: Annotated[int, Meta(ge=0, le=2**31)] = 1
    duration_seconds: Duration | None = None
    tail_seconds: Time = 2.0
    operator: OperatorSpec = OperatorSpec()
    world: WorldSpec = WorldSpec()
    faults: FaultSpec = FaultSpec()
    existing: dict[Name, ExistingSpec] = {}
    clusters: dict[Name, ArrivalSpec] = {}
    jobs: dict[Name, JobSpec] = {}
    services: dict[Name, ArrivalSpec] = {}
    cron_jobs: dict[Name, CronJobSpec] = {}
    scale: tuple[ScalingSpec, ...] = ()
    delete: tuple[DeletionSpec, ...] = ()
    writers: tuple[WriterSpec, ...] = ()
    restarts: tuple[RestartSpec, ...] = ()
