import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.twin.engine import Engine
from advisor.twin.world import CFS_PERIOD_NS, CpuQuota, ServiceLine

MS = 1_000_000


class TestEngine:
    def test_order(self) -> None:
        """Callbacks run in order of time, and in order of asking among equals."""
        engine, seen = Engine(), list[str]()
        for at, name in ((5, "c"), (3, "a"), (5, "d"), (3, "b")):
            engine.at(at, seen.append, name)
        engine.run(10)
        assert seen == ["a", "b", "c", "d"]
        assert (engine.now_ns, engine.events) == (10, 4)

    def test_until(self) -> None:
        """What is due later stays, and is found again."""
        engine, seen = Engine(), list[str]()
        engine.at(5, seen.append, "a")
        engine.run(4)
        assert (seen, engine.now_ns, engine.next_ns()) == ([], 4, 5)
        engine.run(5)
        assert (seen, engine.next_ns()) == (["a"], None)

    def test_stop(self) -> None:
        """After a stop the time is that of the callback which asked for it; another run goes on."""
        engine, seen = Engine(), list[str]()
        engine.at(3, lambda _: engine.stop())
        engine.at(3, seen.append, "a")
        engine.run(10)
        assert (seen, engine.now_ns) == ([], 3)
        engine.run(10)
        assert (seen, engine.now_ns) == (["a"], 10)

    def test_drop(self) -> None:
        """What was to happen to some objects does not, also from within a callback."""
        engine = Engine()
        kept, lost = list[str](), list[str]()
        engine.at(1, lambda _: engine.drop([lost]))
        for at in (1, 2, 3):
            engine.at(at, lost.append, "x")
            engine.at(at, kept.append, "x")
        engine.run(10)
        assert (kept, lost) == (["x"] * 3, [])


class TestServiceLine:
    def test_in_order(self) -> None:
        """Work waits for what came before, and a pause is not made up for."""
        line = ServiceLine()
        assert [line.finish_ns(at, 10) for at in (0, 0, 5, 100)] == [10, 20, 30, 110]
        assert (line.served, line.busy_ns) == (4, 40)
        assert (line.backlog_ns(104), line.backlog_ns(200)) == (6, 0)


class TestCpuQuota:
    def test_no_limit(self) -> None:
        """Without a quota all work runs at once."""
        cpu = CpuQuota(None)
        assert [cpu.finish_ns(0, 50 * MS) for _ in range(3)] == [50 * MS] * 3
        assert (cpu.used_ns, cpu.throttled_ns, cpu.periods, cpu.limit_cores) == (150 * MS, 0, 0, None)
        assert cpu.spent_ns(0) == 150 * MS

    def test_full_speed_within_the_share(self) -> None:
        """Work that fits the period's share does not wait, side by side on several cores."""
        cpu = CpuQuota(0.5)
        assert [cpu.finish_ns(10 * MS, 20 * MS) for _ in range(2)] == [30 * MS] * 2
        assert cpu.throttled_ns == 0

    def test_waits_for_the_next_period(self) -> None:
        """When the share is used up, the rest runs at the start of the next period."""
        cpu = CpuQuota(0.1)
        assert cpu.finish_ns(0, 4 * MS) == 4 * MS
        assert cpu.finish_ns(2 * MS, 8 * MS) == 102 * MS
        assert (cpu.periods, cpu.throttled_periods) == (2, 1)
        # Six of its eight milliseconds were left from 2 ms on.
        assert cpu.stopped_ns == 92 * MS
        assert cpu.throttled_ns == 92 * MS

    def test_long_work_is_spread_over_periods(self) -> None:
        """Work above a period's share takes a share of each."""
        cpu = CpuQuota(0.1)
        assert cpu.finish_ns(0, 35 * MS) == 305 * MS
        assert (cpu.periods, cpu.throttled_periods, cpu.stopped_ns) == (4, 3, 270 * MS)
        assert cpu.finish_ns(50 * MS, 5 * MS) == 305 * MS
        assert cpu.finish_ns(50 * MS, 5 * MS) == 405 * MS

    def test_shares_are_not_saved(self) -> None:
        """An idle period leaves nothing for the next one."""
        cpu = CpuQuota(0.1)
        assert cpu.finish_ns(1000 * MS, 15 * MS) == 1105 * MS

    def test_spent(self) -> None:
        """Work that waits for later shares has not been had yet."""
        cpu = CpuQuota(0.1)
        cpu.finish_ns(0, 35 * MS)
        assert [cpu.spent_ns(at * MS) // MS for at in (50, 150, 250, 350)] == [10, 20, 30, 35]

    @given(
        st.floats(0.01, 3.0),
        st.lists(st.tuples(st.integers(0, 200 * MS), st.integers(0, 500 * MS)), max_size=40),
    )
    def test_never_more_than_the_quota(self, cores: float, pieces: list[tuple[int, int]]) -> None:
        """Up to any end of work no more is granted than the periods begun allow; no work outruns time."""
        cpu, now_ns, used_ns = CpuQuota(cores), 0, 0
        for pause_ns, work_ns in pieces:
            now_ns += pause_ns
            used_ns += work_ns
            end_ns = cpu.finish_ns(now_ns, work_ns)
            assert end_ns >= now_ns + work_ns
            assert used_ns <= (end_ns // CFS_PERIOD_NS + 1) * (cores * CFS_PERIOD_NS + 1)
        assert cpu.used_ns == used_ns
        assert cpu.throttled_periods <= cpu.periods
        assert cpu.stopped_ns <= cpu.throttled_periods * CFS_PERIOD_NS

    def test_saturated_throughput(self) -> None:
        """Under more work than the quota the pace is the quota's."""
        cpu = CpuQuota(0.25)
        end_ns = 0
        for number in range(1000):
            end_ns = cpu.finish_ns(number * 5 * MS, 7 * MS)
        assert end_ns / 1e9 == pytest.approx(1000 * 0.007 / 0.25, rel=0.01)
