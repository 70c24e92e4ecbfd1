"""Pending keys of the priority queue, and the two orders they stand in: ready and waiting.

Both orders delete lazily: a record that moves leaves an entry behind, recognised by its place or order numbers, and
dropped when it comes up. An order with more such entries than live ones is made anew, so memory follows what is
pending. Every operation is O(log n), amortised (the real queue has two B-trees; research: controller-runtime 1.1).
"""

from bisect import insort
from collections import deque
from enum import IntEnum
from heapq import heapify, heappop, heappush

__all__ = [
    "NEVER_NS",
    "PLACE_BLOCKED",
    "PLACE_GONE",
    "PLACE_READY",
    "PLACE_WAITING",
    "DelayReason",
    "ReadyOrder",
    "Record",
    "WaitingOrder",
]

NEVER_NS = 2**63

# Below this many left-over entries an order is not worth making anew.
_SLACK = 32


# Where a pending record stands. Plain integers: these are compared in the innermost loops.
PLACE_WAITING = 0
PLACE_READY = 1
# Ready, but its key is in work: counted as ready, not offered to anyone before the key is given back.
PLACE_BLOCKED = 2
PLACE_GONE = 3


class DelayReason(IntEnum):
    """Why a key waits; no metric of controller-runtime tells."""

    DELAYED_ADD = 0
    BACKOFF = 1
    REQUEUE = 2


class Record:
    """One pending key.

    Attributes:
        key: the key.
        sequence: place among equals; renewed by a timer and by a raise.
        priority: the maximum of all adds since the last hand-off.
        place: which order holds it.
        ready_at_ns: when it is due; meaningful while it waits.
        ready_since_ns: when it became ready; meaningful once it has.
        reason: why it waits; meaningful while it does.
    """

    __slots__ = ("key", "place", "priority", "ready_at_ns", "ready_since_ns", "reason", "sequence")

    # What a record does not need in its first place is set when it gets there.
    ready_at_ns: int
    ready_since_ns: int
    reason: DelayReason

    def __init__(self, key: str, sequence: int, priority: int) -> None:
        self.key = key
        self.sequence = sequence
        self.priority = priority
        self.place = PLACE_GONE


class _Lane:
    """Ready records of one priority, by sequence.

    Almost all arrive with a fresh sequence and are appended; the few that keep an old one go to a heap beside.
    """

    __slots__ = ("early", "last_sequence", "line", "live")

    def __init__(self) -> None:
        self.line: deque[Record] = deque()
        self.early: list[tuple[int, Record]] = []
        self.last_sequence = -1
        self.live = 0


class ReadyOrder:
    """Records by priority, highest first, then by sequence.

    A record stands at most once at each priority: only a raise moves it, and a priority never falls while it lives. So
    an entry is valid exactly if the record is ready and still has the lane's priority. The last lane stays when nothing
    is ready any more, as most often the next record has its priority; otherwise none is empty.
    """

    __slots__ = ("_lanes", "_negated_priorities", "live")

    def __init__(self) -> None:
        self._lanes: dict[int, _Lane] = {}
        self._negated_priorities: list[int] = []
        self.live = 0

    def insert(self, record: Record) -> None:
        """Put a record in; its `place` becomes READY."""
        record.place = PLACE_READY
        lane = self._lanes.get(record.priority)
        if lane is None:
            lane = self._new_lane(record.priority)
        if record.sequence > lane.last_sequence:
            lane.last_sequence = record.sequence
            lane.line.append(record)
        else:
            heappush(lane.early, (record.sequence, record))
        lane.live += 1
        self.live += 1

    def leave(self, priority: int) -> None:
        """Account for a ready record that has just been moved away from a priority."""
        lane = self._lanes[priority]
        lane.live -= 1
        self.live -= 1
        if not lane.live:
            self._drop(priority)
        elif len(lane.line) + len(lane.early) > 2 * lane.live + _SLACK:
            _tidy(lane, priority)

    def pop(self) -> Record:
        """Take the first record out.

        Raises:
            IndexError: there is none.
        """
        priority = -self._negated_priorities[0]
        lane = self._lanes[priority]
        line, early = lane.line, lane.early
        if early:
            record = _pop_either(lane, priority)
        else:
            # As `_is_in_lane` for each, without the cost of a call.
            record = line.popleft()
            while record.priority != priority or record.place != PLACE_READY:
                record = line.popleft()
        lane.live -= 1
        self.live -= 1
        if not lane.live:
            self._drop(priority)
        elif len(line) + len(early) > 2 * lane.live + _SLACK:
            _tidy(lane, priority)
        return record

    def _new_lane(self, priority: int) -> _Lane:
        if not self.live and self._lanes:
            self._lanes.clear()
            self._negated_priorities.clear()
        lane = self._lanes[priority] = _Lane()
        insort(self._negated_priorities, -priority)
        return lane

    def _drop(self, priority: int) -> None:
        """Take away a lane that has become empty, or make it as new if it is the last."""
        if self.live:
            del self._lanes[priority]
            self._negated_priorities.remove(-priority)
        else:
            lane = self._lanes[priority]
            lane.line.clear()
            lane.early.clear()
            lane.last_sequence = -1


def _pop_either(lane: _Lane, priority: int) -> Record:
    """The first of both parts of a lane."""
    line, early = lane.line, lane.early
    while line and not _is_in_lane(line[0], priority):
        line.popleft()
    while early and not _is_in_lane(early[0][1], priority):
        heappop(early)
    return heappop(early)[1] if early and (not line or early[0][0] < line[0].sequence) else line.popleft()


def _tidy(lane: _Lane, priority: int) -> None:
    lane.line = deque(record for record in lane.line if _is_in_lane(record, priority))
    lane.early = [entry for entry in lane.early if _is_in_lane(entry[1], priority)]
    heapify(lane.early)


def _is_in_lane(record: Record, priority: int) -> bool:
    return record.priority == priority and record.place == PLACE_READY


class WaitingOrder:
    """Records by due time, then priority (highest first), then sequence.

    Attributes:
        live: records that wait.
        first_ns: no record is due before; `NEVER_NS` when none waits. May be early by an entry left behind.
    """

    __slots__ = ("_heap", "first_ns", "live")

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, Record]] = []
        self.live = 0
        self.first_ns = NEVER_NS

    def insert(self, record: Record) -> None:
        """Put a record in; its `place` becomes WAITING."""
        record.place = PLACE_WAITING
        self.live += 1
        heappush(self._heap, (record.ready_at_ns, -record.priority, record.sequence, record))
        self.first_ns = self._heap[0][0]

    def moved(self, record: Record) -> None:
        """Put a waiting record in again after its due time, priority or sequence has changed."""
        heappush(self._heap, (record.ready_at_ns, -record.priority, record.sequence, record))
        self._tidy()

    def leave(self) -> None:
        """Account for a waiting record that has just been moved away."""
        self.live -= 1
        self._tidy()

    def next_due_ns(self) -> int | None:
        """Due time of the first record; None when none waits."""
        heap = self._heap
        while heap:
            first = heap[0]
            if _is_current(first):
                self.first_ns = first[0]
                return first[0]
            heappop(heap)
        self.first_ns = NEVER_NS
        return None

    def pop_due(self, now_ns: int) -> Record | None:
        """Take out the first record if it is due by now."""
        if self.first_ns > now_ns:
            return None
        due_ns = self.next_due_ns()
        if due_ns is None or due_ns > now_ns:
            return None
        record = heappop(self._heap)[3]
        self.live -= 1
        self._tidy()
        return record

    def _tidy(self) -> None:
        if len(self._heap) > 2 * self.live + _SLACK:
            self._heap = [entry for entry in self._heap if _is_current(entry)]
            heapify(self._heap)
        self.first_ns = self._heap[0][0] if self._heap else NEVER_NS


def _is_current(entry: tuple[int, int, int, Record]) -> bool:
    due_ns, negated_priority, sequence, record = entry
    return (
        record.place == PLACE_WAITING
        and due_ns == record.ready_at_ns
        and sequence == record.sequence
        and negated_priority == -record.priority
    )
