"""The shadow of one controller's queue: when each key became ready and at which priority, and when it went out.

What makes keys ready is known from the watched objects, by the controller's own rules, from the requeues that the log
tells and from the back-off of errors; what goes out is known from the log. Where both do not fit, an event was missed:

- A reconcile of a key that is not ready here: it was made ready by something that is not watched (a Secret, say), so it
  counts as ready from its start on; while the controller drains its initial list, as one of that. A watch event that
  comes right after is what it was for, only seen late here, and does not make the key ready once more.
- A ready key that others of lower rank have overtaken, while the operator counts fewer ready keys than there are here,
  was handed out without a trace, as with a reconcile that writes no line. It is dropped, and counted as unseen.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from advisor.queueing.handlers import LOW_PRIORITY
from advisor.queueing.metrics import DurationHistogram
from advisor.queueing.records import PLACE_WAITING, Record
from advisor.queueing.retrylimiters import default_classic_limiter, default_priority_limiter
from advisor.queueing.shadowqueue import ShadowQueue, Taken
from advisor.queueing.types import IMMEDIATE, NANOSECONDS_PER_SECOND, AddOptions, RetryLimiter
from advisor.runtime.histogram import HistogramSnapshot
from advisor.sidecar.queueitems import QueueItem
from advisor.sidecar.reconciles import Began, Ended
from advisor.sidecar.views import DURATION_BOUNDS_NS, PriorityView

__all__ = ["NO_PRIORITIES", "ShadowController", "as_ns"]

NO_PRIORITIES = ""
"""Label of the one priority of a classic queue."""
_SETTLED_NS = 1_000_000_000
"""How far apart a hand-off and what is said of it may be: log lines and watch events come a little early or late."""
_LATE_EVENT_NS = 50_000_000
"""How much later than the operator a watch event may be seen here, to be what an unexplained reconcile was for."""
_RESULTS = ("success", "error", "requeue", "requeue_after")
_LOW = AddOptions(priority=LOW_PRIORITY)


def as_ns(seconds: float) -> int:
    """Unix nanoseconds of Unix seconds."""
    return round(seconds * NANOSECONDS_PER_SECOND)


class _Priority:
    """What has been counted of one priority beside the queue's own counters."""

    __slots__ = ("active", "results", "time", "wait")

    def __init__(self) -> None:
        self.active = 0
        self.wait = DurationHistogram(DURATION_BOUNDS_NS)
        self.time = DurationHistogram(DURATION_BOUNDS_NS)
        self.results = dict.fromkeys(_RESULTS, 0)


class _HandedOut(NamedTuple):
    """One hand-off: when, and the rank of what went."""

    time_ns: int
    priority: int
    ranked_ns: int


class ShadowController:
    """One controller. Times are Unix seconds, and may go back a little: each source tells at times of its own.

    Args:
        name: the controller's label.
        has_priorities: whether the operator has the priority queue.

    Attributes:
        unseen: ready keys that were handed out without a trace.
        unexplained: reconciles of keys that were not known to be ready.
        depth_errors: by label of the priority, the depth here less the operator's own gauge, at the last scrape.
    """

    def __init__(self, name: str, *, has_priorities: bool = True) -> None:
        self.name = name
        self.has_priorities = has_priorities
        self.unseen = 0
        self.unexplained = 0
        self.depth_errors: dict[str, float] = {}
        self._queue = ShadowQueue(self._limiter())
        self._at: dict[int, _Priority] = {}
        self._in_work: dict[str, int] = {}
        self._raised_ns: dict[str, int] = {}
        self._early_ns: dict[str, int] = {}
        self._handed_out: deque[_HandedOut] = deque()
        self._overtaken_ns: dict[int, int] = {}
        self._started_ns: int | None = None
        self._had: set[str] = set()

    def _limiter(self) -> RetryLimiter:
        return default_priority_limiter() if self.has_priorities else default_classic_limiter()

    @property
    def is_draining(self) -> bool:
        """Whether the initial list is not known to have been worked off."""
        return self._started_ns is not None

    @property
    def had(self) -> Collection[str]:
        """Keys that have had their turn since the controller began, while it drains its initial list."""
        return self._had

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys, as an event handler does (`advisor.queueing.handlers.HandlerQueue`)."""
        for key in keys:
            began_ns = self._early_ns.pop(key, None)
            if began_ns is None or not 0 <= now_ns - began_ns <= _LATE_EVENT_NS:
                self._add(now_ns, options, key)

    def _add(self, now_ns: int, options: AddOptions, key: str) -> None:
        before = self._queue.ready_priority(key)
        self._queue.add(now_ns, options, key)
        if before is not None and self._queue.ready_priority(key) != before:
            self._raised_ns[key] = now_ns

    def start(self, time: float, had: Collection[str] = ()) -> None:
        """The controller begins anew: everything that exists enters at the low priority, as its sources list it.

        Args:
            time: when.
            had: keys that have had their turn since then.
        """
        self.stop()
        self._started_ns = as_ns(time)
        self._had.update(had)

    def stop(self) -> None:
        """The controller's process has ended: nothing is ready, waits or is in work; counters go on."""
        self._queue.restart(self._limiter())
        self._in_work.clear()
        self._raised_ns.clear()
        self._early_ns.clear()
        self._handed_out.clear()
        self._overtaken_ns.clear()
        self._started_ns = None
        self._had.clear()
        self.depth_errors = {}
        for one in self._at.values():
            one.active = 0

    def existed(self, key: str) -> None:
        """An object was there when the controller started: its key enters as of then, unless it has had its turn."""
        if self._started_ns is not None and key not in self._had:
            self._add(self._started_ns, self._low(), key)

    def began(self, event: Began) -> None:
        """A reconcile began."""
        now_ns, key = as_ns(event.time), event.key
        self._early_ns.pop(key, None)
        due_ns = self._queue.waits_until_ns(key)
        if due_ns is not None and due_ns > now_ns + _SETTLED_NS:
            # Well before its time something else made it ready: a change, which enters at the usual priority.
            self._queue.add(now_ns, IMMEDIATE, key)
            self.unexplained += 1
            self._early_ns[key] = now_ns
        taken = self._queue.take(now_ns, key)
        raised_ns = self._raised_ns.pop(key, None)
        if taken is not None and taken.ready_since_ns < now_ns:
            ranked_ns = taken.ready_since_ns if raised_ns is None else raised_ns
            self._handed_out.append(_HandedOut(now_ns, taken.priority, ranked_ns))
        taken = taken or self._take_unexplained(now_ns, key)
        one = self._priority(taken.priority)
        one.wait.observe(max(0, now_ns - taken.ready_since_ns))
        one.active += 1
        self._in_work[key] = taken.priority
        if self._started_ns is not None:
            self._had.add(key)

    def _take_unexplained(self, now_ns: int, key: str) -> Taken:
        if self._started_ns is None:
            self.unexplained += 1
            self._early_ns[key] = now_ns
            self._queue.add(now_ns, IMMEDIATE, key)
        else:
            self._queue.add(min(now_ns, self._started_ns), self._low(), key)
        taken = self._queue.take(now_ns, key)
        if taken is None:
            raise RuntimeError(f"{key} was added and is not there")
        return taken

    def ended(self, event: Ended) -> str:
        """A reconcile ended: its key comes again as its outcome says. Returns the label of its priority."""
        key, now_ns = event.began.key, as_ns(event.likely_time)
        if event.late:
            self._add(now_ns, AddOptions(rate_limited=True, priority=self._queue.pending_priority(key)), key)
            return NO_PRIORITIES
        priority = self._in_work.pop(key, None)
        if priority is None:
            return NO_PRIORITIES
        one = self._priority(priority)
        one.active -= 1
        one.results[event.result] += 1
        one.time.observe(max(0, as_ns(event.time) - as_ns(event.began.time)))
        if event.backoff:
            self._add(now_ns, AddOptions(rate_limited=True, priority=priority), key)
        else:
            self._queue.forget(key)
            if event.requeue_seconds is not None:
                self._add(now_ns, AddOptions(after_ns=as_ns(event.requeue_seconds), priority=priority), key)
        self._queue.done(now_ns, key)
        return self._label(priority)

    def tick(self, now: float) -> None:
        """Let delays expire, and note what others of lower rank have overtaken."""
        now_ns = as_ns(now)
        self._queue.tick(now_ns)
        while self._early_ns and next(iter(self._early_ns.values())) < now_ns - _SETTLED_NS:
            del self._early_ns[next(iter(self._early_ns))]
        priorities = self._priorities()
        while self._handed_out and self._handed_out[0].time_ns <= now_ns - _SETTLED_NS:
            one = self._handed_out.popleft()
            for priority in priorities:
                # Of its own priority what had stood before it went first; of a higher one, all that was there.
                before_ns = one.ranked_ns if priority == one.priority else one.time_ns
                if priority >= one.priority:
                    self._overtaken_ns[priority] = max(self._overtaken_ns.get(priority, 0), before_ns - _SETTLED_NS)

    def scraped(self, time: float, depths: Mapping[str, float], *, is_known: bool = True) -> None:
        """Compare with the operator's own gauges at one time, and drop what is there no more.

        Where it has fewer ready keys than this shadow, the difference was handed out without a trace: those that others
        of lower rank have overtaken go first, and where it has none, all that was ready well before.

        Args:
            time: when.
            depths: `workqueue_depth` by label of the priority.
            is_known: whether all objects are known; if not, the difference says nothing of this shadow.
        """
        now_ns = as_ns(time)
        self._queue.tick(now_ns)
        found = self.depth()
        errors = {label: found.get(label, 0) - depths.get(label, 0.0) for label in {**depths, **found}}
        self.depth_errors = errors if is_known else {}
        settled_ns = now_ns - _SETTLED_NS
        for label, error in errors.items():
            if error > 0:
                before_ns = settled_ns if not depths.get(label) else None
                self._drop_surplus(label, round(error), before_ns)
        if self._started_ns is not None and self._started_ns < settled_ns and not depths.get(self._label(LOW_PRIORITY)):
            self._started_ns = None
            self._had.clear()

    def content(self, time: float, items: Iterable[QueueItem]) -> None:
        """Take over what the verbose log says that the queue holds: it is exact."""
        now_ns, queue = as_ns(time), self._queue
        queue.tick(now_ns)
        held = {item.key: item for item in items}
        since_ns: dict[str, int] = {}
        for record in queue.pending():
            item, is_ready = held.get(record.key), record.place != PLACE_WAITING
            if item is not None and _agrees(record, item):
                continue
            queue.drop(record)
            self._raised_ns.pop(record.key, None)
            if is_ready and item is not None and item.ready_at is None:
                # Another priority, at which it stands since no one knows when.
                since_ns[record.key], self._raised_ns[record.key] = record.ready_since_ns, now_ns
            else:
                self.unseen += is_ready
        for item in held.values():
            if queue.pending_priority(item.key) is not None:
                continue
            after_ns = 0 if item.ready_at is None else max(1, as_ns(item.ready_at) - now_ns)
            self.unexplained += after_ns == 0 and item.key not in since_ns
            options = AddOptions(after_ns=after_ns, priority=item.priority)
            queue.add(since_ns.get(item.key, now_ns), options, item.key)

    def _drop_surplus(self, label: str, surplus: int, before_ns: int | None) -> None:
        """Drop so many records of a priority, oldest first: of those before a time, or of those overtaken."""
        there = [
            (rank_ns, record.sequence, record)
            for record in self._queue.ready()
            if self._label(record.priority) == label
            and (rank_ns := self._raised_ns.get(record.key, record.ready_since_ns))
            < (self._overtaken_ns.get(record.priority, 0) if before_ns is None else before_ns)
            and (before_ns is not None or record.key not in self._in_work)
        ]
        for _, _, record in sorted(there)[:surplus]:
            self._queue.drop(record)
            self._raised_ns.pop(record.key, None)
            self.unseen += 1

    def waiting(self, now: float) -> int:
        """Keys that have been ready for longer than a second and are not held back by their own reconcile."""
        settled_ns = as_ns(now) - _SETTLED_NS
        return sum(one.ready_since_ns < settled_ns and one.key not in self._in_work for one in self._queue.ready())

    def depth(self) -> dict[str, int]:
        """Ready keys by label of the priority, as the operator's own gauge counts them."""
        return {self._label(priority): self._depth(priority) for priority in self._priorities()}

    def views(self, now: float) -> dict[str, PriorityView]:
        """What is known by priority, highest first."""
        now_ns = as_ns(now)
        oldest_ns: dict[int, int] = {}
        blocked: dict[int, int] = {}
        for record in self._queue.ready():
            priority = record.priority
            oldest_ns[priority] = min(oldest_ns.get(priority, record.ready_since_ns), record.ready_since_ns)
            blocked[priority] = blocked.get(priority, 0) + (record.key in self._in_work)
        views = {}
        for priority in self._priorities():
            one = self._at.get(priority) or _Priority()
            since_ns = oldest_ns.get(priority)
            views[self._label(priority)] = PriorityView(
                depth=self._depth(priority),
                adds=self._queue.metrics.by_priority[priority].adds,
                active_workers=one.active,
                oldest_ready_seconds=None if since_ns is None else max(0, now_ns - since_ns) / NANOSECONDS_PER_SECOND,
                blocked_keys=blocked.get(priority, 0),
                wait=HistogramSnapshot.of(one.wait),
                time=HistogramSnapshot.of(one.time),
                results=dict(one.results),
                depth_error=self.depth_errors.get(self._label(priority)),
            )
        return views

    def _priorities(self) -> list[int]:
        """Priorities that ever had a ready key, highest first."""
        return sorted((one for one in self._queue.metrics.by_priority if isinstance(one, int)), reverse=True)

    def _priority(self, priority: int) -> _Priority:
        found = self._at.get(priority)
        if found is None:
            found = self._at[priority] = _Priority()
        return found

    def _depth(self, priority: int) -> int:
        counters = self._queue.metrics.by_priority.get(priority)
        return 0 if counters is None else counters.depth

    def _label(self, priority: int) -> str:
        return str(priority) if self.has_priorities else NO_PRIORITIES

    def _low(self) -> AddOptions:
        return _LOW if self.has_priorities else IMMEDIATE


def _agrees(record: Record, item: QueueItem) -> bool:
    """Whether a pending key is here what it is there."""
    if record.priority != item.priority:
        return False
    if record.place != PLACE_WAITING or item.ready_at is None:
        return record.place != PLACE_WAITING and item.ready_at is None
    return abs(record.ready_at_ns - as_ns(item.ready_at)) < _SETTLED_NS
