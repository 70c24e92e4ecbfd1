"""The priority queue: add, get and done of 1 000 and of 1 000 000 keys, memory for each, and the real queue beside it.

``python -m benchmarks.queue [RUNS]``. Where `go` is on PATH, controller-runtime's queue does the same with 1 000 keys
in turn with ours, but counts no metrics; it is the module tests/conformance/go. One thread; keys are made beforehand.
Times are the processor's, which a busy machine changes least, except in that comparison: the real queue has goroutines.
"""

import gc
import re
import shutil
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.types import IMMEDIATE, AddOptions

FEW, MANY = 1_000, 1_000_000
KEYS_FOR_MEMORY = 100_000
RUNS = 3
ROUNDS = 100
"""How often the few keys go through a queue in one measurement."""

_SECOND = 1_000_000_000
_GO = Path(__file__).resolve().parent.parent / "tests" / "conformance" / "go"
_GO_KEY = re.compile(r"^BenchmarkAddGetDone/priority\S*\s.*?([0-9.]+) ns/key", re.MULTILINE)


class Kind(NamedTuple):
    """A way to add keys: `options[i % len(options)]` for the i-th; all are ready `delay_ns` later."""

    name: str
    options: tuple[AddOptions, ...]
    delay_ns: int = 0


KINDS = (
    Kind("one priority", (IMMEDIATE,)),
    Kind("five priorities", tuple(AddOptions(priority=priority) for priority in (0, -100, 10, 5, -5))),
    Kind("delays up to 1 s", tuple(AddOptions(after_ns=1 + 7919 * i % 997 * 1_000_000) for i in range(997)), _SECOND),
)
BACKED_OFF = Kind("all backed off", (AddOptions(rate_limited=True),))


def keys_of(number: int) -> list[str]:
    """Keys as a controller has them."""
    return [f"namespace-{i % 50}/cluster-{i}" for i in range(number)]


def fill(queue: PriorityQueue, keys: list[str], kind: Kind, now_ns: int) -> None:
    """Add all keys, in calls of their own."""
    add, options = queue.add, kind.options
    number = len(options)
    for i, key in enumerate(keys):
        add(now_ns, options[i % number], key)


def cycles_per_second(
    keys: list[str], kind: Kind, rounds: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Add, get and done of each key, over and over with one queue."""
    queue = PriorityQueue()
    get, done, handoffs = queue.get, queue.done, queue.handoffs
    gc.collect()
    begin = clock()
    now_ns = 0
    for _ in range(rounds):
        fill(queue, keys, kind, now_ns)
        now_ns += kind.delay_ns
        for _ in keys:
            get(now_ns, 0)
            key = handoffs.popleft().key
            if key is None:
                raise RuntimeError("the queue has ended")
            done(now_ns, key)
    return rounds * len(keys) / (clock() - begin)


def steady_cycles_per_second(keys: list[str], rounds: int) -> float:
    """Get, done and add of one key at a time, with all others ready."""
    queue = PriorityQueue()
    add, get, done, handoffs = queue.add, queue.get, queue.done, queue.handoffs
    fill(queue, keys, KINDS[0], 0)
    gc.collect()
    begin = time.process_time()
    for _ in range(rounds):
        get(0, 0)
        key = handoffs.popleft().key
        if key is None:
            raise RuntimeError("the queue has ended")
        done(0, key)
        add(0, IMMEDIATE, key)
    return rounds / (time.process_time() - begin)


def bytes_per_key(kind: Kind, *, is_ready: bool) -> float:
    """Memory of the queue for each pending key, without the keys themselves."""
    keys = keys_of(KEYS_FOR_MEMORY)
    queue = PriorityQueue()
    gc.collect()
    tracemalloc.start()
    fill(queue, keys, kind, 0)
    if is_ready:
        queue.tick(kind.delay_ns)
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return allocated / len(keys)


def go_cycles_per_second(go: str) -> float | None:
    """The real queue with 1 000 keys; None where its module cannot be built here."""
    command = [go, "test", "-run", "^$", "-bench", "AddGetDone/priority", "-benchtime", "0.5s"]
    done = subprocess.run(command, cwd=_GO, capture_output=True, text=True, check=False)
    found = _GO_KEY.search(done.stdout)
    return 1e9 / float(found[1]) if found else None


def print_times(runs: int) -> None:
    """Measure few and many keys in turn, and print medians and the ratio."""
    few, many = keys_of(FEW), keys_of(MANY)
    print(f"cycles of add, get and done a second of processor time, {runs} runs, medians")
    print(f"{'':28} {FEW:>12,} {MANY:>12,}  ratio")
    measured = {
        kind.name: (partial(cycles_per_second, few, kind, ROUNDS), partial(cycles_per_second, many, kind, 1))
        for kind in KINDS
    }
    measured["all others ready meanwhile"] = (
        partial(steady_cycles_per_second, few, FEW * ROUNDS),
        partial(steady_cycles_per_second, many, FEW * ROUNDS),
    )
    for name, (with_few, with_many) in measured.items():
        pairs = [(with_few(), with_many()) for _ in range(runs)]
        rates = [statistics.median(pair[column] for pair in pairs) for column in (0, 1)]
        ratio = statistics.median(small / large for small, large in pairs)
        print(f"{name:28} {rates[0]:12,.0f} {rates[1]:12,.0f}  {ratio:5.2f}")


def print_memory() -> None:
    """Print bytes for each pending key, ready and waiting."""
    print(f"\nbytes for each of {KEYS_FOR_MEMORY:,} pending keys, without the keys themselves")
    for kind in KINDS:
        print(f"{'ready, ' + kind.name:28} {bytes_per_key(kind, is_ready=True):6.0f}")
    for kind in (KINDS[2], BACKED_OFF):
        print(f"{'waiting, ' + kind.name:28} {bytes_per_key(kind, is_ready=False):6.0f}")


def print_go(runs: int) -> None:
    """Measure the real queue and ours in turn, and print medians and the ratio."""
    go = shutil.which("go")
    if go is None or go_cycles_per_second(go) is None:
        print("\nno comparison with controller-runtime's queue: no go that builds tests/conformance/go")
        return
    keys = keys_of(FEW)
    pairs = [
        (cycles_per_second(keys, KINDS[0], ROUNDS, time.perf_counter), go_cycles_per_second(go) or 0.0)
        for _ in range(runs)
    ]
    print(f"\ncycles a second with {FEW:,} keys, {runs} runs in turn, medians")
    for name, column in (("this queue", 0), ("controller-runtime's in Go", 1)):
        print(f"{name:28} {statistics.median(pair[column] for pair in pairs):12,.0f}")
    print(f"ratio to controller-runtime's: {statistics.median(ours / theirs for ours, theirs in pairs):.2f}")


def main() -> None:
    """Measure and print all."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print_times(runs)
    print_memory()
    print_go(runs)


if __name__ == "__main__":
    main()
