"""A load out of rates and means: for facts, and for samples beside which nobody saw single objects.

A batch that arrives at once is taken as it is told. Otherwise clusters of one size are created at an even pace: as many
as their number grew by, or else as make the operator reconcile as often as it did; as large as its requests; and within
a time that makes keys wait as long as they did. Nothing is assumed about a figure that is not known: without those that
a load needs, there is none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

import msgspec

from advisor.analysis.loading import Loaded
from advisor.analysis.options import Options
from advisor.analysis.points import LoadedPoint
from advisor.analysis.rateswords import FACTS, SAMPLES, Words
from advisor.diagnosis.case import Case
from advisor.errors import NothingToAnalyseError
from advisor.model.signal import Window
from advisor.model.signals import ControllerSignals, Episode, EpisodeKind, OperatorSignals
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.point import Measured, OperatingPoint, settings_of
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Existing, Workload

__all__ = [
    "RatesPoint",
    "RatesSeen",
    "point_of_rates",
    "rates_point",
    "rates_point_of",
    "rates_seen",
    "settings_of_rates",
]

_MAIN = "raycluster"
_VERBS = ("POST", "PUT", "PATCH", "DELETE")
_LONGEST_SECONDS = 3600.0
_TOLD_RECONCILES = 600.0
"""So many show what there is to see, and a run of them is short; facts do not say how long their rates hold."""
_MOST_RECONCILES = 3000.0
_MOST_OBJECTS = 5000
_MOST_WORKERS = 5000
_FIXED_REQUESTS = 4.0
"""Of a cluster beside its worker Pods: service, head Pod, two writes of its status (knowledge: programs)."""
_RESYNC_SECONDS = 300.0
_LEAST_RECONCILE_SECONDS = 0.001
_MOST_GROWN = 3.0
"""Reconciles tell the number of clusters no better than this; beyond it, clusters were deleted as well."""
_ROUNDS = 2
_STEPS = 7


@dataclass(frozen=True, slots=True)
class RatesPoint:
    """An operating point out of rates and means, the window that they are of, and how it was made, as a sentence."""

    loaded: LoadedPoint
    note: str


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


@dataclass(frozen=True, slots=True)
class _Rates:
    """What a load is made of; the RayCluster controller's."""

    seconds: float
    reconciles: float
    requests: float
    reconcile_seconds: float
    api_seconds: float
    wait_seconds: float | None
    objects: int
    objects_are_old: bool
    grown: int
    resync_seconds: float


def rates_point_of(name: str, loaded: Loaded) -> RatesPoint:
    """The operating point of the load episode in which most time was lost.

    Raises:
        NothingToAnalyseError: the operator did nothing, or figures that a load needs are not known; the message names
            them.
    """
    return point_of_rates(name, rates_seen(name, loaded))


def rates_seen(name: str, loaded: Loaded) -> RatesSeen:
    """What there is to make a load of; quickly, since nothing is run.

    Raises:
        NothingToAnalyseError: as for :func:`rates_point_of`.
    """
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
    _check(name, signals, seen.words)
    return seen


def point_of_rates(name: str, seen: RatesSeen) -> RatesPoint:
    """The operating point that does what was seen; found by runs of the twin.

    Raises:
        NothingToAnalyseError: what was seen carries no load.
    """
    words, seconds = seen.words, seen.window.seconds
    point = rates_point(name, seen.signals, None if seen.is_told else seconds, words, grown=seen.grown)
    return RatesPoint(LoadedPoint(point, seen.window), words.note(point.workload, seen.start_seconds, seconds))


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
    return max(0, _objects(signals) - _objects(before))


def _objects(signals: OperatorSignals) -> int:
    """RayClusters; their series are there as soon as there is one."""
    found = signals.demand.objects.get(_MAIN)
    return 0 if found is None else int(found.or_else(0.0))


def rates_point(
    name: str, signals: OperatorSignals, seconds: float | None, words: Words, *, grown: int = 0
) -> OperatingPoint:
    """An operating point that does what rates and means say.

    Args:
        name: what to call it.
        signals: the rates and means.
        seconds: how long they held; None where nobody knows.
        words: how the source speaks of the figures.
        grown: by how many clusters their number grew; 0 where nobody knows.

    Raises:
        NothingToAnalyseError: they do not carry a load; the message says what is missing.
    """
    main, api_seconds = _check(name, signals, words)
    settings = settings_of_rates(signals)
    if signals.demand.items_in_burst.known:
        workload = _batch(signals)
        measured = replace(_measured(signals, api_seconds), makespan_seconds=signals.demand.drain_seconds.value)
        return OperatingPoint(name, settings, workload, measured, workload.tail_seconds)
    rates = _rates(signals, main, seconds, api_seconds, grown)
    workload = _Shape(rates, settings).workload()
    measured = replace(
        _measured(signals, api_seconds),
        busy_worker_seconds=_busy_seconds(main, rates),
        reconciles=rates.reconciles,
        conflicts=_times(signals.client.conflicts_per_second.value, rates.seconds),
        cpu_seconds=_times(signals.process.cpu_cores.value, rates.seconds),
    )
    return OperatingPoint(name, settings, workload, measured, workload.tail_seconds)


def _check(name: str, signals: OperatorSignals, words: Words) -> tuple[ControllerSignals, float]:
    """The main controller and the time of a request; all other figures that a load needs are there as well.

    Raises:
        NothingToAnalyseError: some are not.
    """
    main, api_seconds = signals.controller(_MAIN), _api_seconds(signals)
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


def _api_seconds(signals: OperatorSignals) -> float | None:
    """Time of a request without the client's limiter; what busy workers tell of it where no series does."""
    client = signals.client
    known = (client.write_api_seconds_mean, client.api_seconds_mean, client.inferred_write_seconds_mean)
    return next((one.value for one in known if one.known), None) or None


def _lacking_always(signals: OperatorSignals, main: ControllerSignals | None, words: Words) -> Iterator[str]:
    if main is None or not (main.max_concurrent_reconciles.known or main.configured_concurrency.known):
        yield words.workers
    if not signals.settings.qps.known:
        yield words.qps
    if _api_seconds(signals) is None:
        yield words.api_seconds


def _lacking(signals: OperatorSignals, main: ControllerSignals | None, words: Words) -> Iterator[str]:
    if signals.demand.items_in_burst.known:
        if not signals.demand.api_calls_per_item.known:
            yield words.calls_of_item
        return
    needed = {
        words.reconciles: main is not None and main.reconciles_per_second.value,
        words.reconcile_seconds: main is not None and main.reconcile_seconds_mean.value,
        words.calls: main is not None and _calls(signals, main),
    }
    found = [name for name, value in needed.items() if not value]
    if found:
        yield from (*found[:-1], f"{found[-1]}{words.or_batch}")


def _calls(signals: OperatorSignals, main: ControllerSignals) -> float | None:
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


def _rates(
    signals: OperatorSignals, main: ControllerSignals, seconds: float | None, api_seconds: float, grown: int
) -> _Rates:
    rate = main.reconciles_per_second.or_else(1.0)
    most = (_TOLD_RECONCILES if seconds is None else _MOST_RECONCILES) / rate
    taken = min(_LONGEST_SECONDS, most, most if seconds is None else seconds)
    return _Rates(
        seconds=taken,
        reconciles=rate * taken,
        requests=rate * taken * (_calls(signals, main) or 0.0),
        reconcile_seconds=main.reconcile_seconds_mean.or_else(0.0),
        api_seconds=api_seconds,
        wait_seconds=main.queue_wait_seconds_mean.value,
        objects=min(_MOST_OBJECTS, _objects(signals)),
        objects_are_old=seconds is None,
        grown=round(grown * taken / (seconds or taken)),
        resync_seconds=signals.demand.resync_seconds.value or _RESYNC_SECONDS,
    )


def _measured(signals: OperatorSignals, api_seconds: float) -> Measured:
    client, main = signals.client, signals.controller(_MAIN)
    by_verb = tuple((one.verb, one.api_seconds_mean.value) for one in client.verbs if one.api_seconds_mean.value)
    if not by_verb and (client.write_api_seconds_mean.known or client.api_seconds_mean.known):
        by_verb = (("POST", api_seconds),)
    return Measured(
        queue_wait_seconds_mean=None if main is None else main.queue_wait_seconds_mean.value,
        limiter_wait_seconds_mean=None if signals.settings.limiter_off else client.limiter_wait_seconds_mean.value,
        api_seconds_by_verb=by_verb,
        write_seconds=api_seconds,
        conflict_ratio=client.conflict_ratio.value,
        throttled_ratio=client.too_many_requests_ratio.value,
    )


def _busy_seconds(main: ControllerSignals, rates: _Rates) -> float:
    busy = main.busy_workers_mean.value
    return (rates.reconciles * rates.reconcile_seconds) if busy is None else busy * rates.seconds


def _times(per_second: float | None, seconds: float) -> float | None:
    return None if per_second is None else per_second * seconds


def _batch(signals: OperatorSignals) -> Workload:
    """So many clusters at once, each with the Pods that its number of requests stands for."""
    demand = signals.demand
    count = min(_MOST_OBJECTS, max(1, round(demand.items_in_burst.or_else(0.0))))
    workers = _workers(demand.api_calls_per_item.or_else(0.0) - _FIXED_REQUESTS)
    return Workload(arrivals=tuple(Arrival(0.0, f"batch/cluster-{index}", workers) for index in range(count)))


class _Shape:
    """Number, size and pace of the clusters, moved until a run shows the figures."""

    def __init__(self, rates: _Rates, settings: OperatorSettings) -> None:
        self._rates = rates
        self._settings = settings
        calls = rates.requests / rates.reconciles
        rest = rates.reconcile_seconds - calls * rates.api_seconds
        self._world = WorldParameters(
            request_seconds=dict.fromkeys(_VERBS, rates.api_seconds),
            reconcile_seconds=max(_LEAST_RECONCILE_SECONDS, rest),
        )

    def workload(self) -> Workload:
        """The load."""
        rates = self._rates
        standing = rates.objects / rates.resync_seconds * rates.seconds if rates.objects_are_old else 0.0
        if rates.reconciles <= standing:
            return self._with(0, rates.seconds)
        most = min(float(_MOST_OBJECTS), rates.requests / _FIXED_REQUESTS)
        count, seconds = 1, rates.seconds
        for _ in range(_ROUNDS):
            count = self._count(seconds, most)
            seconds = self._seconds(count)
        return self._with(count, seconds)

    def _count(self, seconds: float, most: float) -> int:
        """How many are created: what their number grew by, unless far more must have come and gone meanwhile."""
        rates = self._rates
        count = round(_solve(lambda some: self._reconciles(some, seconds), rates.reconciles, 1.0, most))
        return rates.grown if 0 < count <= _MOST_GROWN * rates.grown else count

    def _seconds(self, count: int) -> float:
        """Within what time they are created, for keys to wait as long as they did."""
        rates = self._rates
        if rates.wait_seconds is None:
            return rates.seconds
        return rates.seconds - _solve(
            lambda earlier: self._wait(count, rates.seconds - earlier), rates.wait_seconds, 0.0, rates.seconds
        )

    def _reconciles(self, count: float, seconds: float) -> float:
        main = self._run(round(count), seconds).controller(_MAIN)
        return 0.0 if main is None else float(sum(main.reconciles.values()))

    def _wait(self, count: int, seconds: float) -> float:
        main = self._run(count, seconds).controller(_MAIN)
        return 0.0 if main is None else main.queue_wait_seconds_mean or 0.0

    def _run(self, count: int, seconds: float) -> RunResult:
        return simulate(self._with(count, seconds), self._settings, self._world, Random(1))  # noqa: S311 - no secret

    def _with(self, count: int, seconds: float) -> Workload:
        rates = self._rates
        size = _workers(rates.requests / count - _FIXED_REQUESTS) if count else 0
        old = rates.objects if rates.objects_are_old else max(0, rates.objects - count)
        return Workload(
            existing=tuple(Existing(f"standing/cluster-{index}", size) for index in range(old)),
            arrivals=tuple(Arrival(index * seconds / count, f"new/cluster-{index}", size) for index in range(count)),
            duration_seconds=None if count else rates.seconds,
            tail_seconds=0.0,
        )


def _solve(figure: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a growing figure has the wanted value, by bisection; the lower end where it is above it everywhere."""
    if figure(low) >= wanted:
        return low
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if figure(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _workers(requests: float) -> int:
    return min(_MOST_WORKERS, max(0, round(requests)))
