"""Histograms in native form as the series of classic ones, so that signals read both alike.

Bucket bounds of a native histogram change with what it has seen. A bound that a sample lacks gets what lies at or below
it in that sample: whole buckets, so a bucket that a bound cuts counts above it, as observations above it may be in it.
"""

from array import array
from collections.abc import Iterable, Iterator

from advisor.model.raw import Series
from advisor.sources.prometheus.answers import Histogram, HistogramSeries, key_of

__all__ = ["classic_series", "with_native"]


def classic_series(histograms: Iterable[HistogramSeries]) -> Iterator[Series]:
    """For each histogram ``_count`` and ``_sum``, and a ``_bucket`` for each upper bound of any sample."""
    for one in histograms:
        counts, sums = ([getattr(sample, name) for sample in one.samples] for name in ("count", "sum"))
        yield Series(f"{one.name}_count", one.labels, array("d", one.times), array("d", counts))
        yield Series(f"{one.name}_sum", one.labels, array("d", one.times), array("d", sums))
        bounds = sorted({bucket.high for sample in one.samples for bucket in sample.buckets} | {float("inf")})
        for bound in bounds:
            values = array("d", (_at_or_below(sample, bound) for sample in one.samples))
            yield Series(f"{one.name}_bucket", {**one.labels, "le": _text(bound)}, array("d", one.times), values)


def with_native(series: Iterable[Series], histograms: Iterable[HistogramSeries]) -> list[Series]:
    """All series; a histogram that a store holds in both forms is taken in the classic one."""
    found = list(series)
    classic = {key_of(one.name, one.labels) for one in found if one.name.endswith("_count")}
    only_native = (one for one in histograms if key_of(f"{one.name}_count", one.labels) not in classic)
    return [*found, *classic_series(only_native)]


def _at_or_below(sample: Histogram, bound: float) -> float:
    if bound == float("inf"):
        return sample.count
    return sum(bucket.count for bucket in sample.buckets if bucket.high <= bound)


def _text(bound: float) -> str:
    return "+Inf" if bound == float("inf") else repr(bound)
