"""Nothing holds the operator back; the engine adds this finding when no other says otherwise."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning="Keys are taken up at once, reconciles succeed, and the operator has room.",
    condition=("No other finding of warning or above, and a queue wait that is known and below what people notice."),
    refuted_by="Any other finding; a standby; too few samples.",
    what_to_do="Keep the settings.",
    what_not_to_do="Do not tune what does not hold anybody up.",
    rests_on="The article: raise concurrency only when workers are busy for long and different keys wait.",
    thresholds=("wait_warning_seconds", "wait_target_seconds", "fewest_reconciles"),
)


def _examine(case: Case) -> Finding | None:
    if not case.waiting_is_known or case.harm is not Severity.INFO:
        return None
    busiest = max(case.signals.controllers, key=lambda one: one.busy_worker_seconds.or_else(0.0))
    return finding(
        case,
        FindingCode.HEALTHY,
        RULE.title,
        severity=Severity.INFO,
        confidence=Confidence.HIGH if case.reconciles >= case.thresholds.fewest_reconciles else Confidence.MEDIUM,
        summary="Keys are taken up at once and nothing holds the operator back.",
        shown=(
            evidence("queue wait, mean", busiest.queue_wait_seconds_mean),
            evidence(f"workers of {busiest.controller} busy", busiest.utilisation),
            evidence("errors", busiest.error_ratio),
            evidence("time of one reconcile, mean", busiest.work_seconds_mean),
        ),
    )


RULE = Rule(
    code=FindingCode.HEALTHY,
    title="Nothing holds the operator back",
    page=_PAGE,
    examine=_examine,
)
