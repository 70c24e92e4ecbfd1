"""A load out of rates and means: for facts, and for samples beside which nobody saw single objects.

A batch that arrives at once is taken as it is told. Otherwise clusters of one size are created at an even pace: as many
as their number grew by, or else as make the operator reconcile as often as it did; as large as its requests; and within
a time that makes keys wait as long as they did. Nothing is assumed about a figure that is not known: without those that
a load needs, there is none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from advisor.analysis.loading import Loaded
from advisor.analysis.points import LoadedPoint
from advisor.analysis.ratesseen import (
    RatesSeen,
    calls_of,
    check_figures,
    objects_of,
    rates_seen,
    settings_of_rates,
)
from advisor.analysis.rateswords import Words
from advisor.model.signals import ControllerSignals, OperatorSignals
from advisor.twin.fitting import solve
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.point import Measured, OperatingPoint
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Existing, Workload

__all__ = ["RatesPoint", "point_of_rates", "rates_point", "rates_point_of"]

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


@dataclass(frozen=True, slots=True)
class RatesPoint:
    """An operating point out of rates and means, the window that they are of, and how it was made, as a sentence."""

    loaded: LoadedPoint
    note: str


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


def point_of_rates(name: str, seen: RatesSeen) -> RatesPoint:
    """The operating point that does what was seen; found by runs of the twin.

    Raises:
        NothingToAnalyseError: what was seen carries no load.
    """
    words, seconds = seen.words, seen.window.seconds
    point = rates_point(name, seen.signals, None if seen.is_told else seconds, words, grown=seen.grown)
    return RatesPoint(LoadedPoint(point, seen.window), words.note(point.workload, seen.start_seconds, seconds))


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
    main, api_seconds = check_figures(name, signals, words)
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


def _rates(
    signals: OperatorSignals, main: ControllerSignals, seconds: float | None, api_seconds: float, grown: int
) -> _Rates:
    rate = main.reconciles_per_second.or_else(1.0)
    most = (_TOLD_RECONCILES if seconds is None else _MOST_RECONCILES) / rate
    taken = min(_LONGEST_SECONDS, most, most if seconds is None else seconds)
    return _Rates(
        seconds=taken,
        reconciles=rate * taken,
        requests=rate * taken * (calls_of(signals, main) or 0.0),
        reconcile_seconds=main.reconcile_seconds_mean.or_else(0.0),
        api_seconds=api_seconds,
        wait_seconds=main.queue_wait_seconds_mean.value,
        objects=min(_MOST_OBJECTS, objects_of(signals)),
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
    """Where a growing figure has the wanted value; the lower end itself where it is above it everywhere."""
    return low if figure(low) >= wanted else solve(figure, wanted, low, high)


def _workers(requests: float) -> int:
    return min(_MOST_WORKERS, max(0, round(requests)))
