import pytest

from advisor.model.advice import Advice, Direction, KnobAdvice, Prediction
from advisor.model.finding import FindingCode, Severity
from advisor.recommend.predictions import predict
from tests.diagnosis.builders import (
    a_finding,
    case,
    client,
    controller,
    diagnosis_of,
    loaded_client,
    process,
    saturated,
    settings,
)

KEPT = KnobAdvice(direction=Direction.KEEP, current=1.0, value=1.0, reason="")
SATURATED = a_finding(FindingCode.WORKERS_SATURATED, Severity.CRITICAL)


def raised(current: float | None, value: float | None) -> KnobAdvice:
    """Advice to raise a setting."""
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason="")


def predicted(*parts: object, concurrency: KnobAdvice = KEPT, qps: KnobAdvice = KEPT) -> dict[str, Prediction]:
    """Predictions by quantity; each interval holds what is and what is expected."""
    advice = Advice(concurrency=concurrency, qps=qps, burst=KEPT, cpu_cores=KEPT, memory_bytes=KEPT)
    made = predict(diagnosis_of(SATURATED, of=case(*parts)), advice)
    for one in made:
        assert one.low <= one.then <= one.high
        assert one.low <= one.now <= one.high
        assert one.method
        assert one.unit
    return {one.quantity: one for one in made}


def test_nothing_changes_nothing() -> None:
    """No prediction without a change."""
    assert predicted(saturated(), loaded_client()) == {}


def test_more_workers_shorten_waits_and_raise_the_load() -> None:
    """Four times the workers: a quarter of the waits, up to four times requests and CPU; the far end is no gain."""
    made = predicted(saturated(), loaded_client(), process(cpu_cores=0.02), concurrency=raised(1.0, 4.0))
    wait = made["queue_wait_seconds_mean"]
    assert (wait.now, wait.then, wait.low, wait.high, wait.unit) == (6.0, 1.5, 1.5, 6.0, "seconds")
    assert made["oldest_wait_seconds"].then == pytest.approx(15.0 / 4.0)
    requests = made["api_requests_per_second"]
    assert (requests.now, requests.then, requests.low, requests.high) == (36.0, 144.0, 36.0, 144.0)
    assert made["cpu_cores"].then == pytest.approx(0.08)


def test_what_is_not_known_is_not_predicted() -> None:
    """Missing figures and an unknown number of workers."""
    quiet = controller(queue_wait_seconds_mean=None, oldest_wait_seconds_peak=None, depth_mean=0.0)
    parts = (quiet, client(requests_per_second=None), process(cpu_cores=None))
    assert predicted(*parts, concurrency=raised(1.0, 4.0)) == {}
    assert predicted(saturated(), concurrency=raised(None, None)) == {}
    unmeasured = saturated(queue_wait_seconds_mean=None, oldest_wait_seconds_peak=None)
    assert set(predicted(unmeasured, loaded_client(), concurrency=raised(1.0, 4.0))) == {
        "api_requests_per_second",
        "cpu_cores",
    }


THROTTLED = (
    saturated(workers=16.0),
    loaded_client(limiter_wait_seconds_mean=0.7, write_api_seconds_mean=0.02),
    settings(concurrency=16.0, qps=20.0),
)


@pytest.mark.parametrize(("qps", "then"), [(100.0, 0.14), (400.0, 0.02), (1000.0, 0.0), (22.0, 0.7)])
def test_more_qps_shortens_the_limiter_wait(qps: float, then: float) -> None:
    """max(0, workers / QPS - time of a request), never more than now."""
    stays = KnobAdvice(direction=Direction.KEEP, current=16.0, value=16.0, reason="")
    made = predicted(*THROTTLED, qps=raised(20.0, qps), concurrency=stays)["limiter_wait_seconds_mean"]
    assert made.then == pytest.approx(then)
    assert (made.low, made.high) == (0.0, 0.7)


def test_the_advised_workers_are_those_that_will_ask() -> None:
    """Where both are raised, the wait is that of the new number of workers."""
    made = predicted(*THROTTLED, qps=raised(20.0, 100.0), concurrency=raised(16.0, 32.0))
    assert made["limiter_wait_seconds_mean"].then == pytest.approx(0.30)


def test_unknown_limiter_figures_predict_nothing() -> None:
    """Unknown wait, workers, time of a write, or value."""
    busy, requests, known = THROTTLED
    unmeasured = loaded_client(limiter_wait_seconds_mean=None)
    assert predicted(busy, unmeasured, known, qps=raised(20.0, 100.0)) == {}
    untimed = loaded_client(limiter_wait_seconds_mean=0.7, write_api_seconds_mean=None)
    assert predicted(busy, untimed, known, qps=raised(20.0, 100.0)) == {}
    assert predicted(busy, requests, known, qps=raised(None, None)) == {}
    nobody = KnobAdvice(direction=Direction.KEEP, current=None, value=None, reason="")
    uncounted = settings(concurrency=None, qps=20.0)
    assert predicted(busy, requests, uncounted, qps=raised(20.0, 100.0), concurrency=nobody) == {}
