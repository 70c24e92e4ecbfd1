from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.signal import Window
from advisor.signals.curves import Gauge, sum_gauges, together
from tests.signals.builders import every, series


def gauge(samples: dict[float, float]) -> Gauge:
    """A gauge with these samples."""
    return Gauge(samples, samples.values())


def content(found: Gauge) -> dict[float, float]:
    """All samples of a gauge."""
    return dict(zip(found.times, found.values, strict=True))


class TestGauge:
    def test_mean_is_over_time_and_linear(self) -> None:
        """The mean weighs by time: half of it rising from 0 to 10, the rest at 10, is 7.5."""
        assert gauge({0: 0, 10: 10, 20: 10}).mean(Window(0, 20)) == 7.5

    def test_mean_with_uneven_samples(self) -> None:
        """A short peak weighs little, however many samples it has."""
        assert gauge({0: 0, 90: 0, 92: 10, 94: 10, 96: 0, 100: 0}).mean(Window(0, 100)) == 0.4

    def test_one_sample(self) -> None:
        """The mean of a window with one sample is that sample."""
        assert gauge(every(10, 3, 8, 4)).mean(Window(5, 14)) == 8.0

    def test_ends_are_inside(self) -> None:
        """Samples at both ends of a window belong to it."""
        found = gauge(every(10, 9, 1, 2, 7))
        window = Window(10, 20)
        assert [list(part) for part in found.slice(window)] == [[10.0, 20.0], [1.0, 2.0]]
        assert (found.peak(window), found.last(window)) == (2.0, 2.0)

    def test_without_a_sample_nothing_is_known(self) -> None:
        """A window between two samples has no mean, peak or last value; they are missing, not zero."""
        found = gauge(every(10, 1, 2))
        window = Window(2, 8)
        assert (found.mean(window), found.peak(window), found.last(window)) == (None, None, None)

    @pytest.mark.parametrize(("time", "value"), [(-1, None), (0, 1.0), (9, 1.0), (10, 2.0), (1000, 2.0)])
    def test_at_is_the_last_sample_up_to_a_time(self, time: float, value: float | None) -> None:
        """A time has the value of the last sample up to it, and none before the first."""
        assert gauge(every(10, 1, 2)).at(time) == value

    def test_combine_takes_the_other_at_its_last_sample(self) -> None:
        """Gauges sampled at different times meet at the first one's times; before the other's, a default."""
        depth, active = gauge(every(10, 5, 5, 5)), gauge({7: 1, 13: 2, 18: 4})
        assert content(depth.combine(active, lambda left, right: left - right, 0.0)) == {0: 5.0, 10: 4.0, 20: 1.0}

    @given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=20))
    def test_mean_lies_between_the_extremes(self, numbers: list[float]) -> None:
        """No mean is below the smallest or above the largest sample."""
        mean = gauge(every(10, *numbers)).mean(Window(0, 1000))
        assert mean is not None
        assert min(numbers) * (1 - 1e-12) <= mean <= max(numbers) * (1 + 1e-12)


class TestManyTimes:
    @given(
        st.lists(st.integers(0, 30), unique=True, max_size=12).map(sorted),
        st.lists(st.integers(0, 30), unique=True, min_size=2, max_size=12).map(sorted),
    )
    def test_is_what_one_at_a_time_gives(self, sampled: list[int], asked: list[int]) -> None:
        """Values at many times, and last samples of the intervals between them, are those asked for one by one."""
        found = gauge({time: float(7 * time % 5) for time in sampled})
        assert found.at_each(asked) == [found.at(time) for time in asked]
        assert found.last_each(asked) == [found.last(Window(*pair)) for pair in pairwise(asked)]

    def test_at_its_own_times(self) -> None:
        """At the times of its own samples a gauge has its samples."""
        found = gauge(every(10, 3, 8, 4))
        assert (found.at_each(found.times), found.last_each(found.times)) == ([3.0, 8.0, 4.0], [8.0, 4.0])


class TestSum:
    def test_of_series_of_one_process(self) -> None:
        """Series of one process are summed scrape by scrape; one that is not there yet counts as nothing."""
        found = sum_gauges([series("depth", {}, every(10, 1, 2, 3)), series("depth", {}, {20: 40})])
        assert content(found) == {0: 1.0, 10: 2.0, 20: 43.0}

    def test_of_nothing(self) -> None:
        """Without series there are no samples."""
        assert content(sum_gauges([])) == {}


class TestTogether:
    def test_processes_scraped_at_times_of_their_own(self) -> None:
        """Each process holds its value until its next scrape, so the sum does not jump between them."""
        found = together([gauge(every(10, 4, 4, 4)), gauge(every(10, 3, 2, 2, start=5))])
        assert content(found) == {0: 4.0, 5: 7.0, 10: 7.0, 15: 6.0, 20: 6.0, 25: 2.0}

    def test_processes_scraped_at_the_same_times(self) -> None:
        """Samples of one time are added up."""
        assert content(together([gauge(every(10, 4, 4)), gauge(every(10, 3, 2))])) == {0: 7.0, 10: 6.0}

    def test_a_process_that_ended_does_not_count_on(self) -> None:
        """After a change of the process only the new one counts."""
        found = together([gauge(every(10, 4, 4, 4)), gauge(every(10, 1, 1, start=23))])
        assert content(found) == {0: 4.0, 10: 4.0, 20: 4.0, 23: 1.0, 33: 1.0}

    def test_a_pause_far_beyond_the_usual_is_not_bridged(self) -> None:
        """A process that led twice counts nothing while another one led in between."""
        first = gauge({0: 4, 10: 4, 20: 4, 100: 4, 110: 4})
        assert content(together([first, gauge({50: 1, 60: 1})])) == {
            0: 4.0,
            10: 4.0,
            20: 4.0,
            50: 1.0,
            60: 1.0,
            100: 4.0,
            110: 4.0,
        }

    def test_one_sample_holds_for_its_moment(self) -> None:
        """A process with one sample counts at that time alone."""
        assert content(together([gauge({5: 9}), gauge(every(10, 1, 1))])) == {0: 1.0, 5: 10.0, 10: 1.0}

    def test_the_largest_instead_of_the_sum(self) -> None:
        """What every process counts for itself is not added up."""
        assert content(together([gauge(every(10, 4, 6)), gauge(every(10, 5, 2, start=5))], max)) == {
            0: 4.0,
            5: 5.0,
            10: 6.0,
            15: 2.0,
        }

    def test_one_gauge_is_itself(self) -> None:
        """A single process is left as it is."""
        alone = gauge(every(10, 1, 2))
        assert together([alone]) is alone

    def test_none(self) -> None:
        """Without processes there are no samples."""
        assert content(together([])) == {}
