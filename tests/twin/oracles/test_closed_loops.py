from random import Random

import pytest

from advisor.twin.engine import Engine
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.workers import TwinController
from advisor.twin.world import ServiceLine
from tests.twin.oracles.closedforms import (
    bucket_throughput,
    bucket_wait_seconds,
    closed_network,
    erlang_c,
    least_throughput,
    md1_wait_seconds,
    mmc_wait_by_class_seconds,
    mmc_wait_seconds,
    most_throughput,
)
from tests.twin.oracles.parts import AGAIN, SECOND_NS, Estimate, Parts, Steps, batches, exponential_ns

# Requeues take a nanosecond each, and times are cut to whole ones.
ROUNDING = 1e-6


def calling(settings: OperatorSettings, world: WorldParameters, seed: int = 1) -> tuple[Parts, TwinController]:
    """Workers who send one request after another."""
    parts = Parts(settings, world, seed=seed)
    request = parts.client.request("POST", "Pod")

    def steps() -> Steps:
        yield request
        return AGAIN

    return parts, parts.closed_loop(steps)


def line_loop(customers: int, work_seconds: float, delay_seconds: float, random: Random) -> tuple[Engine, ServiceLine]:
    """Customers of one line with exponential work and exponential delays."""
    engine, line = Engine(), ServiceLine()

    def leave(_: object) -> None:
        engine.at(engine.now_ns + exponential_ns(random, delay_seconds), arrive)

    def arrive(_: object) -> None:
        engine.at(line.finish_ns(engine.now_ns, exponential_ns(random, work_seconds)), leave)

    for _ in range(customers):
        leave(None)
    return engine, line


@pytest.mark.parametrize("workers", [1, 2, 4, 5, 8, 40])
def test_throughput_on_a_bucket_is_the_smaller_bound(workers: int) -> None:
    """Workers on one bucket make as many calls as they can, or as the bucket refills, and wait for the difference."""
    qps, api_seconds, run_seconds = 20.0, 0.2, 200.0
    world = WorldParameters(request_seconds={"POST": api_seconds}, server_work_seconds=0.0)
    parts, controller = calling(OperatorSettings(concurrency=workers, qps=qps, burst=1), world)
    parts.run(2 * (workers / qps + api_seconds))
    calls, waits_ns = controller.loop.metrics.reconcile_time.count, controller.limiter_ns
    parts.run(run_seconds)
    calls = controller.loop.metrics.reconcile_time.count - calls
    # At either end of the time at most one call of each worker is cut.
    assert abs(calls - run_seconds * bucket_throughput(workers, qps, api_seconds)) <= workers
    wait_seconds = (controller.limiter_ns - waits_ns) / SECOND_NS / calls
    assert wait_seconds == pytest.approx(bucket_wait_seconds(workers, qps, api_seconds), rel=ROUNDING, abs=1e-6)


def test_exponential_times_on_a_bucket_lie_between_its_bounds() -> None:
    """With random times around the calls, a bucket of burst 1 does better than an exponential server of its rate and
    worse than no waiting at all.
    """
    workers, qps, other_seconds, random = 4, 20.0, 0.2, Random(2)
    parts = Parts(OperatorSettings(concurrency=workers, qps=qps, burst=1))
    request = parts.client.request("POST", "Pod")

    def steps() -> Steps:
        yield request
        yield exponential_ns(random, other_seconds)
        return AGAIN

    controller = parts.closed_loop(steps)
    [found] = batches(parts, lambda: calls_per_second(parts, controller), number=20, seconds=50.0, warm_up=10.0)
    margin = 4.0 * found.error
    assert closed_network(workers, 1.0 / qps, other_seconds).throughput < found.mean + margin
    assert found.mean - margin < bucket_throughput(workers, qps, other_seconds)
    assert margin < 0.03 * found.mean


def calls_per_second(parts: Parts, controller: TwinController) -> tuple[float, float]:
    """Ended reconciles and seconds."""
    return float(controller.loop.metrics.reconcile_time.count), parts.engine.now_ns / SECOND_NS


@pytest.mark.parametrize("customers", [1, 3, 8, 20])
def test_a_line_with_exponential_work_is_that_of_mva(customers: int) -> None:
    """Throughput of a closed loop on the API server's line is the one of exact mean value analysis."""
    work_seconds, delay_seconds, length_seconds = 0.01, 0.05, 10.0
    engine, line = line_loop(customers, work_seconds, delay_seconds, Random(customers))
    samples = []
    for number in range(31):
        before = line.served
        engine.run(round((number + 1) * length_seconds * SECOND_NS))
        samples.append((line.served - before) / length_seconds)
    exact = closed_network(customers, work_seconds, delay_seconds).throughput
    assert Estimate.of(samples[1:]).agrees(exact, within=0.06)


@pytest.mark.parametrize("workers", [1, 4, 6, 12])
def test_constant_times_reach_the_asymptotes(workers: int) -> None:
    """With constant times nobody waits until the server never rests: the throughput is the smaller asymptote."""
    work_seconds, delay_seconds, run_seconds = 0.01, 0.05, 100.0
    world = WorldParameters(request_seconds={"POST": delay_seconds}, server_work_seconds=work_seconds)
    parts, controller = calling(OperatorSettings(concurrency=workers, qps=-1.0), world)
    parts.run(1.0)
    calls = controller.loop.metrics.reconcile_time.count
    api_ns = controller.api_ns
    parts.run(run_seconds)
    calls = controller.loop.metrics.reconcile_time.count - calls
    throughput = most_throughput(workers, work_seconds, delay_seconds)
    assert abs(calls - throughput * run_seconds) <= workers
    assert (controller.api_ns - api_ns) / SECOND_NS / calls == pytest.approx(workers / throughput, rel=1e-3)


def test_random_delays_lie_between_mva_and_the_asymptote() -> None:
    """Constant work with delays drawn from a spread does better than exponential work and worse than no chance."""
    workers, work_seconds, delay_seconds = 6, 0.01, 0.05
    spread = (0.1, 0.4, 0.8, 1.2, 2.5)
    world = WorldParameters(
        request_seconds={"POST": delay_seconds}, server_work_seconds=work_seconds, request_spread=spread
    )
    parts, controller = calling(OperatorSettings(concurrency=workers, qps=-1.0), world, seed=7)
    [found] = batches(parts, lambda: calls_per_second(parts, controller), number=20, seconds=10.0, warm_up=2.0)
    margin = 4.0 * found.error
    assert margin < 0.03 * found.mean
    assert closed_network(workers, work_seconds, delay_seconds).throughput < found.mean - margin
    assert found.mean + margin < most_throughput(workers, work_seconds, delay_seconds)
    assert found.mean > least_throughput(workers, work_seconds, delay_seconds)


def test_the_closed_forms_agree_with_each_other() -> None:
    """What two formulas say about the same system is the same, and textbook values come out."""
    assert erlang_c(1, 0.7) == pytest.approx(0.7)
    assert erlang_c(2, 1.0) == pytest.approx(1 / 3)
    assert erlang_c(10, 8.0) == pytest.approx(0.4092, abs=1e-4)
    assert mmc_wait_seconds(1, 7.0, 0.1) == pytest.approx(2 * md1_wait_seconds(7.0, 0.1))
    assert mmc_wait_by_class_seconds(3, (19.0,), 0.1) == pytest.approx((mmc_wait_seconds(3, 19.0, 0.1),))
    high, low = mmc_wait_by_class_seconds(3, (8.0, 11.0), 0.1)
    assert (8 * high + 11 * low) / 19 == pytest.approx(mmc_wait_seconds(3, 19.0, 0.1))
    for customers in (1, 5, 50):
        throughput = closed_network(customers, 0.01, 0.05).throughput
        assert least_throughput(customers, 0.01, 0.05) <= throughput <= most_throughput(customers, 0.01, 0.05)
    # Two customers, one server, no delay apart from it: the machine repair model by hand.
    assert closed_network(2, 1.0, 1.0).throughput == pytest.approx(4 / 5)
