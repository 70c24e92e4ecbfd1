"""The work loop of one controller: workers, what becomes of a reconcile, and its metrics.

A state machine over any work queue: the driver takes each hand-off to `begin`, runs the reconcile however it likes, and
brings the outcome to `finish` (research: controller-runtime 3.2, 3.3).
"""

from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from advisor.queueing.controlleroptions import StartupError
from advisor.queueing.metrics import MAX_PRIORITIES, DurationHistogram
from advisor.queueing.outcome import Failure, Outcome, Result
from advisor.queueing.types import AddOptions, Handoff, WorkQueue

__all__ = ["RECONCILE_BOUNDS_NS", "ControllerLoop", "ControllerMetrics", "Work"]

# Research: controller-runtime 4.1, in milliseconds.
_RECONCILE_BOUNDS_MS = (
    *(5, 10, 25, 50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 700, 800, 900),
    *(1000, 1250, 1500, 1750, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000),
    *(10_000, 15_000, 20_000, 25_000, 30_000, 40_000, 50_000, 60_000),
)
RECONCILE_BOUNDS_NS = tuple(bound * 1_000_000 for bound in _RECONCILE_BOUNDS_MS)


class ControllerMetrics:
    """Counters of one controller; all exist from the start with zeros (research: controller-runtime 3.1).

    Attributes:
        max_concurrent_reconciles: workers configured.
        active_workers: workers in a reconcile now.
        active_by_priority: the same by priority, which controller-runtime lacks; a priority stays at zero, as long
            as there are no more than `MAX_PRIORITIES`.
        succeeded, requeued, requeued_after: ended reconciles by result; the rest are `errors`.
        errors: failed reconciles; those terminal and panicked are among them.
        terminal_errors: failed and not retried.
        panics: broke down.
        timeouts: ended after their own deadline.
        reconcile_time: duration of the reconciles.
        handoff_lag: from hand-off to the start of the reconcile, which controller-runtime lacks.
    """

    __slots__ = (
        "active_by_priority",
        "active_workers",
        "errors",
        "handoff_lag",
        "max_concurrent_reconciles",
        "panics",
        "reconcile_time",
        "requeued",
        "requeued_after",
        "succeeded",
        "terminal_errors",
        "timeouts",
    )

    def __init__(self, max_concurrent_reconciles: int) -> None:
        self.max_concurrent_reconciles = max_concurrent_reconciles
        self.active_workers = 0
        self.active_by_priority: dict[int, int] = {}
        # Counted apart: the hash of an enum's member, which a dictionary needs, is written in Python.
        self.succeeded = 0
        self.requeued = 0
        self.requeued_after = 0
        self.errors = 0
        self.terminal_errors = 0
        self.panics = 0
        self.timeouts = 0
        self.reconcile_time = DurationHistogram(RECONCILE_BOUNDS_NS)
        self.handoff_lag = DurationHistogram()

    @property
    def reconciles(self) -> dict[Result, int]:
        """Ended reconciles by result."""
        return {
            Result.SUCCESS: self.succeeded,
            Result.ERROR: self.errors,
            Result.REQUEUE: self.requeued,
            Result.REQUEUE_AFTER: self.requeued_after,
        }


class Work(NamedTuple):
    """One reconcile in progress: who runs it, of what, at which priority, since when."""

    worker: int
    key: str
    priority: int
    began_ns: int


@lru_cache(maxsize=256)
def _options(after_ns: int, priority: int) -> AddOptions:
    """Options of a requeue; without a delay it is rate limited. The few that occur are made once."""
    return AddOptions(after_ns=after_ns, rate_limited=after_ns == 0, priority=priority)


class ControllerLoop:
    """The workers of one controller on its queue.

    Args:
        name: value of the `controller` label.
        queue: the controller's own queue.
        max_concurrent_reconciles: number of workers, at least 1.
    """

    def __init__(self, name: str, queue: WorkQueue, max_concurrent_reconciles: int = 1) -> None:
        if max_concurrent_reconciles < 1:
            raise ValueError(f"{name}: max_concurrent_reconciles is {max_concurrent_reconciles}, must be at least 1")
        self.name = name
        self.queue = queue
        self.metrics = ControllerMetrics(max_concurrent_reconciles)
        self.in_work: dict[int, Work] = {}
        self._has_started = False

    def start_workers(self, now_ns: int) -> None:
        """Let every worker line up, when the sources have synced and this replica leads.

        Raises:
            StartupError: called a second time.
        """
        if self._has_started:
            raise StartupError(f"{self.name}: workers started more than once")
        self._has_started = True
        for worker in range(self.metrics.max_concurrent_reconciles):
            self.queue.get(now_ns, worker)

    def begin(self, now_ns: int, handoff: Handoff, *, handed_out_ns: int | None = None) -> Work | None:
        """Start the reconcile of a hand-off; None when it says that the queue has ended and the worker goes home.

        Args:
            now_ns: when the worker starts.
            handoff: what the queue gave to one of these workers.
            handed_out_ns: when the queue gave it, if that is not now.
        """
        worker, key, priority = handoff
        if key is None:
            return None
        metrics = self.metrics
        metrics.active_workers += 1
        metrics.active_by_priority[priority] = metrics.active_by_priority.get(priority, 0) + 1
        if handed_out_ns is None:
            # No time is within the first bound.
            metrics.handoff_lag.buckets[0] += 1
        else:
            metrics.handoff_lag.observe(now_ns - handed_out_ns)
        # A third of the cost of Work(...), whose constructor is written in Python. This loop's waiters are numbers.
        work = tuple.__new__(Work, (worker, key, priority, now_ns))
        self.in_work[worker] = work  # type: ignore[index] # likewise
        return work

    def finish(self, now_ns: int, work: Work, outcome: Outcome) -> None:
        """End a reconcile: requeue, count, give the key back, and line up again.

        The requeue comes before the key is given back, so a key is never lost between the two.
        """
        # Unpacked: a field of a named tuple costs more than any other attribute. The same below.
        worker, _, _, began_ns = work
        self._requeue(now_ns, work, outcome)
        duration, time_ns = self.metrics.reconcile_time, now_ns - began_ns
        duration.buckets[bisect_left(duration.bounds_ns, time_ns)] += 1
        duration.sum_ns += time_ns
        self._leave(now_ns, work)
        # Also after the end of the queue: a classic one still hands out what it holds, and then sends workers home.
        self.queue.get(now_ns, worker)

    def abandon(self, now_ns: int, work: Work) -> None:
        """End a reconcile whose breakdown is not recovered: counted as a panic alone, and its worker is gone.

        controller-runtime's process dies here, before it decides on a requeue.
        """
        self.metrics.panics += 1
        self._leave(now_ns, work)

    def stop(self, now_ns: int) -> None:
        """Shut the queue down; workers in a reconcile finish it.

        With the priority queue they take no other; with the classic one they first empty it, as in controller-runtime.
        """
        self.queue.shut_down(now_ns)

    def _leave(self, now_ns: int, work: Work) -> None:
        metrics = self.metrics
        metrics.active_workers -= 1
        worker, key, priority, _ = work
        active = metrics.active_by_priority
        active[priority] = left = active[priority] - 1
        if not left and len(active) > MAX_PRIORITIES:
            del active[priority]
        del self.in_work[worker]
        self.queue.done(now_ns, key)

    def _requeue(self, now_ns: int, work: Work, outcome: Outcome) -> None:
        """Apply the outcome table of research: controller-runtime 3.3; the first row that matches decides."""
        metrics, queue = self.metrics, self.queue
        _, key, priority, _ = work
        if outcome.timed_out:
            metrics.timeouts += 1
        if outcome.priority is not None:
            priority = outcome.priority
        # In the order of `Outcome.result`.
        failure = outcome.failure
        if failure is not None:
            metrics.errors += 1
            metrics.panics += failure is Failure.PANIC
            metrics.terminal_errors += failure is Failure.TERMINAL
            if failure is not Failure.TERMINAL:
                queue.add(now_ns, _options(0, priority), key)
        elif outcome.requeue_after_ns > 0:
            metrics.requeued_after += 1
            queue.forget(key)
            queue.add(now_ns, _options(outcome.requeue_after_ns, priority), key)
        elif outcome.requeue:
            metrics.requeued += 1
            queue.add(now_ns, _options(0, priority), key)
        else:
            metrics.succeeded += 1
            queue.forget(key)
