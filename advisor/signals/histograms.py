"""Classic histograms: sums, counts and quantiles with their bounds.

A quantile of a bucketed histogram is never better known than the bucket it falls in, so the bucket's ends go with it
(research: controller-runtime 4.1).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.curves import Curve, increase
from advisor.signals.instances import Instances

__all__ = ["Histogram", "Quantile"]


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile, interpolated in its bucket; ``high`` is None in the bucket without an upper end."""

    value: float
    low: float
    high: float | None


class Histogram:
    """Buckets, sum and count of one histogram, over all label sets given."""

    __slots__ = ("_buckets", "_count", "_sum")

    def __init__(self, buckets: dict[float, list[Curve]], sums: list[Curve], counts: list[Curve]) -> None:
        self._buckets = dict(sorted(buckets.items()))
        self._sum = sums
        self._count = counts

    @classmethod
    def read(
        cls, buckets: Iterable[Series], sums: Iterable[Series], counts: Iterable[Series], instances: Instances
    ) -> "Histogram":
        """From the three families of series; bounds are compared as numbers, ``+Inf`` included."""
        by_bound: dict[float, list[Curve]] = {}
        for series in buckets:
            by_bound.setdefault(float(series.labels["le"]), []).append(instances.curve(series))
        return cls(by_bound, [instances.curve(one) for one in sums], [instances.curve(one) for one in counts])

    def sum(self, window: Window) -> float | None:
        """What was observed in the window, added up; None without a sample."""
        return increase(self._sum, window)

    def count(self, window: Window) -> float | None:
        """How many observations the window has; None without a sample."""
        return increase(self._count, window)

    def share_above(self, bound: float, window: Window) -> float | None:
        """Share of observations above a bucket bound; None without observations or without that bucket."""
        count = self.count(window)
        below = increase(self._buckets.get(bound, ()), window)
        if not count or below is None:
            return None
        return max(0.0, 1.0 - below / count)

    def quantile(self, part: float, window: Window) -> Quantile | None:
        """The ``part`` quantile (0..1) of the window; None without observations."""
        cumulative = [(bound, increase(curves, window) or 0.0) for bound, curves in self._buckets.items()]
        if not cumulative or cumulative[-1][1] <= 0:
            return None
        wanted = part * cumulative[-1][1]
        low, below = 0.0, 0.0
        for bound, total in cumulative:
            if total >= wanted and total > below:
                if bound == float("inf"):
                    return Quantile(low, low, None)
                return Quantile(low + (bound - low) * (wanted - below) / (total - below), low, bound)
            low, below = bound, total
        return None
