from random import Random

import ciw  # type: ignore[import-untyped]
import pytest

from advisor.twin.parameters import OperatorSettings
from tests.twin.oracles.parts import SECOND_NS, Parts, batches, exponential_ns, poisson, serve
from tests.twin.oracles.simpyparts import in_batches

SERVICE_SECONDS = 0.1
CUSTOMERS = 8000
BATCHES = 20


def ciw_waits(servers: int, arrivals: tuple[float, ...], seed: int) -> list[list[float]]:
    """Waits at M/M/c in Ciw, by class, in order of arrival."""
    names = [f"rank {rank}" for rank in range(len(arrivals))]
    network = ciw.create_network(
        arrival_distributions={name: [ciw.dists.Exponential(rate)] for name, rate in zip(names, arrivals, strict=True)},
        service_distributions={name: [ciw.dists.Exponential(1.0 / SERVICE_SECONDS)] for name in names},
        number_of_servers=[servers],
        priority_classes={name: rank for rank, name in enumerate(names)},
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_time(CUSTOMERS / sum(arrivals))
    records = sorted(simulation.get_all_records(), key=lambda record: record.arrival_date)
    return [[float(one.waiting_time) for one in records if one.customer_class == name] for name in names]


@pytest.mark.parametrize(("workers", "arrivals"), [(1, (6.0,)), (2, (4.0, 8.0))])
def test_keys_wait_as_in_ciw(workers: int, arrivals: tuple[float, ...]) -> None:
    """Keys of one or two priorities wait for workers as customers of a Ciw node do."""
    random = Random(11)
    parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0))
    controller = parts.controller(serve(lambda: exponential_ns(random, SERVICE_SECONDS)))
    for rank, rate in enumerate(arrivals):
        poisson(parts, controller, rate, random, at_low_priority=rank > 0)

    def waits(priority: int) -> tuple[float, float]:
        counters = controller.queue.metrics.at(priority)
        return counters.queue_ns / SECOND_NS, float(counters.gets)

    length = CUSTOMERS / sum(arrivals) / BATCHES
    totals = [lambda rank=rank: waits(-100 * rank) for rank in range(len(arrivals))]
    ours = batches(parts, *totals, number=BATCHES, seconds=length, warm_up=length)
    theirs = [in_batches(one, BATCHES) for one in ciw_waits(workers, arrivals, 3)]
    assert all(own.agrees(other, within=0.5) for own, other in zip(ours, theirs, strict=True)), (ours, theirs)
