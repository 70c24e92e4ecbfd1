"""Records that move leave entries behind in the orders; these are bounded by what is pending."""

import gc
import tracemalloc

from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.types import IMMEDIATE, AddOptions
from tests.queueing.driving import MILLISECOND, SECOND, check_structure, entries

MOVES = 100_000
HOUR = 3600 * SECOND
LOW = AddOptions(priority=-100)


def bound(queue: PriorityQueue) -> int:
    """As many entries as there may be: twice the records of each order, and a little."""
    orders = len(queue._ready._lanes) + 1
    return 2 * len(queue.pending()) + 33 * orders


def check_bound(queue: PriorityQueue) -> None:
    """The orders are no larger than what is pending allows."""
    assert entries(queue) <= bound(queue)


def run_one(queue: PriorityQueue, now_ns: int) -> str:
    """Get the next key and give it back."""
    queue.get(now_ns, "worker")
    key = queue.handoffs.popleft().key
    assert key is not None
    queue.done(now_ns, key)
    return key


class TestBounded:
    def test_raises_out_of_a_lane_that_is_never_served(self) -> None:
        """A key at -100 that is never got does not collect those that were raised away from beside it."""
        queue = PriorityQueue()
        queue.add(0, LOW, "starved")
        for _ in range(MOVES):
            queue.add(0, LOW, "k")
            queue.add(0, IMMEDIATE, "k")
            assert run_one(queue, 0) == "k"
        check_bound(queue)
        assert [record.key for record in queue.pending()] == ["starved"]

    def test_raises_out_of_an_old_place(self) -> None:
        """Nor where the raised key had kept a place from before."""
        queue = PriorityQueue()
        queue.add(0, LOW, "starved")
        for _ in range(MOVES // 2):
            queue.add(0, AddOptions(after_ns=HOUR, priority=-100), "k")
            queue.add(0, LOW, "newer")
            queue.add(0, LOW, "k")
            queue.add(0, IMMEDIATE, "k", "newer")
            assert {run_one(queue, 0), run_one(queue, 0)} == {"k", "newer"}
        check_bound(queue)

    def test_one_key_raised_ever_higher(self) -> None:
        """A key that takes 100 000 priorities in turn stands at one."""
        queue = PriorityQueue()
        for priority in range(MOVES):
            queue.add(0, AddOptions(priority=priority), "k")
        check_bound(queue)
        assert len(queue._ready._lanes) == 1

    def test_delays_that_are_cut_short(self) -> None:
        """A periodic requeue that an event always overtakes leaves nothing behind, though another key waits on."""
        queue = PriorityQueue()
        queue.add(0, AddOptions(after_ns=2 * HOUR), "waits on")
        for _ in range(MOVES):
            queue.add(0, AddOptions(after_ns=HOUR), "k")
            queue.add(0, IMMEDIATE, "k")
            assert run_one(queue, 0) == "k"
        check_bound(queue)

    def test_delays_that_get_ever_shorter(self) -> None:
        """A waiting key that moves 100 000 times stands once."""
        queue = PriorityQueue()
        queue.add(0, AddOptions(after_ns=1), "first")
        for number in range(MOVES):
            queue.add(0, AddOptions(after_ns=HOUR - number), "k")
        check_bound(queue)

    def test_waiting_key_raised_ever_higher(self) -> None:
        """Nor does a waiting key that is raised 100 000 times leave more than a little behind."""
        queue = PriorityQueue()
        queue.add(0, AddOptions(after_ns=1), "first")
        for priority in range(MOVES):
            queue.add(0, AddOptions(after_ns=HOUR, priority=priority), "k")
        check_bound(queue)

    def test_lane_whose_head_stays_after_many_have_left(self) -> None:
        """Where most of a lane has been served or raised away, what stays does not hold the rest in memory."""
        queue = PriorityQueue()
        queue.add(0, LOW, *(f"k{number}" for number in range(10_000)))
        queue.add(0, IMMEDIATE, *(f"k{number}" for number in range(5_000, 10_000)))
        for _ in range(9_999):
            run_one(queue, 0)
        check_bound(queue)
        check_structure(queue)

    def test_short_delays_while_old_long_ones_are_left_over(self) -> None:
        """Entries of long delays that were cut short go, also where only short delays come and end."""
        queue = PriorityQueue()
        keys = [f"k{number}" for number in range(10_000)]
        queue.add(0, AddOptions(after_ns=HOUR), *keys)
        queue.add(0, AddOptions(after_ns=SECOND), *keys)
        queue.add(0, AddOptions(after_ns=2 * SECOND), "ahead")
        queue.tick(SECOND)
        for _ in keys:
            run_one(queue, SECOND)
        check_bound(queue)
        check_structure(queue)


def test_memory_does_not_grow() -> None:
    """30 000 rounds of adds, raises, delays and runs of few keys take no memory that stays."""
    queue = PriorityQueue()
    queue.add(0, LOW, "starved")

    def rounds(first: int, last: int) -> None:
        for number in range(first, last):
            key, now_ns = f"k{number % 3}", number * MILLISECOND
            queue.add(now_ns, AddOptions(after_ns=HOUR, priority=-100), key)
            queue.add(now_ns, AddOptions(after_ns=SECOND), key)
            queue.add(now_ns, IMMEDIATE, key)
            assert run_one(queue, now_ns) == key

    tracemalloc.start()
    try:
        rounds(0, 2_000)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        rounds(2_000, 32_000)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000
