"""How the figures went over time: the same curves as everywhere, asked for short intervals one after the other.

An interval is one pause between scrapes, or as many as are needed to stay near 240. A counter gives its mean over the
interval; a gauge its largest sample, so that no peak is lost. Where scraping paused for long nothing is known.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from advisor.model.signal import Unit, Window
from advisor.model.timeline import Timeline, TimelineSeries
from advisor.signals.client import ClientSeries
from advisor.signals.controllers import ControllerSeries
from advisor.signals.curves import LONGEST_PAUSE, all_times, increase, usual_pause

__all__ = ["make_timeline"]

_MOST_INTERVALS = 240
_DIGITS = 4
"""Significant digits of a value: a chart shows no more."""

_CONTROLLER_UNITS = {
    "depth_peak": Unit.COUNT,
    "busy_workers_mean": Unit.COUNT,
    "max_concurrent_reconciles": Unit.COUNT,
    "queue_wait_seconds_mean": Unit.SECONDS,
    "oldest_wait_seconds_peak": Unit.SECONDS,
}


def make_timeline(
    controllers: Sequence[ControllerSeries],
    client: ClientSeries,
    scrapes: Sequence[float],
    *,
    limiter_off: bool,
) -> Timeline:
    """The timeline of one operator.

    Args:
        controllers: its controllers.
        client: its client.
        scrapes: at least two times at which it was scraped.
        limiter_off: whether the client limiter is known to be off.
    """
    bounds, gaps = _cut(_sampled(controllers) or scrapes)
    intervals: list[Window | None] = []
    for start, end in pairwise(bounds):
        # The sample at a bound belongs to the interval that it ends; the first one after nothing ends none.
        opens = not intervals or intervals[-1] is None
        interval = Window(start if opens else math.nextafter(start, end), end)
        intervals.append(None if start in gaps else interval)
    series: list[TimelineSeries] = []
    for one in controllers:
        rows = [{} if interval is None else _controller(one, interval) for interval in intervals]
        series += _columns(one.name, dict(_CONTROLLER_UNITS), rows)
    rows = [{} if at is None else client.mean_seconds(at, limiter_off=limiter_off) for at in intervals]
    series += _columns("", dict.fromkeys(sorted(set().union(*rows)), Unit.SECONDS), rows)
    return Timeline(bounds=tuple(round(time, 3) for time in bounds), series=tuple(series))


def _sampled(controllers: Sequence[ControllerSeries]) -> Sequence[float]:
    """Times at which any controller was sampled: a standby is scraped at times that tell nothing about them."""
    times = all_times(gauge.times for one in controllers for gauge in (one.depth, one.workers))
    return times if len(times) > 1 else ()


def _cut(times: Sequence[float]) -> tuple[list[float], set[float]]:
    """Bounds of the intervals, and where those begin in which nothing was scraped for long."""
    step = math.ceil((len(times) - 1) / _MOST_INTERVALS)
    longest = max(LONGEST_PAUSE * usual_pause(times), (times[-1] - times[0]) / _MOST_INTERVALS)
    bounds, gaps, pauses = [times[0]], set(), 0
    for earlier, later in pairwise(times):
        if later - earlier > longest:
            gaps.add(earlier)
            bounds += [later] if pauses == 0 else [earlier, later]
            pauses = 0
            continue
        pauses += 1
        if pauses == step:
            bounds.append(later)
            pauses = 0
    return bounds if pauses == 0 else [*bounds, times[-1]], gaps


def _controller(series: ControllerSeries, interval: Window) -> dict[str, float | None]:
    """Figures of one controller in one interval."""
    busy = series.busy_seconds(interval)
    waited, handed_out = increase(series.wait, interval), increase(series.gets, interval)
    return {
        "depth_peak": series.depth.peak(interval),
        "busy_workers_mean": None if busy is None else busy / interval.seconds,
        "max_concurrent_reconciles": series.workers.last(interval),
        "queue_wait_seconds_mean": waited / handed_out if waited is not None and handed_out else None,
        "oldest_wait_seconds_peak": series.oldest_wait(interval),
    }


def _columns(
    controller: str, units: dict[str, Unit], rows: Sequence[dict[str, float | None]]
) -> Iterator[TimelineSeries]:
    """A series for each quantity that is known anywhere."""
    for quantity, unit in units.items():
        values = tuple(_rounded(row.get(quantity)) for row in rows)
        if any(value is not None for value in values):
            yield TimelineSeries(controller=controller, quantity=quantity, unit=unit.value, values=values)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
