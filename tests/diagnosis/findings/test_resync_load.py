import pytest

from advisor.diagnosis.case import Case
from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.signals import EpisodeKind
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    codes,
    controller,
    demand,
    diagnosed,
    examine,
    loaded_client,
    must_find,
    priorities,
    process,
    saturated,
    signal,
    unknown_controller,
)

CODE = FindingCode.RESYNC_LOAD


def starting(peak: float = 300.0, **given: Given) -> object:
    """A controller that works its initial list off."""
    return saturated(depth_by_priority=priorities(p0=1.0, m100=peak), **given)


def test_an_initial_list_holds() -> None:
    """Many keys at -100 in a start-up episode; what they waited is lost to it."""
    made = must_find(CODE, case(starting(), controller("rayjob"), kind=EpisodeKind.STARTUP))
    assert made.subject == "raycluster"
    assert made.evidence[0].value == 300.0
    assert made.lost_seconds == 2000.0
    assert set(checks_of(made).values()) == {False}


@pytest.mark.parametrize(
    ("wait", "oldest", "severity"),
    [(6.0, 0.0, Severity.CRITICAL), (1.0, 0.0, Severity.WARNING), (0.9, 4.0, Severity.INFO)],
)
def test_severity_follows_the_wait(wait: float, oldest: float, severity: Severity) -> None:
    """A list that drains before anybody notices is a note."""
    given = {"queue_wait_seconds_mean": wait, "oldest_wait_seconds_peak": oldest}
    assert must_find(CODE, case(starting(**given), kind=EpisodeKind.STARTUP)).severity is severity


def test_it_comes_before_a_lack_of_workers() -> None:
    """The start-up of a large installation, minutes long, is not what workers are sized for."""
    made = diagnosed(starting(5000.0, queue_wait_seconds_mean=90.0), loaded_client(), kind=EpisodeKind.STARTUP)
    assert codes(made)[:2] == ["resync-load", "workers-saturated"]


@pytest.mark.parametrize(("peak", "holds"), [(10.0, True), (9.0, False)])
def test_the_keys_that_count(peak: float, holds: bool) -> None:
    """Ten keys make a list worth naming; the setting moves it."""
    assert (examine(CODE, case(starting(peak), kind=EpisodeKind.STARTUP)) is not None) == holds
    moved = adjusted(initial_list_keys=5.0)
    assert examine(CODE, case(starting(peak), kind=EpisodeKind.STARTUP, thresholds=moved)) is not None


@pytest.mark.parametrize("kind", [EpisodeKind.LOAD, EpisodeKind.QUIET])
def test_only_a_start_up_episode_holds(kind: EpisodeKind) -> None:
    """Priority sticks through requeues, so -100 outside a start-up is no list."""
    assert examine(CODE, case(starting(), kind=kind)) is None


def test_depth_at_priority_zero_refutes_it() -> None:
    """Real change is no initial list."""
    changes = saturated(depth_by_priority=priorities(p0=300.0))
    assert examine(CODE, case(changes, kind=EpisodeKind.STARTUP)) is None


def test_the_classic_queue_has_no_priorities() -> None:
    """An empty label tells nothing about where keys come from."""
    classic = saturated(depth_by_priority=priorities(none=300.0))
    assert examine(CODE, case(classic, kind=EpisodeKind.STARTUP, queue="classic")) is None
    assert examine(CODE, case(unknown_controller(), kind=EpisodeKind.STARTUP)) is None


def objects(period: float | None = None, **counts: float) -> object:
    """So many objects of each kind, coming round once in a period."""
    return demand(objects={kind: signal("objects", count) for kind, count in counts.items()}, resync_seconds=period)


def test_a_queue_that_holds_every_object_after_restarts_holds() -> None:
    """450 of 500 objects in the queue of an operator that has restarted: the initial list, on any queue."""
    one = case(saturated(depth_peak=450.0), controller("rayjob"), process(restarts=2.0), objects(raycluster=500.0))
    made = must_find(CODE, one)
    assert (made.severity, made.confidence, made.subject) == (Severity.CRITICAL, Confidence.MEDIUM, "raycluster")
    assert [shown.value for shown in made.evidence] == [2.0, 450.0, 6.0]
    assert checks_of(made) == {"Is it a load of real changes?": False}


@pytest.mark.parametrize(
    ("peak", "restarts", "count", "holds"),
    [
        (400.0, 1.0, 500.0, True),
        (399.0, 1.0, 500.0, False),
        (400.0, 0.0, 500.0, False),
        (400.0, None, 500.0, False),
        (10.0, 1.0, 5.0, True),
        (9.0, 1.0, 5.0, False),
        (400.0, 1.0, 0.0, False),
    ],
)
def test_the_depth_that_counts(peak: float, restarts: float | None, count: float, holds: bool) -> None:
    """Restarts, and eight tenths of all objects but at least ten keys, in the queue."""
    one = case(controller(depth_peak=peak), process(restarts=restarts), objects(raycluster=count))
    assert (examine(CODE, one) is not None) == holds
    never = adjusted(initial_list_ratio=1e6)
    stricter = case(
        controller(depth_peak=peak), process(restarts=restarts), objects(raycluster=count), thresholds=never
    )
    assert examine(CODE, stricter) is None


def late(asked: float = 3.0, **given: Given) -> object:
    """RayClusters whose period asks for so many a second where two are done."""
    values: Given = {"reconciles_per_second": 2.0, "utilisation": 0.1} | given
    return case(controller(**values), controller("rayjob"), objects(100.0, raycluster=100.0 * asked))


def test_a_periodic_load_that_comes_round_late_holds() -> None:
    """Three a second are asked for, two are done, and neither workers nor the queue tell where the rest is."""
    one = late()
    assert isinstance(one, Case)
    made = must_find(CODE, one)
    assert (made.severity, made.confidence, made.subject) == (Severity.WARNING, Confidence.MEDIUM, "raycluster")
    assert [shown.value for shown in made.evidence] == [300.0, 2.0, 0.1, None]
    assert checks_of(made) == {"Do keys wait for a worker?": False}


@pytest.mark.parametrize(
    ("asked", "given", "holds"),
    [
        (2.41, {}, True),
        (2.4, {}, False),
        (3.0, {"utilisation": 0.7}, False),
        (3.0, {"utilisation": 0.69}, True),
        (3.0, {"utilisation": None}, True),
        (3.0, {"backlog_peak": 1.0}, False),
        (3.0, {"reconciles_per_second": 0.0}, False),
        (3.0, {"reconciles_per_second": None}, False),
    ],
)
def test_lateness_needs_idle_workers(asked: float, given: Given, holds: bool) -> None:
    """Busy workers or a backlog are the workers' finding; a fifth more than is done is the least that counts."""
    one = late(asked, **given)
    assert isinstance(one, Case)
    assert (examine(CODE, one) is not None) == holds


def test_the_lateness_that_counts_is_a_setting() -> None:
    """A looser one finds nothing."""
    one = case(controller(), objects(100.0, raycluster=300.0), thresholds=adjusted(late_periods_ratio=1.0))
    assert examine(CODE, one) is None
    assert examine(CODE, case(controller(), objects(None, raycluster=300.0))) is None


def test_the_objects_of_the_controllers_own_kind_count() -> None:
    """900 of 1000 RayClusters are the initial list, whatever the number of their Pods; unknown kinds count in all."""
    deep, restarted = controller(depth_peak=900.0), process(restarts=1.0)
    assert examine(CODE, case(deep, restarted, objects(raycluster=1000.0, pod=20000.0))) is not None
    assert examine(CODE, case(deep, restarted, objects(pod=1000.0))) is not None
    assert examine(CODE, case(deep, restarted, objects(pod=20000.0))) is None
    assert examine(CODE, case(deep, restarted)) is None
