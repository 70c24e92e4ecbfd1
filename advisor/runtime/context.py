"""What a reconciler is given: the key to reconcile, and how long it may take (research: controller-runtime 3.3)."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from advisor.queueing.outcome import ReconcileError
from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = [
    "Cancellation",
    "Clock",
    "DeadlineExceededError",
    "ReconcileCancelledError",
    "ReconcileContext",
    "ReconcileRequest",
]

Clock = Callable[[], int]
"""Nanoseconds of a clock that never goes back, as `time.monotonic_ns`."""


class DeadlineExceededError(ReconcileError):
    """The deadline of the reconcile has passed."""


class ReconcileCancelledError(ReconcileError):
    """The driver is being stopped."""


@dataclass(frozen=True, slots=True)
class ReconcileRequest:
    """What to reconcile: the key, and the priority it was handed out with (0 from a queue without priorities)."""

    key: str
    priority: int


class Cancellation:
    """Tells every reconcile and every source of one driver that it is being stopped, and since when."""

    __slots__ = ("_event", "at_ns")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.at_ns: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the stop has begun."""
        return self._event.is_set()

    def cancel(self, now_ns: int) -> None:
        """Begin the stop; a second call changes nothing."""
        if self.at_ns is None:
            self.at_ns = now_ns
            self._event.set()

    def wait(self, seconds: float) -> bool:
        """Sleep until the stop begins, at most so long; whether it has begun."""
        return self._event.wait(min(max(seconds, 0.0), threading.TIMEOUT_MAX))


class ReconcileContext:
    """Limits of one reconcile. A reconciler looks at them between its steps; nothing interrupts it.

    Args:
        clock: the driver's.
        cancellation: the driver's.
        deadline_ns: when the reconcile should be over, in the clock's nanoseconds; None for never.
    """

    __slots__ = ("_cancellation", "_clock", "deadline_ns")

    def __init__(self, clock: Clock, cancellation: Cancellation, deadline_ns: int | None = None) -> None:
        self._clock = clock
        self._cancellation = cancellation
        self.deadline_ns = deadline_ns

    def remaining_seconds(self) -> float | None:
        """Seconds until the deadline, 0 once it has passed; None without a deadline."""
        if self.deadline_ns is None:
            return None
        return max(0, self.deadline_ns - self._clock()) / NANOSECONDS_PER_SECOND

    def is_cancelled(self) -> bool:
        """Whether the driver is being stopped or the deadline has passed."""
        return self._cancellation.is_set or self.remaining_seconds() == 0

    def has_timed_out(self) -> bool:
        """Whether the deadline has passed, and not only after the driver's stop had begun."""
        if self.deadline_ns is None or self._clock() < self.deadline_ns:
            return False
        cancelled_ns = self._cancellation.at_ns
        return cancelled_ns is None or cancelled_ns >= self.deadline_ns

    def wait(self, seconds: float) -> bool:
        """Sleep, at most until the driver is being stopped or the deadline has passed; whether one of these holds."""
        remaining = self.remaining_seconds()
        self._cancellation.wait(seconds if remaining is None else min(seconds, remaining))
        return self.is_cancelled()

    def check(self) -> None:
        """Raise where the reconcile should not go on.

        Raises:
            DeadlineExceededError: its deadline has passed.
            ReconcileCancelledError: the driver is being stopped.
        """
        if self.has_timed_out():
            raise DeadlineExceededError("the deadline of the reconcile has passed")
        if self._cancellation.is_set:
            raise ReconcileCancelledError("the controller is being stopped")
