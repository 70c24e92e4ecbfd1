"""What the advised settings would do to the load that was seen, by runs of the twin; and the smallest that do as much.

The twin speaks only where it repeats the present: its waits and its work have to be those measured. Elsewhere the
closed forms of ``predictions`` stand.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from advisor.model.advice import Advice, Direction, KnobAdvice, Prediction
from advisor.recommend.policy import Policy
from advisor.twin.calibrate import Calibration, RandomSource, calibrate
from advisor.twin.parameters import OperatorSettings
from advisor.twin.point import Measured, OperatingPoint
from advisor.twin.predict import Forecast, ForecastTask, forecast
from advisor.twin.result import RunResult

__all__ = ["Foresight", "foresee"]

_DRAWS = 12
_CLOSE = 0.25
"""How far the twin's present may be off what was measured."""
_NOISE_SECONDS = 0.2
_LEAST_SECONDS = 0.001
"""What is and stays shorter is not worth a line."""
_METHOD = "runs of a simulated operator calibrated on what was measured; the interval holds four cases of five"
_GUESS = "; so far beyond the workers that were measured that it is a guess: measure again after each step"


@dataclass(frozen=True, slots=True)
class Foresight:
    """The advice, with a number of workers that the twin may have made smaller, and what it would do."""

    advice: Advice
    predictions: tuple[Prediction, ...]


def foresee(point: OperatingPoint, advice: Advice, policy: Policy, random: RandomSource) -> Foresight | None:
    """Predictions for advised settings; None where nothing is to be changed or the twin does not repeat the present.

    Args:
        point: the load, the settings and the figures that the advice is from.
        advice: by rules.
        policy: what is worth having.
        random: a fresh source of random numbers for a seed.
    """
    load = point.workload
    created = sum(one.workers + 1 for one in load.arrivals) + sum(one.workers for one in load.scalings)
    standing = sum(one.workers + 1 for one in load.existing)
    if not advice.changes_settings or not created or created + standing > policy.most_simulated_pods:
        return None
    calibration = calibrate([point], random)
    now = _run(point, point.settings, calibration, random).result
    if not _repeats(now, point.measured):
        return None
    advice = _smallest(point, advice, calibration, policy, random)
    made = _run(point, _settings(point.settings, advice), calibration, random, draws=_DRAWS)
    return Foresight(advice, tuple(_predictions(made, now, point.measured)))


def _run(
    point: OperatingPoint,
    settings: OperatorSettings,
    calibration: Calibration,
    random: RandomSource,
    *,
    draws: int = 0,
) -> Forecast:
    return forecast(ForecastTask(point.workload, settings, calibration, draws=draws), random)


def _settings(current: OperatorSettings, advice: Advice) -> OperatorSettings:
    """The settings after the advice is followed."""
    concurrency, qps, burst, cpu = (
        knob.value if knob.moves else None for knob in (advice.concurrency, advice.qps, advice.burst, advice.cpu_cores)
    )
    return replace(
        current,
        concurrency=current.concurrency if concurrency is None else int(concurrency),
        qps=current.qps if qps is None else qps,
        burst=current.burst if burst is None else max(1, int(burst)),
        cpu_limit_cores=current.cpu_limit_cores if cpu is None else cpu,
    )


def _repeats(now: RunResult, measured: Measured) -> bool:
    """Whether the twin's present is the measured one."""
    main = now.controller("raycluster")
    if main is None or measured.busy_worker_seconds is None:
        return False
    pairs = (
        (main.queue_wait_seconds_mean, measured.queue_wait_seconds_mean, _NOISE_SECONDS),
        (now.ready_seconds_mean, measured.ready_seconds_mean, _NOISE_SECONDS),
        (now.busy_worker_seconds("raycluster"), measured.busy_worker_seconds, 0.0),
    )
    return all(
        simulated is not None and abs(simulated - real) <= max(noise, _CLOSE * real)
        for simulated, real, noise in pairs
        if real is not None
    )


def _smallest(
    point: OperatingPoint, advice: Advice, calibration: Calibration, policy: Policy, random: RandomSource
) -> Advice:
    """Advice with the fewest workers that do within a noticeable part as well as the advised number."""
    knob = advice.concurrency
    if knob.direction is not Direction.RAISE or knob.value is None or knob.current is None:
        return advice
    most = int(knob.value)
    wanted = _cost(_run(point, _settings(point.settings, advice), calibration, random).result)
    for workers in range(int(knob.current) + 1, most):
        fewer = msgspec.structs.replace(advice, concurrency=msgspec.structs.replace(knob, value=float(workers)))
        cost = _cost(_run(point, _settings(point.settings, fewer), calibration, random).result)
        if cost <= wanted * (1.0 + policy.smallest_gain_ratio):
            return msgspec.structs.replace(advice, concurrency=_fewer(knob, workers))
    return advice


def _fewer(knob: KnobAdvice, workers: int) -> KnobAdvice:
    reason = f"{knob.reason}; simulated, {workers} do as much as {knob.value:.0f}"
    return msgspec.structs.replace(knob, value=float(workers), reason=reason)


def _cost(result: RunResult) -> float:
    """What people wait for: clusters getting ready, or where none arrives keys in the queue."""
    main = result.controller("raycluster")
    waited = 0.0 if main is None else main.queue_wait_seconds_mean or 0.0
    return result.ready_seconds_mean or waited


def _predictions(made: Forecast, now: RunResult, measured: Measured) -> Iterator[Prediction]:
    method = _METHOD + (_GUESS if made.is_beyond else "")
    names = {
        "queue_wait_seconds_mean": measured.queue_wait_seconds_mean,
        "ready_seconds_mean": measured.ready_seconds_mean,
        "drain_seconds": measured.makespan_seconds,
        "limiter_wait_seconds_mean": measured.limiter_wait_seconds_mean,
    }
    for quantity, present in names.items():
        estimate = made.estimate("makespan_seconds" if quantity == "drain_seconds" else quantity)
        if estimate is None or present is None or max(estimate.value, present) < _LEAST_SECONDS:
            continue
        yield Prediction(
            quantity=quantity,
            unit="seconds",
            now=present,
            then=estimate.value,
            low=estimate.low,
            high=estimate.high,
            method=method,
            simulated=True,
        )
    yield from _rates(made.result, now, measured, method)


def _rates(then: RunResult, now: RunResult, measured: Measured, method: str) -> Iterator[Prediction]:
    """Requests and CPU go with the work, which is the same; so they grow as the time for it shrinks."""
    before, after = (_requests(one) / one.run_seconds for one in (now, then))
    yield _between("api_requests_per_second", "per_second", before, after, method)
    if measured.cpu_seconds is not None and before > 0.0:
        cores = measured.cpu_seconds / now.run_seconds
        yield _between("cpu_cores", "cores", cores, cores * after / before, method)


def _between(quantity: str, unit: str, now: float, then: float, method: str) -> Prediction:
    """A rate that a slower world would leave nearer to what it is."""
    low, high = sorted((now, then))
    return Prediction(
        quantity=quantity, unit=unit, now=now, then=then, low=low, high=high, method=method, simulated=True
    )


def _requests(result: RunResult) -> int:
    return sum(one.requests for one in result.requests)
