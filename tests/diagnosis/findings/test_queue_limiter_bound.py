import pytest

from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    codes,
    controller,
    diagnosed,
    examine,
    must_find,
    unknown_controller,
)

CODE = FindingCode.QUEUE_LIMITER_BOUND


def retrying(name: str = "sparkapplication", **given: Given) -> object:
    """An idle controller whose adds come at ten a second, all of them rate limited."""
    values: Given = {
        "workers": 10.0,
        "busy_workers_mean": 1.0,
        "adds_per_second": 10.0,
        "reconciles_per_second": 10.0,
        "delayed_adds_per_second": 10.0,
        "requeue_after_ratio": 0.0,
    }
    return controller(name, **(values | given))


def found(queue: str = "classic", name: str = "sparkapplication", **given: Given) -> Finding | None:
    """What the rule says about such a controller."""
    return examine(CODE, case(retrying(name, **given), queue=queue))


def test_the_classic_retry_bucket_of_ten_a_second() -> None:
    """Ten adds a second, all of them retries, and nine of ten workers idle."""
    made = must_find(CODE, case(retrying(), queue="classic"))
    assert (made.severity, made.confidence, made.subject) == (Severity.WARNING, Confidence.HIGH, "sparkapplication")
    assert [one.value for one in made.evidence] == [10.0, 10.0, 0.0, 0.1]
    assert made.lost_ratio == 1.0
    assert set(checks_of(made).values()) == {False}


def test_twenty_ray_services_on_the_classic_queue_are_healthy() -> None:
    """Each is polled every 2 s: ten adds a second by timers, which do not pass the bucket."""
    polled: Given = {"workers": 10.0, "requeue_after_ratio": 0.98}
    assert found(name="rayservice", **polled) is None
    assert codes(diagnosed(retrying("rayservice", **polled), queue="classic"))[0] == "healthy"


def test_timers_that_nobody_counted_are_not_taken_for_retries() -> None:
    """KubeRay's controllers poll: where the timers are not known, only failures pass the bucket for certain."""
    assert found(name="rayservice", requeue_after_ratio=None) is None
    assert found(name="rayservice", reconciles_per_second=None, reconciles=None) is None
    assert found(name="rayservice", requeue_after_ratio=None, errors_per_second=9.0) is not None


def test_of_an_unknown_operator_delayed_adds_are_retries_with_what_cannot_be_told() -> None:
    """The check says that timers were not counted."""
    made = found(requeue_after_ratio=None)
    assert made is not None
    assert checks_of(made)["Are the delayed adds timers?"] is None


@pytest.mark.parametrize(("queue", "confidence"), [("classic", Confidence.HIGH), ("unknown", Confidence.MEDIUM)])
def test_an_unknown_queue_makes_it_less_certain(queue: str, confidence: Confidence) -> None:
    """It may be the priority queue."""
    made = found(queue)
    assert made is not None
    assert made.confidence is confidence


def test_the_priority_queue_has_no_bucket() -> None:
    """From KubeRay 1.7 on."""
    assert found("priority") is None


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"adds_per_second": 8.5}, True),
        ({"adds_per_second": 8.4}, False),
        ({"adds_per_second": 11.5}, True),
        ({"adds_per_second": 11.6}, False),
        ({"adds_per_second": None}, False),
        ({"delayed_adds_per_second": 8.5}, True),
        ({"delayed_adds_per_second": 8.4}, False),
        ({"delayed_adds_per_second": None}, False),
        ({"delayed_adds_per_second": None, "errors_per_second": 9.0}, True),
        ({"requeue_after_ratio": 0.2}, False),
        ({"requeue_after_ratio": 0.2, "errors_per_second": 8.5}, True),
        ({"utilisation": 0.49}, True),
        ({"utilisation": 0.5}, False),
        ({"utilisation": None}, True),
        ({"backlog_mean": 1.0}, False),
    ],
)
def test_its_thresholds(given: Given, holds: bool) -> None:
    """Adds at ten a second, as many rate-limited ones, and idle workers."""
    assert (found(**given) is not None) == holds


def test_the_tolerance_is_a_setting() -> None:
    """A stricter one finds less."""
    one = case(retrying(adds_per_second=9.0), queue="classic", thresholds=adjusted(retry_bucket_tolerance=0.05))
    assert examine(CODE, one) is None


def test_nothing_known_is_no_finding() -> None:
    """No rates at all."""
    assert examine(CODE, case(unknown_controller(), queue="classic")) is None
