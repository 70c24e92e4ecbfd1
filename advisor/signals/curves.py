"""Counters without resets, and gauges over time.

A counter is turned once into a curve of what it has counted since its first sample. A window then costs two look-ups,
however many windows are asked for. Rules: a fall, or a process start between two samples, means that counting began
again at zero; a series that appears while its process was already being scraped began at zero one scrape earlier
(research: controller-runtime 1.6, counters of rare codes appear with their first event); the first sample of a process
is where counting is taken up, unless the process is known to have started during the observation.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import compress, islice, pairwise
from operator import add, gt, mul, sub

from advisor.model.raw import Series
from advisor.model.signal import Window

__all__ = [
    "LONGEST_PAUSE",
    "Curve",
    "Gauge",
    "all_times",
    "increase",
    "increases",
    "sum_gauges",
    "together",
    "usual_pause",
]

LONGEST_PAUSE = 3.0
"""Times the usual pause between a gauge's samples; beyond it nothing is known between two of them."""


class Curve:
    """What a counter has counted, as non-decreasing totals at its sample times."""

    __slots__ = ("times", "totals")

    def __init__(self, series: Series, *, scrapes: Sequence[float] = (), restarts: Sequence[float] = ()) -> None:
        """Build the curve of one counter.

        Args:
            series: the counter's samples.
            scrapes: times in seconds at which its process was scraped.
            restarts: times of the first scrape after each process start.
        """
        self.times = array("d")
        self.totals = array("d")
        if not len(series):
            return
        before = bisect_left(scrapes, series.times[0]) - 1
        if before >= 0:
            self.times.append(scrapes[before])
            self.totals.append(0.0)
        taken_up = 0.0 if before >= 0 else series.values[0]
        self.times.extend(series.times)
        at, total = 0, -taken_up
        for begin in (*_beginnings(series, restarts), len(series)):
            self.totals.extend([value + total for value in series.values[at:begin]])
            at, total = begin, self.totals[-1]

    @classmethod
    def merged(cls, curves: Sequence["Curve"]) -> "Curve":
        """One curve of what several counters counted together, at every time that any of them has."""
        if len(curves) == 1:
            return curves[0]
        result = cls(Series("", {}))
        result.times.extend(all_times(curve.times for curve in curves))
        columns = [curve.at_each(result.times) for curve in curves]
        result.totals.extend(sum(row) for row in zip(*columns, strict=True))
        return result

    def at(self, time: float) -> float:
        """The total at the last sample up to ``time``; 0 before the first."""
        index = bisect_right(self.times, time) - 1
        return self.totals[index] if index >= 0 else 0.0

    def at_each(self, times: Sequence[float]) -> list[float]:
        """The same at several times."""
        return [self.totals[index] if index >= 0 else 0.0 for index in _indices(self.times, times)]

    def increase(self, window: Window) -> float | None:
        """What was counted in the window, or None where no sample lies in it, or only the counter's very first."""
        first = max(0, bisect_right(self.times, window.start) - 1)
        last = bisect_right(self.times, window.end) - 1
        return self.totals[last] - self.totals[first] if last > first else None

    def time_of(self, total: float) -> float:
        """When the curve reached ``total``, linear between samples; the first time where it always was above."""
        index = bisect_left(self.totals, total)
        if index == 0:
            return self.times[0]
        if index == len(self.totals):
            return self.times[-1]
        low, high = self.totals[index - 1], self.totals[index]
        part = (total - low) / (high - low)
        return self.times[index - 1] + part * (self.times[index] - self.times[index - 1])


class Gauge:
    """Samples of a gauge."""

    __slots__ = ("times", "values")

    def __init__(self, times: Iterable[float], values: Iterable[float]) -> None:
        self.times = array("d", times)
        self.values = array("d", values)

    def slice(self, window: Window) -> tuple[Sequence[float], Sequence[float]]:
        """Times and values of the samples in the window, ends included."""
        low, high = bisect_left(self.times, window.start), bisect_right(self.times, window.end)
        return self.times[low:high], self.values[low:high]

    def mean(self, window: Window) -> float | None:
        """Mean over time, linear between samples; None without a sample in the window."""
        times, values = self.slice(window)
        if not len(times):
            return None
        if len(times) == 1:
            return values[0]
        pauses = map(sub, islice(times, 1, None), times)
        pairs = map(add, islice(values, 1, None), values)
        area: float = sum(map(mul, pairs, pauses)) / 2.0
        return area / (times[-1] - times[0])

    def peak(self, window: Window) -> float | None:
        """The largest sample of the window."""
        values = self.slice(window)[1]
        return max(values) if len(values) else None

    def last(self, window: Window) -> float | None:
        """The last sample of the window."""
        values = self.slice(window)[1]
        return float(values[-1]) if len(values) else None

    def last_each(self, times: Sequence[float]) -> list[float | None]:
        """The last sample of each interval between neighbours of several times, both ends included."""
        indices = _indices(self.times, times)[1:]
        return [
            self.values[index] if index >= 0 and self.times[index] >= start else None
            for index, start in zip(indices, times, strict=False)
        ]

    def at(self, time: float) -> float | None:
        """The last sample up to ``time``."""
        index = bisect_right(self.times, time) - 1
        return self.values[index] if index >= 0 else None

    def at_each(self, times: Sequence[float]) -> list[float | None]:
        """The same at several times."""
        return [self.values[index] if index >= 0 else None for index in _indices(self.times, times)]

    def combine(self, other: "Gauge", function: Callable[[float, float], float], default: float) -> "Gauge":
        """A gauge at this one's times, from both values; ``default`` stands in where the other has none yet."""
        values = (
            function(value, default if theirs is None else theirs)
            for value, theirs in zip(self.values, other.at_each(self.times), strict=True)
        )
        return Gauge(self.times, values)


def increase(curves: Iterable[Curve], window: Window) -> float | None:
    """What several counters counted together; None where none of them was seen in the window."""
    found = [one for curve in curves if (one := curve.increase(window)) is not None]
    return sum(found) if found else None


def increases(curves: Sequence[Curve], times: Sequence[float]) -> list[float | None]:
    """The same for each interval between neighbours of several times."""
    totals: list[float | None] = [None] * (len(times) - 1)
    for curve in curves:
        indices = _indices(curve.times, times)
        for at, (first, last) in enumerate(pairwise(indices)):
            if last > max(0, first):
                totals[at] = (totals[at] or 0.0) + curve.totals[last] - curve.totals[max(0, first)]
    return totals


def all_times(each: Iterable[Sequence[float]]) -> "array[float]":
    """Every time that any of several has, in order; of those sampled together one is looked at."""
    distinct = {bytes(memoryview(array("d", times))): times for times in each}
    if len(distinct) == 1:
        return array("d", *distinct.values())
    return array("d", sorted(set().union(*distinct.values())))


def sum_gauges(series: Sequence[Series]) -> Gauge:
    """The sum of several series at each time that any of them has; one that has no sample then counts as nothing."""
    if len(series) == 1:
        return Gauge(series[0].times, series[0].values)
    totals: dict[float, float] = {}
    for one in series:
        for time, value in zip(one.times, one.values, strict=True):
            totals[time] = totals.get(time, 0.0) + value
    times = sorted(totals)
    return Gauge(times, (totals[time] for time in times))


def together(gauges: Sequence[Gauge], function: Callable[[Iterable[float]], float] = sum) -> Gauge:
    """One gauge of several that are sampled at times of their own, at every time that any of them has.

    Each holds its value until its next sample, unless that is much later than usual; before its first and after its
    last sample it has none, so that a process that ended does not count on.
    """
    if len(gauges) == 1:
        return gauges[0]
    longest = [LONGEST_PAUSE * usual_pause(gauge.times) for gauge in gauges]
    times = all_times(gauge.times for gauge in gauges)
    return Gauge(
        times,
        (
            function(
                value
                for gauge, pause in zip(gauges, longest, strict=True)
                if (value := _held(gauge, time, pause)) is not None
            )
            for time in times
        ),
    )


def usual_pause(times: Sequence[float]) -> float:
    """The median pause between samples; 0 with fewer than two."""
    pauses = sorted(later - earlier for earlier, later in pairwise(times))
    return pauses[len(pauses) // 2] if pauses else 0.0


def _indices(sampled: Sequence[float], times: Sequence[float]) -> Sequence[int]:
    """Where in ``sampled`` the last sample at or before each time is; -1 where there is none."""
    if sampled == times:
        return range(len(times))
    return [bisect_right(sampled, time) - 1 for time in times]


def _held(gauge: Gauge, time: float, longest_pause: float) -> float | None:
    """The gauge's value at ``time``, where a sample is there or one follows in time."""
    index = bisect_right(gauge.times, time) - 1
    if index < 0:
        return None
    sampled = gauge.times[index]
    if sampled < time and (index + 1 == len(gauge.times) or gauge.times[index + 1] - sampled > longest_pause):
        return None
    return gauge.values[index]


def _beginnings(series: Series, restarts: Sequence[float]) -> list[int]:
    """Indices of samples, but for the first, at which counting began again at zero."""
    begun = {bisect_left(series.times, restart) for restart in restarts}
    falls = map(gt, series.values, islice(series.values, 1, None))
    begun.update(compress(range(1, len(series)), falls))
    return sorted(begun - {0, len(series)})
