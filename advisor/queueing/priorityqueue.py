"""controller-runtime's priority queue (v0.23 to v0.24) as a sequential state machine.

Rules are those of research: controller-runtime 1.1 to 1.6. What differs is only how, not what: a ready record whose key
is in work stands aside until the key is given back, so that a hand-off never has to step over it.
"""

from collections import deque
from collections.abc import Hashable

from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.records import (
    PLACE_BLOCKED,
    PLACE_GONE,
    PLACE_READY,
    PLACE_WAITING,
    DelayReason,
    ReadyOrder,
    Record,
    WaitingOrder,
)
from advisor.queueing.retrylimiters import default_priority_limiter
from advisor.queueing.types import AddOptions, Handoff, RetryLimiter

__all__ = ["PriorityQueue"]

_new = tuple.__new__
# Global names are quicker than attributes of an enum.
_DELAYED_ADD, _BACKOFF, _REQUEUE = DelayReason.DELAYED_ADD, DelayReason.BACKOFF, DelayReason.REQUEUE


class PriorityQueue:
    """A work queue by priority, then by order of arrival; a key is with at most one worker at a time.

    Args:
        limiter: delays of rate-limited adds; 5 ms doubling to 1000 s for each key where None.

    Attributes:
        handoffs: answers to waiters, in order; the driver takes them out.
        metrics: what has been counted so far.
        started_ns: keys in work and when they were handed out.
    """

    has_priorities = True

    def __init__(self, limiter: RetryLimiter | None = None) -> None:
        self.handoffs: deque[Handoff] = deque()
        self.metrics = QueueMetrics()
        self.started_ns: dict[str, int] = {}
        self._limiter = limiter if limiter is not None else default_priority_limiter()
        self._pending: dict[str, Record] = {}
        self._ready = ReadyOrder()
        self._blocked = 0
        self._waiting = WaitingOrder()
        self._waiters: deque[Hashable] = deque()
        self._buffer: deque[tuple[AddOptions, tuple[str, ...]]] = deque()
        self._sequence = 0
        self._shut_down = False

    def __len__(self) -> int:
        """Ready keys, those in work as well included, as of the last operation; waiting ones are not."""
        return self._ready.live + self._blocked

    @property
    def blocked(self) -> int:
        """Ready keys that are held back because they are in work."""
        return self._blocked

    @property
    def waiters(self) -> int:
        """Callers of `get` without an answer."""
        return len(self._waiters)

    @property
    def is_shut_down(self) -> bool:
        """Whether the queue has ended."""
        return self._shut_down

    def pending(self) -> tuple[Record, ...]:
        """All pending records, in no order; for reading only. O(n)."""
        return tuple(self._pending.values())

    def buffer(self, options: AddOptions, *keys: str) -> None:
        """Note an add without applying it, as the real Add does: no clock, no limiter, no metric.

        The next operation with a time applies what is noted, in order. A delay counts from then. Appending is atomic,
        so this is the one operation that other threads may call while the queue is in use.
        """
        if not self._shut_down:
            self._buffer.append((options, keys))

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys; those pending are merged (research: controller-runtime 1.4). Ignored after shutdown."""
        if self._shut_down:
            return
        if self._waiting.first_ns <= now_ns or self._buffer:
            self._catch_up(now_ns)
        self._apply(now_ns, options, keys)
        if self._waiters and self._ready.live:
            self._dispatch(now_ns)

    def merges(self, now_ns: int, key: str) -> bool:
        """Whether an add of a key without options is but one more of a key that is ready; if so it is done.

        For those that add the same keys over and over: whatever else such an add may be is left to `add`.
        """
        record = self._pending.get(key)
        if record is None or record.place == PLACE_WAITING or record.priority < 0:
            return False
        if self._shut_down or self._buffer or self._waiting.first_ns <= now_ns:
            return False
        self.metrics.deduplicated_adds += 1
        return True

    def get(self, now_ns: int, waiter: Hashable) -> None:
        """Line up for the next key; after shutdown the answer has no key."""
        if self._shut_down:
            self.handoffs.append(Handoff(waiter, None, 0))
            return
        self._waiters.append(waiter)
        if self._waiting.first_ns <= now_ns or self._buffer:
            self._catch_up(now_ns)
        if self._ready.live:
            self._dispatch(now_ns)

    def done(self, now_ns: int, key: str) -> None:
        """Give back a key; if it is pending and ready it can now be handed out, at its place in the order."""
        started_ns = self.started_ns.pop(key, None)
        if started_ns is not None:
            self.metrics.work_duration.observe(now_ns - started_ns)
            if self._blocked:
                self._unblock(key)
        if self._shut_down:
            return
        if self._waiting.first_ns <= now_ns or self._buffer:
            self._catch_up(now_ns)
        if self._waiters and self._ready.live:
            self._dispatch(now_ns)

    def forget(self, key: str) -> None:
        """Drop the key's failures. Goes past the buffer, as in the real queue."""
        self._limiter.forget(key)

    def num_requeues(self, key: str) -> int:
        """Failures of the key since it was last forgotten."""
        return self._limiter.num_requeues(key)

    def tick(self, now_ns: int) -> None:
        """Apply what is buffered, make ready what is due, and hand out."""
        if not self._shut_down:
            self._catch_up(now_ns)
            self._dispatch(now_ns)

    def next_deadline_ns(self) -> int | None:
        """When the first waiting key is due; None when none waits or the queue has ended."""
        return None if self._shut_down else self._waiting.next_due_ns()

    def may_be_due_before(self, time_ns: int) -> bool:
        """False if no waiting key is due before a time: the quick answer, which may be wrong the other way."""
        return self._waiting.first_ns < time_ns

    def shut_down(self, now_ns: int) -> None:  # noqa: ARG002 - nothing is drained, so no time is needed
        """End the queue: waiters are answered without a key, nothing is drained, gauges keep their last value."""
        self._shut_down = True
        self._buffer.clear()
        while self._waiters:
            self.handoffs.append(Handoff(self._waiters.popleft(), None, 0))

    def refresh_unfinished(self, now_ns: int) -> None:
        """Refresh the two gauges of unfinished work; the real queue does every 500 ms until shutdown."""
        if not self._shut_down:
            self.metrics.refresh_unfinished(now_ns, self.started_ns)

    def _unblock(self, key: str) -> None:
        record = self._pending.get(key)
        if record is not None and record.place == PLACE_BLOCKED:
            self._blocked -= 1
            self._ready.insert(record)

    def _catch_up(self, now_ns: int) -> None:
        while (record := self._waiting.pop_due(now_ns)) is not None:
            # Behind everything that arrived before its time was up.
            self._sequence += 1
            record.sequence = self._sequence
            self._make_ready(now_ns, record)
        # Only what is there by now: other threads may go on appending.
        for _ in range(len(self._buffer)):
            options, keys = self._buffer.popleft()
            self._apply(now_ns, options, keys)

    def _apply(self, now_ns: int, options: AddOptions, keys: tuple[str, ...]) -> None:
        priority = options.priority or 0
        is_rate_limited = options.rate_limited
        delay_ns = options.after_ns
        for key in keys:
            if is_rate_limited:
                delay_ns = self._limited_delay_ns(now_ns, options.after_ns, key)
            if delay_ns > 0:
                self.metrics.retries += 1
            record = self._pending.get(key)
            if record is not None:
                self._merge(now_ns, record, priority, delay_ns, is_rate_limited=is_rate_limited)
                continue
            self._sequence += 1
            self._pending[key] = record = Record(key, self._sequence, priority)
            if delay_ns > 0:
                record.ready_at_ns = now_ns + delay_ns
                record.reason = self._reason(key, is_rate_limited=is_rate_limited)
                self._waiting.insert(record)
            else:
                self._make_ready(now_ns, record)

    def _limited_delay_ns(self, now_ns: int, after_ns: int, key: str) -> int:
        """The limiter is asked always, so that its count grows; the smaller delay holds, but a zero one is none."""
        backoff_ns = self._limiter.when_ns(now_ns, key)
        return backoff_ns if after_ns == 0 or backoff_ns < after_ns else after_ns

    def _merge(self, now_ns: int, record: Record, priority: int, delay_ns: int, *, is_rate_limited: bool) -> None:
        raised_from = record.priority
        is_raised = priority > raised_from
        if is_raised:
            self._sequence += 1
            record.sequence = self._sequence
            record.priority = priority
        if record.place == PLACE_WAITING:
            if delay_ns <= 0:
                record.place = PLACE_GONE
                self._waiting.leave()
                self._make_ready(now_ns, record)
            elif now_ns + delay_ns < record.ready_at_ns:
                record.ready_at_ns = now_ns + delay_ns
                record.reason = self._reason(record.key, is_rate_limited=is_rate_limited)
                self._waiting.moved(record)
            elif is_raised:
                self._waiting.moved(record)
            return
        metrics = self.metrics
        metrics.deduplicated_adds += 1
        if delay_ns > 0:
            metrics.discarded_delays += 1
        if is_raised:
            metrics.raised(raised_from, priority)
            if record.place == PLACE_READY:
                self._ready.leave(raised_from)
                self._ready.insert(record)

    def _make_ready(self, now_ns: int, record: Record) -> None:
        record.ready_since_ns = now_ns
        self.metrics.became_ready(record.priority)
        if record.key in self.started_ns:
            record.place = PLACE_BLOCKED
            self._blocked += 1
        else:
            self._ready.insert(record)

    def _dispatch(self, now_ns: int) -> None:
        """Serve waiters in order of arrival, until there are none or no key that may go out."""
        waiters, ready = self._waiters, self._ready
        while waiters and ready.live:
            record = ready.pop()
            key, priority = record.key, record.priority
            record.place = PLACE_GONE
            del self._pending[key]
            self.started_ns[key] = now_ns
            self.metrics.handed_out(priority, now_ns - record.ready_since_ns)
            # A third of the cost of Handoff(...), whose constructor is written in Python.
            self.handoffs.append(_new(Handoff, (waiters.popleft(), key, priority)))

    def _reason(self, key: str, *, is_rate_limited: bool) -> DelayReason:
        if is_rate_limited:
            return _BACKOFF
        # Only the controller loop adds a key while it is in work (research: controller-runtime 3.2).
        return _REQUEUE if key in self.started_ns else _DELAYED_ADD
