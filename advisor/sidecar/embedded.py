"""The embedded operator: controllers that watch what KubeRay's watch, by the same rules, and write nothing.

There is one for RayClusters, one for RayJobs and one for RayServices, each with its queue and workers on
`advisor.runtime`. Whoever puts the sidecar together says what is done with a key.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from random import random as evenly
from types import MappingProxyType

from advisor.queueing.controlleroptions import ControllerOptions, ManagerDefaults, resolve
from advisor.queueing.handlers import Watch
from advisor.queueing.informer import Change, jittered_resync_ns
from advisor.queueing.outcome import SUCCESS, Outcome
from advisor.queueing.types import NANOSECONDS_PER_SECOND, AddOptions
from advisor.runtime.context import Cancellation, ReconcileContext, ReconcileRequest
from advisor.runtime.driver import Driver
from advisor.runtime.reconciling import Reconciler
from advisor.runtime.source import SourceHandle
from advisor.sidecar.kube.informer import Listener, SharedInformer
from advisor.sidecar.kube.kinds import KINDS, Selection
from advisor.sidecar.kube.reading import KubeReader
from advisor.sidecar.kube.reflector import ReflectorState
from advisor.sidecar.observed import Observed
from advisor.sidecar.rules import RULES

__all__ = ["STOP_SECONDS", "EmbeddedOperator", "EmbeddedSettings", "Examine"]

STOP_SECONDS = 2.0
_SYNC_TIMEOUT_NS = 10 * 365 * 86_400 * NANOSECONDS_PER_SECOND
"""A server that is not there yet is waited for: the sidecar must not end because of it, as an operator would."""

Examine = Callable[[float, str, str, Observed | None], float | None]
"""What is done with a key: given the Unix seconds, the label of the KubeRay controller, the key, and the object as last
seen (None where it is gone). Seconds after which the key is to be looked at again; None for not before it changes. It
runs in a worker, for one key at a time, and what it raises is retried later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """How the embedded operator works.

    Attributes:
        workers: MaxConcurrentReconciles of each controller.
        has_priorities: the priority queue, or else the classic one.
        namespaces: the namespaces that the KubeRay operator watches; empty for all. With several, all are read.
        resync: whether unchanged objects are told again every ten hours or so, as in controller-runtime.
    """

    workers: int = 1
    has_priorities: bool = True
    namespaces: tuple[str, ...] = ()
    resync: bool = True


@dataclass(frozen=True, slots=True)
class _KindSource:
    """One kind as a source of keys for one controller."""

    informer: SharedInformer
    watch: Watch
    has_priorities: bool

    @property
    def name(self) -> str:
        """The kind."""
        return self.informer.selection.kind.name

    def run(self, handle: SourceHandle) -> None:
        """Add keys until cancelled; see `Source`."""
        queue = _HandleQueue(handle, has_priorities=self.has_priorities)

        def handle_change(_: float, change: Change[Observed]) -> None:
            self.watch.handle(0, change, queue)

        handle.started()
        with self.informer.listening(handle_change, handle.synced):
            while not handle.wait(3600.0):
                pass


class _HandleQueue:
    """The controller's queue as its handlers see it; the controller has its own clock."""

    __slots__ = ("_handle", "has_priorities")

    def __init__(self, handle: SourceHandle, *, has_priorities: bool) -> None:
        self._handle = handle
        self.has_priorities = has_priorities

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:  # noqa: ARG002 - the name is the protocol's
        self._handle.add(*keys, options=options)


class EmbeddedOperator:
    """All controllers and the informers that they share.

    Args:
        reader: the client.
        examine: what is done with a key.
        settings: see there.
        close: ends what the reader streams, so that a stop need not wait for the server's next word.
        clock: Unix seconds.
        random: evenly distributed between 0 and 1; spreads resyncs.

    Attributes:
        informers: one for each watched kind, by its name.
        drivers: one for each controller, to be exposed; named ``advisor-`` and KubeRay's label.
    """

    def __init__(
        self,
        reader: KubeReader,
        examine: Examine,
        settings: EmbeddedSettings | None = None,
        *,
        close: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = evenly,
    ) -> None:
        self._random = random
        self._settings = settings or EmbeddedSettings()
        self._close = close
        self._clock = clock
        self._cancellation = Cancellation()
        make = partial(self._informer, reader)
        self.informers: Mapping[str, SharedInformer] = MappingProxyType({name: make(name) for name in KINDS})
        self.drivers = tuple(self._driver(label, examine) for label in RULES)

    @property
    def error(self) -> BaseException | None:
        """What ended a controller, if anything did."""
        return next((driver.error for driver in self.drivers if driver.error is not None), None)

    @property
    def has_synced(self) -> bool:
        """Whether the first list of every kind is through."""
        return all(informer.has_synced for informer in self.informers.values())

    def states(self) -> dict[str, ReflectorState]:
        """How each kind's watch fares."""
        return {name: informer.state() for name, informer in self.informers.items()}

    def listen(self, listener: Listener) -> None:
        """Tell a listener every change of every kind, each kind's in order; best before the start."""
        for informer in self.informers.values():
            informer.listen(listener)

    def start(self) -> None:
        """Begin, and return at once; a server that is not there is waited for."""
        for driver in self.drivers:
            driver.start()
        for informer in self.informers.values():
            informer.start()

    def stop(self, timeout_seconds: float = STOP_SECONDS) -> bool:
        """Stop, and wait at most so long; whether everything has ended.

        What has not ended, such as a wait for a server that does not answer, ends with the process.
        """
        ends_at = time.monotonic() + timeout_seconds
        self._cancellation.cancel(time.monotonic_ns())
        for driver in self.drivers:
            driver.request_stop()
        self._close()
        all_ended = True
        for driver in self.drivers:
            # What ended it is in `error` and in the log.
            with suppress(Exception):
                all_ended &= not driver.stop(ends_at - time.monotonic())
        for informer in self.informers.values():
            all_ended &= informer.join(ends_at - time.monotonic())
        return all_ended

    def _informer(self, reader: KubeReader, name: str) -> SharedInformer:
        namespaces = self._settings.namespaces
        selection = Selection(KINDS[name], namespaces[0] if len(namespaces) == 1 else "")
        resync_ns = jittered_resync_ns(self._random()) if self._settings.resync else None
        return SharedInformer(
            reader,
            selection,
            self._cancellation.wait,
            namespaces=namespaces or None,
            resync_period_ns=resync_ns,
            clock=self._clock,
        )

    def _driver(self, label: str, examine: Examine) -> Driver:
        rules, settings = RULES[label], self._settings
        options = ControllerOptions(
            f"advisor-{label}",
            max_concurrent_reconciles=settings.workers,
            cache_sync_timeout_ns=_SYNC_TIMEOUT_NS,
            needs_leader_election=False,
            use_priority_queue=settings.has_priorities,
        )
        sources = [_KindSource(self.informers[kind], watch, settings.has_priorities) for kind, watch in rules.watches]
        reconciler = self._reconciler(label, self.informers[rules.kind], examine)
        return Driver(resolve(options, ManagerDefaults()), reconciler, sources=sources)

    def _reconciler(self, label: str, informer: SharedInformer, examine: Examine) -> Reconciler:
        def reconcile(request: ReconcileRequest, _: ReconcileContext) -> Outcome:
            seconds = examine(self._clock(), label, request.key, informer.get(request.key))
            return SUCCESS if seconds is None else Outcome(requeue_after_ns=round(seconds * NANOSECONDS_PER_SECOND))

        return reconcile
