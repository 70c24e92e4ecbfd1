"""Priorities of an operator's queues as the operator itself tells: depths by priority, waits over all of them.

Where there is one priority alone, as in the classic queue, everything is about that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.model.priorityhistory import ControllerPriorities, PriorityPast
from advisor.model.signal import Quality, Window
from advisor.signals.controllers import ControllerSeries, controller_series
from advisor.signals.curves import Gauge, increase
from advisor.signals.instances import Instances
from advisor.signals.overtime import OverTime, Values, rounded
from advisor.signals.priorityorder import ordered
from advisor.signals.starving import STARVED_SECONDS, by_depth, starved

__all__ = ["own_priorities"]


def own_priorities(over: OverTime) -> list[ControllerPriorities]:
    """Each controller that has a queue, by name."""
    series, _ = controller_series(over.store, over.instances)
    largest = {one.name: one for one in controller_series(over.peaks, Instances(over.peaks))[0]}
    return [_controller(over, one, largest.get(one.name, one)) for one in series if one.depths]


def _controller(over: OverTime, series: ControllerSeries, largest: ControllerSeries) -> ControllerPriorities:
    waits, mean = over.means(series.wait, series.gets), over.mean(series.wait, series.gets)
    served = increase(series.gets, over.window)
    order = ordered(series.depths)
    whole = _whole(over, series, waits, mean, served) if len(order) == 1 else _Whole.unknown(len(waits))
    gauges = [series.depths[priority] for priority in order]
    handed_out = over.counted(series.gets)
    return ControllerPriorities(
        controller=series.name,
        origin="operator",
        wait_seconds_mean=mean,
        served=served,
        waits=waits,
        priorities=tuple(
            _past(
                over,
                priority,
                gauges[at],
                largest.depths.get(priority, gauges[at]),
                whole,
                _starved(over, gauges[: at + 1], handed_out),
            )
            for at, priority in enumerate(order)
        ),
    )


@dataclass(frozen=True, slots=True)
class _Whole:
    """What is told of a queue as a whole, and so of its priority where it has one alone."""

    active: float | None
    wait: float | None
    oldest_now: float | None
    served: float | None
    waits: Values
    oldest: Values

    @classmethod
    def unknown(cls, intervals: int) -> "_Whole":
        return cls(None, None, None, None, (None,) * intervals, (None,) * intervals)


def _whole(over: OverTime, series: ControllerSeries, waits: Values, mean: float | None, served: float | None) -> _Whole:
    last = Window(over.scrapes[-1], over.scrapes[-1])
    return _Whole(
        active=over.last(series.active),
        wait=mean,
        oldest_now=series.oldest_wait(last),
        served=served,
        waits=waits,
        oldest=tuple(rounded(None if at is None else series.oldest_wait(at)) for at in over.intervals.windows),
    )


def _starved(over: OverTime, gauges: Sequence[Gauge], handed_out: Sequence[float | None]) -> tuple[float, bool]:
    """For how long the last one of some priorities starved, the highest first, and whether it does at the end."""
    *higher, own = gauges
    windows = over.intervals.windows
    marks = [
        at is not None and bool(higher) and by_depth(own, higher, count, at)
        for at, count in zip(windows, handed_out, strict=True)
    ]
    return starved(marks, windows, STARVED_SECONDS)


def _past(
    over: OverTime, priority: str, depth: Gauge, peaks: Gauge, whole: _Whole, starving: tuple[float, bool]
) -> PriorityPast:
    return PriorityPast(
        priority=priority,
        quality=Quality.EXACT,
        depth_now=over.last(depth),
        depth_peak=over.peak(peaks),
        blocked_now=None,
        active_now=whole.active,
        wait_seconds_mean=whole.wait,
        oldest_now_seconds=whole.oldest_now,
        oldest_peak_seconds=max((one for one in whole.oldest if one is not None), default=None),
        served=whole.served,
        served_share=1.0 if whole.served else None,
        starved_seconds=starving[0],
        is_starving=starving[1],
        depth_error=None,
        depths=over.largest(peaks),
        waits=whole.waits,
        oldest=whole.oldest,
    )
