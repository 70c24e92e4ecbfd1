import pytest

from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import EpisodeKind
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    codes,
    controller,
    diagnosed,
    examine,
    loaded_client,
    must_find,
    priorities,
    saturated,
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
