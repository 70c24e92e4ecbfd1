"""What the tests of controller-runtime's priority queue assert, by the numbers of research: controller-runtime 2.1.

What those tests do with threads is here a random order of single operations. PQ-INV, which they check in wrapped trees,
is `check_structure`, run after each operation of a `Driver`.
"""

import random
from collections import Counter

import pytest

from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.retrylimiters import ExponentialLimiter
from advisor.queueing.types import AddOptions
from tests.queueing.driving import MILLISECOND, SECOND, Driver, check_structure


class TestAddAndGet:
    def test_pq_01_one_key(self) -> None:
        """A key that is added is got; then nothing is ready, one add and no retry are counted."""
        queue = Driver()
        queue.add("a")
        assert queue.get() == ("a", 0)
        assert queue.depth == {0: 0}
        assert queue.counted == (1, 0)

    def test_pq_02_first_in_first_out(self) -> None:
        """Of two keys the first that was added is got first."""
        queue = Driver()
        queue.add("a")
        queue.add("b")
        assert [queue.get(), queue.get()] == [("a", 0), ("b", 0)]
        assert queue.depth == {0: 0}
        assert queue.counted == (2, 0)

    def test_pq_03_key_in_work_is_passed_over(self) -> None:
        """A key in work that is added again is counted as ready, but the next one is got."""
        queue = Driver()
        queue.add("a")
        queue.get()
        queue.add("a")
        queue.add("b")
        assert queue.get() == ("b", 0)
        assert queue.depth == {0: 1}
        assert queue.counted == (3, 0)

    def test_pq_04_key_given_back_keeps_its_place(self) -> None:
        """Once given back, a key that was added again is got before those added after it."""
        queue = Driver()
        queue.add("a")
        queue.get()
        queue.add("a")
        queue.add("b")
        queue.get()
        queue.add("c")
        queue.done("a")
        assert queue.get() == ("a", 0)
        assert queue.depth == {0: 1}
        assert queue.counted == (4, 0)

    def test_pq_05_same_key_twice_is_one(self) -> None:
        """A pending key that is added again is still one key, and one add is counted."""
        queue = Driver()
        queue.add("a")
        queue.add("a")
        assert len(queue.queue) == 1
        assert queue.queue.started_ns == {}
        assert queue.depth == {0: 1}
        assert queue.counted == (1, 0)

    def test_pq_06_key_in_work_has_to_come_back_first(self) -> None:
        """A key added while in work has length 1, cannot be got before it is given back, and comes at priority 0."""
        queue = Driver()
        queue.add("a", priority=7)
        assert queue.get() == ("a", 7)
        queue.add("a")
        assert len(queue.queue) == 1
        assert queue.get() is None
        assert queue.done("a") == [("a", 0)]
        assert queue.counted == (2, 0)
        assert queue.depth == {7: 0, 0: 0}

    @pytest.mark.parametrize("delay", [60.0, 3600.0])
    def test_pq_10_delay_of_a_ready_key_is_dropped(self, delay: float) -> None:
        """A ready key that is added with a delay is still got at once."""
        queue = Driver()
        queue.add("a")
        queue.add("a", after=delay)
        assert queue.get() == ("a", 0)
        assert queue.queue.next_deadline_ns() is None
        assert queue.counted == (1, 1)

    def test_pq_11_waiting_keys_are_not_counted(self) -> None:
        """Length and depth count the keys that are ready, and no series exists for those that wait."""
        queue = Driver()
        queue.add("a", "b", after=60, priority=3)
        queue.add("c", "d")
        assert len(queue.queue) == 2
        assert queue.depth == {0: 2}


class TestPriority:
    def test_pq_07_higher_priority_raises(self) -> None:
        """A key at 1 that is added at 2 is got at 2; depth moves along, adds do not."""
        queue = Driver()
        queue.add("a", priority=1)
        assert queue.depth == {1: 1}
        queue.add("a", priority=2)
        assert queue.depth == {1: 0, 2: 1}
        assert queue.get() == ("a", 2)
        assert queue.depth == {1: 0, 2: 0}
        assert queue.counted == (1, 0)

    def test_pq_08_lower_priority_changes_nothing(self) -> None:
        """A key at 2 that is added at 1 is got at 2, and no series of 1 appears."""
        queue = Driver()
        queue.add("a", priority=2)
        queue.add("a", priority=1)
        assert queue.depth == {2: 1}
        assert queue.get() == ("a", 2)
        assert queue.depth == {2: 0}
        assert queue.counted == (1, 0)

    def test_pq_09_raised_key_overtakes(self) -> None:
        """The last of three keys is got first once it has been added at a higher priority."""
        queue = Driver()
        queue.add("a", "b", "c")
        queue.add("c", priority=1)
        assert queue.get() == ("c", 1)
        assert len(queue.queue) == 2
        assert queue.depth == {0: 2, 1: 0}
        assert queue.counted == (3, 0)

    def test_pq_16_raised_key_is_last_of_its_new_priority(self) -> None:
        """A key raised to 1 comes behind one that was at 1 before, though it was added earlier."""
        queue = Driver()
        queue.add("a")
        queue.add("b", priority=1)
        queue.add("a", priority=1)
        assert queue.drain() == [("b", 1), ("a", 1)]

    @pytest.mark.parametrize(("name", "delay", "retries"), [("a", -1.0, 0), ("b", 0.0, 0), ("c", 1.0, 5000)])
    def test_pq_18_five_priorities_with_a_thousand_keys_each(self, name: str, delay: float, retries: int) -> None:
        """Keys come strictly by priority and in order of arrival within it; only a delay above zero is a retry."""
        queue = Driver(is_checking=False)
        priorities = (-10, -5, 0, 5, 10)
        for number in range(1000):
            for priority in priorities:
                queue.add(f"{name}{number}@{priority}", after=delay, priority=priority)
        queue.pass_time(1)
        wanted = [(f"{name}{number}@{each}", each) for each in reversed(priorities) for number in range(1000)]
        assert queue.drain() == wanted
        assert queue.depth == dict.fromkeys(priorities, 0)
        assert queue.counted == (5000, retries)
        check_structure(queue.queue)


class TestDelays:
    def test_pq_14_plain_add_of_a_waiting_key(self) -> None:
        """A waiting key has neither length nor depth; a plain add makes it ready, and its hand-off counts no more."""
        queue = Driver()
        queue.add("a", after=3600)
        assert len(queue.queue) == 0
        assert queue.depth == {}
        queue.add("a")
        assert len(queue.queue) == 1
        assert queue.depth == {0: 1}
        assert queue.get() == ("a", 0)
        assert queue.depth == {0: 0}
        assert queue.counted == (1, 1)

    def test_pq_15_plain_add_of_a_waiting_key_at_a_higher_priority(self) -> None:
        """A key that waits at 0 and is added plainly at 1 is ready at 1; no series of 0 appears."""
        queue = Driver()
        queue.add("a", after=3600)
        queue.add("a", priority=1)
        assert queue.depth == {1: 1}
        assert queue.get() == ("a", 1)
        assert queue.depth == {1: 0}

    def test_pq_19_waiter_is_served_when_the_delay_ends(self) -> None:
        """The timer runs for exactly the delay; nothing comes before, and the key comes when it ends."""
        queue = Driver()
        assert queue.get() is None
        assert queue.add("a", after=1) == []
        assert queue.armed_ns == [SECOND]
        assert queue.pass_time(1 - 1e-9) == []
        assert queue.pass_time(1e-9) == [("a", 0)]
        assert queue.depth == {0: 0}
        assert queue.counted == (1, 1)

    def test_pq_20_end_of_a_delay_at_a_higher_priority(self) -> None:
        """A key at 0 whose delay has ended goes before one at -100 that was ready all the time."""
        queue = Driver()
        queue.add("low", priority=-100)
        queue.add("high", after=1)
        queue.pass_time(1)
        assert queue.get() == ("high", 0)
        assert queue.depth == {-100: 1, 0: 0}
        assert queue.counted == (2, 1)

    def test_pq_22_plain_add_serves_the_waiter_of_a_delayed_key(self) -> None:
        """A waiter gets a key that had a minute to wait as soon as it is added plainly."""
        queue = Driver()
        assert queue.get() is None
        assert queue.add("a", after=60) == []
        assert queue.add("a") == [("a", 0)]
        assert queue.queue.next_deadline_ns() is None
        assert queue.counted == (1, 1)

    def test_pq_23_earlier_delay_comes_first(self) -> None:
        """Where the clock jumps over two delays, keys come in their order, and only these two were ever timed."""
        queue = Driver()
        queue.add("a", after=1)
        queue.add("b", after=0.2)
        assert queue.get() is None
        assert queue.get() is None
        assert queue.jump(1) == [("b", 0), ("a", 0)]
        assert set(queue.armed_ns) <= {200 * MILLISECOND, SECOND}
        assert queue.counted == (2, 2)

    def test_pq_25_lengths_of_ready_and_delayed_keys(self) -> None:
        """Two ready and two delayed keys are 2, then 4, then 0; and the same again on the same queue."""
        queue = Driver()
        for _ in range(2):
            queue.add("a", "b")
            queue.add("c", "d", after=1)
            assert (len(queue.queue), queue.depth) == (2, {0: 2})
            queue.pass_time(1)
            assert (len(queue.queue), queue.depth) == (4, {0: 4})
            assert len(queue.drain()) == 4
            assert (len(queue.queue), queue.depth) == (0, {0: 0})

    def test_pq_26_plain_add_after_the_delay_has_ended(self) -> None:
        """A key whose delay has ended is counted once, also when it is then added plainly."""
        queue = Driver()
        queue.add("a", after=1)
        queue.pass_time(1)
        assert (len(queue.queue), queue.depth) == (1, {0: 1})
        queue.add("a")
        assert (len(queue.queue), queue.depth) == (1, {0: 1})
        queue.get()
        assert (len(queue.queue), queue.depth) == (0, {0: 0})
        assert queue.counted == (1, 1)

    def test_pq_27_each_key_of_one_call_has_its_own_backoff(self) -> None:
        """One call with a key that never failed and one that failed seven times: 5 ms and 640 ms."""
        limiter = ExponentialLimiter()
        for _ in range(7):
            limiter.when_ns(0, "b")
        queue = Driver(limiter)
        queue.get()
        queue.get()
        queue.add("a", "b", rate_limited=True)
        assert queue.pass_time(0.005) == [("a", 0)]
        assert queue.pass_time(0.634) == []
        assert queue.pass_time(0.001) == [("b", 0)]
        assert queue.armed_ns == [5 * MILLISECOND, 635 * MILLISECOND]
        assert queue.counted == (2, 2)


class TestWaitersAndShutdown:
    def test_pq_12_get_after_shutdown(self) -> None:
        """After shutdown every get is answered without a key, though one is ready, and adds are ignored."""
        queue = Driver()
        queue.add("a")
        queue.shut_down()
        queue.add("b", after=1)
        assert [queue.get(), queue.get()] == [(None, 0), (None, 0)]
        assert queue.queue.next_deadline_ns() is None
        assert queue.counted == (1, 0)

    def test_pq_21_waiter_is_served_by_an_add(self) -> None:
        """A waiter is served by a plain add alone."""
        queue = Driver()
        assert queue.get() is None
        assert queue.add("a") == [("a", 0)]

    def test_pq_24_waiter_is_answered_at_shutdown(self) -> None:
        """A waiter is answered without a key when the queue is shut down."""
        queue = Driver()
        assert queue.get() is None
        assert queue.shut_down() == [(None, 0)]


class TestRandomOrders:
    @pytest.mark.parametrize("seed", range(20))
    def test_pq_13_everything_is_handed_out(self, seed: int) -> None:
        """A thousand keys with small delays or priorities and a hundred workers with ten each: all of them come."""
        chance = random.Random(seed)
        queue = Driver(is_checking=False)
        turns = [("add", number) for number in range(1000)] + [("get", number % 100) for number in range(1000)]
        chance.shuffle(turns)
        found: list[str | None] = []
        for turn, number in turns:
            if turn == "add" and chance.random() < 0.5:
                received = queue.add(f"k{number}", after=chance.randrange(50) / 1000)
            elif turn == "add":
                received = queue.add(f"k{number}", priority=chance.randrange(10))
            else:
                one = queue.get(number)
                received = [] if one is None else [one]
            received += queue.pass_time(0.001 * (chance.random() < 0.1))
            for key, _ in received:
                assert key is not None
                assert queue.done(key) == []
                found.append(key)
        found += [key for key, _ in queue.pass_time(0.05)]
        assert Counter(found) == Counter(f"k{number}" for number in range(1000))
        check_structure(queue.queue)

    @pytest.mark.parametrize("seed", range(3))
    def test_pq_17_priority_lock_and_depth_hold(self, seed: int) -> None:
        """Ten thousand random adds and a hundred workers: each key comes at the highest priority since its last get,
        never to two workers, and no depth is ever below zero.
        """
        chance = random.Random(seed)
        queue = Driver(is_checking=False)
        highest: dict[str, int] = {}
        in_work: list[str] = []
        waiting = adds = 0
        while adds < 10_000 or in_work or highest:
            received: list[tuple[str | None, int]] = []
            if adds < 10_000 and chance.random() < 0.5:
                adds += 1
                key, priority = f"k{chance.randrange(300)}", chance.randrange(-10, 11)
                highest[key] = max(highest.get(key, -100), priority)
                # Delays above 100 ms are made 10 ms.
                delay = min(chance.randrange(-50, 200), 101)
                received += queue.add(key, after=0.010 if delay > 100 else delay / 1000, priority=priority)
            if in_work and chance.random() < 0.4:
                received += queue.done(in_work.pop(chance.randrange(len(in_work))))
            if waiting + len(in_work) < 100:
                waiting += 1
                one = queue.get()
                received += [] if one is None else [one]
            received += queue.pass_time(0.001)
            for got, priority in received:
                assert got is not None
                assert got not in in_work
                assert priority == highest.pop(got)
                in_work.append(got)
                waiting -= 1
            assert min(queue.depth.values(), default=0) >= 0
        check_structure(queue.queue)
        assert len(queue.queue) == 0

    @pytest.mark.parametrize("seed", range(50))
    def test_pq_28_all_loops_end_at_shutdown(self, seed: int) -> None:
        """Twenty loops that add at random priorities, get and give back are all told of the shutdown, once each."""
        chance = random.Random(seed)
        queue = PriorityQueue()
        idle = list(range(20))
        in_work: list[tuple[int, str]] = []
        for _ in range(chance.randrange(1, 200)):
            queue.add(0, AddOptions(priority=chance.randrange(-5, 6)), f"k{chance.randrange(10)}")
            if idle and chance.random() < 0.5:
                queue.get(0, idle.pop(chance.randrange(len(idle))))
            elif in_work:
                loop, key = in_work.pop(chance.randrange(len(in_work)))
                queue.done(0, key)
                idle.append(loop)
            for handoff in queue.handoffs:
                assert isinstance(handoff.waiter, int)
                assert handoff.key is not None
                in_work.append((handoff.waiter, handoff.key))
            queue.handoffs.clear()
            check_structure(queue)
        queue.shut_down(0)
        for loop in idle + [loop for loop, _ in in_work]:
            queue.get(0, loop)
        assert Counter(handoff.waiter for handoff in queue.handoffs) == Counter(range(20))
        assert {handoff.key for handoff in queue.handoffs} == {None}
        assert queue.waiters == 0
