"""Results that are costly to make and good for a while, made once however many ask for them at a time."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

__all__ = ["Remembered"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
_MOST: Final = 32


@dataclass(slots=True)
class _Place(Generic[Value]):
    """One result, when it was made and for how long it is good; locked while it is made."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: float = 0.0
    seconds: float = 0.0
    value: Value | None = None


class Remembered(Generic[Key, Value]):
    """The results that were asked for last, at most so many.

    Args:
        clock: seconds; one that is set back makes everything anew.
        most: results that are kept.
    """

    def __init__(self, clock: Callable[[], float], most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._places: OrderedDict[Key, _Place[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], tuple[Value, float]]) -> Value:
        """The result of a key; ``make`` makes it, and says for how many seconds it is good.

        Whoever asks for the same meanwhile waits. What ``make`` raises is raised, and not remembered.
        """
        with self._lock:
            place = self._places.setdefault(key, _Place())
            self._places.move_to_end(key)
            while len(self._places) > self._most:
                self._places.popitem(last=False)
        with place.lock:
            if place.value is None or not 0.0 <= self._clock() - place.made < place.seconds:
                place.value, place.seconds = make()
                place.made = self._clock()
            return place.value
