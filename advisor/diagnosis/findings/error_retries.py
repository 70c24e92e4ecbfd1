"""Reconciles fail and are tried again."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "A large part of the reconciles fails and is retried with a growing delay (5 ms doubling to 1000 s a key). "
        "While a key is in backoff it is in no gauge: depth is near zero and workers are idle, yet nothing moves."
    ),
    condition=(
        "Failed reconciles less conflicts and less errors that KubeRay uses as control flow make up a material part of "
        "all. Conflicts and control flow are told from the log; conflicts also from 409 on PUT and PATCH."
    ),
    refuted_by="Errors that are conflicts (another finding) or control flow, and too few failures to speak of.",
    what_to_do=(
        "Read the commonest error and mend its cause: a quota, an admission webhook, a missing permission, a namespace "
        "that is being deleted."
    ),
    what_not_to_do="Do not raise concurrency or QPS: failures would only come faster.",
    rests_on="Research controller-runtime 3.3, 1.8; kuberay 3.4 and cases 24 to 27.",
    thresholds=("error_ratio", "fewest_errors"),
)
_CRITICAL_RATIO = 0.5


def _examine(case: Case) -> Finding | None:
    if not causes.errors_dominate(case) or not case.reconciles:
        return None
    ratio = case.true_errors / case.reconciles
    signals = case.signals
    worst = max(signals.controllers, key=lambda one: one.errors_per_second.or_else(0.0))
    unready = signals.demand.unready_cluster_seconds.or_else(0.0)
    from_log = signals.log.control_flow_errors.known
    shown = [
        Evidence(
            text=f"reconciles that failed, conflicts and control flow left out: {ratio:.0%} of {case.reconciles:.0f}",
            value=ratio,
            unit="ratio",
            origin=f"{worst.error_ratio.origin}, {'operator log' if from_log else 'client series'}",
        ),
        evidence("errors", worst.errors_per_second),
        evidence("writes refused (403, 422)", signals.client.refused_ratio),
        evidence("answers 5xx", signals.client.server_error_ratio),
    ]
    if signals.log.commonest_error:
        shown.append(Evidence(text=f"commonest error: {signals.log.commonest_error}", origin="operator log"))
    return finding(
        case,
        FindingCode.ERROR_RETRIES,
        RULE.title,
        severity=Severity.CRITICAL if ratio >= _CRITICAL_RATIO else Severity.WARNING,
        confidence=Confidence.HIGH if from_log or ratio >= _CRITICAL_RATIO else Confidence.MEDIUM,
        summary=(
            f"{ratio:.0%} of the reconciles of {worst.controller} fail and are retried with a growing delay; keys in "
            f"backoff are in no gauge."
        ),
        shown=tuple(shown),
        checks=(
            check(
                "Are the errors conflicts or control flow?",
                f"{case.conflicts:.0f} conflicts, {signals.log.control_flow_errors.or_else(0.0):.0f} control flow"
                + ("" if from_log else " (no log: control flow cannot be told)"),
                refuted=False if from_log else None,
            ),
        ),
        next_steps=("mend the cause of the commonest error; the operator recovers by itself",),
        subject=worst.controller,
        lost_seconds=ratio * max(unready, case.lost_seconds),
    )


RULE = Rule(
    code=FindingCode.ERROR_RETRIES,
    title="Reconciles fail and are retried",
    page=_PAGE,
    examine=_examine,
)
