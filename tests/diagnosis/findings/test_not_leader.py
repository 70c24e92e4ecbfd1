import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.signal import Window
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Value,
    adjusted,
    case,
    checks_of,
    controller,
    examine,
    loaded_client,
    log,
    must_find,
    process,
    saturated,
)

CODE = FindingCode.NOT_LEADER


def test_a_standby_holds() -> None:
    """It does not lead and has reconciled nothing."""
    made = must_find(CODE, case(NO_CONTROLLERS, process(leader=0.0)))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert made.evidence[0].value == 0.0
    assert checks_of(made) == {"Did this instance reconcile anything?": False}


@pytest.mark.parametrize(("leader", "holds"), [(0.0, True), (0.49, True), (0.5, False), (1.0, False), (None, False)])
def test_leadership_for_half_of_the_time_refutes_it(leader: float | None, holds: bool) -> None:
    """An unknown leadership is no standby."""
    assert (examine(CODE, case(NO_CONTROLLERS, process(leader=leader))) is not None) == holds


def test_reconciles_refute_it() -> None:
    """Whatever the lease says: an instance that reconciles is the one to look at."""
    assert examine(CODE, case(controller(), process(leader=0.0))) is None
    assert examine(CODE, case(controller(reconciles_per_second=0.0), process(leader=0.0))) is not None


def test_losing_the_lease_again_and_again_holds_without_refusing() -> None:
    """The leader starts anew each hour: what it shows is its own work, so other findings stand beside it."""
    one = case(saturated(), loaded_client(), process(lease_errors_per_hour=4.0, restarts=3.0, oom_kills=0.0))
    made = must_find(CODE, one)
    assert (made.severity, made.confidence, made.refuses) == (Severity.WARNING, Confidence.HIGH, False)
    assert "keeps losing its lease" in made.title
    assert [shown.value for shown in made.evidence] == [4.0, None, 3.0, 0.0]
    assert checks_of(made) == {"Does memory kill it instead?": False}
    assert made.lost_ratio == 1.0


@pytest.mark.parametrize(("errors", "holds"), [(1.0, True), (0.99, False), (0.0, False), (None, False)])
def test_the_lease_errors_that_count(errors: Value, holds: bool) -> None:
    """One an hour; one in days is an outage that is over. The setting moves it."""
    one = case(controller(), process(lease_errors_per_hour=errors))
    assert (examine(CODE, one) is not None) == holds
    stricter = case(controller(), process(lease_errors_per_hour=errors), thresholds=adjusted(lease_errors_per_hour=9.0))
    assert examine(CODE, stricter) is None


@pytest.mark.parametrize(
    ("losses", "hours", "holds"), [(1.0, 0.5, True), (0.0, 0.5, False), (3.0, 3.0, True), (2.0, 3.0, False)]
)
def test_the_losses_in_the_log_that_count(losses: float, hours: float, holds: bool) -> None:
    """As many an hour as of errors, but at least one."""
    window = Window(0.0, 3600.0 * hours)
    one = case(controller(window=window), log(lease_losses=losses), window=window)
    assert (examine(CODE, one) is not None) == holds


@pytest.mark.parametrize(("kills", "refuted"), [(None, None), (0.0, False), (2.0, True)])
def test_kills_for_memory_are_another_reason(kills: Value, refuted: bool | None) -> None:
    """A process that the kernel ends loses its lease as well."""
    made = must_find(CODE, case(controller(), process(lease_errors_per_hour=4.0, oom_kills=kills)))
    assert checks_of(made) == {"Does memory kill it instead?": refuted}


def test_a_standby_refuses() -> None:
    """Nothing may rest on what it shows."""
    assert must_find(CODE, case(NO_CONTROLLERS, process(leader=0.0))).refuses
