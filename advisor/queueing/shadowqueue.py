"""A priority queue of somebody else, followed from outside: which key goes out next is seen, not decided.

Everything but the hand-off is the real queue's: merging, priorities, delays, back-off, blocking.
"""

from collections.abc import Iterator
from typing import NamedTuple

from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import (
    PLACE_BLOCKED,
    PLACE_GONE,
    PLACE_READY,
    PLACE_WAITING,
    ReadyOrder,
    Record,
    WaitingOrder,
)
from advisor.queueing.types import RetryLimiter

__all__ = ["ShadowQueue", "Taken"]


class Taken(NamedTuple):
    """What a key had when it was seen to go out: its priority, and since when it was ready."""

    priority: int
    ready_since_ns: int


class ShadowQueue(PriorityQueue):
    """The queue of an operator that is watched. `get` is never called; `take` says what the operator's workers got."""

    def take(self, now_ns: int, key: str) -> Taken | None:
        """A key was handed out, whichever it was; None where it was not ready here, so that an add was missed.

        A key that was still waiting counts as ready from now on.
        """
        self._catch_up(now_ns)
        record = self._pending.get(key)
        if record is None:
            return None
        if record.place == PLACE_WAITING:
            self._leave_order(record)
            self._make_ready(now_ns, record)
        self._leave_order(record)
        del self._pending[key]
        self.started_ns[key] = now_ns
        waited_ns = max(0, now_ns - record.ready_since_ns)
        self.metrics.handed_out(record.priority, waited_ns)
        return Taken(record.priority, record.ready_since_ns)

    def waits_until_ns(self, key: str) -> int | None:
        """When a key's delay ends; None where it has none."""
        record = self._pending.get(key)
        return record.ready_at_ns if record is not None and record.place == PLACE_WAITING else None

    def ready(self) -> Iterator[Record]:
        """Ready records, those blocked included; in no order, for reading only."""
        return (one for one in self._pending.values() if one.place in (PLACE_READY, PLACE_BLOCKED))

    def pending_priority(self, key: str) -> int | None:
        """The priority of a key that is ready or waits; None where it does neither."""
        record = self._pending.get(key)
        return None if record is None else record.priority

    def ready_priority(self, key: str) -> int | None:
        """The priority of a key that is ready; None where it is not."""
        record = self._pending.get(key)
        return None if record is None or record.place == PLACE_WAITING else record.priority

    def restart(self, limiter: RetryLimiter) -> None:
        """The operator began anew: nothing is pending or in work, no failure is remembered; counters go on."""
        for one in self.metrics.by_priority.values():
            one.depth = 0
        self._limiter = limiter
        self._pending.clear()
        self._ready, self._waiting = ReadyOrder(), WaitingOrder()
        self._blocked = 0
        self.started_ns.clear()

    def drop(self, record: Record) -> None:
        """Take out a pending record that is known to be gone: it is neither ready nor waits any more."""
        if record.place != PLACE_WAITING:
            self.metrics.at(record.priority).depth -= 1
        self._leave_order(record)
        del self._pending[record.key]

    def _leave_order(self, record: Record) -> None:
        place, record.place = record.place, PLACE_GONE
        if place == PLACE_READY:
            self._ready.leave(record.priority)
        elif place == PLACE_BLOCKED:
            self._blocked -= 1
        else:
            self._waiting.leave()
