import pytest

from advisor.diagnosis.causes import best_workers
from advisor.diagnosis.thresholds import Thresholds
from advisor.model.facts import ScalingPoint
from advisor.model.finding import Confidence, FindingCode, Severity
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
    points,
    saturated,
)

CODE = FindingCode.CONTENTION
FALLING = points(w4=0.3, w8=0.22)


def test_fewer_workers_that_got_more_done_hold() -> None:
    """0.3 items a second with 4 workers, 0.22 with the present 8: critical where keys wait long."""
    made = must_find(CODE, case(saturated(workers=8.0, scaling=FALLING), loaded_client()))
    assert (made.severity, made.confidence, made.subject) == (Severity.CRITICAL, Confidence.HIGH, "raycluster")
    assert "most done with 4 workers" in made.summary
    assert "8" in made.evidence[0].text
    assert made.lost_seconds == 2000.0 + 800.0
    assert checks_of(made) == {"Is the throughput level rather than falling?": False}


def test_contention_comes_before_a_lack_of_workers() -> None:
    """However many keys wait, more workers would get less done."""
    assert "workers-saturated" not in codes(diagnosed(saturated(workers=8.0, scaling=FALLING), loaded_client()))


def test_without_waiting_it_is_a_warning() -> None:
    """Nobody waits yet, but the workers are in each other's way."""
    assert must_find(CODE, case(controller(workers=8.0, scaling=FALLING))).severity is Severity.WARNING


@pytest.mark.parametrize(("rate", "holds"), [(0.269, True), (0.271, False), (0.3, False), (0.4, False)])
def test_a_tenth_less_is_noise(rate: float, holds: bool) -> None:
    """A level throughput is a limit and not contention; the setting moves the bound."""
    one = case(controller(workers=8.0, scaling=points(w4=0.3, w8=rate)))
    assert (examine(CODE, one) is not None) == holds
    looser = adjusted(slower_with_more_ratio=0.5)
    assert examine(CODE, case(controller(workers=8.0, scaling=points(w4=0.3, w8=rate)), thresholds=looser)) is None


@pytest.mark.parametrize(
    ("workers", "scaling", "best"),
    [
        (8.0, FALLING, 4.0),
        (20.0, FALLING, 4.0),
        (7.0, FALLING, None),
        (2.0, FALLING, None),
        (16.0, points(w2=0.1, w4=0.3, w8=0.28, w16=0.2), 4.0),
        (8.0, points(w2=0.1, w4=0.3, w8=0.28, w16=0.2), None),
        (8.0, points(w2=0.3, w4=0.3, w8=0.2), 2.0),
        (8.0, points(w8=0.2), None),
        (8.0, (), None),
        (None, FALLING, None),
    ],
)
def test_only_points_up_to_the_present_number_count(
    workers: float | None, scaling: tuple[ScalingPoint, ...], best: float | None
) -> None:
    """What larger numbers would do says nothing about the present one; of equals the fewest workers are best."""
    one = controller(workers=workers, scaling=scaling)
    assert best_workers(one, Thresholds()) == best


def test_the_controller_that_is_in_its_own_way_is_named() -> None:
    """Others are left alone."""
    contended: Given = {"workers": 8.0, "scaling": FALLING}
    assert must_find(CODE, case(controller(), controller("rayjob", **contended))).subject == "rayjob"


def test_nothing_measured_is_no_finding() -> None:
    """Contention cannot be seen from one operating point."""
    assert examine(CODE, case(saturated(workers=8.0), loaded_client())) is None
    assert examine(CODE, case(controller(workers=None, scaling=FALLING))) is None
