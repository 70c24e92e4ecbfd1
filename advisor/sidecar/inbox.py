"""What comes from log, watches and scrapes, put in order of its own time before it is joined.

Each source is late in its own way: a watch event can come before the log line of what had happened before it. So what
comes waits a little, and longer while the log is behind, but never without bound.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Generic, TypeVar

__all__ = ["Inbox"]

_T = TypeVar("_T")


class Inbox(Generic[_T]):
    """Items by time (Unix seconds), then in the order in which they came.

    Args:
        hold_seconds: how long an item waits for others that are older.
        longest_seconds: how long it waits at most, however far the log is behind.
        most: items held at most; beyond it the oldest are given out at once.
    """

    def __init__(self, *, hold_seconds: float = 1.5, longest_seconds: float = 60.0, most: int = 200_000) -> None:
        self._hold = hold_seconds
        self._longest = longest_seconds
        self._most = most
        self._heap: list[tuple[float, int, _T]] = []
        self._numbers = count()
        self._given = float("-inf")

    def __len__(self) -> int:
        """Items held."""
        return len(self._heap)

    def empty(self) -> list[tuple[float, _T]]:
        """Give out all that is held, in order, and begin anew: times from before say nothing of those to come."""
        held = [(time, item) for time, _, item in sorted(self._heap, key=itemgetter(0, 1))]
        self._heap.clear()
        self._given = float("-inf")
        return held

    def put(self, time: float, item: _T) -> None:
        """Take one in; one that is older than what was given out already is given out next."""
        heappush(self._heap, (max(time, self._given), next(self._numbers), item))

    def settled(self, now: float, log_behind_since: float | None) -> float:
        """Up to which time nothing older is waited for any more; arguments as for `due`."""
        upto = now - self._hold
        return upto if log_behind_since is None else max(now - self._longest, min(upto, log_behind_since))

    def due(self, now: float, log_behind_since: float | None) -> Iterator[tuple[float, _T]]:
        """What need not wait any longer, in order.

        Args:
            now: Unix seconds.
            log_behind_since: time of the last line read while the log has more to read; None where it is read up.
        """
        upto = self.settled(now, log_behind_since)
        while self._heap and (self._heap[0][0] <= upto or len(self._heap) > self._most):
            time, _, item = heappop(self._heap)
            self._given = max(self._given, time)
            yield time, item
