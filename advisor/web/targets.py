"""From the operators of the configuration to what the scheduler runs.

An analysis has a process of its own (`advisor.web.analysing`). Only what is read from the service's own history is
analysed in this process.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from advisor.analysis import Options, Source, load_source
from advisor.analysis.fleetsources import discovered, observing_seconds
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.signals.sidecarnames import SIDECAR_SELECTION
from advisor.sources.fleetfile import access_of, scrape_plan
from advisor.sources.fleetspec import PrometheusSpec, ScrapeSpec
from advisor.sources.logtime import duration_seconds
from advisor.sources.profiles import chosen_profile
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operators
from advisor.sources.prometheus.promql import Matcher
from advisor.sources.scraping import Clock
from advisor.sources.sidecar import address, metrics_address
from advisor.store.errors import StoreWriteError
from advisor.web.analysing import Analyse, Analysed, Task, access_to, analysed, apart, told_of
from advisor.web.config import ScheduleSettings
from advisor.web.configoperators import OperatorSpec, SidecarSpec
from advisor.web.due import DueRules
from advisor.web.keptscrape import Keeper, KeptScrape, Wanted
from advisor.web.scheduler import Discovery, Target

__all__ = [
    "Bases",
    "History",
    "KeptTarget",
    "OperatorTarget",
    "StoreDiscovery",
    "Watched",
    "Way",
    "rules_of",
    "watched",
]

_LOG: Final = logging.getLogger(__name__)
_GRACE_SECONDS: Final = 5.0
"""A worker process may take so long to start and to be ended."""
_MOST_SIDECAR_SAMPLES: Final = 500
"""Of one scrape: as many series as a sidecar exposes in all, unless it was told otherwise."""


class History(Keeper, Protocol):
    """Gives back what was kept."""

    def source(self, operator: str, span: Window) -> Source:
        """The samples of one operator in a time."""
        ...


class Bases(Protocol):
    """Keeps what a what-if can rest on."""

    def set_basis(self, operator: str, time: float, document: bytes | None, missing: str = "") -> None:
        """Keep it in place of what was kept before; where there is no document, why not, beside that."""
        ...


def _kept(found: Analysed, name: str, time: float, bases: Bases | None) -> Report:
    """The report, once the rest is kept; a report that is there is not lost for the sake of what-ifs."""
    if bases is not None:
        try:
            bases.set_basis(name, time, found.basis, found.missing)
        except StoreWriteError as error:
            _LOG.debug("%s: the basis of what-ifs was not kept: %s", name, error)
    return found.report


@dataclass(frozen=True, slots=True)
class Way:
    """How analyses are made, the same for all operators of a service.

    Attributes:
        options: of the analyses.
        timeout_seconds: for one, the time of scraping apart.
        run: how those are run that read no history.
        clock: the time at which ranges end.
        bases: who keeps what a what-if can rest on; nobody where None.
    """

    options: Options
    timeout_seconds: float
    run: Analyse = apart
    clock: Clock = Clock()  # noqa: RUF009 - it has no state
    bases: Bases | None = None


@dataclass(frozen=True, slots=True)
class OperatorTarget:
    """One operator that is read from its own source; a target of the scheduler.

    Attributes:
        spec: which operator.
        way: how it is analysed.
    """

    spec: OperatorSpec
    way: Way

    @property
    def name(self) -> str:
        """What the operator is called."""
        return self.spec.name

    @property
    def _seconds(self) -> float:
        observing = 0.0 if self.spec.sidecar is not None else observing_seconds(self.spec.entry())
        return self.way.timeout_seconds + observing

    @property
    def limit_seconds(self) -> float:
        """How long one analysis may take, with the start of its process."""
        return self._seconds + _GRACE_SECONDS

    def analyse(self, stop: threading.Event) -> Report:
        """One analysis.

        Raises:
            AdvisorError: there is no report, or it was stopped.
        """
        now = self.way.clock.wall()
        found = self.way.run(Task(self.spec, now, self.way.options), self._seconds, stop)
        return _kept(found, self.name, now, self.way.bases)


@dataclass(frozen=True, slots=True)
class KeptTarget:
    """One operator that the service scrapes itself, analysed from its own history; a target of the scheduler.

    Attributes:
        spec: which operator, with a ``scrape``.
        way: how it is analysed.
        last_seconds: how far back it looks.
        history: where the samples are.
    """

    spec: OperatorSpec
    way: Way
    last_seconds: float
    history: History

    @property
    def name(self) -> str:
        """What the operator is called."""
        return self.spec.name

    @property
    def limit_seconds(self) -> float:
        """How long one analysis may take."""
        return self.way.timeout_seconds

    def analyse(self, stop: threading.Event) -> Report:  # noqa: ARG002 - reading a file of our own takes no time
        """One analysis.

        Raises:
            NothingToAnalyseError: there are fewer than two scrapes yet.
        """
        now = self.way.clock.wall()
        source = self.history.source(self.name, Window(now - self.last_seconds, now))
        found = analysed(load_source(source, told=told_of(self.spec)), self.name, self.way.options)
        return _kept(found, self.name, now, self.way.bases)


@dataclass(frozen=True, slots=True)
class StoreDiscovery:
    """Every operator of one store, KubeRay's or those of a profile; a discovery of the scheduler.

    Attributes:
        spec: the store, as ``fleet``.
        way: how its operators are analysed; a look may take as long as an analysis.
    """

    spec: OperatorSpec
    way: Way

    @property
    def name(self) -> str:
        """What the store is called; the operators' names begin with it."""
        return self.spec.name

    @property
    def limit_seconds(self) -> float:
        """How long one look may take."""
        return self.way.timeout_seconds

    def find(self, stop: threading.Event) -> tuple[Target, ...]:  # noqa: ARG002 - the client's requests are bounded
        """The operators that were scraped in the time that is looked at.

        Raises:
            StoreError: the store does not answer as it should.
            NothingToAnalyseError: there is none.
        """
        store = self.spec.fleet
        assert store is not None  # noqa: S101 - that is what it is made for
        told = told_of(self.spec)
        where = _where(store, told.profile)
        now = self.way.clock.wall()
        with PrometheusClient(store.url or "", access_of(store)) as client:
            found = find_operators(client, where, Window(now - duration_seconds(store.last), now))
        entries = discovered(found, store, narrowed=where.narrows, told=told, profile=where.profile)
        return tuple(
            OperatorTarget(
                OperatorSpec(
                    name=f"{self.name}/{entry.name}",
                    prometheus=entry.prometheus,
                    version=entry.version,
                    args=entry.args,
                    profile=entry.profile,
                ),
                self.way,
            )
            for entry in entries
        )


def _where(spec: PrometheusSpec, profile: str | None) -> Where:
    matchers, chosen = tuple(map(Matcher.parse, spec.matchers)), chosen_profile(profile)
    return Where(
        spec.cluster or "",
        spec.cluster_label or "",
        spec.namespace or "",
        spec.job or "",
        matchers,
        None if chosen is None else chosen.profile,
    )


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
    bases: Bases | None = None,
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
        bases: who keeps what a what-if can rest on; nobody where None.

    Raises:
        InputNotFoundError: a file of authorities for scraping cannot be read.
    """
    clock = clock or Clock()
    way = Way(options, schedule.timeout_seconds, run, clock, bases)
    targets: list[Target] = []
    discoveries: list[Discovery] = []
    scrapes: list[KeptScrape] = []
    for spec in operators:
        if spec.fleet is not None:
            discoveries.append(StoreDiscovery(spec, way))
        elif spec.scrape is not None and history is not None:
            targets.append(KeptTarget(spec, way, schedule.last_seconds, history))
            scrapes.extend(_scrapes(spec.name, spec.scrape, history, clock))
        else:
            targets.append(OperatorTarget(spec, way))
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
    access = access_to(spec)
    return [KeptScrape(operator, one, access, plan.interval, keeper=keeper, clock=clock) for one in endpoints]


def _sidecar_scrape(operator: str, spec: SidecarSpec, keeper: Keeper, clock: Clock) -> KeptScrape:
    return KeptScrape(
        operator,
        metrics_address(address(spec.url)),
        access_to(spec),
        duration_seconds(spec.interval),
        keeper=keeper,
        clock=clock,
        wanted=Wanted(SIDECAR_SELECTION, _MOST_SIDECAR_SAMPLES),
    )
