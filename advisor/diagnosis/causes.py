"""The columns of the decision table: what the workers' time goes into. Several rules ask the same questions.

Each predicate says whether one cause explains why workers are busy. A rule that recommends more workers is refuted by
any cause that more workers would not cure (docs/decision-table.md).
"""

from advisor.diagnosis.case import Case
from advisor.diagnosis.thresholds import Thresholds
from advisor.knowledge.logs import THROTTLE_LINE_INTERVAL_SECONDS
from advisor.model.finding import Severity
from advisor.model.signals import ControllerSignals

__all__ = [
    "api_slow",
    "at_limiter_ceiling",
    "best_workers",
    "cause_hidden",
    "cpu_bound",
    "errors_dominate",
    "excess_share",
    "external_bound",
    "external_controllers_busy_share",
    "foreign_writer",
    "levelled_off",
    "limiter_bound",
    "limiter_bound_without_histogram",
    "more_workers_are_slower",
    "one_at_a_time",
    "one_key_decides",
    "others_wait",
    "peak_workers",
    "retries_dominate",
    "server_sheds_load",
    "stuck_workers",
    "throttled_in_log",
    "write_seconds",
]


_MATERIALLY_MORE = 1.5
"""Factor in workers between two measured points from which a gain would show above the noise."""
_STUCK_RUNS = 10.0
"""A run this many times as long as the mean one is not a slow reconcile but a stuck one."""


def cpu_bound(case: Case) -> bool:
    """A CPU quota stops the process: it uses nearly all of its limit and is throttled in many periods."""
    process, limits = case.signals.process, case.thresholds
    quota, used = process.cpu_limit_cores.value, process.cpu_cores.value
    if not quota or used is None:  # a limit of zero is none
        return False
    if used / quota < limits.cpu_used_ratio:
        return False
    return not process.cpu_throttled_ratio.known or process.cpu_throttled_ratio.at_least(limits.cpu_throttled_ratio)


def limiter_bound(case: Case) -> bool:
    """The client's own token bucket takes the time, measured where it is exposed, else by its ceiling."""
    if case.signals.settings.limiter_off:
        return False
    share, limits = case.signals.budget.client_limiter, case.thresholds
    if not share.known:
        return _waits_alone(case) or at_limiter_ceiling(case)
    runs_empty = case.signals.client.limited_share.at_least(limits.limited_requests_share)
    return share.at_least(limits.limiter_share) or (runs_empty and share.at_least(limits.limiter_noticed_share))


def _waits_alone(case: Case) -> bool:
    """Of an operator whose workers are not known: most requests wait long in the limiter."""
    client, limits = case.signals.client, case.thresholds
    return (
        not case.signals.controllers
        and client.limited_share.at_least(limits.limited_requests_share)
        and client.limiter_wait_seconds_mean.at_least(limits.wait_warning_seconds)
    )


def at_limiter_ceiling(case: Case) -> bool:
    """Without a limiter histogram: workers busy, and Pods created at just the rate that QPS allows.

    A bucket that is full passes exactly QPS after its burst; any other limit would meet that number by chance only.
    Throttling lines in the log are proof, but waits under a second are never logged.
    """
    qps = case.signals.settings.qps.value
    if not case.backlogged:
        return False
    if throttled_in_log(case):
        return True
    if qps is None or qps <= 0:
        return False
    rate = case.signals.demand.sustained_pods_per_second
    if rate.known:
        return abs(rate.or_else(0.0) - qps) <= case.thresholds.plateau_tolerance * qps
    if limiter_excluded(case):
        return False
    return inferred_slow(case) or _total_at_ceiling(case, qps)


def _total_at_ceiling(case: Case, qps: float) -> bool:
    """All requests together come at just QPS, of an operator that is not known: it may write one kind."""
    total = case.signals.client.requests_per_second.value
    known = any(case.signals.profile.program(one.controller) is not None for one in case.signals.controllers)
    return not known and total is not None and abs(total - qps) <= case.thresholds.plateau_tolerance * qps


def limiter_excluded(case: Case) -> bool:
    """Whether the limiter can be ruled out: measured, off, or fewer POSTs in all than one bucket lets through.

    Pods, services and events have a bucket each, so a total below QPS fills none of them (controller-runtime 5.3).
    """
    signals = case.signals
    if signals.settings.limiter_off or signals.budget.client_limiter.known:
        return True
    qps, posts = signals.settings.qps.value, signals.client.post_requests_per_second.value
    rate = signals.demand.sustained_pods_per_second.value
    if qps is None:
        return False
    fastest = next((one for one in (rate, posts, signals.client.requests_per_second.value) if one is not None), None)
    return fastest is not None and fastest < (1.0 - case.thresholds.plateau_tolerance) * qps


def inferred_slow(case: Case) -> bool:
    """Writes cost a worker long, by its busy time, where no duration tells server and limiter apart."""
    signals = case.signals
    if signals.client.write_api_seconds_mean.known:
        return False
    return signals.client.inferred_write_seconds_mean.at_least(case.thresholds.slow_write_seconds)


def cause_hidden(case: Case) -> bool:
    """Writes cost long and the limiter may be why, but what would tell is not exposed: no advice can rest on it."""
    return inferred_slow(case) and not cpu_bound(case) and not limiter_excluded(case) and not limiter_bound(case)


def throttled_in_log(case: Case) -> bool:
    """The log shows waits over a second through a material part of the time.

    There is at most one line in ten seconds, so each stands for that much; a single one in an hour is a burst.
    """
    lines = case.signals.log.throttle_lines
    fewest = case.thresholds.limiter_noticed_share * case.signals.window.seconds / THROTTLE_LINE_INTERVAL_SECONDS
    return lines.at_least(max(1.0, fewest))


def write_seconds(case: Case) -> float | None:
    """Mean seconds of a write at the API server: measured, else inferred from the workers' time."""
    client = case.signals.client
    if client.write_api_seconds_mean.known:
        return client.write_api_seconds_mean.value
    return client.inferred_write_seconds_mean.value


def foreign_writer(case: Case) -> bool:
    """Somebody else writes to the operator's objects: it is called far more often than it writes itself.

    An operator that conflicts with its own stale cache under load writes several times for each reconcile.
    """
    rate = case.signals.client.write_requests_per_second.value
    if rate is None:
        return False
    writes = rate * case.signals.window.seconds
    return case.reconciles >= case.thresholds.passive_reconciles_per_write * max(writes, 1.0)


def errors_dominate(case: Case) -> bool:
    """Failures that are neither conflicts nor control flow make up a material part, and are more than chance."""
    limits, errors = case.thresholds, case.true_errors
    return errors >= limits.fewest_errors and errors >= limits.error_ratio * case.reconciles


def retries_dominate(case: Case) -> bool:
    """Work that is done again is a load of its own: failures, or conflicts with somebody else who writes."""
    if errors_dominate(case):
        return True
    limits = case.thresholds
    material = case.conflicts >= max(float(limits.fewest_errors), limits.error_ratio * case.reconciles)
    return material and foreign_writer(case)


def server_sheds_load(case: Case) -> bool:
    """The API server refuses a material part of the requests with 429, and more than a few."""
    return requests_refused(case, case.thresholds.too_many_requests_ratio)


def requests_refused(case: Case, ratio: float) -> bool:
    """The API server answers at least this part of the requests with 429, and more than a few."""
    client, limits = case.signals.client, case.thresholds
    if not client.too_many_requests_ratio.at_least(ratio):
        return False
    rate = client.requests_per_second.value
    if rate is None:
        return True
    refused = client.too_many_requests_ratio.or_else(0.0) * rate * case.signals.window.seconds
    return refused >= limits.fewest_errors - 0.5  # a count that went through a rate and a ratio


def api_slow(case: Case) -> bool:
    """The API server takes the time: writes are slow or shed, and that is most of what workers wait for."""
    if server_sheds_load(case):
        return True
    if cpu_bound(case) or limiter_bound_without_histogram(case) or cause_hidden(case):
        return False  # each of these stretches every request as this process sees it
    seconds = write_seconds(case)
    share = case.signals.budget.api_server
    enough = share.at_least(case.thresholds.api_share) if share.known else not external_bound(case)
    return seconds is not None and seconds >= case.thresholds.slow_write_seconds and enough


def one_at_a_time(case: Case) -> bool:
    """Each busy controller has a single worker, so slow answers are latency and not contention by this operator.

    More workers then shorten the wait of other keys, at two requests in flight instead of one.
    """
    workers = [
        one.max_concurrent_reconciles.or_else(0.0) for one in case.signals.controllers if one.backlog_peak.at_least(1.0)
    ]
    return bool(workers) and max(workers) <= 1.0 and not server_sheds_load(case)


def more_workers_are_slower(case: Case) -> bool:
    """Measured points show that fewer workers got more done."""
    return any(best_workers(one, case.thresholds) is not None for one in case.signals.controllers)


def best_workers(controller: ControllerSignals, thresholds: Thresholds) -> float | None:
    """The number of workers that got most done, where the present number gets materially less; else None."""
    present = controller.max_concurrent_reconciles.value
    reached = [point for point in controller.scaling if present is not None and point.workers <= present]
    if not reached:
        return None
    now = max(reached, key=lambda point: point.workers)
    best = max(reached, key=lambda point: (point.items_per_second, -point.workers))
    slower = now.items_per_second < (1.0 - thresholds.slower_with_more_ratio) * best.items_per_second
    return best.workers if best.workers < now.workers and slower else None


def levelled_off(controller: ControllerSignals, thresholds: Thresholds) -> bool:
    """Measured points show that materially fewer workers got as much done, within noise."""
    present = controller.max_concurrent_reconciles.value
    reached = [point for point in controller.scaling if present is not None and point.workers <= present]
    if not reached:
        return False
    now = max(reached, key=lambda point: point.workers)
    least = (1.0 - thresholds.slower_with_more_ratio) * now.items_per_second
    return any(point.items_per_second >= least for point in reached if point.workers * _MATERIALLY_MORE <= now.workers)


def peak_workers(controller: ControllerSignals, thresholds: Thresholds) -> float | None:
    """Workers busy at the peak: seen, else guessed from the mean; None where neither is known."""
    seen, mean = controller.active_workers_peak.value, controller.busy_workers_mean.value
    if seen is not None:
        return max(seen, mean or 0.0)
    return None if mean is None else thresholds.peak_of_mean * mean


def stuck_workers(controller: ControllerSignals) -> float:
    """Workers whose reconciles never end: busy time that finished work cannot explain, beside a very long run."""
    busy, work = controller.busy_workers_mean.value, controller.work_seconds_mean.value
    rate = controller.reconciles_per_second.value
    if busy is None or not work or rate is None or not controller.longest_running_seconds.at_least(_STUCK_RUNS * work):
        return 0.0
    return max(0.0, busy - rate * work)


def excess_share(case: Case) -> float:
    """Part of the busy worker time that goes into the API server beyond what one of usual speed would take."""
    seconds = write_seconds(case)
    if seconds is None or seconds <= case.thresholds.usual_write_seconds:
        return 0.0
    share = case.signals.budget.api_server.or_else(1.0 - case.signals.budget.cpu.or_else(0.0))
    return share * (1.0 - case.thresholds.usual_write_seconds / seconds)


def limiter_bound_without_histogram(case: Case) -> bool:
    """The limiter binds and its wait cannot be told from the API server's time."""
    return not case.signals.budget.client_limiter.known and limiter_bound(case)


def external_controllers_busy_share(case: Case) -> float:
    """Part of all busy worker time that belongs to controllers which make external calls."""
    busy = sum(one.busy_worker_seconds.or_else(0.0) for one in case.external_controllers)
    return busy / case.busy_seconds if case.busy_seconds > 0 else 0.0


def external_bound(case: Case) -> bool:
    """Controllers that call dashboards spend most of their time outside the API server, and they matter."""
    part = external_controllers_busy_share(case)
    busy = part * case.busy_workers
    if part <= 0 or busy < case.thresholds.idle_workers:
        return False
    share = case.signals.budget.external
    if share.known:
        return (share.low or 0.0) >= case.thresholds.external_share * part
    if cpu_bound(case) or limiter_bound_without_histogram(case):
        return False
    return _slower_than_their_writes(case)


def _slower_than_their_writes(case: Case) -> bool:
    """Without request durations: all writes and all CPU together cannot fill the time of these controllers.

    Even if every write took what counts as slow, they would not explain the busy time. Unknown writes explain nothing.
    """
    rate = case.signals.client.write_requests_per_second.value
    if rate is None:
        return False
    writing = rate * case.signals.window.seconds * case.thresholds.slow_write_seconds
    computing = case.signals.process.cpu_seconds.or_else(0.0)
    busy = sum(one.busy_worker_seconds.or_else(0.0) for one in case.external_controllers)
    return writing + computing < (1.0 - case.thresholds.external_share) * busy


def others_wait(case: Case) -> bool:
    """Other keys wait for a worker, long enough to be noticed.

    Not where keys mostly wait beside idle workers: at rest only a key that is in process itself does that.
    """
    worst = case.waiting.worst
    beside_idle = worst is not None and worst.blocked_ratio.at_least(case.thresholds.hot_key_share)
    return case.backlogged and case.harm is not Severity.INFO and not beside_idle


def one_key_decides(case: Case) -> bool:
    """One key takes most of the busy time, or keys wait behind themselves while other workers are idle."""
    limits = case.thresholds
    hottest = case.hottest
    if hottest is not None:
        rate = hottest.reconciles / case.signals.window.seconds
        decides = hottest.busy_share >= limits.hot_key_share or rate >= limits.hot_key_loop_per_second
        return decides and not others_wait(case)
    return any(
        one.blocked_ratio.at_least(limits.hot_key_share)
        and one.busy_workers_mean.or_else(0.0) <= 1.0 + limits.idle_workers
        and one.longest_running_seconds.at_least(limits.wait_target_seconds)
        for one in case.signals.controllers
    )
