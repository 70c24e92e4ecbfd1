import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    adjusted,
    case,
    classic_client,
    codes,
    controller,
    diagnosed,
    examine,
    must_find,
    process,
    settings,
    unknown_controller,
)

CODE = FindingCode.HEALTHY


def test_keys_taken_up_at_once_hold() -> None:
    """The busiest controller is shown."""
    made = must_find(CODE, case(controller(), controller("rayjob", busy_workers_mean=0.2)))
    assert (made.severity, made.confidence) == (Severity.INFO, Confidence.HIGH)
    assert made.evidence[1].text.startswith("workers of rayjob busy")


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"queue_wait_seconds_mean": 0.99}, True),
        ({"queue_wait_seconds_mean": 1.0}, False),
        ({"oldest_wait_seconds_peak": 4.9}, True),
        ({"oldest_wait_seconds_peak": 5.0}, False),
    ],
)
def test_its_thresholds(given: Given, holds: bool) -> None:
    """Waits that people notice are not healthy."""
    assert (examine(CODE, case(controller(**given))) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition or the confidence."""
    slow = controller(queue_wait_seconds_mean=2.0, oldest_wait_seconds_peak=7.0)
    assert examine(CODE, case(slow, thresholds=adjusted(wait_warning_seconds=3.0))) is None
    both = adjusted(wait_warning_seconds=3.0, wait_target_seconds=10.0)
    assert examine(CODE, case(slow, thresholds=both)) is not None
    few = case(controller(reconciles_per_second=0.19))
    assert must_find(CODE, few).confidence is Confidence.MEDIUM
    enough = case(controller(reconciles_per_second=0.19), thresholds=adjusted(fewest_reconciles=10.0))
    assert must_find(CODE, enough).confidence is Confidence.HIGH


def test_an_unknown_wait_is_not_none() -> None:
    """An operator whose queue series are dropped may be in any trouble."""
    blind = unknown_controller(reconciles=500.0, reconciles_per_second=5.0, adds_per_second=5.0)
    assert examine(CODE, case(blind)) is None
    assert codes(diagnosed(blind))[0] == "insufficient-data"


@pytest.mark.parametrize(
    "given",
    [{"waiting_key_seconds": 0.0}, {"queue_wait_seconds_mean": 0.01}, {"adds_per_second": 0.0}, {"reconciles": 0.0}],
)
def test_one_sign_that_nobody_waits_is_enough(given: Given) -> None:
    """Depth, a mean wait, or nothing that came in at all."""
    assert examine(CODE, case(unknown_controller(**given))) is not None


def test_no_controller_is_not_healthy() -> None:
    """Nothing seen is nothing known."""
    assert examine(CODE, case(NO_CONTROLLERS)) is None


def test_metrics_of_1_6_alone_are_enough() -> None:
    """Classic queue, no durations, no log, no objects, no container series."""
    made = diagnosed(
        controller(), classic_client(), process(cpu_cores=None), settings(version="1.6.1"), queue="classic"
    )
    assert codes(made) == ["healthy", "metrics-missing"]
