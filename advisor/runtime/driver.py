"""Runs one controller in real time (research: controller-runtime 3.1 to 3.6).

Each worker and each source has a thread, and one more keeps the time: it starts sources and workers when they may,
expires delays, renews the lease and ends it all. All of them are daemons, as nothing can interrupt a reconcile.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from advisor.queueing.controller import Work
from advisor.queueing.controlleroptions import ResolvedOptions, StartupError, make_queue
from advisor.queueing.election import Role
from advisor.queueing.sources import Sources, SourceState
from advisor.queueing.types import IMMEDIATE, AddOptions
from advisor.runtime.candidacy import Candidacy
from advisor.runtime.context import Cancellation, Clock, ReconcileContext, ReconcileRequest
from advisor.runtime.machine import DrivenQueue, Machine
from advisor.runtime.reconciling import LOGGER, Reconciler, one_line, reconcile
from advisor.runtime.snapshot import ControllerSnapshot
from advisor.runtime.source import Source, SourceHandle

__all__ = ["GRACEFUL_STOP_SECONDS", "TOP_KEYS", "Driver", "LeaseLostError", "Leftovers"]

GRACEFUL_STOP_SECONDS = 30.0
"""How long a manager waits for its controllers (research: controller-runtime 3.4)."""
TOP_KEYS = 20


class LeaseLostError(Exception):
    """This replica led and could not renew its lease; controller-runtime's process ends here."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What did not end within the time given to `stop`; its threads go on by themselves.

    Attributes:
        reconciles: those still in progress.
        sources: names of sources that did not return.
    """

    reconciles: tuple[Work, ...] = ()
    sources: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reconciles or self.sources)


class Driver:
    """One controller in real time. Use it in a `with` statement, or call `start` and `stop`.

    An error of a source, a cache that does not sync in time, a lost lease, and a breakdown that is not recovered end
    the driver. The error is raised by `wait_until_working`, `join` and `stop`.

    Args:
        options: as `advisor.queueing.controlleroptions.resolve` gives them.
        reconciler: called by the workers; several at a time, but never for one key at a time.
        sources: where keys come from; workers start when all have synced.
        queue: nothing else may use it; None makes the one that the options ask for.
        candidacy: this replica's part in an election; None leads always, as does a controller that needs no leader.
        clock: nanoseconds of a clock that never goes back. Sleeps are in real time whatever it says.
        top_keys: how many keys have their work time counted.

    Raises:
        StartupError: there is no reconciler.
    """

    def __init__(
        self,
        options: ResolvedOptions,
        reconciler: Reconciler,
        *,
        sources: Iterable[Source] = (),
        queue: DrivenQueue | None = None,
        candidacy: Candidacy | None = None,
        clock: Clock = time.monotonic_ns,
        top_keys: int = TOP_KEYS,
    ) -> None:
        if not callable(reconciler):
            raise StartupError(f"{options.name}: a controller needs a reconciler")
        self._options = options
        self._reconciler = reconciler
        self._candidacy = candidacy if options.needs_leader_election else None
        self._clock = clock
        self._machine = Machine(
            options.name,
            make_queue(options) if queue is None else queue,
            options.max_concurrent_reconciles,
            clock,
            top_keys,
        )
        self._cancellation = Cancellation()
        self._sources = Sources(options.name, options.cache_sync_timeout_ns)
        self._source_threads: dict[str, threading.Thread] = {}
        self._timer = threading.Thread(target=self._keep_time, name=f"{options.name}-timer", daemon=True)
        self._has_started = False
        self._workers_left = 0
        self._sync_deadline_ns: int | None = None
        self._stop_requested = False
        self._error: BaseException | None = None
        self._working = threading.Event()
        self._ended = threading.Event()
        for source in sources:
            self.watch(source)

    @property
    def name(self) -> str:
        """The controller's name."""
        return self._options.name

    @property
    def error(self) -> BaseException | None:
        """What ended the driver, if anything did."""
        return self._error

    def add(self, *keys: str, options: AddOptions = IMMEDIATE) -> None:
        """Add keys, from any thread, and cheaply. Ignored once the driver is being stopped."""
        self._machine.add(options, keys)

    def watch(self, source: Source) -> None:
        """Add a source; one added after the others have been started starts at once, and nothing waits for it.

        Raises:
            StartupError: the name is taken.
        """
        with self._machine.locked():
            self._sources.watch(source.name, lambda: self._start_source(source))

    def start(self) -> None:
        """Begin, and return at once.

        Raises:
            StartupError: called a second time.
        """
        with self._machine.locked():
            if self._has_started:
                raise StartupError(f"{self.name}: started more than once")
            self._has_started = True
        self._timer.start()

    def wait_until_working(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the workers have started; whether they have.

        Raises:
            Exception: what ended the driver.
        """
        self._working.wait(timeout_seconds)
        if self._error is not None:
            raise self._error
        return self._working.is_set() and not self._ended.is_set()

    def request_stop(self) -> None:
        """Begin to stop, and return at once; for signal handlers, and for the driver's own threads."""
        self._stop_requested = True
        self._machine.wake()

    def join(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the driver has ended, by a stop or an error; whether it has.

        Raises:
            Exception: what ended it.
        """
        ended = self._ended.wait(timeout_seconds) if self._has_started else True
        if self._error is not None and ended:
            raise self._error
        return ended

    def stop(self, timeout_seconds: float = GRACEFUL_STOP_SECONDS) -> Leftovers:
        """Stop, and wait for reconciles in progress and for sources; not from one of the driver's own threads.

        Reconciles see it in their context. Nothing more is handed out, except by the classic queue, which is emptied
        first, as in controller-runtime.

        Args:
            timeout_seconds: how long to wait in all.

        Returns:
            What did not end within the time. The lease is kept and renewed as long as a reconcile is left.

        Raises:
            Exception: what had ended the driver before.
        """
        ends_at = time.monotonic() + timeout_seconds
        self.request_stop()
        if not self._has_started:
            return Leftovers()
        self._ended.wait(max(0.0, timeout_seconds))
        for thread in (*self._source_threads.values(), self._timer):
            thread.join(max(0.0, ends_at - time.monotonic()))
        with self._machine.locked():
            reconciles = tuple(self._machine.loop.in_work.values())
        left = Leftovers(reconciles, tuple(name for name, one in self._source_threads.items() if one.is_alive()))
        if left:
            names = ", ".join((*(f"reconcile of {one.key}" for one in left.reconciles), *left.sources))
            LOGGER.warning("%s: not ended within %g s: %s", self.name, timeout_seconds, names)
        if self._error is not None:
            raise self._error
        return left

    def snapshot(self) -> ControllerSnapshot:
        """All counters, as of one time."""
        with self._machine.locked() as now_ns:
            return ControllerSnapshot.take(now_ns, self._machine.loop, self._machine.top)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.stop()
        except BaseException:
            # The block's own exception is the one to see; this one is in the log.
            if error is None:
                raise

    def _keep_time(self) -> None:
        try:
            while not self._step():
                candidacy = self._candidacy
                try_ns = None if candidacy is None else candidacy.next_deadline_ns()
                self._machine.sleep(self._sync_deadline_ns, try_ns)
            if self._candidacy is not None:
                self._candidacy.release()
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may wait for this thread for ever
            self._fail(error)
        finally:
            self._cancellation.cancel(self._clock())
            self._ended.set()
            self._working.set()

    def _step(self) -> bool:
        """Do what is due; whether the driver has ended."""
        role = self._try_for_lease()
        with self._machine.locked() as now_ns:
            if not self._stop_requested:
                try:
                    self._advance(now_ns, role)
                except Exception as error:  # noqa: BLE001 - whatever hinders the start ends the driver
                    self._fail(error)
            if self._stop_requested:
                self._begin_stop(now_ns)
            self._machine.keep_time(now_ns)
            self._sync_deadline_ns = self._sources.next_deadline_ns()
            return self._cancellation.is_set and not self._workers_left

    def _try_for_lease(self) -> Role:
        if self._candidacy is None:
            return Role.LEADER
        try:
            return self._candidacy.step(self._clock())
        except Exception as error:  # noqa: BLE001 - whatever it is, this replica may not lead
            self._candidacy = None
            self._fail(error)
            return Role.STANDBY

    def _advance(self, now_ns: int, role: Role) -> None:
        """Start what may start now."""
        if role is Role.LOST:
            raise LeaseLostError(f"{self.name}: the lease is lost")
        leads = role is Role.LEADER
        if leads or self._options.enable_warmup:
            self._sources.warm_up(now_ns)
            self._sources.tick(now_ns)
        if leads and self._sources.is_synced and not self._working.is_set():
            self._start_workers(now_ns)

    def _start_workers(self, now_ns: int) -> None:
        count = self._options.max_concurrent_reconciles
        self._workers_left = count
        for worker in range(count):
            thread = threading.Thread(target=self._work, args=(worker,), name=f"{self.name}-{worker}", daemon=True)
            thread.start()
        self._machine.loop.start_workers(now_ns)
        LOGGER.info("%s: workers started: %d", self.name, count)
        self._working.set()

    def _begin_stop(self, now_ns: int) -> None:
        if not self._cancellation.is_set:
            self._cancellation.cancel(now_ns)
            self._sources.cancel()
            self._machine.loop.stop(now_ns)

    def _work(self, worker: int) -> None:
        """Reconcile one key after the other."""
        timeout_ns = self._options.reconciliation_timeout_ns
        try:
            while (work := self._machine.next_work(worker)) is not None:
                deadline_ns = work.began_ns + timeout_ns if timeout_ns else None
                context = ReconcileContext(self._clock, self._cancellation, deadline_ns)
                request = ReconcileRequest(work.key, work.priority)
                outcome = reconcile(self.name, self._reconciler, request, context, recover=self._options.recover_panic)
                if isinstance(outcome, BaseException):
                    self._fail(outcome)
                    self._machine.abandon(work)
                    break
                self._machine.finish(work, outcome)
        except BaseException as error:  # noqa: BLE001 - a worker that is gone without a word would never be missed
            self._fail(error)
        finally:
            with self._machine.locked():
                self._workers_left -= 1
            self._machine.wake()

    def _start_source(self, source: Source) -> None:
        thread = threading.Thread(
            target=self._run_source, args=(source,), name=f"{self.name}-{source.name}", daemon=True
        )
        self._source_threads[source.name] = thread
        thread.start()

    def _run_source(self, source: Source) -> None:
        def report(state: SourceState) -> None:
            with self._machine.locked():
                (self._sources.synced if state is SourceState.SYNCED else self._sources.started)(source.name)
            self._machine.wake()

        handle = SourceHandle(self._machine.add, self._cancellation, report)
        try:
            source.run(handle)
            handle.synced()
        except BaseException as error:  # noqa: BLE001 - it ends the driver, not only this thread
            self._source_failed(source, handle, error)

    def _source_failed(self, source: Source, handle: SourceHandle, error: BaseException) -> None:
        if self._cancellation.is_set:
            LOGGER.warning("%s: source %s at the stop: %s", self.name, source.name, one_line(error))
        elif handle.has_started and not handle.has_synced:
            wrapped = StartupError(f"{self.name}: source {source.name}: {error}")
            wrapped.__cause__ = error
            self._fail(wrapped)
        else:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """End the driver with an error; the first one counts."""
        if self._error is None:
            self._error = error
            LOGGER.error("%s: ends: %s", self.name, one_line(error))
            self.request_stop()
