"""Virtual time: a heap of things to happen, each at a time.

Among those at the same time the one that was asked for first comes first. That is the whole order of a run: what
happens never hinges on hashes, addresses or the machine.
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.twin.observer import Observer

__all__ = ["Engine", "Entry"]

# When, the number of the request for it, what to call, and with what.
Entry = tuple[int, int, Callable[[Any], None], Any]

# Numbers before and behind those of all requests.
_FIRST, _LAST = 0, 2**63


class Engine:
    """Runs callbacks in order of time.

    Attributes:
        now_ns: the time; only grows.
        observer: is told what happens; None for nobody.
        asked: calls of `at` so far, which number what is to happen.
    """

    __slots__ = ("_dropped", "_heap", "_marks", "asked", "now_ns", "observer")

    def __init__(self) -> None:
        self.now_ns = 0
        self.observer: Observer | None = None
        self.asked = 0
        self._heap: list[Entry] = []
        # Ends of the run that stand in the heap.
        self._marks = 0
        self._dropped = 0

    @property
    def events(self) -> int:
        """Callbacks run so far."""
        return self.asked - self._dropped - len(self._heap) + self._marks

    def heap(self) -> list[Entry]:
        """What is to happen, the same list for good: for those that ask so often that they do without `at`."""
        return self._heap

    def at(self, time_ns: int, callback: Callable[[Any], None], argument: object = None) -> None:
        """Call `callback(argument)` at a time, which must not be past."""
        self.asked = number = self.asked + 1
        heappush(self._heap, (time_ns, number, callback, argument))

    def drop(self, owners: Iterable[object]) -> None:
        """Forget what is still to happen to some objects: callbacks that are methods of theirs. O(n)."""
        lost = {id(owner) for owner in owners}
        before = len(self._heap)
        self._heap[:] = [entry for entry in self._heap if id(getattr(entry[2], "__self__", None)) not in lost]
        heapify(self._heap)
        self._dropped += before - len(self._heap)

    def stop(self) -> None:
        """Let `run` return after the callback that is running."""
        if self._marks:
            self._mark(self.now_ns, _FIRST)

    def next_ns(self) -> int | None:
        """When the next callback is due; None when there is none. Not for callbacks: in a run its end counts, too."""
        return self._heap[0][0] if self._heap else None

    def run(self, until_ns: int) -> None:
        """Run what is due until then; afterwards the time is `until_ns`, or that of the callback that stopped it.

        The end stands in the heap as a callback of its own, so that no time need be compared with it.
        """
        if until_ns < self.now_ns:
            return
        take, heap = heappop, self._heap
        self._mark(until_ns, _LAST)
        try:
            while True:
                self.now_ns, _, callback, argument = take(heap)
                callback(argument)
        except _EndOfRun:
            pass
        finally:
            self._unmark()

    def _mark(self, time_ns: int, number: int) -> None:
        self._marks += 1
        heappush(self._heap, (time_ns, number, _end, None))

    def _unmark(self) -> None:
        """Take away the ends that have not come."""
        self._marks = 0
        heap = self._heap
        if any(entry[2] is _end for entry in heap):
            heap[:] = [entry for entry in heap if entry[2] is not _end]
            heapify(heap)


class _EndOfRun(Exception):  # noqa: N818 - no error
    pass


def _end(_: object) -> None:
    raise _EndOfRun
