"""Alerts on the operator's process, its container and its leadership."""

from typing import Final

from advisor.model.finding import FindingCode, Severity
from scripts.rules.conditions import CPU_BOUND, LIMITS, WORKING
from scripts.rules.model import Alert, Group
from scripts.rules.recording import CONTAINER, OPERATOR

__all__ = ["GROUPS"]

_OPERATOR: Final = tuple(OPERATOR.split(", "))
_CONTAINER: Final = tuple(CONTAINER.split(", "))
_WHO: Final = "{{ $labels.job }} in {{ $labels.namespace }}"
_POD: Final = "{{ $labels.pod }} in {{ $labels.namespace }}"
_DOWN: Final = "KubeRayOperatorDown"

_PROCESS: Final = (
    Alert(
        name="KubeRayOperatorCPUThrottled",
        expr=f"{CPU_BOUND}\nand on (cluster, namespace) {WORKING}",
        hold="5m",
        severity=Severity.WARNING,
        summary="A CPU quota stops the operator.",
        description=(
            f"{_POD}: stopped in {{{{ $value | humanizePercentage }}}} of the CPU periods while it uses its whole "
            "limit. Every reconcile and every request looks slow from inside. Raise or remove the CPU limit first."
        ),
        labels=_CONTAINER,
        findings=(FindingCode.CPU_LIMITED,),
        need="cadvisor",
        inhibited_by=(_DOWN,),
    ),
    Alert(
        name="KubeRayOperatorMemoryNearLimit",
        expr=f"container:memory_used:ratio >= {LIMITS.memory_used_ratio:g}",
        hold="15m",
        severity=Severity.WARNING,
        summary="The operator is close to its memory limit.",
        description=(
            f"{_POD}: its working set is {{{{ $value | humanizePercentage }}}} of the memory limit; the next burst may "
            "kill it, and everything is listed and reconciled again after that."
        ),
        labels=_CONTAINER,
        findings=(FindingCode.MEMORY_LIMITED,),
        need="cadvisor",
        inhibited_by=("KubeRayOperatorOOMKilled",),
    ),
    Alert(
        name="KubeRayOperatorOOMKilled",
        expr=(
            f"sum by ({CONTAINER}) (increase(kube_pod_container_status_restarts_total{{$container}}[1h])) > 0\n"
            f"and on ({CONTAINER}) max by ({CONTAINER}) "
            '(kube_pod_container_status_last_terminated_reason{$container,reason="OOMKilled"}) == 1'
        ),
        hold="1m",
        severity=Severity.CRITICAL,
        summary="The operator was killed for its memory.",
        description=(
            f"{_POD}: restarted {{{{ $value | humanize }}}} times in an hour, the last time because it passed its "
            "memory limit. Raise the limit."
        ),
        labels=_CONTAINER,
        findings=(FindingCode.MEMORY_LIMITED,),
        need="kube-state-metrics",
    ),
    Alert(
        name="KubeRayOperatorRestarted",
        expr=f"sum by ({OPERATOR}) (changes(process_start_time_seconds{{$client}}[15m])) > 0",
        hold="1m",
        severity=Severity.INFO,
        summary="The operator restarted.",
        description=(
            f"{_WHO}: its process started anew within a quarter of an hour. Every object is reconciled once after "
            "that, at low priority from KubeRay 1.7 on: depth is high and falls."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.RESYNC_LOAD,),
        inhibited_by=("KubeRayOperatorRestartsOften", "KubeRayOperatorOOMKilled"),
    ),
    Alert(
        name="KubeRayOperatorRestartsOften",
        expr=f"sum by ({OPERATOR}) (changes(process_start_time_seconds{{$client}}[1h])) >= 3",
        hold="1m",
        severity=Severity.WARNING,
        summary="The operator restarts again and again.",
        description=(
            f"{_WHO}: started {{{{ $value }}}} times within an hour. Its probes fetch /metrics with a time-out of 1 s, "
            "so a slow scrape restarts it; a lost lease ends it, and so does its memory limit."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.RESYNC_LOAD,),
        inhibited_by=("KubeRayOperatorOOMKilled",),
    ),
)

_LEADER: Final = (
    Alert(
        name="KubeRayOperatorDown",
        expr=f"max by ({OPERATOR}) (up{{$client}}) == 0",
        hold="5m",
        severity=Severity.CRITICAL,
        summary="No replica of the operator answers its scrapes.",
        description=(
            f"{_WHO}: all its targets have failed for five minutes. It does not run, or answers /metrics too slowly "
            "for the scrape's time-out."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.METRICS_MISSING,),
    ),
    Alert(
        name="KubeRayOperatorAbsent",
        expr=(
            f"group by ({OPERATOR}) (present_over_time(up{{$client}}[6h]))\n"
            f"unless group by ({OPERATOR}) (up{{$client}})"
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="An operator that was scraped is no target any more.",
        description=(
            f"{_WHO}: it was a target within six hours and is none now. It was removed, or its ServiceMonitor no "
            "longer selects it. Without its series no other alert can fire."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.METRICS_MISSING,),
    ),
    Alert(
        name="KubeRayNoOperatorScraped",
        expr="absent(up{$client})",
        hold="10m",
        severity=Severity.WARNING,
        summary="No KubeRay operator is scraped at all.",
        description=(
            "No target has a job that looks like a KubeRay operator. Install a ServiceMonitor for it, or give the "
            "rules the job that it has; until then no other alert can fire."
        ),
        labels=(),
        findings=(FindingCode.METRICS_MISSING,),
        inhibited_by=("KubeRayOperatorAbsent",),
    ),
    Alert(
        name="KubeRayOperatorMetricsMissing",
        expr=(
            f"max by ({OPERATOR}) (leader_election_master_status{{$client}}) == 1\n"
            f"unless on ({OPERATOR}) controller:controller_runtime_workers:max"
        ),
        hold="10m",
        severity=Severity.WARNING,
        summary="The leading operator exposes no series of its controllers.",
        description=(
            f"{_WHO}: it leads, but controller_runtime_max_concurrent_reconciles is missing. Relabelling drops it, or "
            "its controllers have not started. Alerts on its queue cannot fire."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.METRICS_MISSING,),
        inhibited_by=(_DOWN,),
    ),
    Alert(
        name="KubeRayNoLeader",
        expr=f"max by ({OPERATOR}) (leader_election_master_status{{$client}}) == 0",
        hold="5m",
        severity=Severity.CRITICAL,
        summary="No scraped replica of the operator leads.",
        description=(
            f"{_WHO}: every replica that is scraped stands by. Nothing is reconciled, or the leader is not scraped; "
            "then figures of the standby say nothing."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.NOT_LEADER,),
        inhibited_by=(_DOWN,),
    ),
    Alert(
        name="KubeRayLeaderFlapping",
        # Taking the lease and losing it are a change each, so that this is two hand-overs.
        expr=f"sum by ({OPERATOR}) (changes(leader_election_master_status{{$client}}[1h])) >= 4",
        hold="1m",
        severity=Severity.WARNING,
        summary="The leadership changes again and again.",
        description=(
            f"{_WHO}: {{{{ $value }}}} changes within an hour. Each loss of the lease ends the process and begins with "
            "a list of everything. The API server is slow or away, or the operator has no CPU to renew its lease."
        ),
        labels=_OPERATOR,
        findings=(FindingCode.NOT_LEADER,),
        inhibited_by=("KubeRayOperatorRestartsOften",),
    ),
)

GROUPS: Final = (
    Group("kuberay-advisor.alerts.process", _PROCESS),
    Group("kuberay-advisor.alerts.leader", _LEADER),
)
"""Alerts about container and process, and about leadership and scrapes."""
