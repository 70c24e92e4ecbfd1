"""What is asked about when many settings are tried: a load, the settings in force, and a calibrated world."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from advisor.analysis.backtest import task_for
from advisor.analysis.loading import Loaded, Progress
from advisor.analysis.points import LoadedPoint, measured_at, measured_beside, point_of
from advisor.analysis.ratesload import rates_point_of
from advisor.model.whatif import MeasuredValue
from advisor.sources.workloadfile import WorkloadFile
from advisor.twin.calibrate import Calibration, Parameter, calibrate
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.point import OperatingPoint
from advisor.twin.workload import Workload

__all__ = ["Situation", "of_inputs", "of_points", "of_workload"]

_MAIN = "raycluster"
_NOTHING_CALIBRATED = 10**9


@dataclass(frozen=True, slots=True)
class Situation:
    """A load under settings in a world.

    Attributes:
        name: of the load.
        workload: the load.
        settings: in force.
        calibration: of the world.
        points: what the calibration rests on.
        measured: under the settings in force.
        notes: what a reader has to know about it.
    """

    name: str
    workload: Workload
    settings: OperatorSettings
    calibration: Calibration
    points: tuple[OperatingPoint, ...] = ()
    measured: tuple[MeasuredValue, ...] = ()
    notes: tuple[str, ...] = ()


def of_inputs(
    inputs: Sequence[tuple[str, Loaded]], load: tuple[str, WorkloadFile] | None, progress: Progress
) -> Situation:
    """The load of the first of some inputs, or another one, in the world that all of them show.

    Where single objects were seen the load is theirs; elsewhere it follows from rates and means.

    Args:
        inputs: each with its name; at least one.
        load: a load to be tried instead of the first input's, with its name.
        progress: is told each step.

    Raises:
        NothingToAnalyseError: an input has no load.
    """
    found = [_point_of(name, one) for name, one in inputs]
    points = tuple(one.point for one, _ in found)
    if load is None:
        return of_points(points, _measured(found[0][0], inputs[0][1]), _of_rates(found), progress)
    calibration = _calibrated(points, progress)
    first, notes = points[0], (*calibration.notes, *_of_rates(found))
    name, file = load
    note = f"the load is that of {name}; settings in force and times of the world are those that were observed"
    return Situation(name, file.workload, first.settings, calibration, points, (), (*notes, note))


def of_points(
    points: Sequence[OperatingPoint], measured: tuple[MeasuredValue, ...], notes: tuple[str, ...], progress: Progress
) -> Situation:
    """The load of the first of some operating points, in the world that all of them show.

    Args:
        points: at least one.
        measured: under the settings of the first.
        notes: what a reader has to know about them.
        progress: is told each step.
    """
    calibration = _calibrated(points, progress)
    first = points[0]
    workload = task_for(first, calibration, 0).workload
    notes = (*calibration.notes, *notes)
    return Situation(first.name, workload, first.settings, calibration, tuple(points), measured, notes)


def _calibrated(points: Sequence[OperatingPoint], progress: Progress) -> Calibration:
    progress(f"calibrating on {', '.join(one.name for one in points)}")
    return calibrate(points, Random)


def _point_of(name: str, loaded: Loaded) -> tuple[LoadedPoint, str | None]:
    """A point, and what has to be said about it."""
    if loaded.info.object_changes:
        return point_of(name, loaded), None
    found = rates_point_of(name, loaded)
    return found.loaded, found.note


def _of_rates(found: Sequence[tuple[LoadedPoint, str | None]]) -> tuple[str, ...]:
    """What has to be said about points, with their names where there are several."""
    return tuple(note if len(found) == 1 else f"{one.point.name}: {note}" for one, note in found if note is not None)


def of_workload(name: str, file: WorkloadFile) -> Situation:
    """A described load in a described world: its times are taken as they are stated."""
    note = "the times of the world are stated in the workload file, not measured"
    return Situation(name, file.workload, file.settings, _stated(name, file.world), notes=(note,))


def _stated(name: str, world: WorldParameters) -> Calibration:
    """A world that is known without bounds; nothing lies beyond it."""
    values = {
        "request_seconds": world.request_seconds["POST"],
        "server_work_seconds": world.server_work_seconds,
        "reconcile_seconds": world.reconcile_seconds,
        "pod_starters": float(world.pod_starters),
        "watch_share": world.watch_share,
    }
    return Calibration(
        world=world,
        parameters=tuple(Parameter(key, value, value, value, f"stated ({name})") for key, value in values.items()),
        points=(),
        fewest_workers=1,
        most_workers=_NOTHING_CALIBRATED,
        look_on_seconds=0.0,
        notes=(),
    )


def _measured(loaded: LoadedPoint, source: Loaded) -> tuple[MeasuredValue, ...]:
    """Everything that the prediction has beside it, over the window of the point."""
    beside = () if source.info.kind == "facts" else measured_beside(source.observed.signals(loaded.window))
    return (*measured_at(loaded.point), *beside)
