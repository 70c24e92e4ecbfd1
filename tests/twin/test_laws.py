from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.twin.parameters import Faults, OperatorSettings, QueueKind, WorldParameters
from advisor.twin.result import RunResult
from advisor.twin.simulation import Simulation, simulate
from advisor.twin.workload import KINDS, Arrival, Deletion, Existing, Restart, Scaling, Workload, Writer
from tests.twin.laws import check_laws, watch_depth

SPREAD = (0.2, 0.6, 0.9, 1.3, 2.0)
RATIOS = st.sampled_from([0.0, 0.0, 0.05, 0.3])
SECONDS = st.sampled_from([0.0, 0.001, 0.0137, 0.2])
EXAMPLES = settings(max_examples=60)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """A few objects of all kinds, made, changed and deleted, under an operator that may end in between."""
    times = st.sampled_from([0.0, 0.0, 0.5, 1.9, 3.7])
    kinds = st.sampled_from(KINDS) if draw(st.booleans()) else st.just("RayCluster")
    workers, groups = st.integers(0, 5), st.integers(1, 3)
    number = draw(st.integers(0, 6))
    arrivals = tuple(
        Arrival(draw(times), f"ns/c{i}", draw(workers), draw(groups), draw(kinds), run_seconds=0.7)
        for i in range(number)
    )
    existing: tuple[Existing, ...] = ()
    scalings: tuple[Scaling, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    writers: tuple[Writer, ...] = ()
    restarts: tuple[Restart, ...] = ()
    if draw(st.booleans()):
        existing = tuple(Existing(f"ns/e{i}", draw(workers), draw(groups), draw(kinds)) for i in range(draw(workers)))
        every: list[Arrival | Existing] = [*arrivals, *existing]
        keys = [one.key for one in every if one.kind == "RayCluster"]
        if keys:
            clusters = st.sampled_from(keys)
            changes = st.lists(st.tuples(times, clusters, workers), max_size=3)
            scalings = tuple(Scaling(at, key, to) for at, key, to in draw(changes))
            deletions = tuple(Deletion(at + 0.3, key) for at, key, _ in draw(changes))
            writers = tuple(Writer((key,), 10.0, at, at + 2.0) for at, key, _ in draw(changes))
    if draw(st.booleans()):
        restarts = (Restart(1.1, draw(times)),)
    return Workload(existing, arrivals, scalings, deletions, writers, restarts, duration_seconds=12.0)


def operators() -> st.SearchStrategy[OperatorSettings]:
    """Settings, the unreasonable ones too."""
    return st.builds(
        OperatorSettings,
        concurrency=st.integers(1, 6),
        qps=st.sampled_from([-1.0, 0.2, 5.0, 20.0, 100.0]),
        burst=st.sampled_from([1, 3, 200]),
        cpu_limit_cores=st.sampled_from([None, None, 0.05, 0.5, 2.0]),
        queue=st.sampled_from(QueueKind),
        events_as_series=st.booleans(),
        resync_seconds=st.sampled_from([2.5, 300.0]),
        replicas=st.sampled_from([1, 1, 2]),
    )


def worlds() -> st.SearchStrategy[WorldParameters]:
    """Times around the operator, some of them zero."""
    return st.builds(
        WorldParameters,
        request_seconds=st.builds(lambda seconds: {"POST": seconds, "PUT": 2 * seconds}, SECONDS),
        request_spread=st.sampled_from([(1.0,), SPREAD]),
        server_work_seconds=SECONDS,
        pod_work_seconds=SECONDS,
        pod_start_seconds=st.sampled_from([0.0, 0.4]),
        pod_starters=st.sampled_from([1, 3, 1000]),
        watch_lag_seconds=SECONDS,
        watch_share=st.sampled_from([0.0, 0.3, 1.0]),
        reconcile_seconds=SECONDS,
        request_cpu_seconds=st.sampled_from([0.0, 0.0, 0.0007]),
        event_cpu_seconds=st.sampled_from([0.0, 0.0, 0.0007]),
        dashboard_seconds=st.sampled_from([0.0, 0.05, 3.0]),
        pod_stop_seconds=SECONDS,
        faults=st.builds(
            Faults,
            throttled_ratio=RATIOS,
            retry_after_seconds=st.sampled_from([0.1, 1.0]),
            pod_refused_ratio=RATIOS,
            pod_pending_ratio=RATIOS,
            pod_stuck_ratio=RATIOS,
            dashboard_timeout_ratio=RATIOS,
        ),
    )


@EXAMPLES
@given(workloads(), operators(), worlds(), st.integers(0, 3))
def test_laws_hold_at_any_time_of_any_run(
    workload: Workload, operator: OperatorSettings, world: WorldParameters, seed: int
) -> None:
    """What flows in flows out or is still there, in the middle of a run and at its end, whatever happens."""
    simulation = Simulation(workload, operator, world, Random(seed), sample_seconds=0.05)
    watch_depth(simulation)
    for seconds in (0.0, 0.1, 1.0, 4.0):
        simulation.advance(seconds)
        check_laws(simulation)
    simulation.advance(None)
    check_laws(simulation)


@settings(max_examples=25)
@given(workloads(), operators(), worlds(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_result(
    workload: Workload, operator: OperatorSettings, world: WorldParameters, seed: int
) -> None:
    """A run is a function of its arguments, to the last bit, and looking at it in between changes nothing."""
    first = simulate(workload, operator, world, Random(seed), sample_seconds=0.5)
    in_steps = Simulation(workload, operator, world, Random(seed), sample_seconds=0.5)
    for seconds in (0.2, 1.0, 3.0):
        in_steps.advance(seconds)
        in_steps.result()
    in_steps.advance(None)
    assert repr(in_steps.result()) == repr(first)
    assert repr(simulate(workload, operator, world, Random(seed), sample_seconds=0.5)) == repr(first)


def run(workers: int, operator: OperatorSettings, world: WorldParameters) -> RunResult:
    """One cluster alone."""
    return simulate(Workload(arrivals=(Arrival(0.0, "ns/c", workers),)), operator, world, Random(1))


ALONE = WorldParameters(reconcile_seconds=0.01, request_cpu_seconds=0.003, pod_start_seconds=1.0)


@pytest.mark.parametrize("workers", [0, 1, 10])
def test_more_cpu_never_makes_an_operator_slower(workers: int) -> None:
    """One cluster alone gets ready no later with a larger CPU limit, and soonest with none."""
    limits = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 4.0, None]
    operator = OperatorSettings(concurrency=2)
    times = [run(workers, replace(operator, cpu_limit_cores=one), ALONE).makespan_seconds for one in limits]
    known = [one for one in times if one is not None]
    assert len(known) == len(times)
    assert known == sorted(known, reverse=True)
    assert known[0] > known[-1]


@pytest.mark.parametrize("workers", [3, 30])
def test_a_faster_limiter_never_makes_an_operator_slower(workers: int) -> None:
    """One cluster alone gets ready no later with more QPS or Burst, and soonest without a limiter."""
    pairs = [(1.0, 1), (1.0, 3), (5.0, 3), (5.0, 20), (50.0, 20), (50.0, 200), (-1.0, 200)]
    times = [run(workers, OperatorSettings(qps=qps, burst=burst), ALONE).makespan_seconds for qps, burst in pairs]
    known = [one for one in times if one is not None]
    assert len(known) == len(times)
    assert known == sorted(known, reverse=True)
    assert known[0] > known[-1]


def test_events_hold_no_worker() -> None:
    """Events cost the API server and their own bucket, and never time of a worker."""
    slow_events = OperatorSettings(qps=2.0, burst=20)
    simulation = Simulation(
        Workload(arrivals=tuple(Arrival(0.0, f"ns/c{i}", 1) for i in range(9))), slow_events, ALONE, Random(1)
    )
    simulation.advance(None)
    check_laws(simulation)
    events = [one for one in simulation.result().requests if one.kind == "Event"]
    assert sum(one.limiter_seconds for one in events) > 0.0


def test_a_longer_run_has_no_more_events_for_a_reconcile() -> None:
    """Timers of keys at rest cost nothing over and over: an hour has no more events a reconcile than some minutes."""

    def events_a_reconcile(seconds: float) -> float:
        arrivals = tuple(Arrival(20.0 * i, f"ns/c{i}", 2) for i in range(int(seconds / 20.0)))
        workload = Workload(arrivals=arrivals, duration_seconds=seconds)
        result = simulate(workload, OperatorSettings(concurrency=2), WorldParameters(), Random(1))
        return result.events / sum(result.controllers[0].reconciles.values())

    assert events_a_reconcile(2400.0) <= events_a_reconcile(600.0)
