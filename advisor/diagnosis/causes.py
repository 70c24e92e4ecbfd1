"""The columns of the decision table: what the workers' time goes into. Several rules ask the same questions.

Each predicate says whether one cause explains why workers are busy. A rule that recommends more workers is refuted by
any cause that more workers would not cure (docs/decision-table.md).
"""

from advisor.diagnosis.case import Case

__all__ = [
    "api_slow",
    "at_limiter_ceiling",
    "cpu_bound",
    "excess_share",
    "external_bound",
    "external_controllers_busy_share",
    "foreign_writer",
    "limiter_bound",
    "limiter_bound_without_histogram",
    "one_key_decides",
    "server_sheds_load",
    "write_seconds",
]


def cpu_bound(case: Case) -> bool:
    """A CPU quota stops the process: it uses nearly all of its limit and is throttled in many periods."""
    process, limits = case.signals.process, case.thresholds
    if not process.cpu_limit_cores.known or not process.cpu_cores.known:
        return False
    used = process.cpu_cores.or_else(0.0) / process.cpu_limit_cores.or_else(1.0)
    if used < limits.cpu_used_ratio:
        return False
    return not process.cpu_throttled_ratio.known or process.cpu_throttled_ratio.at_least(limits.cpu_throttled_ratio)


def limiter_bound(case: Case) -> bool:
    """The client's own token bucket takes the time, measured where it is exposed, else by its ceiling."""
    if case.signals.settings.limiter_off:
        return False
    share, limits = case.signals.budget.client_limiter, case.thresholds
    if not share.known:
        return at_limiter_ceiling(case)
    runs_empty = case.signals.client.limited_share.at_least(limits.limited_requests_share)
    return share.at_least(limits.limiter_share) or (runs_empty and share.at_least(limits.limiter_noticed_share))


def at_limiter_ceiling(case: Case) -> bool:
    """Without a limiter histogram: workers busy, and Pods created at just the rate that QPS allows.

    A bucket that is full passes exactly QPS after its burst; any other limit would meet that number by chance only.
    A throttling line in the log is proof, but waits under a second are never logged.
    """
    qps = case.signals.settings.qps.value
    if case.signals.log.throttle_lines.at_least(1.0):
        return case.backlogged
    if qps is None or qps <= 0 or not case.backlogged:
        return False
    rate = case.signals.demand.sustained_pods_per_second
    if rate.known:
        return abs(rate.or_else(0.0) - qps) <= case.thresholds.plateau_tolerance * qps
    posts = case.signals.client.post_requests_per_second
    ceiling = 2.0 * qps  # Pods and events have a bucket each, and both are POST
    low = (1.0 - case.thresholds.plateau_tolerance) * qps
    return posts.known and low <= posts.or_else(0.0) <= ceiling


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
    writes = case.signals.client.write_requests_per_second.or_else(0.0) * case.signals.window.seconds
    return case.reconciles >= case.thresholds.passive_reconciles_per_write * max(writes, 1.0)


def server_sheds_load(case: Case) -> bool:
    """The API server refuses a material part of the requests with 429."""
    return case.signals.client.too_many_requests_ratio.at_least(case.thresholds.too_many_requests_ratio)


def api_slow(case: Case) -> bool:
    """The API server takes the time: writes are slow or shed, and that is most of what workers wait for."""
    if server_sheds_load(case):
        return True
    if cpu_bound(case) or limiter_bound_without_histogram(case):
        return False  # both stretch every request as this process sees it
    seconds = write_seconds(case)
    share = case.signals.budget.api_server
    enough = share.at_least(case.thresholds.api_share) if share.known else not external_bound(case)
    return seconds is not None and seconds >= case.thresholds.slow_write_seconds and enough


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
    return _slower_than_their_writes(case) and not cpu_bound(case)


def _slower_than_their_writes(case: Case) -> bool:
    """Without request durations: all writes together cannot fill the time of these controllers.

    Even if every write took as long as Kubernetes' objective for a slow one, they would not explain the busy time.
    """
    writes = case.signals.client.write_requests_per_second.or_else(0.0) * case.signals.window.seconds
    busy = sum(one.busy_worker_seconds.or_else(0.0) for one in case.external_controllers)
    return writes * case.thresholds.slow_write_seconds < (1.0 - case.thresholds.external_share) * busy


def one_key_decides(case: Case) -> bool:
    """One key takes most of the busy time, or keys wait behind themselves while other workers are idle."""
    limits = case.thresholds
    hottest = case.hottest
    if hottest is not None:
        return hottest.busy_share >= limits.hot_key_share and not case.backlogged
    return any(
        one.blocked_ratio.at_least(limits.hot_key_share)
        and one.busy_workers_mean.or_else(0.0) <= 1.0 + limits.idle_workers
        and one.longest_running_seconds.at_least(limits.wait_target_seconds)
        for one in case.signals.controllers
    )
