"""Constants of the operator, its chart, controller-runtime and client-go, with units in their names.

Sources: research, kuberay 1.1-1.4, 4.5, 5, 7.2 and controller-runtime 1.8, 3.4, 5.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = [
    "CACHED_POD_BYTES_HIGH",
    "CACHED_POD_BYTES_LOW",
    "CACHE_SYNC_TIMEOUT_SECONDS",
    "CHART_CPU_LIMIT_CORES",
    "CHART_MEMORY_LIMIT_BYTES",
    "CHART_PROBE_FAILURES",
    "CHART_PROBE_PATH",
    "CHART_PROBE_PERIOD_SECONDS",
    "CHART_PROBE_TIMEOUT_SECONDS",
    "CONFIGURATION_FIELDS",
    "CONTAINER_NAME",
    "DEFAULT_CONCURRENCY",
    "DEFAULT_RESYNC_SECONDS",
    "EXPECTATION_CREATE_TIMEOUT_SECONDS",
    "EXPECTATION_DELETE_TIMEOUT_SECONDS",
    "FLAGS",
    "GAUGE_REFRESH_SECONDS",
    "GRACEFUL_STOP_SECONDS",
    "HTTP2_STREAMS_PER_CONNECTION",
    "INFORMER_RESYNC_JITTER_RATIO",
    "INFORMER_RESYNC_SECONDS",
    "LEASE_DURATION_SECONDS",
    "LEASE_NAME",
    "LEASE_RENEW_DEADLINE_SECONDS",
    "LEASE_RETRY_SECONDS",
    "LIMITED_REQUEST_SECONDS",
    "LOG_FILE_BACKUPS",
    "LOG_FILE_MAX_BYTES",
    "METRICS_PORT",
    "MTLS_CHECK_SECONDS",
    "MTLS_NOT_READY_SECONDS",
    "OPERATOR_UID",
    "PRIORITY_EVENT",
    "PRIORITY_INITIAL_LIST",
    "PRIORITY_LABEL_LIMIT",
    "PRIORITY_LABEL_OVERFLOW",
    "QUEUE_DUMP_SECONDS",
    "RAYCLUSTER_SETTLE_SECONDS",
    "RAYJOB_POLL_SECONDS",
    "RAYSERVICE_POLL_SECONDS",
    "RESYNC_ENVIRONMENT_VARIABLE",
    "RETRY_BACKOFF_BASE_SECONDS",
    "RETRY_BACKOFF_MAX_SECONDS",
    "RETRY_BUCKET_BURST",
    "RETRY_BUCKET_PER_SECOND",
    "ZERO_BURST_MEANS",
    "ZERO_QPS_MEANS",
]

# Settings: flag and field of the configuration file (kuberay 1.1, 1.2).
FLAGS: Final[Mapping[str, str]] = MappingProxyType(
    {"concurrency": "--reconcile-concurrency", "qps": "--qps", "burst": "--burst"}
)
CONFIGURATION_FIELDS: Final[Mapping[str, str]] = MappingProxyType(
    {"concurrency": "reconcileConcurrency", "qps": "qps", "burst": "burst"}
)
DEFAULT_CONCURRENCY: Final = 1
ZERO_QPS_MEANS: Final = 5.0
"""client-go's own QPS, which takes over when the flag is 0."""
ZERO_BURST_MEANS: Final = 10
"""client-go's own Burst, which takes over when the flag is 0."""

# Periodic work (kuberay 1.4, 4.1).
DEFAULT_RESYNC_SECONDS: Final = 300.0
RESYNC_ENVIRONMENT_VARIABLE: Final = "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV"
RAYCLUSTER_SETTLE_SECONDS: Final = 2.0
"""Timer of a RayCluster after a pass that wrote its status."""
RAYJOB_POLL_SECONDS: Final = 3.0
RAYSERVICE_POLL_SECONDS: Final = 2.0
MTLS_CHECK_SECONDS: Final = 60.0
MTLS_NOT_READY_SECONDS: Final = 30.0
INFORMER_RESYNC_SECONDS: Final = 36_000.0
INFORMER_RESYNC_JITTER_RATIO: Final = 0.1

# Queue (controller-runtime 1.6, 1.8, 3.4, 3.5).
PRIORITY_INITIAL_LIST: Final = -100
"""Priority of keys from the initial list and from a resync that changed nothing."""
PRIORITY_EVENT: Final = 0
PRIORITY_LABEL_LIMIT: Final = 25
"""Distinct priorities after which only the sum over the label stays right."""
PRIORITY_LABEL_OVERFLOW: Final = "exceeded_cardinality_limit"
RETRY_BACKOFF_BASE_SECONDS: Final = 0.005
RETRY_BACKOFF_MAX_SECONDS: Final = 1000.0
RETRY_BUCKET_PER_SECOND: Final = 10.0
"""Refill rate of the bucket that all retries of one controller share; classic queue only."""
RETRY_BUCKET_BURST: Final = 100
GAUGE_REFRESH_SECONDS: Final = 0.5
"""How often unfinished work and longest running are computed anew."""
QUEUE_DUMP_SECONDS: Final = 10.0
"""How often the priority queue writes its content to the log at verbosity 5."""
CACHE_SYNC_TIMEOUT_SECONDS: Final = 120.0
GRACEFUL_STOP_SECONDS: Final = 30.0

# Leader election (kuberay 5, controller-runtime 3.4).
LEASE_NAME: Final = "ray-operator-leader"
LEASE_DURATION_SECONDS: Final = 15.0
LEASE_RENEW_DEADLINE_SECONDS: Final = 10.0
LEASE_RETRY_SECONDS: Final = 2.0

# Client (controller-runtime 5.3).
LIMITED_REQUEST_SECONDS: Final = 0.005
"""A limiter wait above this counts as limited; it is the lowest bucket bound of the limiter histogram."""
HTTP2_STREAMS_PER_CONNECTION: Final = 100
"""Concurrent requests on the one connection that all clients share; reported by others, not measured here."""

# Scale expectations (kuberay 4.5).
EXPECTATION_CREATE_TIMEOUT_SECONDS: Final = 30.0
EXPECTATION_DELETE_TIMEOUT_SECONDS: Final[float | None] = None
"""None: a deleted Pod is waited for until it is gone, without time-out."""

# Chart and container (kuberay 5).
CONTAINER_NAME: Final = "kuberay-operator"
OPERATOR_UID: Final = 65532
METRICS_PORT: Final = 8080
CHART_CPU_LIMIT_CORES: Final = 0.1
CHART_MEMORY_LIMIT_BYTES: Final = 512 * 1024 * 1024
CHART_PROBE_PATH: Final = "/metrics"
CHART_PROBE_PERIOD_SECONDS: Final = 5.0
CHART_PROBE_TIMEOUT_SECONDS: Final = 1.0
CHART_PROBE_FAILURES: Final = 5
LOG_FILE_MAX_BYTES: Final = 500 * 1024 * 1024
LOG_FILE_BACKUPS: Final = 10

# Memory (kuberay 7.2): measured with v0.6.0, per Pod in the informer cache.
CACHED_POD_BYTES_LOW: Final = 100_000
CACHED_POD_BYTES_HIGH: Final = 1_000_000
"""What the chart's own comment implies (500 Pods need about 500 MB); five to ten times the measured figure."""
