"""Shutdown, buffered adds, and what our priority queue counts beyond controller-runtime's metrics."""

import itertools
import threading

import pytest

from advisor.queueing.metrics import DurationHistogram
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import DelayReason
from advisor.queueing.types import IMMEDIATE, AddOptions, Handoff
from tests.queueing.driving import SECOND, Driver, FixedLimiter, check_structure


class TestShutdown:
    def test_every_waiter_is_told_in_order(self) -> None:
        """Waiters are answered without a key, in order of arrival, and a second shutdown tells nobody again."""
        queue = PriorityQueue()
        for waiter in "abc":
            queue.get(0, waiter)
        queue.shut_down(0)
        queue.shut_down(0)
        assert list(queue.handoffs) == [Handoff(waiter, None, 0) for waiter in "abc"]
        assert queue.is_shut_down

    def test_a_key_in_work_can_be_given_back(self) -> None:
        """Giving back a key after shutdown hands out nothing, though the key is ready again."""
        queue = Driver()
        queue.add("a")
        queue.get()
        queue.add("a")
        queue.shut_down()
        assert queue.done("a") == []
        assert (len(queue.queue), queue.queue.blocked, queue.depth) == (1, 0, {0: 1})
        assert queue.get() == (None, 0)

    def test_adds_are_ignored_without_asking_the_limiter(self) -> None:
        """Neither a plain nor a rate-limited nor a buffered add has any effect."""
        limiter = FixedLimiter(1)
        queue = Driver(limiter)
        queue.queue.buffer(AddOptions(rate_limited=True), "a")
        queue.shut_down()
        queue.queue.buffer(AddOptions(rate_limited=True), "b")
        queue.add("c", rate_limited=True)
        queue.jump(1)
        assert limiter.asked == []
        assert queue.counted == (0, 0)
        assert queue.queue.pending() == ()


class TestBuffer:
    def test_nothing_happens_before_the_next_operation(self) -> None:
        """A buffered add asks no limiter, counts nothing and serves no waiter; the next tick does all of it."""
        limiter = FixedLimiter(0)
        queue = Driver(limiter)
        queue.get()
        queue.queue.buffer(AddOptions(rate_limited=True, priority=3), "a")
        assert queue.answers() == []
        assert (limiter.asked, queue.counted, queue.queue.pending()) == ([], (0, 0), ())
        assert queue.jump(2) == [("a", 3)]
        assert limiter.asked == [(2 * SECOND, "a")]
        assert queue.queue.metrics.queue_duration.sum_ns == 0

    def test_delay_counts_from_the_next_operation(self) -> None:
        """The time in the buffer is not part of a delay."""
        queue = Driver()
        queue.queue.buffer(AddOptions(after_ns=SECOND), "a")
        assert queue.queue.next_deadline_ns() is None
        queue.jump(5)
        assert queue.queue.next_deadline_ns() == 6 * SECOND

    @pytest.mark.parametrize("operation", ["add", "get", "done", "tick"])
    def test_every_operation_with_a_time_applies_it_first(self, operation: str) -> None:
        """Buffered adds come before the operation itself, in their order."""
        queue = Driver()
        queue.add("busy")
        queue.get()
        queue.queue.buffer(IMMEDIATE, "a")
        queue.queue.buffer(IMMEDIATE, "b")
        if operation == "add":
            queue.add("c")
        elif operation == "get":
            assert queue.get() == ("a", 0)
        elif operation == "done":
            queue.done("busy")
        else:
            queue.jump(0)
        wanted = {"add": ["a", "b", "c"], "get": ["b"]}.get(operation, ["a", "b"])
        assert [key for key, _ in queue.drain()] == wanted

    def test_ended_delays_come_before_buffered_adds(self) -> None:
        """What was due takes its place ahead of what was buffered."""
        queue = Driver()
        queue.add("due", after=1)
        queue.queue.buffer(IMMEDIATE, "buffered")
        queue.jump(1)
        assert queue.drain() == [("due", 0), ("buffered", 0)]

    def test_forget_goes_past_the_buffer(self) -> None:
        """A failure that is buffered is counted after a forget that came later."""
        queue = Driver()
        queue.queue.buffer(AddOptions(rate_limited=True), "a")
        queue.queue.forget("a")
        queue.jump(0)
        assert queue.queue.num_requeues("a") == 1

    def test_other_threads_may_buffer(self) -> None:
        """Adds that four threads buffer while the queue is in use all arrive, each once."""
        queue = PriorityQueue()
        numbers = itertools.count()

        def fill(name: int) -> None:
            for number in range(5000):
                queue.buffer(IMMEDIATE, f"{name}/{number}")

        threads = [threading.Thread(target=fill, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            queue.tick(next(numbers))
        for thread in threads:
            thread.join()
        queue.tick(next(numbers))
        assert {record.key for record in queue.pending()} == {f"{name}/{n}" for name in range(4) for n in range(5000)}
        assert queue.metrics.adds == 20_000
        check_structure(queue)


class TestWhatIsCountedBeyond:
    def test_deduplicated_adds(self) -> None:
        """Each add of a key that was ready counts, in work or not; those of waiting keys do not."""
        queue = Driver()
        queue.add("a", "a")
        queue.add("a", priority=4)
        queue.add("b", "b", after=1)
        queue.get()
        queue.add("a")
        queue.add("a")
        assert queue.queue.metrics.deduplicated_adds == 3

    def test_discarded_delays(self) -> None:
        """Each delay of a key that was ready already counts; it counts as a retry too, as in the real queue."""
        queue = Driver()
        queue.add("a")
        queue.add("a", after=1)
        queue.add("a", rate_limited=True)
        queue.add("a", after=-1)
        queue.add("b", after=1)
        assert queue.queue.metrics.discarded_delays == 2
        assert queue.counted == (1, 3)

    def test_counts_by_priority(self) -> None:
        """Adds count where a key became ready, hand-offs and waiting time where it went out."""
        queue = Driver()
        queue.add("a", "b")
        queue.pass_time(2)
        queue.add("b", priority=9)
        assert queue.drain() == [("b", 9), ("a", 0)]
        found = queue.queue.metrics.by_priority
        assert (found[0].adds, found[0].gets, found[0].queue_ns) == (2, 1, 2 * SECOND)
        assert (found[9].adds, found[9].gets, found[9].queue_ns) == (0, 1, 2 * SECOND)
        assert (queue.queue.metrics.adds, queue.queue.metrics.gets) == (2, 2)

    def test_reason_of_a_delay(self) -> None:
        """A delay is a backoff if rate limited, else a requeue if its key is in work, else a delayed add."""
        queue = Driver()
        queue.add("requeue")
        queue.get()
        queue.add("requeue", after=1)
        queue.add("backoff", rate_limited=True)
        queue.add("delayed", after=1)
        found = {record.key: record.reason for record in queue.queue.pending()}
        assert found == {
            "requeue": DelayReason.REQUEUE,
            "backoff": DelayReason.BACKOFF,
            "delayed": DelayReason.DELAYED_ADD,
        }

    def test_reason_is_that_of_the_delay_that_holds(self) -> None:
        """A shorter delay brings its own reason, a longer one leaves the old."""
        queue = Driver()
        queue.add("k", after=1)
        queue.add("k", rate_limited=True)
        assert queue.queue.pending()[0].reason is DelayReason.BACKOFF
        queue.add("k", after=10)
        assert queue.queue.pending()[0].reason is DelayReason.BACKOFF

    def test_bucket_bounds_are_inclusive(self) -> None:
        """A duration at a bound is in that bucket, one above the last in the last; sum and mean are exact."""
        histogram = DurationHistogram()
        assert histogram.mean_seconds() is None
        for nanoseconds in (0, 10, 11, 1000 * SECOND, 1000 * SECOND + 1):
            histogram.observe(nanoseconds)
        cumulative = list(histogram.cumulative())
        assert cumulative[:2] == [(1e-8, 2), (1e-7, 3)]
        assert cumulative[-2:] == [(1000.0, 4), (float("inf"), 5)]
        assert histogram.count == 5
        assert histogram.mean_seconds() == pytest.approx((2000 + 22e-9) / 5, rel=1e-15)
