"""Predictions of the analysis before, held against what was measured after."""

import math
from collections.abc import Iterator

from advisor.analysis.sides import Pair
from advisor.model.advice import Advice, Direction, KnobAdvice, Prediction
from advisor.model.comparison import PredictionCheck, PredictionResult
from advisor.model.settings import Setting, Settings

__all__ = ["check_predictions", "departures"]

_FIGURES = {
    "queue_wait_seconds_mean": "controllers.{controller}.queue_wait_seconds_mean",
    "oldest_wait_seconds": "controllers.{controller}.oldest_wait_seconds_peak",
    "api_requests_per_second": "client.requests_per_second",
    "cpu_cores": "process.cpu_cores",
    "ready_seconds_mean": "demand.ready_seconds_mean",
    "drain_seconds": "demand.drain_seconds",
    "limiter_wait_seconds_mean": "client.limiter_wait_seconds_mean",
}
"""The figure that tells what became of each quantity that is predicted."""
_MOVES = (Direction.RAISE, Direction.LOWER)


def check_predictions(pair: Pair, obstacle: str) -> tuple[PredictionCheck, ...]:
    """What became of each prediction; all unchecked where the two sides cannot be compared, for which ``obstacle`` is.

    A prediction holds for the advised settings and, as its interval reaches to no change at all, for those between.
    """
    advice, settings = pair.before.report.advice, pair.after.report.settings
    reason = obstacle or "; ".join(departures(advice, settings))
    return tuple(_check(one, pair, reason) for one in pair.before.report.predictions)


def _check(prediction: Prediction, pair: Pair, reason: str) -> PredictionCheck:
    name = _FIGURES.get(prediction.quantity, prediction.quantity).format(controller=pair.controller)
    measured = pair.after.figure(name)
    if not reason and measured is None:
        reason = f"not measured after: {pair.after.why_missing(name)}"
    return PredictionCheck(
        quantity=prediction.quantity,
        unit=prediction.unit,
        low=prediction.low,
        high=prediction.high,
        then=prediction.then,
        measured=measured,
        result=_result(prediction, measured) if not reason and measured is not None else PredictionResult.NOT_CHECKED,
        reason=reason,
    )


def _result(prediction: Prediction, measured: float) -> PredictionResult:
    if measured < prediction.low:
        return PredictionResult.BELOW
    return PredictionResult.ABOVE if measured > prediction.high else PredictionResult.INSIDE


def departures(advice: Advice, settings: Settings) -> Iterator[str]:
    """Settings after that are neither the advised ones nor between those and the ones before, in words."""
    after = {
        "concurrency": settings.concurrency,
        "qps": settings.qps,
        "burst": settings.burst,
        "cpu_cores": settings.cpu_limit_cores,
        "memory_bytes": settings.memory_limit_bytes,
    }
    advised = [(knob, after[name].value) for name, knob in advice.knobs() if knob.direction in _MOVES]
    if advised and all(value is not None and value == knob.current for knob, value in advised):
        yield "nothing of what was advised was set"
    for name, knob in advice.knobs():
        text = _departure(knob, after[name])
        if text:
            yield f"{name.removesuffix('_cores').removesuffix('_bytes')} {text}"


def _departure(knob: KnobAdvice, setting: Setting) -> str:
    if knob.value is None:
        return ""
    moved = knob.direction in _MOVES
    if setting.value is None:
        return f"was to become {knob.value:g} and is not known after" if moved else ""
    bounds = sorted(_order(one) for one in (knob.value, knob.current) if one is not None)
    if bounds[0] <= _order(setting.value) <= bounds[-1]:
        return ""
    wanted = f"was to become {knob.value:g}" if moved else f"was to stay {knob.value:g}"
    return f"{wanted} and is {setting.value:g}"


def _order(value: float) -> float:
    """A setting in order of size: below zero the limiter is off, which is more than any limit."""
    return value if value >= 0 else math.inf
