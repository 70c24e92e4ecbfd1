"""What the advised change is expected to do, in closed form, with honest intervals.

Workers: the queue is work conserving, so waits shrink in proportion, if a reconcile takes the same time; the upper end
of the interval is no gain at all, since contention cannot be seen from one operating point. Limiter: mean wait of c
workers on one bucket is max(0, c / QPS - s) (research: controller-runtime 5.3).
"""

from collections.abc import Iterator

from advisor.diagnosis.engine import Diagnosis
from advisor.model.advice import Advice, Direction, Prediction
from advisor.model.signal import Signal

__all__ = ["predict"]

_WORKERS = "work-conserving queue, same time per reconcile; the far end of the interval is no gain"
_LIMITER = "closed loop: mean wait = max(0, workers / QPS - time per request); the far end is no gain"


def predict(verdict: Diagnosis, advice: Advice) -> tuple[Prediction, ...]:
    """Predictions for the advised settings; none where nothing is to be changed."""
    return (*_from_workers(verdict, advice), *_from_qps(verdict, advice))


def _from_workers(verdict: Diagnosis, advice: Advice) -> Iterator[Prediction]:
    knob = advice.concurrency
    if knob.direction is not Direction.RAISE or not knob.value or not knob.current:
        return
    ratio = knob.current / knob.value
    worst = verdict.case.waiting.worst
    if worst is not None:
        yield from _falls("queue_wait_seconds_mean", worst.queue_wait_seconds_mean, ratio, _WORKERS)
        yield from _falls("oldest_wait_seconds", worst.oldest_wait_seconds_peak, ratio, _WORKERS)
    yield from _rises("api_requests_per_second", verdict.case.signals.client.requests_per_second, 1.0 / ratio)
    yield from _rises("cpu_cores", verdict.case.signals.process.cpu_cores, 1.0 / ratio)


def _falls(quantity: str, now: Signal, ratio: float, method: str) -> Iterator[Prediction]:
    if now.value:
        yield Prediction(
            quantity=quantity,
            unit=now.unit.value,
            now=now.value,
            then=now.value * ratio,
            low=now.value * ratio,
            high=now.value,
            method=method,
        )


def _rises(quantity: str, now: Signal, ratio: float) -> Iterator[Prediction]:
    if now.value:
        yield Prediction(
            quantity=quantity,
            unit=now.unit.value,
            now=now.value,
            then=now.value * ratio,
            low=now.value,
            high=now.value * ratio,
            method=_WORKERS,
        )


def _from_qps(verdict: Diagnosis, advice: Advice) -> Iterator[Prediction]:
    knob, client = advice.qps, verdict.case.signals.client
    workers = advice.concurrency.value or verdict.case.signals.settings.concurrency.value
    wait, service = client.limiter_wait_seconds_mean.value, client.write_api_seconds_mean.value
    if knob.direction is not Direction.RAISE or not knob.value or not wait or workers is None or service is None:
        return
    then = min(wait, max(0.0, workers / knob.value - service))
    yield Prediction(
        quantity="limiter_wait_seconds_mean",
        unit="seconds",
        now=wait,
        then=then,
        low=0.0,
        high=wait,
        method=_LIMITER,
    )
