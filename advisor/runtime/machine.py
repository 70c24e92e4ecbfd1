"""A controller loop and its queue behind one lock: the only place where threads meet the state machines.

An add from any thread is noted without the lock. It is applied by whoever has the lock next: the adding thread itself
if the lock is free, else the thread that holds it, which looks again after it has let go. So no add waits for another
thread, and none is left behind.
"""

import threading
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Protocol

from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.metrics import UNFINISHED_WORK_PERIOD_NS
from advisor.queueing.outcome import Outcome
from advisor.queueing.topkeys import TopKeys
from advisor.queueing.types import NANOSECONDS_PER_SECOND, AddOptions, Handoff, WorkQueue
from advisor.runtime.context import Clock

__all__ = ["DrivenQueue", "Machine"]


class DrivenQueue(WorkQueue, Protocol):
    """A work queue with the refresh of its gauges, which in real time is due every 500 ms."""

    def refresh_unfinished(self, now_ns: int) -> None:
        """Refresh the two gauges of unfinished work."""
        ...


class Machine:
    """The state machines of one controller, driven by threads.

    Args:
        name: the controller's name.
        queue: its queue; nothing else may use it from now on.
        workers: number of workers.
        clock: the time.
        top_keys: how many keys have their work time counted.

    Attributes:
        loop: the controller loop; to be touched inside `locked` only.
        queue: its queue; the same.
        top: keys by work time; the same.
    """

    def __init__(self, name: str, queue: DrivenQueue, workers: int, clock: Clock, top_keys: int) -> None:
        self.loop = ControllerLoop(name, queue, workers)
        self.queue = queue
        self.top = TopKeys(top_keys)
        self._clock = clock
        self._lock = threading.Lock()
        self._adds: deque[tuple[AddOptions, tuple[str, ...]]] = deque()
        self._inboxes: dict[Hashable, SimpleQueue[tuple[Handoff, int]]] = {
            worker: SimpleQueue() for worker in range(workers)
        }
        # Not an event: a put is safe in a signal handler, whatever the interrupted thread holds.
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._sleeps_until_ns: int | None = None
        self._refresh_ns: int | None = None

    @contextmanager
    def locked(self) -> Iterator[int]:
        """The lock, and the time as of which the state machines stand; all adds noted before have been applied."""
        try:
            with self._lock:
                now_ns = self._clock()
                self._apply_adds(now_ns)
                try:
                    yield now_ns
                finally:
                    self._settle(now_ns)
        finally:
            self._flush()

    def add(self, options: AddOptions, keys: tuple[str, ...]) -> None:
        """Add keys, from any thread; a delay counts from when the add is applied."""
        self._adds.append((options, keys))
        self._flush()

    def next_work(self, worker: int) -> Work | None:
        """Wait for the next key of a worker and begin it; None when the worker is to go home."""
        handoff, handed_out_ns = self._inboxes[worker].get()
        with self.locked() as now_ns:
            return self.loop.begin(now_ns, handoff, handed_out_ns=handed_out_ns)

    def finish(self, work: Work, outcome: Outcome) -> None:
        """End a reconcile."""
        with self.locked() as now_ns:
            self.top.add(work.key, now_ns - work.began_ns, failed=outcome.failure is not None)
            self.loop.finish(now_ns, work, outcome)

    def abandon(self, work: Work) -> None:
        """End a reconcile that ends the driver too."""
        with self.locked() as now_ns:
            self.loop.abandon(now_ns, work)

    def keep_time(self, now_ns: int) -> None:
        """Do what is due; to be called inside `locked`."""
        self.queue.tick(now_ns)
        if self._refresh_ns is None or now_ns >= self._refresh_ns:
            self.queue.refresh_unfinished(now_ns)
            self._refresh_ns = now_ns + UNFINISHED_WORK_PERIOD_NS

    def wake(self) -> None:
        """End the timer's sleep; safe in a signal handler."""
        self._wakes.put(None)

    def sleep(self, *deadlines_ns: int | None) -> None:
        """Sleep until `wake`, the next deadline of the queue, the next refresh, or one of the deadlines given."""
        with self._lock:
            due = [self.queue.next_deadline_ns(), self._refresh_ns, *deadlines_ns]
            now_ns = self._clock()
            until_ns = min((each for each in due if each is not None), default=now_ns)
            # From here on an earlier deadline of the queue wakes the timer.
            self._sleeps_until_ns = until_ns
        self._flush()
        try:
            self._wakes.get(timeout=max(0, until_ns - now_ns) / NANOSECONDS_PER_SECOND)
            while True:
                self._wakes.get_nowait()
        except Empty:
            self._sleeps_until_ns = None

    def _flush(self) -> None:
        while self._adds and self._lock.acquire(blocking=False):
            try:
                now_ns = self._clock()
                self._apply_adds(now_ns)
                self._settle(now_ns)
            finally:
                self._lock.release()

    def _apply_adds(self, now_ns: int) -> None:
        adds = self._adds
        for _ in range(len(adds)):
            options, keys = adds.popleft()
            self.queue.add(now_ns, options, *keys)

    def _settle(self, now_ns: int) -> None:
        """Pass on what was handed out, and wake the timer if it would sleep too long."""
        handoffs = self.queue.handoffs
        while handoffs:
            handoff = handoffs.popleft()
            self._inboxes[handoff.waiter].put((handoff, now_ns))
        sleeps_until_ns = self._sleeps_until_ns
        if sleeps_until_ns is not None:
            due_ns = self.queue.next_deadline_ns()
            if due_ns is not None and due_ns < sleeps_until_ns:
                self._sleeps_until_ns = due_ns
                self._wakes.put(None)
