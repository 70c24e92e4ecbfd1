"""What comes at different times is given out in order of its own time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.inbox import Inbox

TIMES = st.floats(0.0, 100.0)


def due(inbox: Inbox[str], now: float, behind_since: float | None = None) -> list[str]:
    """What is due."""
    return [item for _, item in inbox.due(now, behind_since)]


@pytest.fixture
def inbox() -> Inbox[str]:
    """Holds for a second, for ten at most, four items at most."""
    return Inbox(hold_seconds=1.0, longest_seconds=10.0, most=4)


class TestEmpty:
    def test_all_comes_out_and_times_begin_anew(self, inbox: Inbox[str]) -> None:
        """After the clock was set back nothing waits for the old time to come again."""
        inbox.put(50.0, "old")
        assert due(inbox, 60.0) == ["old"]
        inbox.put(52.0, "b")
        inbox.put(51.0, "a")
        assert [item for _, item in inbox.empty()] == ["a", "b"]
        inbox.put(10.0, "new")
        assert due(inbox, 11.0) == ["new"]


class TestDue:
    def test_an_item_waits_for_older_ones(self, inbox: Inbox[str]) -> None:
        """What comes within the time is put before it."""
        inbox.put(5.0, "event")
        assert due(inbox, 5.9) == []
        inbox.put(4.8, "line")
        assert len(inbox) == 2
        assert due(inbox, 6.0) == ["line", "event"]
        assert len(inbox) == 0

    def test_items_of_one_time_keep_their_order(self, inbox: Inbox[str]) -> None:
        """First come, first served, whatever they are."""
        for item in ("z", "a", "m"):
            inbox.put(1.0, item)
        assert due(inbox, 9.0) == ["z", "a", "m"]

    def test_only_what_is_due(self, inbox: Inbox[str]) -> None:
        """Later items stay."""
        inbox.put(1.0, "a")
        inbox.put(2.0, "b")
        assert due(inbox, 2.5) == ["a"]
        assert due(inbox, 3.0) == ["b"]

    def test_too_late_is_next(self, inbox: Inbox[str]) -> None:
        """An item older than what was given out comes at that time: time never goes back."""
        inbox.put(5.0, "a")
        assert due(inbox, 6.0) == ["a"]
        inbox.put(3.0, "late")
        inbox.put(5.5, "b")
        assert list(inbox.due(7.0, None)) == [(5.0, "late"), (5.5, "b")]

    def test_beyond_its_bound_the_oldest_go_at_once(self, inbox: Inbox[str]) -> None:
        """Memory comes before order."""
        for number in range(6):
            inbox.put(float(number), str(number))
        assert due(inbox, 0.0) == ["0", "1"]
        assert len(inbox) == 4


class TestLogBehind:
    def test_items_wait_for_a_log_that_is_behind(self, inbox: Inbox[str]) -> None:
        """Until the log has been read to their time."""
        inbox.put(5.0, "event")
        assert due(inbox, 9.0, behind_since=4.0) == []
        assert due(inbox, 9.0, behind_since=5.0) == ["event"]

    def test_but_not_for_ever(self, inbox: Inbox[str]) -> None:
        """After the longest time they go."""
        inbox.put(5.0, "event")
        assert due(inbox, 14.9, behind_since=1.0) == []
        assert due(inbox, 15.0, behind_since=1.0) == ["event"]

    def test_a_log_that_is_nearly_read_up(self, inbox: Inbox[str]) -> None:
        """Items are held as usual, not less."""
        inbox.put(5.0, "event")
        assert due(inbox, 5.5, behind_since=5.4) == []

    @pytest.mark.parametrize(("behind_since", "settled"), [(None, 19.0), (15.0, 15.0), (19.9, 19.0), (3.0, 10.0)])
    def test_up_to_when_it_is_settled(self, inbox: Inbox[str], behind_since: float | None, settled: float) -> None:
        """Nothing older than that is waited for."""
        assert inbox.settled(20.0, behind_since) == settled


class TestAlways:
    @given(
        steps=st.lists(st.tuples(TIMES, TIMES, st.none() | TIMES, st.booleans()), max_size=40),
        most=st.integers(1, 8),
    )
    def test_order_and_completeness(self, steps: list[tuple[float, float, float | None, bool]], most: int) -> None:
        """Whatever comes and whenever it is asked for: times never go back, all that was put in comes out once, and not
        before its time; no more than the bound stay.
        """
        inbox: Inbox[int] = Inbox(hold_seconds=1.0, longest_seconds=10.0, most=most)
        given_out: list[tuple[float, int]] = []
        for number, (time, now, behind_since, is_asked) in enumerate(steps):
            inbox.put(time, number)
            if is_asked:
                found = list(inbox.due(now, behind_since))
                given_out += found
                assert len(inbox) <= most
                assert len(inbox) + len(given_out) == number + 1
        given_out += inbox.due(1000.0, None)
        times = [time for time, _ in given_out]
        assert times == sorted(times)
        assert sorted(number for _, number in given_out) == list(range(len(steps)))
        assert all(time >= steps[number][0] for time, number in given_out)
