"""The samples of a time and how it is cut, asked for one quantity after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.model.raw import SeriesStore
from advisor.model.signal import Window
from advisor.signals.curves import Curve, Gauge, increase, increases
from advisor.signals.instances import Instances
from advisor.signals.intervals import Intervals

__all__ = ["OverTime", "Values", "rounded"]

_DIGITS = 4
"""Significant digits of a value over time: a chart shows no more."""
Values = tuple[float | None, ...]
"""A value for each interval, None where it is not known."""


@dataclass(frozen=True, slots=True)
class OverTime:
    """The samples of a time, and how it is cut.

    Attributes:
        store: the samples.
        peaks: of gauges, at times of samples, the largest value since the sample before.
        instances: of ``store``.
        intervals: of the time.
        scrapes: at least two times of scrapes, in order.
    """

    store: SeriesStore
    peaks: SeriesStore
    instances: Instances
    intervals: Intervals
    scrapes: Sequence[float]

    @property
    def window(self) -> Window:
        """From the first scrape to the last one."""
        return Window(self.scrapes[0], self.scrapes[-1])

    def largest(self, gauge: Gauge | None) -> Values:
        """The largest value of each interval."""
        if gauge is None:
            return (None,) * len(self.intervals.windows)
        return tuple(rounded(None if at is None else gauge.peak(at)) for at in self.intervals.windows)

    def counted(self, curves: Sequence[Curve]) -> list[float | None]:
        """What was counted in each interval; None in gaps."""
        found = increases(curves, self.intervals.bounds)
        return [None if at is None else one for one, at in zip(found, self.intervals.windows, strict=True)]

    def means(self, sums: Sequence[Curve], counts: Sequence[Curve]) -> Values:
        """Mean of each interval."""
        rows = zip(self.counted(sums), self.counted(counts), strict=True)
        return tuple(rounded(total / count if total is not None and count else None) for total, count in rows)

    def last(self, gauge: Gauge | None) -> float | None:
        """The value at the last scrape."""
        return None if gauge is None else gauge.last(Window(self.scrapes[-1], self.scrapes[-1]))

    def mean(self, sums: Sequence[Curve], counts: Sequence[Curve]) -> float | None:
        """Mean of the whole time."""
        total, count = increase(sums, self.window), increase(counts, self.window)
        return total / count if total is not None and count else None

    def peak(self, gauge: Gauge | None) -> float | None:
        """The largest value of the whole time."""
        return None if gauge is None else gauge.peak(self.window)


def rounded(value: float | None) -> float | None:
    """A value as a chart shows it."""
    return None if value is None else float(f"{value:.{_DIGITS}g}")
