"""The part that watches objects: the embedded operator, run again where something ended it."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence

from advisor.queueing.informer import Change
from advisor.runtime.limiter import LimiterSnapshot
from advisor.runtime.snapshot import ControllerSnapshot
from advisor.sidecar.embedded import EmbeddedOperator, EmbeddedSettings
from advisor.sidecar.kube.client import KubeClient, RequestCounts
from advisor.sidecar.observed import Observed

__all__ = ["OnChange", "Watching"]

_LOOK_SECONDS = 1.0

OnChange = Callable[[float, Change[Observed]], None]


class Watching:
    """A component that watches what KubeRay's controllers watch.

    Args:
        connect: makes the client; called again after a failure.
        settings: of the embedded operator.
        on_change: who is told each change, with the Unix seconds at which it was seen.
    """

    name = "watch"

    def __init__(
        self, connect: Callable[[], KubeClient], settings: EmbeddedSettings, on_change: Sequence[OnChange]
    ) -> None:
        self._connect = connect
        self._settings = settings
        self._on_change = tuple(on_change)
        self._client: KubeClient | None = None
        self._operator: EmbeddedOperator | None = None

    def run(self, stop: threading.Event) -> None:
        """Watch until it is time to stop.

        Raises:
            Exception: what ended a controller, or hinders the connection.
        """
        self._client = client = self._connect()
        self._operator = operator = EmbeddedOperator(client, _look, self._settings, close=client.close)
        for listener in self._on_change:
            operator.listen(listener)
        operator.start()
        try:
            while not stop.wait(_LOOK_SECONDS):
                if operator.error is not None:
                    raise operator.error
        finally:
            operator.stop()

    def synced(self) -> Collection[str]:
        """Kinds whose first list is through."""
        operator = self._operator
        return () if operator is None else [name for name, one in operator.informers.items() if one.has_synced]

    def controllers(self) -> Sequence[ControllerSnapshot]:
        """The embedded operator's controllers."""
        operator = self._operator
        return () if operator is None else [driver.snapshot() for driver in operator.drivers]

    def requests(self) -> RequestCounts | None:
        """Requests of the client; None before it is there."""
        return None if self._client is None else self._client.counts()

    def limiter(self) -> LimiterSnapshot | None:
        """The client's limiter; None before it is there."""
        return None if self._client is None else self._client.limiter.snapshot()

    def health(self) -> str:
        """What cannot be watched, and why."""
        operator = self._operator
        states = {} if operator is None else operator.states()
        return "; ".join(f"{name}: {state.problem}" for name, state in states.items() if state.problem)

    def counters(self) -> Mapping[str, float]:
        """Lists made anew and tries that failed, by kind."""
        operator = self._operator
        states = {} if operator is None else operator.states()
        return {
            **{f"relists_{name}": float(state.relists) for name, state in states.items()},
            **{f"errors_{name}": float(state.errors) for name, state in states.items()},
        }


def _look(now: float, controller: str, key: str, found: Observed | None) -> None:
    """Per-key state follows from each change, in order; a look at the object adds nothing to it."""
