"""The signals of one controller from what was told about it."""

from advisor.knowledge.catalogue_queue import QUEUE_BUCKETS_SECONDS
from advisor.model.facts import ControllerFacts
from advisor.model.signal import Quality, Unit
from advisor.model.signals import ControllerSignals, PriorityDepth
from advisor.signals.telling import HOUR, Told, product

__all__ = ["told_controller"]

_IDLE_PART = 0.5
"""Mean part of the workers that is busy at most for a worker to be idle at any time worth speaking of."""
_WAITING_KEYS = 0.5


def told_controller(name: str, facts: ControllerFacts) -> ControllerSignals:
    """The signals of one controller."""
    told = Told(f"controllers.{name}")
    workers, hour = facts.max_concurrent_reconciles, HOUR.seconds
    rate, wait = facts.reconciles_per_second, facts.queue_wait_seconds_mean
    active = _active(facts)
    backlog, peak = _backlog(facts, active)
    errors, blocked = product(facts.error_ratio, rate), _blocked(facts.depth_mean, active, workers)
    bound, estimated = Quality.LOWER_BOUND, Quality.ESTIMATED
    return ControllerSignals(
        controller=name,
        max_concurrent_reconciles=told.of(workers, Unit.COUNT, "max_concurrent_reconciles"),
        configured_concurrency=told.of(facts.configured_concurrency, Unit.COUNT, "configured_concurrency"),
        busy_worker_seconds=told.of(product(active, hour), Unit.WORKER_SECONDS, "active_workers_mean over an hour"),
        busy_workers_mean=told.of(active, Unit.COUNT, "active_workers_mean"),
        active_workers_peak=told.none(Unit.COUNT),
        utilisation=told.of(_utilisation(facts, active), Unit.RATIO, "utilisation"),
        depth_mean=told.of(facts.depth_mean, Unit.COUNT, "depth_mean"),
        depth_peak=told.of(facts.depth_max, Unit.COUNT, "depth_max"),
        depth_end=told.none(Unit.COUNT),
        depth_trend_per_second=told.of(facts.depth_trend_per_second, Unit.PER_SECOND, "depth_trend_per_second"),
        depth_by_priority=tuple(_priority(told, *one) for one in facts.depth_by_priority.items()),
        backlog_mean=told.of(backlog, Unit.COUNT, "depth_mean less active_workers_mean", quality=bound),
        backlog_peak=told.of(peak, Unit.COUNT, "depth_max less max_concurrent_reconciles", quality=bound),
        blocked_ratio=told.of(blocked, Unit.RATIO, "depth_mean beside idle workers", quality=estimated),
        adds_per_second=told.of(facts.adds_per_second, Unit.PER_SECOND, "adds_per_second"),
        reconciles=told.of(product(rate, hour), Unit.COUNT, "reconciles_per_second over an hour"),
        reconciles_per_second=told.of(rate, Unit.PER_SECOND, "reconciles_per_second"),
        queue_wait_seconds_mean=told.of(wait, Unit.SECONDS, "queue_wait_seconds_mean"),
        queue_wait_seconds_p99=told.of(facts.queue_wait_seconds_p99, Unit.SECONDS, "queue_wait_seconds_p99"),
        waiting_key_seconds=told.of(product(facts.depth_mean, hour), Unit.KEY_SECONDS, "depth_mean over an hour"),
        oldest_wait_seconds_peak=told.of(
            _longest(facts), Unit.SECONDS, "queue_wait_seconds_mean or p99", quality=bound
        ),
        work_seconds_mean=told.of(facts.reconcile_seconds_mean, Unit.SECONDS, "reconcile_seconds_mean"),
        reconcile_seconds_mean=told.of(facts.reconcile_seconds_mean, Unit.SECONDS, "reconcile_seconds_mean"),
        reconcile_seconds_p99=told.of(facts.reconcile_seconds_p99, Unit.SECONDS, "reconcile_seconds_p99"),
        longest_running_seconds=told.of(facts.longest_running_seconds, Unit.SECONDS, "longest_running_seconds"),
        error_ratio=told.of(facts.error_ratio, Unit.RATIO, "error_ratio"),
        error_ratio_net=told.none(Unit.RATIO),
        errors_per_second=told.of(errors, Unit.PER_SECOND, "error_ratio x reconciles_per_second"),
        terminal_error_ratio=told.of(facts.terminal_error_ratio, Unit.RATIO, "terminal_error_ratio"),
        requeue_after_ratio=told.of(facts.requeue_after_ratio, Unit.RATIO, "requeue_after_ratio"),
        delayed_adds_per_second=told.of(facts.retries_per_second, Unit.PER_SECOND, "retries_per_second"),
        hottest_key_share=told.of(facts.hottest_key_share, Unit.RATIO, "hottest_key_share"),
        distinct_keys=told.of(_float(facts.distinct_keys), Unit.COUNT, "distinct_keys"),
        api_calls_per_reconcile=told.of(facts.api_calls_per_reconcile, Unit.COUNT, "api_calls_per_reconcile"),
        scaling=facts.scaling,
    )


def _active(facts: ControllerFacts) -> float | None:
    """Mean busy workers: as told, or from the utilisation, or by Little's law from rate and time of reconciles."""
    if facts.active_workers_mean is not None:
        return facts.active_workers_mean
    busy = product(facts.utilisation, facts.max_concurrent_reconciles)
    return product(facts.reconciles_per_second, facts.reconcile_seconds_mean) if busy is None else busy


def _utilisation(facts: ControllerFacts, active: float | None) -> float | None:
    """Part of the workers that is busy: as told, or by their number."""
    workers = facts.max_concurrent_reconciles
    if facts.utilisation is None and active is not None and workers:
        return min(1.0, active / workers)
    return facts.utilisation


def _priority(told: Told, priority: str, depth: float) -> PriorityDepth:
    """The depth at one priority; the mean is the least that the peak was."""
    name = f"depth_by_priority.{priority}"
    peak = told.of(depth, Unit.COUNT, name, quality=Quality.LOWER_BOUND)
    return PriorityDepth(priority, told.of(depth, Unit.COUNT, name), peak)


def _backlog(facts: ControllerFacts, active: float | None) -> tuple[float | None, float | None]:
    """Keys that wait for a worker, mean and peak: depth less the keys that their own reconcile may block."""
    mean = None if facts.depth_mean is None or active is None else max(0.0, facts.depth_mean - active)
    workers = facts.max_concurrent_reconciles if facts.max_concurrent_reconciles is not None else active
    if facts.depth_max is None or workers is None:
        return mean, mean
    return mean, max(mean or 0.0, facts.depth_max - workers)


def _longest(facts: ControllerFacts) -> float | None:
    """The longest wait that is sure."""
    waits = facts.queue_wait_seconds_mean, _certain(facts.queue_wait_seconds_p99)
    return max((one for one in waits if one is not None), default=None)


def _float(count: int | None) -> float | None:
    return None if count is None else float(count)


def _certain(quantile: float | None) -> float | None:
    """What a quantile of the queue wait says for certain: its decade bucket; its place in that is interpolated."""
    if quantile is None:
        return None
    return max((bound for bound in QUEUE_BUCKETS_SECONDS if bound <= quantile), default=0.0)


def _blocked(depth: float | None, active: float | None, workers: float | None) -> float | None:
    """1 where keys stay in the queue although workers are idle on average, else 0; None where that is not known."""
    if depth is None or active is None or workers is None:
        return None
    return 1.0 if depth >= _WAITING_KEYS and active <= _IDLE_PART * workers and workers > 1 else 0.0
