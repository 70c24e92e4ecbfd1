"""The shadow of one controller's queue: when each key became ready and at which priority, and when it went out.

What makes keys ready is known from the watched objects, by the controller's own rules, from the requeues that the log
tells and from the back-off of errors; what goes out is known from the log. Where both do not fit, an event was missed:

- A reconcile of a key that is not ready here: it was made ready by something that is not watched (a Secret, say), so it
  counts as ready from its start on; while the controller drains its initial list, as one of that.
- A ready key that others of lower rank have overtaken, while the operator counts fewer ready keys than there are here,
  was handed out without a trace, as with a reconcile that writes no line. It is dropped, and counted as unseen.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from advisor.queueing.handlers import LOW_PRIORITY
from advisor.queueing.metrics import DurationHistogram
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

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys, as an event handler does (`advisor.queueing.handlers.HandlerQueue`)."""
        for key in keys:
            before = self._queue.ready_priority(key)
            self._queue.add(now_ns, options, key)
            if before is not None and self._queue.ready_priority(key) != before:
                self._raised_ns[key] = now_ns

    def start(self, time: float) -> None:
        """The controller begins anew: everything that exists enters at the low priority, as its sources list it."""
        self._queue.restart(self._limiter())
        self._in_work.clear()
        self._raised_ns.clear()
        self._handed_out.clear()
        self._overtaken_ns.clear()
        self._started_ns = as_ns(time)
        self._had.clear()
        for one in self._at.values():
            one.active = 0

    def existed(self, key: str) -> None:
        """An object was there when the controller started: its key enters as of then, unless it has had its turn."""
        if self._started_ns is not None and key not in self._had:
            self.add(self._started_ns, self._low(), key)

    def began(self, event: Began) -> None:
        """A reconcile began."""
        now_ns, key = as_ns(event.time), event.key
        due_ns = self._queue.waits_until_ns(key)
        if due_ns is not None and due_ns > now_ns + _SETTLED_NS:
            # Well before its time something else made it ready: a change, which enters at the usual priority.
            self._queue.add(now_ns, IMMEDIATE, key)
            self.unexplained += 1
        taken = self._queue.take(now_ns, key)
        if taken is not None and taken.ready_since_ns < now_ns:
            ranked_ns = self._raised_ns.pop(key, taken.ready_since_ns)
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
            self.add(now_ns, AddOptions(rate_limited=True), key)
            return NO_PRIORITIES
        priority = self._in_work.pop(key, None)
        if priority is None:
            return NO_PRIORITIES
        one = self._priority(priority)
        one.active -= 1
        one.results[event.result] += 1
        one.time.observe(max(0, as_ns(event.time) - as_ns(event.began.time)))
        if event.backoff:
            self.add(now_ns, AddOptions(rate_limited=True, priority=priority), key)
        else:
            self._queue.forget(key)
            if event.requeue_seconds is not None:
                self.add(now_ns, AddOptions(after_ns=as_ns(event.requeue_seconds), priority=priority), key)
        self._queue.done(now_ns, key)
        return self._label(priority)

    def tick(self, now: float) -> None:
        """Let delays expire, and note what others of lower rank have overtaken."""
        now_ns = as_ns(now)
        self._queue.tick(now_ns)
        while self._handed_out and self._handed_out[0].time_ns <= now_ns - _SETTLED_NS:
            one = self._handed_out.popleft()
            for priority in self._at:
                # Of its own priority what had stood before it went first; of a higher one, all that was there.
                before_ns = one.ranked_ns if priority == one.priority else one.time_ns
                if priority >= one.priority:
                    self._overtaken_ns[priority] = max(self._overtaken_ns.get(priority, 0), before_ns - _SETTLED_NS)

    def scraped(self, time: float, depths: Mapping[str, float]) -> None:
        """Compare with the operator's own gauges at one time, and drop what is there no more.

        Where it has fewer ready keys than this shadow, the difference was handed out without a trace: those that others
        of lower rank have overtaken go first, and where it has none, all that was ready well before.
        """
        now_ns = as_ns(time)
        self._queue.tick(now_ns)
        found = self.depth()
        for label in {**depths, **found}:
            self.depth_errors[label] = found.get(label, 0) - depths.get(label, 0.0)
        settled_ns = now_ns - _SETTLED_NS
        for label, error in self.depth_errors.items():
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
        for record in list(queue.ready()):
            item = held.get(record.key)
            if item is None or item.ready_at is not None:
                queue.drop(record)
                self._raised_ns.pop(record.key, None)
                self.unseen += 1
        for item in held.values():
            after_ns = 0 if item.ready_at is None else max(1, as_ns(item.ready_at) - now_ns)
            if after_ns == 0 and queue.ready_priority(item.key) is None:
                self.unexplained += 1
            self.add(now_ns, AddOptions(after_ns=after_ns, priority=item.priority), item.key)

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
        return self._at.setdefault(priority, _Priority())

    def _depth(self, priority: int) -> int:
        counters = self._queue.metrics.by_priority.get(priority)
        return 0 if counters is None else counters.depth

    def _label(self, priority: int) -> str:
        return str(priority) if self.has_priorities else NO_PRIORITIES

    def _low(self) -> AddOptions:
        return _LOW if self.has_priorities else IMMEDIATE
