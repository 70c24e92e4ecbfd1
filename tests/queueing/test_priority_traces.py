"""Sequences that the real priority queue has been through, played on ours.

In both files the queue is controller-runtime's own, of v0.24.1, run in virtual time.
"""

from collections import Counter
from pathlib import Path

from advisor.queueing.priorityqueue import PriorityQueue
from tests.queueing.traces import Trace, first_difference, read_traces

FILE = Path("conformance") / "priority-queue.jsonl.gz"


def difference(trace: Trace, *, ordered: bool = True) -> str | None:
    """The first difference of a trace to a new queue with the limiter a controller gives it."""
    return first_difference(PriorityQueue(), trace, ordered=ordered)


def test_traces_of_all_profiles_are_equal(data: Path) -> None:
    """Hand-offs in order, length and requeue counts after each operation, and metrics at the end, are the real ones."""
    traces = list(read_traces(data / FILE))
    assert len(traces) >= 1500
    assert [text for trace in traces if (text := difference(trace)) is not None] == []


def test_traces_cover_what_the_queue_can_do(data: Path) -> None:
    """Every operation, option and answer occurs often enough to mean something."""
    seen: Counter[str] = Counter()
    for trace in read_traces(data / FILE):
        seen.update(label for label in trace["metrics"] if label.startswith("depth{e"))
        for op in trace["ops"]:
            seen[op["op"]] += 1
            seen.update(name for name in op if name not in {"op", "keys", "len"})
            seen["several at once"] += len(op.get("out", ())) > 1
            seen["told to stop"] += "shut_down" in op.get("out", ())
    operations = ("add", "add_after", "get", "done", "forget", "num_requeues", "sleep", "shut_down")
    answers = ("several at once", "told to stop")
    options = ("after_ns", "rate_limited", "priority", "requeues", "out")
    for name in (*operations, *options, *answers):
        assert seen[name] >= 50, name
    assert seen["depth{exceeded_cardinality_limit}"] >= 5


def test_traces_beside_the_repository_are_equal(shared: Path) -> None:
    """The same for older traces, whose hand-offs after one operation are sorted."""
    traces = list(read_traces(shared / FILE))
    assert len(traces) >= 400
    assert [text for trace in traces if (text := difference(trace, ordered=False)) is not None] == []


def test_a_trace_that_differs_is_told(data: Path) -> None:
    """The comparison sees another length, another hand-off, another count of requeues and another metric."""
    for name, change in (("len", 99), ("out", ["k0@77"]), ("requeues", 99)):
        trace = next(each for each in read_traces(data / FILE) if any(name in op for op in each["ops"]))
        next(op for op in trace["ops"] if name in op)[name] = change
        assert f"'{name}': " in (difference(trace) or "")
    trace = next(read_traces(data / FILE))
    trace["metrics"]["adds_total"] += 1
    assert "metrics" in (difference(trace) or "")
