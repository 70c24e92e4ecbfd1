"""Clusters wait, but not for the operator."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Check, Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Clusters are not ready, yet the operator neither queues nor works: it has created the Pods and waits for "
        "others - the scheduler, a node autoscaler, an image pull, a quota of nodes."
    ),
    condition=(
        "Most of the time for which clusters were not ready, no key waited and workers were idle, and Pods existed "
        "that were not ready; without an object timeline, clusters stay unprovisioned while the operator is idle and "
        "error free."
    ),
    refuted_by="A backlog or busy workers in the same time, failed reconciles, or Pods that were never created.",
    what_to_do="Look at the Pods: `kubectl get events`, pending reasons, node capacity, image pulls.",
    what_not_to_do="Do not tune the operator: it is idle.",
    rests_on="The article's last row; research kuberay case 33.",
    thresholds=("elsewhere_seconds", "elsewhere_share", "idle_workers", "error_ratio", "fewest_errors"),
)


def _examine(case: Case) -> Finding | None:
    limits, demand = case.thresholds, case.signals.demand
    unready = demand.unready_cluster_seconds
    operator = case.waiting.backlog_key_seconds + case.waiting.blocked_key_seconds + case.busy_seconds
    if case.busy_workers >= limits.idle_workers or causes.errors_dominate(case):
        return None
    timeline = demand.missing_pod_cluster_seconds
    pending = unready.or_else(0.0) - timeline.or_else(0.0)
    elsewhere = max(0.0, pending - operator)
    clusters = max(1.0, demand.clusters_created.or_else(1.0))
    if elsewhere < limits.elsewhere_seconds * clusters or elsewhere < limits.elsewhere_share * unready.or_else(0.0):
        return None
    if not case.signals.controllers:
        return None
    return finding(
        case,
        FindingCode.BOTTLENECK_ELSEWHERE,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if timeline.known else Confidence.MEDIUM,
        summary="Clusters are not ready although the operator is idle: their Pods exist and wait for something else.",
        shown=(
            evidence("time of clusters not ready, summed", unready),
            evidence("clusters not ready at once", demand.unready_clusters_peak),
            evidence("time of Pods not ready, summed", demand.pending_pod_seconds),
            evidence("time of clusters not ready without a pending Pod", timeline),
        ),
        checks=_checks(case),
        next_steps=(
            "kubectl get pods -A --field-selector=status.phase=Pending, and the events of one of them",
            "check node capacity and the node autoscaler",
        ),
        lost_seconds=elsewhere,
    )


def _checks(case: Case) -> tuple[Check, ...]:
    return (
        check(
            "Do keys wait for a worker?",
            f"{case.waiting.backlog_key_seconds:.1f} key seconds waited, {case.busy_workers:.2g} workers busy",
            refuted=False,
        ),
        check(
            "Do reconciles fail?",
            f"{case.true_errors:.0f} of {case.reconciles:.0f} reconciles failed",
            refuted=False,
        ),
    )


RULE = Rule(
    code=FindingCode.BOTTLENECK_ELSEWHERE,
    title="Clusters wait for something other than the operator",
    page=_PAGE,
    examine=_examine,
)
