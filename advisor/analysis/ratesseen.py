"""Rates and means that a load can be made of, before any of it is run: which episode, and whether all is known."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from advisor.analysis.loading import Loaded
from advisor.analysis.options import Options
from advisor.analysis.points import refuse_others
from advisor.analysis.rateswords import FACTS, SAMPLES, Words
from advisor.diagnosis.case import Case
from advisor.errors import NothingToAnalyseError
from advisor.model.signal import Window
from advisor.model.signals import ControllerSignals, Episode, EpisodeKind, OperatorSignals
from advisor.twin.parameters import OperatorSettings
from advisor.twin.point import settings_of

__all__ = [
    "RatesSeen",
    "api_seconds_of",
    "calls_of",
    "check_figures",
    "objects_of",
    "rates_seen",
    "settings_of_rates",
]

_MAIN: Final = "raycluster"


class RatesSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What a load follows from, before any of it is run.

    Attributes:
        signals: of the load episode in which most time was lost.
        window: that episode.
        start_seconds: when it begins in the observation.
        grown: by how many clusters their number grew; 0 where that was not seen.
        is_told: somebody told the figures; nobody knows how long they held.
    """

    signals: OperatorSignals
    window: Window
    start_seconds: float
    grown: int
    is_told: bool

    @property
    def words(self) -> Words:
        """How their source speaks of the figures."""
        return FACTS if self.is_told else SAMPLES


def rates_seen(name: str, loaded: Loaded) -> RatesSeen:
    """What there is to make a load of; quickly, since nothing is run.

    Raises:
        NothingToAnalyseError: it is not KubeRay, it did nothing, or figures that a load needs are not known; the
            message names them.
    """
    refuse_others(name, loaded)
    episode = _busiest(loaded)
    if episode is None:
        raise NothingToAnalyseError(
            "the operator was idle while it was observed, or busy for moments only, so there is no load to run",
            where=name,
            hint="observe it while clusters are created, and for longer, or describe the load with --workload",
        )
    signals = loaded.observed.signals(episode.window)
    seen = RatesSeen(
        signals=signals,
        window=episode.window,
        start_seconds=episode.window.start - loaded.info.window.start,
        grown=_grown(loaded, episode, signals),
        is_told=loaded.info.kind == "facts",
    )
    check_figures(name, signals, seen.words)
    return seen


def check_figures(name: str, signals: OperatorSignals, words: Words) -> tuple[ControllerSignals, float]:
    """The main controller and the time of a request; all other figures that a load needs are there as well.

    Raises:
        NothingToAnalyseError: some are not.
    """
    main, api_seconds = signals.controller(_MAIN), api_seconds_of(signals)
    lacking = [*_lacking_always(signals, main, words), *_lacking(signals, main, words)]
    if lacking or api_seconds is None or main is None:
        raise NothingToAnalyseError(
            f"{words.subject} no load that could be run: missing {', '.join(lacking)}", where=name, hint=words.hint
        )
    return main, api_seconds


def settings_of_rates(signals: OperatorSignals) -> OperatorSettings:
    """The settings in force; the number of workers is that of the controller where it tells it."""
    main = signals.controller(_MAIN)
    workers = None if main is None else main.max_concurrent_reconciles.value or main.configured_concurrency.value
    found = settings_of(signals)
    return found if workers is None else replace(found, concurrency=int(workers))


def api_seconds_of(signals: OperatorSignals) -> float | None:
    """Time of a request without the client's limiter; what busy workers tell of it where no series does."""
    client = signals.client
    known = (client.write_api_seconds_mean, client.api_seconds_mean, client.inferred_write_seconds_mean)
    return next((one.value for one in known if one.known), None) or None


def _lacking_always(signals: OperatorSignals, main: ControllerSignals | None, words: Words) -> Iterator[str]:
    if main is None or not (main.max_concurrent_reconciles.known or main.configured_concurrency.known):
        yield words.workers
    if not signals.settings.qps.known:
        yield words.qps
    if api_seconds_of(signals) is None:
        yield words.api_seconds


def _lacking(signals: OperatorSignals, main: ControllerSignals | None, words: Words) -> Iterator[str]:
    if signals.demand.items_in_burst.known:
        if not signals.demand.api_calls_per_item.known:
            yield words.calls_of_item
        return
    needed = {
        words.reconciles: main is not None and main.reconciles_per_second.value,
        words.reconcile_seconds: main is not None and main.reconcile_seconds_mean.value,
        words.calls: main is not None and calls_of(signals, main),
    }
    found = [name for name, value in needed.items() if not value]
    if found:
        yield from (*found[:-1], f"{found[-1]}{words.or_batch}")


def calls_of(signals: OperatorSignals, main: ControllerSignals) -> float | None:
    """Requests of one reconcile.

    As told; else the time of a reconcile over that of a request, limiter included, and no more than all writes of the
    operator for each reconcile: those hold the writes of events and of the lease as well.
    """
    if main.api_calls_per_reconcile.known:
        return main.api_calls_per_reconcile.value
    client, rate = signals.client, main.reconciles_per_second.value
    writes, request = client.write_requests_per_second.value, client.write_api_seconds_mean.value
    found = []
    if writes is not None and rate:
        found.append(writes / rate)
    if request and main.reconcile_seconds_mean.value is not None:
        found.append(main.reconcile_seconds_mean.value / (request + client.limiter_wait_seconds_mean.or_else(0.0)))
    return min(found, default=None)


def _busiest(loaded: Loaded) -> Episode | None:
    options, observed = Options(), loaded.observed
    whole = observed.signals(loaded.info.window)

    def lost_seconds(episode: Episode) -> float:
        signals = observed.signals(episode.window)
        case = Case(signals=signals, whole=whole, episode=episode, scrapes=None, thresholds=options.thresholds)
        return case.lost_seconds

    loads = [one for one in observed.episodes(options.cut_rules) if one.kind is EpisodeKind.LOAD]
    return max(loads, key=lost_seconds, default=None)


def _grown(loaded: Loaded, episode: Episode, signals: OperatorSignals) -> int:
    """By how many clusters their number grew; 0 where that was not seen."""
    start = loaded.info.window.start
    if not start < episode.window.start:
        return 0
    before = loaded.observed.signals(Window(start, episode.window.start))
    return max(0, objects_of(signals) - objects_of(before))


def objects_of(signals: OperatorSignals) -> int:
    """RayClusters; their series are there as soon as there is one."""
    found = signals.demand.objects.get(_MAIN)
    return 0 if found is None else int(found.or_else(0.0))
