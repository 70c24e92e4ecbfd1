import math
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.curves import Curve, increase, increases
from tests.signals.builders import every, series

STEPS = st.lists(st.floats(0.5, 100.0), min_size=1, max_size=30)
COUNTS = st.lists(st.integers(0, 1000), min_size=1, max_size=30)


def counter(samples: dict[float, float]) -> Series:
    """A counter without labels."""
    return series("things_total", {}, samples)


@st.composite
def counters(draw: st.DrawFn) -> dict[float, float]:
    """Samples at rising times whose values may fall anywhere."""
    steps = draw(STEPS)
    numbers = draw(st.lists(st.integers(0, 1000), min_size=len(steps), max_size=len(steps)))
    return {time: float(value) for time, value in zip(accumulate(steps), numbers, strict=True)}


def naive(samples: dict[float, float], window: Window) -> float | None:
    """What a counter counted in a window, sample by sample: a fall means that counting began again at zero."""
    before = [time for time in samples if time <= window.start]
    inside = [time for time in samples if window.start < time <= window.end]
    used = ([before[-1]] if before else []) + inside
    if not inside or len(used) < 2:
        return None
    total = 0.0
    for earlier, later in pairwise(used):
        low, high = samples[earlier], samples[later]
        total += high - low if high >= low else high
    return total


class TestIncrease:
    def test_counts_from_the_last_sample_up_to_each_end(self) -> None:
        """A window takes the difference of the last samples up to its start and up to its end."""
        curve = Curve(counter(every(10, 5, 8, 12, 20)))
        assert curve.increase(Window(10, 30)) == 12.0
        assert curve.increase(Window(14, 29)) == 4.0

    def test_a_fall_is_a_new_count_from_zero(self) -> None:
        """A counter that falls began again, so all of its new value is counted."""
        curve = Curve(counter(every(10, 100, 110, 7, 9)))
        assert list(curve.totals) == [0.0, 10.0, 17.0, 19.0]

    def test_a_restart_counts_even_where_the_value_rose(self) -> None:
        """A process that restarted between two samples counted all of its value since, though it is the larger one."""
        curve = Curve(counter(every(10, 100, 110, 500)), restarts=[20.0])
        assert list(curve.totals) == [0.0, 10.0, 510.0]

    def test_a_restart_at_a_sample_concerns_the_interval_before_it(self) -> None:
        """The first scrape after a start ends the interval in which the process started, and begins none."""
        curve = Curve(counter(every(10, 100, 20, 30)), restarts=[10.0])
        assert list(curve.totals) == [0.0, 20.0, 30.0]

    def test_a_label_set_that_comes_back_after_a_restart(self) -> None:
        """A rare code that is seen again only later in the new process has counted all of its value there."""
        curve = Curve(counter({0: 4, 10: 5, 40: 7}), scrapes=[0, 10, 20, 30, 40], restarts=[20.0])
        assert curve.increase(Window(10, 40)) == 7.0

    def test_the_first_sample_of_a_process_is_a_baseline(self) -> None:
        """What was counted before the first scrape is not counted again."""
        curve = Curve(counter(every(10, 1000, 1001)), scrapes=[0, 10])
        assert curve.increase(Window(-5, 10)) == 1.0

    def test_a_series_that_appears_later_began_at_zero_one_scrape_earlier(self) -> None:
        """The first event of a rare label set counts, in the interval that ended with its first sample."""
        curve = Curve(counter({20: 3, 30: 4}), scrapes=[0, 10, 20, 30])
        assert (list(curve.times), list(curve.totals)) == ([10.0, 20.0, 30.0], [0.0, 3.0, 4.0])
        assert curve.increase(Window(0, 10)) is None
        assert curve.increase(Window(0, 20)) == 3.0

    def test_a_gap_is_not_known_inside_and_counts_as_a_whole(self) -> None:
        """Nothing is known of a window inside a gap; a window that ends behind it has what the gap counted."""
        curve = Curve(counter({0: 0, 10: 5, 100: 50}))
        assert curve.increase(Window(20, 90)) is None
        assert curve.increase(Window(20, 100)) == 45.0

    @pytest.mark.parametrize(("start", "end"), [(-20, -10), (30, 40), (20, 40)])
    def test_outside_its_samples_nothing_is_known(self, start: float, end: float) -> None:
        """A window before the first sample, or behind the last of a series that ended, has no increase."""
        assert Curve(counter(every(10, 1, 2, 3))).increase(Window(start, end)) is None

    def test_a_window_that_outlasts_the_series(self) -> None:
        """A counter whose last sample lies inside the window gives what it counted up to there."""
        assert Curve(counter(every(10, 1, 2, 4))).increase(Window(5, 500)) == 3.0

    def test_one_baseline_alone_tells_nothing(self) -> None:
        """With nothing but a counter's very first sample no increase is known, which is not an increase of zero."""
        curve = Curve(counter(every(10, 7, 7)))
        assert curve.increase(Window(-5, 5)) is None
        assert curve.increase(Window(-5, 10)) == 0.0

    def test_without_samples(self) -> None:
        """A counter without samples counts nothing that is known."""
        curve = Curve(counter({}))
        assert curve.increase(Window(0, 10)) is None
        assert curve.at(5) == 0.0

    def test_several_counters(self) -> None:
        """Counters add up; one that has no sample in the window does not matter, and none at all is not zero."""
        one, other = Curve(counter(every(10, 0, 2))), Curve(counter(every(10, 0, 5, start=100)))
        assert increase([one, other], Window(0, 10)) == 2.0
        assert increase([one, other], Window(0, 110)) == 7.0
        assert increase([one, other], Window(20, 90)) is None
        assert increase([], Window(0, 10)) is None


class TestMerged:
    def test_is_the_sum_at_every_time_of_any(self) -> None:
        """The merged curve has the totals of all counters at each time that one of them has."""
        merged = Curve.merged([Curve(counter({0: 0, 20: 4})), Curve(counter({10: 10, 30: 11}))])
        assert list(merged.times) == [0.0, 10.0, 20.0, 30.0]
        assert list(merged.totals) == [0.0, 0.0, 4.0, 5.0]

    def test_of_nothing(self) -> None:
        """Without counters there is an empty curve."""
        assert list(Curve.merged([]).times) == []


class TestTimeOf:
    @pytest.mark.parametrize(
        ("total", "time"), [(-3, 0.0), (0, 0.0), (1, 5.0), (2, 10.0), (3, 22.5), (6, 30.0), (99, 30.0)]
    )
    def test_is_linear_between_samples_and_ends_at_the_ends(self, total: float, time: float) -> None:
        """A total is reached linearly between samples, at the earliest that has it, never outside the samples."""
        assert Curve(counter(every(10, 0, 2, 2, 6))).time_of(total) == time


class TestProperties:
    @given(counters(), st.lists(st.floats(-10.0, 4000.0), min_size=3, max_size=3))
    def test_increase_equals_the_naive_reference(self, samples: dict[float, float], ends: list[float]) -> None:
        """The curve gives what one gets by walking through the samples."""
        start, _, end = sorted(ends)
        assert Curve(counter(samples)).increase(Window(start, end)) == naive(samples, Window(start, end))

    @given(counters(), st.lists(st.floats(-10.0, 4000.0), min_size=3, max_size=3))
    def test_adjacent_windows_add_up(self, samples: dict[float, float], ends: list[float]) -> None:
        """What two adjacent windows counted is what both together counted; what is unknown in both is so in all."""
        start, middle, end = sorted(ends)
        curve = Curve(counter(samples))
        parts = [curve.increase(Window(start, middle)), curve.increase(Window(middle, end))]
        known = [part for part in parts if part is not None]
        assert curve.increase(Window(start, end)) == (math.fsum(known) if known else None)

    @given(st.lists(counters(), max_size=3), st.lists(st.floats(-10.0, 4000.0), unique=True, min_size=2, max_size=6))
    def test_many_windows_at_once(self, several: list[dict[float, float]], drawn: list[float]) -> None:
        """What was counted from each of many times to the next is what each window tells when asked for alone."""
        curves, times = [Curve(counter(samples)) for samples in several], sorted(drawn)
        alone = [increase(curves, Window(*pair)) for pair in pairwise(times)]
        assert increases(curves, times) == alone
        assert [curve.at_each(times) for curve in curves] == [[curve.at(time) for time in times] for curve in curves]

    @given(counters(), st.lists(st.floats(0.0, 4000.0), max_size=5), st.lists(st.floats(0.0, 4000.0), max_size=5))
    def test_a_curve_never_falls(
        self, samples: dict[float, float], scrapes: list[float], restarts: list[float]
    ) -> None:
        """Whatever the resets and restarts, totals and times never fall, and the first total is zero."""
        curve = Curve(counter(samples), scrapes=sorted(scrapes), restarts=sorted(restarts))
        assert curve.totals[0] == 0.0
        assert list(curve.totals) == sorted(curve.totals)
        assert list(curve.times) == sorted(set(curve.times))

    @given(COUNTS, COUNTS)
    def test_merging_keeps_the_sum(self, first: list[int], second: list[int]) -> None:
        """At every sample the merged curve is the sum of its parts."""
        one = Curve(counter(every(10, *accumulate(first))))
        other = Curve(counter(every(7, *accumulate(second))))
        merged = Curve.merged([one, other])
        assert list(merged.totals) == [one.at(time) + other.at(time) for time in merged.times]
        assert list(merged.times) == sorted({*one.times, *other.times})

    @given(COUNTS, st.integers(0, 30_000))
    def test_time_of_is_the_inverse_of_at(self, counts: list[int], total: int) -> None:
        """No sample before the time at which a total is reached has that total."""
        curve = Curve(counter(every(10, *accumulate(counts))))
        time = curve.time_of(total)
        assert curve.times[0] <= time <= curve.times[-1]
        assert all(reached < total for at, reached in zip(curve.times, curve.totals, strict=True) if at < time)
