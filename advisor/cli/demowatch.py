"""The demo and the service joined: simulated operators, their past in its history, and their settings told to it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from advisor.analysis import Options
from advisor.analysis.fleettask import failure_of
from advisor.demo.actor import Actor
from advisor.demo.past import Past, Rhythm
from advisor.demo.stage import quiet_operator, staged_operator
from advisor.demo.story import CURTAIN, Story
from advisor.errors import AdvisorError
from advisor.model.report import Report
from advisor.sources.exposition import Exposition
from advisor.sources.fleetspec import ScrapeSpec
from advisor.sources.scraping import Clock
from advisor.store.store import Store
from advisor.twin.parameters import OperatorSettings
from advisor.web.assembly import Advisor
from advisor.web.config import Config, load_config
from advisor.web.configoperators import OperatorSpec
from advisor.web.history import KeptHistory, StoreSink
from advisor.web.targets import KeptTarget, Way

__all__ = ["MAIN", "QUIET", "LiveDemo", "PastService", "advised_by", "main_actor", "spec_of"]

MAIN, QUIET = "kuberay", "kuberay-staging"
"""Names of the operator that goes through the story, and of the one at which all is quiet."""
_TIMEOUT_SECONDS = 60.0
_PERIODS_BEFORE = 2.5
"""How many analyses of the chapter in which the demo goes live are past by then: its fault has been named."""

_QUIET_SECONDS = 150.0
"""How much of the quiet operator's past is played: more of it would show the same."""


@dataclass(frozen=True, slots=True)
class _At(Clock):
    """A clock that stands still."""

    time: float

    def wall(self) -> float:
        """The time at which it stands."""
        return self.time


def spec_of(actor: Actor, rhythm: Rhythm) -> OperatorSpec:
    """How the service is told of an operator: its address, and how it was started."""
    return OperatorSpec(
        name=actor.name,
        scrape=ScrapeSpec(urls=(actor.url,), interval=f"{rhythm.scrape_seconds:g}s"),
        version=actor.version,
        args=actor.args,
    )


class PastService:
    """Does at times that are past what the service does at its own: scrapes, analyses, and keeps what comes of it.

    Args:
        store: the service's history.
        sink: takes reports.
        rhythm: how far back an analysis looks.
        seen: is told each report, with the operator's name and the Unix time.
    """

    def __init__(
        self,
        store: Store,
        sink: StoreSink,
        rhythm: Rhythm,
        seen: Callable[[str, float, Report], None] = lambda _operator, _time, _report: None,
    ) -> None:
        self._store = store
        self._history = KeptHistory(store)
        self._sink = sink
        self._rhythm = rhythm
        self._seen = seen

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Take one scrape at a Unix time."""
        self._history.keep(operator, time, exposition)

    def analyse(self, actor: Actor, time: float) -> None:
        """Analyse an operator at a Unix time."""
        target = KeptTarget(
            spec_of(actor, self._rhythm),
            Way(Options(), _TIMEOUT_SECONDS, clock=_At(time), bases=self._store),
            self._rhythm.last_seconds,
            self._history,
        )
        try:
            report = target.analyse(threading.Event())
        except AdvisorError as error:
            self._sink.failure(actor.name, time, failure_of(error))
            return
        self._sink.report(actor.name, time, report)
        self._seen(actor.name, time, report)


def advised_by(store: Store, operator: str) -> OperatorSettings | None:
    """The settings that the last report advises; None where it advises no change, or there is none."""
    try:
        last = store.latest(operator)
    except AdvisorError:
        return None
    if last is None:
        return None
    knobs = [getattr(last.verdict, name) for name in ("concurrency", "qps", "burst")]
    values = [one.current if one.value is None else one.value for one in knobs]
    if None in values or values == [one.current for one in knobs]:
        return None
    concurrency, qps, burst = values
    return OperatorSettings(concurrency=round(concurrency), qps=float(qps), burst=round(burst))


def main_actor(story: Story, start: float, store: Store) -> Actor:
    """The operator that goes through the story and follows what the service advises."""
    return Actor(MAIN, staged_operator(story, start, lambda: advised_by(store, MAIN)))


class LiveDemo:
    """The service and two simulated operators on this machine's loopback; nothing is kept on disk.

    Args:
        port: to serve at; 0 takes a free one.
        story: what befalls the first operator.
        rhythm: how often they are looked at.

    Raises:
        OutputError: it cannot serve there.
    """

    def __init__(self, port: int, story: Story, rhythm: Rhythm) -> None:
        self._rhythm = rhythm
        self._config = _config(port, rhythm)
        self._advisor = Advisor(self._config)
        now = time.time()
        start = now - story.begin_of(story.number_of(CURTAIN)) - _PERIODS_BEFORE * rhythm.analysis_seconds
        self._main = main_actor(story, start, self._advisor.store)
        # The short past first: it keeps nobody waiting.
        self._starts = {Actor(QUIET, quiet_operator(now - _QUIET_SECONDS)): now - _QUIET_SECONDS, self._main: start}
        self._actors = tuple(self._starts)
        self._told: tuple[OperatorSpec, ...] = ()

    @property
    def address(self) -> str:
        """Where the pages are."""
        return self._advisor.address

    @property
    def seconds(self) -> float:
        """Where in the story it is."""
        return self._main.seconds

    def begin(self, stop: threading.Event) -> None:
        """Serve, play what was before now, and be live from then on."""
        self._advisor.start()
        for actor in self._actors:
            actor.serve()
        service = PastService(self._advisor.store, self._advisor.sink, self._rhythm)
        for actor, start in self._starts.items():
            Past(actor, service, self._rhythm, start).play(time.time, stop)
        for actor, start in self._starts.items():
            actor.play(time.time() - start)
            actor.go_live()
        self.tick()

    def tick(self) -> None:
        """Follow the clock, and tell the service of settings that were changed; to be called often.

        QPS and Burst are in no series, so whoever changes them tells the service, as on a reload of its settings.
        """
        for actor in self._actors:
            actor.catch_up()
        specs = tuple(spec_of(actor, self._rhythm) for actor in self._actors)
        if specs != self._told:
            self._told = specs
            self._advisor.apply(replace(self._config, operators=specs))

    def end(self) -> None:
        """End everything; nothing is left."""
        for actor in self._actors:
            actor.end()
        self._advisor.stop()


def _config(port: int, rhythm: Rhythm) -> Config:
    """Settings of the service; neither a file nor the environment says anything."""
    config = load_config(None, {}, {"listen.port": port})
    schedule = replace(
        config.schedule,
        interval_seconds=rhythm.analysis_seconds,
        jitter_ratio=0.0,
        last_seconds=rhythm.last_seconds,
    )
    return replace(config, store=replace(config.store, path=None), schedule=schedule)
