import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    case,
    classic_client,
    controller,
    examine,
    must_find,
    process,
    settings,
    unknown_controller,
)

CODE = FindingCode.METRICS_MISSING


def test_absent_core_series_hold() -> None:
    """Series that every operator has are a warning by name."""
    made = must_find(CODE, case(absent=("workqueue_depth", "workqueue_adds_total")))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert [one.text for one in made.evidence] == ["absent: workqueue_depth", "absent: workqueue_adds_total"]
    assert made.next_steps


def test_a_release_without_durations_is_a_note() -> None:
    """Before 1.7 the client's durations and waits are inferred."""
    made = must_find(CODE, case(classic_client()))
    assert made.severity is Severity.INFO
    assert [one.text for one in made.evidence] == ["request duration: unknown", "limiter wait: unknown"]
    assert "is not known here" in made.evidence[0].origin
    assert not made.next_steps


def test_a_limiter_that_is_off_is_not_missed() -> None:
    """It has no samples by design."""
    made = must_find(CODE, case(classic_client(), settings(qps=-1.0, burst=0.0)))
    assert [one.text for one in made.evidence] == ["request duration: unknown"]


def test_both_together() -> None:
    """Core series and durations."""
    made = must_find(CODE, case(classic_client(), absent=("workqueue_depth",)))
    assert made.severity is Severity.WARNING
    assert len(made.evidence) == 3


@pytest.mark.parametrize("requests", [0.0, None])
def test_no_requests_need_no_durations(requests: float | None) -> None:
    """An operator that sends nothing has no durations to show."""
    assert examine(CODE, case(classic_client(requests_per_second=requests))) is None


def test_a_complete_operator_refutes_it() -> None:
    """Everything is there."""
    assert examine(CODE, case()) is None


def test_a_standby_refutes_it() -> None:
    """It has no controller series by design; a leader and an instance with controllers should have them."""
    assert examine(CODE, case(NO_CONTROLLERS, process(leader=0.0), absent=("workqueue_depth",))) is None
    assert examine(CODE, case(NO_CONTROLLERS, process(leader=1.0), absent=("workqueue_depth",))) is not None
    assert examine(CODE, case(controller(), process(leader=0.0), absent=("workqueue_depth",))) is not None


@pytest.mark.parametrize(
    ("given", "absent", "refuses"),
    [
        ({"reconciles": 50.0}, ("workqueue_depth",), True),
        ({"reconciles": 0.0}, ("workqueue_depth",), False),
        ({"reconciles": 50.0, "queue_wait_seconds_mean": 0.1}, ("workqueue_depth",), False),
        ({"reconciles": 50.0, "waiting_key_seconds": 3.0}, ("workqueue_depth",), False),
        ({"reconciles": 50.0}, ("rest_client_requests_total",), False),
    ],
)
def test_blindness_refuses(given: Given, absent: tuple[str, ...], refuses: bool) -> None:
    """No advice may rest on a working controller of which nothing tells whether its keys wait."""
    assert must_find(CODE, case(unknown_controller(**given), absent=absent)).refuses == refuses
