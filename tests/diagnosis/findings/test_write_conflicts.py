import pytest

from advisor.diagnosis import causes
from advisor.diagnosis.engine import rule_for
from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    client,
    controller,
    examine,
    key,
    log,
    must_find,
    saturated,
    unknown_controller,
)

CODE = FindingCode.WRITE_CONFLICTS


def conflicting(ratio: float | None = 0.4, per_second: float | None = 0.2, *, writes: float | None = 0.5) -> object:
    """A client whose updates are refused; two reconciles a second against ``writes``."""
    return client(conflict_ratio=ratio, conflicts_per_second=per_second, write_requests_per_second=writes)


def test_another_writer_holds() -> None:
    """The operator is called far more often than it writes, and its updates are refused; the keys are named."""
    parts: Given = (conflicting(), log(conflicts=20.0), key("busy", conflicts=15), key("calm", conflicts=0))
    made = must_find(CODE, case(controller(), *parts))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert "somebody else" in made.summary
    assert made.evidence[0].value == 0.4
    assert made.evidence[-1].text == "most conflicts: team/busy (15)"
    assert made.lost_seconds == pytest.approx(20.0 * 4.0 / 200.0)
    assert set(checks_of(made).values()) == {False}


@pytest.mark.parametrize(
    ("ratio", "per_second", "holds"),
    [(0.1, 0.05, True), (0.099, 0.5, False), (0.5, 0.049, False), (None, 0.5, False), (0.5, None, True)],
)
def test_its_thresholds(ratio: float | None, per_second: float | None, holds: bool) -> None:
    """A material ratio and more than a few; an unknown number of them does not hide a known ratio."""
    assert (examine(CODE, case(controller(), conflicting(ratio, per_second))) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition."""
    assert examine(CODE, case(controller(), conflicting(0.06), thresholds=adjusted(conflict_ratio=0.05))) is not None
    assert examine(CODE, case(controller(), conflicting(0.5, 0.03), thresholds=adjusted(fewest_errors=3))) is not None
    stricter = case(controller(), conflicting(), thresholds=adjusted(passive_reconciles_per_write=10.0))
    assert must_find(CODE, stricter).confidence is Confidence.MEDIUM


@pytest.mark.parametrize(("writes", "foreign"), [(1.0, True), (1.01, False), (None, False)])
def test_who_writes(writes: float | None, foreign: bool) -> None:
    """Two reconciles for each write point to another writer; unknown writes point to nobody."""
    one = case(controller(), conflicting(writes=writes))
    assert causes.foreign_writer(one) == foreign
    made = must_find(CODE, one)
    assert made.confidence is (Confidence.HIGH if foreign else Confidence.MEDIUM)
    assert checks_of(made)["Does the operator conflict with itself?"] is not foreign


def test_conflicts_under_load_are_a_note() -> None:
    """An operator that conflicts with itself while keys wait for workers has a larger trouble."""
    made = must_find(CODE, case(saturated(), conflicting(writes=30.0)))
    assert made.severity is Severity.INFO
    assert "under load" in made.summary


def test_conflicts_without_load_are_a_warning() -> None:
    """Where no load explains them, somebody has to look."""
    assert must_find(CODE, case(controller(), conflicting(writes=30.0))).severity is Severity.WARNING


def test_nothing_known_is_no_finding() -> None:
    """Unknown conflicts are none; known ones cost an unknown time."""
    assert examine(CODE, case(unknown_controller(), conflicting(None, None))) is None
    made = must_find(CODE, case(unknown_controller(), conflicting()))
    assert made.lost_seconds == 0.0


def test_two_operators_with_overlapping_watch_scopes() -> None:
    """What shows is a foreign writer; the page and a step say that it may be a second operator, each with key locks
    of its own.
    """
    made = must_find(CODE, case(controller(), conflicting()))
    assert made.next_steps[1] == "kubectl get deploy -A: do two operators watch the same namespaces?"
    page = rule_for(CODE.value).page
    assert "a second operator whose watched namespaces overlap" in page.meaning
    assert "watchNamespace" in page.what_to_do
    alone = must_find(CODE, case(controller(), conflicting(writes=30.0)))
    assert len(alone.next_steps) == 1
