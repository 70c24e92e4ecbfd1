import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.pacing import Pacing, PacingRules, WideReading

RULES = PacingRules()


class TestRules:
    def test_a_scrape_took_no_more_cpu_than_time(self) -> None:
        """With a large limit all of its answer's time may have been CPU."""
        assert PacingRules(cpu_limit_cores=8.0).cpu_seconds(0.05) == 0.05

    def test_a_scrape_took_no_more_cpu_than_its_quota(self) -> None:
        """Under a limit of 0.1 cores, a second holds at most twelve pieces of 10 ms."""
        assert RULES.cpu_seconds(1.0) == pytest.approx(0.12)

    @given(stated=st.floats(0.01, 4.0), more=st.floats(1.0, 100.0), took=st.floats(0.0, 1.0))
    def test_a_limit_that_is_larger_than_stated_does_no_harm(self, stated: float, more: float, took: float) -> None:
        """CPU by the true limit stays below the share of the true limit, in the interval by the stated one."""
        told = PacingRules(cpu_limit_cores=stated, longest_seconds=1e9)
        true = PacingRules(cpu_limit_cores=stated * more)
        interval = Pacing(told).took(took)
        assert true.cpu_seconds(took) <= true.cpu_share * true.cpu_limit_cores * interval * (1 + 1e-9)

    @pytest.mark.parametrize("name", ["default_seconds", "cpu_limit_cores", "cpu_share"])
    def test_nothing_is_zero(self, name: str) -> None:
        """Each would divide by nothing."""
        with pytest.raises(ValueError, match="more than zero"):
            PacingRules(**{name: 0.0})

    def test_the_default_is_within_the_bound(self) -> None:
        """The longest interval is the longest one."""
        with pytest.raises(ValueError, match="at most 60 s"):
            PacingRules(default_seconds=61.0)


class TestPacing:
    def test_cheap_scrapes_come_at_the_default(self) -> None:
        """Five milliseconds are a thousandth of the interval, half of the share."""
        pacing = Pacing(RULES)
        assert [pacing.took(0.005) for _ in range(100)] == [5.0] * 100
        assert pacing.interval_seconds == 5.0

    def test_dear_scrapes_are_rarer_in_proportion(self) -> None:
        """Of 0.1 cores a share of 2 % is 2 ms a second, so 20 ms are due every ten seconds."""
        pacing = Pacing(RULES)
        assert [pacing.took(0.02) for _ in range(5)] == [pytest.approx(10.0)] * 5

    def test_they_are_never_rarer_than_the_bound(self) -> None:
        """And what could not be paid by then is let off: cheap ones lead back at once."""
        pacing = Pacing(RULES)
        assert [pacing.took(10.0) for _ in range(3)] == [60.0] * 3
        assert pacing.took(0.001) == 5.0

    def test_one_slow_answer_after_cheap_ones_changes_nothing(self) -> None:
        """What cheap scrapes left over pays for it."""
        pacing = Pacing(RULES)
        for _ in range(20):
            pacing.took(0.002)
        assert pacing.took(0.08) == 5.0

    def test_what_is_left_over_is_bounded(self) -> None:
        """A day of cheap scrapes does not pay for minutes of dear ones."""
        pacing = Pacing(RULES)
        for _ in range(20_000):
            pacing.took(0.001)
        assert max(pacing.took(0.05) for _ in range(10)) == pytest.approx(12.5)

    @given(st.lists(st.floats(0.0, 30.0), max_size=50), st.floats(0.01, 16.0), st.floats(0.1, 60.0))
    def test_the_share_is_kept_over_any_time(self, times: list[float], limit: float, default: float) -> None:
        """All scrapes so far together stay below the share, wherever the bound does not cut in."""
        rules = PacingRules(cpu_limit_cores=limit, default_seconds=default)
        pacing = Pacing(rules)
        intervals = [pacing.took(time) for time in times]
        assert all(default <= one <= 60.0 for one in intervals)
        if all(one < 60.0 for one in intervals):
            used = sum(map(rules.cpu_seconds, times))
            assert used <= rules.cpu_share * limit * sum(intervals) * (1 + 1e-9) + 1e-9


class TestWideReading:
    def test_it_is_due_at_first(self) -> None:
        """Nothing is known of the cost."""
        assert WideReading().is_due(0.0)

    def test_it_takes_a_hundredth_of_a_core(self) -> None:
        """What took 0.4 s is due again after 40 s."""
        reading = WideReading()
        reading.read(100.0, 0.4)
        assert not reading.is_due(139.9)
        assert reading.is_due(140.1)

    def test_few_objects_are_read_each_time(self) -> None:
        """What takes less than a hundredth of the interval is due at each scrape."""
        reading = WideReading()
        reading.read(100.0, 0.008)
        assert reading.is_due(105.0)
