"""Which samples the signals are made from."""

from advisor.model.raw import Selection
from advisor.signals.apiserver import API_SERVER_SERIES

__all__ = ["CORE_SERIES", "SELECTION"]


def _histogram(name: str) -> tuple[str, str, str]:
    return f"{name}_bucket", f"{name}_sum", f"{name}_count"


_CONTROLLER = (
    "controller_runtime_reconcile_total",
    "controller_runtime_reconcile_errors_total",
    "controller_runtime_terminal_reconcile_errors_total",
    "controller_runtime_reconcile_panics_total",
    "controller_runtime_reconcile_timeouts_total",
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    *_histogram("controller_runtime_reconcile_time_seconds"),
)
_QUEUE = (
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds_sum",
    "workqueue_queue_duration_seconds_count",
    "workqueue_work_duration_seconds_sum",
    "workqueue_work_duration_seconds_count",
)
_CLIENT = (
    "rest_client_requests_total",
    "rest_client_request_duration_seconds_sum",
    "rest_client_request_duration_seconds_count",
    *_histogram("rest_client_rate_limiter_duration_seconds"),
    "rest_client_request_retries_total",
)
_PROCESS = (
    "up",
    "leader_election_master_status",
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "container_cpu_usage_seconds_total",
    "container_cpu_cfs_periods_total",
    "container_cpu_cfs_throttled_periods_total",
    "container_cpu_cfs_throttled_seconds_total",
    "container_memory_working_set_bytes",
    "kube_pod_container_resource_limits",
)

SELECTION = Selection(
    names=frozenset((*_CONTROLLER, *_QUEUE, *_CLIENT, *_PROCESS)),
    aggregated={
        "kuberay_cluster_info": ("owner_kind", "instance", "pod"),
        "kuberay_cluster_condition_provisioned": ("condition", "instance", "pod"),
        "kuberay_job_info": ("instance", "pod"),
        "kuberay_service_info": ("instance", "pod"),
        **API_SERVER_SERIES,
    },
)
"""What a source has to deliver; one series per object becomes one series in all."""

CORE_SERIES = (
    "controller_runtime_max_concurrent_reconciles",
    "controller_runtime_active_workers",
    "controller_runtime_reconcile_total",
    "workqueue_depth",
    "workqueue_adds_total",
    "workqueue_queue_duration_seconds_sum",
    "workqueue_work_duration_seconds_sum",
    "workqueue_unfinished_work_seconds",
    "rest_client_requests_total",
)
"""Series that every controller-runtime operator exposes; their absence is a finding, not a zero."""
