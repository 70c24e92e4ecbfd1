from functools import partial
from random import Random

import pytest

from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.workers import TwinController
from tests.twin.oracles.closedforms import erlang_c, md1_wait_seconds, mmc_wait_by_class_seconds, mmc_wait_seconds
from tests.twin.oracles.parts import SECOND_NS, Estimate, Parts, batches, exponential_ns, poisson, serve

SERVICE_SECONDS = 0.1
SERVICE_NS = round(SERVICE_SECONDS * SECOND_NS)
# A batch is some thirty times as long as the queue remembers at the loads below.
BATCHES = 24
PER_BATCH = 1200


def mmc(workers: int, load: float, queue: QueueKind = QueueKind.PRIORITY) -> tuple[Parts, TwinController, float]:
    """M/M/c, and how long a batch takes."""
    random = Random(f"{workers} {load}")
    arrivals = load * workers / SERVICE_SECONDS
    parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0, queue=queue))
    controller = parts.controller(serve(lambda: exponential_ns(random, SERVICE_SECONDS)))
    poisson(parts, controller, arrivals, random)
    return parts, controller, PER_BATCH / arrivals


def waited(controller: TwinController) -> tuple[float, float]:
    """Waited seconds and hand-offs so far."""
    metrics = controller.queue.metrics
    return metrics.queue_duration.sum_ns / SECOND_NS, float(metrics.gets)


def waited_at(controller: TwinController, priority: int) -> tuple[float, float]:
    """The same at one priority."""
    counters = controller.queue.metrics.at(priority)
    return counters.queue_ns / SECOND_NS, float(counters.gets)


def had_to_wait(controller: TwinController) -> tuple[float, float]:
    """Hand-offs after a wait, and all."""
    durations = controller.queue.metrics.queue_duration
    return float(durations.count - durations.buckets[0]), float(durations.count)


def busy(parts: Parts, controller: TwinController) -> tuple[float, float]:
    """Worker time in reconciles that have ended, and all worker time."""
    worker_ns = parts.engine.now_ns * controller.loop.metrics.max_concurrent_reconciles
    return controller.loop.metrics.reconcile_time.sum_ns / SECOND_NS, worker_ns / SECOND_NS


@pytest.mark.parametrize(
    ("queue", "workers", "load"),
    [(QueueKind.PRIORITY, 4, 0.6), (QueueKind.CLASSIC, 1, 0.6)],
)
def test_queue_wait_is_that_of_mmc(queue: QueueKind, workers: int, load: float) -> None:
    """With random arrivals of new keys and exponential reconciles, both queues wait as M/M/c does."""
    parts, controller, length = mmc(workers, load, queue)
    [wait] = batches(parts, partial(waited, controller), number=BATCHES, seconds=length, warm_up=length)
    assert wait.agrees(mmc_wait_seconds(workers, load * workers / SERVICE_SECONDS, SERVICE_SECONDS), within=0.3)


def test_share_of_keys_that_wait_is_erlangs() -> None:
    """As many keys find all workers busy as Erlang's C formula says, and workers are busy as load says."""
    workers, load = 8, 0.7
    parts, controller, length = mmc(workers, load)
    [share, utilisation] = batches(
        parts,
        partial(had_to_wait, controller),
        partial(busy, parts, controller),
        number=BATCHES,
        seconds=length,
        warm_up=length,
    )
    assert share.agrees(erlang_c(workers, load * workers), within=0.2)
    assert utilisation.agrees(load, within=0.06)


def test_priorities_wait_as_cobham_says() -> None:
    """Keys at -100 wait for those at 0, which wait as if the others hardly existed; nobody is interrupted."""
    workers, arrivals, random = 3, (8.0, 11.0), Random(9)
    parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0))
    controller = parts.controller(serve(lambda: exponential_ns(random, SERVICE_SECONDS)))
    for rate, is_low in zip(arrivals, (False, True), strict=True):
        poisson(parts, controller, rate, random, at_low_priority=is_low)
    length = PER_BATCH / sum(arrivals)
    totals = [partial(waited_at, controller, priority) for priority in (0, -100)]
    waits = batches(parts, *totals, number=BATCHES, seconds=length, warm_up=length)
    expected = mmc_wait_by_class_seconds(workers, arrivals, SERVICE_SECONDS)
    assert all(found.agrees(exact, within=0.3) for found, exact in zip(waits, expected, strict=True)), (waits, expected)


def test_queue_wait_is_that_of_md1() -> None:
    """With reconciles of one length, one worker makes keys wait half as long as with exponential ones."""
    load = 0.6
    random, arrivals = Random(3), load / SERVICE_SECONDS
    parts = Parts(OperatorSettings(qps=-1.0))
    controller = parts.controller(serve(lambda: SERVICE_NS))
    poisson(parts, controller, arrivals, random)
    length = PER_BATCH / arrivals
    [wait] = batches(parts, partial(waited, controller), number=BATCHES, seconds=length, warm_up=length)
    assert wait.agrees(md1_wait_seconds(arrivals, SERVICE_SECONDS), within=0.25)


def test_a_delayed_key_is_not_overslept() -> None:
    """A key that is added with a delay while all workers are idle runs when its delay is over."""
    parts = Parts()
    controller = parts.controller(serve(lambda: SERVICE_NS))
    controller.add_after(2 * SECOND_NS, "key")
    parts.run(10.0)
    assert controller.loop.metrics.reconcile_time.count == 1
    assert controller.queue.metrics.queue_duration.sum_ns == 0


def test_an_estimate_that_says_nothing_is_refused() -> None:
    """An agreement within an error that would cover anything is a failure of the test itself."""
    with pytest.raises(AssertionError, match="too wide"):
        Estimate.of([1.0, 3.0]).agrees(2.0, within=0.1)
