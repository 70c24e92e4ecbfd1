"""Too little was seen to say anything."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning="There are too few samples, or none of the series that a diagnosis needs. No advice can rest on this.",
    condition=(
        "Fewer scrapes than rates need; no controller and no sign of a standby; or keys that wait, or may wait, while "
        "no finding can tell why."
    ),
    refuted_by="More samples: a few minutes at the scrape interval, over a busy time.",
    what_to_do="Collect at least a few minutes that cover the time users complain about, with the operator's log.",
    what_not_to_do="Do not change settings on a guess.",
    rests_on="Design: refusing to advise is a result.",
    thresholds=("fewest_scrapes",),
)


def _examine(case: Case) -> Finding | None:
    few = case.too_few_scrapes
    leader = case.signals.process.leader
    blind = not case.signals.controllers and not leader.below(0.5)
    if not few and not blind:
        return None
    reason = (
        f"{case.scrapes} scrapes in all; rates need at least {case.thresholds.fewest_scrapes}"
        if few
        else "no controller and no work queue series was found"
    )
    return finding(
        case,
        FindingCode.INSUFFICIENT_DATA,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        refuses=True,
        summary="Too little was observed for a diagnosis, and none is given.",
        shown=(Evidence(text=reason),),
        next_steps=(
            "record a few minutes at a scrape interval of 15 s or less while users wait",
            "give the operator's log and the object timeline as well: they name keys and Pods",
        ),
    )


_KUBERAY_STEPS = (
    "give the operator's arguments (--qps, --burst), its log and the object timeline",
    "from KubeRay 1.7 on the client's durations and limiter waits are exposed, which settles it",
)
_OTHER_STEPS = (
    "give the operator's arguments and what QPS and Burst its client has, as facts or with a profile of your own",
    "an operator that registers the client's durations and limiter waits exposes what settles it",
)


def unexplained(case: Case) -> Finding:
    """The finding for an episode in which keys waited, or may have waited, and no rule can tell why."""
    if case.harm is Severity.INFO:
        return finding(
            case,
            FindingCode.INSUFFICIENT_DATA,
            "It is not known whether keys wait",
            severity=Severity.WARNING,
            confidence=Confidence.HIGH,
            refuses=True,
            summary="The series that tell how long keys wait are missing, so nothing follows from the others.",
            shown=tuple(
                evidence(f"queue wait of {one.controller}, mean", one.queue_wait_seconds_mean)
                for one in case.signals.controllers
            ),
            next_steps=("scrape workqueue_depth and workqueue_queue_duration_seconds of the operator as well",),
        )
    shown: tuple[Evidence, ...] = ()
    if case.waiting.worst is not None:
        shown = (evidence("queue wait, mean", case.waiting.worst.queue_wait_seconds_mean),)
    return finding(
        case,
        FindingCode.INSUFFICIENT_DATA,
        "Keys wait and the data does not tell why",
        severity=case.harm,
        confidence=Confidence.HIGH,
        refuses=True,
        summary="Keys wait, but no finding explains it from what was observed; no advice is given.",
        shown=shown,
        next_steps=_KUBERAY_STEPS if case.signals.profile.is_kuberay else _OTHER_STEPS,
    )


RULE = Rule(
    code=FindingCode.INSUFFICIENT_DATA,
    title="Too little was observed",
    page=_PAGE,
    examine=_examine,
)
