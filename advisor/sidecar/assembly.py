"""The sidecar's parts, joined: who reads, who watches, who scrapes, and who is told."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from prometheus_client.registry import CollectorRegistry

from advisor.model.raw import Setup
from advisor.queueing.informer import Change
from advisor.runtime.context import Cancellation
from advisor.sidecar.budget import CpuBudget
from advisor.sidecar.collector import SidecarCollector, SidecarView
from advisor.sidecar.component import Component
from advisor.sidecar.condensing import RecordRing
from advisor.sidecar.embedded import EmbeddedSettings
from advisor.sidecar.follower import FileFollower
from advisor.sidecar.kube.client import ClientSettings, KubeClient, connect, require
from advisor.sidecar.kube.podlog import OPERATOR_SELECTORS, LogSource, PodLog, pod_by_name, pods_by_labels
from advisor.sidecar.logreader import Follower, LogReader
from advisor.sidecar.objectring import ObjectRing
from advisor.sidecar.observed import Observed
from advisor.sidecar.observer import Observer, ObserverSettings
from advisor.sidecar.process import Life
from advisor.sidecar.ring import Peaks, Ring
from advisor.sidecar.scraper import Scraper
from advisor.sidecar.selfview import SelfView
from advisor.sidecar.server import Held, Server, Telling
from advisor.sidecar.settings import LogPod, Settings
from advisor.sidecar.streams import Stop, StreamFollower, stdin_chunks
from advisor.sidecar.watching import OnChange, Watching
from advisor.signals.names import SELECTION
from advisor.sources.endpoint import Endpoint

__all__ = ["Sidecar", "assemble"]

_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def assemble(settings: Settings, life: Life) -> list[Component]:
    """The parts, joined with each other.

    Raises:
        OutputError: it cannot serve at its address.
        SettingsError: it is to ask an API server, and the extra `kubernetes` is not installed.
        InputError: it is to ask an API server, and does not know which, or cannot use the configuration.
    """
    if settings.watch or settings.log_pod is not None:
        require(_client_settings(settings))
    return Sidecar(settings, life).components


class Sidecar:
    """One sidecar.

    Attributes:
        components: its parts, to be run.
        observer: what it knows of the operator.
    """

    def __init__(self, settings: Settings, life: Life) -> None:
        self._life = life
        self._ring, self._peaks, self._records, self._objects = Ring(), Peaks(), RecordRing(), ObjectRing()
        self._watching = _watching(settings, self._changed) if settings.watch else None
        open_log = _log(settings)
        self.observer = Observer(
            ObserverSettings(has_log=open_log is not None, has_watches=settings.watch, keys=settings.keys),
            synced=tuple if self._watching is None else self._watching.synced,
        )
        self._log = None
        if open_log is not None:
            budget = CpuBudget(settings.cpu_budget_cores)
            on_log = (self.observer.logged, lambda batch: self._records.add(batch.records))
            self._log = LogReader(open_log, on_log, budget, life.clock)
        self._scraper = Scraper(
            Endpoint.parse(settings.operator_metrics),
            SELECTION,
            rules=settings.pacing(),
            on_scrape=(self._ring.take, self._peaks.take, self.observer.scraped),
            on_restart=(self.observer.restarted,),
        )
        for resize in (self._ring.resize, self._records.resize, self._objects.resize):
            life.on_share.append(resize)
        life.on_tick.append(self.observer.advance)
        life.on_jump.append(self.observer.clock_set)
        server = Server(settings.host, settings.port, self._telling(settings))
        parts = (self._log, self._watching, self._scraper, server)
        self.components: list[Component] = [one for one in parts if one is not None]

    def _telling(self, settings: Settings) -> Telling:
        registry = CollectorRegistry()
        registry.register(SidecarCollector(self.view, settings.most_series))
        held = Held(
            series=self._ring.series,
            log=self._records.records,
            changes=self._objects.changes,
            setup=self._setup,
            interval_seconds=lambda: self._scraper.figures.interval_seconds,
        )
        return Telling(
            registry=registry,
            held=held,
            is_alive=lambda: self._life.is_alive,
            is_ready=lambda: self._ring.span() is not None,
        )

    def view(self) -> SidecarView:
        """All that is known, as of now."""
        now, watching = self._life.clock.wall(), self._watching
        known = self.observer.look(now)
        return SidecarView(
            shadows=known.shadows,
            peaks=self._peaks.view(now),
            keys=known.keys,
            hot_keys=known.hot_keys,
            key_state=known.key_state,
            requests=None if watching is None else watching.requests(),
            limiter=None if watching is None else watching.limiter(),
            controllers=() if watching is None else watching.controllers(),
            own=self._own(now),
        )

    def _own(self, now: float) -> SelfView:
        scrapes = self._scraper.figures
        own = replace(
            self._life.self_view(),
            scrape_interval_seconds=scrapes.interval_seconds,
            scrape_seconds=scrapes.seconds,
            scrapes={"ok": scrapes.ok, "failed": scrapes.failed},
        )
        if self._log is None:
            return own
        log = self._log.figures()
        # A log that is read up has no lag, however long ago its last line was written.
        lag = max(0.0, now - log.last_time) if log.is_behind and log.last_time is not None else 0.0
        return replace(
            own,
            log_lines=dict(log.lines),
            log_lag_seconds=None if log.last_time is None else lag,
            throttled_seconds=log.throttled_seconds,
        )

    def _setup(self) -> Setup:
        start, end = self._ring.span() or (None, None)
        return Setup(start=start, end=end)

    def _changed(self, time: float, change: Change[Observed]) -> None:
        self.observer.changed(time, change)
        self._objects.add(time, change)


def _client_settings(settings: Settings) -> ClientSettings:
    return ClientSettings(kubeconfig=settings.kubeconfig, qps=settings.qps, burst=settings.burst)


def _watching(settings: Settings, on_change: OnChange) -> Watching:
    embedded = EmbeddedSettings(workers=settings.reconcile_concurrency, namespaces=settings.namespaces)
    return Watching(lambda: connect(_client_settings(settings), Cancellation()), embedded, [on_change])


def _log(settings: Settings) -> Callable[[], Follower] | None:
    """How to open the log that is to be followed; None where none is."""
    path, pod = settings.log_file, settings.log_pod
    if path is not None:
        return lambda: FileFollower(path, from_start=settings.from_start)
    if settings.log_stdin:
        return lambda: StreamFollower(stdin_chunks)
    if pod is not None:
        return lambda: StreamFollower(lambda stop: _pod_chunks(settings, pod, stop))
    return None


def _pod_chunks(settings: Settings, pod: LogPod, stop: Stop) -> Iterator[bytes]:
    """The log of the operator's Pod, until the event is set."""
    cancellation = Cancellation()
    client = connect(_client_settings(settings), cancellation)
    # A stream that waits for the server's next word ends by being closed.
    threading.Thread(target=_close_at, args=(stop, client, cancellation), name="log end", daemon=True).start()
    since_seconds = None if settings.from_start else 0
    log = PodLog(client, _finder(client, pod), cancellation.wait, since_seconds=since_seconds)
    yield from log.chunks()


def _close_at(stop: Stop, client: KubeClient, cancellation: Cancellation) -> None:
    stop.wait()
    cancellation.cancel(time.monotonic_ns())
    client.close()


def _finder(client: KubeClient, pod: LogPod) -> Callable[[], LogSource | None]:
    namespace = pod.namespace or _own_namespace()
    if pod.name:
        return lambda: pod_by_name(client, namespace, pod.name)
    selectors = (pod.selector,) if pod.selector else OPERATOR_SELECTORS
    return pods_by_labels(client, namespace, selectors=selectors)


def _own_namespace() -> str:
    """The namespace of this Pod; outside of one, the usual one."""
    try:
        return _OWN_NAMESPACE.read_text(encoding="utf-8").strip()
    except OSError:
        return "default"
