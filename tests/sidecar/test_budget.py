import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.budget import CpuBudget, MemoryGuard

MIB = 1 << 20


class TestCpuBudget:
    def test_a_burst_goes_through(self) -> None:
        """Two seconds of CPU at once pause nothing: the first list of objects, a burst of the log."""
        budget = CpuBudget()
        assert [budget.pause_seconds(0.1 * step, 0.1 * step) for step in range(20)] == [0.0] * 20
        assert budget.throttled_seconds == 0.0

    def test_then_it_is_held(self) -> None:
        """A reader that pauses as it is told uses its budget in the long run, whatever it could use."""
        budget = CpuBudget(0.05)
        now = cpu = 0.0
        while now < 600.0:
            pause = budget.pause_seconds(now, cpu)
            now += pause
            if not pause:  # 20 ms of work on one core
                now, cpu = now + 0.02, cpu + 0.02
        assert cpu == pytest.approx(0.05 * 600.0 + 2.0, rel=0.02)
        assert budget.throttled_seconds == pytest.approx(600.0 - cpu, rel=0.01)

    def test_a_pause_is_bounded(self) -> None:
        """However deep the debt, the reader gets a turn every second, and may be told to stop."""
        budget = CpuBudget()
        budget.pause_seconds(0.0, 0.0)
        assert budget.pause_seconds(1.0, 100.0) == 1.0

    def test_a_debt_is_bounded(self) -> None:
        """After hours of work by others, the log is not held for hours: two seconds of CPU are paid back in 40."""
        budget = CpuBudget(0.05)
        budget.pause_seconds(0.0, 0.0)
        budget.pause_seconds(3600.0, 3600.0)
        assert budget.pause_seconds(3645.0, 3600.0) == 0.0

    def test_what_was_used_before_counts_for_nothing(self) -> None:
        """The start of the program is over when the budget begins."""
        assert CpuBudget().pause_seconds(1000.0, 500.0) == 0.0

    @given(st.lists(st.tuples(st.floats(-10.0, 1e6), st.floats(-10.0, 1e6)), max_size=30))
    def test_a_pause_is_sensible_whatever_the_clocks_say(self, looks: list[tuple[float, float]]) -> None:
        """Never below zero, never above the bound."""
        budget = CpuBudget()
        pauses = [budget.pause_seconds(now, cpu) for now, cpu in looks]
        assert all(0.0 <= pause <= 1.0 for pause in pauses)
        assert budget.throttled_seconds == pytest.approx(sum(pauses))

    @pytest.mark.parametrize("name", ["cores", "burst_seconds", "longest_pause_seconds"])
    def test_nothing_is_zero(self, name: str) -> None:
        """A budget of nothing would be none."""
        with pytest.raises(ValueError, match="more than zero"):
            CpuBudget(**{name: 0.0})


class TestMemoryGuard:
    def test_below_the_limit_nothing_changes(self) -> None:
        """All bounds are the usual ones."""
        guard = MemoryGuard(100 * MIB)
        assert not any(guard.look(now, 99 * MIB) for now in range(1000))
        assert guard.share == 1.0

    def test_at_the_limit_the_share_is_halved(self) -> None:
        """At once, and again each half minute while that does not help, down to a sixteenth."""
        guard = MemoryGuard(100 * MIB)
        changed = [now for now in range(300) if guard.look(now, 100 * MIB)]
        assert changed == [0, 30, 60, 90]
        assert guard.share == 1 / 16

    def test_well_below_it_grows_again(self) -> None:
        """Every five minutes, so that it does not swing; just below the limit it stays."""
        guard = MemoryGuard(100 * MIB)
        guard.look(0.0, 100 * MIB)
        guard.look(30.0, 100 * MIB)
        assert not any(guard.look(now, 90 * MIB) for now in range(31, 2000))
        assert [now for now in range(2000, 4000) if guard.look(now, 50 * MIB)] == [2000, 2300]
        assert guard.share == 1.0

    def test_a_limit_of_nothing(self) -> None:
        """Is none."""
        with pytest.raises(ValueError, match="more than zero"):
            MemoryGuard(0)
