"""What both work queues take and give: options of an add, hand-offs, and the protocols of queue and retry limiter.

Time is integer nanoseconds of any one clock that never goes back: ready times order the queues, and the exponential
delays are exact (research: controller-runtime 9). Nothing here reads a clock; every operation is told the time.
"""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from advisor.queueing.metrics import QueueMetrics

__all__ = ["IMMEDIATE", "NANOSECONDS_PER_SECOND", "AddOptions", "Handoff", "RetryLimiter", "WorkQueue"]

NANOSECONDS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class AddOptions:
    """How a key is added (research: controller-runtime 1.2).

    Attributes:
        after_ns: delay before the key is ready; zero or less means now.
        rate_limited: ask the queue's retry limiter; with a delay as well the smaller of both holds.
        priority: higher goes first; None is 0, but told apart from it by whoever lowers priorities.
    """

    after_ns: int = 0
    rate_limited: bool = False
    priority: int | None = None


IMMEDIATE = AddOptions()


class Handoff(NamedTuple):
    """One answer to a waiter.

    Attributes:
        waiter: what `get` was called with.
        key: the key handed out, locked until `done`; None when the queue has been shut down.
        priority: the merged priority of the key at hand-off; 0 in a queue without priorities and at shutdown.
    """

    waiter: Hashable
    key: str | None
    priority: int


class RetryLimiter(Protocol):
    """How long a key that failed has to wait (client-go's typed rate limiter)."""

    def when_ns(self, now_ns: int, key: str) -> int:
        """Count one more failure of the key and return its delay in nanoseconds."""
        ...

    def forget(self, key: str) -> None:
        """Drop the key's failures."""
        ...

    def num_requeues(self, key: str) -> int:
        """Failures counted since the key was last forgotten."""
        ...


class WorkQueue(Protocol):
    """A sequential work queue. After each operation the driver takes what is in `handoffs`, in order.

    A queue is driven by whoever has the clock: call `tick` at `next_deadline_ns`, and any operation at any time not
    before the last one. An operation first lets expire what is due by then, so a late tick loses nothing; a shutdown
    alone does not, as it drains nothing more.
    """

    handoffs: deque[Handoff]
    metrics: QueueMetrics

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys; those already pending are merged. Ignored once the queue has been shut down."""
        ...

    def get(self, now_ns: int, waiter: Hashable) -> None:
        """Line up for the next key; the answer comes through `handoffs`, at once or later."""
        ...

    def done(self, now_ns: int, key: str) -> None:
        """Give back a key that was handed out; harmless for any other."""
        ...

    def forget(self, key: str) -> None:
        """Drop the key's failures from the retry limiter."""
        ...

    def num_requeues(self, key: str) -> int:
        """Failures of the key that the retry limiter holds."""
        ...

    def tick(self, now_ns: int) -> None:
        """Make ready what is due."""
        ...

    def next_deadline_ns(self) -> int | None:
        """When the next waiting key is due; None when none waits."""
        ...

    def shut_down(self, now_ns: int) -> None:
        """End the queue and answer its waiters; safe to call again."""
        ...

    def __len__(self) -> int:
        """Keys that are ready, counted as the real queue's Len does."""
        ...
