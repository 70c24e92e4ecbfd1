import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Value,
    adjusted,
    case,
    checks_of,
    codes,
    controller,
    diagnosed,
    examine,
    loaded_client,
    must_find,
    process,
    saturated,
    signals,
)

CODE = FindingCode.MEMORY_LIMITED
LIMIT = 512.0 * 1024 * 1024


def memory(used: Value, limit: Value = LIMIT, **given: Value) -> object:
    """A process that uses so much of its memory limit."""
    return process(memory_bytes=used, memory_limit_bytes=limit, **given)


def test_kills_hold() -> None:
    """The kernel's word: critical, whatever is in use now, and all lost time is its doing."""
    made = must_find(CODE, case(saturated(), loaded_client(), memory(0.2 * LIMIT, oom_kills=3.0)))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert [one.value for one in made.evidence] == [0.2 * LIMIT, LIMIT, 3.0, 0.0]
    assert made.lost_ratio == 1.0
    assert checks_of(made) == {"Do the restarts have another reason?": False}


@pytest.mark.parametrize(
    ("used", "limit", "kills", "severity"),
    [
        (0.9 * LIMIT, LIMIT, 0.0, Severity.WARNING),
        (0.899 * LIMIT, LIMIT, 0.0, None),
        (0.1 * LIMIT, LIMIT, 1.0, Severity.CRITICAL),
        (None, None, 1.0, Severity.CRITICAL),
        (LIMIT, None, None, None),
        (LIMIT, 0.0, None, None),
        (None, LIMIT, 0.0, None),
    ],
)
def test_its_thresholds(used: Value, limit: Value, kills: Value, severity: Severity | None) -> None:
    """A kill, or nine tenths of the limit; without a limit nothing is close to it."""
    made = examine(CODE, case(controller(), memory(used, limit, oom_kills=kills)))
    assert (made.severity if made else None) == severity


def test_the_threshold_is_a_setting() -> None:
    """A stricter one finds less."""
    assert examine(CODE, case(memory(0.95 * LIMIT), thresholds=adjusted(memory_used_ratio=0.97))) is None


def test_memory_in_use_explains_no_waiting() -> None:
    """A working set near its limit costs no time: it does not hide what holds the workers up."""
    made = diagnosed(saturated(queue_wait_seconds_mean=2.0), loaded_client(), memory(0.95 * LIMIT))
    assert codes(made) == ["workers-saturated", "memory-limited"]
    assert must_find(CODE, made.case).lost_seconds == 0.0


def test_the_whole_observation_counts() -> None:
    """A kill outside the episode is one all the same."""
    whole = signals(controller(), memory(0.1 * LIMIT, oom_kills=1.0))
    assert must_find(CODE, case(controller(), whole=whole)).severity is Severity.CRITICAL


def test_an_operator_that_dies_before_it_works_is_diagnosed() -> None:
    """Without any controller series the process alone tells enough."""
    assert codes(diagnosed(NO_CONTROLLERS, memory(0.99 * LIMIT, oom_kills=4.0))) == ["memory-limited"]


def test_nothing_known_is_no_finding() -> None:
    """Memory that nobody looked at."""
    assert examine(CODE, case(controller(), process())) is None
