import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import NO_CONTROLLERS, case, checks_of, controller, examine, must_find, process

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
