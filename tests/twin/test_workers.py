from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest

from advisor.queueing.outcome import Outcome
from advisor.queueing.tokenbucket import ClientBuckets
from advisor.twin.client import Client, Request
from advisor.twin.engine import Engine
from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.workers import FAILED, GONE, Reconcile, TwinController, Workshop
from advisor.twin.world import CpuQuota, ServiceLine
from tests.twin.worlds import SETTINGS, world

if TYPE_CHECKING:
    from collections.abc import Iterator

MS = 1_000_000
QUEUES = pytest.mark.parametrize("queue", list(QueueKind))


class Bench:
    """One controller whose reconciles do what `outcomes` say, with one request each."""

    def __init__(
        self, settings: OperatorSettings = SETTINGS, *, cores: float | None = None, reconcile_ms: int = 1
    ) -> None:
        self.engine = Engine()
        cpu = CpuQuota(cores)
        self.client = Client(self.engine, ServiceLine(), cpu, world(server_work_seconds=0.001), Random(1))
        self.client.start(ClientBuckets(settings.qps, settings.burst))
        self.request: Request | int = self.client.request("POST", "Pod")
        self.outcomes: Iterator[Outcome] = iter(())
        self.runs: list[tuple[int, str]] = []
        shop = Workshop(self.engine, self.client, cpu, settings, reconcile_ms * MS)
        self.controller = TwinController("bench", shop, self.program)

    def program(self, key: str) -> Reconcile:
        """One request, then the next outcome."""
        self.runs.append((self.engine.now_ns // MS, key))
        yield self.request
        return next(self.outcomes, GONE)

    def wake(self, *keys: str) -> None:
        """Something happens to keys."""
        for key in keys:
            self.controller.wake(key)

    def run(self, until_ms: int) -> list[tuple[int, str]]:
        """The runs so far, by the millisecond at which their cache was read."""
        self.engine.run(until_ms * MS)
        return self.runs


@QUEUES
def test_one_after_another(queue: QueueKind) -> None:
    """One worker takes keys in order, each for its CPU time and its request."""
    bench = Bench(replace(SETTINGS, queue=queue))
    bench.controller.start()
    bench.wake("a", "b")
    assert bench.run(100) == [(1, "a"), (13, "b")]
    assert bench.controller.api_ns == 2 * 11 * MS
    assert bench.controller.cpu_ns == 2 * MS


@QUEUES
def test_workers_run_side_by_side_but_never_one_key_twice(queue: QueueKind) -> None:
    """A key that is woken while it runs, runs again afterwards, and not beside."""
    bench = Bench(replace(SETTINGS, queue=queue, concurrency=3))
    bench.controller.start()
    bench.wake("a", "b")
    bench.run(5)
    bench.wake("a", "a")
    assert bench.run(100) == [(1, "a"), (1, "b"), (13, "a")]


@QUEUES
def test_requeue_after(queue: QueueKind) -> None:
    """A key comes again when its time is over, to the nanosecond."""
    bench = Bench(replace(SETTINGS, queue=queue))
    bench.outcomes = iter((Outcome(requeue_after_ns=50 * MS),))
    bench.controller.start()
    bench.wake("a")
    assert bench.run(1000) == [(1, "a"), (12 + 50 + 1, "a")]


@QUEUES
def test_backoff(queue: QueueKind) -> None:
    """Failures wait 5 ms, 10 ms, 20 ms and so on; a success forgets them."""
    bench = Bench(replace(SETTINGS, queue=queue))
    bench.outcomes = iter((FAILED, FAILED, FAILED, GONE, FAILED))
    bench.controller.start()
    bench.wake("a")
    bench.run(400)
    bench.wake("a")
    starts = [at for at, _ in bench.run(1000)]
    assert [later - former - 12 for former, later in pairwise(starts)][:3] == [5, 10, 20]
    assert starts[5] - starts[4] - 12 == 5


def test_overall_bucket_of_the_classic_queue() -> None:
    """On the classic queue all failures of a controller share ten retries a second, after a hundred."""
    counts = {}
    for queue in QueueKind:
        bench = Bench(replace(SETTINGS, queue=queue, concurrency=50))
        bench.outcomes = iter([FAILED] * 10_000)
        bench.controller.start()
        bench.wake(*(f"k{number}" for number in range(100)))
        counts[queue] = len(bench.run(10_000))
    assert counts[QueueKind.CLASSIC] == pytest.approx(100 + 100 + 10 * 10, abs=10)
    assert counts[QueueKind.PRIORITY] > 900


def test_external_calls() -> None:
    """A number of nanoseconds holds the worker without the API server."""
    bench = Bench()
    bench.request = 70 * MS
    bench.controller.start()
    bench.wake("a", "b")
    assert bench.run(1000) == [(1, "a"), (72, "b")]
    assert bench.controller.external_ns == 140 * MS
    assert bench.client.requests[0].counts.attempts == 0


def test_a_quota_makes_reconciles_wait() -> None:
    """Reconciles wait for their share of CPU time, and hold their workers meanwhile."""
    bench = Bench(replace(SETTINGS, concurrency=4), cores=0.1, reconcile_ms=10)
    bench.controller.start()
    bench.wake("a", "b", "c")
    assert [at for at, _ in bench.run(1000)] == [10, 110, 210]
    assert bench.controller.cpu_ns == 330 * MS


def test_stopped() -> None:
    """A controller that has ended takes no key and forgets what it did not finish."""
    bench = Bench()
    bench.controller.start()
    bench.wake("a", "b")
    bench.run(5)
    bench.controller.stop()
    bench.engine.drop((bench.controller, bench.client))
    bench.wake("c")
    assert bench.run(1000) == [(1, "a")]
    assert bench.controller.lost_ns == 5 * MS
    assert bench.controller.loop.metrics.active_workers == 0


def test_first_list_goes_behind() -> None:
    """Keys of the first list go behind everything that happens after it."""
    bench = Bench()
    bench.controller.add_listed(["a", "b", "c"])
    bench.controller.start()
    bench.wake("d")
    assert [key for _, key in bench.run(1000)] == ["a", "d", "b", "c"]


def test_timers() -> None:
    """A key with a timer comes when it is over; one that is sooner is not overslept."""
    bench = Bench()
    bench.controller.start()
    bench.controller.add_after(300 * MS, "late")
    bench.controller.add_after(100 * MS, "soon")
    assert bench.run(1000) == [(101, "soon"), (301, "late")]


class TestReading:
    def shop(self) -> Workshop:
        """Reconciles of ten milliseconds that read the cache after the first."""
        engine, cpu = Engine(), CpuQuota(None)
        client = Client(engine, ServiceLine(), cpu, world(), Random(1))
        client.start(ClientBuckets(SETTINGS.qps, SETTINGS.burst))
        return Workshop(engine, client, cpu, SETTINGS, 10 * MS, 1 * MS)

    def test_what_is_read_first_is_acted_on_later(self) -> None:
        """A program sees the cache as it was when it was read, and asks for nothing before its CPU time ends."""
        seen: list[tuple[int, str]] = []
        shop, cache = self.shop(), ["old"]

        def program(key: str) -> Reconcile:
            seen.append((shop.engine.now_ns, cache[-1]))
            yield 5 * MS
            seen.append((shop.engine.now_ns, key))
            return GONE

        controller = TwinController("a", shop, program)
        controller.start()
        controller.wake("k")
        shop.engine.at(2 * MS, cache.append, "new")
        shop.engine.run(1000 * MS)
        assert seen == [(1 * MS, "old"), (15 * MS, "k")]
        assert (controller.cpu_ns, controller.external_ns) == (10 * MS, 5 * MS)

    def test_a_program_that_wants_nothing_ends_with_its_cpu_time(self) -> None:
        """It takes as long as one that reads late."""
        shop = self.shop()

        def program(_key: str) -> Reconcile:
            yield from ()
            return GONE

        controller = TwinController("a", shop, program)
        controller.start()
        controller.wake("k")
        shop.engine.run(1000 * MS)
        assert controller.loop.metrics.reconcile_time.sum_ns == 10 * MS
