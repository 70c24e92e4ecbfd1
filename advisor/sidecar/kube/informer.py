"""One cache for each watched kind, shared by all who want to know of its changes."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from advisor.queueing.informer import Change, ChangeType, InformerCache
from advisor.queueing.objectstore import WatchEvent
from advisor.runtime.context import Clock
from advisor.runtime.reconciling import one_line
from advisor.sidecar.kube.kinds import Selection
from advisor.sidecar.kube.reading import KubeReader, Wait
from advisor.sidecar.kube.reflector import Reflector, ReflectorState
from advisor.sidecar.observed import Observed

__all__ = ["Listener", "SharedInformer"]

_LOGGER = logging.getLogger("advisor.sidecar")

Listener = Callable[[float, Change[Observed]], None]
"""Is told each change, with the Unix seconds at which it was received. It runs in the informer's thread: what it raises
is logged and counted, and nobody else misses anything by it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Subscriber:
    listener: Listener
    synced: Callable[[], None]


def _ignore() -> None:
    """Nobody asked."""


class SharedInformer:
    """The cache of one kind, kept up to date by one reflector, with any number of listeners.

    Args:
        reader: the client.
        selection: what is watched.
        wait: sleeps between tries; what it returns ends the informer.
        namespaces: the namespaces of interest; None for all that are selected.
        resync_period_ns: after how long all objects are told again as unchanged updates, with the next word of the
            server; None for never.
        clock: Unix seconds.
        monotonic_ns: a clock that never goes back.

    Attributes:
        selection: what is watched.
        listener_errors: how often a listener raised.
    """

    def __init__(
        self,
        reader: KubeReader,
        selection: Selection,
        wait: Wait,
        *,
        namespaces: Collection[str] | None = None,
        resync_period_ns: int | None = None,
        clock: Callable[[], float] = time.time,
        monotonic_ns: Clock = time.monotonic_ns,
    ) -> None:
        self.selection = selection
        self.listener_errors = 0
        self._clock = clock
        self._monotonic_ns = monotonic_ns
        self._reflector = Reflector(reader, selection, self, wait, clock=clock)
        self._cache: InformerCache[Observed] = InformerCache(namespaces=namespaces, resync_period_ns=resync_period_ns)
        # Held while changes are told, so that they are told in order; the other one only while the cache is touched, so
        # that a listener, or whoever it waits for, may look things up.
        self._telling = threading.Lock()
        self._lock = threading.Lock()
        self._subscribers: list[_Subscriber] = []
        self._failure = ""
        self._thread = threading.Thread(target=self._reflector.run, name=f"watch-{selection.kind.name}", daemon=True)

    def __len__(self) -> int:
        """Objects in the cache."""
        with self._lock:
            return len(self._cache)

    @property
    def has_synced(self) -> bool:
        """Whether the first list is in the cache."""
        with self._lock:
            return self._cache.has_synced

    def get(self, key: str) -> Observed | None:
        """The object of a ``namespace/name`` as last seen; None where there is none."""
        with self._lock:
            return self._cache.get(key)

    def objects(self, namespace: str | None = None) -> tuple[Observed, ...]:
        """All objects as last seen, or those of one namespace."""
        with self._lock:
            return self._cache.objects(namespace)

    def state(self) -> ReflectorState:
        """How the watch fares."""
        return self._reflector.state()

    @contextmanager
    def listening(self, listener: Listener, synced: Callable[[], None] = _ignore) -> Iterator[None]:
        """Tell a listener every change while the block lasts.

        It is first told all objects that are in the cache already, as creates of the initial list.

        Args:
            listener: see `Listener`.
            synced: called once, when the listener has been told the initial list.
        """
        subscriber = self.listen(listener, synced)
        try:
            yield
        finally:
            with self._telling:
                self._subscribers.remove(subscriber)

    def listen(self, listener: Listener, synced: Callable[[], None] = _ignore) -> _Subscriber:
        """The same for good."""
        subscriber = _Subscriber(listener, synced)
        with self._telling:
            now = self._clock()
            for one in self.objects():
                self._tell_one(subscriber, now, Change(ChangeType.CREATE, None, one, is_initial_list=True))
            self._subscribers.append(subscriber)
            if self.has_synced:
                synced()
        return subscriber

    def start(self) -> None:
        """Begin to watch, in a thread."""
        self._thread.start()

    def join(self, timeout_seconds: float) -> bool:
        """Wait until the thread has ended; whether it has."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, timeout_seconds))
        return not self._thread.is_alive()

    def listed(self, time: float, objects: list[Observed]) -> None:
        """Take all objects as they are now; see `Sink`."""
        with self._telling:
            was_synced = self.has_synced
            with self._lock:
                now_ns = self._monotonic_ns()
                self._cache.receive_list(now_ns, objects)
                changes = self._cache.tick(now_ns)
            self._tell(time, changes)
            if not was_synced:
                for subscriber in self._subscribers:
                    subscriber.synced()
        if self._failure:
            _LOGGER.info("%s: watched again", self.selection.kind.name)
            self._failure = ""

    def event(self, time: float, event: WatchEvent[Observed]) -> None:
        """Take one change; see `Sink`."""
        with self._telling:
            with self._lock:
                now_ns = self._monotonic_ns()
                self._cache.receive(now_ns, event)
                changes = self._cache.tick(now_ns)
            self._tell(time, changes)

    def failed(self, text: str) -> None:
        """Log a failure, once for each that is new; see `Sink`."""
        if text != self._failure:
            _LOGGER.warning("%s: %s", self.selection.kind.name, text)
        self._failure = text

    def _tell(self, time: float, changes: list[Change[Observed]]) -> None:
        for change in changes:
            for subscriber in self._subscribers:
                self._tell_one(subscriber, time, change)

    def _tell_one(self, subscriber: _Subscriber, time: float, change: Change[Observed]) -> None:
        try:
            subscriber.listener(time, change)
        except Exception as error:  # noqa: BLE001 - one listener's fault must not end the watch of all
            self.listener_errors += 1
            _LOGGER.error("%s: a listener failed: %s", self.selection.kind.name, one_line(error))  # noqa: TRY400
