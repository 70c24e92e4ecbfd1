import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
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
    saturated,
    signal,
    unknown_controller,
)

CODE = FindingCode.CACHE_LAG


def lacking(seconds: float | None, **given: Given) -> object:
    """Clusters that lacked Pods for so long, none pending."""
    return demand(missing_pod_cluster_seconds=seconds, **given)


IDLE = controller(busy_workers_mean=0.01)


def test_missing_pods_and_a_skipped_group_hold() -> None:
    """The log's skipped group makes it certain."""
    made = must_find(CODE, case(IDLE, lacking(300.0), log(blocked_groups=1.0, blocked_seconds_peak=250.0)))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert [one.value for one in made.evidence[:3]] == [1.0, 250.0, 300.0]
    assert made.lost_seconds == pytest.approx(299.0)
    assert set(checks_of(made).values()) == {False}


@pytest.mark.parametrize(("seconds", "holds"), [(61.0, True), (60.9, False), (None, False)])
def test_the_time_that_counts(seconds: float | None, holds: bool) -> None:
    """A minute beyond what the operator worked; without a log with medium confidence; the setting moves it."""
    made = examine(CODE, case(IDLE, lacking(seconds)))
    assert (made is not None) == holds
    if made is not None:
        assert made.confidence is Confidence.MEDIUM
    assert examine(CODE, case(IDLE, lacking(31.0), thresholds=adjusted(elsewhere_seconds=30.0))) is not None


@pytest.mark.parametrize(("seconds", "holds"), [(30.0, True), (29.9, False)])
def test_without_objects_the_log_decides(seconds: float, holds: bool) -> None:
    """A group skipped for longer than a create can take; the setting moves it."""
    assert (examine(CODE, case(IDLE, log(blocked_seconds_peak=seconds))) is not None) == holds
    moved = adjusted(blocked_group_seconds=20.0)
    assert examine(CODE, case(IDLE, log(blocked_seconds_peak=seconds), thresholds=moved)) is not None


def test_objects_that_are_complete_refute_the_log() -> None:
    """Where the timeline shows no cluster lacking Pods, a skipped group kept nobody."""
    assert examine(CODE, case(IDLE, lacking(0.0), log(blocked_seconds_peak=90.0))) is None


def test_many_ordinary_starts_do_not_add_up() -> None:
    """Each start settles within two seconds after its last Pod: a hundred of them are no lag."""
    assert examine(CODE, case(IDLE, lacking(200.0, clusters_created=100.0))) is None
    assert examine(CODE, case(IDLE, lacking(300.0, clusters_created=100.0))) is not None


@pytest.mark.parametrize(("busy", "holds"), [(0.49, True), (0.5, False)])
def test_busy_workers_refute_it(busy: float, holds: bool) -> None:
    """An operator that works may just not have come to it; the setting moves it."""
    one = controller(busy_workers_mean=busy)
    assert (examine(CODE, case(one, lacking(500.0))) is not None) == holds
    assert examine(CODE, case(one, lacking(500.0), thresholds=adjusted(idle_workers=0.1))) is None


def test_waiting_keys_explain_the_time() -> None:
    """What keys waited in the queue is not the cache's doing."""
    waited = controller(busy_workers_mean=0.01, depth_mean=5.0, backlog_mean=2.0)
    assert examine(CODE, case(waited, lacking(500.0))) is None


def test_failures_refute_it() -> None:
    """Pods that are refused are not late; settings move it."""
    fails = controller(busy_workers_mean=0.01, errors_per_second=0.5)
    assert examine(CODE, case(fails, lacking(500.0))) is None
    assert examine(CODE, case(fails, lacking(500.0), thresholds=adjusted(error_ratio=0.5))) is not None
    assert examine(CODE, case(fails, lacking(500.0), thresholds=adjusted(fewest_errors=100))) is not None


def test_nothing_known_is_no_finding() -> None:
    """Without objects and log nothing is known to lack; a standby sees objects and does nothing."""
    assert examine(CODE, case(unknown_controller())) is None
    assert examine(CODE, case(NO_CONTROLLERS, lacking(500.0))) is None


def created(rate: float | None = 10.0, **given: Given) -> tuple[object, object]:
    """A batch of 100 items with a creation each, done in 20 s, and answers 201 at that rate."""
    codes: Given = {} if rate is None else {"201": signal("requests_per_second", rate)}
    batch: Given = {"items_in_burst": 100.0, "drain_seconds": 20.0, "api_calls_per_item": 1.0}
    return client(requests_per_second_by_code=codes), demand(**(batch | given))


def test_more_creations_than_were_asked_for_hold() -> None:
    """Two hundred objects where a hundred were asked for: a stale cache hid those just made."""
    made = must_find(CODE, case(IDLE, *created()))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert "200 objects were created where 100 were asked for" in made.summary
    assert [shown.value for shown in made.evidence] == [10.0, 100.0, 20.0]


@pytest.mark.parametrize(
    ("rate", "given", "holds"),
    [
        (5.26, {}, True),
        (5.25, {}, False),
        (None, {}, False),
        (10.0, {"items_in_burst": None}, False),
        (10.0, {"drain_seconds": None}, False),
        (10.0, {"api_calls_per_item": None}, False),
        (10.0, {"api_calls_per_item": 2.0}, False),
    ],
)
def test_the_surplus_that_counts(rate: float | None, given: Given, holds: bool) -> None:
    """A twentieth more; where it is not known what an item needs, events may be the rest."""
    assert (examine(CODE, case(IDLE, *created(rate, **given))) is not None) == holds


def test_the_surplus_is_a_setting_and_a_backlog_refutes_it() -> None:
    """Twice as many is within a looser setting; while keys wait the creations are of other items."""
    assert examine(CODE, case(IDLE, *created(), thresholds=adjusted(surplus_ratio=1.0))) is None
    assert examine(CODE, case(saturated(), *created())) is None
