import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    adjusted,
    case,
    checks_of,
    controller,
    demand,
    examine,
    must_find,
    unknown_controller,
)

CODE = FindingCode.BOTTLENECK_ELSEWHERE
IDLE = controller(busy_workers_mean=0.0)


def unready(seconds: float | None, lacking: float | None = 0.0, **given: Given) -> object:
    """Clusters that were not ready for so long; for ``lacking`` of it without a pending Pod."""
    return demand(unready_cluster_seconds=seconds, missing_pod_cluster_seconds=lacking, **given)


def test_pods_that_stay_pending_hold() -> None:
    """Forty clusters wait a minute and more each while the operator is idle."""
    made = must_find(CODE, case(IDLE, unready(3000.0, 20.0, clusters_created=40.0)))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert made.lost_seconds == pytest.approx(2980.0)
    assert made.evidence[0].value == 3000.0
    assert set(checks_of(made).values()) == {False}


@pytest.mark.parametrize(("seconds", "holds"), [(60.0, True), (59.9, False), (None, False)])
def test_the_time_that_counts(seconds: float | None, holds: bool) -> None:
    """A minute in all; the setting moves it."""
    assert (examine(CODE, case(IDLE, unready(seconds))) is not None) == holds
    assert examine(CODE, case(IDLE, unready(35.0), thresholds=adjusted(elsewhere_seconds=30.0))) is not None


def test_many_ordinary_starts_do_not_add_up() -> None:
    """A hundred clusters whose Pods take forty seconds each are a usual day, not a bottleneck."""
    assert examine(CODE, case(IDLE, unready(4000.0, clusters_created=100.0))) is None


@pytest.mark.parametrize(("lacking", "holds"), [(500.0, True), (501.0, False)])
def test_the_share_that_counts(lacking: float, holds: bool) -> None:
    """At least half of the time Pods existed; the setting moves it."""
    assert (examine(CODE, case(IDLE, unready(1000.0, lacking))) is not None) == holds
    assert examine(CODE, case(IDLE, unready(1000.0, 700.0), thresholds=adjusted(elsewhere_share=0.3))) is not None


@pytest.mark.parametrize(("busy", "holds"), [(0.49, True), (0.5, False)])
def test_busy_workers_refute_it(busy: float, holds: bool) -> None:
    """An operator that works is not idle; the setting moves it."""
    one = controller(busy_workers_mean=busy)
    assert (examine(CODE, case(one, unready(1000.0))) is not None) == holds
    assert examine(CODE, case(one, unready(1000.0), thresholds=adjusted(idle_workers=0.1))) is None


def test_waiting_keys_refute_it() -> None:
    """Time in the operator's own queue is not elsewhere."""
    waited = controller(busy_workers_mean=0.0, depth_mean=8.0, backlog_mean=4.0)
    assert examine(CODE, case(waited, unready(1000.0))) is None


def test_failures_refute_it() -> None:
    """Reconciles that fail are the operator's own affair; a few failures are chance; settings move it."""
    fails = controller(busy_workers_mean=0.0, errors_per_second=0.5)
    assert examine(CODE, case(fails, unready(1000.0))) is None
    assert examine(CODE, case(fails, unready(1000.0), thresholds=adjusted(error_ratio=0.5))) is not None
    few = controller(busy_workers_mean=0.0, reconciles_per_second=0.04, errors_per_second=0.04)
    assert examine(CODE, case(few, unready(1000.0))) is not None
    assert examine(CODE, case(few, unready(1000.0), thresholds=adjusted(fewest_errors=3))) is None


def test_without_objects_the_conditions_tell_less() -> None:
    """Only ``kuberay_cluster_condition_provisioned``: with medium confidence."""
    made = must_find(CODE, case(IDLE, unready(600.0, None)))
    assert made.confidence is Confidence.MEDIUM


def test_nothing_known_is_no_finding() -> None:
    """Unknown clusters are not waiting, and a standby is not an idle leader."""
    assert examine(CODE, case(unknown_controller())) is None
    assert examine(CODE, case(NO_CONTROLLERS, unready(1000.0))) is None
