"""How many workers: from offered load and wait, never past a guard.

One flag serves all controllers that it reaches, so the need is the largest of theirs. Closed form: while a true backlog
exists all workers are busy, so the offered load is at least the number of workers, and waits of a work-conserving queue
shrink in proportion to workers as long as a reconcile takes the same time.
"""

import math
from collections.abc import Callable

from advisor.diagnosis.causes import best_workers, levelled_off, peak_workers, stuck_workers
from advisor.diagnosis.engine import Diagnosis
from advisor.knowledge.profile import Profile
from advisor.knowledge.profiles import KUBERAY
from advisor.knowledge.versions import controller_of, lookup
from advisor.model.advice import Direction, KnobAdvice
from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import ControllerSignals, OperatorSignals
from advisor.model.text import format_value
from advisor.recommend.policy import Policy

__all__ = ["concurrency_advice", "flag_reaches", "needed_workers", "offered_workers"]

_RAISES = frozenset({FindingCode.WORKERS_SATURATED, FindingCode.EXTERNAL_CALL_SLOW})
_GUARDS = frozenset(
    {
        FindingCode.CPU_LIMITED,
        FindingCode.MEMORY_LIMITED,
        FindingCode.API_SERVER_SLOW,
        FindingCode.CLIENT_THROTTLED,
    }
)
"""Findings that forbid a raise even where another comes first: more workers would only share what is short."""
_HOLDS = {
    FindingCode.CLIENT_THROTTLED: "the client limiter holds the workers up; more workers would wait in it as well",
    FindingCode.API_SERVER_SLOW: "the API server is slow; more requests at once would make it slower",
    FindingCode.HOT_KEY: "one key takes the time, and a key is never reconciled by two workers at once",
    FindingCode.ERROR_RETRIES: "failures dominate; more workers would only fail faster",
    FindingCode.WRITE_CONFLICTS: "conflicts are not caused or cured by the number of workers",
    FindingCode.CPU_LIMITED: "the CPU quota stops all workers; raise it first and measure again",
    FindingCode.RESYNC_LOAD: "the initial list drains by itself; judge the setting under load",
    FindingCode.BOTTLENECK_ELSEWHERE: "the operator is idle; clusters wait for something else",
    FindingCode.CACHE_LAG: "the operator is idle and waits for its cache to show Pods",
    FindingCode.HEALTHY: "keys are taken up at once",
    FindingCode.NOT_LEADER: "the operator keeps starting anew; stabilise it before anything is tuned",
    FindingCode.MEMORY_LIMITED: "each worker holds memory of its own; raise the memory limit first",
    FindingCode.QUEUE_LIMITER_BOUND: "the queue's own retry bucket is the limit, whatever the workers do",
    FindingCode.PRIORITY_STARVATION: "changes keep the workers busy; low-priority keys need free ones",
    FindingCode.SETTING_NOT_APPLIED: "the setting does not take effect; find out why before it is changed",
    FindingCode.METRICS_MISSING: "what would tell is not exposed; complete the metrics first",
}


def offered_workers(controller: ControllerSignals, profile: Profile = KUBERAY) -> float | None:
    """Workers that the load keeps busy if none has to wait; None where the busy time is not known.

    A timer-driven load is a closed loop: each key comes back a fixed time after its reconcile, so waiting slows the
    arrivals down. N keys = rate x (timer + wait + work); without the wait they offer N x work / (timer + work).
    """
    busy = controller.busy_workers_mean.value
    if busy is None:
        return None
    workers = controller.max_concurrent_reconciles.or_else(busy)
    offered = max(busy, workers) if controller.backlog_mean.at_least(1.0) else busy
    offered = max(offered, controller.adds_per_second.or_else(0.0) * controller.work_seconds_mean.or_else(0.0))
    program = profile.program(controller.controller)
    timer = program.requeue_seconds if program is not None else None
    rate, work = controller.reconciles_per_second.value, controller.work_seconds_mean.value
    if program is None or timer is None or not program.makes_external_calls or not rate or not work:
        return offered
    keys = rate * (timer + controller.queue_wait_seconds_mean.or_else(0.0) + work)
    return max(offered, keys * work / (timer + work))


def needed_workers(controller: ControllerSignals, policy: Policy, profile: Profile = KUBERAY) -> float | None:
    """Workers for the wait target and the target utilisation, before any guard; None where the load is not known."""
    offered = offered_workers(controller, profile)
    if offered is None:
        return None
    need = offered / policy.target_utilisation
    workers = controller.max_concurrent_reconciles.or_else(1.0)
    if controller.backlog_peak.at_least(1.0):
        need = max(need, workers * controller.oldest_wait_seconds_peak.or_else(0.0) / policy.wait_target_seconds)
    return need


def concurrency_advice(verdict: Diagnosis, policy: Policy) -> KnobAdvice:
    """Advice on the number of workers from the episode that the verdict is for."""
    current = verdict.case.signals.settings.concurrency.value
    primary = verdict.primary
    if verdict.refuses or primary.code is FindingCode.INSUFFICIENT_DATA:
        return KnobAdvice(direction=Direction.NO_NUMBER, current=current, value=None, reason=primary.summary)
    lower = _LOWERS.get(primary.code)
    if lower is not None:
        return lower(verdict, current, policy)
    held = _reason_to_keep(verdict)
    if held is not None:
        return _keep(current, held)
    if current is None:
        reason = "all workers are busy, but their number is not known"
        return KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason=reason)
    return _raise(verdict, current, policy)


def _keep(current: float | None, reason: str) -> KnobAdvice:
    return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)


def _reason_to_keep(verdict: Diagnosis) -> str | None:
    """Why more workers would not help; None where they would."""
    primary = verdict.primary
    if primary.code not in _RAISES or primary.severity is Severity.INFO:
        return _HOLDS.get(primary.code, primary.summary)
    stuck = max((stuck_workers(one) for one in verdict.case.signals.controllers), default=0.0)
    if stuck >= 1.0:
        return f"{stuck:.0f} workers are held by reconciles that never end; more of them would be held as well"
    level = next((one for one in verdict.case.signals.controllers if levelled_off(one, verdict.case.thresholds)), None)
    if level is not None:
        return f"by the measured points {level.controller} gets no more done with more workers"
    guard = next((one for one in verdict.findings if one.code in _GUARDS and one.severity is not Severity.INFO), None)
    return None if guard is None else _HOLDS[guard.code]


def flag_reaches(signals: OperatorSignals, controller: str) -> bool:
    """Whether the setting sets the workers of a controller in this release.

    Some have a fixed number of them, and up to KubeRay 1.1 the flag was for RayClusters alone.
    """
    if controller in signals.profile.fixed_workers:
        return False
    version = lookup(signals.settings.version) if signals.settings.version else None
    name = controller_of(controller)
    return version is None or signals.profile.program(name) is None or name in version.concurrency_reaches


def _raise(verdict: Diagnosis, current: float, policy: Policy) -> KnobAdvice:
    signals = verdict.case.signals
    needs = [
        (need, one) for one in signals.controllers if (need := needed_workers(one, policy, signals.profile)) is not None
    ]
    reached = [(need, one) for need, one in needs if flag_reaches(signals, one.controller)]
    if not reached and needs:
        reason = f"the flag does not reach the workers of {needs[0][1].controller} in this release"
        return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)
    if not reached:
        reason = "keys wait, but the busy time of the workers is not known"
        return KnobAdvice(direction=Direction.NO_NUMBER, current=current, value=None, reason=reason)
    need, neediest = max(reached, key=lambda pair: pair[0])
    controller = neediest.controller
    current = neediest.max_concurrent_reconciles.or_else(current)
    wanted = math.ceil(need - 1e-9)
    bound = math.floor(current * policy.largest_step)
    worth = _worth_having(neediest, current, policy)
    value = float(min(wanted, bound, worth))
    if value <= current:
        reason = f"{controller} needs {wanted:.0f} workers for a wait of {policy.wait_target_seconds:g} s"
        if worth < wanted:
            reason = f"keys of {controller} wait so briefly that one more worker would hardly shorten it"
        others = [one.controller for _, one in needs if not flag_reaches(signals, one.controller)]
        if others:
            reason += f"; the flag does not reach {', '.join(others)} in this release"
        return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)
    reason = (
        f"{controller} needs {wanted} workers for a wait of {format_value(policy.wait_target_seconds, 'seconds')} at "
        f"{policy.target_utilisation:.0%} busy"
    )
    if worth < min(wanted, bound):
        reason += f"; beyond {worth:.0f} one more would hardly shorten the wait"
    elif wanted > bound:
        reason += f"; at most {policy.largest_step:g} x in one step, then measure again"
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason=reason)


def _worth_having(controller: ControllerSignals, current: float, policy: Policy) -> float:
    """Workers up to which each one more shortens the longest wait by a noticeable part of the target.

    The wait of a work-conserving queue goes with 1 / workers, so each further worker gains less than the one before.
    """
    wait = controller.oldest_wait_seconds_peak.value
    if not wait:
        return math.inf
    smallest = policy.smallest_gain_ratio * policy.wait_target_seconds
    workers = current
    while workers < current * policy.largest_step and wait * current / (workers * (workers + 1.0)) >= smallest:
        workers += 1.0
    return math.inf if workers >= current * policy.largest_step else workers


def _back_to_best(verdict: Diagnosis, current: float | None, _: Policy) -> KnobAdvice:
    """The number of workers that got most done, by the measured points."""
    case = verdict.case
    best = [found for one in case.signals.controllers if (found := best_workers(one, case.thresholds)) is not None]
    reason = f"{best[0]:g} workers got more done than the present number"
    return KnobAdvice(direction=Direction.LOWER, current=current, value=best[0], reason=reason)


def _fewer_at_once(verdict: Diagnosis, current: float | None, policy: Policy) -> KnobAdvice:
    """Killed for memory with several workers busy: no more than the load needs, so that peaks hold less."""
    case = verdict.case
    busy = max((one.busy_workers_mean.or_else(0.0) for one in case.signals.controllers), default=0.0)
    needed = math.ceil(busy / policy.target_utilisation - 1e-9)
    killed = case.whole.process.oom_kills.at_least(1.0)
    if not killed or current is None or needed <= 1 or needed >= current:
        return _keep(current, _HOLDS[FindingCode.MEMORY_LIMITED])
    reason = f"the load needs {needed} workers; at peaks all {current:.0f} hold memory at once"
    return KnobAdvice(direction=Direction.LOWER, current=current, value=float(needed), reason=reason)


def _lower(verdict: Diagnosis, current: float | None, policy: Policy) -> KnobAdvice:
    peak = max(
        (peak_workers(one, verdict.case.thresholds) or 0.0 for one in verdict.case.whole.controllers),
        default=0.0,
    )
    value = max(policy.fewest_workers, float(math.ceil(peak * policy.lower_headroom)))
    if current is None or value >= current:
        return _keep(current, "the workers seen busy leave no room to lower it")
    reason = f"at most {peak:.0f} workers were seen busy; {value:.0f} leaves {policy.lower_headroom:g} x that"
    return KnobAdvice(direction=Direction.LOWER, current=current, value=value, reason=reason)


_LOWERS: dict[FindingCode, Callable[[Diagnosis, float | None, Policy], KnobAdvice]] = {
    FindingCode.OVER_PROVISIONED: _lower,
    FindingCode.CONTENTION: _back_to_best,
    FindingCode.MEMORY_LIMITED: _fewer_at_once,
}
"""Findings after which fewer workers may be the answer."""
