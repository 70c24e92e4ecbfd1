"""The priority queue against one that looks through a list each time, and what always holds, on random operations."""

from collections import Counter
from itertools import pairwise
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from advisor.queueing.metrics import DURATION_BOUNDS_NS, EXCEEDED_CARDINALITY_LIMIT, DurationHistogram
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_WAITING
from advisor.queueing.types import AddOptions
from tests.queueing.driving import MILLISECOND, Driver, check_structure
from tests.queueing.naivequeue import NaiveQueue

FEW_PRIORITIES: Final = (None, -100, 0, 5, 10)
KEYS: Final = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=3)
DELAYS_MS: Final = (0, 0, 1, 2, 3, 5, 8, 40, -1)


def options(priorities: st.SearchStrategy[int | None]) -> st.SearchStrategy[AddOptions]:
    """Options of an add, with delays that often end together."""
    delays = st.sampled_from(DELAYS_MS).map(lambda milliseconds: milliseconds * MILLISECOND)
    return st.builds(AddOptions, after_ns=delays, rate_limited=st.booleans(), priority=priorities)


def histogram(durations: list[int]) -> tuple[list[int], int]:
    """Counts per bucket and the sum of durations."""
    bounds = (-1, *DURATION_BOUNDS_NS, 10**30)
    buckets = [sum(low < each <= high for each in durations) for low, high in pairwise(bounds)]
    return buckets, sum(durations)


def content(found: DurationHistogram) -> tuple[list[int], int]:
    """The same of a histogram."""
    return found.buckets, found.sum_ns


class Comparison(RuleBasedStateMachine):
    """Both queues do the same, and what was added and handed out is noted apart from them."""

    priorities: st.SearchStrategy[int | None] = st.sampled_from(FEW_PRIORITIES)

    def __init__(self) -> None:
        super().__init__()
        self.queue = PriorityQueue()
        self.naive = NaiveQueue()
        self.now_ns = 0
        self.steps = 0
        self.waiters = 0
        self.in_work: list[str] = []
        self.highest: dict[str, int] = {}

    def note(self, added: AddOptions, keys: list[str]) -> None:
        """Keep the highest priority of each key since its last hand-off."""
        if not self.queue.is_shut_down:
            for key in keys:
                self.highest[key] = max(self.highest.get(key, -1000), added.priority or 0)

    @rule(added=st.data(), keys=KEYS)
    def add(self, added: st.DataObject, keys: list[str]) -> None:
        """Add keys."""
        chosen = added.draw(options(self.priorities))
        self.note(chosen, keys)
        self.queue.add(self.now_ns, chosen, *keys)
        self.naive.add(self.now_ns, chosen, *keys)

    @rule(added=st.data(), keys=KEYS)
    def buffer(self, added: st.DataObject, keys: list[str]) -> None:
        """Buffer an add of keys; both apply it with the next operation."""
        chosen = added.draw(options(self.priorities))
        self.note(chosen, keys)
        self.queue.buffer(chosen, *keys)
        self.naive.buffer(chosen, *keys)

    @precondition(lambda self: self.queue.waiters < 4)
    @rule(number=st.integers(1, 2))
    def get(self, number: int) -> None:
        """Let one or two more wait."""
        for _ in range(number):
            self.waiters += 1
            self.queue.get(self.now_ns, self.waiters)
            self.naive.get(self.now_ns, self.waiters)

    @precondition(lambda self: self.in_work)
    @rule(which=st.integers(0, 100))
    def done(self, which: int) -> None:
        """Give back a key in work."""
        key = self.in_work.pop(which % len(self.in_work))
        self.queue.done(self.now_ns, key)
        self.naive.done(self.now_ns, key)

    @rule(key=st.sampled_from("abxy"))
    def done_of_any(self, key: str) -> None:
        """Give back a key that may not be in work."""
        self.in_work = [each for each in self.in_work if each != key]
        self.queue.done(self.now_ns, key)
        self.naive.done(self.now_ns, key)

    @rule(key=st.sampled_from("abcdefg"))
    def forget(self, key: str) -> None:
        """Forget a key's failures, those buffered excepted."""
        assert self.queue.num_requeues(key) == self.naive.failures.count(key)
        self.queue.forget(key)
        self.naive.forget(key)

    @rule(milliseconds=st.sampled_from((0, 1, 2, 3, 5, 20)), is_late=st.booleans())
    def pass_time(self, milliseconds: int, is_late: bool) -> None:
        """Let time pass, with a tick at each deadline or none at all."""
        end_ns = self.now_ns + milliseconds * MILLISECOND
        while not is_late and (due_ns := self.queue.next_deadline_ns()) is not None and due_ns <= end_ns:
            self.now_ns = max(due_ns, self.now_ns)
            self.tick()
        self.now_ns = end_ns

    @rule()
    def tick(self) -> None:
        """Do what is due."""
        self.queue.tick(self.now_ns)
        self.naive.tick(self.now_ns)

    @precondition(lambda self: self.steps > 35)
    @rule()
    def shut_down(self) -> None:
        """End both."""
        self.queue.shut_down(self.now_ns)
        self.naive.shut_down()

    @invariant()
    def hands_out_the_same(self) -> None:
        """Both give the same keys to the same waiters in the same order, each at the highest priority it was added at,
        and no key to two workers.
        """
        self.steps += 1
        assert list(self.queue.handoffs) == self.naive.handed_out
        for _, key, priority in self.queue.handoffs:
            if key is not None:
                assert key not in self.in_work
                assert priority == self.highest.pop(key)
                self.in_work.append(key)
        self.queue.handoffs.clear()
        self.naive.handed_out.clear()

    @invariant()
    def holds_the_same(self) -> None:
        """Both have the same keys pending in the same places, and nothing that was added is lost before shutdown."""
        found = {
            record.key: (record.priority, record.ready_at_ns, record.reason.name)
            if record.place == PLACE_WAITING
            else (record.priority, None, record.ready_since_ns)
            for record in self.queue.pending()
        }
        assert found == {
            item.key: (item.priority, item.ready_at, item.why if item.ready_at is not None else item.ready_since)
            for item in self.naive.items
        }
        assert len(self.queue) == len(self.naive.ready())
        assert self.queue.next_deadline_ns() == self.naive.deadline()
        assert self.queue.started_ns == dict(self.naive.locked)
        assert self.queue.waiters == len(self.naive.waiters)
        if not self.queue.is_shut_down:
            buffered = {key for _, keys in self.naive.buffered for key in keys}
            assert self.highest.keys() == found.keys() | buffered

    @invariant()
    def counts_the_same(self) -> None:
        """All metrics are equal, and below the cap no depth is negative and each is what is ready at its priority."""
        found, wanted = self.queue.metrics, self.naive.metrics
        assert found.depth == wanted.depth
        assert {label: one.adds for label, one in found.by_priority.items() if one.adds} == wanted.adds
        assert {label: one.gets for label, one in found.by_priority.items() if one.gets} == wanted.gets
        assert {label: one.queue_ns for label, one in found.by_priority.items() if one.gets} == wanted.waited
        assert (found.adds, found.gets) == (sum(wanted.adds.values()), sum(wanted.gets.values()))
        assert found.retries == wanted.retries
        assert content(found.queue_duration) == histogram(wanted.queue_durations)
        assert content(found.work_duration) == histogram(wanted.work_durations)
        assert (found.deduplicated_adds, found.discarded_delays) == (wanted.deduplicated, wanted.discarded)
        assert sum(found.depth.values()) == len(self.queue)
        if EXCEEDED_CARDINALITY_LIMIT not in found.depth:
            assert Counter(found.depth) == Counter(item.priority for item in self.naive.ready())
            assert min(found.depth.values(), default=0) >= 0

    @invariant()
    def stands_in_order(self) -> None:
        """Each record stands once where it belongs, and nobody waits while an unlocked key is ready."""
        check_structure(self.queue)


class ComparisonBeyondTheCap(Comparison):
    """The same with more priorities than have a series of their own."""

    priorities: st.SearchStrategy[int | None] = st.integers(-20, 20)


TestComparison = Comparison.TestCase
TestComparison.settings = settings(max_examples=80, stateful_step_count=60)
TestComparisonBeyondTheCap = ComparisonBeyondTheCap.TestCase
TestComparisonBeyondTheCap.settings = settings(max_examples=30, stateful_step_count=120)

DISTINCT_KEYS: Final = st.lists(st.sampled_from("abcdefghij"), max_size=10, unique=True)
ADDS: Final = st.lists(st.tuples(options(st.sampled_from(FEW_PRIORITIES)), KEYS, st.integers(0, 3)), max_size=12)
Adds = list[tuple[AddOptions, list[str], int]]


def filled(adds: Adds) -> Driver:
    """A queue with some adds and some milliseconds after each."""
    driver = Driver()
    for added, keys, milliseconds in adds:
        driver.queue.add(driver.now_ns, added, *keys)
        driver.pass_time(milliseconds / 1000)
    return driver


def counts(driver: Driver) -> tuple[object, ...]:
    """What was counted without regard to time."""
    metrics = driver.queue.metrics
    return metrics.depth, metrics.adds, metrics.gets, metrics.retries, metrics.deduplicated_adds


class TestSimultaneous:
    """Where several things happen at one time, or a tick comes late, the same keys are handed out."""

    @given(adds=ADDS, then=options(st.sampled_from(FEW_PRIORITIES)), keys=KEYS)
    def test_a_tick_before_an_operation_changes_nothing_where_nobody_waits(
        self, adds: Adds, then: AddOptions, keys: list[str]
    ) -> None:
        """An operation lets end what is due, so whether there was a tick at the same time is all one."""
        drivers = [filled(adds) for _ in range(2)]
        for driver in drivers:
            driver.now_ns = driver.queue.next_deadline_ns() or driver.now_ns
        drivers[0].queue.tick(drivers[0].now_ns)
        for driver in drivers:
            driver.queue.add(driver.now_ns, then, *keys)
        assert counts(drivers[0]) == counts(drivers[1])
        assert drivers[0].drain() == drivers[1].drain()
        assert drivers[0].queue.next_deadline_ns() == drivers[1].queue.next_deadline_ns()

    @given(adds=ADDS)
    def test_one_late_tick_does_what_ticks_in_time_do(self, adds: Adds) -> None:
        """Delays end in their order whether each has its tick or all have one, and the same keys follow each other."""
        in_time, late = filled(adds), filled(adds)
        in_time.pass_time(1)
        late.jump(1)
        assert counts(in_time) == counts(late)
        assert in_time.drain() == late.drain()

    @given(adds=ADDS)
    def test_a_late_tick_hands_out_the_same_set(self, adds: Adds) -> None:
        """With a waiter for each key, one late tick hands out what ticks in time do, though not in the same order."""
        in_time, late = filled(adds), filled(adds)
        for driver in (in_time, late):
            for waiter in range(10):
                driver.queue.get(driver.now_ns, waiter)
        assert in_time.answers() == late.answers()
        assert Counter(in_time.pass_time(1)) == Counter(late.jump(1))

    @given(delayed=DISTINCT_KEYS, added=DISTINCT_KEYS, priorities=st.lists(st.sampled_from((-100, 0, 5)), min_size=20))
    def test_order_of_tick_and_add_does_not_matter(
        self, delayed: list[str], added: list[str], priorities: list[int]
    ) -> None:
        """Whether at one time delays end first or other keys are added first, waiters enough for all get the same."""
        found = []
        for is_tick_first in (True, False):
            driver = Driver()
            for key, priority in zip(delayed, priorities, strict=False):
                driver.add("d" + key, after=1, priority=priority)
            for waiter in range(20):
                driver.get(waiter)
            driver.now_ns += 1000 * MILLISECOND
            if is_tick_first:
                driver.queue.tick(driver.now_ns)
            for key, priority in zip(added, reversed(priorities), strict=False):
                driver.queue.add(driver.now_ns, AddOptions(priority=priority), "a" + key)
            driver.queue.tick(driver.now_ns)
            found.append((Counter(driver.answers()), counts(driver)))
        assert found[0] == found[1]
