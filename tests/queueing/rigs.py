"""A controller loop in virtual time, on a queue that notes what is asked of it."""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.outcome import (
    Failure,
    Outcome,
)
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.types import AddOptions, Handoff

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
ERROR = Outcome(failure=Failure.RETRIABLE)
TERMINAL = Outcome(failure=Failure.TERMINAL)
REQUEUE = Outcome(requeue=True)

Queue = PriorityQueue | ClassicQueue


class Recorder:
    """A queue that notes what the loop asks of it."""

    def __init__(self, queue: Queue) -> None:
        self.inner = queue
        self.calls: list[str | AddOptions] = []

    @property
    def handoffs(self) -> deque[Handoff]:
        """Those of the queue."""
        return self.inner.handoffs

    @handoffs.setter
    def handoffs(self, value: deque[Handoff]) -> None:
        self.inner.handoffs = value

    @property
    def metrics(self) -> QueueMetrics:
        """Those of the queue."""
        return self.inner.metrics

    @metrics.setter
    def metrics(self, value: QueueMetrics) -> None:
        self.inner.metrics = value

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Note and pass on."""
        self.calls.append(options)
        self.inner.add(now_ns, options, *keys)

    def get(self, now_ns: int, waiter: Hashable) -> None:
        """Note and pass on."""
        self.calls.append("get")
        self.inner.get(now_ns, waiter)

    def done(self, now_ns: int, key: str) -> None:
        """Note and pass on."""
        self.calls.append("done")
        self.inner.done(now_ns, key)

    def forget(self, key: str) -> None:
        """Note and pass on."""
        self.calls.append("forget")
        self.inner.forget(key)

    def num_requeues(self, key: str) -> int:
        """Pass on."""
        return self.inner.num_requeues(key)

    def tick(self, now_ns: int) -> None:
        """Pass on."""
        self.inner.tick(now_ns)

    def next_deadline_ns(self) -> int | None:
        """Pass on."""
        return self.inner.next_deadline_ns()

    def shut_down(self, now_ns: int) -> None:
        """Pass on."""
        self.inner.shut_down(now_ns)

    def __len__(self) -> int:
        return len(self.inner)


@dataclass
class Rig:
    """A loop in virtual time."""

    queue: Recorder
    workers: int = 1
    now_ns: int = 0
    home: list[Hashable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = ControllerLoop("raycluster", self.queue, self.workers)

    def start(self) -> None:
        """Let the workers line up."""
        self.loop.start_workers(self.now_ns)

    def add(self, *keys: str, priority: int | None = None) -> None:
        """Add from outside, which is not among the noted calls."""
        self.queue.inner.add(self.now_ns, AddOptions(priority=priority), *keys)

    def begin_all(self) -> list[Work]:
        """Begin every hand-off there is."""
        begun = []
        while self.queue.handoffs:
            handoff = self.queue.handoffs.popleft()
            work = self.loop.begin(self.now_ns, handoff)
            if work is None:
                self.home.append(handoff.waiter)
            else:
                begun.append(work)
        return begun

    def begin(self) -> Work:
        """Begin the only hand-off there is."""
        (work,) = self.begin_all()
        return work

    def end(self, work: Work, outcome: Outcome, *, took_ns: int = 0) -> list[str | AddOptions]:
        """End a reconcile; what the loop asked of the queue meanwhile."""
        self.now_ns += took_ns
        self.queue.calls.clear()
        self.loop.finish(self.now_ns, work, outcome)
        return list(self.queue.calls)

    def run(self, outcome: Outcome) -> list[str | AddOptions]:
        """Take the only hand-off through a reconcile."""
        return self.end(self.begin(), outcome)

    def wait(self) -> int:
        """Go on to the next deadline; how long that took."""
        deadline_ns = self.queue.next_deadline_ns()
        assert deadline_ns is not None
        waited_ns, self.now_ns = deadline_ns - self.now_ns, deadline_ns
        self.queue.tick(self.now_ns)
        return waited_ns

    @property
    def counted(self) -> dict[str, int]:
        """Ended reconciles by result, without zeros."""
        return {result.value: count for result, count in self.loop.metrics.reconciles.items() if count}


def rate_limited(priority: int = 0) -> AddOptions:
    """The add after an error or a requeue."""
    return AddOptions(rate_limited=True, priority=priority)


def after(nanoseconds: int, priority: int = 0) -> AddOptions:
    """The add after a requeue with a duration."""
    return AddOptions(after_ns=nanoseconds, priority=priority)
