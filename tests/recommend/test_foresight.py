import random
from dataclasses import replace

import pytest

from advisor.model.advice import Advice, Direction, KnobAdvice
from advisor.recommend.foresight import Foresight, foresee
from advisor.recommend.policy import Policy
from advisor.twin.parameters import OperatorSettings
from advisor.twin.point import OperatingPoint
from advisor.twin.workload import Arrival, Existing, Workload
from tests.twin.points import point, result_of

ONE = OperatorSettings(concurrency=1)
KEPT = KnobAdvice(direction=Direction.KEEP, current=1.0, value=1.0, reason="")


def raised(current: float, value: float | None) -> KnobAdvice:
    """Advice to raise a setting."""
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason="by rules")


def advice(concurrency: KnobAdvice = KEPT, qps: KnobAdvice = KEPT, burst: KnobAdvice = KEPT) -> Advice:
    """Advice on some settings."""
    return Advice(concurrency=concurrency, qps=qps, burst=burst, cpu_cores=KEPT, memory_bytes=KEPT)


def seen(at: OperatingPoint, given: Advice) -> Foresight:
    """The foresight, which must be there."""
    found = foresee(at, given, Policy(), random.Random)
    assert found is not None
    return found


def test_more_workers() -> None:
    """Now is what was measured, then what the twin does with four workers, and its interval holds the truth."""
    found = seen(point(ONE), advice(raised(1.0, 4.0)))
    truth = result_of(replace(ONE, concurrency=4))
    by_name = {one.quantity: one for one in found.predictions}
    ready = by_name["ready_seconds_mean"]
    assert ready.now == point(ONE).measured.ready_seconds_mean
    assert ready.low <= (truth.ready_seconds_mean or 0.0) <= ready.high
    assert by_name["drain_seconds"].then < 0.4 * by_name["drain_seconds"].now
    assert by_name["api_requests_per_second"].then > 2.0 * by_name["api_requests_per_second"].now
    assert by_name["cpu_cores"].then > by_name["cpu_cores"].now
    assert "limiter_wait_seconds_mean" not in by_name
    assert all(one.simulated and one.low <= one.then <= one.high for one in found.predictions)
    assert found.advice.concurrency.value == 4.0


def test_more_qps() -> None:
    """A throttled operator: the wait in the limiter goes, and the load drains faster."""
    throttled = point(OperatorSettings(concurrency=16, qps=10.0, burst=20))
    found = seen(throttled, advice(qps=raised(10.0, 40.0), burst=raised(20.0, 80.0)))
    by_name = {one.quantity: one for one in found.predictions}
    assert by_name["limiter_wait_seconds_mean"].then < 0.3 * by_name["limiter_wait_seconds_mean"].now
    assert by_name["drain_seconds"].then < 0.6 * by_name["drain_seconds"].now


def test_no_more_workers_than_do_the_same() -> None:
    """Two clusters at once have no use for more than two workers, whatever a rule asks for."""
    pair = Workload(arrivals=tuple(Arrival(0.0, f"team/rc-{index}", 20) for index in range(2)))
    found = seen(point(ONE, pair), advice(raised(1.0, 4.0)))
    assert found.advice.concurrency.value == 2.0
    assert found.advice.concurrency.reason == "by rules; simulated, 2 do as much as 4"


def test_nothing_changes_nothing() -> None:
    """Without a setting to change, or without its value, there is nothing to foresee."""
    assert foresee(point(ONE), advice(), Policy(), random.Random) is None
    assert foresee(point(ONE), advice(raised(1.0, None)), Policy(), random.Random) is None


@pytest.mark.parametrize("figure", ["queue_wait_seconds_mean", "ready_seconds_mean"])
def test_a_present_that_is_not_repeated_is_no_basis(figure: str) -> None:
    """Where something is at work that the twin does not know, it says nothing about the future."""
    at = point(ONE)
    strange = replace(at, measured=replace(at.measured, **{figure: 5.0 * getattr(at.measured, figure)}))
    assert foresee(strange, advice(raised(1.0, 4.0)), Policy(), random.Random) is None


def test_loads_without_pods_or_with_too_many_are_left_alone() -> None:
    """An empty load shows nothing, and a huge one would hold an analysis up."""
    at = point(ONE)
    empty = replace(at, workload=Workload(duration_seconds=10.0))
    huge = replace(at, workload=Workload(arrivals=(Arrival(0.0, "a/b", 20_000),)))
    standing = replace(at, workload=replace(at.workload, existing=(Existing("a/old", 20_000),)))
    for one in (empty, huge, standing):
        assert foresee(one, advice(raised(1.0, 4.0)), Policy(), random.Random) is None


def test_simulation_can_be_turned_off() -> None:
    """With no Pods to be simulated every effect is a closed form."""
    off = Policy(most_simulated_pods=0.0)
    assert foresee(point(ONE), advice(raised(1.0, 4.0)), off, random.Random) is None
