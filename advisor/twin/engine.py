"""Virtual time: a heap of things to happen, each at a time, in order of being asked for among equals."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

__all__ = ["Engine"]


class Engine:
    """Runs callbacks in order of time.

    Attributes:
        now_ns: the time; only grows.
        events: callbacks run so far.
    """

    __slots__ = ("_heap", "_sequence", "_stopped", "events", "now_ns")

    def __init__(self) -> None:
        self.now_ns = 0
        self.events = 0
        self._heap: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self._sequence = 0
        self._stopped = False

    def at(self, time_ns: int, callback: Callable[[Any], None], argument: object = None) -> None:
        """Call `callback(argument)` at a time, which must not be past."""
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (time_ns, sequence, callback, argument))

    def stop(self) -> None:
        """Let `run` return after the callback that is running."""
        self._stopped = True

    def next_ns(self) -> int | None:
        """When the next callback is due; None when there is none."""
        return self._heap[0][0] if self._heap else None

    def run(self, until_ns: int) -> None:
        """Run what is due until then; afterwards the time is `until_ns`, or that of the callback that stopped it."""
        heap = self._heap
        self._stopped = False
        count = 0
        while heap and not self._stopped:
            entry = heap[0]
            if entry[0] > until_ns:
                break
            heappop(heap)
            self.now_ns = entry[0]
            count += 1
            entry[2](entry[3])
        self.events += count
        if not self._stopped:
            self.now_ns = max(self.now_ns, until_ns)
