"""What a store answers to a query: series of samples, and histograms in native form."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor.model.raw import Series

__all__ = ["Bucket", "Histogram", "HistogramSeries", "Result", "SeriesKey", "joined", "key_of"]


SeriesKey = tuple[str, frozenset[tuple[str, str]]]


def key_of(name: str, labels: Mapping[str, str]) -> SeriesKey:
    """What tells a series from every other: its name and labels, in whatever order these come."""
    return name, frozenset(labels.items())


@dataclass(frozen=True, slots=True)
class Bucket:
    """``count`` observations between two bounds, either of which may be infinite; no two buckets overlap.

    ``has_low`` and ``has_high`` say whether a bound itself belongs to the bucket.
    """

    low: float
    high: float
    count: float
    has_low: bool
    has_high: bool


@dataclass(frozen=True, slots=True)
class Histogram:
    """One sample of a histogram: number and sum of all observations, and the buckets that hold any, in order."""

    count: float
    sum: float
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class HistogramSeries:
    """Samples of one histogram in ascending order of time; times in Unix seconds, as many as samples."""

    name: str
    labels: dict[str, str]
    times: "array[float]" = field(default_factory=lambda: array("d"))
    samples: list[Histogram] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one query. Times at which a series has no sample, or a stale one, are absent.

    ``nan_samples`` and ``infinite_samples`` count those that were left out: neither is a number that one can add.
    """

    series: tuple[Series, ...] = ()
    histograms: tuple[HistogramSeries, ...] = ()
    nan_samples: int = 0
    infinite_samples: int = 0

    @property
    def samples(self) -> int:
        """Samples of all series, those of histograms included."""
        return sum(map(len, self.series)) + sum(len(one.times) for one in self.histograms)


def joined(results: Sequence[Result]) -> Result:
    """Results of one query over times that follow each other, as if it had been one."""
    if len(results) == 1:
        return results[0]
    series: dict[SeriesKey, Series] = {}
    histograms: dict[SeriesKey, HistogramSeries] = {}
    for result in results:
        for one in result.series:
            kept = series.setdefault(key_of(one.name, one.labels), one)
            if kept is not one:
                kept.times.extend(one.times)
                kept.values.extend(one.values)
        for many in result.histograms:
            before = histograms.setdefault(key_of(many.name, many.labels), many)
            if before is not many:
                before.times.extend(many.times)
                before.samples.extend(many.samples)
    return Result(
        tuple(series.values()),
        tuple(histograms.values()),
        sum(result.nan_samples for result in results),
        sum(result.infinite_samples for result in results),
    )
