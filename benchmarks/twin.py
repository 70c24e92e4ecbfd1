"""The twin: simulated API requests a second, against a SimPy model of the same operator; growth with clusters; memory.

``python -m benchmarks.twin [RUNS]``. The load is one cell of a what-if grid: 50 RayClusters of 8 workers, created at
once, under 4 workers and QPS 100. The SimPy model is the one that tests compare the twin with; both draw the time of
each request at random. One thread; collections of garbage count.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
from random import Random
from typing import NamedTuple

from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.simulation import Simulation
from advisor.twin.workload import Arrival, Workload
from tests.twin.oracles.simpyoperator import SimpyOperator

CLUSTERS, WORKERS = 50, 8
SIZES = (100, 1_000, 10_000)
RUNS = 5
ROUNDS = 10
"""How often the load is simulated in one measurement."""

SETTINGS = OperatorSettings(concurrency=4, qps=100.0, burst=200)
WORLD = WorldParameters(request_spread=(0.2, 0.6, 0.9, 1.3, 2.0), watch_lag_seconds=0.0013)

_MEMORY = """
import json, resource
from benchmarks.twin import simulate_once
measured = simulate_once({clusters})
print(json.dumps([*measured, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


class Measured(NamedTuple):
    """What a simulation took, and how much of everything was in it."""

    seconds: float
    requests: int
    events: int
    reconciles: int


def simulate_once(clusters: int, seed: int = 1) -> Measured:
    """Simulate the load with so many clusters."""
    workload = Workload(arrivals=tuple(Arrival(0.0, f"ns/c{i}", WORKERS) for i in range(clusters)))
    gc.collect()
    begin = time.process_time()
    simulation = Simulation(workload, SETTINGS, WORLD, Random(seed))  # noqa: S311 - not for secrets
    simulation.advance(None)
    result = simulation.result()
    seconds = time.process_time() - begin
    if len(result.ready_seconds) != clusters:
        raise RuntimeError(f"{len(result.ready_seconds)} of {clusters} clusters got ready")
    reconciles = sum(sum(one.reconciles.values()) for one in result.controllers)
    return Measured(seconds, result.server_requests, result.events, reconciles)


def simpy_once(clusters: int, seed: int = 1) -> Measured:
    """Simulate the same in SimPy."""
    gc.collect()
    begin = time.process_time()
    operator = SimpyOperator(clusters, WORKERS, SETTINGS, WORLD, Random(seed))  # noqa: S311 - not for secrets
    operator.run()
    seconds = time.process_time() - begin
    return Measured(seconds, operator.server_requests, 0, operator.reconciles)


def together(parts: list[Measured]) -> Measured:
    """Several simulations as one measurement."""
    return Measured(
        seconds=sum(one.seconds for one in parts),
        requests=sum(one.requests for one in parts),
        events=sum(one.events for one in parts),
        reconciles=sum(one.reconciles for one in parts),
    )


def print_speed(runs: int) -> None:
    """Measure both models in turn and print requests a second, and the ratio."""
    pairs = []
    for _ in range(runs):
        ours = together([simulate_once(CLUSTERS, seed) for seed in range(ROUNDS)])
        pairs.append((ours, together([simpy_once(CLUSTERS, seed) for seed in range(ROUNDS)])))
    print(f"{CLUSTERS} clusters of {WORKERS} workers at once, {runs} runs of {ROUNDS} simulations each, on one core")
    for name, column in (("API requests", "requests"), ("events", "events"), ("reconciles", "reconciles")):
        rates = [getattr(ours, column) / ours.seconds for ours, _ in pairs]
        print(f"{name + ' a second':28} best {max(rates):10,.0f}  median {statistics.median(rates):10,.0f}")
    rates = [theirs.requests / theirs.seconds for _, theirs in pairs]
    print(f"{'SimPy: API requests a second':28} best {max(rates):10,.0f}  median {statistics.median(rates):10,.0f}")
    ratio = statistics.median(
        ours.requests / ours.seconds / (theirs.requests / theirs.seconds) for ours, theirs in pairs
    )
    print(f"ratio to SimPy: {ratio:.1f}")
    ours, theirs = pairs[0]
    print(f"requests in one simulation: {ours.requests / ROUNDS:,.0f}, in SimPy {theirs.requests / ROUNDS:,.0f}")


def print_growth(runs: int) -> None:
    """Measure small and large loads, each in a process of its own, and print time for each cluster and peak memory."""
    print(f"\nclusters of {WORKERS} workers at once, processes of their own, {runs} runs in turn, medians")
    rows: dict[int, list[list[float]]] = {clusters: [] for clusters in SIZES}
    for _ in range(runs):
        for clusters, measured in rows.items():
            command = [sys.executable, "-c", _MEMORY.format(clusters=clusters)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            measured.append(json.loads(done.stdout))
    smallest = statistics.median(one[0] for one in rows[SIZES[0]]) / SIZES[0]
    for clusters, measured in rows.items():
        seconds = statistics.median(one[0] for one in measured) / clusters
        mebibytes = statistics.median(one[-1] for one in measured)
        print(
            f"{clusters:8,} clusters {1000 * seconds:6.2f} ms a cluster  ratio {seconds / smallest:4.2f}  "
            f"peak memory {mebibytes:6.1f} MiB"
        )


def main() -> None:
    """Measure and print all."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print_speed(runs)
    print_growth(max(1, runs // 2))


if __name__ == "__main__":
    main()
