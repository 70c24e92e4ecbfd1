"""Lines that come one after another and are read by any number of readers, each at its own pace."""

import threading
from collections import deque
from collections.abc import Iterable
from itertools import islice

__all__ = ["Feed"]


class Feed:
    """Keeps the newest lines; a reader that is slower than that loses the oldest ones.

    Args:
        most: how many lines to keep.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._kept: deque[str] = deque(maxlen=most)
        self._total = 0
        self._changed = threading.Condition()

    def add(self, lines: Iterable[str]) -> None:
        """Append lines, each without its end."""
        with self._changed:
            before = self._total
            for line in lines:
                self._kept.append(line)
                self._total += 1
            if self._total > before:
                self._changed.notify_all()

    def tail(self, count: int | None) -> int:
        """Where a reader begins who wants the last so many lines; all that are kept where None."""
        with self._changed:
            kept = len(self._kept)
            return self._total - (kept if count is None else min(count, kept))

    def read(self, position: int, wait_seconds: float = 0.0) -> tuple[list[str], int]:
        """Lines from a position on, and the position behind them.

        Args:
            position: where to begin.
            wait_seconds: how long to wait where there is none yet.
        """
        with self._changed:
            if position >= self._total and wait_seconds > 0.0:
                self._changed.wait(wait_seconds)
            first = self._total - len(self._kept)
            return list(islice(self._kept, max(0, position - first), None)), self._total
