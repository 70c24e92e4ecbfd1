import msgspec
import pytest

from advisor.model.advice import Direction, KnobAdvice
from advisor.model.finding import FindingCode, Severity
from advisor.recommend.policy import Policy
from advisor.recommend.resources import cpu_advice, memory_advice
from tests.diagnosis.builders import a_finding, case, controller, diagnosis_of, process, saturated, signals

POLICY = Policy()
MEBIBYTE = 1024.0**2
KEPT = KnobAdvice(direction=Direction.KEEP, current=4.0, value=4.0, reason="")
LIMITED = a_finding(FindingCode.CPU_LIMITED, Severity.CRITICAL)


def cpu(
    used: float | None, limit: float | None, throttled: float | None = None, workers: KnobAdvice = KEPT
) -> tuple[Direction, float | None]:
    """CPU advice for these figures."""
    container = process(cpu_cores=used, cpu_limit_cores=limit, cpu_throttled_ratio=throttled)
    made = cpu_advice(diagnosis_of(LIMITED, of=case(saturated(), container)), workers, POLICY)
    assert made.current == limit
    assert made.reason
    return made.direction, made.value


@pytest.mark.parametrize(
    ("limit", "throttled", "value"),
    [
        (0.1, 0.3, 0.2),  # at least twice
        (0.1, 0.5, 0.2),
        (0.1, 0.6, 0.3),  # 0.25 rounded up
        (0.1, 0.9, 0.4),  # at most four times
        (0.1, 1.0, 0.4),
        (0.5, 0.6, 1.3),
        (0.1, None, 0.2),  # unknown: as if held up half of the time
    ],
)
def test_a_throttled_process_gets_what_it_was_held_up_by(limit: float, throttled: float | None, value: float) -> None:
    """Twice to four times, in steps of a tenth of a core."""
    assert cpu(limit, limit, throttled) == (Direction.RAISE, value)


def test_more_workers_need_more_cpu() -> None:
    """Four times the workers at 80 % of the limit; enough is kept."""
    fourfold = KnobAdvice(direction=Direction.RAISE, current=1.0, value=4.0, reason="")
    assert cpu(0.05, 0.1, 0.0, fourfold) == (Direction.RAISE, 0.3)
    assert cpu(0.05, 1.0, 0.0, fourfold) == (Direction.KEEP, 1.0)
    unknown = KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason="")
    assert cpu(0.05, 0.1, 0.0, unknown) == (Direction.KEEP, 0.1)


def test_headroom_is_a_setting() -> None:
    """A larger part of the limit to plan for needs less."""
    container = process(cpu_cores=0.05, cpu_limit_cores=0.1, cpu_throttled_ratio=0.0)
    fourfold = KnobAdvice(direction=Direction.RAISE, current=1.0, value=4.0, reason="")
    full = msgspec.structs.replace(POLICY, cpu_headroom=1.0)
    made = cpu_advice(diagnosis_of(LIMITED, of=case(saturated(), container)), fourfold, full)
    assert made.value == 0.2


@pytest.mark.parametrize(("used", "limit"), [(0.05, None), (None, 0.1), (None, None), (0.05, 0.0)])
def test_unknown_cpu_is_kept(used: float | None, limit: float | None) -> None:
    """No advice on a limit that is not known, absent, or not to be compared with anything."""
    assert cpu(used, limit) == (Direction.KEEP, limit)


def memory(used: float | None, limit: float | None, policy: Policy = POLICY) -> tuple[Direction, float | None]:
    """Memory advice for these figures of the whole observation."""
    whole = signals(controller(), process(memory_bytes=used, memory_limit_bytes=limit))
    made = memory_advice(diagnosis_of(LIMITED, of=case(controller(), whole=whole)), policy)
    assert made.current == limit
    assert made.reason
    return made.direction, made.value


def test_memory_near_its_limit_is_raised() -> None:
    """From 90 % on, to one and a half times what is used, in steps of 64 MiB."""
    limit = 512 * MEBIBYTE
    assert memory(0.9 * limit, limit) == (Direction.RAISE, 704 * MEBIBYTE)
    assert memory(0.89 * limit, limit) == (Direction.KEEP, limit)


def test_memory_bounds_are_settings() -> None:
    """Ratio and factor."""
    limit = 512 * MEBIBYTE
    early = msgspec.structs.replace(POLICY, memory_used_ratio=0.5, memory_factor=4.0)
    assert memory(0.5 * limit, limit, early) == (Direction.RAISE, 1024 * MEBIBYTE)


@pytest.mark.parametrize(("used", "limit"), [(1.0, None), (None, 512.0), (1.0, 0.0)])
def test_unknown_memory_is_kept(used: float | None, limit: float | None) -> None:
    """No advice on a limit that is not known or absent."""
    assert memory(used, limit) == (Direction.KEEP, limit)


@pytest.mark.parametrize("code", [FindingCode.INSUFFICIENT_DATA, FindingCode.NOT_LEADER])
def test_a_refusal_gives_no_number(code: FindingCode) -> None:
    """Nothing may rest on it."""
    diagnosis = diagnosis_of(a_finding(code, refuses=True), of=case(controller(), process(cpu_limit_cores=0.1)))
    made = cpu_advice(diagnosis, KEPT, POLICY)
    assert (made.direction, made.current, made.value) == (Direction.NO_NUMBER, 0.1, None)
    assert memory_advice(diagnosis, POLICY).direction is Direction.NO_NUMBER


@pytest.mark.parametrize(
    ("used", "limit", "advice"),
    [
        (100 * MEBIBYTE, 512 * MEBIBYTE, (Direction.RAISE, 768 * MEBIBYTE)),
        (None, 512 * MEBIBYTE, (Direction.RAISE, 768 * MEBIBYTE)),
        (600 * MEBIBYTE, 512 * MEBIBYTE, (Direction.RAISE, 960 * MEBIBYTE)),
        (100 * MEBIBYTE, None, (Direction.KEEP, None)),
    ],
)
def test_a_kill_raises_the_limit_whatever_is_in_use_now(
    used: float | None, limit: float | None, advice: tuple[Direction, float | None]
) -> None:
    """A restarted process uses little; what killed it was the limit. Never below the present limit."""
    one = case(controller(), process(memory_bytes=used, memory_limit_bytes=limit, oom_kills=2.0))
    made = memory_advice(diagnosis_of(LIMITED, of=one), POLICY)
    assert (made.direction, made.value) == advice
