"""Everything that was observed of one operator, made ready once and asked for any window."""

from collections.abc import Sequence

import msgspec

from advisor.knowledge import KubeRayVersion, infer
from advisor.knowledge.recognise import Choice, Seen, recognise
from advisor.model.raw import SeriesStore, Setup
from advisor.model.settings import Settings
from advisor.model.signal import Window
from advisor.model.signals import Episode, OperatorSignals
from advisor.model.timeline import Timeline
from advisor.model.trace import DemandTrace
from advisor.signals.apiserver import ApiServerSeries
from advisor.signals.budget import inferred_write_seconds, time_budget
from advisor.signals.client import ClientSeries
from advisor.signals.controllers import ControllerSeries, LogShare, controller_series
from advisor.signals.demand import DemandSeries
from advisor.signals.demandtrace import TraceBuilder
from advisor.signals.episodes import CutRules, cut
from advisor.signals.instances import LEASE, Instances, is_foreign
from advisor.signals.logdigest import Key, KeyTotals, LogDigest
from advisor.signals.logsignals import key_loads, log_signals, namespace_loads, untold_external
from advisor.signals.names import CORE_SERIES
from advisor.signals.objecttimeline import ObjectTimeline
from advisor.signals.process import ProcessSeries
from advisor.signals.settings import flag_concurrency, resolve_settings
from advisor.signals.timeline import make_timeline

__all__ = ["Observations"]

_TELLING_LABELS = frozenset({"container", "job", "namespace", "pod", "service"})
_MOST_KEYS = 20
"""Keys shown; the rest of a large installation adds nothing that a person reads."""


class Observations:
    """The one way from samples, log and objects to signals, whatever the source.

    Args:
        store: the samples.
        digest: the condensed log, empty where there is none.
        timeline: the object changes, empty where there are none.
        setup: version and arguments, as far as known.
        traces: the same object changes as a load; None where there are none.
        chosen: the profile that somebody chose, and why; None where it is to be recognised.
    """

    def __init__(
        self,
        store: SeriesStore,
        digest: LogDigest,
        timeline: ObjectTimeline,
        setup: Setup,
        traces: TraceBuilder | None = None,
        *,
        chosen: Choice | None = None,
    ) -> None:
        self._store = store
        self._digest = digest
        self._setup = setup
        self._traces = traces
        self._instances = Instances(store)
        self._controllers, self.controllers_left_out = controller_series(store, self._instances)
        self.choice = chosen or recognise(_seen(store, [one.name for one in self._controllers]))
        """What kind of operator it is, and why."""
        self._profile = self.choice.profile
        self._client = ClientSeries(store, self._instances, is_kuberay=self._profile.is_kuberay)
        self._process = ProcessSeries(store, self._instances)
        self._demand = DemandSeries(store, timeline, self._instances)
        self._api_server = ApiServerSeries(store)
        self._scrapes = self._instances.scrape_times()
        self._exposed = self._compatible_releases()

    @property
    def controllers(self) -> Sequence[ControllerSeries]:
        """The controllers found."""
        return self._controllers

    @property
    def scrapes(self) -> Sequence[float]:
        """Times of all scrapes, in order."""
        return self._scrapes

    @property
    def usual_pause_seconds(self) -> float:
        """From one scrape to the next of the same process, usually."""
        return self._instances.usual_pause()

    @property
    def ended(self) -> float | None:
        """Unix time at which the observation ended, where the setup says so."""
        return self._setup.end

    def whole(self) -> Window | None:
        """From the first scrape to the last; None with fewer than two."""
        if len(self._scrapes) < 2:  # noqa: PLR2004 - a window has two ends
            return None
        return Window(self._scrapes[0], self._scrapes[-1])

    def episodes(self, rules: CutRules) -> tuple[Episode, ...]:
        """Episodes of the whole observation."""
        return cut(self._controllers, self._scrapes, self._instances.starts(), rules)

    def timeline(self) -> Timeline | None:
        """How the figures went over the whole observation; None with fewer than two scrapes."""
        whole = self.whole()
        if whole is None:
            return None
        limiter_off = self.settings(whole).limiter_off
        return make_timeline(self._controllers, self._client, self._scrapes, limiter_off=limiter_off)

    def trace(self, window: Window) -> DemandTrace | None:
        """The load of one window, from the object changes; None where there are none."""
        return None if self._traces is None else self._traces.trace(window)

    def first_demand(self, window: Window) -> float | None:
        """Unix time at which an object was first created or scaled in a window; None where none was seen."""
        return None if self._traces is None else self._traces.first_demand(window)

    def settings(self, window: Window) -> Settings:
        """Settings in force at the end of the window."""
        workers = [
            value
            for one in self._controllers
            if one.name not in self._profile.fixed_workers and (value := one.concurrency(window)) is not None
        ]
        return resolve_settings(
            self._setup,
            profile=self._profile,
            exposed=self._exposed,
            limiter_silent=self._client.exposes_durations and not self._client.exposes_limiter,
            workers=min(workers) if workers else None,
            cpu_limit=self._process.limit("cpu", window),
            memory_limit=self._process.limit("memory", window),
        )

    def signals(self, window: Window) -> OperatorSignals:
        """All signals of one window."""
        settings, callers = self.settings(window), self._profile.external_callers
        totals = self._digest.totals(window)
        controllers = tuple(one.signals(window, self._log_share(one, totals, window)) for one in self._controllers)
        client = self._client.signals(window, limiter_off=settings.limiter_off)
        process = self._process.signals(window, settings.cpu_limit_cores, settings.memory_limit_bytes)
        inferred = inferred_write_seconds(controllers, client, process, window, callers)
        return OperatorSignals(
            window=window,
            settings=settings,
            controllers=controllers,
            client=msgspec.structs.replace(client, inferred_write_seconds_mean=inferred),
            process=process,
            demand=self._demand.signals(window),
            log=log_signals(self._digest, window),
            external=untold_external(window),
            budget=time_budget(controllers, client, process, window, callers),
            keys=key_loads(totals, _MOST_KEYS),
            namespaces=namespace_loads(totals),
            queue=self._queue(),
            absent_series=tuple(name for name in CORE_SERIES if name not in self._store.names()),
            api_server=self._api_server.signals(window),
            profile=self._profile,
        )

    def _log_share(self, controller: ControllerSeries, totals: dict[Key, KeyTotals], window: Window) -> LogShare:
        """What log and arguments add to one controller's signals."""
        spans = [one.busy_seconds for key, one in totals.items() if key.controller == controller.name]
        busy = sum(spans)
        known = self._digest.reaches(window)
        return LogShare(
            hottest_share=max(spans) / busy if busy > 0.0 else None,
            keys=len(spans) or None,
            control_flow_errors=self._digest.control_flow_errors(window, controller.name) if known else None,
            configured_concurrency=self._configured_concurrency(controller, window),
            concurrency_flag=self._profile.concurrency.flag_for(controller.name) or "arguments",
        )

    def _configured_concurrency(self, controller: ControllerSeries, window: Window) -> float | None:
        """What the flag says of this window: arguments are those of the end, which a restart may have changed."""
        whole = self.whole()
        if controller.name in self._profile.fixed_workers or whole is None:
            return None
        then, now = controller.concurrency(window), controller.concurrency(whole)
        return flag_concurrency(self._setup, self._profile, controller.name) if then in (None, now) else None

    def _compatible_releases(self) -> tuple[KubeRayVersion, ...]:
        """The releases of KubeRay that expose what was seen; none where no controller was."""
        if not self._controllers or not self._profile.is_kuberay:
            return ()
        queue = self._store.get("workqueue_adds_total")
        return infer(
            series=self._store.names(),
            depth_priorities={priority for one in self._controllers for priority in one.depths} or None,
            queue_has_controller_label=any("controller" in one.labels for one in queue) if queue else None,
            controllers=[one.name for one in self._controllers],
        )

    def _queue(self) -> str:
        if any(one.numbered_priorities for one in self._controllers):
            return "priority"
        if any(one.depths for one in self._controllers):
            return "classic"
        return "unknown"


def _seen(store: SeriesStore, controllers: Sequence[str]) -> Seen:
    """What tells of a profile, of the operator's own series."""
    labels: dict[str, set[str]] = {}
    for series in store:
        if not is_foreign(series.name):
            for label in _TELLING_LABELS & series.labels.keys():
                labels.setdefault(label, set()).add(series.labels[label])
    leases = {name for series in store.get(LEASE) if (name := series.labels.get("name"))}
    return Seen(controllers=controllers, leases=leases, series=store.names(), labels=labels)
