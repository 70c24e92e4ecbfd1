"""How long to wait before the next try, as client-go's reflectors do: 0.8 s to 30 s, doubled, up to as much again."""

from collections.abc import Callable

__all__ = ["Backoff"]

_FIRST_SECONDS = 0.8
_LONGEST_SECONDS = 30.0


class Backoff:
    """Delays that grow with each failure in a row.

    Args:
        random: evenly distributed between 0 and 1; spreads those who lost the same server.
    """

    __slots__ = ("_random", "_seconds")

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._seconds = _FIRST_SECONDS

    def next_seconds(self, at_least: float = 0.0) -> float:
        """The delay after one more failure; at least what the server asks for."""
        seconds = self._seconds
        self._seconds = min(2.0 * seconds, _LONGEST_SECONDS)
        return max(at_least, min(seconds * (1.0 + self._random()), _LONGEST_SECONDS))

    def reset(self) -> None:
        """Start over: it works again."""
        self._seconds = _FIRST_SECONDS
