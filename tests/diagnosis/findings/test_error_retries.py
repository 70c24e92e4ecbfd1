import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    client,
    controller,
    demand,
    examine,
    log,
    must_find,
    unknown_controller,
)

CODE = FindingCode.ERROR_RETRIES


def failing(per_second: float | None, **given: Given) -> object:
    """200 reconciles in the window, of which some fail."""
    return controller(errors_per_second=per_second, **given)


LOG = log(control_flow_errors=0.0, conflicts=0.0, commonest_error="exceeded quota")


def test_failures_hold() -> None:
    """Half of the reconciles failing is critical and certain, and the commonest error is shown."""
    made = must_find(CODE, case(failing(1.0), LOG))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert made.evidence[0].value == 0.5
    assert "operator log" in made.evidence[0].origin
    assert made.evidence[-1].text == "commonest error: exceeded quota"
    assert made.subject == "raycluster"
    assert checks_of(made) == {"Are the errors conflicts or control flow?": False}


@pytest.mark.parametrize(
    ("rate", "severity"), [(0.4, Severity.WARNING), (0.39, None), (0.98, Severity.WARNING), (1.0, Severity.CRITICAL)]
)
def test_the_ratio_that_counts(rate: float, severity: Severity | None) -> None:
    """A fifth is a warning, half is critical."""
    made = examine(CODE, case(failing(rate), LOG))
    assert (made.severity if made else None) == severity


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition."""
    assert examine(CODE, case(failing(0.3), LOG, thresholds=adjusted(error_ratio=0.15))) is not None
    assert examine(CODE, case(failing(0.5), LOG, thresholds=adjusted(error_ratio=0.3))) is None
    few = failing(0.04, reconciles_per_second=0.05)
    assert examine(CODE, case(few, LOG)) is None
    assert examine(CODE, case(few, LOG, thresholds=adjusted(fewest_errors=4))) is not None


def test_conflicts_and_control_flow_are_left_out() -> None:
    """What the log tells to be conflicts or control flow is not a failure."""
    assert examine(CODE, case(failing(0.5), log(conflicts=40.0, control_flow_errors=0.0))) is None
    assert examine(CODE, case(failing(0.5), log(conflicts=0.0, control_flow_errors=40.0))) is None


def test_without_a_log_conflicts_come_from_the_client() -> None:
    """409 on PUT and PATCH stands in for the log's conflicts."""
    assert examine(CODE, case(failing(0.5), client(conflicts_per_second=0.3))) is None


def test_without_a_log_it_is_less_sure() -> None:
    """Control flow cannot be told without a log, unless half of everything fails."""
    made = must_find(CODE, case(failing(0.5)))
    assert made.confidence is Confidence.MEDIUM
    assert checks_of(made) == {"Are the errors conflicts or control flow?": None}
    assert "control flow cannot be told" in made.checks[0].answer
    assert must_find(CODE, case(failing(1.2))).confidence is Confidence.HIGH
    assert not [one for one in made.evidence if one.text.startswith("commonest error")]


def test_fifteen_per_cent_without_a_log_is_not_a_finding() -> None:
    """Some failures may be KubeRay's control flow."""
    assert examine(CODE, case(failing(0.3))) is None


def test_a_ratio_stands_in_for_an_unknown_rate() -> None:
    """Where only the ratio of errors is known, the count follows from the reconciles."""
    assert examine(CODE, case(failing(None, error_ratio=0.6))) is not None
    assert examine(CODE, case(failing(None, error_ratio=0.1))) is None
    assert examine(CODE, case(failing(None, error_ratio=None))) is None


def test_clusters_that_are_not_ready_are_what_is_lost() -> None:
    """Keys in backoff are in no gauge; the clusters' time tells what failing costs."""
    made = must_find(CODE, case(failing(1.0), LOG, demand(unready_cluster_seconds=1000.0)))
    assert made.lost_seconds == pytest.approx(500.0)


def test_nothing_known_is_no_finding() -> None:
    """Unknown errors are none, and errors without known reconciles have no ratio."""
    assert examine(CODE, case(unknown_controller())) is None
    assert examine(CODE, case(unknown_controller(errors_per_second=2.0))) is None
