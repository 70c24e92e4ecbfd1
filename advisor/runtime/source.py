"""Where a controller's keys come from in real time: one thread for each source."""

from collections.abc import Callable
from typing import Protocol

from advisor.queueing.sources import SourceState
from advisor.queueing.types import IMMEDIATE, AddOptions
from advisor.runtime.context import Cancellation

__all__ = ["Source", "SourceHandle"]


class SourceHandle:
    """What a source is given: the controller's queue, and whom to tell how far it is."""

    def __init__(
        self,
        add: Callable[[AddOptions, tuple[str, ...]], None],
        cancellation: Cancellation,
        report: Callable[[SourceState], None],
    ) -> None:
        self._add = add
        self._cancellation = cancellation
        self._report = report
        self.has_started = False
        self.has_synced = False

    def add(self, *keys: str, options: AddOptions = IMMEDIATE) -> None:
        """Add keys to the controller's queue."""
        self._add(options, keys)

    def started(self) -> None:
        """Say that the source is up and its initial list under way; what follows is waiting for its cache."""
        if not self.has_started:
            self.has_started = True
            self._report(SourceState.SYNCING)

    def synced(self) -> None:
        """Say that the initial list has gone through every handler; workers wait for this."""
        if not self.has_synced:
            self.has_started = self.has_synced = True
            self._report(SourceState.SYNCED)

    def is_cancelled(self) -> bool:
        """Whether the controller is being stopped; the source then returns."""
        return self._cancellation.is_set

    def wait(self, seconds: float) -> bool:
        """Sleep until the controller is being stopped, at most so long; whether it is."""
        return self._cancellation.wait(seconds)


class Source(Protocol):
    """A source of keys.

    Attributes:
        name: distinct among the sources of one controller, for messages.
    """

    @property
    def name(self) -> str:
        """The name."""
        ...

    def run(self, handle: SourceHandle) -> None:
        """Add keys until cancelled, in a thread of its own.

        It calls `handle.started` once it is up and `handle.synced` after the initial list; one that returns has synced.
        What it raises ends the controller.
        """
        ...
