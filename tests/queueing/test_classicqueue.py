from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.retrylimiters import ExponentialLimiter
from advisor.queueing.types import IMMEDIATE, AddOptions, Handoff

SECOND = 1_000_000_000
MILLISECOND = 1_000_000
RATE_LIMITED = AddOptions(rate_limited=True)


def after(seconds: float) -> AddOptions:
    """An add with a delay."""
    return AddOptions(after_ns=round(seconds * SECOND))


def keys(queue: ClassicQueue) -> list[str | None]:
    """Take out what has been handed out, without the waiters."""
    found = [handoff.key for handoff in queue.handoffs]
    queue.handoffs.clear()
    return found


def all_ready(queue: ClassicQueue, now_ns: int) -> list[str | None]:
    """Hand out and give back whatever is queued, one by one; what was handed out before is taken as read."""
    queue.handoffs.clear()
    found: list[str | None] = []
    while len(queue):
        queue.get(now_ns, "worker")
        (key,) = keys(queue)
        assert key is not None
        queue.done(now_ns, key)
        found.append(key)
    return found


class TestTableOf18:
    """Where the classic queue differs from the priority queue, line by line (research: controller-runtime 1.8)."""

    def test_classic_1_8_pending_delay_and_immediate_add_run_twice(self) -> None:
        """An immediate add runs now, and the delay that was pending still ends in a second run."""
        queue = ClassicQueue()
        queue.add(0, after(10), "k")
        queue.add(SECOND, IMMEDIATE, "k")
        assert all_ready(queue, SECOND) == ["k"]
        assert queue.next_deadline_ns() == 10 * SECOND
        queue.tick(10 * SECOND)
        assert all_ready(queue, 10 * SECOND) == ["k"]
        assert (queue.metrics.adds, queue.metrics.retries) == (2, 1)

    def test_classic_1_8_immediate_add_still_queued_when_the_delay_ends_runs_once(self) -> None:
        """Where nobody took the key in between, the end of the delay finds it queued and adds nothing."""
        queue = ClassicQueue()
        queue.add(0, after(10), "k")
        queue.add(SECOND, IMMEDIATE, "k")
        queue.tick(10 * SECOND)
        assert all_ready(queue, 10 * SECOND) == ["k"]
        assert (queue.metrics.adds, queue.metrics.deduplicated_adds) == (1, 1)
        assert queue.metrics.queue_duration.sum_ns == 9 * SECOND

    @pytest.mark.parametrize(("first", "second"), [(10, 20), (20, 10), (10, 10)])
    def test_classic_1_8_of_two_delays_the_earlier_ready_time_stays(self, first: float, second: float) -> None:
        """Two delays of a key are one run, at the earlier time; both count as retries."""
        queue = ClassicQueue()
        queue.add(0, after(first), "k")
        queue.add(0, after(second), "k")
        assert queue.next_deadline_ns() == 10 * SECOND
        queue.tick(10 * SECOND)
        assert all_ready(queue, 10 * SECOND) == ["k"]
        assert queue.next_deadline_ns() is None
        assert (queue.metrics.adds, queue.metrics.retries) == (1, 2)

    def test_classic_1_8_event_driven_run_does_not_restart_the_period(self) -> None:
        """A periodic requeue that is pending comes at its old time; the later one of the event's run is dropped."""
        queue = ClassicQueue()
        queue.add(0, after(300), "k")
        queue.add(100 * SECOND, IMMEDIATE, "k")
        queue.get(100 * SECOND, "worker")
        queue.add(101 * SECOND, after(300), "k")
        queue.done(101 * SECOND, "k")
        assert queue.next_deadline_ns() == 300 * SECOND
        queue.tick(300 * SECOND)
        assert queue.next_deadline_ns() is None

    def test_classic_1_8_delayed_add_of_a_key_in_work_and_added_again_runs_at_done_and_later(self) -> None:
        """The immediate add runs as soon as the key is given back, and the delay brings one more run."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "k")
        queue.get(0, "worker")
        queue.add(SECOND, IMMEDIATE, "k")
        queue.add(2 * SECOND, after(5), "k")
        queue.done(2 * SECOND, "k")
        assert all_ready(queue, 2 * SECOND) == ["k"]
        queue.tick(7 * SECOND)
        assert all_ready(queue, 7 * SECOND) == ["k"]
        assert queue.metrics.adds == 3

    def test_classic_1_8_rate_limited_adds_go_through_the_overall_bucket(self) -> None:
        """Of 102 keys that fail at once a hundred wait 5 ms, the next 100 and 200 ms."""
        queue = ClassicQueue()
        queue.add(0, RATE_LIMITED, *(f"k{n}" for n in range(102)))
        queue.tick(5 * MILLISECOND)
        assert len(queue) == 100
        assert queue.next_deadline_ns() == 100 * MILLISECOND
        queue.tick(100 * MILLISECOND)
        assert queue.next_deadline_ns() == 200 * MILLISECOND

    @pytest.mark.parametrize("delay_ns", [0, -SECOND])
    def test_classic_1_8_zero_delay_add_after_counts_as_retry(self, delay_ns: int) -> None:
        """The queue's own call counts a retry even where it adds at once."""
        queue = ClassicQueue()
        queue.add_after(0, delay_ns, "k")
        assert (len(queue), queue.metrics.adds, queue.metrics.retries) == (1, 1, 1)

    def test_classic_1_8_zero_delay_through_the_adapter_is_a_plain_add(self) -> None:
        """controller-runtime's adapter turns it into an add, which is no retry."""
        queue = ClassicQueue()
        queue.add(0, AddOptions(after_ns=0), "k")
        queue.add(0, AddOptions(after_ns=-5), "k")
        assert (len(queue), queue.metrics.adds, queue.metrics.retries) == (1, 1, 0)

    def test_classic_1_8_depth_has_the_empty_label(self) -> None:
        """All depth is under one label, the empty one."""
        queue = ClassicQueue()
        assert queue.metrics.depth == {}
        queue.add(0, AddOptions(priority=-100), "a")
        queue.add(0, AddOptions(priority=5), "b")
        assert queue.metrics.depth == {"": 2}
        assert all_ready(queue, 0) == ["a", "b"]
        assert queue.metrics.depth == {"": 0}

    def test_classic_1_8_locked_key_added_again_goes_to_the_end_at_done(self) -> None:
        """A key added while in work counts at once, is not in the length, and is queued behind all others at done."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "k")
        queue.get(0, "worker")
        queue.add(SECOND, IMMEDIATE, "k")
        queue.add(2 * SECOND, IMMEDIATE, "other")
        assert (queue.metrics.depth, queue.metrics.adds) == ({"": 2}, 3)
        assert (len(queue), queue.blocked) == (1, 1)
        queue.done(4 * SECOND, "k")
        assert (len(queue), queue.blocked) == (2, 0)
        assert all_ready(queue, 4 * SECOND) == ["other", "k"]
        # k: 0 s and 3 s, the other: 2 s.
        assert queue.metrics.queue_duration.sum_ns == 5 * SECOND

    def test_classic_1_8_ready_time_is_fixed_at_the_call(self) -> None:
        """The limiter is asked and the delay begins when the key is added, whatever else the queue does."""
        queue = ClassicQueue(ExponentialLimiter())
        queue.add(0, RATE_LIMITED, "a", "b", "a")
        assert (queue.num_requeues("a"), queue.num_requeues("b")) == (2, 1)
        assert (queue.delayed, queue.next_deadline_ns()) == (2, 5 * MILLISECOND)

    def test_classic_1_8_shutdown_drains_what_is_queued(self) -> None:
        """Queued keys are handed out after shutdown, then waiters hear that it is over."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "a", "b")
        queue.shut_down(SECOND)
        for waiter in range(3):
            queue.get(2 * SECOND, waiter)
        assert list(queue.handoffs) == [Handoff(0, "a", 0), Handoff(1, "b", 0), Handoff(2, None, 0)]
        assert queue.metrics.queue_duration.sum_ns == 4 * SECOND

    def test_classic_1_8_rate_limited_beats_after(self) -> None:
        """With both set the limiter's delay holds, be it the longer one."""
        queue = ClassicQueue(ExponentialLimiter(5 * SECOND))
        queue.add(0, AddOptions(after_ns=SECOND, rate_limited=True), "k")
        assert queue.next_deadline_ns() == 5 * SECOND

    def test_classic_1_8_priority_is_ignored(self) -> None:
        """Keys go out in order of arrival, at priority 0."""
        queue = ClassicQueue()
        queue.add(0, AddOptions(priority=-100), "a")
        queue.add(0, AddOptions(priority=100), "b")
        for waiter in "xy":
            queue.get(0, waiter)
        assert list(queue.handoffs) == [Handoff("x", "a", 0), Handoff("y", "b", 0)]


class TestQueue:
    def test_first_in_first_out(self) -> None:
        """Keys and waiters are matched in order of arrival."""
        queue = ClassicQueue()
        queue.get(0, "first")
        queue.get(0, "second")
        assert queue.waiters == 2
        queue.add(0, IMMEDIATE, "a", "b", "c")
        assert list(queue.handoffs) == [Handoff("first", "a", 0), Handoff("second", "b", 0)]
        assert (len(queue), queue.waiters) == (1, 0)

    def test_queued_key_added_again_keeps_its_place(self) -> None:
        """An add of a key that is queued changes nothing, not even the time since which it waits."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "a", "b")
        queue.add(SECOND, IMMEDIATE, "a")
        assert all_ready(queue, 2 * SECOND) == ["a", "b"]
        assert (queue.metrics.adds, queue.metrics.deduplicated_adds) == (2, 1)
        assert queue.metrics.queue_duration.sum_ns == 4 * SECOND

    def test_keys_of_one_call_are_added_one_by_one(self) -> None:
        """A waiter takes the first of two equal keys, so that the second finds it in work; without one they merge."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "a", "a")
        assert (len(queue), queue.metrics.adds) == (1, 1)
        queue.get(0, "first")
        queue.get(0, "second")
        queue.add(0, IMMEDIATE, "k", "k")
        assert keys(queue) == ["a", "k"]
        assert (queue.metrics.adds, queue.blocked) == (3, 1)

    def test_a_key_is_with_one_worker_at_a_time(self) -> None:
        """A worker that waits does not get a key that is in work, until it is given back."""
        queue = ClassicQueue()
        queue.get(0, "first")
        queue.get(0, "second")
        queue.add(0, IMMEDIATE, "k")
        queue.add(SECOND, IMMEDIATE, "k")
        assert list(queue.handoffs) == [Handoff("first", "k", 0)]
        queue.done(3 * SECOND, "k")
        assert list(queue.handoffs) == [Handoff("first", "k", 0), Handoff("second", "k", 0)]
        assert queue.started_ns == {"k": 3 * SECOND}
        assert queue.metrics.queue_duration.sum_ns == 2 * SECOND
        assert queue.metrics.work_duration.sum_ns == 3 * SECOND

    def test_done_of_a_key_not_in_work_does_nothing(self) -> None:
        """Neither an unknown nor a queued key is changed by it."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "k")
        queue.done(0, "k")
        queue.done(0, "unknown")
        assert all_ready(queue, 0) == ["k"]
        assert queue.metrics.work_duration.count == 1

    def test_a_key_is_ready_exactly_at_its_time(self) -> None:
        """A nanosecond before it is not."""
        queue = ClassicQueue()
        queue.add(0, after(1), "k")
        queue.tick(SECOND - 1)
        assert len(queue) == 0
        queue.tick(SECOND)
        assert len(queue) == 1

    @pytest.mark.parametrize(
        "operation",
        [
            lambda queue: queue.add(2 * SECOND, IMMEDIATE, "late"),
            lambda queue: queue.add_after(2 * SECOND, 0, "late"),
            lambda queue: queue.done(2 * SECOND, "late"),
            lambda queue: queue.get(2 * SECOND, "second"),
            lambda queue: queue.shut_down(2 * SECOND),
            lambda queue: queue.tick(2 * SECOND),
        ],
    )
    def test_any_operation_first_lets_expire_what_is_due(self, operation: Callable[[ClassicQueue], None]) -> None:
        """A late tick loses nothing: what is due goes to who waits before anything else happens."""
        queue = ClassicQueue()
        queue.get(0, "first")
        queue.add(0, after(1), "due")
        operation(queue)
        assert queue.handoffs[0] == Handoff("first", "due", 0)
        assert queue.metrics.queue_duration.sum_ns == 0

    def test_a_key_that_fails_waits_longer_each_time_until_forgotten(self) -> None:
        """Requeues double the delay; forget resets it."""
        queue = ClassicQueue(ExponentialLimiter())
        now_ns = 0
        for expected in (5, 10, 20):
            queue.add(now_ns, RATE_LIMITED, "k")
            deadline_ns = queue.next_deadline_ns()
            assert deadline_ns == now_ns + expected * MILLISECOND
            now_ns = deadline_ns
            queue.tick(now_ns)
            assert all_ready(queue, now_ns) == ["k"]
        assert queue.num_requeues("k") == 3
        queue.forget("k")
        assert queue.num_requeues("k") == 0
        assert queue.metrics.retries == 3

    def test_a_limiter_without_delay_adds_at_once(self) -> None:
        """A rate-limited add that need not wait is queued now, and counts as a retry all the same."""

        class Never:
            def when_ns(self, now_ns: int, key: str) -> int:
                return 0

            def forget(self, key: str) -> None: ...

            def num_requeues(self, key: str) -> int:
                return 0

        queue = ClassicQueue(Never())
        queue.add(0, RATE_LIMITED, "k")
        assert (len(queue), queue.metrics.retries, queue.next_deadline_ns()) == (1, 1, None)

    def test_unfinished_work_is_as_of_the_last_refresh(self) -> None:
        """Gauges of unfinished work stand still between refreshes and after shutdown."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "a", "b")
        queue.get(0, "first")
        queue.get(SECOND, "second")
        assert queue.metrics.unfinished_work_ns == 0
        queue.refresh_unfinished(3 * SECOND)
        assert (queue.metrics.unfinished_work_ns, queue.metrics.longest_running_ns) == (5 * SECOND, 3 * SECOND)
        queue.shut_down(3 * SECOND)
        queue.refresh_unfinished(9 * SECOND)
        assert queue.metrics.unfinished_work_ns == 5 * SECOND


class TestShutdown:
    def test_adds_are_ignored(self) -> None:
        """Nothing is added, delayed or counted any more, but the limiter still notes a failure."""
        queue = ClassicQueue()
        queue.shut_down(0)
        queue.add(0, IMMEDIATE, "a")
        queue.add(0, after(1), "b")
        queue.add(0, RATE_LIMITED, "c")
        queue.add_after(0, 0, "d")
        assert (len(queue), queue.next_deadline_ns(), queue.metrics.adds, queue.metrics.retries) == (0, None, 0, 0)
        assert queue.num_requeues("c") == 1
        assert queue.is_shut_down

    def test_waiters_are_answered_even_while_keys_are_in_work(self) -> None:
        """Who waits at an empty queue hears of the end at once."""
        queue = ClassicQueue()
        for waiter in "abc":
            queue.get(0, waiter)
        queue.add(0, IMMEDIATE, "k")
        queue.shut_down(SECOND)
        assert list(queue.handoffs) == [Handoff("a", "k", 0), Handoff("b", None, 0), Handoff("c", None, 0)]

    def test_keys_held_aside_are_still_handed_out(self) -> None:
        """A key added again before shutdown is queued when it is given back, for whoever asks then."""
        queue = ClassicQueue()
        queue.add(0, IMMEDIATE, "k")
        queue.get(0, "first")
        queue.add(0, IMMEDIATE, "k")
        queue.shut_down(0)
        queue.get(0, "second")
        queue.done(SECOND, "k")
        queue.get(SECOND, "first")
        assert list(queue.handoffs) == [Handoff("first", "k", 0), Handoff("second", None, 0), Handoff("first", "k", 0)]

    def test_delays_are_dropped(self) -> None:
        """What waits for its time never comes; what is due at that moment does."""
        queue = ClassicQueue()
        queue.add(0, after(1), "due")
        queue.add(0, after(2), "late")
        queue.shut_down(SECOND)
        assert (queue.delayed, queue.next_deadline_ns()) == (0, None)
        queue.tick(3 * SECOND)
        assert all_ready(queue, 3 * SECOND) == ["due"]

    def test_is_safe_to_repeat(self) -> None:
        """A second shutdown changes nothing."""
        queue = ClassicQueue()
        queue.get(0, "worker")
        queue.shut_down(0)
        queue.shut_down(SECOND)
        assert list(queue.handoffs) == [Handoff("worker", None, 0)]


class TestDelays:
    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 30)), max_size=200))
    def test_keys_come_in_order_of_their_earliest_time(self, adds: list[tuple[int, int]]) -> None:
        """Each key comes once, at the earliest of its times, and none before an earlier one."""
        queue = ClassicQueue()
        earliest: dict[str, int] = {}
        for number, due_ns in adds:
            queue.add(0, AddOptions(after_ns=due_ns), f"k{number}")
            earliest[f"k{number}"] = min(due_ns, earliest.get(f"k{number}", due_ns))
        assert queue.delayed == len(earliest)
        found = {}
        while (due_ns := queue.next_deadline_ns() or 0) > 0:
            queue.tick(due_ns)
            found.update({str(key): due_ns for key in all_ready(queue, due_ns)})
        assert found == earliest
        assert sorted(found.values()) == list(found.values())
        assert queue.delayed == 0

    def test_ties_come_in_the_order_of_gos_heap(self) -> None:
        """Five keys due at once come out as container/heap yields them, not in order of arrival."""
        queue = ClassicQueue()
        queue.add(0, after(1), "a", "b", "c", "d", "e")
        queue.tick(SECOND)
        assert all_ready(queue, SECOND) == ["a", "e", "d", "c", "b"]

    def test_keys_moved_earlier_leave_nothing_behind(self) -> None:
        """However often a key's delay is shortened, the queue holds it once."""
        queue = ClassicQueue()
        for step in range(10_000):
            queue.add(0, AddOptions(after_ns=SECOND - step), f"k{step % 3}")
        assert queue.delayed == len(queue._delays._keys) == len(queue._delays._due_ns) == 3
