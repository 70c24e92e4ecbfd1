from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.histograms import Histogram, Quantile
from tests.signals.builders import buckets, every, histogram, instances

WINDOW = Window(0, 10)


def read(*found: Series) -> Histogram:
    """A histogram of all series given, sorted by their suffix."""
    by_suffix: dict[str, list[Series]] = {"bucket": [], "sum": [], "count": []}
    for one in found:
        by_suffix[one.name.rpartition("_")[2]].append(one)
    return Histogram.read(by_suffix["bucket"], by_suffix["sum"], by_suffix["count"], instances(*found))


def of(bounds: dict[str, float], total: float = 0.0) -> Histogram:
    """A histogram that observed this much, cumulative by bound, between two scrapes."""
    count = max(bounds.values(), default=0.0)
    return read(
        *histogram(
            "h",
            {},
            total=every(10, 0, total),
            count=every(10, 0, count),
            bounds={bound: every(10, 0, value) for bound, value in bounds.items()},
        )
    )


class TestQuantile:
    @pytest.mark.parametrize(
        ("part", "quantile"),
        [
            (0.0, Quantile(0.0, 0.0, 1.0)),
            (0.25, Quantile(0.5, 0.0, 1.0)),
            (0.5, Quantile(1.0, 0.0, 1.0)),
            (0.75, Quantile(2.0, 1.0, 3.0)),
            (1.0, Quantile(3.0, 1.0, 3.0)),
        ],
    )
    def test_is_interpolated_and_carries_its_bucket(self, part: float, quantile: Quantile) -> None:
        """A quantile is linear in its bucket, whose ends go with it."""
        assert of({"1": 10, "3": 20, "+Inf": 20}).quantile(part, WINDOW) == quantile

    def test_in_the_bucket_without_an_end(self) -> None:
        """A quantile above all bounds is known from below alone."""
        assert of({"1": 1, "60": 5, "+Inf": 10}).quantile(0.99, WINDOW) == Quantile(60.0, 60.0, None)

    def test_empty_buckets_are_passed_over(self) -> None:
        """The bucket of a quantile is one that observed something."""
        assert of({"1": 0, "2": 0, "4": 8, "8": 8, "+Inf": 8}).quantile(0.5, WINDOW) == Quantile(3.0, 2.0, 4.0)

    def test_bounds_are_in_order_of_number(self) -> None:
        """Bounds are numbers, whatever the order in which their texts arrive."""
        assert of({"+Inf": 4, "10": 4, "9": 2}).quantile(0.75, WINDOW) == Quantile(9.5, 9.0, 10.0)

    @pytest.mark.parametrize("bounds", [{}, {"1": 0.0, "+Inf": 0.0}])
    def test_without_observations_there_is_none(self, bounds: dict[str, float]) -> None:
        """Nothing observed has no quantile."""
        assert of(bounds).quantile(0.5, WINDOW) is None

    def test_buckets_that_contradict_each_other_give_none(self) -> None:
        """Where a part of all observations is in no bucket there is no quantile to give."""
        assert of({"1": 0, "+Inf": 10}).quantile(1.5, WINDOW) is None

    @given(
        st.lists(
            st.tuples(st.floats(1e-6, 1e3), st.integers(0, 1000)), min_size=1, max_size=12, unique_by=lambda b: b[0]
        ),
        st.floats(0.0, 1.0),
    )
    def test_lies_in_its_bucket(self, observed: list[tuple[float, int]], part: float) -> None:
        """A quantile is never outside the bucket it is in, and that bucket observed something."""
        bounds = sorted(bound for bound, _ in observed)
        totals = list(accumulate(float(count) for _, count in observed))
        found = of({str(bound): total for bound, total in zip(bounds, totals, strict=True)}).quantile(part, WINDOW)
        if totals[-1] == 0:
            assert found is None
            return
        assert found is not None
        assert found.high in bounds
        index = bounds.index(found.high)
        assert found.low == (bounds[index - 1] if index else 0.0)
        assert totals[index] > (totals[index - 1] if index else 0.0)
        assert found.low <= found.value <= found.high * (1 + 1e-12)


class TestShareAbove:
    def test_is_what_the_bucket_leaves_over(self) -> None:
        """The share above a bound is one less the share in its bucket."""
        assert of({"0.005": 15, "0.025": 18, "+Inf": 20}).share_above(0.005, WINDOW) == 0.25

    def test_bounds_are_compared_as_numbers(self) -> None:
        """A bound that prints as 9.999999999999999e-06 is 0.00001."""
        assert of({"9.999999999999999e-06": 5, "+Inf": 20}).share_above(1e-5, WINDOW) == 0.75

    def test_without_that_bound_it_is_not_known(self) -> None:
        """A bound that is no bucket has no share."""
        assert of({"0.025": 18, "+Inf": 20}).share_above(0.005, WINDOW) is None

    def test_without_observations_it_is_not_known(self) -> None:
        """Nothing observed has no share above anything."""
        assert of({"0.005": 0, "+Inf": 0}).share_above(0.005, WINDOW) is None

    def test_never_below_zero(self) -> None:
        """Buckets scraped a moment after the count do not make a negative share."""
        found = read(*buckets("h", {}, {"1": every(10, 0, 11)}), *histogram("h", {}, total={}, count=every(10, 0, 10)))
        assert found.share_above(1.0, WINDOW) == 0.0


class TestRead:
    def test_label_sets_are_added_up(self) -> None:
        """Two verbs make one histogram."""
        found = read(
            *histogram(
                "h", {"verb": "GET"}, total=every(10, 0, 3), count=every(10, 0, 2), bounds={"1": every(10, 0, 1)}
            ),
            *histogram(
                "h", {"verb": "PUT"}, total=every(10, 0, 4), count=every(10, 0, 6), bounds={"1": every(10, 0, 1)}
            ),
        )
        assert (found.sum(WINDOW), found.count(WINDOW), found.share_above(1.0, WINDOW)) == (7.0, 8.0, 0.75)

    def test_without_samples_nothing_is_known(self) -> None:
        """Sum and count of a window without samples are missing."""
        found = of({"1": 1.0})
        assert (found.sum(Window(20, 30)), found.count(Window(20, 30))) == (None, None)

    @pytest.mark.parametrize("bound", ["", "many", "NaN"])
    def test_a_bucket_without_a_number_is_left_out(self, bound: str) -> None:
        """A damaged bound costs its own bucket and nothing else."""
        assert of({"1": 4, bound: 4}).quantile(0.5, WINDOW) == Quantile(0.5, 0.0, 1.0)

    def test_a_bucket_series_without_a_bound_is_left_out(self) -> None:
        """A bucket series that lacks the label is no bucket."""
        stray = Series("h_bucket", {})
        assert Histogram.read([stray], [], [], instances(stray)).quantile(0.5, WINDOW) is None

    def test_infinity_in_any_spelling(self) -> None:
        """The bucket without an end may be written as +Inf or inf."""
        assert of({"inf": 4}).quantile(0.5, WINDOW) == Quantile(0.0, 0.0, None)
