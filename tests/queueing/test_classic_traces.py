"""Traces of client-go's real queue, played on this one: what it hands out, its length, delays and metrics.

The format is described in tests/data/conformance/README.md.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.retrylimiters import default_classic_limiter
from advisor.queueing.types import AddOptions

FILE: Final = "classic-queue.jsonl.gz"


class Noting:
    """The default limiter, with notes of what it said."""

    def __init__(self) -> None:
        self.limiter = default_classic_limiter()
        self.delays_ns: list[int] = []

    def when_ns(self, now_ns: int, key: str) -> int:
        """Note the delay."""
        self.delays_ns.append(self.limiter.when_ns(now_ns, key))
        return self.delays_ns[-1]

    def forget(self, key: str) -> None:
        """Pass it on."""
        self.limiter.forget(key)

    def num_requeues(self, key: str) -> int:
        """Pass it on."""
        return self.limiter.num_requeues(key)


class Player:
    """Plays one trace; time passes only in its sleeps."""

    def __init__(self) -> None:
        self.limiter = Noting()
        self.queue = ClassicQueue(self.limiter)
        self.now_ns = 0

    def play(self, op: dict[str, Any]) -> None:
        """Apply one operation."""
        queue, now_ns, keys = self.queue, self.now_ns, op.get("keys", ())
        self.limiter.delays_ns.clear()
        match op["op"]:
            case "add":
                queue.add(now_ns, AddOptions(op.get("after_ns", 0), op.get("rate_limited", False)), *keys)
            case "add_after":
                queue.add_after(now_ns, op.get("after_ns", 0), keys[0])
            case "get":
                queue.get(now_ns, "worker")
            case "done":
                queue.done(now_ns, keys[0])
            case "forget":
                queue.forget(keys[0])
            case "num_requeues":
                assert queue.num_requeues(keys[0]) == op["requeues"]
            case "sleep":
                self.sleep(now_ns + op["sleep_ns"])
            case "shut_down":
                queue.shut_down(now_ns)
            case other:
                pytest.fail(f"unknown operation {other}")

    def sleep(self, until_ns: int) -> None:
        """Let time pass, with a tick whenever one is due."""
        while (deadline_ns := self.queue.next_deadline_ns()) is not None and deadline_ns <= until_ns:
            self.queue.tick(deadline_ns)
        self.now_ns = until_ns

    def handed_out(self) -> list[str]:
        """What waiters were told since last asked, in the words of the traces."""
        found = ["shut_down" if each.key is None else f"{each.key}@{each.priority}" for each in self.queue.handoffs]
        self.queue.handoffs.clear()
        return found

    def metrics(self) -> dict[str, float]:
        """The metrics under the names of the traces."""
        metrics = self.queue.metrics
        return {
            "adds_total": metrics.adds,
            "depth": sum(metrics.depth.values()),
            "queue_duration_seconds_count": metrics.queue_duration.count,
            "queue_duration_seconds_sum": metrics.queue_duration.sum_ns / 1e9,
            "retries_total": metrics.retries,
            "work_duration_seconds_count": metrics.work_duration.count,
            "work_duration_seconds_sum": metrics.work_duration.sum_ns / 1e9,
        }


def traces(data: Path) -> Iterator[dict[str, Any]]:
    """All traces."""
    with gzip.open(data / "conformance" / FILE, "rt") as file:
        for line in file:
            yield json.loads(line)


def differences(trace: dict[str, Any]) -> Iterator[str]:
    """Where the queue behaves otherwise than the real one did."""
    player = Player()
    for number, op in enumerate(trace["ops"]):
        player.play(op)
        found = (player.handed_out(), len(player.queue), player.limiter.delays_ns)
        real = (op.get("out", []), op["len"], op.get("delays_ns", []))
        if found != real:
            yield f"{trace['profile']} {trace['seed']}, step {number}, {op}: {found}"
            return
    if player.metrics() != pytest.approx(trace["metrics"], abs=1e-6):
        yield f"{trace['profile']} {trace['seed']}, metrics {trace['metrics']}: {player.metrics()}"


def test_behaves_as_the_real_queue_in_every_trace(data: Path) -> None:
    """After each operation the same keys are out, the length and the limiter's delays are the same; so are metrics."""
    found = [line for trace in traces(data) for line in differences(trace)]
    assert not found, f"{len(found)} traces differ, the first: {found[0]}"


def test_traces_cover_every_operation(data: Path) -> None:
    """Each kind of operation is in there often enough to mean something."""
    counts = Counter(op["op"] for trace in traces(data) for op in trace["ops"])
    assert set(counts) == {"add", "add_after", "done", "forget", "get", "num_requeues", "shut_down", "sleep"}
    assert min(counts.values()) >= 100
