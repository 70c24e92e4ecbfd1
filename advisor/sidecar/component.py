"""A part of the sidecar that runs in a thread of its own, and who keeps it running."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Protocol

from advisor.errors import AdvisorError

__all__ = ["Component", "RestartPauses", "Supervisor"]

_LOG = logging.getLogger(__name__)


class Component(Protocol):
    """One part.

    ``health`` and ``counters`` are asked from other threads while it runs.
    """

    @property
    def name(self) -> str:
        """What logs and metrics call it."""
        ...

    def run(self, stop: threading.Event) -> None:
        """Work until ``stop`` is set, and end within a second then; after an exception it is called again.

        Returning earlier says that there is nothing more to do, as at the end of standard input.
        """
        ...

    def health(self) -> str:
        """What is wrong, in a few words; "" where nothing is."""
        ...

    def counters(self) -> Mapping[str, float]:
        """What it has done so far, by name."""
        ...


class RestartPauses:
    """Pauses between attempts, in seconds: each twice the one before, from the first again after a good while."""

    FIRST = 1.0
    LONGEST = 60.0

    def __init__(self) -> None:
        self._next = self.FIRST

    def after(self, ran_seconds: float) -> float:
        """The pause after an attempt that went well for so long."""
        if ran_seconds >= self.LONGEST:
            self._next = self.FIRST
        pause = self._next
        self._next = min(self.LONGEST, 2.0 * pause)
        return pause


class Supervisor:
    """Runs one component in a daemon thread, again and again where it raises.

    Args:
        component: what to run.
        stop: ends it.
        clock: seconds that never go back.
    """

    def __init__(
        self, component: Component, stop: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.component = component
        self._stop = stop
        self._clock = clock
        self._failures = 0
        self._error = ""
        self._ended = False
        self._thread = threading.Thread(target=self._keep, name=component.name, daemon=True)

    @property
    def failures(self) -> int:
        """How often it has raised."""
        return self._failures

    @property
    def error(self) -> str:
        """Why it does not run just now; "" where it runs or has ended by itself."""
        return self._error

    @property
    def has_ended(self) -> bool:
        """Whether it has returned, and will not run again."""
        return self._ended

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, seconds: float) -> bool:
        """Wait until it has ended, for some seconds at most; whether it has."""
        self._thread.join(max(0.0, seconds))
        return not self._thread.is_alive()

    def _keep(self) -> None:
        pauses = RestartPauses()
        while not self._stop.is_set():
            began = self._clock()
            self._error = ""
            try:
                self.component.run(self._stop)
            except Exception as error:  # noqa: BLE001 - whatever it is, the other parts go on
                self._failures += 1
                self._error = f"{type(error).__name__}: {error}"
                pause = pauses.after(self._clock() - began)
                # What one of our own errors says is enough; where another came from has to be seen.
                trace = None if isinstance(error, AdvisorError) else error
                _LOG.error("%s failed, and runs again in %g s: %s", self.component.name, pause, error, exc_info=trace)
                self._stop.wait(pause)
            else:
                break
        self._ended = True
