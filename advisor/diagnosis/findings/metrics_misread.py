"""Figures that invite a wrong reading."""

from collections.abc import Iterator

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, evidence, finding
from advisor.knowledge.catalogue_queue import QUEUE_BUCKETS_SECONDS
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "A figure looks alarming or reassuring and is neither: limiter waits of callers that are not workers, or a "
        "quantile that decade buckets have made up."
    ),
    condition=(
        "Many requests wait in the limiter although workers are idle and no key waits: they are of others (events, the "
        "lease, informers). Or a queue wait's 0.99 quantile lies inside a decade bucket and far above the mean."
    ),
    refuted_by="Busy workers, whose waits these then are; native histograms, whose buckets are fine.",
    what_to_do="Judge by time spent and by means (sum / count); look at the workers before the limiter.",
    what_not_to_do="Do not raise QPS for waits that hold nobody up, and do not size anything from such a quantile.",
    rests_on="Research controller-runtime 8.2 (readings 6, 7, 9), 4.1.",
    thresholds=("limited_requests_share", "idle_workers", "misread_quantile_factor"),
)


def _misreadings(case: Case) -> Iterator[tuple[str, Evidence]]:
    client, limits = case.signals.client, case.thresholds
    idle = case.busy_workers < limits.idle_workers and not case.backlogged
    if idle and client.limited_share.at_least(limits.limited_requests_share):
        yield (
            "requests wait in the limiter, but workers are idle: these are not their waits",
            evidence("requests that waited", client.limited_share),
        )
    for one in case.signals.controllers:
        quantile, mean = one.queue_wait_seconds_p99.value, one.queue_wait_seconds_mean.value
        if quantile is None or not mean or quantile < limits.misread_quantile_factor * mean:
            continue
        above = [bound for bound in QUEUE_BUCKETS_SECONDS if bound >= quantile]
        if above and quantile >= limits.wait_warning_seconds:
            reading = f"the 0.99 quantile of the queue wait is made up within a bucket up to {above[0]:g} s"
            shown = evidence(f"queue wait of {one.controller}, 0.99 quantile", one.queue_wait_seconds_p99)
            yield f"{reading}; the mean is exact", shown


def _examine(case: Case) -> Finding | None:
    found = list(_misreadings(case))
    if not found:
        return None
    return finding(
        case,
        FindingCode.METRICS_MISREAD,
        RULE.title,
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        summary=f"{'; '.join(text for text, _ in found)}.".capitalize(),
        shown=tuple(one for _, one in found),
    )


RULE = Rule(
    code=FindingCode.METRICS_MISREAD,
    title="A figure invites a wrong reading",
    page=_PAGE,
    examine=_examine,
)
