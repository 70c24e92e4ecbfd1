"""The shadow of a queue against the queue itself, on random operations of which the shadow is told."""

from typing import Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_WAITING
from advisor.queueing.retrylimiters import default_priority_limiter
from advisor.queueing.shadowqueue import ShadowQueue
from advisor.queueing.types import AddOptions
from tests.queueing.driving import MILLISECOND, check_structure

KEYS: Final = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=3)
DELAYS_MS: Final = (0, 0, 1, 2, 3, 5, 8, 40, -1)


def held(queue: PriorityQueue) -> dict[str, tuple[int, int, int]]:
    """Pending keys: where each stands, its priority, and since or until when."""
    return {
        one.key: (one.place, one.priority, one.ready_at_ns if one.place == PLACE_WAITING else one.ready_since_ns)
        for one in queue.pending()
    }


def counted(metrics: QueueMetrics) -> dict[str, object]:
    """All that is counted."""
    waits, works = metrics.queue_duration, metrics.work_duration
    return {
        "priorities": {
            label: (one.depth, one.adds, one.gets, one.queue_ns) for label, one in metrics.by_priority.items()
        },
        "retries": metrics.retries,
        "waits": (waits.buckets, waits.sum_ns),
        "works": (works.buckets, works.sum_ns),
        "merged": (metrics.deduplicated_adds, metrics.discarded_delays),
    }


class Shadowing(RuleBasedStateMachine):
    """The real queue hands out as it decides; the shadow is told adds, ends, and what went out."""

    priorities: st.SearchStrategy[int | None] = st.sampled_from((None, -100, 0, 5))

    def __init__(self) -> None:
        super().__init__()
        self.queue = PriorityQueue()
        self.shadow = ShadowQueue()
        self.now_ns = 0
        self.in_work: list[str] = []

    def tell(self) -> None:
        """Let the shadow take what was handed out."""
        while self.queue.handoffs:
            _, key, priority = self.queue.handoffs.popleft()
            assert key is not None
            taken = self.shadow.take(self.now_ns, key)
            assert taken is not None
            assert taken.priority == priority
            self.in_work.append(key)

    @rule(chosen=st.data(), keys=KEYS)
    def add(self, chosen: st.DataObject, keys: list[str]) -> None:
        """Add keys, with or without delay, back-off and priority."""
        options = AddOptions(
            after_ns=chosen.draw(st.sampled_from(DELAYS_MS)) * MILLISECOND,
            rate_limited=chosen.draw(st.booleans()),
            priority=chosen.draw(self.priorities),
        )
        self.queue.add(self.now_ns, options, *keys)
        self.shadow.add(self.now_ns, options, *keys)
        self.tell()

    @precondition(lambda self: self.queue.waiters < 3)
    @rule()
    def get(self) -> None:
        """Let a worker of the real queue line up."""
        self.queue.get(self.now_ns, "worker")
        self.shadow.tick(self.now_ns)
        self.tell()

    @precondition(lambda self: self.in_work)
    @rule(which=st.integers(0, 100), is_success=st.booleans())
    def done(self, which: int, is_success: bool) -> None:
        """Give back a key."""
        key = self.in_work.pop(which % len(self.in_work))
        for one in (self.queue, self.shadow):
            if is_success:
                one.forget(key)
            one.done(self.now_ns, key)
        self.tell()

    @rule(milliseconds=st.sampled_from((0, 1, 2, 5, 20)))
    def pass_time(self, milliseconds: int) -> None:
        """Let time pass and delays end."""
        self.now_ns += milliseconds * MILLISECOND
        self.queue.tick(self.now_ns)
        self.shadow.tick(self.now_ns)
        self.tell()

    @invariant()
    def holds_the_same(self) -> None:
        """The same keys are pending in the same places, and the same are in work."""
        assert held(self.shadow) == held(self.queue)
        assert self.shadow.started_ns == self.queue.started_ns
        assert (len(self.shadow), self.shadow.blocked) == (len(self.queue), self.queue.blocked)
        assert self.shadow.next_deadline_ns() == self.queue.next_deadline_ns()

    @invariant()
    def counts_the_same(self) -> None:
        """Depths, adds, hand-offs and waits by priority are equal, and all other metrics."""
        assert counted(self.shadow.metrics) == counted(self.queue.metrics)

    @invariant()
    def tells_what_it_holds(self) -> None:
        """What is ready, and what waits until when, is told as it is."""
        ready = {one.key: one.priority for one in self.shadow.ready()}
        for key in "abcdefg":
            place, priority, time_ns = held(self.queue).get(key, (None, None, None))
            assert self.shadow.pending_priority(key) == priority
            assert self.shadow.ready_priority(key) == (None if place == PLACE_WAITING else priority)
            assert self.shadow.ready_priority(key) == ready.get(key)
            assert self.shadow.waits_until_ns(key) == (time_ns if place == PLACE_WAITING else None)

    @invariant()
    def stands_in_order(self) -> None:
        """Each record of the shadow stands once where it belongs."""
        check_structure(self.shadow)


class ShadowingBeyondTheCap(Shadowing):
    """The same with more priorities than have a series of their own."""

    priorities: st.SearchStrategy[int | None] = st.integers(-20, 20)


class Losing(Shadowing):
    """The shadow loses records and starts over, as it does where both do not fit: it stays in order all the same."""

    def tell(self) -> None:
        """Take out what may not be there any more."""
        while self.queue.handoffs:
            _, key, _ = self.queue.handoffs.popleft()
            assert key is not None
            was_there = self.shadow.pending_priority(key) is not None
            assert (self.shadow.take(self.now_ns, key) is not None) is was_there
            self.in_work.append(key)

    @rule(which=st.integers(0, 100))
    def drop(self, which: int) -> None:
        """Drop any pending record."""
        if records := self.shadow.pending():
            self.shadow.drop(records[which % len(records)])

    @precondition(lambda self: self.in_work)
    @rule()
    def restart(self) -> None:
        """Start over."""
        self.shadow.restart(default_priority_limiter())

    @invariant()
    def holds_the_same(self) -> None:
        """Depths are those of what is ready, whatever was lost."""
        ready: dict[int | str, int] = {}
        for record in self.shadow.ready():
            ready[record.priority] = ready.get(record.priority, 0) + 1
        assert {label: depth for label, depth in self.shadow.metrics.depth.items() if depth} == ready
        assert sum(ready.values()) == len(self.shadow)

    @invariant()
    def counts_the_same(self) -> None:
        """What became ready was handed out, dropped, or is ready still."""
        assert self.shadow.metrics.adds >= self.shadow.metrics.gets + len(self.shadow)

    @invariant()
    def tells_what_it_holds(self) -> None:
        """No key is ready that is not pending."""
        assert {one.key for one in self.shadow.ready()} <= {one.key for one in self.shadow.pending()}


TestShadowing = Shadowing.TestCase
TestShadowing.settings = settings(max_examples=80, stateful_step_count=50)
TestShadowingBeyondTheCap = ShadowingBeyondTheCap.TestCase
TestShadowingBeyondTheCap.settings = settings(max_examples=20, stateful_step_count=100)
TestLosing = Losing.TestCase
TestLosing.settings = settings(max_examples=50, stateful_step_count=50)
