"""Far more workers than were ever needed."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "The operator has many more workers than were ever busy. Idle workers cost next to nothing, but after a "
        "restart or an outage all of them call the API server at once."
    ),
    condition=(
        "Over the whole observation no key waited for a worker and only a small part of many workers was ever busy."
    ),
    refuted_by="A backlog, or a peak of busy workers near the number configured.",
    what_to_do=(
        "Lower concurrency to what the busiest observed time needs with headroom, if the observation covers a "
        "busy time."
    ),
    what_not_to_do="Do not lower it from a quiet hour alone: a quiet night says nothing about the next rollout.",
    rests_on="Research controller-runtime 8.1; recordings with 64 workers.",
    thresholds=("over_provisioned_workers", "over_provisioned_ratio", "peak_of_mean", "wait_warning_seconds"),
)


def _examine(case: Case) -> Finding | None:
    limits = case.thresholds
    controllers = case.whole.controllers
    workers = max((one.max_concurrent_reconciles.or_else(0.0) for one in controllers), default=0.0)
    if workers < limits.over_provisioned_workers or case.harm is not Severity.INFO:
        return None
    peak = max(workers if (seen := causes.peak_workers(one, limits)) is None else seen for one in controllers)
    long_wait = any(one.queue_wait_seconds_mean.at_least(limits.wait_warning_seconds) for one in controllers)
    if peak > limits.over_provisioned_ratio * workers or long_wait:
        return None
    busiest = max(controllers, key=lambda one: one.busy_workers_mean.or_else(0.0))
    return finding(
        case,
        FindingCode.OVER_PROVISIONED,
        RULE.title,
        severity=Severity.INFO,
        confidence=Confidence.MEDIUM,
        summary=f"Of {workers:.0f} workers at most {peak:.0f} were ever seen busy, and no key waited for one.",
        shown=(
            evidence("workers", busiest.max_concurrent_reconciles),
            evidence("workers busy, peak at a scrape", busiest.active_workers_peak),
            evidence("workers busy, mean", busiest.busy_workers_mean),
            evidence("queue wait, mean", busiest.queue_wait_seconds_mean),
        ),
        checks=(
            check(
                "Did keys wait for a worker at any time?",
                evidence("queue wait, mean over everything", busiest.queue_wait_seconds_mean).text,
                refuted=False,
            ),
        ),
        next_steps=("check that the observation covers the busiest time of the week before lowering",),
        subject=busiest.controller,
    )


RULE = Rule(
    code=FindingCode.OVER_PROVISIONED,
    title="Far more workers than were ever busy",
    page=_PAGE,
    examine=_examine,
)
