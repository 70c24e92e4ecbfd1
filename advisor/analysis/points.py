"""Operating points from inputs: what the twin is calibrated from and compared with."""

from bisect import bisect_right
from dataclasses import dataclass

from advisor.analysis.loading import Loaded, Observed
from advisor.errors import NothingToAnalyseError
from advisor.model.signal import Signal, Unit, Window
from advisor.model.signals import OperatorSignals
from advisor.model.trace import DemandTrace
from advisor.model.whatif import MeasuredValue
from advisor.twin.point import OperatingPoint, operating_point

__all__ = ["LoadedPoint", "measured_at", "measured_beside", "point_in", "point_of", "refuse_others"]


_MAIN = "raycluster"


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """An operating point and the window of time that it was measured over, in Unix seconds."""

    point: OperatingPoint
    window: Window


def refuse_others(name: str, loaded: Loaded) -> None:
    """See that the operator is one whose reconciles can be simulated.

    Raises:
        NothingToAnalyseError: it is not KubeRay's, so which requests its reconciles make is not known.
    """
    profile = loaded.observed.choice.profile
    if not profile.is_kuberay:
        raise NothingToAnalyseError(
            f"only KubeRay's reconciles can be simulated, and by its profile this is a {profile.title} operator",
            where=name,
            hint="analyze tells what holds it back; --profile kuberay where the profile is wrong",
        )


def point_in(name: str, loaded: Loaded, within: Window) -> OperatingPoint | None:
    """The operating point of one stretch of an observation; None where nothing was created or scaled in it."""
    found = _point(name, loaded, within)
    return None if found is None else found.point


def point_of(name: str, loaded: Loaded) -> LoadedPoint:
    """The operating point of everything from the first object created to the end of an input.

    Counters are read from the scrape before it, so that nothing of the load is missed.

    Raises:
        NothingToAnalyseError: it is not KubeRay, nothing was created, or object changes are missing, so there is no
            load to run again.
    """
    refuse_others(name, loaded)
    found = _point(name, loaded, loaded.info.window)
    if found is None:
        raise NothingToAnalyseError(
            "nothing was created or scaled while the operator was observed, so there is no load to run again",
            where=name,
            hint="record with --objects while clusters are created, or describe the load in a workload file",
        )
    return found


def _point(name: str, loaded: Loaded, within: Window) -> LoadedPoint | None:
    observed = loaded.observed
    first = observed.first_demand(within) if observed.choice.profile.is_kuberay else None
    trace = None if first is None else observed.trace(Window(first, within.end))
    if first is None or trace is None:
        return None
    window = Window(_scrape_before(observed, first), within.end)
    point = operating_point(name, observed.signals(window), trace, look_on_seconds=_look_on(observed, within, trace))
    return LoadedPoint(point, window)


def _scrape_before(observed: Observed, time: float) -> float:
    scrapes = observed.scrapes or (time,)
    return scrapes[max(0, bisect_right(scrapes, time) - 1)]


def _look_on(observed: Observed, whole: Window, trace: DemandTrace) -> float | None:
    """How long the observation usually sees more after the last ready cluster.

    Its own last scrape came by chance anywhere between one scrape before its end and the end.
    """
    last = trace.last_ready_seconds
    if last is None:
        return None
    ended = observed.ended if observed.ended is not None else whole.end
    return max(0.0, ended - (trace.start + last) - observed.usual_pause_seconds / 2.0)


def measured_beside(signals: OperatorSignals) -> tuple[MeasuredValue, ...]:
    """What the prediction has beside it that is no part of an operating point."""
    main = signals.controller(_MAIN)
    more: list[tuple[str, Unit, Signal | None]] = [
        ("utilisation", Unit.RATIO, None if main is None else main.utilisation),
        ("cpu_cores", Unit.CORES, signals.process.cpu_cores),
        ("requests_per_second", Unit.PER_SECOND, signals.client.requests_per_second),
    ]
    return tuple(
        MeasuredValue(quantity=name, unit=unit, value=signal.value)
        for name, unit, signal in more
        if signal is not None and signal.value is not None
    )


def measured_at(point: OperatingPoint) -> tuple[MeasuredValue, ...]:
    """What an operating point has of that."""
    values = (
        ("makespan_seconds", point.measured.makespan_seconds),
        ("ready_seconds_mean", point.measured.ready_seconds_mean),
        ("queue_wait_seconds_mean", point.measured.queue_wait_seconds_mean),
        ("limiter_wait_seconds_mean", point.measured.limiter_wait_seconds_mean),
    )
    return tuple(
        MeasuredValue(quantity=name, unit=Unit.SECONDS, value=value) for name, value in values if value is not None
    )
