"""A queue of somebody else: what goes out is seen, everything else is as in the real one."""

import pytest

from advisor.queueing.metrics import EXCEEDED_CARDINALITY_LIMIT
from advisor.queueing.records import PLACE_BLOCKED
from advisor.queueing.retrylimiters import default_priority_limiter
from advisor.queueing.shadowqueue import ShadowQueue, Taken
from advisor.queueing.types import IMMEDIATE, AddOptions
from tests.queueing.driving import MILLISECOND, SECOND, FixedLimiter, check_structure

LOW = AddOptions(priority=-100)
LATER = AddOptions(after_ns=5 * SECOND)


@pytest.fixture
def queue() -> ShadowQueue:
    """An empty one."""
    return ShadowQueue()


class TestTake:
    def test_any_ready_key_can_go_out(self, queue: ShadowQueue) -> None:
        """Which one the operator's workers got is not for the shadow to say: here the last of the lowest priority."""
        queue.add(0, IMMEDIATE, "first", "second")
        queue.add(1 * SECOND, LOW, "low")
        assert queue.take(3 * SECOND, "low") == Taken(-100, 1 * SECOND)
        assert queue.metrics.depth == {0: 2, -100: 0}
        assert queue.metrics.by_priority[-100].queue_ns == 2 * SECOND
        assert queue.metrics.queue_duration.count == 1
        assert queue.started_ns == {"low": 3 * SECOND}
        assert not queue.handoffs
        check_structure(queue)

    def test_a_key_that_was_never_added(self, queue: ShadowQueue) -> None:
        """None says that an add was missed; nothing is counted, and the key is not in work."""
        assert queue.take(0, "other") is None
        assert queue.metrics.gets == 0
        assert queue.started_ns == {}

    def test_a_key_whose_delay_has_not_ended(self, queue: ShadowQueue) -> None:
        """It is ready from now on, at its own priority, without a wait, and its delay is over."""
        queue.add(0, AddOptions(after_ns=5 * SECOND, priority=-100), "a")
        assert queue.take(2 * SECOND, "a") == Taken(-100, 2 * SECOND)
        assert queue.metrics.by_priority[-100].adds == 1
        assert queue.metrics.depth == {-100: 0}
        assert queue.next_deadline_ns() is None
        check_structure(queue)

    def test_a_delay_that_ended_unnoticed(self, queue: ShadowQueue) -> None:
        """As nobody looked when its time came, the key is ready only from when somebody does."""
        queue.add(0, LATER, "a")
        assert queue.take(7 * SECOND, "a") == Taken(0, 7 * SECOND)

    def test_a_time_before_the_key_was_ready(self, queue: ShadowQueue) -> None:
        """Times of two sources differ a little: a wait is never negative."""
        queue.add(10 * MILLISECOND, IMMEDIATE, "a")
        assert queue.take(8 * MILLISECOND, "a") == Taken(0, 10 * MILLISECOND)
        assert queue.metrics.by_priority[0].queue_ns == 0

    def test_a_key_that_is_in_work_here_still(self, queue: ShadowQueue) -> None:
        """That its run has ended was not seen: it goes out all the same, and is in work since now."""
        queue.add(0, IMMEDIATE, "a")
        queue.take(0, "a")
        queue.add(1 * SECOND, IMMEDIATE, "a")
        assert queue.blocked == 1
        assert queue.take(2 * SECOND, "a") == Taken(0, 1 * SECOND)
        assert queue.blocked == 0
        assert queue.started_ns == {"a": 2 * SECOND}
        check_structure(queue)


class TestLooks:
    def test_a_waiting_key(self, queue: ShadowQueue) -> None:
        """It has an end of its delay and a priority, and is not ready."""
        queue.add(0, AddOptions(after_ns=5 * SECOND, priority=3), "a")
        assert queue.waits_until_ns("a") == 5 * SECOND
        assert queue.pending_priority("a") == 3
        assert queue.ready_priority("a") is None
        assert list(queue.ready()) == []

    def test_a_ready_key(self, queue: ShadowQueue) -> None:
        """It has a priority and no delay."""
        queue.add(0, LOW, "a")
        assert queue.waits_until_ns("a") is None
        assert (queue.pending_priority("a"), queue.ready_priority("a")) == (-100, -100)
        assert [record.key for record in queue.ready()] == ["a"]

    def test_a_key_that_is_ready_and_in_work(self, queue: ShadowQueue) -> None:
        """It counts as ready, as in the operator's gauge."""
        queue.add(0, IMMEDIATE, "a")
        queue.take(0, "a")
        queue.add(0, IMMEDIATE, "a")
        assert [(record.key, record.place) for record in queue.ready()] == [("a", PLACE_BLOCKED)]
        assert queue.ready_priority("a") == 0

    def test_a_key_that_is_not_there(self, queue: ShadowQueue) -> None:
        """It has nothing, also while it is in work."""
        queue.add(0, IMMEDIATE, "a")
        queue.take(0, "a")
        assert queue.waits_until_ns("a") is None
        assert queue.pending_priority("a") is None
        assert queue.ready_priority("a") is None


class TestDrop:
    def test_ready_keys(self, queue: ShadowQueue) -> None:
        """They leave the depth without having been handed out, the blocked one too."""
        queue.add(0, IMMEDIATE, "a", "b")
        queue.take(0, "a")
        queue.add(0, LOW, "a")
        for record in list(queue.ready()):
            queue.drop(record)
        assert queue.metrics.depth == {0: 0, -100: 0}
        assert (queue.metrics.gets, len(queue), queue.blocked) == (1, 0, 0)
        assert queue.pending() == ()
        queue.done(0, "a")
        check_structure(queue)

    def test_a_waiting_key(self, queue: ShadowQueue) -> None:
        """It never becomes ready, and no depth changes."""
        queue.add(0, LATER, "a", "b")
        (record, _) = queue.pending()
        queue.drop(record)
        queue.tick(6 * SECOND)
        assert [one.key for one in queue.ready()] == ["b"]
        assert queue.metrics.depth == {0: 1}
        check_structure(queue)

    def test_it_can_come_again(self, queue: ShadowQueue) -> None:
        """A dropped key is added as one that was never there."""
        queue.add(0, IMMEDIATE, "a")
        queue.drop(next(queue.ready()))
        queue.add(1 * SECOND, IMMEDIATE, "a")
        assert queue.take(3 * SECOND, "a") == Taken(0, 1 * SECOND)


class TestRestart:
    def test_nothing_is_left_but_the_counters(self, queue: ShadowQueue) -> None:
        """Depths are zero, nothing waits, nothing is in work; adds and hand-offs go on from where they were."""
        queue.add(0, IMMEDIATE, "ready", "worked", "blocked")
        queue.add(0, LATER, "waiting")
        queue.take(0, "worked")
        queue.take(0, "blocked")
        queue.add(0, IMMEDIATE, "blocked")
        queue.restart(default_priority_limiter())
        assert queue.metrics.depth == {0: 0}
        assert (queue.pending(), queue.started_ns, queue.blocked, len(queue)) == ((), {}, 0, 0)
        assert queue.next_deadline_ns() is None
        assert (queue.metrics.adds, queue.metrics.gets) == (4, 2)
        queue.add(1 * SECOND, IMMEDIATE, "ready")
        assert queue.metrics.depth == {0: 1}
        check_structure(queue)

    def test_failures_are_forgotten(self, queue: ShadowQueue) -> None:
        """The new process has a limiter of its own."""
        queue.add(0, AddOptions(rate_limited=True), "a")
        assert queue.num_requeues("a") == 1
        queue.restart(FixedLimiter(3 * SECOND))
        assert queue.num_requeues("a") == 0
        queue.add(0, AddOptions(rate_limited=True), "a")
        assert queue.waits_until_ns("a") == 3 * SECOND

    def test_beyond_the_cap_of_priorities(self, queue: ShadowQueue) -> None:
        """The series of all other priorities is emptied as well."""
        for priority in range(30):
            queue.add(0, AddOptions(priority=priority), f"k{priority}")
        assert queue.metrics.depth[EXCEEDED_CARDINALITY_LIMIT] > 0
        queue.restart(default_priority_limiter())
        assert set(queue.metrics.depth.values()) == {0}
