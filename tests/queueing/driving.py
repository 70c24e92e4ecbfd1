"""A priority queue together with a clock, as tests drive it, and what has to hold in it after every operation."""

from collections.abc import Hashable
from typing import Final

from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_BLOCKED, PLACE_READY, PLACE_WAITING, ReadyOrder, Record, WaitingOrder
from advisor.queueing.types import AddOptions, RetryLimiter

__all__ = ["MILLISECOND", "SECOND", "Driver", "FixedLimiter", "check_structure", "entries", "nanoseconds"]

SECOND: Final = 1_000_000_000
MILLISECOND: Final = 1_000_000


def nanoseconds(seconds: float) -> int:
    """Seconds as the queue counts them."""
    return round(seconds * SECOND)


class Driver:
    """Does one operation after the other at a time of its own, and checks the queue after each.

    Attributes:
        queue: the queue.
        now_ns: the time.
        armed_ns: how long a timer for the next deadline would have run, whenever that deadline changed.
        is_checking: whether the whole structure is checked after each operation, which takes O(n).
    """

    def __init__(self, limiter: RetryLimiter | None = None, *, is_checking: bool = True) -> None:
        self.queue = PriorityQueue(limiter)
        self.now_ns = 0
        self.armed_ns: list[int] = []
        self.is_checking = is_checking
        self._deadline_ns: int | None = None

    def add(
        self, *keys: str, after: float = 0.0, priority: int | None = None, rate_limited: bool = False
    ) -> list[tuple[str | None, int]]:
        """Add keys; what waiters received."""
        options = AddOptions(after_ns=nanoseconds(after), rate_limited=rate_limited, priority=priority)
        self.queue.add(self.now_ns, options, *keys)
        return self.answers()

    def get(self, waiter: Hashable = "worker") -> tuple[str | None, int] | None:
        """Line up; the key and its priority if there is an answer at once."""
        self.queue.get(self.now_ns, waiter)
        found = self.answers()
        assert len(found) <= 1
        return found[0] if found else None

    def done(self, key: str) -> list[tuple[str | None, int]]:
        """Give a key back; what waiters received."""
        self.queue.done(self.now_ns, key)
        return self.answers()

    def run(self) -> tuple[str | None, int] | None:
        """Get a key and give it back."""
        found = self.get()
        if found is not None and found[0] is not None:
            assert self.done(found[0]) == []
        return found

    def drain(self) -> list[tuple[str | None, int]]:
        """Get what may be handed out, key by key, and give it back."""
        found = []
        while len(self.queue) > self.queue.blocked:
            one = self.run()
            assert one is not None
            found.append(one)
        return found

    def pass_time(self, seconds: float) -> list[tuple[str | None, int]]:
        """Let time pass, with a tick at each deadline; what waiters received."""
        end_ns = self.now_ns + nanoseconds(seconds)
        found = []
        while (due_ns := self.queue.next_deadline_ns()) is not None and due_ns <= end_ns:
            self.now_ns = due_ns
            self.queue.tick(due_ns)
            found += self.answers()
        self.now_ns = end_ns
        self._watch_deadline()
        return found

    def jump(self, seconds: float) -> list[tuple[str | None, int]]:
        """Move the clock on at once, with one tick afterwards; what waiters received."""
        self.now_ns += nanoseconds(seconds)
        self.queue.tick(self.now_ns)
        return self.answers()

    def shut_down(self) -> list[tuple[str | None, int]]:
        """Shut down; what waiters received."""
        self.queue.shut_down(self.now_ns)
        return self.answers()

    def answers(self) -> list[tuple[str | None, int]]:
        """Key and priority of the hand-offs since the last call."""
        found = [(handoff.key, handoff.priority) for handoff in self.queue.handoffs]
        self.queue.handoffs.clear()
        self._watch_deadline()
        if self.is_checking:
            check_structure(self.queue)
        return found

    @property
    def depth(self) -> dict[int | str, int]:
        """The depth gauge by priority."""
        return self.queue.metrics.depth

    @property
    def counted(self) -> tuple[int, int]:
        """Values of adds_total and retries_total."""
        return self.queue.metrics.adds, self.queue.metrics.retries

    def _watch_deadline(self) -> None:
        deadline_ns = self.queue.next_deadline_ns()
        if deadline_ns is not None and deadline_ns != self._deadline_ns:
            assert deadline_ns > self.now_ns, "a timer is only set for a time to come"
            self.armed_ns.append(deadline_ns - self.now_ns)
        self._deadline_ns = deadline_ns


class FixedLimiter:
    """A limiter with one delay for all."""

    def __init__(self, delay_ns: int) -> None:
        self.delay_ns = delay_ns
        self.asked: list[tuple[int, str]] = []

    def when_ns(self, now_ns: int, key: str) -> int:
        """The delay."""
        self.asked.append((now_ns, key))
        return self.delay_ns

    def forget(self, key: str) -> None:
        """Forget the key's questions."""
        self.asked = [each for each in self.asked if each[1] != key]

    def num_requeues(self, key: str) -> int:
        """How often the key was asked for."""
        return sum(1 for _, asked in self.asked if asked == key)


def check_structure(queue: PriorityQueue) -> None:
    """Each pending record stands exactly once where it belongs, and all counts agree with that."""
    places: dict[int, list[Record]] = {PLACE_READY: [], PLACE_WAITING: [], PLACE_BLOCKED: []}
    for record in queue.pending():
        places[record.place].append(record)
    ready, waiting, blocked = places[PLACE_READY], places[PLACE_WAITING], places[PLACE_BLOCKED]
    assert len(queue) == len(ready) + len(blocked)
    assert queue.blocked == len(blocked)
    assert len({record.sequence for record in queue.pending()}) == len(queue.pending())
    assert all(record.key in queue.started_ns for record in blocked)
    if not queue.is_shut_down:
        assert all(record.key not in queue.started_ns for record in ready)
        assert not (ready and queue.waiters), "at rest nobody waits while a key may be handed out"
    _check_ready(queue._ready, ready)
    _check_waiting(queue._waiting, waiting)


def _check_ready(order: ReadyOrder, ready: list[Record]) -> None:
    assert order.live == len(ready)
    assert sorted(order._lanes) == [-negated for negated in reversed(order._negated_priorities)]
    found: list[Record] = []
    for priority, lane in order._lanes.items():
        line = [each for each in lane.line if each.place == PLACE_READY and each.priority == priority]
        early = [each for _, each in lane.early if each.place == PLACE_READY and each.priority == priority]
        sequences = [record.sequence for record in line]
        assert sequences == sorted(sequences)
        assert lane.live == len(line) + len(early)
        found += line + early
    assert {id(record) for record in found} == {id(record) for record in ready}
    assert len(found) == len(ready)


def _check_waiting(order: WaitingOrder, waiting: list[Record]) -> None:
    assert order.live == len(waiting)
    wanted = sorted((record.ready_at_ns, -record.priority, record.sequence) for record in waiting)
    found = sorted(
        entry[:3]
        for entry in order._heap
        if entry[3].place == PLACE_WAITING
        and entry[:3] == (entry[3].ready_at_ns, -entry[3].priority, entry[3].sequence)
    )
    assert found == wanted


def entries(queue: PriorityQueue) -> int:
    """Entries of all orders, those left behind by records that moved included."""
    lanes = queue._ready._lanes.values()
    return sum(len(lane.line) + len(lane.early) for lane in lanes) + len(queue._waiting._heap)
