from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.twin.parameters import OperatorSettings
from advisor.twin.world import CpuQuota
from tests.twin.oracles.closedforms import quota_waits_ns
from tests.twin.oracles.parts import AGAIN, SECOND_NS, Parts, Steps, exponential_ns

PERIOD_NS = SECOND_NS // 10
CORES = st.sampled_from([0.05, 0.5, 1.0, 4.0])
# Milliseconds from one piece of work to the next, and of work.
STEPS = st.lists(st.tuples(st.integers(0, 95), st.integers(1, 500)), min_size=1, max_size=40)


@pytest.mark.parametrize("cores", [0.1, 0.5, 1.5])
def test_waits_of_a_steady_stream_are_those_of_the_quota(cores: float) -> None:
    """Work that comes steadily and asks for more than the quota waits for exactly what it lacks."""
    work_ns, every_ns, pieces = 20_000_000, 10_000_000, 500
    cpu = CpuQuota(cores)
    waits_ns = sum(cpu.finish_ns(i * every_ns, work_ns) - i * every_ns - work_ns for i in range(pieces))
    assert waits_ns == quota_waits_ns(pieces, every_ns, work_ns, round(cores * PERIOD_NS), PERIOD_NS)
    assert cpu.throttled_ns == waits_ns
    assert cpu.used_ns == pieces * work_ns


def test_work_below_the_quota_never_waits() -> None:
    """Work that comes steadily and asks for no more than the quota is not held up."""
    cpu = CpuQuota(0.5)
    assert all(cpu.finish_ns(i * 10_000_000, 5_000_000) == i * 10_000_000 + 5_000_000 for i in range(1000))
    assert cpu.throttled_ns == 0


@given(CORES, STEPS)
def test_no_stretch_of_time_gets_more_than_the_quota(cores: float, steps: list[tuple[int, int]]) -> None:
    """Between two moments no more CPU time is had than the shares of the periods that they touch."""
    pieces = pieces_of(CpuQuota(cores), steps)
    share_ns = round(cores * PERIOD_NS)
    for first, (start_ns, _, _) in enumerate(pieces):
        through_ns = 0
        for _, work_ns, end_ns in pieces[first:]:
            through_ns += work_ns
            # A piece that ends with a period has had nothing of the next one.
            assert through_ns <= share_ns * ((end_ns - 1) // PERIOD_NS - start_ns // PERIOD_NS + 1)


@given(CORES, STEPS)
def test_no_work_is_through_before_its_time(cores: float, steps: list[tuple[int, int]]) -> None:
    """A piece of work runs on one core: however much quota is left, it takes at least its own CPU time."""
    cpu = CpuQuota(cores)
    waits_ns = [end_ns - start_ns - work_ns for start_ns, work_ns, end_ns in pieces_of(cpu, steps)]
    assert min(waits_ns) >= 0
    assert sum(waits_ns) == cpu.throttled_ns


def pieces_of(cpu: CpuQuota, steps: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """When each piece of work comes, how much it is, and when it is through."""
    now_ns = 0
    pieces = []
    for gap_ms, work_ms in steps:
        now_ns += gap_ms * 1_000_000
        pieces.append((now_ns, work_ms * 1_000_000, cpu.finish_ns(now_ns, work_ms * 1_000_000)))
    return pieces


@pytest.mark.parametrize(("workers", "cores"), [(1, 0.2), (4, 0.3), (4, 2.0)])
def test_utilisation_is_the_quota_or_the_demand(workers: int, cores: float) -> None:
    """Over a long time a closed loop gets what it can use, or the quota and no more."""
    work_seconds, rest_seconds, run_seconds = 0.01, 0.02, 100.0
    random = Random(4)
    parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0, cpu_limit_cores=cores))

    def steps() -> Steps:
        yield exponential_ns(random, rest_seconds)
        return AGAIN

    controller = parts.closed_loop(steps, reconcile_cpu_seconds=work_seconds)
    parts.run(run_seconds)
    wanted = workers * work_seconds / (work_seconds + rest_seconds)
    used_ns = parts.cpu.spent_ns(parts.engine.now_ns)
    assert used_ns <= cores * (parts.engine.now_ns + PERIOD_NS)
    assert used_ns / parts.engine.now_ns == pytest.approx(min(cores, wanted), rel=0.02)
    assert controller.cpu_ns >= controller.loop.metrics.reconcile_time.count * round(work_seconds * SECOND_NS)
