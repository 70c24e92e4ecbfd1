"""Work that nobody asked for: the initial list after a start, and periodic resyncs."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.defaults import PRIORITY_INITIAL_LIST
from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from advisor.model.signals import ControllerSignals, EpisodeKind, PriorityDepth

_PAGE = Page(
    meaning=(
        "After a start or a change of leader every object enters the queue at once (at priority -100 from KubeRay "
        "1.7), and the queue's depth equals the number of objects. It drains by itself; keys that change meanwhile go "
        "first on the priority queue and wait in line on the classic one."
    ),
    condition=(
        "A start-up episode in which many keys wait at priority -100; restarts beside a queue that holds nearly every "
        "object; or a periodic load (objects / period) that asks for more than is done although no key waits for a "
        "worker."
    ),
    refuted_by="Depth at priority 0: that is real change.",
    what_to_do=(
        "Wait for it to drain; find out why the operator restarted if it does so often. Judge settings by an episode "
        "under load, not by this one. `RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV` stretches the periodic resync."
    ),
    what_not_to_do="Do not size workers for the start-up alone.",
    rests_on="Research controller-runtime 3.1, 3.5, 8.2.14; kuberay 4.4, 4.7.",
    thresholds=(
        "initial_list_keys",
        "initial_list_ratio",
        "target_utilisation",
        "late_periods_ratio",
        "wait_warning_seconds",
        "wait_target_seconds",
    ),
)


def _initial(controller: ControllerSignals) -> PriorityDepth | None:
    wanted = str(PRIORITY_INITIAL_LIST)
    return next((one for one in controller.depth_by_priority if one.priority == wanted), None)


def _examine(case: Case) -> Finding | None:
    return _at_start(case) or _after_restart(case) or _late_period(case)


def _after_restart(case: Case) -> Finding | None:
    """Told or counted restarts beside a queue that holds nearly every object."""
    limits = case.thresholds
    listed = [(one, _objects_of(case, one)) for one in case.signals.controllers]
    deep = [
        one
        for one, objects in listed
        if objects and one.depth_peak.at_least(max(limits.initial_list_keys, limits.initial_list_ratio * objects))
    ]
    if not deep or not case.signals.process.restarts.at_least(1.0):
        return None
    controller = max(deep, key=lambda one: one.depth_peak.or_else(0.0))
    return finding(
        case,
        FindingCode.RESYNC_LOAD,
        RULE.title,
        severity=case.harm,
        confidence=Confidence.MEDIUM,
        summary="The operator restarted and its queue holds nearly every object: the initial list is being worked off.",
        shown=(
            evidence("restarts", case.signals.process.restarts),
            evidence(f"keys of {controller.controller} waiting, peak", controller.depth_peak),
            evidence("queue wait, mean", controller.queue_wait_seconds_mean),
        ),
        checks=(
            check("Is it a load of real changes?", f"{_objects_of(case, controller):.0f} objects exist", refuted=False),
        ),
        next_steps=("find out why the operator starts anew (kubectl describe pod: last state, exit code)",),
        subject=controller.controller,
        lost_seconds=case.waiting.backlog_key_seconds,
    )


def _objects_of(case: Case, controller: ControllerSignals) -> float:
    """Objects that a controller lists: its own kind where that is known, else all."""
    objects = case.signals.demand.objects
    own = objects.get(controller.controller)
    return sum(one.or_else(0.0) for one in objects.values()) if own is None else own.or_else(0.0)


def _late_period(case: Case) -> Finding | None:
    """A periodic load that asks for more than is done: objects come round later than their period says.

    Where keys wait for a worker that is the workers' finding; here something else holds them back.
    """
    period, limits = case.signals.demand.resync_seconds.value, case.thresholds
    if not period or case.backlogged:
        return None
    for controller in case.signals.controllers:
        objects = case.signals.demand.objects.get(controller.controller)
        done = controller.reconciles_per_second.value
        if objects is None or not done or controller.utilisation.at_least(limits.target_utilisation):
            continue
        asked = objects.or_else(0.0) / period
        if asked <= (1.0 + limits.late_periods_ratio) * done:
            continue
        return finding(
            case,
            FindingCode.RESYNC_LOAD,
            "A periodic load comes round late",
            severity=Severity.WARNING,
            confidence=Confidence.MEDIUM,
            summary=(
                f"Each object of {controller.controller} should come round every {period:g} s, which is {asked:.3g} a "
                f"second; {done:.3g} a second are done, and the queue does not show the rest."
            ),
            shown=(
                evidence("objects", objects),
                evidence("reconciles", controller.reconciles_per_second),
                evidence("workers busy", controller.utilisation),
                evidence("results that ask for a timer", controller.requeue_after_ratio),
            ),
            checks=(check("Do keys wait for a worker?", "no true backlog was seen", refuted=False),),
            next_steps=("stretch the period, or look for a rate limit in the operator's own queue",),
            subject=controller.controller,
            lost_seconds=case.lost_seconds,
        )
    return None


def _at_start(case: Case) -> Finding | None:
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
