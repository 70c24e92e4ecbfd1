"""More workers get less done."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Throughput has gone down as workers were added: they compete for something that gets slower when shared - a "
        "disk, a lock, an API server, a remote service."
    ),
    condition="Measured points of throughput by workers show that fewer workers got materially more done.",
    refuted_by="A throughput that stays level or rises with the workers: level is a limit, not contention.",
    what_to_do="Go back to the number of workers that got most done, then find what they compete for.",
    what_not_to_do="Do not raise concurrency, however many keys wait.",
    rests_on="Peers, point 4: 4 workers took 10 to 15 s an item, 20 took 3 to 4 min.",
    thresholds=("slower_with_more_ratio",),
)


def _examine(case: Case) -> Finding | None:
    found = [
        (one, best)
        for one in case.signals.controllers
        if (best := causes.best_workers(one, case.thresholds)) is not None
    ]
    if not found:
        return None
    controller, best = found[0]
    points = ", ".join(
        f"{point.workers:g} workers {point.items_per_second:g}/s"
        for point in sorted(controller.scaling, key=lambda point: point.workers)
    )
    return finding(
        case,
        FindingCode.CONTENTION,
        RULE.title,
        severity=Severity.CRITICAL if case.harm is Severity.CRITICAL else Severity.WARNING,
        confidence=Confidence.HIGH,
        summary=f"{controller.controller} got most done with {best:g} workers; with the present number it gets less.",
        shown=(
            Evidence(text=f"measured: {points}", origin="measured points"),
            evidence("workers", controller.max_concurrent_reconciles),
            evidence("time of one reconcile, mean", controller.work_seconds_mean),
        ),
        checks=(check("Is the throughput level rather than falling?", f"most at {best:g} workers", refuted=False),),
        next_steps=("find what the workers compete for: disk, locks, a remote service",),
        subject=controller.controller,
        lost_seconds=case.waiting.backlog_key_seconds + case.busy_seconds,
    )


RULE = Rule(
    code=FindingCode.CONTENTION,
    title="More workers get less done",
    page=_PAGE,
    examine=_examine,
)
