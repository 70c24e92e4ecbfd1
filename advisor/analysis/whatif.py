"""Many settings on one load: from a situation to the result that every form of report shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from advisor.analysis.loading import Progress, ignore_progress
from advisor.analysis.situations import Situation
from advisor.engines.base import Engine
from advisor.engines.forecasts import forecast_weight, run_forecast
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.model.whatif import (
    BestSettings,
    CalibratedParameter,
    Interval,
    LoadSummary,
    MeasuredValue,
    PointSummary,
    SettingsCell,
    WhatIf,
)
from advisor.twin.grid import Cell, Grid, GridAxes, grid_tasks
from advisor.twin.predict import Forecast, ForecastTask
from advisor.twin.result import RunResult
from advisor.twin.workload import Workload

__all__ = ["Question", "WhatIfInterruptedError", "what_if"]

_MAIN = "raycluster"
_TO_BE_SHORT = ("makespan_seconds", "ready_seconds_mean", "queue_wait_seconds_mean")
"""What people wait for; a limiter's wait alone is shortest where something else holds the operator back."""
_EXPLAINED = 0.7
"""With a smaller part of the measured CPU time explained, limits of CPU are judged too mildly."""

_NEAR = 1.25
"""Equal runs of a real operator differ by as much in queue wait (docs/fidelity.md)."""
_NO_TIME_SECONDS = 0.2
"""Times below this are noise."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        axes: the settings to try.
        draws: runs for each interval; 0 for none.
        seed: of all random numbers.
        wait_target_seconds: mean queue wait that is good enough.
    """

    axes: GridAxes
    draws: int
    seed: int
    wait_target_seconds: float


class WhatIfInterruptedError(KeyboardInterrupt):
    """Ctrl-C while forecasts ran.

    Attributes:
        finished: the result as far as it got.
    """

    def __init__(self, finished: WhatIf) -> None:
        super().__init__()
        self.finished = finished


def what_if(situation: Situation, question: Question, engine: Engine, progress: Progress = ignore_progress) -> WhatIf:
    """Forecast each combination of settings.

    Args:
        situation: what is known.
        question: what is asked.
        engine: where forecasts run.
        progress: is told each step.

    Raises:
        ValueError: a setting cannot be, or there are too many combinations.
        WhatIfInterruptedError: Ctrl-C, with what is finished; KeyboardInterrupt itself where nothing is.
        AdvisorError: the engine failed.
    """
    tasks = grid_tasks(
        question.axes,
        situation.workload,
        situation.settings,
        situation.calibration,
        draws=question.draws,
        seed=question.seed,
    )
    finished: dict[int, Forecast] = {}
    progress(f"forecast 1 of {len(tasks)}")
    running = engine.run(
        run_forecast,
        tasks,
        lambda done, of: progress(f"forecast {min(done + 1, of)} of {of}"),
        weigh=forecast_weight,
    )
    try:
        for place, found in running:
            finished[place] = found  # noqa: PERF403 - what is finished stays when the next one is interrupted
    except KeyboardInterrupt:
        if not finished:
            raise
        raise WhatIfInterruptedError(_result(situation, question, tasks, finished)) from None
    return _result(situation, question, tasks, finished)


def _result(
    situation: Situation, question: Question, tasks: list[ForecastTask], finished: Mapping[int, Forecast]
) -> WhatIf:
    cpu_scale = _cpu_scale(situation, finished.get(0))
    grid = Grid.of(tasks, {place: _doubted(one, cpu_scale) for place, one in finished.items()})
    places = {id(cell): index for index, cell in enumerate(grid.cells)}
    smallest = grid.smallest(question.wait_target_seconds)
    best = ((quantity, grid.best(quantity)) for quantity in _TO_BE_SHORT)
    calibration = situation.calibration
    return WhatIf(
        load=_load(situation.name, situation.workload),
        points=tuple(
            PointSummary(
                name=one.name,
                concurrency=one.settings.concurrency,
                qps=one.settings.qps,
                burst=one.settings.burst,
                cpu_limit_cores=one.settings.cpu_limit_cores,
            )
            for one in situation.points
        ),
        parameters=tuple(
            CalibratedParameter(name=one.name, value=one.value, low=one.low, high=one.high, origin=one.origin)
            for one in calibration.parameters
        ),
        measured=situation.measured,
        cells=tuple(_cell(one, cpu_scale, has_draws=question.draws > 0) for one in grid.cells),
        wait_target_seconds=question.wait_target_seconds,
        smallest=None if smallest is None else places[id(smallest)],
        best=tuple(
            BestSettings(quantity=quantity, cell=places[id(cell)]) for quantity, cell in best if cell is not None
        ),
        draws=question.draws,
        seed=question.seed,
        cells_wanted=grid.wanted,
        notes=(*situation.notes, *_notes(situation, question, grid, cpu_scale)),
    )


def _load(name: str, workload: Workload) -> LoadSummary:
    times = [one.at_seconds for one in workload.arrivals]
    return LoadSummary(
        name=name,
        existing=len(workload.existing),
        created=len(workload.arrivals),
        pods=sum(1 + one.workers for one in workload.arrivals),
        arrival_seconds=max(times) - min(times) if times else 0.0,
        scalings=len(workload.scalings),
        deletions=len(workload.deletions),
        restarts=len(workload.restarts),
        duration_seconds=workload.duration_seconds,
    )


def _cell(cell: Cell, cpu_scale: float, *, has_draws: bool) -> SettingsCell:
    settings, result = cell.settings, cell.forecast.result
    bounded = tuple(
        Interval(
            quantity=one.quantity,
            unit=Unit.SECONDS,
            value=one.value,
            low=one.low if has_draws else None,
            high=one.high if has_draws else None,
        )
        for one in cell.forecast.estimates
    )
    return SettingsCell(
        concurrency=settings.concurrency,
        qps=settings.qps,
        burst=settings.burst,
        cpu_limit_cores=settings.cpu_limit_cores,
        is_now=cell.is_now,
        is_beyond=cell.is_beyond,
        is_complete=cell.is_complete,
        no_gain=cell.no_gain,
        estimates=(*bounded, *_rates(result, cpu_scale)),
    )


def _rates(result: RunResult, cpu_scale: float) -> Iterator[Interval]:
    """What is known of a run without an interval."""
    main = result.controller(_MAIN)
    if main is not None:
        yield Interval(quantity="utilisation", unit=Unit.RATIO, value=main.utilisation)
    if result.run_seconds > 0:
        cores = result.cpu_seconds * cpu_scale / result.run_seconds
        yield Interval(quantity="cpu_cores", unit=Unit.CORES, value=cores)
        requests = sum(one.requests for one in result.requests)
        yield Interval(quantity="requests_per_second", unit=Unit.PER_SECOND, value=requests / result.run_seconds)


def _cpu_scale(situation: Situation, now: Forecast | None) -> float:
    """What the model's CPU time is multiplied by, so that it is the measured one under the settings in force."""
    measured = _measured(situation.measured, "cpu_cores")
    if measured is None or now is None or not now.result.cpu_seconds:
        return 1.0
    return measured * now.result.run_seconds / now.result.cpu_seconds


def _doubted(one: Forecast, cpu_scale: float) -> Forecast:
    """A forecast that would take more CPU than its limit allows is a guess."""
    limit, result = one.settings.cpu_limit_cores, one.result
    if limit is None or result.cpu_seconds * cpu_scale <= limit * result.run_seconds:
        return one
    return replace(one, is_beyond=True)


def _measured(measured: tuple[MeasuredValue, ...], quantity: str) -> float | None:
    return next((one.value for one in measured if one.quantity == quantity), None)


def _notes(situation: Situation, question: Question, grid: Grid, cpu_scale: float) -> Iterator[str]:
    if question.axes.cpu_limit_cores and cpu_scale * _EXPLAINED > 1.0:
        yield (
            f"the model explains {1.0 / cpu_scale:.0%} of the measured CPU time, so that limits of CPU cost more "
            "than is shown; where the measured part alone is above the limit, the forecast counts as a guess"
        )
    yield from _misses(situation, grid)
    undone = sum(not cell.is_complete for cell in grid.cells)
    if undone:
        yield (
            f"in {undone} of {len(grid.cells)} combinations not everything got ready within the run: their means leave "
            "out what would take longest"
        )


def _misses(situation: Situation, grid: Grid) -> Iterator[str]:
    """A line for each quantity of which the model does not repeat the present."""
    for one in situation.measured:
        estimate = None if grid.now is None else grid.now.forecast.estimate(one.quantity)
        if estimate is None or max(estimate.value, one.value) < _NO_TIME_SECONDS:
            continue
        if not estimate.low / _NEAR <= one.value <= estimate.high * _NEAR:
            got, real = (format_value(value, one.unit) for value in (estimate.value, one.value))
            name = one.quantity.removesuffix("_seconds_mean").removesuffix("_seconds").replace("_", " ")
            yield f"the model's {name} under the settings in force is {got}, measured was {real}: trust it with care"
