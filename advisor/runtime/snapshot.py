"""Everything that is counted of one controller, copied at one time (research: controller-runtime 1.6, 4.1 and 8.3)."""

from dataclasses import dataclass

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import ControllerLoop
from advisor.queueing.metrics import EXCEEDED_CARDINALITY_LIMIT
from advisor.queueing.outcome import Result
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_BLOCKED, PLACE_WAITING, DelayReason, Record
from advisor.queueing.topkeys import KeyLoad, TopKeys
from advisor.queueing.types import WorkQueue
from advisor.runtime.histogram import HistogramSnapshot

__all__ = ["UNKNOWN_REASON", "ControllerSnapshot", "KeysSnapshot", "PendingSnapshot", "PrioritySnapshot", "Waiting"]

UNKNOWN_REASON = ""
"""Why a key of the classic queue waits is not known."""


@dataclass(frozen=True, slots=True)
class PrioritySnapshot:
    """Counters of one value of the label `priority`, as `PriorityCounters`."""

    depth: int
    adds: int
    gets: int
    queue_ns: int


@dataclass(slots=True)
class Waiting:
    """Keys that wait for one reason: their number, and when the first of them is due; None if that is not known."""

    count: int = 0
    next_due_ns: int | None = None


@dataclass(frozen=True, slots=True)
class PendingSnapshot:
    """The keys that are pending, by label of their priority and by reason of waiting.

    Attributes:
        oldest_ready_ns: since when the oldest of the ready keys is ready; None where none is. Empty for the classic
            queue, which does not tell.
        blocked: ready keys that are held back because they are in work.
        waiting: waiting keys by reason.
    """

    oldest_ready_ns: dict[str, int | None]
    blocked: dict[str, int]
    waiting: dict[str, Waiting]


@dataclass(frozen=True, slots=True)
class KeysSnapshot:
    """Work time by key: the keys with a place, the totals of all keys, and how much any other key may have had."""

    loads: tuple[KeyLoad, ...]
    total_ns: int
    total_count: int
    total_failures: int
    error_ns: int


@dataclass(frozen=True, slots=True)
class ControllerSnapshot:
    """One controller and its queue at `now_ns`; attributes as in `ControllerMetrics` and `QueueMetrics`."""

    name: str
    now_ns: int
    by_priority: dict[str, PrioritySnapshot]
    retries: int
    queue_duration: HistogramSnapshot
    work_duration: HistogramSnapshot
    unfinished_work_ns: int
    longest_running_ns: int
    deduplicated_adds: int
    discarded_delays: int
    max_concurrent_reconciles: int
    active_workers: int
    active_by_priority: dict[str, int]
    reconciles: dict[Result, int]
    errors: int
    terminal_errors: int
    panics: int
    timeouts: int
    reconcile_time: HistogramSnapshot
    handoff_lag: HistogramSnapshot
    pending: PendingSnapshot
    keys: KeysSnapshot

    @classmethod
    def take(cls, now_ns: int, loop: ControllerLoop, top: TopKeys) -> "ControllerSnapshot":
        """Copy what a controller stands at; nothing may change meanwhile. O(pending keys)."""
        queue_metrics, metrics = loop.queue.metrics, loop.metrics
        by_priority = {
            str(label): PrioritySnapshot(one.depth, one.adds, one.gets, one.queue_ns)
            for label, one in queue_metrics.by_priority.items()
        }
        if isinstance(loop.queue, ClassicQueue):
            # The real queue makes this series when it is made itself.
            by_priority.setdefault("", PrioritySnapshot(0, 0, 0, 0))
        active: dict[str, int] = {}
        for priority, count in metrics.active_by_priority.items():
            label = _label(priority, by_priority)
            active[label] = active.get(label, 0) + count
        return cls(
            name=loop.name,
            now_ns=now_ns,
            by_priority=by_priority,
            retries=queue_metrics.retries,
            queue_duration=HistogramSnapshot.of(queue_metrics.queue_duration),
            work_duration=HistogramSnapshot.of(queue_metrics.work_duration),
            unfinished_work_ns=queue_metrics.unfinished_work_ns,
            longest_running_ns=queue_metrics.longest_running_ns,
            deduplicated_adds=queue_metrics.deduplicated_adds,
            discarded_delays=queue_metrics.discarded_delays,
            max_concurrent_reconciles=metrics.max_concurrent_reconciles,
            active_workers=metrics.active_workers,
            active_by_priority=active,
            reconciles=dict(metrics.reconciles),
            errors=metrics.errors,
            terminal_errors=metrics.terminal_errors,
            panics=metrics.panics,
            timeouts=metrics.timeouts,
            reconcile_time=HistogramSnapshot.of(metrics.reconcile_time),
            handoff_lag=HistogramSnapshot.of(metrics.handoff_lag),
            pending=_pending(loop.queue, by_priority),
            keys=KeysSnapshot(tuple(top), top.total_weight, top.total_count, top.total_failures, top.error),
        )


def _label(priority: int, by_priority: dict[str, PrioritySnapshot]) -> str:
    """The label of a priority. One that the queue's metrics do not tell apart is not told apart here either."""
    label = str(priority)
    if label in by_priority:
        return label
    return "" if "" in by_priority else EXCEEDED_CARDINALITY_LIMIT


def _pending(queue: WorkQueue, by_priority: dict[str, PrioritySnapshot]) -> PendingSnapshot:
    if isinstance(queue, PriorityQueue):
        return _of_records(queue.pending(), by_priority)
    if isinstance(queue, ClassicQueue):
        waiting = {UNKNOWN_REASON: Waiting(queue.delayed, queue.next_deadline_ns())}
        return PendingSnapshot({}, {"": queue.blocked}, waiting)
    return PendingSnapshot({}, {}, {})


def _of_records(records: tuple[Record, ...], by_priority: dict[str, PrioritySnapshot]) -> PendingSnapshot:
    oldest: dict[int, int] = {}
    blocked: dict[int, int] = {}
    waiting = {reason: Waiting() for reason in DelayReason}
    for record in records:
        if record.place == PLACE_WAITING:
            one = waiting[record.reason]
            one.count += 1
            if one.next_due_ns is None or record.ready_at_ns < one.next_due_ns:
                one.next_due_ns = record.ready_at_ns
            continue
        priority = record.priority
        if record.ready_since_ns < oldest.get(priority, record.ready_since_ns + 1):
            oldest[priority] = record.ready_since_ns
        if record.place == PLACE_BLOCKED:
            blocked[priority] = blocked.get(priority, 0) + 1
    oldest_by_label: dict[str, int | None] = dict.fromkeys(by_priority)
    for priority, since_ns in oldest.items():
        label = _label(priority, by_priority)
        before_ns = oldest_by_label.get(label)
        oldest_by_label[label] = since_ns if before_ns is None else min(since_ns, before_ns)
    blocked_by_label = dict.fromkeys(by_priority, 0)
    for priority, count in blocked.items():
        label = _label(priority, by_priority)
        blocked_by_label[label] = blocked_by_label.get(label, 0) + count
    return PendingSnapshot(
        oldest_by_label, blocked_by_label, {reason.name.lower(): one for reason, one in waiting.items()}
    )
