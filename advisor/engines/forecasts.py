"""Forecasts of the twin as tasks of an engine."""

from random import Random

from advisor.twin.predict import Forecast, ForecastTask, forecast

__all__ = ["forecast_weight", "run_forecast"]


def run_forecast(task: ForecastTask) -> Forecast:
    """One forecast here and now, with a source of random numbers of its own."""
    return forecast(task, Random)


def forecast_weight(task: ForecastTask) -> float:
    """How many runs of the twin it takes."""
    return 1.0 + task.draws
