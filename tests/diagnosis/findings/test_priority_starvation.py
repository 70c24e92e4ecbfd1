import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.signals import EpisodeKind
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    controller,
    examine,
    must_find,
    priorities,
    saturated,
    unknown_controller,
)

CODE = FindingCode.PRIORITY_STARVATION


def starving(high: float = 6.0, low: float = 180.0, **given: Given) -> object:
    """Busy workers, keys waiting at both priorities; what is given are peaks, twice the mean."""
    return saturated(depth_by_priority=priorities(p0=high, m100=low), **given)


def test_starvation_of_the_lower_priority_holds() -> None:
    """Ninety keys wait at -100 while changes at 0 keep the workers busy; their own wait is what is lost."""
    made = must_find(CODE, case(starving()))
    assert (made.severity, made.confidence, made.subject) == (Severity.CRITICAL, Confidence.HIGH, "raycluster")
    assert [one.value for one in made.evidence] == [90.0, 3.0, 1.0]
    assert made.lost_seconds == 9000.0
    assert checks_of(made) == {"Does nothing wait at 0?": False}


def test_it_is_a_warning_though_the_mean_wait_is_short() -> None:
    """Keys that are never handed out are in no wait histogram."""
    made = must_find(CODE, case(starving(queue_wait_seconds_mean=0.1, oldest_wait_seconds_peak=0.2)))
    assert made.severity is Severity.WARNING


@pytest.mark.parametrize(("high", "low", "holds"), [(2.0, 2.0, True), (1.9, 300.0, False), (300.0, 1.9, False)])
def test_its_threshold(high: float, low: float, holds: bool) -> None:
    """One key at each priority, on average; the setting moves it."""
    assert (examine(CODE, case(starving(high, low))) is not None) == holds
    assert examine(CODE, case(starving(high, low), thresholds=adjusted(starved_keys=0.9))) is not None


@pytest.mark.parametrize(("utilisation", "holds"), [(0.7, True), (0.69, False), (None, True)])
def test_idle_workers_refute_it(utilisation: float | None, holds: bool) -> None:
    """Workers that are mostly idle leave no key alone for long."""
    one = case(starving(utilisation=utilisation, busy_workers_mean=0.5))
    assert (examine(CODE, one) is not None) == holds


def test_a_start_up_is_worked_off() -> None:
    """The initial list is another finding."""
    assert examine(CODE, case(starving(), kind=EpisodeKind.STARTUP)) is None


@pytest.mark.parametrize("given", [{"m100": 300.0}, {"p0": 300.0}, {"none": 300.0}])
def test_one_priority_alone_starves_nobody(given: Given) -> None:
    """Only -100: it is being worked off. Only 0, or the classic queue: nobody is passed by."""
    assert examine(CODE, case(saturated(depth_by_priority=priorities(**given)))) is None


def test_nothing_known_is_no_finding() -> None:
    """No depth by priority."""
    assert examine(CODE, case(unknown_controller(), controller("rayjob"))) is None
