"""Plays recorded operations of a real work queue on one of ours and tells the first difference.

The format of the files is described in tests/conformance/go/README.md.
"""

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NotRequired, Protocol, TypedDict, runtime_checkable

from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.types import NANOSECONDS_PER_SECOND, AddOptions, RetryLimiter, WorkQueue

__all__ = ["RecordingLimiter", "Trace", "first_difference", "read_traces"]

TOLD_TO_STOP: Final = "shut_down"
"""What a waiter that is told of the shutdown receives, as traces spell it."""


class Trace(TypedDict):
    """One sequence; `ops` hold what was done and what was seen once the queue had settled.

    Attributes:
        profile: what kind of sequence it is; absent in older traces.
        seed: what it was drawn with, which names it within its file.
        ops: operations in order.
        metrics: values at the end by name, with the priority in braces.
    """

    profile: NotRequired[str]
    seed: int
    ops: list[dict[str, Any]]
    metrics: dict[str, float]


@runtime_checkable
class _HasAddAfter(Protocol):
    """A queue whose delayed add is not an add with a delay."""

    def add_after(self, now_ns: int, delay_ns: int, key: str) -> None: ...


class RecordingLimiter:
    """Passes every question on and keeps the answers."""

    def __init__(self, limiter: RetryLimiter) -> None:
        self._delays_ns: list[int] = []
        self._limiter = limiter

    def when_ns(self, now_ns: int, key: str) -> int:
        """Ask, and keep the answer."""
        delay_ns = self._limiter.when_ns(now_ns, key)
        self._delays_ns.append(delay_ns)
        return delay_ns

    def take(self) -> list[int]:
        """The answers since the last call."""
        taken, self._delays_ns = self._delays_ns, []
        return taken

    def forget(self, key: str) -> None:
        """Pass on."""
        self._limiter.forget(key)

    def num_requeues(self, key: str) -> int:
        """Pass on."""
        return self._limiter.num_requeues(key)


def read_traces(path: Path) -> Iterator[Trace]:
    """The sequences of one file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def first_difference(
    queue: WorkQueue,
    trace: Trace,
    *,
    limiter: RecordingLimiter | None = None,
    key_by_key: bool = False,
    ordered: bool = True,
) -> str | None:
    """Play a trace; where the queue first did something else, or None.

    Args:
        queue: a new queue.
        trace: the sequence.
        limiter: what the queue asks for delays, where the trace tells the answers of the real one.
        key_by_key: the real queue had settled after each key of an add, not only after the last.
        ordered: the trace tells the order of hand-offs after one operation; otherwise it has them sorted.
    """
    player = _Player(queue, key_by_key=key_by_key)
    for number, op in enumerate(trace["ops"]):
        requeues = player.do(op)
        out = player.take()
        found: dict[str, object] = {"out": out if ordered else sorted(out), "len": len(queue)}
        wanted: dict[str, object] = {"out": op.get("out", []), "len": op["len"]}
        if limiter is not None:
            found["delays_ns"], wanted["delays_ns"] = limiter.take(), op.get("delays_ns", [])
        if "requeues" in op:
            found["requeues"], wanted["requeues"] = requeues, op["requeues"]
        if found != wanted:
            return f"seed {trace['seed']}, operation {number}, {op}: {found}"
    return _metrics_difference(queue.metrics, trace)


class _Player:
    """Does the operations of one trace, in its own time."""

    def __init__(self, queue: WorkQueue, *, key_by_key: bool) -> None:
        self.now_ns = 0
        self._queue = queue
        self._key_by_key = key_by_key
        self._waiters = 0

    def do(self, op: dict[str, Any]) -> int | None:
        """Do one operation; the answer to a question for the number of requeues."""
        match op["op"]:
            case "add":
                self._add(op)
            case "add_after":
                self._add_after(op["keys"][0], op.get("after_ns", 0))
            case "get":
                self._waiters += 1
                self._queue.get(self.now_ns, self._waiters)
            case "done":
                self._queue.done(self.now_ns, op["keys"][0])
            case "forget":
                self._queue.forget(op["keys"][0])
            case "num_requeues":
                return self._queue.num_requeues(op["keys"][0])
            case "sleep":
                self._sleep(op["sleep_ns"])
            case "shut_down":
                self._queue.shut_down(self.now_ns)
            case other:
                raise ValueError(f"no operation {other}")
        return None

    def take(self) -> list[str]:
        """What has been handed out since the last call."""
        handoffs = self._queue.handoffs
        taken = [TOLD_TO_STOP if out.key is None else f"{out.key}@{out.priority}" for out in handoffs]
        handoffs.clear()
        return taken

    def _add(self, op: dict[str, Any]) -> None:
        options = AddOptions(op.get("after_ns", 0), op.get("rate_limited", False), op.get("priority"))
        calls = [[key] for key in op["keys"]] if self._key_by_key else [op["keys"]]
        for keys in calls:
            self._queue.add(self.now_ns, options, *keys)

    def _add_after(self, key: str, delay_ns: int) -> None:
        if isinstance(self._queue, _HasAddAfter):
            self._queue.add_after(self.now_ns, delay_ns, key)
        else:
            self._queue.add(self.now_ns, AddOptions(after_ns=delay_ns), key)

    def _sleep(self, duration_ns: int) -> None:
        end_ns = self.now_ns + duration_ns
        while (due_ns := self._queue.next_deadline_ns()) is not None and due_ns <= end_ns:
            self._queue.tick(due_ns)
        self.now_ns = end_ns


def _metrics_difference(metrics: QueueMetrics, trace: Trace) -> str | None:
    """All values at the end; sums of seconds are floating-point numbers in the real queue."""
    found: dict[str, float] = {
        "adds_total": metrics.adds,
        "retries_total": metrics.retries,
        "queue_duration_seconds_count": metrics.queue_duration.count,
        "queue_duration_seconds_sum": metrics.queue_duration.sum_ns / NANOSECONDS_PER_SECOND,
        "work_duration_seconds_count": metrics.work_duration.count,
        "work_duration_seconds_sum": metrics.work_duration.sum_ns / NANOSECONDS_PER_SECOND,
    }
    found.update((f"depth{{{label}}}" if label != "" else "depth", depth) for label, depth in metrics.depth.items())
    wanted = trace["metrics"]
    if "depth" in wanted:
        # A queue without priorities has this series from the start.
        found.setdefault("depth", 0)
    if found.keys() == wanted.keys() and all(
        math.isclose(value, wanted[name], rel_tol=1e-9, abs_tol=1e-9) for name, value in found.items()
    ):
        return None
    return f"seed {trace['seed']}: metrics {found}, not {wanted}"
