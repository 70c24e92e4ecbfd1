"""All workers busy, different keys waiting, nothing slow: the case that more concurrency cures."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Check, Finding, FindingCode, Severity
from advisor.model.signals import ControllerSignals

_PAGE = Page(
    meaning=(
        "Every worker of a controller is busy and other keys wait for one. What a reconcile takes is not unusual, so "
        "the number of workers is what holds the operator back. Each key waits its turn more than once: after its "
        "first pass a cluster's second pass goes behind everyone's first, so all clusters become ready late and "
        "together."
    ),
    condition=(
        "True backlog, `workqueue_depth` summed over priorities less `controller_runtime_active_workers`, is above "
        "zero. At rest the queue never keeps an unlocked key while a worker is idle, so a true backlog proves that "
        "all workers are busy. It is a warning when keys wait long enough to be noticed."
    ),
    refuted_by=(
        "The workers' time goes into something that more workers would only share: the client limiter, a CPU quota, "
        "a slow API server, one hot key, or retries of failures and of conflicts with another writer."
    ),
    what_to_do=(
        "Raise `--reconcile-concurrency`, at most fourfold in one step, and compare queue wait, error ratio and time "
        "to ready before and after. One flag serves all controllers."
    ),
    what_not_to_do="Do not add replicas: only the leader reconciles.",
    rests_on="Queue semantics: research controller-runtime 1.5, 8.1. The article's first row.",
    thresholds=("wait_warning_seconds", "wait_target_seconds", "error_ratio", "fewest_errors", "hot_key_share"),
)


def _checks(case: Case) -> tuple[Check, ...]:
    signals = case.signals
    return (
        check(
            "Does the client limiter take the workers' time?",
            evidence("limiter share of busy time", signals.budget.client_limiter).text,
            refuted=causes.limiter_bound(case),
        ),
        check(
            "Does a CPU quota stop the process?",
            evidence("CPU periods throttled", signals.process.cpu_throttled_ratio).text,
            refuted=causes.cpu_bound(case) if signals.process.cpu_cores.known else None,
        ),
        check(
            "Is the API server slow?",
            evidence("mean time of a write at the API server", signals.client.write_api_seconds_mean).text,
            refuted=_slow_api_refutes(case),
        ),
        check(
            "Does one key carry the backlog?",
            "the log shows " + (f"{case.hottest.busy_share:.0%} for the hottest key" if case.hottest else "no keys"),
            refuted=causes.one_key_decides(case) or (None if case.hottest is None else False),
        ),
        check(
            "Is much of the work done again after failures or conflicts?",
            f"{case.true_errors:.0f} failures and {case.conflicts:.0f} conflicts in {case.reconciles:.0f} reconciles",
            refuted=causes.retries_dominate(case),
        ),
    )


def _slow_api_refutes(case: Case) -> bool | None:
    """A slow server does, unless each worker of the backlog is alone: then it is latency, not contention."""
    if causes.one_at_a_time(case):
        return False
    return causes.api_slow(case) if causes.write_seconds(case) is not None else None


def _lasting_backlog(case: Case, controller: ControllerSignals) -> bool:
    """Keys wait for a worker most of the time, or now and then for workers that are mostly busy; a burst is neither."""
    if not controller.backlog_peak.at_least(1.0):
        return False
    busy = controller.utilisation
    return controller.backlog_mean.at_least(1.0) or not busy.below(case.thresholds.target_utilisation)


def _worst(case: Case) -> ControllerSignals | None:
    """Of the controllers whose keys wait for a worker, and noticeably, the one where they wait longest in sum."""
    backlogged = [one for one in case.signals.controllers if _lasting_backlog(case, one)]
    noticed = [one for one in backlogged if case.harm_of(one) is not Severity.INFO]
    return max(noticed, key=lambda one: one.waiting_key_seconds.or_else(0.0), default=None)


def _examine(case: Case) -> Finding | None:
    worst = _worst(case)
    if worst is None:
        return None
    checks = _checks(case)
    if any(one.refuted for one in checks) or causes.cause_hidden(case) or causes.more_workers_are_slower(case):
        return None
    excess = 0.0 if causes.one_at_a_time(case) else causes.excess_share(case)
    elsewhere = excess + case.signals.budget.external.or_else(0.0)
    lost = case.waiting.backlog_key_seconds * max(0.0, 1.0 - elsewhere)
    return finding(
        case,
        FindingCode.WORKERS_SATURATED,
        RULE.title,
        severity=case.harm_of(worst),
        summary=(
            f"All workers of {worst.controller} are busy while different keys wait, and what a reconcile takes is "
            f"not unusual: the number of workers is the limit."
        ),
        shown=(
            evidence("keys waiting for a worker, mean", worst.backlog_mean),
            evidence("keys waiting for a worker, peak", worst.backlog_peak),
            evidence("queue wait, mean", worst.queue_wait_seconds_mean),
            evidence("oldest waiting key", worst.oldest_wait_seconds_peak),
            evidence("workers busy", worst.utilisation),
            evidence("time of one reconcile, mean", worst.work_seconds_mean),
        ),
        checks=checks,
        next_steps=(
            ("this controller's workers are fixed; find out why its reconciles take so long",)
            if worst.controller in case.signals.profile.fixed_workers
            else ("raise concurrency as advised, then compare queue wait and errors before and after",)
        ),
        subject=worst.controller,
        lost_seconds=lost,
    )


RULE = Rule(
    code=FindingCode.WORKERS_SATURATED,
    title="All workers are busy and keys wait for one",
    page=_PAGE,
    examine=_examine,
)
