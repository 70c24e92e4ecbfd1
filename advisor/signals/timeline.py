"""How the figures went over time: the same curves as everywhere, asked for short intervals one after the other.

A counter gives its mean over the interval; a gauge its largest sample, so that no peak is lost.
"""

from collections.abc import Iterator, Sequence

from advisor.model.signal import Unit, Window
from advisor.model.timeline import Timeline, TimelineSeries
from advisor.signals.client import ClientSeries
from advisor.signals.controllers import ControllerSeries
from advisor.signals.curves import all_times, increase
from advisor.signals.intervals import Intervals

__all__ = ["make_timeline"]

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
    intervals = Intervals.cut(_sampled(controllers) or scrapes)
    series: list[TimelineSeries] = []
    for one in controllers:
        rows = [{} if interval is None else _controller(one, interval) for interval in intervals.windows]
        series += _columns(one.name, dict(_CONTROLLER_UNITS), rows)
    rows = [{} if at is None else client.mean_seconds(at, limiter_off=limiter_off) for at in intervals.windows]
    series += _columns("", dict.fromkeys(sorted(set().union(*rows)), Unit.SECONDS), rows)
    return Timeline(bounds=tuple(round(time, 3) for time in intervals.bounds), series=tuple(series))


def _sampled(controllers: Sequence[ControllerSeries]) -> Sequence[float]:
    """Times at which any controller was sampled: a standby is scraped at times that tell nothing about them."""
    times = all_times(gauge.times for one in controllers for gauge in (one.depth, one.workers))
    return times if len(times) > 1 else ()


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
