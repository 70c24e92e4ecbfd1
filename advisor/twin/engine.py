"""Virtual time: a heap of things to happen, each at a time.

Among those at the same time the one that was asked for first comes first. That is the whole order of a run: what
happens never hinges on hashes, addresses or the machine.
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from advisor.twin.observer import Observer

__all__ = ["Engine"]


class Engine:
    """Runs callbacks in order of time.

    Attributes:
        now_ns: the time; only grows.
        observer: is told what happens; None for nobody.
    """

    __slots__ = ("_dropped", "_heap", "_sequence", "_until_ns", "now_ns", "observer")

    def __init__(self) -> None:
        self.now_ns = 0
        self.observer: Observer | None = None
        self._heap: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self._sequence = 0
        self._until_ns = 0
        self._dropped = 0

    @property
    def events(self) -> int:
        """Callbacks run so far."""
        return self._sequence - self._dropped - len(self._heap)

    def at(self, time_ns: int, callback: Callable[[Any], None], argument: object = None) -> None:
        """Call `callback(argument)` at a time, which must not be past."""
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (time_ns, sequence, callback, argument))

    def drop(self, owners: Iterable[object]) -> None:
        """Forget what is still to happen to some objects: callbacks that are methods of theirs. O(n)."""
        lost = {id(owner) for owner in owners}
        before = len(self._heap)
        self._heap[:] = [entry for entry in self._heap if id(getattr(entry[2], "__self__", None)) not in lost]
        heapify(self._heap)
        self._dropped += before - len(self._heap)

    def stop(self) -> None:
        """Let `run` return after the callback that is running."""
        self._until_ns = -1

    def next_ns(self) -> int | None:
        """When the next callback is due; None when there is none."""
        return self._heap[0][0] if self._heap else None

    def run(self, until_ns: int) -> None:
        """Run what is due until then; afterwards the time is `until_ns`, or that of the callback that stopped it."""
        self._until_ns = until_ns
        heap = self._heap
        while heap:
            entry = heappop(heap)
            time_ns = entry[0]
            if time_ns > self._until_ns:
                heappush(heap, entry)
                break
            self.now_ns = time_ns
            entry[2](entry[3])
        if self._until_ns >= 0:
            self.now_ns = max(self.now_ns, until_ns)
