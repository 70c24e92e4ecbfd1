"""Operating points from inputs: what the twin is calibrated from and compared with."""

from bisect import bisect_right
from dataclasses import dataclass

from advisor.analysis.loading import Loaded, Observed
from advisor.errors import NothingToAnalyseError
from advisor.model.signal import Window
from advisor.model.trace import DemandTrace
from advisor.twin.point import OperatingPoint, operating_point

__all__ = ["LoadedPoint", "point_in", "point_of"]


@dataclass(frozen=True, slots=True)
class LoadedPoint:
    """An operating point and the window of time that it was measured over, in Unix seconds."""

    point: OperatingPoint
    window: Window


def point_in(name: str, loaded: Loaded, within: Window) -> OperatingPoint | None:
    """The operating point of one stretch of an observation; None where nothing was created or scaled in it."""
    found = _point(name, loaded, within)
    return None if found is None else found.point


def point_of(name: str, loaded: Loaded) -> LoadedPoint:
    """The operating point of everything from the first object created to the end of an input.

    Counters are read from the scrape before it, so that nothing of the load is missed.

    Raises:
        NothingToAnalyseError: nothing was created, or object changes are missing, so there is no load to run again.
    """
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
    first = observed.first_demand(within)
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
