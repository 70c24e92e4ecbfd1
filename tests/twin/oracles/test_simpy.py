from dataclasses import replace
from random import Random
from statistics import fmean

import pytest

from advisor.queueing.outcome import SUCCESS
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Workload
from tests.twin.oracles.parts import (
    AGAIN,
    SECOND_NS,
    Estimate,
    Parts,
    Steps,
    batches,
    exponential_ns,
    poisson,
    serve,
)
from tests.twin.oracles.simpyoperator import SimpyOperator
from tests.twin.oracles.simpyparts import bucket_loop, first_pass_seconds, in_batches, priority_waits

CLUSTERS, WORKERS = 12, 5
RUNS = 12
# The lag is no multiple of other times, so that few things happen at the same moment.
WORLD = WorldParameters(request_spread=(0.2, 0.6, 0.9, 1.3, 2.0), pod_start_seconds=0.3, watch_lag_seconds=0.0013)
SETTINGS = [
    OperatorSettings(concurrency=1, qps=100.0, burst=200),
    OperatorSettings(concurrency=4, qps=100.0, burst=200),
    OperatorSettings(concurrency=4, qps=20.0, burst=10),
]


def test_priorities_wait_as_in_simpy() -> None:
    """Keys at 0 and at -100 wait for workers as two classes wait for a SimPy resource with priorities."""
    workers, arrivals, service_seconds, random = 3, (8.0, 11.0), 0.1, Random(1)
    parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0))
    controller = parts.controller(serve(lambda: exponential_ns(random, service_seconds)))
    for rate, is_low in zip(arrivals, (False, True), strict=True):
        poisson(parts, controller, rate, random, at_low_priority=is_low)

    def waits(priority: int) -> tuple[float, float]:
        counters = controller.queue.metrics.at(priority)
        return counters.queue_ns / SECOND_NS, float(counters.gets)

    ours = batches(parts, lambda: waits(0), lambda: waits(-100), number=20, seconds=40.0, warm_up=40.0)
    theirs = [in_batches(one, 20) for one in priority_waits(workers, arrivals, service_seconds, 21 * 40 * 19, 2)]
    assert all(own.agrees(other, within=0.4) for own, other in zip(ours, theirs, strict=True)), (ours, theirs)


@pytest.mark.parametrize(("callers", "burst"), [(4, 1), (6, 10)])
def test_workers_on_a_bucket_wait_as_in_simpy(callers: int, burst: int) -> None:
    """Workers who share a token bucket wait in it as SimPy processes do in a cell rate limiter."""
    qps, other_seconds, run_seconds, random = 20.0, 0.2, 500.0, Random(3)
    parts = Parts(OperatorSettings(concurrency=callers, qps=qps, burst=burst))
    request = parts.client.request("POST", "Pod")

    def steps() -> Steps:
        yield request
        yield exponential_ns(random, other_seconds)
        return AGAIN

    parts.closed_loop(steps)

    def waits() -> tuple[float, float]:
        return request.counts.limiter_ns / SECOND_NS, float(request.counts.attempts)

    [ours] = batches(parts, waits, number=20, seconds=run_seconds / 20, warm_up=run_seconds / 20)
    theirs = in_batches(bucket_loop(callers, qps, burst, other_seconds, run_seconds * 21 / 20, 4), 20)
    assert ours.agrees(theirs, within=0.3)


@pytest.mark.parametrize("workers", [1, 4, 10])
def test_a_first_pass_takes_as_long_as_in_simpy(workers: int) -> None:
    """Keys that all come at once, and need requests one after another, keep workers and server busy as in SimPy."""
    keys, posts, work_seconds, delay_seconds = 20, 10, 0.004, 0.02

    def ours(seed: int) -> float:
        random = Random(seed)
        world = WorldParameters(request_seconds={"POST": 0.0}, server_work_seconds=work_seconds)
        parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0), world)
        request = parts.client.request("POST", "Pod")

        def program(key: str) -> Steps:
            for _ in range(posts):
                yield request
                yield exponential_ns(random, delay_seconds)
            return SUCCESS

        controller = parts.controller(program)
        for number in range(keys):
            controller.wake(str(number))
        while controller.loop.metrics.reconcile_time.count < keys:
            parts.run(0.001)
        return parts.engine.now_ns / SECOND_NS

    theirs = [first_pass_seconds(keys, workers, posts, work_seconds, delay_seconds, seed) for seed in range(20)]
    assert Estimate.of([ours(seed) for seed in range(20)]).agrees(Estimate.of(theirs), within=0.15)


class TestWholeOperator:
    def test_without_chance_every_cluster_gets_ready_as_in_simpy(self) -> None:
        """With constant times the two models take the same course: same reconciles, requests and ready times."""
        for settings in SETTINGS:
            ours, theirs = both(settings, replace(WORLD, request_spread=(1.0,)), 1)
            # The models differ in which of two requests of one moment goes first.
            near = pytest.approx(theirs.ready_seconds, abs=3 * WORLD.server_work_seconds)
            assert sorted(ours.ready_seconds) == near
            assert reconciles(ours) == theirs.reconciles
            assert ours.server_requests == theirs.server_requests

    @pytest.mark.parametrize("settings", SETTINGS, ids=["one worker", "four workers", "limited"])
    def test_clusters_get_ready_as_in_simpy(self, settings: OperatorSettings) -> None:
        """RayClusters created at once get ready as soon, after as many reconciles and requests, as in a SimPy model."""
        runs = [both(settings, WORLD, seed) for seed in range(RUNS)]
        for own, other, within in (
            ([ours.makespan_seconds for ours, _ in runs], [max(theirs.ready_seconds) for _, theirs in runs], 0.1),
            ([ours.ready_seconds_mean for ours, _ in runs], [fmean(theirs.ready_seconds) for _, theirs in runs], 0.1),
            ([reconciles(ours) for ours, _ in runs], [theirs.reconciles for _, theirs in runs], 0.1),
            ([ours.server_requests for ours, _ in runs], [theirs.server_requests for _, theirs in runs], 0.1),
            ([ours.request_seconds_mean for ours, _ in runs], [theirs.request_time.value for _, theirs in runs], 0.1),
            ([queue_wait(ours) for ours, _ in runs], [theirs.queue_wait.value for _, theirs in runs], 0.2),
            ([reconcile_time(ours) for ours, _ in runs], [theirs.reconcile_time.value for _, theirs in runs], 0.1),
        ):
            known = [one for one in own if one is not None]
            assert Estimate.of(known).agrees(Estimate.of(other), within=within), (own, other)
            assert len(known) == RUNS


def both(settings: OperatorSettings, world: WorldParameters, seed: int) -> tuple[RunResult, SimpyOperator]:
    """The same load in both models, with other random numbers."""
    workload = Workload(arrivals=tuple(Arrival(0.0, f"ns/c{i}", WORKERS) for i in range(CLUSTERS)))
    theirs = SimpyOperator(CLUSTERS, WORKERS, settings, world, Random(1000 + seed))
    theirs.run()
    return simulate(workload, settings, world, Random(seed)), theirs


def reconciles(result: RunResult) -> int:
    """Ended reconciles of RayClusters."""
    controller = result.controller("raycluster")
    return 0 if controller is None else sum(controller.reconciles.values())


def queue_wait(result: RunResult) -> float | None:
    """Mean wait of a RayCluster's key."""
    controller = result.controller("raycluster")
    return None if controller is None else controller.queue_wait_seconds_mean


def reconcile_time(result: RunResult) -> float | None:
    """Mean time of a RayCluster's reconcile."""
    controller = result.controller("raycluster")
    return None if controller is None else controller.reconcile_seconds_mean
