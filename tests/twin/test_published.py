"""Tables that others have published of their operators, and what the twin makes of the same settings."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.queueing.types import AddOptions
from advisor.twin.parameters import OperatorSettings, QueueKind
from tests.twin.oracles.parts import SECOND_NS, Parts, serve
from tests.twin.plainoperator import PlainOperator

NEAR = 0.15

# Cases with a time for a burst that the facts do not carry into a model of the operator alone.
DRAIN_NOT_CARRIED = {
    "c013": "no number of items",
    "c015": "no number of items",
    "c037": "workers are nearly idle: the time is that of something else",
    "c038": "no number of items; the operator is nearly idle",
    "c041": "workers are nearly idle: the time is that of something else",
    "c055": "passes per item follow only roughly from the calls, of which a reconcile makes two or three",
    "c070": "workers are nearly idle: the time is that of something else",
    "c071": "bound by the limiter of the classic queue, which has a test of its own below",
    "c076": "nothing is known of the controller",
}


def cases(shared: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """All cases with their ids."""
    for path in sorted((shared / "cases").glob("*.facts.yaml")):
        yield path.name[:4], yaml.safe_load(path.read_text(encoding="utf-8"))


def figure(name: str, facts: dict[str, Any]) -> float:
    """One figure of a case, from a run of the twin under its facts."""
    operator = PlainOperator.of_facts(facts)
    demand = facts.get("demand", {})
    [controller] = facts["controllers"].values()
    long_enough = max(60.0, 4 * operator.workers * operator.calls / operator.qps)
    match name:
        case "drain_seconds":
            return operator.drain_seconds(demand["items_in_burst"])
        case "throughput_per_second":
            return operator.steady(long_enough).reconciles_per_second
        case "limiter_wait_seconds":
            return operator.steady(long_enough).limiter_wait_seconds
        case "needed_workers":
            keys = round(20 * controller["adds_per_second"] * operator.reconcile_seconds)
            every = keys / controller["adds_per_second"] - operator.reconcile_seconds
            open_load = replace(operator, workers=keys)
            return open_load.steady(4 * every, keys=keys, every_seconds=every).busy_workers / 0.7
        case "needed_qps":
            [objects] = demand["objects"].values()
            period = demand["resync_seconds"]
            unlimited = replace(operator, qps=-1.0)
            return unlimited.steady(4 * period, keys=objects, every_seconds=period).calls_per_second
        case _:
            raise ValueError(name)


class TestCases:
    def test_the_twin_repeats_the_figures_of_the_cases(self, shared: Path) -> None:
        """Every figure that careful people derived from a case's facts comes out of a run under these facts."""
        wrong, number = [], 0
        for identity, case in cases(shared):
            for wanted in case["expected"].get("figures", ()):
                number += 1
                found = figure(wanted["name"], case)
                if abs(found - wanted["value"]) > NEAR * wanted["value"]:
                    wrong.append((identity, wanted["name"], found, wanted["value"]))
        assert wrong == []
        assert number >= 6

    def test_bursts_drain_as_told(self, shared: Path) -> None:
        """Where a case tells how long a burst took, a run under its facts takes as long, or it is said why not."""
        told = {identity: case for identity, case in cases(shared) if "drain_seconds" in case.get("demand", {})}
        assert told.keys() >= DRAIN_NOT_CARRIED.keys()
        wrong = []
        for identity in sorted(told.keys() - DRAIN_NOT_CARRIED.keys()):
            demand = told[identity]["demand"]
            found = PlainOperator.of_facts(told[identity]).drain_seconds(demand["items_in_burst"])
            if found != pytest.approx(demand["drain_seconds"], rel=NEAR):
                wrong.append((identity, found, demand["drain_seconds"]))
        assert wrong == []

    def test_retries_in_a_classic_queue_come_at_ten_a_second(self, shared: Path) -> None:
        """A burst of rate-limited adds takes as long as the classic queue's own limiter lets it (case c071)."""
        [case] = [case for identity, case in cases(shared) if identity == "c071"]
        items, [told] = case["demand"]["items_in_burst"], case["controllers"].values()
        workers = told["max_concurrent_reconciles"]
        parts = Parts(OperatorSettings(concurrency=workers, qps=-1.0, queue=QueueKind.CLASSIC))
        controller = parts.controller(serve(lambda: round(told["reconcile_seconds_mean"] * SECOND_NS)))
        for number in range(items):
            controller.queue.add(0, AddOptions(rate_limited=True), str(number))
        controller.wake("one that comes at once")
        while controller.loop.metrics.reconcile_time.count <= items:
            parts.run(0.1)
        assert parts.engine.now_ns / SECOND_NS == pytest.approx(case["demand"]["drain_seconds"], rel=NEAR)


class TestShipwright:
    """shipwright-io/build#649: 1150 objects. One call for each and a default limiter of 20/30 are assumed."""

    OBJECTS = 1150
    # Time of an object, from the row with one worker.
    SECONDS = 204 / 1150

    @pytest.mark.parametrize(
        ("workers", "qps", "burst", "published"),
        [(1, 20.0, 30, 204.0), (5, 20.0, 30, 54.0), (10, 20.0, 30, 53.0), (50, 20.0, 30, 53.0), (10, 100.0, 100, 22.0)],
    )
    def test_the_twin_repeats_the_table(self, workers: int, qps: float, burst: int, published: float) -> None:
        """Workers help until the limiter binds, and then the limiter alone does."""
        operator = PlainOperator(workers, self.SECONDS, 1, self.SECONDS / 2, qps, burst)
        assert operator.drain_seconds(self.OBJECTS) == pytest.approx(published, rel=NEAR)


class TestKratix:
    """syntasso/kratix#782: 100 objects; a reconcile's calls are not told, and reconciles per object rise from 11 to 18
    with the workers. Two rows with a large limiter had a filter on that the others had not.
    """

    OBJECTS = 100
    ROWS = ((1, 20.0, 30, 11, 179.0), (1, 200.0, 400, 11, 125.0), (20, 20.0, 30, 18, 100.0), (20, 200.0, 400, 18, 40.0))

    def test_one_bucket_does_not_explain_the_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Time and calls of a reconcile that explain the rows with one worker make the limited row with twenty take
        far longer than published: calls go to several kinds, each with a bucket of its own, or fewer calls are made.
        """
        seconds = 125.0 / (self.OBJECTS * 11)
        calls = round((179.0 * 20.0 + 30) / (self.OBJECTS * 11))
        found = []
        for workers, qps, burst, passes, _ in self.ROWS:
            operator = PlainOperator(workers, seconds, calls, seconds / calls, qps, burst, passes)
            found.append(operator.drain_seconds(self.OBJECTS))
        with capsys.disabled():
            for row, drain_seconds in zip(self.ROWS, found, strict=True):
                text = f"{row[0]} workers, {row[1]:.0f}/{row[2]}: {drain_seconds:.0f} s, published {row[4]:.0f} s"
                sys.stdout.write(f"\nkratix, {text}")
            sys.stdout.write("\n")
        assert found[:2] == pytest.approx([179.0, 125.0], rel=NEAR)
        assert found[2] > 2 * self.ROWS[2][4]
        assert found[3] < self.ROWS[3][4]
