"""What each alert is about, as series: quiet for an hour, bad for an hour, quiet again.

Of a counter the figures are the increase a minute, of a gauge its value; None is a series that is not there. Each case
is an operator in a namespace of its own, so that all are evaluated together.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["BAD", "CASES", "END", "Case", "Level", "labelled", "values", "without"]

Level = float | None
BAD: Final = 60
"""Minute in which it becomes bad; for as long."""
END: Final = 190

_COUNTER: Final = re.compile(r"_(total|sum|count|bucket)$")


@dataclass(frozen=True, slots=True)
class Case:
    """Series by short name, with the level while quiet and while bad, or their very values.

    Attributes:
        series: what the alert reads.
        fires: minutes after it became bad in which it fires at the latest.
        optional: series without which it fires as well.
        resolves: minute in which it has resolved at the latest.
    """

    series: Mapping[str, tuple[Level, Level] | str]
    fires: int
    optional: frozenset[str] = field(default=frozenset())
    resolves: int = END - 1


def values(name: str, levels: tuple[Level, Level] | str) -> str:
    """A series in promtool's notation."""
    if isinstance(levels, str):
        return levels
    quiet, bad = levels
    if not _COUNTER.search(name.partition("{")[0]):
        return " ".join(
            f"_x{count}" if level is None else f"{level:g}+0x{count - 1}"
            for level, count in ((quiet, BAD), (bad, BAD), (quiet, END - 2 * BAD))
        )
    assert quiet is not None
    assert bad is not None
    parts, value = [], -quiet
    for level, count in ((quiet, BAD), (bad, BAD), (quiet, END - 2 * BAD)):
        parts.append(f"{value + level:g}+{level:g}x{count - 1}")
        value += level * count
    return " ".join(parts)


def labelled(name: str, namespace: str) -> str:
    """A series with the labels that it has in a cluster; the cluster is named as the namespace is."""
    metric, _, own = name.partition("{")
    labels = dict(re.findall(r'(\w+)="([^"]*)"', own))
    common = {"cluster": namespace, "namespace": namespace}
    if metric.startswith(("container_", "kube_pod_")):
        common |= {"pod": "operator-0", "container": "kuberay-operator"}
    elif metric.startswith("kuberay_advisor_"):
        common |= {"job": "kuberay-advisor", "instance": "a:8090"}
    else:
        common |= {"job": "kuberay-operator", "instance": "o:8080", "pod": "operator-0"}
    if metric.startswith(("workqueue_", "controller_runtime_")):
        common |= {"controller": "raycluster"}
    together = ",".join(f'{key}="{value}"' for key, value in {**common, **labels}.items())
    return f"{metric}{{{together}}}"


def _busy(quiet: float, bad: float, controller: str = "raycluster") -> dict[str, tuple[Level, Level] | str]:
    """Busy worker seconds a minute."""
    return {
        f'workqueue_work_duration_seconds_sum{{controller="{controller}"}}': (quiet, bad),
        f'workqueue_unfinished_work_seconds{{controller="{controller}"}}': (0, 0),
    }


_DURATION: Final = "rest_client_request_duration_seconds"
_LIMITER: Final = "rest_client_rate_limiter_duration_seconds"
_LEADER: Final = "leader_election_master_status"
_MAX: Final = "controller_runtime_max_concurrent_reconciles"

CASES: Final[Mapping[str, Case]] = {
    "KubeRayWorkersSaturated": Case(
        {
            "controller_runtime_active_workers": (0, 1),
            'workqueue_depth{priority="0"}': (0, 20),
            "workqueue_queue_duration_seconds_sum": (0.6, 600),
            "workqueue_queue_duration_seconds_count": (60, 60),
        },
        fires=15,
    ),
    "KubeRayBacklogGrowing": Case(
        {
            "controller_runtime_active_workers": (0, 1),
            'workqueue_depth{priority="0"}': (0, 600),
            "workqueue_queue_duration_seconds_count": (60, 60),
            "workqueue_adds_total": (60, 70),
        },
        fires=25,
    ),
    "KubeRayQueueStuck": Case(
        {'workqueue_depth{priority="0"}': (0, 3), "workqueue_queue_duration_seconds_count": (60, 0)}, fires=21
    ),
    "KubeRayOneReconcileTakesLong": Case(
        {
            **_busy(6, 50),
            "workqueue_longest_running_processor_seconds": (0.2, 20),
            'workqueue_depth{priority=""}': (0, 1),
        },
        fires=15,
    ),
    "KubeRayLowPriorityStarved": Case(
        {'workqueue_depth{priority="-100"}': (0, 50), 'workqueue_depth{priority="0"}': (0, 8)}, fires=21
    ),
    "KubeRayClientThrottled": Case({**_busy(6, 58), f'{_LIMITER}_sum{{verb="POST"}}': (0.1, 50)}, fires=15),
    "KubeRaySlowWritesOfUnknownCause": Case(
        {
            **_busy(6, 50),
            **_busy(0, 0, "rayjob"),
            'rest_client_requests_total{code="201",method="POST"}': (60, 60),
            "process_cpu_seconds_total": (1, 1),
        },
        fires=15,
    ),
    "KubeRayAPIServerSlow": Case(
        {
            **_busy(6, 58),
            f'{_DURATION}_sum{{verb="PUT"}}': (1, 50),
            f'{_DURATION}_count{{verb="PUT"}}': (60, 60),
            f'{_LIMITER}_sum{{verb="PUT"}}': (0, 0),
        },
        fires=15,
        # With QPS below 0 there is no limiter.
        optional=frozenset({f'{_LIMITER}_sum{{verb="PUT"}}'}),
    ),
    "KubeRayAPIServerOverloaded": Case(
        {
            'rest_client_requests_total{code="429",method="PUT"}': (0, 10),
            'rest_client_requests_total{code="200",method="PUT"}': (60, 60),
        },
        fires=16,
        optional=frozenset({'rest_client_requests_total{code="200",method="PUT"}'}),
    ),
    "KubeRayExternalCallsSlow": Case(
        {
            **_busy(1, 55, "rayjob"),
            f'{_DURATION}_sum{{verb="PUT"}}': (1, 1),
            "process_cpu_seconds_total": (1, 1),
            'workqueue_queue_duration_seconds_sum{controller="rayjob"}': (0.6, 600),
            'workqueue_queue_duration_seconds_count{controller="rayjob"}': (60, 60),
        },
        fires=15,
    ),
    "KubeRayReconcilesFail": Case(
        {
            "controller_runtime_reconcile_errors_total": (0, 20),
            'controller_runtime_reconcile_total{result="success"}': (60, 60),
        },
        fires=20,
    ),
    "KubeRayErrorStorm": Case(
        {
            "controller_runtime_reconcile_errors_total": (0, 50),
            'controller_runtime_reconcile_total{result="success"}': (60, 60),
        },
        fires=22,
    ),
    "KubeRayWriteConflicts": Case(
        {
            'rest_client_requests_total{code="409",method="PUT"}': (0, 20),
            'rest_client_requests_total{code="200",method="PUT"}': (60, 60),
        },
        fires=20,
        optional=frozenset({'rest_client_requests_total{code="200",method="PUT"}'}),
    ),
    "KubeRayClustersNotProvisioned": Case(
        {**_busy(1, 1), 'kuberay_cluster_condition_provisioned{condition="false",name="a",namespace="t"}': (None, 1)},
        fires=21,
    ),
    "KubeRayOperatorCPUThrottled": Case(
        {
            **_busy(6, 58),
            "container_cpu_cfs_throttled_periods_total": (0, 500),
            "container_cpu_cfs_periods_total": (600, 600),
            "container_cpu_usage_seconds_total": (1, 58),
            'kube_pod_container_resource_limits{resource="cpu",unit="core"}': (1, 1),
        },
        fires=10,
    ),
    "KubeRayOperatorMemoryNearLimit": Case(
        {
            "container_memory_working_set_bytes": (440, 460),
            'kube_pod_container_resource_limits{resource="memory",unit="byte"}': (500, 500),
        },
        fires=16,
    ),
    "KubeRayOperatorOOMKilled": Case(
        {
            "kube_pod_container_status_restarts_total": (0, 0.1),
            'kube_pod_container_status_last_terminated_reason{reason="OOMKilled"}': (0, 1),
        },
        fires=4,
    ),
    "KubeRayOperatorRestarted": Case({"process_start_time_seconds": "100+0x59 200+0x59 200+0x69"}, fires=3),
    "KubeRayOperatorRestartsOften": Case(
        {"process_start_time_seconds": "100+0x59 200+0x9 300+0x9 400+0x39 400+0x69"}, fires=23
    ),
    "KubeRayOperatorDown": Case({"up": (1, 0)}, fires=6),
    "KubeRayOperatorAbsent": Case({"up": (1, None)}, fires=16),
    "KubeRayOperatorMetricsMissing": Case({_LEADER: (1, 1), _MAX: (1, None)}, fires=16, optional=frozenset({_MAX})),
    "KubeRayNoLeader": Case({_LEADER: (1, 0)}, fires=6),
    "KubeRayLeaderFlapping": Case({_LEADER: "1+0x59 0+0x9 1+0x9 0+0x9 1+0x29 1+0x69"}, fires=33),
    "KubeRayHotKey": Case(
        {
            'kuberay_advisor_hot_key{controller="raycluster",object_namespace="t",object_name="a",writer="w"}': (
                None,
                1,
            )
        },
        fires=11,
    ),
    "KubeRayLowPriorityWaits": Case(
        {'kuberay_advisor_oldest_ready_age_seconds{controller="raycluster",priority="-100"}': (290, 310)}, fires=11
    ),
    "KubeRayExpectationBlocked": Case(
        {'kuberay_advisor_expectation_blocked_keys{controller="raycluster",reason="stuck_terminating"}': (0, 3)},
        fires=11,
    ),
    "KubeRaySpecNotHandled": Case(
        {'kuberay_advisor_generation_lag_seconds{controller="raycluster"}': (590, 610)}, fires=6
    ),
    "KubeRayAdvisorDown": Case({'up{job="kuberay-advisor"}': (1, 0)}, fires=11),
    "KubeRayAdvisorAnalysisFails": Case(
        {'kuberay_advisor_analysis_failures_in_a_row{operator="one",source="prometheus"}': (2, 3)}, fires=6
    ),
    "KubeRayAdvisorReportOld": Case(
        {'kuberay_advisor_analysis_last_success_timestamp_seconds{operator="one"}': ("0+60x59 -4000+0x59 7200+60x69")},
        fires=16,
    ),
    "KubeRaySidecarBehind": Case({"kuberay_advisor_sidecar_log_lag_seconds": (50, 70)}, fires=16),
    "KubeRaySidecarPartFails": Case(
        {'kuberay_advisor_sidecar_component_failures_total{component="watches"}': (0, 0.2)}, fires=25
    ),
    "KubeRayAdvisorFinding": Case(
        {'kuberay_advisor_finding{operator="one",code="contention",severity="warning"}': (None, 1)}, fires=31
    ),
}
"""By alert; those that need a time of their own are in the tests."""


def without(case: Case) -> Iterator[tuple[str, Case]]:
    """The same with each series missing in turn, by its name."""
    for missing in case.series:
        if missing not in case.optional:
            left = {name: levels for name, levels in case.series.items() if name != missing}
            yield missing, Case(left, case.fires)
