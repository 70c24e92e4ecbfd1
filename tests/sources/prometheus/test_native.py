"""Histograms in native form, as the classic series that signals are made from."""

from array import array

from advisor.model.raw import Series
from advisor.sources.prometheus.answers import Bucket, Histogram, HistogramSeries
from advisor.sources.prometheus.native import classic_series, with_native

INFINITE = float("inf")


def bucket(low: float, high: float, count: float) -> Bucket:
    """A bucket that holds its upper bound."""
    return Bucket(low, high, count, has_low=False, has_high=True)


def test_sum_count_and_buckets_are_those_of_a_classic_histogram() -> None:
    """Buckets are made cumulative, at every bound that any sample has; the last one is the count."""
    samples = [
        Histogram(3.0, 0.9, (bucket(0.1, 0.2, 1.0), bucket(0.4, 0.8, 2.0))),
        Histogram(6.0, 2.0, (bucket(0.1, 0.2, 2.0), bucket(0.2, 0.4, 1.0), bucket(0.4, 0.8, 3.0))),
    ]
    histogram = HistogramSeries("wait_seconds", {"name": "raycluster"}, array("d", [10.0, 20.0]), samples)
    found = {(one.name, one.labels.get("le")): list(one.values) for one in classic_series([histogram])}
    assert found == {
        ("wait_seconds_count", None): [3.0, 6.0],
        ("wait_seconds_sum", None): [0.9, 2.0],
        ("wait_seconds_bucket", "0.2"): [1.0, 2.0],
        ("wait_seconds_bucket", "0.4"): [1.0, 3.0],
        ("wait_seconds_bucket", "0.8"): [3.0, 6.0],
        ("wait_seconds_bucket", "+Inf"): [3.0, 6.0],
    }


def test_a_bucket_that_a_bound_cuts_counts_above_it() -> None:
    """When a histogram halves its resolution, no observation is counted at or below a bound that it may lie above."""
    samples = [Histogram(1.0, 0.3, (bucket(0.2, 0.4, 1.0),)), Histogram(1.0, 0.3, (bucket(0.2, 0.8, 1.0),))]
    histogram = HistogramSeries("wait_seconds", {}, array("d", [10.0, 20.0]), samples)
    at = {one.labels["le"]: list(one.values) for one in classic_series([histogram]) if "le" in one.labels}
    assert at["0.4"] == [1.0, 0.0]
    assert at["0.8"] == [1.0, 1.0]


def test_observations_above_every_bound_are_in_the_count_alone() -> None:
    """The bucket up to infinity is not a bound of its own beside +Inf."""
    sample = Histogram(2.0, 9.0, (bucket(0.5, 1.0, 1.0), Bucket(1.0, INFINITE, 1.0, has_low=False, has_high=True)))
    histogram = HistogramSeries("wait_seconds", {}, array("d", [10.0]), [sample])
    assert [one.labels.get("le") for one in classic_series([histogram])] == [None, None, "1.0", "+Inf"]


def test_a_histogram_in_both_forms_counts_once() -> None:
    """A store may hold a histogram twice; the classic one is taken, by labels."""
    sample = Histogram(2.0, 9.0, (bucket(0.5, 1.0, 2.0),))
    native = [HistogramSeries("wait_seconds", {"name": name}, array("d", [10.0]), [sample]) for name in ("a", "b")]
    classic = Series("wait_seconds_count", {"name": "a"}, array("d", [10.0]), array("d", [2.0]))
    found = with_native([classic], native)
    assert [one.labels["name"] for one in found if one.name == "wait_seconds_count"] == ["a", "b"]
    assert {one.labels["name"] for one in found if one.name == "wait_seconds_bucket"} == {"b"}
