"""What was asked of a store, what it cost, and what the store remarked."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import Final

from advisor.errors import StoreBudgetError

__all__ = ["Cost", "Ledger", "Meter", "about", "purpose"]

_MOST_WARNINGS: Final = 50
_PURPOSE: Final[ContextVar[str]] = ContextVar("purpose", default="")


@contextmanager
def about(text: str) -> Iterator[None]:
    """While inside, requests of this thread are made for this purpose."""
    token = _PURPOSE.set(text)
    try:
        yield
    finally:
        _PURPOSE.reset(token)


def purpose() -> str:
    """What requests of this thread are made for, or ""."""
    return _PURPOSE.get()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request cost, all its attempts together, whether it succeeded or not.

    ``received_bytes`` are those on the wire, ``body_bytes`` those of the last answer unpacked. ``wait_seconds`` is the
    time from sending to the last byte, ``pause_seconds`` that between attempts, ``parse_seconds`` our own to unpack and
    decode. ``series`` and ``samples`` are those of the answer; of the index, ``series`` counts the entries.
    """

    purpose: str
    path: str
    method: str
    attempts: int
    received_bytes: int
    body_bytes: int
    wait_seconds: float
    pause_seconds: float
    parse_seconds: float
    series: int
    samples: int


@dataclass(slots=True)
class Meter:
    """Counts while one request is made; the fields are those of :class:`Cost`."""

    path: str
    method: str
    attempts: int = 0
    received_bytes: int = 0
    body_bytes: int = 0
    wait_seconds: float = 0.0
    pause_seconds: float = 0.0
    parse_seconds: float = 0.0
    series: int = 0
    samples: int = 0

    def cost(self, purpose: str) -> Cost:
        """What was counted."""
        return Cost(purpose, **asdict(self))


class Ledger:
    """Costs of all requests in the order in which they ended, what the store remarked, and how many are left.

    Args:
        budget: how many requests may be made, attempts included.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.costs: list[Cost] = []
        self._made = 0
        self._warnings: dict[str, None] = {}
        self._untold = 0
        self._lock = threading.Lock()

    @contextmanager
    def measuring(self, meter: Meter) -> Iterator[None]:
        """While inside, the meter counts; then its cost is entered, also where the request fails."""
        try:
            yield
        finally:
            with self._lock:
                self.costs.append(meter.cost(purpose()))

    def spend(self, where: str) -> None:
        """Count one more request.

        Raises:
            StoreBudgetError: it may not be made.
        """
        with self._lock:
            if self._made >= self.budget:
                raise StoreBudgetError(
                    f"the budget of {self.budget} requests is spent", where=where, hint="ask for a shorter time"
                )
            self._made += 1

    def warn(self, texts: Iterable[str]) -> None:
        """Keep what the store remarks, once each."""
        with self._lock:
            for text in texts:
                if text in self._warnings:
                    continue
                if len(self._warnings) < _MOST_WARNINGS:
                    self._warnings[text] = None
                else:
                    self._untold += 1

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the store remarked, in the order in which it first did."""
        with self._lock:
            more = (f"and {self._untold} more warnings",) if self._untold else ()
            return (*self._warnings, *more)
