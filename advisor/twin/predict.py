"""What other settings would do to the same load, with an interval that says how far to trust it.

Parameters are drawn from their bounds, each draw is one run, and the interval holds the middle 80 % of them. Runs of
different settings use the same draws, so that they differ by the settings alone.
"""

import math
from dataclasses import dataclass, replace

from advisor.twin.calibrate import Calibration, Parameter, RandomSource
from advisor.twin.client import Random
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Workload

__all__ = ["QUANTITIES", "Estimate", "Forecast", "ForecastTask", "forecast"]

# How far two equal runs of a real operator lie apart, as the factor that holds four of five of them
# (docs/fidelity.md: three equal runs on one machine, and pairs of runs that differ only in an unused limiter).
_RUN_TO_RUN = {
    "makespan_seconds": 1.12,
    "ready_seconds_mean": 1.12,
    "queue_wait_seconds_mean": 1.25,
    "limiter_wait_seconds_mean": 1.10,
}
QUANTITIES = tuple(_RUN_TO_RUN)
# A standard normal number lies within this of zero in four of five cases.
_Z80 = 1.2816
# Beyond this factor of the calibrated workers a forecast is a guess about contention.
_TRUSTED_FACTOR = 4.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """One quantity of a forecast: in seconds, with bounds that hold it in four cases of five."""

    quantity: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ForecastTask:
    """One forecast to be made, whole enough to be sent to another process.

    Attributes:
        workload: the load.
        settings: to be tried.
        calibration: of the world.
        draws: runs for the interval; 0 gives the value alone.
        seed: of all random numbers.
    """

    workload: Workload
    settings: OperatorSettings
    calibration: Calibration
    draws: int = 12
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the settings would do.

    Attributes:
        settings: that were tried.
        estimates: by quantity; one that did not occur is absent.
        result: the run with the parameters as they are.
        is_beyond: the settings lie so far outside the calibrated range that the forecast is a guess.
    """

    settings: OperatorSettings
    estimates: tuple[Estimate, ...]
    result: RunResult
    is_beyond: bool

    def estimate(self, quantity: str) -> Estimate | None:
        """One quantity; None where it did not occur."""
        return next((one for one in self.estimates if one.quantity == quantity), None)


def forecast(task: ForecastTask, random: RandomSource) -> Forecast:
    """Make one forecast."""
    calibration, settings = task.calibration, task.settings
    central = simulate(task.workload, settings, calibration.world, random(task.seed))
    samples: dict[str, list[float]] = {quantity: [] for quantity in QUANTITIES}
    for draw in range(task.draws):
        source = random(task.seed + 1 + draw)
        world = _drawn(calibration, source)
        noise = _normal(source)
        result = simulate(task.workload, settings, world, source)
        for quantity, value in _quantities(result):
            samples[quantity].append(value * math.exp(noise * math.log(_RUN_TO_RUN[quantity]) / _Z80))
    estimates = tuple(_estimate(quantity, value, samples[quantity]) for quantity, value in _quantities(central))
    is_beyond = settings.concurrency > _TRUSTED_FACTOR * calibration.most_workers
    return Forecast(settings=settings, estimates=estimates, result=central, is_beyond=is_beyond)


def _quantities(result: RunResult) -> list[tuple[str, float]]:
    main = result.controller("raycluster")
    found = {
        "makespan_seconds": result.makespan_seconds,
        "ready_seconds_mean": result.ready_seconds_mean,
        "queue_wait_seconds_mean": None if main is None else main.queue_wait_seconds_mean,
        "limiter_wait_seconds_mean": result.limiter_wait_seconds_mean,
    }
    return [(quantity, value) for quantity, value in found.items() if value is not None]


def _estimate(quantity: str, value: float, samples: list[float]) -> Estimate:
    if not samples:
        return Estimate(quantity, value, value, value)
    ordered = sorted(samples)
    return Estimate(quantity, value, min(value, _quantile(ordered, 0.1)), max(value, _quantile(ordered, 0.9)))


def _quantile(ordered: list[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    index = int(position)
    above = ordered[min(index + 1, len(ordered) - 1)]
    return ordered[index] + (above - ordered[index]) * (position - index)


def _drawn(calibration: Calibration, random: Random) -> WorldParameters:
    """One world out of the bounds."""
    world = calibration.world
    drawn = {one.name: _draw(one, _normal(random)) for one in calibration.parameters}
    middle = calibration.parameter("request_seconds").value
    factor = drawn["request_seconds"] / middle if middle > 0.0 else 1.0
    # More work in the server's line is less delay outside it: the time of a request without load is measured.
    shift = drawn["server_work_seconds"] - world.server_work_seconds
    return replace(
        world,
        request_seconds={verb: max(0.0, seconds * factor - shift) for verb, seconds in world.request_seconds.items()},
        server_work_seconds=drawn["server_work_seconds"],
        pod_work_seconds=drawn["server_work_seconds"],
        pod_starters=max(1, round(drawn["pod_starters"])),
        watch_share=drawn["watch_share"],
        reconcile_seconds=drawn["reconcile_seconds"],
    )


def _draw(parameter: Parameter, normal: float) -> float:
    """A value on a log scale, so that it stays above zero and bounds may lie unevenly around the middle."""
    value = parameter.value
    if value <= 0.0:
        return value
    bound = parameter.high if normal > 0.0 else parameter.low
    ratio = bound / value if bound > 0.0 else 0.1
    return float(value * ratio ** (abs(normal) / _Z80))


def _normal(random: Random) -> float:
    """A standard normal number (Box and Muller), cut at two and a half so that a draw stays plausible."""
    radius = math.sqrt(-2.0 * math.log(1.0 - random.random()))
    return max(-2.5, min(2.5, radius * math.cos(2.0 * math.pi * random.random())))
