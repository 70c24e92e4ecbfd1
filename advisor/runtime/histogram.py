"""Histograms as they are exposed: copied at one time, with bounds written as Go's client writes them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from advisor.queueing.metrics import DURATION_BOUNDS_NS, DurationHistogram
from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = ["HistogramSnapshot"]


@dataclass(frozen=True, slots=True)
class HistogramSnapshot:
    """A histogram at one time.

    Attributes:
        bounds_ns: upper bounds in nanoseconds, inclusive; one bucket more has none.
        buckets: observations by bucket, not accumulated.
        sum_ns: sum of the observations.
    """

    bounds_ns: tuple[int, ...]
    buckets: tuple[int, ...]
    sum_ns: int

    @classmethod
    def of(cls, histogram: DurationHistogram) -> "HistogramSnapshot":
        """Copy a histogram."""
        return cls(histogram.bounds_ns, tuple(histogram.buckets), histogram.sum_ns)

    @classmethod
    def of_totals(cls, count: int, sum_ns: int) -> "HistogramSnapshot":
        """A histogram of which only count and sum are known."""
        return cls((), (count,), sum_ns)

    def cumulative(self) -> Iterator[tuple[str, float]]:
        """Value of the label `le`, and the count up to it."""
        running = 0
        for bound, count in zip(_bounds(self.bounds_ns), self.buckets, strict=True):
            running += count
            yield bound, float(running)


@cache
def _bounds(bounds_ns: tuple[int, ...]) -> tuple[str, ...]:
    """Bounds in seconds as Go's client writes them in the text format, so that `sum by (le)` fits with an operator's.

    The decades are multiplied up from the first as controller-runtime's are, so two of them are not round.
    """
    if bounds_ns == DURATION_BOUNDS_NS:
        seconds = [10e-9]
        while len(seconds) < len(bounds_ns):
            seconds.append(seconds[-1] * 10)
    else:
        seconds = [bound_ns / NANOSECONDS_PER_SECOND for bound_ns in bounds_ns]
    return (*(repr(each).removesuffix(".0") for each in seconds), "+Inf")
