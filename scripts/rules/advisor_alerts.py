"""Alerts on what the advisor's sidecar and service expose; silent without them."""

from typing import Final

from advisor.model.finding import FindingCode, Severity
from scripts.rules.model import Alert, Group

__all__ = ["BY_SERVICE", "GROUPS"]

_SIDECAR: Final = "cluster, namespace, job, controller"
_SERVICE: Final = "cluster, namespace, job, operator"
BY_SERVICE: Final = (
    FindingCode.CONTENTION,
    FindingCode.METRICS_MISREAD,
    FindingCode.QUEUE_LIMITER_BOUND,
    FindingCode.SETTING_NOT_APPLIED,
)
"""Findings that only an analysis can make and that are worth a ticket."""

_KEYS: Final = (
    Alert(
        name="KubeRayHotKey",
        expr=f"max by ({_SIDECAR}, object_namespace, object_name, writer) (kuberay_advisor_hot_key) == 1",
        hold="10m",
        severity=Severity.WARNING,
        summary="One object keeps a worker of the operator busy.",
        description=(
            "{{ $labels.controller }}: {{ $labels.object_namespace }}/{{ $labels.object_name }} takes the time"
            "{{ if $labels.writer }}; most writes to it come from {{ $labels.writer }}{{ end }}. More workers do not "
            "help it. Find out why it is reconciled so often or takes so long."
        ),
        labels=("cluster", "namespace", "job", "controller", "object_namespace", "object_name", "writer"),
        findings=(FindingCode.HOT_KEY,),
        need="sidecar",
    ),
    Alert(
        name="KubeRayLowPriorityWaits",
        # KubeRay comes back to each object after five minutes, so that these are late for it.
        expr=(
            f"max by ({_SIDECAR}, priority) "
            '(kuberay_advisor_oldest_ready_age_seconds{priority=~"-.+"}) >= $seconds(5m)'
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="A key of low priority has waited for more than a resync.",
        description=(
            "{{ $labels.controller }}: the oldest key at priority {{ $labels.priority }} has been ready for "
            "{{ $value | humanizeDuration }}. No series of the operator shows it before it gets its turn."
        ),
        labels=("cluster", "namespace", "job", "controller", "priority"),
        findings=(FindingCode.PRIORITY_STARVATION,),
        need="sidecar",
        inhibited_by=("KubeRayLowPriorityStarved", "KubeRayNoLeader"),
    ),
    Alert(
        name="KubeRayExpectationBlocked",
        expr=f"sum by ({_SIDECAR}, reason) (kuberay_advisor_expectation_blocked_keys) >= 1",
        hold="10m",
        severity=Severity.WARNING,
        summary="RayClusters are not scaled since the operator waits in vain for Pods.",
        description=(
            "{{ $labels.controller }}: {{ $value }} RayClusters are skipped ({{ $labels.reason }}) while the operator "
            "looks idle and healthy. Find Pods that are stuck Terminating, or never came."
        ),
        labels=("cluster", "namespace", "job", "controller", "reason"),
        findings=(FindingCode.CACHE_LAG,),
        need="sidecar",
    ),
    Alert(
        name="KubeRaySpecNotHandled",
        expr=f"max by ({_SIDECAR}) (kuberay_advisor_generation_lag_seconds) >= $seconds(10m)",
        hold="5m",
        severity=Severity.WARNING,
        summary="A changed spec has not been looked at.",
        description=(
            "{{ $labels.controller }}: the oldest changed spec has waited for {{ $value | humanizeDuration }}, twice "
            "as long as the operator ever leaves an object alone."
        ),
        labels=("cluster", "namespace", "job", "controller"),
        need="sidecar",
        inhibited_by=(
            "KubeRayWorkersSaturated",
            "KubeRayBacklogGrowing",
            "KubeRayQueueStuck",
            "KubeRayHotKey",
            "KubeRayNoLeader",
        ),
    ),
)

_HEALTH: Final = (
    Alert(
        name="KubeRayAdvisorDown",
        expr="max by (cluster, namespace, job) (up{$advisor}) == 0",
        hold="10m",
        severity=Severity.WARNING,
        summary="The advisor does not answer its scrapes.",
        description="{{ $labels.job }} in {{ $labels.namespace }} does not run. The operator does not need it.",
        labels=("cluster", "namespace", "job"),
        need="service",
    ),
    Alert(
        name="KubeRayAdvisorAnalysisFails",
        expr=f"max by ({_SERVICE}, source) (kuberay_advisor_analysis_failures_in_a_row) >= 3",
        hold="5m",
        severity=Severity.WARNING,
        summary="The advisor cannot analyse an operator.",
        description=(
            "{{ $labels.operator }}: {{ $value }} analyses from {{ $labels.source }} failed in a row. Its page and the "
            "service's log say why; the last report stays."
        ),
        labels=("cluster", "namespace", "job", "operator", "source"),
        need="service",
        inhibited_by=("KubeRayAdvisorDown",),
    ),
    Alert(
        name="KubeRayAdvisorReportOld",
        # After failures it pauses for up to an hour, so that this is two of the longest pauses.
        expr=(
            f"time() - max by ({_SERVICE}) (kuberay_advisor_analysis_last_success_timestamp_seconds) >= $seconds(2h)"
        ),
        hold="15m",
        severity=Severity.WARNING,
        summary="The advisor's last report of an operator is old.",
        description=(
            "{{ $labels.operator }}: last analysed {{ $value | humanizeDuration }} ago. What its page and its series "
            "say is of then."
        ),
        labels=("cluster", "namespace", "job", "operator"),
        need="service",
        inhibited_by=("KubeRayAdvisorDown", "KubeRayAdvisorAnalysisFails"),
    ),
    Alert(
        name="KubeRaySidecarBehind",
        expr="max by (cluster, namespace, job) (kuberay_advisor_sidecar_log_lag_seconds) >= $seconds(1m)",
        hold="15m",
        severity=Severity.INFO,
        summary="The sidecar reads the operator's log late.",
        description=(
            "{{ $labels.job }} in {{ $labels.namespace }} is {{ $value | humanizeDuration }} behind: its CPU budget is "
            "too small for this log. What it says of keys is of then; nothing is left out."
        ),
        labels=("cluster", "namespace", "job"),
        need="sidecar",
        inhibited_by=("KubeRayAdvisorDown",),
    ),
    Alert(
        name="KubeRaySidecarPartFails",
        expr=(
            "sum by (cluster, namespace, job, component) "
            "(increase(kuberay_advisor_sidecar_component_failures_total[1h])) >= 3"
        ),
        hold="5m",
        severity=Severity.WARNING,
        summary="A part of the sidecar fails again and again.",
        description=(
            "{{ $labels.component }} of {{ $labels.job }} in {{ $labels.namespace }} failed {{ $value | humanize }} "
            "times within an hour. Its log says why; a missing permission is the commonest reason."
        ),
        labels=("cluster", "namespace", "job", "component"),
        need="sidecar",
        inhibited_by=("KubeRayAdvisorDown",),
    ),
)

_ADVICE: Final = (
    Alert(
        name="KubeRayAdviceOpen",
        expr=f"abs(max by ({_SERVICE}, setting) (kuberay_advisor_recommended_direction)) == 1",
        hold="3d",
        severity=Severity.INFO,
        summary="Advice has been open for three days.",
        description=(
            "{{ $labels.operator }}: the advisor has advised another {{ $labels.setting }} for three days. Its page "
            "has the patch and what it should do; if you decided against it, silence this."
        ),
        labels=("cluster", "namespace", "job", "operator", "setting"),
        need="service",
    ),
    Alert(
        name="KubeRayAdvisorFinding",
        expr=(
            f"max by ({_SERVICE}, code) (kuberay_advisor_finding{{"
            f'code=~"{"|".join(code.value for code in BY_SERVICE)}",severity=~"critical|warning"}}) == 1'
        ),
        hold="30m",
        severity=Severity.WARNING,
        summary="The advisor has found what no series shows by itself.",
        description=(
            "{{ $labels.operator }}: {{ $labels.code }}. `kuberay-advisor explain {{ $labels.code }}` and the "
            "operator's page say what it means and what to do."
        ),
        labels=("cluster", "namespace", "job", "operator", "code"),
        findings=BY_SERVICE,
        need="service",
    ),
)

GROUPS: Final = (
    Group("kuberay-advisor.alerts.keys", _KEYS),
    Group("kuberay-advisor.alerts.advisor", _HEALTH),
    Group("kuberay-advisor.alerts.advice", _ADVICE),
)
"""Alerts about keys, about the advisor itself, and about its advice."""
