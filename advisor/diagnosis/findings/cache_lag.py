"""A scale expectation that is not met, or a cache that lags: groups are skipped without an error."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.defaults import RAYCLUSTER_SETTLE_SECONDS
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "The operator remembers each Pod that it created or deleted until its cache shows it. While such an "
        "expectation is unmet the worker group is skipped: no error, no retry, workers idle. A delete has no time-out: "
        "a Pod that stays Terminating blocks its group for as long as it lasts."
    ),
    condition=(
        "The log shows a group skipped for longer than a create's 30 s time-out while clusters are not as asked for "
        "and no Pod of theirs is pending. Without a log: clusters lack Pods for long while the operator is idle and "
        "free of errors."
    ),
    refuted_by="Pods that exist and are pending, failed reconciles, or busy workers.",
    what_to_do=(
        "Find Pods stuck Terminating (finalizers, lost nodes) and free them. The next try comes with the next event, "
        "or at the 300 s resync."
    ),
    what_not_to_do="Do not tune the operator, and do not restart it before the stuck Pod is understood.",
    rests_on="Research kuberay 4.5 and case 19. The article on what happens between two reconciles.",
    thresholds=(
        "blocked_group_seconds",
        "surplus_ratio",
        "elsewhere_seconds",
        "idle_workers",
        "error_ratio",
        "fewest_errors",
    ),
)


def _examine(case: Case) -> Finding | None:
    return _skipped_groups(case) or _surplus(case)


def _surplus(case: Case) -> Finding | None:
    """More was created than was asked for: a stale cache hid what had just been made.

    Only where it is known how many creations an item needs: events are creations as well.
    """
    demand, client = case.signals.demand, case.signals.client
    items, seconds = demand.items_in_burst.value, demand.drain_seconds.value
    rate = client.requests_per_second_by_code.get("201")
    calls = demand.api_calls_per_item.value
    if not items or not seconds or not calls or rate is None or case.backlogged:
        return None
    wanted = items * calls
    created = rate.or_else(0.0) * seconds
    if created <= (1.0 + case.thresholds.surplus_ratio) * wanted:
        return None
    return finding(
        case,
        FindingCode.CACHE_LAG,
        "More was created than was asked for",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        summary=(
            f"{created:.0f} objects were created where {wanted:.0f} were asked for: the operator's cache did not show "
            "yet what it had just created."
        ),
        shown=(
            evidence("creations", rate),
            evidence("items asked for", demand.items_in_burst),
            evidence("time they took", demand.drain_seconds),
        ),
        checks=(check("Are these events or retries?", "conflicts and errors are not what is counted", refuted=None),),
        next_steps=(
            "upgrade: from KubeRay 1.3 on scale expectations wait for the cache"
            if case.signals.profile.is_kuberay
            else "look whether the operator waits until its cache shows what it has just created",
        ),
        lost_seconds=case.lost_seconds,
    )


def _skipped_groups(case: Case) -> Finding | None:
    limits, demand, log = case.thresholds, case.signals.demand, case.signals.log
    if case.busy_workers >= limits.idle_workers:
        return None
    lacking = demand.missing_pod_cluster_seconds
    operator = case.waiting.backlog_key_seconds + case.waiting.blocked_key_seconds + case.busy_seconds
    settling = RAYCLUSTER_SETTLE_SECONDS * demand.clusters_created.or_else(0.0)
    lost = max(0.0, lacking.or_else(0.0) - operator - settling)
    failing = causes.errors_dominate(case)
    from_log = log.blocked_seconds_peak.at_least(limits.blocked_group_seconds)
    from_objects = lost >= limits.elsewhere_seconds and not failing and bool(case.signals.controllers)
    if not from_objects and not (from_log and not lacking.known):
        return None
    return finding(
        case,
        FindingCode.CACHE_LAG,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if from_log else Confidence.MEDIUM,
        summary=(
            "Clusters lack Pods although the operator is idle and free of errors: it waits until its cache shows Pods "
            "that it created or deleted, and skips their groups until then."
        ),
        shown=(
            evidence("groups skipped for longer than a create can take to be seen", log.blocked_groups),
            evidence("longest time a group was skipped", log.blocked_seconds_peak),
            evidence("time of clusters not as asked for without a pending Pod", lacking),
            evidence("clusters not as asked for at once", demand.unready_clusters_peak),
        ),
        checks=(
            check("Are their Pods pending?", evidence("Pods pending", demand.pending_pod_seconds).text, refuted=False),
            check("Do reconciles fail?", f"{case.true_errors:.0f} of {case.reconciles:.0f} failed", refuted=False),
        ),
        next_steps=("kubectl get pods -A and look for Terminating; their finalizers and nodes tell why",),
        lost_seconds=lost,
    )


RULE = Rule(
    code=FindingCode.CACHE_LAG,
    title="Groups are skipped until the cache catches up",
    page=_PAGE,
    examine=_examine,
)
