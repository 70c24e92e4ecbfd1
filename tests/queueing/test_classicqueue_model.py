from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.types import IMMEDIATE, AddOptions, Handoff

MILLISECOND = 1_000_000
RATE_LIMITED = AddOptions(rate_limited=True)


class NaiveQueue:
    """What the classic queue should do, by scanning lists."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.in_work: list[tuple[str, int]] = []
        self.aside: list[str] = []
        self.delays: list[tuple[int, str]] = []
        self.waiters: list[int] = []
        self.since: list[tuple[str, int]] = []
        self.ended = False
        self.answers: list[Handoff] = []
        self.adds = self.retries = self.queue_ns = self.work_ns = 0

    def ready(self, now_ns: int, key: str) -> None:
        """Add a key at once."""
        if self.ended or key in self.queued or key in self.aside:
            return
        self.adds += 1
        self.since.append((key, now_ns))
        (self.aside if key in [each for each, _ in self.in_work] else self.queued).append(key)

    def later(self, now_ns: int, delay_ns: int, key: str) -> None:
        """Add a key after a delay, or move its delay to an earlier end."""
        if self.ended:
            return
        self.retries += 1
        if delay_ns <= 0:
            self.ready(now_ns, key)
            return
        mine = [due_ns for due_ns, each in self.delays if each == key]
        self.delays = [one for one in self.delays if one[1] != key]
        self.delays.append((min([now_ns + delay_ns, *mine]), key))

    def due(self, now_ns: int) -> None:
        """Add what is due, earliest first, and serve waiters."""
        for due_ns, key in sorted(self.delays):
            if due_ns <= now_ns:
                self.delays.remove((due_ns, key))
                self.ready(now_ns, key)
        self.serve(now_ns)

    def serve(self, now_ns: int) -> None:
        """Match keys and waiters in order of arrival."""
        while self.waiters and (self.queued or self.ended):
            if not self.queued:
                self.answers.append(Handoff(self.waiters.pop(0), None, 0))
                continue
            key = self.queued.pop(0)
            self.queue_ns += sum(now_ns - since_ns for each, since_ns in self.since if each == key)
            self.since = [one for one in self.since if one[0] != key]
            self.in_work.append((key, now_ns))
            self.answers.append(Handoff(self.waiters.pop(0), key, 0))

    def done(self, now_ns: int, key: str) -> None:
        """Give back a key."""
        if key not in [each for each, _ in self.in_work]:
            return
        self.work_ns += sum(now_ns - began_ns for each, began_ns in self.in_work if each == key)
        self.in_work = [one for one in self.in_work if one[0] != key]
        if key in self.aside:
            self.aside.remove(key)
            self.queued.append(key)


class DistinctDelays:
    """A limiter whose delays never make two keys due at once, as ties have no order of their own."""

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self.asked = 0

    def unique_ns(self) -> int:
        """A few nanoseconds that no other delay has."""
        self.asked += 1
        return self.asked

    def when_ns(self, now_ns: int, key: str) -> int:
        """Double from 2 ms, plus a few nanoseconds."""
        self.failures[key] = self.failures.get(key, 0) + 1
        return (MILLISECOND << self.failures[key]) + self.unique_ns()

    def forget(self, key: str) -> None:
        """Drop the failures."""
        self.failures.pop(key, None)

    def num_requeues(self, key: str) -> int:
        """Failures since forgotten."""
        return self.failures.get(key, 0)


KEY = st.sampled_from(["a", "b", "c", "d", "e"])
KEYS = st.lists(KEY, max_size=4)


class Comparison(RuleBasedStateMachine):
    """Plays the same operations on the queue and on the naive one."""

    def __init__(self) -> None:
        super().__init__()
        self.limiter = DistinctDelays()
        self.queue = ClassicQueue(self.limiter)
        self.naive = NaiveQueue()
        self.now_ns = 0
        self.waiter = 0

    @rule(added=KEYS)
    def add(self, added: list[str]) -> None:
        """Keys are queued or dropped alike."""
        self.naive.due(self.now_ns)
        for key in added:
            self.naive.ready(self.now_ns, key)
            self.naive.serve(self.now_ns)
        self.queue.add(self.now_ns, IMMEDIATE, *added)

    @rule(key=KEY, delay=st.integers(-1, 5))
    def add_after(self, key: str, delay: int) -> None:
        """Delays begin alike, those of zero and less included."""
        delay_ns = delay * MILLISECOND + (self.limiter.unique_ns() if delay > 0 else 0)
        self.naive.due(self.now_ns)
        self.naive.later(self.now_ns, delay_ns, key)
        self.queue.add_after(self.now_ns, delay_ns, key)
        self.naive.serve(self.now_ns)

    @rule(added=KEYS)
    def add_rate_limited(self, added: list[str]) -> None:
        """Failures are counted and delayed alike."""
        failures, asked = dict(self.limiter.failures), self.limiter.asked
        self.naive.due(self.now_ns)
        for key in added:
            self.naive.later(self.now_ns, self.limiter.when_ns(self.now_ns, key), key)
        self.limiter.failures, self.limiter.asked = failures, asked
        self.queue.add(self.now_ns, RATE_LIMITED, *added)
        self.naive.serve(self.now_ns)

    @rule()
    def get(self) -> None:
        """Waiters line up alike."""
        self.waiter += 1
        self.naive.due(self.now_ns)
        self.naive.waiters.append(self.waiter)
        self.naive.serve(self.now_ns)
        self.queue.get(self.now_ns, self.waiter)

    @rule(key=KEY)
    def done(self, key: str) -> None:
        """Keys are given back alike, those that are not in work included."""
        self.naive.due(self.now_ns)
        self.naive.done(self.now_ns, key)
        self.naive.serve(self.now_ns)
        self.queue.done(self.now_ns, key)

    @rule(key=KEY)
    def forget(self, key: str) -> None:
        """Failures are dropped alike."""
        self.queue.forget(key)

    @rule(milliseconds=st.integers(0, 8))
    def late(self, milliseconds: int) -> None:
        """Time passes without a tick."""
        self.now_ns += milliseconds * MILLISECOND

    @rule()
    def next_tick(self) -> None:
        """Both know the same deadline, and tick then."""
        deadline_ns = self.queue.next_deadline_ns()
        assert deadline_ns == min((due_ns for due_ns, _ in self.naive.delays), default=None)
        # Times stay whole milliseconds, so that the distinct nanoseconds of delays keep all due times apart.
        self.now_ns = max(self.now_ns, -(-(deadline_ns or 0) // MILLISECOND) * MILLISECOND)
        self.naive.due(self.now_ns)
        self.queue.tick(self.now_ns)

    @rule(sure=st.integers(0, 9))
    def shut_down(self, sure: int) -> None:
        """Once in a while the queue is shut down."""
        if sure == 0:
            self.naive.due(self.now_ns)
            self.naive.ended = True
            self.naive.delays.clear()
            self.naive.serve(self.now_ns)
            self.queue.shut_down(self.now_ns)

    @invariant()
    def same_answers(self) -> None:
        """Who got what, in the same order."""
        assert list(self.queue.handoffs) == self.naive.answers

    @invariant()
    def same_state(self) -> None:
        """What is queued, held aside, delayed, in work."""
        queue, naive = self.queue, self.naive
        assert list(queue._queue) == naive.queued
        assert queue.blocked == len(naive.aside)
        assert queue.delayed == len(naive.delays)
        assert queue.waiters == len(naive.waiters)
        assert queue.started_ns == dict(naive.in_work)

    @invariant()
    def same_metrics(self) -> None:
        """What was counted."""
        metrics, naive = self.queue.metrics, self.naive
        assert (metrics.adds, metrics.retries) == (naive.adds, naive.retries)
        assert metrics.queue_duration.sum_ns == naive.queue_ns
        assert metrics.work_duration.sum_ns == naive.work_ns
        assert sum(metrics.depth.values()) == len(naive.queued) + len(naive.aside)

    @invariant()
    def nothing_queued_while_somebody_waits(self) -> None:
        """No waiter is left without a key that could be handed out."""
        assert not (len(self.queue) and self.queue.waiters)


TestComparison = Comparison.TestCase
