"""Work that nobody asked for: the initial list after a start, and periodic resyncs."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.defaults import PRIORITY_INITIAL_LIST
from advisor.model.finding import Confidence, Finding, FindingCode
from advisor.model.signals import ControllerSignals, EpisodeKind, PriorityDepth

_PAGE = Page(
    meaning=(
        "After a start or a change of leader every object enters the queue at once (at priority -100 from KubeRay "
        "1.7), and the queue's depth equals the number of objects. It drains by itself; keys that change meanwhile go "
        "first on the priority queue and wait in line on the classic one."
    ),
    condition="A start-up episode in which many keys wait at priority -100.",
    refuted_by="Depth at priority 0: that is real change.",
    what_to_do=(
        "Wait for it to drain; find out why the operator restarted if it does so often. Judge settings by an episode "
        "under load, not by this one. `RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV` stretches the periodic resync."
    ),
    what_not_to_do="Do not size workers for the start-up alone.",
    rests_on="Research controller-runtime 3.1, 3.5, 8.2.14; kuberay 4.4, 4.7.",
    thresholds=("initial_list_keys", "wait_warning_seconds", "wait_target_seconds"),
)


def _initial(controller: ControllerSignals) -> PriorityDepth | None:
    wanted = str(PRIORITY_INITIAL_LIST)
    return next((one for one in controller.depth_by_priority if one.priority == wanted), None)


def _examine(case: Case) -> Finding | None:
    if case.episode.kind is not EpisodeKind.STARTUP:
        return None
    found = [(one, depth) for one in case.signals.controllers if (depth := _initial(one)) is not None]
    found = [(one, depth) for one, depth in found if depth.peak.at_least(case.thresholds.initial_list_keys)]
    if not found:
        return None
    controller, depth = max(found, key=lambda pair: pair[1].peak.or_else(0.0))
    return finding(
        case,
        FindingCode.RESYNC_LOAD,
        RULE.title,
        severity=case.harm,
        confidence=Confidence.HIGH,
        summary="The operator had just started: every object entered the queue at once and was worked off.",
        shown=(
            evidence(f"keys of {controller.controller} waiting at priority -100, peak", depth.peak),
            evidence("queue wait, mean", controller.queue_wait_seconds_mean),
            evidence("time since the process start", case.signals.process.uptime_seconds),
            evidence("time of one reconcile, mean", controller.work_seconds_mean),
        ),
        checks=(
            check(
                "Is it a load of real changes?",
                "the keys waited at priority -100, which only the initial list and resyncs get",
                refuted=False,
            ),
        ),
        next_steps=("find out why the operator started anew (kubectl describe pod: last state, exit code)",),
        subject=controller.controller,
        lost_seconds=case.waiting.backlog_key_seconds,
    )


RULE = Rule(
    code=FindingCode.RESYNC_LOAD,
    title="The initial list is being worked off",
    page=_PAGE,
    examine=_examine,
)
