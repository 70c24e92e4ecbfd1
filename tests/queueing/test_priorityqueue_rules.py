"""The cap on depth series, and what is true of controller-runtime's priority queue but asserted by none of its tests.

ML and XT are the numbers of research: controller-runtime 2.2 and 2.6, examples A to E those of its section 1.9.
"""

from collections.abc import Iterable

import pytest

from advisor.queueing.metrics import EXCEEDED_CARDINALITY_LIMIT, MAX_PRIORITIES, QueueMetrics
from advisor.queueing.types import IMMEDIATE, AddOptions, Handoff
from tests.queueing.driving import MILLISECOND, SECOND, Driver, FixedLimiter


def one_at_each(number: int, placeholder: int) -> dict[int | str, int]:
    """Depth 1 at the first priorities, and something behind the cap."""
    depth: dict[int | str, int] = dict.fromkeys(range(number), 1)
    return depth | {EXCEEDED_CARDINALITY_LIMIT: placeholder}


def depth_of(priorities: Iterable[int]) -> dict[int | str, int]:
    """Depth after one key at each of these priorities became ready."""
    metrics = QueueMetrics()
    for priority in priorities:
        metrics.became_ready(priority)
    return metrics.depth


class TestPriorityLabels:
    def test_ml_01_ten_priorities(self) -> None:
        """Ten priorities have ten series and no placeholder."""
        assert depth_of(range(10)) == dict.fromkeys(range(10), 1)

    def test_ml_02_as_many_priorities_as_have_a_series(self) -> None:
        """25 priorities have 25 series and no placeholder."""
        assert depth_of(range(25)) == dict.fromkeys(range(25), 1)

    def test_ml_03_one_priority_too_many(self) -> None:
        """The 26th priority is counted in a placeholder."""
        assert depth_of(range(26)) == one_at_each(25, 1)

    def test_ml_04_five_priorities_too_many(self) -> None:
        """With 30 priorities five share the placeholder."""
        assert depth_of(range(30)) == one_at_each(25, 5)

    def test_ml_05_one_priority_is_one_series(self) -> None:
        """Two hundred keys at one priority are one series of 200."""
        assert depth_of([-100] * 200) == {-100: 200}

    def test_the_cap_is_for_good_and_for_all(self) -> None:
        """Behind the cap no number is counted under any more, not even one that had a series before."""
        metrics = QueueMetrics()
        for priority in range(MAX_PRIORITIES + 1):
            metrics.became_ready(priority)
        metrics.became_ready(0)
        metrics.raised(0, 1)
        metrics.handed_out(1, 0)
        assert metrics.depth == one_at_each(MAX_PRIORITIES, 1)

    def test_a_raise_may_be_what_exceeds_the_cap(self) -> None:
        """A raise takes from the old priority under its number first, and only then reaches the cap."""
        metrics = QueueMetrics()
        for priority in range(MAX_PRIORITIES):
            metrics.became_ready(priority)
        metrics.raised(3, 99)
        assert metrics.depth[3] == 0
        assert metrics.depth[EXCEEDED_CARDINALITY_LIMIT] == 1


class TestWorkedExamples:
    def test_xt_01_example_a_plain_add_keeps_the_old_place(self) -> None:
        """A waiting key that is added plainly overtakes what was added after it first was: x, then y."""
        queue = Driver()
        queue.add("x", after=10)
        queue.pass_time(1)
        queue.add("y")
        queue.pass_time(1)
        queue.add("x")
        assert queue.drain() == [("x", 0), ("y", 0)]
        assert queue.counted == (2, 1)

    def test_xt_02_example_b_end_of_a_delay_takes_a_new_place(self) -> None:
        """A key whose delay ends comes behind what was added in the meantime: y, then x."""
        queue = Driver()
        queue.add("x", after=1)
        queue.pass_time(0.5)
        queue.add("y")
        queue.pass_time(0.5)
        assert queue.drain() == [("y", 0), ("x", 0)]

    def test_example_c_two_delays_and_a_raise(self) -> None:
        """The earlier of two delays and the higher of two priorities hold, at a new place."""
        queue = Driver()
        queue.add("x", after=10)
        queue.add("z", after=10, priority=5)
        queue.add("x", after=20, priority=5)
        (due_ns,) = {record.ready_at_ns for record in queue.queue.pending()}
        assert due_ns == 10 * SECOND
        queue.pass_time(10)
        assert queue.drain() == [("z", 5), ("x", 5)]
        assert queue.counted == (2, 3)

    def test_xt_03_example_d_an_event_during_a_failing_run_ends_its_backoff(self) -> None:
        """A key added at -100 in work and then with backoff at 0 is ready at 0 at once; yet failure and retry count."""
        queue = Driver()
        queue.add("k")
        assert queue.get() == ("k", 0)
        queue.add("k", priority=-100)
        assert queue.depth == {0: 0, -100: 1}
        queue.add("k", rate_limited=True, priority=0)
        assert queue.depth == {0: 1, -100: 0}
        assert queue.counted == (2, 1)
        assert queue.queue.num_requeues("k") == 1
        queue.done("k")
        assert queue.get() == ("k", 0)
        assert queue.queue.metrics.discarded_delays == 1

    def test_xt_07_example_e_time_in_the_queue_includes_its_own_run(self) -> None:
        """A key added in work has been in the queue since then, whatever other workers there are: 0 and 3 s."""
        queue = Driver()
        queue.get("first")
        queue.add("k")
        queue.get("second")
        queue.pass_time(1)
        queue.add("k")
        queue.pass_time(1)
        queue.add("k", priority=4)
        queue.pass_time(2)
        assert queue.done("k") == [("k", 4)]
        durations = queue.queue.metrics.queue_duration
        assert (durations.count, durations.sum_ns) == (2, 3 * SECOND)
        assert queue.queue.metrics.work_duration.sum_ns == 4 * SECOND
        assert queue.queue.metrics.by_priority[4].queue_ns == 3 * SECOND


class TestRules:
    def test_xt_04_negative_delay_with_rate_limiting_is_immediate(self) -> None:
        """A negative delay is smaller than any backoff; the failure counts all the same."""
        queue = Driver()
        queue.add("a", after=-1, rate_limited=True)
        assert queue.get() == ("a", 0)
        assert queue.counted == (1, 0)
        assert queue.queue.num_requeues("a") == 1

    @pytest.mark.parametrize("after", [0.0, 5.0])
    def test_xt_05_backoff_of_zero_is_immediate(self, after: float) -> None:
        """Where the limiter says zero, the key is ready and no retry is counted, whatever delay was asked for."""
        queue = Driver(FixedLimiter(0))
        queue.add("a", after=after, rate_limited=True)
        assert queue.get() == ("a", 0)
        assert queue.counted == (1, 0)

    @pytest.mark.parametrize(("after", "wanted"), [(0.0, 0.02), (0.01, 0.01), (0.03, 0.02)])
    def test_the_smaller_of_delay_and_backoff_holds(self, after: float, wanted: float) -> None:
        """With a delay and rate limiting the smaller one holds, but a delay of zero is none."""
        queue = Driver(FixedLimiter(20 * MILLISECOND))
        queue.add("a", after=after, rate_limited=True)
        assert queue.queue.next_deadline_ns() == round(wanted * SECOND)

    def test_xt_06_run_in_work_passes_nothing_on(self) -> None:
        """A key in work at 5 that is added without a priority is pending at 0, and a requeue at 5 raises it."""
        queue = Driver()
        queue.add("k", priority=5)
        queue.get()
        queue.add("k")
        assert queue.depth == {5: 0, 0: 1}
        queue.add("k", priority=5)
        assert queue.depth == {5: 1, 0: 0}
        queue.done("k")
        assert queue.get() == ("k", 5)

    def test_xt_08_no_depth_before_the_first_ready_key(self) -> None:
        """A priority has no depth while its keys wait, and keeps it at 0 after the first has been ready."""
        queue = Driver()
        queue.add("a", after=1, priority=3)
        assert queue.depth == {}
        queue.pass_time(1)
        assert queue.depth == {3: 1}
        queue.drain()
        assert queue.depth == {3: 0}

    def test_xt_09_behind_the_cap_only_the_sum_is_right(self) -> None:
        """26 keys in and out leave 25 series at 1 and the placeholder at -25."""
        queue = Driver()
        for priority in range(26):
            queue.add(f"k{priority}", priority=priority)
        assert len(queue.drain()) == 26
        assert queue.depth == one_at_each(25, -25)
        assert queue.queue.metrics.adds == queue.queue.metrics.gets == 26

    def test_xt_10_gauges_stand_still_after_shutdown(self) -> None:
        """After shutdown depth and the gauges of unfinished work keep their values; done still counts its run."""
        queue = Driver()
        queue.add("a", "b", "c")
        queue.get()
        queue.pass_time(2)
        queue.queue.refresh_unfinished(queue.now_ns)
        queue.shut_down()
        queue.pass_time(2)
        queue.add("d")
        queue.done("a")
        queue.queue.tick(queue.now_ns)
        queue.queue.refresh_unfinished(queue.now_ns)
        metrics = queue.queue.metrics
        assert queue.depth == {0: 2}
        assert (metrics.unfinished_work_ns, metrics.longest_running_ns) == (2 * SECOND, 2 * SECOND)
        assert (metrics.work_duration.count, metrics.work_duration.sum_ns) == (1, 4 * SECOND)

    def test_xt_15_ready_keys_and_waiters_do_not_meet(self) -> None:
        """Several waiters take what becomes ready in the order of their arrival, until one of both runs out."""
        queue = Driver()
        for waiter in (1, 2, 3):
            queue.get(waiter)
        queue.queue.add(0, IMMEDIATE, "a", "b")
        assert list(queue.queue.handoffs) == [Handoff(1, "a", 0), Handoff(2, "b", 0)]
        assert queue.queue.waiters == 1
        queue.queue.add(0, AddOptions(priority=2), "c", "d")
        assert queue.queue.handoffs[-1] == Handoff(3, "c", 2)
        assert (queue.queue.waiters, len(queue.queue)) == (0, 1)

    def test_xt_16_low_priority_add_of_a_waiting_key(self) -> None:
        """A key that waits at 0 and is added at once at -100 is ready at 0."""
        queue = Driver()
        queue.add("k", after=300)
        queue.add("k", priority=-100)
        assert queue.depth == {0: 1}
        assert queue.get() == ("k", 0)

    def test_simultaneous_delays_end_by_priority_then_by_arrival(self) -> None:
        """Keys whose delays end together take new places in the order in which they stood."""
        queue = Driver()
        queue.add("low", "b", after=1)
        queue.add("a", "high", after=1)
        queue.add("high", priority=7, after=2)
        queue.pass_time(0.5)
        queue.add("plain")
        assert queue.pass_time(0.5) == []
        assert queue.drain() == [("high", 7), ("plain", 0), ("low", 0), ("b", 0), ("a", 0)]

    def test_same_key_twice_in_one_call_is_two_adds(self) -> None:
        """Each key of a call is added on its own, so a repeated one fails twice and merges with itself."""
        queue = Driver()
        queue.add("k", "k", rate_limited=True)
        assert queue.queue.num_requeues("k") == 2
        assert queue.queue.next_deadline_ns() == 5 * MILLISECOND
        assert queue.counted == (0, 2)

    def test_done_of_another_key_is_harmless(self) -> None:
        """A key that is not in work can be given back without effect, twice as well."""
        queue = Driver()
        queue.add("a")
        queue.done("a")
        queue.done("b")
        assert queue.get() == ("a", 0)
        queue.done("a")
        queue.done("a")
        assert queue.queue.metrics.work_duration.count == 1

    def test_forget_starts_the_backoff_again(self) -> None:
        """Failures count on until the key is forgotten, and nothing else resets them."""
        queue = Driver()
        for wanted in (5, 10, 20):
            queue.add("k", rate_limited=True)
            assert queue.queue.next_deadline_ns() == queue.now_ns + wanted * MILLISECOND
            queue.pass_time(1)
            queue.run()
        queue.queue.forget("k")
        assert queue.queue.num_requeues("k") == 0
        queue.add("k", rate_limited=True)
        assert queue.queue.next_deadline_ns() == queue.now_ns + 5 * MILLISECOND

    def test_unfinished_work_is_the_age_of_all_runs(self) -> None:
        """The gauges are the sum and the largest of the ages of the keys in work, and 0 without any."""
        queue = Driver()
        for key in ("a", "b"):
            queue.add(key)
            queue.get()
            queue.pass_time(3)
        queue.queue.refresh_unfinished(queue.now_ns)
        metrics = queue.queue.metrics
        assert (metrics.unfinished_work_ns, metrics.longest_running_ns) == (9 * SECOND, 6 * SECOND)
        queue.done("a")
        queue.done("b")
        queue.queue.refresh_unfinished(queue.now_ns)
        assert (metrics.unfinished_work_ns, metrics.longest_running_ns) == (0, 0)
