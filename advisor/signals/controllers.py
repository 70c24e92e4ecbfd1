"""Signals of each controller, by the identities of research: controller-runtime 8.1.

Each reading of section 8.2 that is wrong is avoided here: depth is summed over priorities, waiting is true backlog
(depth less active workers), busy time comes from counters and not from samples of a gauge, and what has been handed
out says nothing about what still waits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub

from advisor.knowledge.defaults import GAUGE_REFRESH_SECONDS
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import ControllerSignals, PriorityDepth
from advisor.signals.bycontroller import ByController
from advisor.signals.curves import Curve, Gauge, increase, increases, together
from advisor.signals.histograms import Histogram
from advisor.signals.instances import Instances
from advisor.signals.making import Maker

__all__ = ["ControllerSeries", "LogShare", "controller_series"]

_MOST_CONTROLLERS = 100
"""Several times what the largest operator has; beyond it something invents names."""


def controller_series(store: SeriesStore, instances: Instances) -> tuple[tuple["ControllerSeries", ...], int]:
    """The controllers found in the samples, in order of name, and how many were left out as too many."""
    grouped = ByController(store)
    names = grouped.names()
    kept = sorted(names[:_MOST_CONTROLLERS])
    return tuple(ControllerSeries(name, grouped, instances) for name in kept), len(names) - len(kept)


class ControllerSeries:
    """Curves and gauges of one controller, made once and asked for many windows."""

    def __init__(self, name: str, grouped: ByController, instances: Instances) -> None:
        self.name = name
        self._origin = grouped.origin

        def of(metric: str, **labels: str) -> list[Series]:
            return [
                series
                for series in grouped.of(metric, name)
                if all(series.labels.get(key) == value for key, value in labels.items())
            ]

        def curves(metric: str, **labels: str) -> list[Curve]:
            return [instances.curve(series) for series in of(metric, **labels)]

        self.adds = curves("workqueue_adds_total")
        self.all_adds = Curve.merged(self.adds)
        self.gets = curves("workqueue_queue_duration_seconds_count")
        self.wait = curves("workqueue_queue_duration_seconds_sum")
        self.work = curves("workqueue_work_duration_seconds_sum")
        self.done = curves("workqueue_work_duration_seconds_count")
        self.retries = curves("workqueue_retries_total")
        self.errors = curves("controller_runtime_reconcile_errors_total")
        self.terminal = curves("controller_runtime_terminal_reconcile_errors_total")
        self.results = {
            result: curves("controller_runtime_reconcile_total", result=result)
            for result in ("success", "error", "requeue", "requeue_after")
        }
        self.time = Histogram.read(
            of("controller_runtime_reconcile_time_seconds_bucket"),
            of("controller_runtime_reconcile_time_seconds_sum"),
            of("controller_runtime_reconcile_time_seconds_count"),
            instances,
        )
        self._unfinished_each = instances.gauges(of("workqueue_unfinished_work_seconds"))
        self.unfinished = together(self._unfinished_each)
        self.longest = together(instances.gauges(of("workqueue_longest_running_processor_seconds")), max)
        self.active = instances.gauge(of("controller_runtime_active_workers"))
        self._workers_each = instances.gauges(of("controller_runtime_max_concurrent_reconciles"))
        self.workers = together(self._workers_each)
        depth = of("workqueue_depth")
        self.depths = {
            priority: instances.gauge(one for one in depth if one.labels.get("priority", "") == priority)
            for priority in sorted({one.labels.get("priority", "") for one in depth})
        }
        self.depth = instances.gauge(depth)
        self.backlog = self._backlog()

    @property
    def numbered_priorities(self) -> bool:
        """Whether depth carries priorities, as only the priority queue's does."""
        return any(priority for priority in self.depths)

    def _backlog(self) -> Gauge:
        """Depth less the keys that can be blocked by their own reconcile: as many as workers are active, or exist."""
        busy = self.active if len(self.active.times) else self.workers
        if not len(busy.times):
            return busy
        return self.depth.combine(busy, lambda keys, workers: max(0.0, keys - workers), 0.0)

    def concurrency(self, window: Window) -> float | None:
        """The workers of one process, of the newest sample where processes differ; None without a sample."""
        newest = [
            (times[-1], -values[-1])
            for times, values in (gauge.slice(window) for gauge in self._workers_each)
            if len(times)
        ]
        return -max(newest)[1] if newest else None

    def busy_seconds(self, window: Window) -> float | None:
        """Busy worker seconds: work that ended plus the change of unfinished work (identity of 8.1).

        The change is that of each process: one that ended meanwhile did the work it left unfinished, none before.
        """
        return self.busy_seconds_each((window.start, window.end))[0]

    def busy_seconds_each(self, times: Sequence[float]) -> list[float | None]:
        """The same for each interval between neighbours of at least two times."""
        unfinished = [0.0] * len(times)
        for one in self._unfinished_each:
            for at, value in enumerate(one.at_each(times)):
                unfinished[at] += value or 0.0
        grown = map(sub, unfinished[1:], unfinished)
        seconds = map(sub, times[1:], times)
        each = zip(increases(self.work, times), grown, self.workers.last_each(times), seconds, strict=True)
        return [
            None if ended is None else min((workers or math.inf) * elapsed, max(0.0, ended + more))
            for ended, more, workers, elapsed in each
        ]

    def waiting_key_seconds(self, window: Window) -> float | None:
        """Time that keys were ready and waited: the integral of depth.

        Where nothing waits at the end, everything that waited was handed out, so the sum of queue durations bounds it.
        """
        mean = self.depth.mean(window)
        if mean is None:
            return None
        area = mean * window.seconds
        handed_out = increase(self.wait, window)
        if handed_out is not None and not self.depth.last(window):
            return min(area, handed_out) if self.depth.at(window.start) else handed_out
        return area

    def signals(self, window: Window, log: "LogShare") -> ControllerSignals:
        """Every signal of this controller in one window."""
        return _Builder(self, window, self._origin).build(log)

    def oldest_wait(self, window: Window) -> float | None:
        """Age in seconds of the oldest ready key, at its worst, as if handed out first in, first out.

        At a scrape with depth D and A adds so far, the oldest waiting key is the one that arrived as add A - D + 1.
        """
        adds = self.all_adds
        if not len(adds.times):
            return None
        worst = None
        for time, depth in zip(*self.depth.slice(window), strict=True):
            age = 0.0 if depth < 1 else max(0.0, time - adds.time_of(adds.at(time) - depth + 1.0))
            worst = age if worst is None else max(worst, age)
        return worst

    def blocked_ratio(self, window: Window) -> float | None:
        """Share of scrapes at which keys were ready although a worker was idle, twice in a row.

        At rest no unlocked ready key exists while a worker waits, so what is left waits for itself (8.1).
        """
        times, depths = self.depth.slice(window)
        if len(times) < 2 or not len(self.active.times):  # noqa: PLR2004 - a pair of scrapes
            return None
        hits, before = 0, False
        for time, depth in zip(times, depths, strict=True):
            now = depth > 0 and (self.active.at(time) or 0.0) < (self.workers.at(time) or 0.0)
            hits += now and before
            before = now
        return hits / (len(times) - 1)


@dataclass(frozen=True, slots=True)
class LogShare:
    """What log and arguments add about one controller in one window; None where they tell nothing."""

    hottest_share: float | None
    keys: int | None
    control_flow_errors: int | None
    configured_concurrency: float | None = None
    concurrency_flag: str = "--reconcile-concurrency"


class _Builder:
    """Turns the series of one controller and one window into signals with origins."""

    def __init__(self, series: ControllerSeries, window: Window, origin: str) -> None:
        self._series = series
        self._window = window
        self._make = Maker(window, origin, series.name)

    def build(self, log: LogShare) -> ControllerSignals:
        """All signals."""
        return ControllerSignals(
            controller=self._series.name,
            **self._workers(log),
            **self._depths(),
            depth_by_priority=self._priorities(),
            **self._flow(),
            **self._times(),
            **self._results(log),
            **self._keys(log),
            queue_wait_seconds_p99=self._make.untold(Unit.SECONDS),
            api_calls_per_reconcile=self._make.untold(Unit.COUNT),
            scaling=(),
        )

    def _workers(self, log: LogShare) -> dict[str, Signal]:
        series, window = self._series, self._window
        workers = series.workers.last(window)
        busy = series.busy_seconds(window)
        capacity = (workers or 0.0) * window.seconds
        stale = GAUGE_REFRESH_SECONDS * (
            (series.active.at(window.start) or 0.0) + (series.active.at(window.end) or 0.0)
        )
        identity = "delta workqueue_work_duration_seconds_sum + delta workqueue_unfinished_work_seconds"
        return {
            "max_concurrent_reconciles": self._make.of(
                workers, Unit.COUNT, "last controller_runtime_max_concurrent_reconciles"
            ),
            "configured_concurrency": self._make.of(
                log.configured_concurrency,
                Unit.COUNT,
                log.concurrency_flag,
                reason="the operator's arguments are not known, or do not set it",
            ),
            "busy_worker_seconds": self._make.of(
                busy,
                Unit.WORKER_SECONDS,
                identity,
                low=None if busy is None else max(0.0, busy - stale),
                high=None if busy is None else busy + stale,
            ),
            "busy_workers_mean": self._make.of(
                None if busy is None else busy / window.seconds, Unit.COUNT, f"({identity}) / window"
            ),
            "active_workers_peak": self._make.of(
                series.active.peak(window), Unit.COUNT, "max controller_runtime_active_workers"
            ),
            "utilisation": self._make.of(
                min(1.0, busy / capacity) if busy is not None and capacity else None,
                Unit.RATIO,
                f"({identity}) / (controller_runtime_max_concurrent_reconciles x window)",
            ),
        }

    def _depths(self) -> dict[str, Signal]:
        series, window = self._series, self._window
        backlog = series.backlog
        mean = series.depth.mean(window)
        first = series.depth.at(window.start) or 0.0
        last = series.depth.last(window)
        less = "workqueue_depth over priorities less controller_runtime_active_workers"
        bound = Quality.LOWER_BOUND
        return {
            "depth_mean": self._make.of(mean, Unit.COUNT, "mean of workqueue_depth summed over priorities"),
            "depth_peak": self._make.of(
                series.depth.peak(window), Unit.COUNT, "max of workqueue_depth summed over priorities"
            ),
            "depth_end": self._make.of(last, Unit.COUNT, "last workqueue_depth summed over priorities"),
            "depth_trend_per_second": self._make.rate(
                None if last is None else last - first, "change of workqueue_depth over the window"
            ),
            "backlog_mean": self._make.of(backlog.mean(window), Unit.COUNT, f"mean of {less}", quality=bound),
            "backlog_peak": self._make.of(backlog.peak(window), Unit.COUNT, f"max of {less}", quality=bound),
            "blocked_ratio": self._make.of(
                series.blocked_ratio(window),
                Unit.RATIO,
                "scrapes with workqueue_depth > 0 while controller_runtime_active_workers is below its maximum",
                quality=Quality.ESTIMATED,
            ),
            "waiting_key_seconds": self._make.of(
                series.waiting_key_seconds(window),
                Unit.KEY_SECONDS,
                "integral of workqueue_depth over the window, or delta workqueue_queue_duration_seconds_sum",
                quality=Quality.ESTIMATED,
            ),
        }

    def _priorities(self) -> tuple[PriorityDepth, ...]:
        result = []
        for priority, gauge in self._series.depths.items():
            text = f'workqueue_depth{{priority="{priority}"}}'
            mean, peak = gauge.mean(self._window), gauge.peak(self._window)
            result.append(
                PriorityDepth(
                    priority,
                    self._make.of(mean, Unit.COUNT, f"mean of {text}"),
                    self._make.of(peak, Unit.COUNT, f"max of {text}"),
                )
            )
        return tuple(result)

    def _flow(self) -> dict[str, Signal]:
        series, window = self._series, self._window
        done = self._reconciles()
        return {
            "adds_per_second": self._make.rate(increase(series.adds, window), "rate of workqueue_adds_total"),
            "reconciles": self._make.of(done, Unit.COUNT, "delta controller_runtime_reconcile_total"),
            "reconciles_per_second": self._make.rate(done, "rate of controller_runtime_reconcile_total"),
            "delayed_adds_per_second": self._make.rate(
                increase(series.retries, window), "rate of workqueue_retries_total"
            ),
            "oldest_wait_seconds_peak": self._make.of(
                series.oldest_wait(window),
                Unit.SECONDS,
                "largest first-in-first-out age from workqueue_adds_total and workqueue_depth",
                quality=Quality.ESTIMATED,
            ),
        }

    def _reconciles(self) -> float | None:
        results = [increase(curves, self._window) for curves in self._series.results.values()]
        known = [one for one in results if one is not None]
        return sum(known) if known else increase(self._series.done, self._window)

    def _times(self) -> dict[str, Signal]:
        series, window = self._series, self._window
        p99 = series.time.quantile(0.99, window)
        longest = series.longest.peak(window)
        return {
            "queue_wait_seconds_mean": self._make.mean(
                increase(series.wait, window),
                increase(series.gets, window),
                "delta workqueue_queue_duration_seconds_sum / delta workqueue_queue_duration_seconds_count",
            ),
            "work_seconds_mean": self._make.mean(
                increase(series.work, window),
                increase(series.done, window),
                "delta workqueue_work_duration_seconds_sum / delta workqueue_work_duration_seconds_count",
            ),
            "reconcile_seconds_mean": self._make.mean(
                series.time.sum(window),
                series.time.count(window),
                "delta controller_runtime_reconcile_time_seconds_sum / delta of its _count",
            ),
            "longest_running_seconds": self._make.of(
                longest, Unit.SECONDS, "max workqueue_longest_running_processor_seconds", quality=Quality.LOWER_BOUND
            ),
            "reconcile_seconds_p99": self._make.of(
                None if p99 is None else p99.value,
                Unit.SECONDS,
                "0.99 quantile of controller_runtime_reconcile_time_seconds, interpolated in its bucket",
                quality=Quality.LOWER_BOUND if p99 is not None and p99.high is None else Quality.ESTIMATED,
                low=None if p99 is None else p99.low,
                high=None if p99 is None else p99.high,
            ),
        }

    def _results(self, log: LogShare) -> dict[str, Signal]:
        series, window = self._series, self._window
        done = self._reconciles()
        errors = increase(series.errors, window)
        text = "controller_runtime_reconcile_errors_total"
        ratio = self._make.ratio(errors, done, f"delta {text} / delta controller_runtime_reconcile_total")
        return {
            "error_ratio": ratio,
            "error_ratio_net": self._net_of_control_flow(errors, done, log.control_flow_errors),
            "errors_per_second": self._make.rate(errors, f"rate of {text}"),
            "terminal_error_ratio": self._make.ratio(
                increase(series.terminal, window),
                done,
                "delta controller_runtime_terminal_reconcile_errors_total / delta controller_runtime_reconcile_total",
            ),
            "requeue_after_ratio": self._make.ratio(
                increase(series.results["requeue_after"], window),
                done,
                'delta controller_runtime_reconcile_total{result="requeue_after"} / delta of all results',
            ),
        }

    def _net_of_control_flow(self, errors: float | None, done: float | None, on_purpose: int | None) -> Signal:
        """Failures that KubeRay does not return on purpose, as far as the log tells them apart."""
        value = None
        if errors is not None and done and on_purpose is not None:
            value = max(0.0, errors - on_purpose) / done
        reason = "" if on_purpose is not None else "no operator log: control-flow errors cannot be told from failures"
        return self._make.of(
            value,
            Unit.RATIO,
            "(delta controller_runtime_reconcile_errors_total - control-flow errors in the log) / delta "
            "controller_runtime_reconcile_total",
            quality=Quality.ESTIMATED,
            reason=reason or "nothing was counted in the window",
        )

    def _keys(self, log: LogShare) -> dict[str, Signal]:
        reason = "no operator log with keys in this window"
        count = None if log.keys is None else float(log.keys)
        return {
            "hottest_key_share": self._make.of(
                log.hottest_share,
                Unit.RATIO,
                "busy time of the hottest key in the log",
                quality=Quality.ESTIMATED,
                reason=reason,
            ),
            "distinct_keys": self._make.of(
                count, Unit.COUNT, "keys in the log", quality=Quality.LOWER_BOUND, reason=reason
            ),
        }
