"""The recording rules: what dashboards and alerts ask again and again, one series for each controller or operator.

Levels: ``controller`` keeps cluster, namespace, job and controller; ``operator`` keeps cluster, namespace and job;
``container`` keeps cluster, namespace, pod and container. Instances and priorities are summed over: a standby has no
series of its queue, and the classic queue has one priority, the empty one. A series that is absent stays unknown.
"""

from typing import Final

from advisor.diagnosis.thresholds import Thresholds
from advisor.knowledge.programs import EXTERNAL_CALLERS
from scripts.rules.model import Group, Record

__all__ = ["CONTAINER", "CONTROLLER", "GROUPS", "OPERATOR", "RECORDS"]

CONTROLLER: Final = "cluster, namespace, job, controller"
OPERATOR: Final = "cluster, namespace, job"
CONTAINER: Final = "cluster, namespace, pod, container"

_LIMITS: Final = Thresholds()
_CALLERS: Final = "|".join(sorted(EXTERNAL_CALLERS))


def _busy(matchers: str, by: str) -> str:
    """Worker seconds a second: finished runs, and by how much the running ones have grown (figures.md)."""
    return (
        "clamp_min(\n"
        f"  sum by ({by}) (rate(workqueue_work_duration_seconds_sum{{{matchers}}}[5m]))\n"
        f"  + sum by ({by}) (delta(workqueue_unfinished_work_seconds{{{matchers}}}[5m])) / $seconds(5m),\n"
        "  0\n"
        ")"
    )


def _mean(name: str, matchers: str, by: str) -> str:
    """Mean of a histogram: exact, unlike a quantile from buckets a decade wide."""
    return (
        f"sum by ({by}) (rate({name}_sum{{{matchers}}}[5m]))\n"
        f"/ (sum by ({by}) (rate({name}_count{{{matchers}}}[5m])) > 0)"
    )


_QUEUE: Final = (
    Record(
        "controller:workqueue_depth:sum",
        f"sum by ({CONTROLLER}) (workqueue_depth{{$queue}})",
        "Keys that are ready, all priorities together.",
    ),
    Record(
        "controller:controller_runtime_workers:max",
        f"max by ({CONTROLLER}) (controller_runtime_max_concurrent_reconciles{{$queue}})",
        "Workers: the concurrency that is in force.",
    ),
    Record(
        "controller:workqueue_backlog:sum",
        "clamp_min(\n"
        "  controller:workqueue_depth:sum\n"
        f"  - sum by ({CONTROLLER}) (controller_runtime_active_workers{{$queue}}),\n"
        "  0\n"
        ")",
        "Keys that wait for a worker, at least: depth beyond the keys that can be held back by their own run.",
    ),
    Record(
        "controller:workqueue_busy_workers:rate5m",
        _busy("$queue", CONTROLLER),
        "Busy worker seconds a second, of runs that ended and of those that go on.",
    ),
    Record(
        "controller:workqueue_utilisation:ratio5m",
        "controller:workqueue_busy_workers:rate5m / (controller:controller_runtime_workers:max > 0)",
        "Busy share of the workers.",
    ),
    Record(
        "controller:workqueue_headroom_workers:rate5m",
        "clamp_min(controller:controller_runtime_workers:max - controller:workqueue_busy_workers:rate5m, 0)",
        "Workers that were idle, on average.",
    ),
    Record(
        "controller:workqueue_handed_out:rate5m",
        f"sum by ({CONTROLLER}) (rate(workqueue_queue_duration_seconds_count{{$queue}}[5m]))",
        "Keys handed to a worker, a second.",
    ),
    Record(
        "controller:workqueue_growth:rate10m",
        f"sum by ({CONTROLLER}) (rate(workqueue_adds_total{{$queue}}[10m]))\n"
        f"- sum by ({CONTROLLER}) (rate(workqueue_queue_duration_seconds_count{{$queue}}[10m]))",
        "Keys that became ready less keys handed out, a second: by so much the queue grows.",
    ),
    Record(
        "controller:workqueue_queue_duration_seconds:mean5m",
        _mean("workqueue_queue_duration_seconds", "$queue", CONTROLLER),
        "Mean seconds from ready to handed out, of keys handed out.",
    ),
    Record(
        "controller:workqueue_work_duration_seconds:mean5m",
        _mean("workqueue_work_duration_seconds", "$queue", CONTROLLER),
        "Mean seconds that a worker held a key.",
    ),
    Record(
        "controller:controller_runtime_reconcile_errors:ratio5m",
        f"sum by ({CONTROLLER}) (rate(controller_runtime_reconcile_errors_total{{$queue}}[5m]))\n"
        f"/ (sum by ({CONTROLLER}) (rate(controller_runtime_reconcile_total{{$queue}}[5m])) > 0)",
        "Share of reconciles that returned an error, conflicts included.",
    ),
)

_LIMITER: Final = "rest_client_rate_limiter_duration_seconds"
_REQUEST: Final = "rest_client_request_duration_seconds"
_WRITES: Final = 'verb=~"POST|PUT|PATCH|DELETE"'


def _api_seconds(matchers: str) -> str:
    """Request time less limiter wait, which it contains; a limiter that is off has no series."""
    return (
        "clamp_min(\n"
        f"  sum by ({OPERATOR}) (rate({_REQUEST}_sum{{{matchers}}}[5m]))\n"
        "  - (\n"
        f"    sum by ({OPERATOR}) (rate({_LIMITER}_sum{{{matchers}}}[5m]))\n"
        f"    or 0 * sum by ({OPERATOR}) (rate({_REQUEST}_sum{{{matchers}}}[5m]))\n"
        "  ),\n"
        "  0\n"
        ")"
    )


_CLIENT: Final = (
    Record(
        "operator:workqueue_busy_workers:rate5m",
        f"sum by ({OPERATOR}) (controller:workqueue_busy_workers:rate5m)",
        "Busy worker seconds a second, all controllers.",
    ),
    Record(
        "operator:rest_client_requests:rate5m",
        f"sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client}}[5m]))",
        "Requests a second, watches and lease included. Not comparable with QPS, which is for each kind.",
    ),
    Record(
        "operator:rest_client_writes:rate5m",
        f'sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client,method=~"POST|PUT|PATCH|DELETE"}}[5m]))',
        "Requests that write, a second.",
    ),
    Record(
        "operator:rest_client_limiter_share:ratio5m",
        f"sum by ({OPERATOR}) (rate({_LIMITER}_sum{{$client}}[5m]))\n/ (operator:workqueue_busy_workers:rate5m > 0)",
        "Seconds in the client's own limiter for each busy worker second (KubeRay 1.7).",
    ),
    Record(
        "operator:rest_client_limited:ratio5m",
        "clamp_min(\n"
        f'  1 - sum by ({OPERATOR}) (rate({_LIMITER}_bucket{{$client,le="0.005"}}[5m]))\n'
        f"  / (sum by ({OPERATOR}) (rate({_LIMITER}_count{{$client}}[5m])) > 0),\n"
        "  0\n"
        ")",
        "Share of requests that waited more than 5 ms in the limiter (KubeRay 1.7).",
    ),
    Record(
        "operator:rest_client_api_seconds:rate5m",
        _api_seconds("$client"),
        "Seconds a second in requests at the API server, limiter wait left out (KubeRay 1.7).",
    ),
    Record(
        "operator:rest_client_api_share:ratio5m",
        "operator:rest_client_api_seconds:rate5m / (operator:workqueue_busy_workers:rate5m > 0)",
        "Seconds at the API server for each busy worker second; above 1 where others than workers call (KubeRay 1.7).",
    ),
    Record(
        "operator:rest_client_write_seconds:mean5m",
        _api_seconds(f"$client,{_WRITES}")
        + f"\n/ (sum by ({OPERATOR}) (rate({_REQUEST}_count{{$client,{_WRITES}}}[5m])) > 0)",
        "Mean seconds of a write at the API server, limiter wait left out (KubeRay 1.7).",
    ),
    Record(
        "operator:rest_client_conflicts:ratio15m",
        f'sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client,code="409",method=~"PUT|PATCH"}}[15m]))\n'
        f'/ (sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client,method=~"PUT|PATCH"}}[15m])) > 0)',
        "Refused share of PUT and PATCH; absent until there is a first conflict. 409 on POST is an existing object.",
    ),
    Record(
        "operator:rest_client_too_many_requests:ratio5m",
        f'sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client,code="429"}}[5m]))\n'
        "/ (operator:rest_client_requests:rate5m > 0)",
        "Share of answers 429; absent until there is a first one.",
    ),
    Record(
        "operator:controller_runtime_reconcile_failures:ratio15m",
        "clamp_min(\n"
        f"  sum by ({OPERATOR}) (rate(controller_runtime_reconcile_errors_total{{$queue}}[15m]))\n"
        "  - (\n"
        f'    sum by ({OPERATOR}) (rate(rest_client_requests_total{{$client,code="409",method=~"PUT|PATCH"}}[15m]))\n'
        f"    or 0 * sum by ({OPERATOR}) (rate(controller_runtime_reconcile_errors_total{{$queue}}[15m]))\n"
        "  ),\n"
        "  0\n"
        ")\n"
        f"/ (sum by ({OPERATOR}) (rate(controller_runtime_reconcile_total{{$queue}}[15m])) > 0)",
        "Share of reconciles that failed, conflicts left out; long, as back-off grows to 1000 s.",
    ),
    Record(
        "operator:process_cpu_seconds:rate5m",
        f"sum by ({OPERATOR}) (rate(process_cpu_seconds_total{{$client}}[5m]))",
        "Cores used by the process.",
    ),
    Record(
        "operator:external_callers_busy_workers:rate5m",
        _busy(f'$queue,controller=~"{_CALLERS}"', OPERATOR),
        "Busy worker seconds a second of the controllers that call dashboards.",
    ),
    Record(
        "operator:explained_seconds:rate5m",
        "(\n"
        f"  sum by ({OPERATOR}) (rate({_REQUEST}_sum{{$client}}[5m]))\n"
        f"  or {_LIMITS.slow_write_seconds:g} * operator:rest_client_writes:rate5m\n"
        ")\n"
        "+ operator:process_cpu_seconds:rate5m",
        "Seconds a second that requests and CPU can explain at most; without request times, if each write were slow.",
    ),
    Record(
        "operator:write_worker_seconds:mean5m",
        "clamp_min(\n"
        "  operator:workqueue_busy_workers:rate5m - operator:external_callers_busy_workers:rate5m\n"
        "  - operator:process_cpu_seconds:rate5m,\n"
        "  0\n"
        ")\n"
        "/ (operator:rest_client_writes:rate5m > 0)",
        "Busy worker seconds for each write, API server and limiter together: all that tells before KubeRay 1.7.",
    ),
)

_PROCESS: Final = (
    Record(
        "container:cpu_throttled:ratio5m",
        f"sum by ({CONTAINER}) (rate(container_cpu_cfs_throttled_periods_total{{$container}}[5m]))\n"
        f"/ (sum by ({CONTAINER}) (rate(container_cpu_cfs_periods_total{{$container}}[5m])) > 0)",
        "Share of CPU periods in which the operator's container was stopped.",
    ),
    Record(
        "container:cpu_used:ratio5m",
        f"sum by ({CONTAINER}) (rate(container_cpu_usage_seconds_total{{$container}}[5m]))\n"
        f'/ (max by ({CONTAINER}) (kube_pod_container_resource_limits{{$container,resource="cpu"}}) > 0)',
        "CPU used, of the limit.",
    ),
    Record(
        "container:memory_used:ratio",
        f"max by ({CONTAINER}) (container_memory_working_set_bytes{{$container}})\n"
        f'/ (max by ({CONTAINER}) (kube_pod_container_resource_limits{{$container,resource="memory"}}) > 0)',
        "Working set, of the memory limit.",
    ),
)

GROUPS: Final = (
    Group("kuberay-advisor.queue", _QUEUE),
    Group("kuberay-advisor.client", _CLIENT),
    Group("kuberay-advisor.container", _PROCESS),
)
"""Later groups use what earlier ones record, from the evaluation before."""

RECORDS: Final = {record.name: record for record in (*_QUEUE, *_CLIENT, *_PROCESS)}
"""All by name."""
