"""From the operators of the configuration to what the scheduler runs.

An analysis takes a core for a while and memory with it, so it has a process of its own: pages stay quick, and one that
takes too long is ended. Only what is read from the service's own history is analysed in this process.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from advisor.analysis import Loaded, Options, Source, load_source, report_of
from advisor.analysis.fleetsources import discovered, load_entry, observing_seconds
from advisor.engines.base import Outcome
from advisor.engines.local import LocalEngine
from advisor.errors import AdvisorError
from advisor.model.raw import Setup
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.signals.sidecarnames import SIDECAR_SELECTION
from advisor.sources.endpoint import Access, tls_context
from advisor.sources.fleetfile import access_of, scrape_plan
from advisor.sources.fleetspec import PrometheusSpec, ScrapeSpec
from advisor.sources.logtime import duration_seconds
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operators
from advisor.sources.prometheus.promql import Matcher
from advisor.sources.scraping import Clock
from advisor.sources.sidecar import SidecarSource, address, metrics_address
from advisor.web.config import ScheduleSettings
from advisor.web.configoperators import OperatorSpec, SidecarSpec
from advisor.web.due import DueRules
from advisor.web.keptscrape import Keeper, KeptScrape, Wanted
from advisor.web.scheduler import Discovery, Target

__all__ = [
    "Analyse",
    "History",
    "KeptTarget",
    "OperatorTarget",
    "StoreDiscovery",
    "Task",
    "Watched",
    "analyse_task",
    "apart",
    "here",
    "rules_of",
    "watched",
]

_GRACE_SECONDS: Final = 5.0
"""A worker process may take so long to start and to be ended."""
_LOOK_SECONDS: Final = 0.2
_MOST_SIDECAR_SAMPLES: Final = 500
"""Of one scrape: as many series as a sidecar exposes in all, unless it was told otherwise."""


class History(Keeper, Protocol):
    """Gives back what was kept."""

    def source(self, operator: str, span: Window) -> Source:
        """The samples of one operator in a time."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis, fit to be sent to another process.

    Attributes:
        spec: which operator; no whole store.
        now: the Unix time at which the range ends.
        options: of the analysis.
    """

    spec: OperatorSpec
    now: float
    options: Options


Analyse = Callable[[Task, float, threading.Event], Report]
"""Runs a task for at most so many seconds, or until the event is set: `here` or `apart`."""


def analyse_task(task: Task) -> Report:
    """Analyse one operator, to the end.

    Raises:
        InputError: its source cannot be read.
        NothingToAnalyseError: it was read and holds nothing to analyse.
        UnknownNameError: the store has several operators that fit.
    """
    return _reported(_loaded(task), task.spec.name, task.options)


def _reported(loaded: Loaded, name: str, options: Options) -> Report:
    # Named as in the configuration: of several operators called kuberay nobody knows which is which.
    return report_of(replace(loaded, operator=name), options)


def _loaded(task: Task) -> Loaded:
    if task.spec.sidecar is None:
        return load_entry(task.spec.entry(), task.now)
    sidecar = task.spec.sidecar
    with SidecarSource(address(sidecar.url), _access(sidecar)) as source:
        return load_source(source, told=_told(task.spec))


def _told(spec: OperatorSpec) -> Setup:
    assert isinstance(spec.args, tuple)  # noqa: S101 - they are words once the configuration is read
    return Setup(version=spec.version, args=spec.args)


def _access(spec: ScrapeSpec | SidecarSpec) -> Access:
    """What to send along.

    Raises:
        InputNotFoundError: the file of authorities cannot be read.
    """
    token_file = None if spec.bearer_token_file is None else Path(spec.bearer_token_file)
    ca_file = None if spec.ca_file is None else Path(spec.ca_file)
    return Access(spec.headers, token_file, tls_context(ca_file, insecure=spec.insecure))


def here(task: Task, _seconds: float, _stop: threading.Event) -> Report:
    """Run a task in this thread; it can neither be ended nor stopped, but its requests have bounds of their own."""
    return analyse_task(task)


def apart(task: Task, seconds: float, stop: threading.Event) -> Report:
    """Run a task in a process of its own, which is ended when it takes too long.

    Raises:
        TaskTimeoutError: it took too long.
        AdvisorError: it was stopped, or the process died; whatever the task raises is raised as it is.
    """
    outcomes: SimpleQueue[Outcome[Report]] = SimpleQueue()

    def attempt() -> None:
        try:
            with closing(LocalEngine(1).attempt(analyse_task, [task], [seconds])) as found:
                for _, outcome in found:
                    outcomes.put(outcome)
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            outcomes.put(Outcome(error=error))

    # An engine cannot be stopped from outside while it waits. So it waits elsewhere; what is left behind at the
    # end of the service ends with it, and else at its time-out.
    threading.Thread(target=attempt, name=f"engine {task.spec.name}", daemon=True).start()
    while not stop.is_set():
        try:
            return outcomes.get(timeout=_LOOK_SECONDS).get()
        except Empty:
            continue
    raise AdvisorError("stopped", where=task.spec.name)


@dataclass(frozen=True, slots=True)
class OperatorTarget:
    """One operator that is read from its own source; a target of the scheduler.

    Attributes:
        spec: which operator.
        options: of its analysis.
        timeout_seconds: for one analysis, the time of scraping apart.
        run: how it is run.
        clock: the time at which a range ends.
    """

    spec: OperatorSpec
    options: Options
    timeout_seconds: float
    run: Analyse = apart
    clock: Clock = Clock()  # noqa: RUF009 - it has no state

    @property
    def name(self) -> str:
        """What the operator is called."""
        return self.spec.name

    @property
    def _seconds(self) -> float:
        observing = 0.0 if self.spec.sidecar is not None else observing_seconds(self.spec.entry())
        return self.timeout_seconds + observing

    @property
    def limit_seconds(self) -> float:
        """How long one analysis may take, with the start of its process."""
        return self._seconds + _GRACE_SECONDS

    def analyse(self, stop: threading.Event) -> Report:
        """One analysis.

        Raises:
            AdvisorError: there is no report, or it was stopped.
        """
        return self.run(Task(self.spec, self.clock.wall(), self.options), self._seconds, stop)


@dataclass(frozen=True, slots=True)
class KeptTarget:
    """One operator that the service scrapes itself, analysed from its own history; a target of the scheduler.

    Attributes:
        spec: which operator, with a ``scrape``.
        options: of its analysis.
        timeout_seconds: for one analysis.
        last_seconds: how far back it looks.
        history: where the samples are.
        clock: the time at which the range ends.
    """

    spec: OperatorSpec
    options: Options
    timeout_seconds: float
    last_seconds: float
    history: History
    clock: Clock = Clock()  # noqa: RUF009 - it has no state

    @property
    def name(self) -> str:
        """What the operator is called."""
        return self.spec.name

    @property
    def limit_seconds(self) -> float:
        """How long one analysis may take."""
        return self.timeout_seconds

    def analyse(self, stop: threading.Event) -> Report:  # noqa: ARG002 - reading a file of our own takes no time
        """One analysis.

        Raises:
            NothingToAnalyseError: there are fewer than two scrapes yet.
        """
        now = self.clock.wall()
        source = self.history.source(self.name, Window(now - self.last_seconds, now))
        return _reported(load_source(source, told=_told(self.spec)), self.name, self.options)


@dataclass(frozen=True, slots=True)
class StoreDiscovery:
    """Every KubeRay operator of one store; a discovery of the scheduler.

    Attributes:
        spec: the store, as ``fleet``.
        options: of the analyses.
        timeout_seconds: for one look, and for one analysis.
        run: how analyses are run.
        clock: the time at which ranges end.
    """

    spec: OperatorSpec
    options: Options
    timeout_seconds: float
    run: Analyse = apart
    clock: Clock = Clock()  # noqa: RUF009 - it has no state

    @property
    def name(self) -> str:
        """What the store is called; the operators' names begin with it."""
        return self.spec.name

    @property
    def limit_seconds(self) -> float:
        """How long one look may take."""
        return self.timeout_seconds

    def find(self, stop: threading.Event) -> tuple[Target, ...]:  # noqa: ARG002 - the client's requests are bounded
        """The operators that were scraped in the time that is looked at.

        Raises:
            StoreError: the store does not answer as it should.
            NothingToAnalyseError: there is none.
        """
        store = self.spec.fleet
        assert store is not None  # noqa: S101 - that is what it is made for
        where = _where(store)
        now = self.clock.wall()
        with PrometheusClient(store.url or "", access_of(store)) as client:
            found = find_operators(client, where, Window(now - duration_seconds(store.last), now))
        entries = discovered(found, store, narrowed=where.narrows, told=_told(self.spec))
        return tuple(
            OperatorTarget(
                OperatorSpec(
                    name=f"{self.name}/{entry.name}",
                    prometheus=entry.prometheus,
                    version=entry.version,
                    args=entry.args,
                ),
                self.options,
                self.timeout_seconds,
                self.run,
                self.clock,
            )
            for entry in entries
        )


def _where(spec: PrometheusSpec) -> Where:
    matchers = tuple(map(Matcher.parse, spec.matchers))
    return Where(spec.cluster or "", spec.cluster_label or "", spec.namespace or "", spec.job or "", matchers)


@dataclass(frozen=True, slots=True)
class Watched:
    """Everything that runs for the operators of a configuration.

    Attributes:
        targets: for the scheduler.
        discoveries: for the scheduler.
        scrapes: each to be run in a thread of its own.
    """

    targets: tuple[Target, ...]
    discoveries: tuple[Discovery, ...]
    scrapes: tuple[KeptScrape, ...]


def watched(
    operators: Sequence[OperatorSpec],
    schedule: ScheduleSettings,
    options: Options,
    *,
    history: History | None = None,
    run: Analyse = apart,
    clock: Clock | None = None,
) -> Watched:
    """What runs for some operators.

    Args:
        operators: as the configuration has them.
        schedule: how long an analysis may take, and how far back it looks.
        options: of all analyses.
        history: keeps what is scraped directly, so that an analysis looks back, and what sidecars tell of keys and
            priorities; without one, each analysis scrapes for as long as the operator's ``for`` says.
        run: how analyses are run that read no history.
        clock: the time.

    Raises:
        InputNotFoundError: a file of authorities for scraping cannot be read.
    """
    clock = clock or Clock()
    targets: list[Target] = []
    discoveries: list[Discovery] = []
    scrapes: list[KeptScrape] = []
    for spec in operators:
        if spec.fleet is not None:
            discoveries.append(StoreDiscovery(spec, options, schedule.timeout_seconds, run, clock))
        elif spec.scrape is not None and history is not None:
            seconds, last = schedule.timeout_seconds, schedule.last_seconds
            targets.append(KeptTarget(spec, options, seconds, last, history, clock))
            scrapes.extend(_scrapes(spec.name, spec.scrape, history, clock))
        else:
            targets.append(OperatorTarget(spec, options, schedule.timeout_seconds, run, clock))
            if spec.sidecar is not None and history is not None:
                scrapes.append(_sidecar_scrape(spec.name, spec.sidecar, history, clock))
    return Watched(tuple(targets), tuple(discoveries), tuple(scrapes))


def rules_of(schedule: ScheduleSettings) -> DueRules:
    """When the scheduler runs them, as the configuration says."""
    return DueRules(
        interval_seconds=schedule.interval_seconds,
        jitter_ratio=schedule.jitter_ratio,
        longest_pause_seconds=schedule.longest_pause_seconds,
        at_a_time=schedule.at_a_time,
    )


def _scrapes(operator: str, spec: ScrapeSpec, keeper: Keeper, clock: Clock) -> list[KeptScrape]:
    endpoints, plan = scrape_plan(spec)
    access = _access(spec)
    return [KeptScrape(operator, one, access, plan.interval, keeper=keeper, clock=clock) for one in endpoints]


def _sidecar_scrape(operator: str, spec: SidecarSpec, keeper: Keeper, clock: Clock) -> KeptScrape:
    return KeptScrape(
        operator,
        metrics_address(address(spec.url)),
        _access(spec),
        duration_seconds(spec.interval),
        keeper=keeper,
        clock=clock,
        wanted=Wanted(SIDECAR_SELECTION, _MOST_SIDECAR_SAMPLES),
    )
