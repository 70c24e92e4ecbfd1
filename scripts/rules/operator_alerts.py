"""Alerts on the operator's own series."""

from typing import Final

from advisor.model.finding import FindingCode, Severity
from scripts.rules.conditions import (
    CPU_BOUND,
    EXTERNAL,
    FAILING,
    FEW,
    KEYS_WAIT,
    LIMITER,
    LIMITS,
    SHEDS,
    SLOW_API,
    WORKING,
)
from scripts.rules.model import Alert, Group
from scripts.rules.recording import CONTROLLER, OPERATOR

__all__ = ["GROUPS"]

_CONTROLLER: Final = tuple(CONTROLLER.split(", "))
_OPERATOR: Final = tuple(OPERATOR.split(", "))
_WHO: Final = "{{ $labels.job }} in {{ $labels.namespace }}"
_OF: Final = f"{{{{ $labels.controller }}}} of {_WHO}"
_UNLESS_CPU: Final = f"unless on (cluster, namespace) (\n{CPU_BOUND}\n)"
_WAITS: Final = (
    f"and on ({OPERATOR}) max by ({OPERATOR}) (controller:workqueue_queue_duration_seconds:mean5m) "
    f">= {LIMITS.wait_warning_seconds:g}"
)
_CRITICAL_RATIO: Final = 0.5
"""As the finding has it: more reconciles fail than not."""
_GROWS_BY: Final = 0.05
"""Part of what is handed out by which the queue grows; less is chance."""


def _unless(condition: str) -> str:
    return f"unless on ({OPERATOR}) (\n{condition}\n)"


_DOWN: Final = ("KubeRayOperatorDown", "KubeRayNoLeader")
_THROTTLED: Final = "KubeRayOperatorCPUThrottled"
_SERVER: Final = ("KubeRayAPIServerSlow", "KubeRayAPIServerOverloaded")
_WORKERS_HELD_UP: Final = (
    *_DOWN,
    _THROTTLED,
    *_SERVER,
    "KubeRayClientThrottled",
    "KubeRayExternalCallsSlow",
    "KubeRaySlowWritesOfUnknownCause",
)
"""What holds workers up by itself, so that more of them would not help."""

_QUEUE: Final = (
    Alert(
        name="KubeRayWorkersSaturated",
        expr="\n".join(
            (
                # At rest no unlocked key waits beside an idle worker, so that a backlog proves that all are busy.
                KEYS_WAIT,
                _unless(LIMITER),
                _unless(SHEDS),
                _unless(FAILING),
                _UNLESS_CPU,
            )
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="All workers are busy and keys wait for one.",
        description=(
            f"{_OF}: at least {{{{ $value | humanize }}}} keys wait for a worker, and nothing says that more workers "
            "would only share what is scarce. Raise --reconcile-concurrency, at most fourfold in one step."
        ),
        labels=_CONTROLLER,
        findings=(FindingCode.WORKERS_SATURATED,),
        inhibited_by=_WORKERS_HELD_UP,
    ),
    Alert(
        name="KubeRayBacklogGrowing",
        expr=(
            "controller:workqueue_backlog:sum / (controller:workqueue_handed_out:rate5m > 0)\n"
            f">= {LIMITS.wait_target_seconds:g}\n"
            f"and controller:workqueue_growth:rate10m >= {_GROWS_BY:g} * controller:workqueue_handed_out:rate5m"
        ),
        hold="15m",
        severity=Severity.WARNING,
        summary="Keys come faster than they are reconciled.",
        description=(
            f"{_OF}: a key that comes now waits about {{{{ $value | humanizeDuration }}}}, and the queue grows. What "
            "holds the workers up is in the other alerts, or on the operator's page of the advisor."
        ),
        labels=_CONTROLLER,
        findings=(FindingCode.WORKERS_SATURATED,),
        inhibited_by=(*_WORKERS_HELD_UP, "KubeRayWorkersSaturated"),
    ),
    Alert(
        name="KubeRayQueueStuck",
        expr="controller:workqueue_depth:sum >= 1 and controller:workqueue_handed_out:rate5m == 0",
        hold="15m",
        severity=Severity.CRITICAL,
        summary="Keys are ready and none is handed to a worker.",
        description=(
            f"{_OF}: {{{{ $value | humanize }}}} keys are ready and no worker has taken one for a quarter of an hour. "
            "Workers hang in calls without a time-out, or one key holds all there are."
        ),
        labels=_CONTROLLER,
        findings=(FindingCode.HOT_KEY, FindingCode.EXTERNAL_CALL_SLOW),
        inhibited_by=_DOWN,
    ),
    Alert(
        name="KubeRayOneReconcileTakesLong",
        expr=(
            f"max by ({CONTROLLER}) (max_over_time(workqueue_longest_running_processor_seconds{{$queue}}[5m]))\n"
            f">= {LIMITS.wait_target_seconds:g}\n"
            f"and controller:workqueue_busy_workers:rate5m >= {LIMITS.idle_workers:g}\n"
            f"and controller:workqueue_busy_workers:rate5m <= {1 + LIMITS.idle_workers:g}\n"
            f"and sum by ({CONTROLLER}) (max_over_time(workqueue_depth{{$queue}}[5m])) >= 1"
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="One reconcile at a time takes long, beside workers that are idle or missing.",
        description=(
            f"{_OF}: a reconcile took {{{{ $value | humanizeDuration }}}} while one worker was busy. That is one key "
            "that takes the time, which more workers do not shorten; the sidecar names it."
        ),
        labels=_CONTROLLER,
        findings=(FindingCode.HOT_KEY,),
        inhibited_by=(*_DOWN, _THROTTLED, "KubeRayHotKey", "KubeRayExternalCallsSlow", "KubeRayClientThrottled"),
    ),
    Alert(
        name="KubeRayLowPriorityStarved",
        expr=(
            f'sum by ({CONTROLLER}) (min_over_time(workqueue_depth{{$queue,priority=~"-.+"}}[10m]))\n'
            f">= {LIMITS.starved_keys:g}\n"
            f'and sum by ({CONTROLLER}) (avg_over_time(workqueue_depth{{$queue,priority="0"}}[10m]))\n'
            f">= {LIMITS.starved_keys:g}"
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="Keys of low priority never get their turn.",
        description=(
            f"{_OF}: {{{{ $value | humanize }}}} keys of low priority have been ready all the time while keys of "
            "priority 0 keep coming. They are in no wait histogram until they get their turn."
        ),
        labels=_CONTROLLER,
        findings=(FindingCode.PRIORITY_STARVATION,),
        need="operator 1.7",
        inhibited_by=_DOWN,
    ),
)

_CLIENT: Final = (
    Alert(
        name="KubeRayClientThrottled",
        expr="\n".join((f"(\n{LIMITER}\n)", f"and on ({OPERATOR}) {WORKING}", _UNLESS_CPU)),
        hold="10m",
        severity=Severity.WARNING,
        summary="The operator's own client limiter takes the workers' time.",
        description=(
            f"{_WHO}: {{{{ $value | humanizePercentage }}}} of busy worker time goes into waiting for --qps and "
            "--burst. Raise those, not the workers: they would wait longer each."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.CLIENT_THROTTLED,),
        need="operator 1.7",
        inhibited_by=_DOWN,
    ),
    Alert(
        name="KubeRaySlowWritesOfUnknownCause",
        expr="\n".join(
            (
                f"operator:write_worker_seconds:mean5m >= {LIMITS.slow_write_seconds:g}",
                f"and on ({OPERATOR}) {WORKING}",
                "unless on (cluster, namespace, job) operator:rest_client_api_seconds:rate5m",
                _UNLESS_CPU,
                _unless(FAILING),
            )
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="Writes cost workers long, in the client limiter or at the API server.",
        description=(
            f"{_WHO}: a write costs a worker {{{{ $value | humanizeDuration }}}}. This release of KubeRay exposes "
            "neither request times nor limiter waits: compare the rate of created Pods with --qps, or look for "
            "throttling lines in its log, before anything is changed."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.INSUFFICIENT_DATA,),
        inhibited_by=(*_DOWN, _THROTTLED, "KubeRayAPIServerOverloaded"),
    ),
    Alert(
        name="KubeRayAPIServerSlow",
        expr="\n".join((SLOW_API, f"and on ({OPERATOR}) {WORKING}", _UNLESS_CPU)),
        hold="10m",
        severity=Severity.WARNING,
        summary="Writes take long at the API server, and workers wait for it.",
        description=(
            f"{_WHO}: a write takes {{{{ $value | humanizeDuration }}}} at the API server, limiter wait left out. Do "
            "not raise workers or QPS; look at the API server, its webhooks and etcd."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.API_SERVER_SLOW,),
        need="operator 1.7",
        inhibited_by=(*_DOWN, _THROTTLED, "KubeRayAPIServerOverloaded"),
    ),
    Alert(
        name="KubeRayAPIServerOverloaded",
        expr=SHEDS,
        hold="10m",
        severity=Severity.WARNING,
        summary="The API server refuses requests of the operator with 429.",
        description=(
            f"{_WHO}: {{{{ $value | humanizePercentage }}}} of the answers are 429, and workers sleep until the server "
            "lets them through. Do not raise workers or QPS; look at priority and fairness."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.API_SERVER_SLOW,),
        inhibited_by=_DOWN,
    ),
    Alert(
        name="KubeRayExternalCallsSlow",
        expr=f"{EXTERNAL}\n{_WAITS}\n{_UNLESS_CPU}",
        hold="10m",
        severity=Severity.WARNING,
        summary="Workers wait for slow Ray dashboards.",
        description=(
            f"{_WHO}: {{{{ $value | humanize }}}} workers are busy with what neither requests nor CPU explain: calls "
            "to Ray dashboards, which are in no client series. Find the heads that answer slowly."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.EXTERNAL_CALL_SLOW,),
        inhibited_by=(*_DOWN, _THROTTLED),
    ),
    Alert(
        name="KubeRayReconcilesFail",
        expr=FAILING,
        hold="10m",
        severity=Severity.WARNING,
        summary="Reconciles fail and are tried again.",
        description=(
            f"{_WHO}: {{{{ $value | humanizePercentage }}}} of the reconciles fail, conflicts left out. Keys in "
            "back-off are in no gauge. Read the commonest error in the log: a quota, a webhook, a missing permission."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.ERROR_RETRIES,),
        inhibited_by=(*_DOWN, "KubeRayErrorStorm", "KubeRayAPIServerOverloaded"),
    ),
    Alert(
        name="KubeRayErrorStorm",
        expr=(
            f"operator:controller_runtime_reconcile_failures:ratio15m >= {_CRITICAL_RATIO:g}\nand on ({OPERATOR}) {FEW}"
        ),
        hold="10m",
        severity=Severity.CRITICAL,
        summary="Most reconciles fail.",
        description=(
            f"{_WHO}: {{{{ $value | humanizePercentage }}}} of the reconciles fail, conflicts left out. Hardly "
            "anything gets done until the cause of the commonest error in its log is mended."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.ERROR_RETRIES,),
        inhibited_by=_DOWN,
    ),
    Alert(
        name="KubeRayWriteConflicts",
        expr=(
            f"operator:rest_client_conflicts:ratio15m >= {LIMITS.conflict_ratio:g}\n"
            f"and on ({OPERATOR}) sum by ({OPERATOR}) "
            f'(increase(rest_client_requests_total{{$client,code="409",method=~"PUT|PATCH"}}[15m])) '
            f">= {LIMITS.fewest_errors}"
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="Updates are refused because the object changed.",
        description=(
            f"{_WHO}: {{{{ $value | humanizePercentage }}}} of its updates conflict, so their reconciles are done "
            "again. Find who else writes to these objects; the sidecar names the writer."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.WRITE_CONFLICTS,),
        inhibited_by=(*_DOWN, "KubeRayErrorStorm", *_SERVER),
    ),
    Alert(
        name="KubeRayClustersNotProvisioned",
        expr=(
            "count by (cluster, job) (\n"
            '  kuberay_cluster_condition_provisioned{$client,condition="false",name!=""}\n'
            '  and kuberay_cluster_condition_provisioned{$client,condition="false",name!=""} offset 15m\n'
            ")\n"
            "and on (cluster, job) max by (cluster, job) (operator:workqueue_busy_workers:rate5m) "
            f"< {LIMITS.idle_workers:g}\n"
            "unless on (cluster, job) sum by (cluster, job) "
            f"(increase(controller_runtime_reconcile_errors_total{{$queue}}[15m])) >= {LIMITS.fewest_errors}"
        ),
        hold="5m",
        severity=Severity.WARNING,
        summary="RayClusters are not ready although the operator is idle.",
        description=(
            "{{ $labels.job }}: {{ $value }} RayClusters have not been ready once for a quarter of an hour, and the "
            "operator is idle and free of errors. Their Pods wait for nodes, images or quota, or never came."
        ),
        labels=("cluster", "job"),
        findings=(FindingCode.BOTTLENECK_ELSEWHERE, FindingCode.CACHE_LAG),
        need="operator 1.4",
        inhibited_by=("KubeRayExpectationBlocked",),
    ),
)

GROUPS: Final = (
    Group("kuberay-advisor.alerts.queue", _QUEUE),
    Group("kuberay-advisor.alerts.client", _CLIENT),
)
"""Alerts about queue and workers, and about the client and what it asks."""
