"""Which keys take the most time, in bounded memory: weighted Space-Saving, with a bound on what it does not know.

Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in data streams" (2005): when all
places are taken, the key with the smallest estimate gives its place up, and the newcomer inherits its estimate as its
possible error. Estimates are never too low, and too high by at most the error; what is shown is the difference, which
is never too high.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace

__all__ = ["KeyLoad", "TopKeys"]


@dataclass(frozen=True, slots=True)
class KeyLoad:
    """What is known of one key since it has had its place; the key may have had up to `error` more before that.

    Attributes:
        key: the key.
        weight: sum of its weights.
        count: how often it was given.
        failures: how often it was given as failed.
        error: upper bound of the weight that is missing.
    """

    key: str
    weight: int
    count: int
    failures: int
    error: int


class _Place:
    __slots__ = ("count", "error", "failures", "weight")

    def __init__(self, error: int) -> None:
        self.error = error
        self.weight = 0
        self.count = 0
        self.failures = 0


class TopKeys:
    """The heaviest of any number of keys. O(log capacity) an update, amortised.

    Every key with more than `total_weight / capacity` has a place. As long as there are no more keys than places,
    everything is exact.

    Args:
        capacity: number of places, at least 1.

    Attributes:
        total_weight: sum of all weights, whether their keys have a place or not.
        total_count: number of updates.
        total_failures: number of those that failed.
    """

    __slots__ = ("_capacity", "_heap", "_places", "total_count", "total_failures", "total_weight")

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, not {capacity}")
        self._capacity = capacity
        self._places: dict[str, _Place] = {}
        # One entry for each place, with an estimate that may be out of date: estimates only grow, so the smallest
        # that is up to date is the smallest of all. A key twice in here is not possible.
        self._heap: list[tuple[int, str]] = []
        self.total_weight = 0
        self.total_count = 0
        self.total_failures = 0

    @property
    def capacity(self) -> int:
        """Number of places."""
        return self._capacity

    @property
    def error(self) -> int:
        """Upper bound of the weight of any key without a place; 0 while places are free."""
        return self._smallest()[0] if len(self._places) == self._capacity else 0

    def __len__(self) -> int:
        """Keys with a place."""
        return len(self._places)

    def __iter__(self) -> Iterator[KeyLoad]:
        """Keys with a place, in no order."""
        for key, place in self._places.items():
            yield KeyLoad(key, place.weight, place.count, place.failures, place.error)

    def add(self, key: str, weight: int, *, failed: bool = False) -> None:
        """Count one update.

        Args:
            key: the key.
            weight: what it adds; below zero counts as zero.
            failed: whether it failed.
        """
        weight = max(weight, 0)
        place = self._places.get(key)
        if place is None:
            place = self._take_place(key)
        place.weight += weight
        place.count += 1
        place.failures += failed
        self.total_weight += weight
        self.total_count += 1
        self.total_failures += failed

    def _take_place(self, key: str) -> _Place:
        if len(self._places) < self._capacity:
            place = _Place(0)
            self._heap.append((0, key))
            if len(self._heap) == self._capacity:
                heapify(self._heap)
        else:
            estimate, evicted = self._smallest()
            del self._places[evicted]
            place = _Place(estimate)
            heapreplace(self._heap, (estimate, key))
        self._places[key] = place
        return place

    def _smallest(self) -> tuple[int, str]:
        """The key with the smallest estimate; each entry that is brought up to date was made so by an update."""
        heap = self._heap
        while True:
            noted, key = heap[0]
            place = self._places[key]
            estimate = place.error + place.weight
            if noted == estimate:
                return heap[0]
            heapreplace(heap, (estimate, key))
