import pytest

from advisor.diagnosis import causes
from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    adjusted,
    case,
    checks_of,
    controller,
    examine,
    loaded_client,
    must_find,
    process,
    saturated,
)

CODE = FindingCode.CPU_LIMITED


def quota(used: float | None = 0.095, limit: float | None = 0.1, throttled: float | None = 0.6) -> object:
    """A container with a CPU limit."""
    return process(cpu_cores=used, cpu_limit_cores=limit, cpu_throttled_ratio=throttled, cpu_throttled_seconds=50.0)


def test_a_process_at_its_quota_holds() -> None:
    """CPU near the limit and many throttled periods: certain, and as bad as the wait."""
    made = must_find(CODE, case(saturated(), loaded_client(), quota()))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert [one.value for one in made.evidence[:3]] == [0.095, 0.1, 0.6]
    assert checks_of(made) == {"Is the process stopped in most periods?": False}


@pytest.mark.parametrize(
    ("used", "limit", "throttled", "holds"),
    [
        (0.4, 0.5, 0.25, True),
        (0.39, 0.5, 0.9, False),
        (0.1, 0.1, 0.24, False),
        (0.1, 0.1, None, True),
        (None, 0.1, 0.9, False),
        (0.1, None, 0.9, False),
        (0.1, 0.0, 0.9, False),
    ],
)
def test_its_thresholds(used: float | None, limit: float | None, throttled: float | None, holds: bool) -> None:
    """Both use and throttling; a missing or absent limit limits nothing, unknown throttling leaves the use."""
    assert (examine(CODE, case(saturated(), quota(used, limit, throttled))) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition."""
    assert examine(CODE, case(saturated(), quota(0.06), thresholds=adjusted(cpu_used_ratio=0.5))) is not None
    assert examine(CODE, case(saturated(), quota(0.1, 0.1, 0.1), thresholds=adjusted(cpu_throttled_ratio=0.1)))
    assert examine(CODE, case(saturated(), quota(), thresholds=adjusted(cpu_used_ratio=0.99))) is None
    idle = case(controller(busy_workers_mean=0.2), quota(), thresholds=adjusted(idle_workers=0.1))
    assert must_find(CODE, idle).severity is Severity.WARNING


@pytest.mark.parametrize(("busy", "severity"), [(0.5, Severity.WARNING), (0.4, Severity.INFO)])
def test_an_idle_operator_is_a_note(busy: float, severity: Severity) -> None:
    """A quota that binds while workers hardly work holds nobody up."""
    assert must_find(CODE, case(controller(busy_workers_mean=busy), quota())).severity is severity


def test_unknown_throttling_is_less_sure() -> None:
    """Without the container's periods only the use is known."""
    made = must_find(CODE, case(saturated(), quota(0.1, 0.1, None)))
    assert made.confidence is Confidence.MEDIUM
    assert checks_of(made) == {"Is the process stopped in most periods?": None}


def test_it_needs_no_controller() -> None:
    """Without a controller the quota itself is shown."""
    made = must_find(CODE, case(NO_CONTROLLERS, quota()))
    assert len(made.evidence) == 2


def test_without_container_series_it_does_not_hold() -> None:
    """An unknown limit is no limit."""
    one = case(saturated(), process(cpu_cores=3.0))
    assert not causes.cpu_bound(one)
    assert examine(CODE, one) is None
