"""Classic histograms: sums, counts and quantiles with their bounds.

A quantile of a bucketed histogram is never better known than the bucket it falls in, so the bucket's ends go with it
(research: controller-runtime 4.1).
"""

import math
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
        """From the three families of series; a bucket whose bound is no number is left out."""
        by_bound: dict[float, list[Curve]] = {}
        for series in buckets:
            bound = _bound(series)
            if bound is not None:
                by_bound.setdefault(bound, []).append(instances.curve(series))
        return cls(by_bound, [instances.curve(one) for one in sums], [instances.curve(one) for one in counts])

    def sum(self, window: Window) -> float | None:
        """What was observed in the window, added up; None without a sample."""
        return increase(self._sum, window)

    def count(self, window: Window) -> float | None:
        """How many observations the window has; None without a sample."""
        return increase(self._count, window)

    def share_above(self, bound: float, window: Window) -> float | None:
        """Share of observations above a bucket bound; None without observations or without that bucket.

        Bounds are compared as numbers, to a few digits: some print as ``9.999999999999999e-06``.
        """
        count = self.count(window)
        below = increase(
            (curve for one, curves in self._buckets.items() if math.isclose(one, bound) for curve in curves), window
        )
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


def _bound(series: Series) -> float | None:
    """A bucket's upper bound; None where it has none that is a number."""
    try:
        bound = float(series.labels.get("le", ""))
    except ValueError:
        return None
    return None if math.isnan(bound) else bound
