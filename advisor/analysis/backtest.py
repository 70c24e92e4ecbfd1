"""Calibrate on some recordings, predict others from their settings and demand alone, and compare."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from advisor.analysis.loading import Progress, ignore_progress
from advisor.model.backtest import BacktestRow
from advisor.twin.calibrate import Calibration, calibrate
from advisor.twin.point import OperatingPoint
from advisor.twin.predict import Forecast, ForecastTask, forecast

__all__ = ["backtest", "rows_of", "task_for"]


def backtest(
    calibrated_on: Sequence[OperatingPoint],
    targets: Sequence[OperatingPoint],
    *,
    draws: int,
    progress: Progress = ignore_progress,
) -> Iterator[BacktestRow]:
    """Rows in the order of the targets.

    Args:
        calibrated_on: points that the twin is calibrated on.
        targets: points to be predicted; of these only settings and demand are used.
        draws: runs for each interval.
        progress: is told each step.
    """
    progress("calibrating")
    calibration = calibrate(calibrated_on, random.Random)
    for target in targets:
        progress(f"predicting {target.name}")
        yield from rows_of(target, forecast(task_for(target, calibration, draws), random.Random))


def task_for(target: OperatingPoint, calibration: Calibration, draws: int) -> ForecastTask:
    """The forecast of one target; how long it was looked on after its end is its outcome, so it is not used."""
    workload = target.workload
    if workload.duration_seconds is None:
        workload = replace(workload, tail_seconds=calibration.look_on_seconds)
    return ForecastTask(workload, target.settings, calibration, draws=draws)


def rows_of(target: OperatingPoint, made: Forecast) -> Iterator[BacktestRow]:
    """A row for each quantity that is both predicted and measured."""
    for estimate in made.estimates:
        measured = getattr(target.measured, estimate.quantity)
        if measured is None:
            continue
        yield BacktestRow(
            recording=target.name,
            quantity=estimate.quantity,
            predicted=estimate.value,
            low=estimate.low,
            high=estimate.high,
            measured=measured,
            relative_error=estimate.value / measured - 1.0 if measured > 0.0 else None,
        )
