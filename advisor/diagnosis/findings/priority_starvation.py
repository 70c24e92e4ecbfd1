"""Keys at a lower priority never get their turn."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.defaults import PRIORITY_EVENT, PRIORITY_INITIAL_LIST
from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from advisor.model.signals import ControllerSignals, EpisodeKind, PriorityDepth

_PAGE = Page(
    meaning=(
        "The priority queue (KubeRay 1.7) hands out priority 0 before -100 without ageing. While changes keep the "
        "workers busy, keys of the initial list and of resyncs wait for ever, in no wait histogram until they run."
    ),
    condition="Keys wait at priority 0 and at -100 at the same time, outside a start-up.",
    refuted_by="Nothing waits at 0: then -100 is being worked off; workers that are mostly idle.",
    what_to_do=(
        "Give the controller enough workers for its changes, so that -100 gets its turn; touching an object lifts it."
    ),
    what_not_to_do="Do not read the mean queue wait as theirs: it holds only keys that were handed out.",
    rests_on="Research controller-runtime 3.5, 6 (row 14); kuberay 4.7.",
    thresholds=("starved_keys", "target_utilisation"),
)


def _depth(controller: ControllerSignals, priority: int) -> PriorityDepth | None:
    return next((one for one in controller.depth_by_priority if one.priority == str(priority)), None)


def _examine(case: Case) -> Finding | None:
    if case.episode.kind is EpisodeKind.STARTUP:
        return None
    fewest = case.thresholds.starved_keys
    for controller in case.signals.controllers:
        low, high = _depth(controller, PRIORITY_INITIAL_LIST), _depth(controller, PRIORITY_EVENT)
        if low is None or high is None or not low.mean.at_least(fewest) or not high.mean.at_least(fewest):
            continue
        if controller.utilisation.below(case.thresholds.target_utilisation):
            continue
        return finding(
            case,
            FindingCode.PRIORITY_STARVATION,
            RULE.title,
            severity=Severity.CRITICAL if case.harm_of(controller) is Severity.CRITICAL else Severity.WARNING,
            confidence=Confidence.HIGH,
            summary=f"Keys of {controller.controller} at priority -100 wait while changes at 0 keep the workers busy.",
            shown=(
                evidence("keys waiting at priority -100, mean", low.mean),
                evidence("keys waiting at priority 0, mean", high.mean),
                evidence("workers busy", controller.utilisation),
            ),
            checks=(check("Does nothing wait at 0?", evidence("at 0", high.mean).text, refuted=False),),
            next_steps=("give the changes enough workers; look for who causes them",),
            subject=controller.controller,
            lost_seconds=low.mean.or_else(0.0) * case.signals.window.seconds,
        )
    return None


RULE = Rule(
    code=FindingCode.PRIORITY_STARVATION,
    title="Low-priority keys never get their turn",
    page=_PAGE,
    examine=_examine,
)
