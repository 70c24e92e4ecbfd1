"""A grid of seven concurrencies by five QPS over one hour of load: all cores against one, and what a cell costs.

``python -m benchmarks.twin_grid [RUNS]``. The load: a hundred RayClusters of four workers stand and come round every
300 s, and a hundred more are created over the hour. No draws: one run a cell, with the settings in force as one more.
"""

import statistics
import sys
import time
from random import Random

from advisor.engines.forecasts import run_forecast
from advisor.engines.local import LocalEngine, cores
from advisor.twin.calibrate import Calibration, Parameter
from advisor.twin.grid import GridAxes, grid_tasks
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.predict import Forecast, ForecastTask, forecast
from advisor.twin.workload import Arrival, Existing, Workload

RUNS = 5
HOUR = 3600.0
AXES = GridAxes((1, 2, 4, 8, 16, 32, 64), (10.0, 20.0, 50.0, 100.0, -1.0))
WORLD = WorldParameters(pod_start_seconds=2.0)


def hour_of_load() -> Workload:
    """A hundred clusters that stand, and a hundred that are created over the hour."""
    random = Random(1)  # noqa: S311 - nothing secret
    times = sorted(random.random() * 0.98 * HOUR for _ in range(100))
    return Workload(
        existing=tuple(Existing(f"standing/cluster-{index}", 4) for index in range(100)),
        arrivals=tuple(Arrival(at, f"new/cluster-{index}", 4) for index, at in enumerate(times)),
        duration_seconds=HOUR,
    )


def stated() -> Calibration:
    """A world without bounds."""
    values = {"request_seconds": WORLD.request_seconds["POST"], "server_work_seconds": WORLD.server_work_seconds}
    parameters = tuple(Parameter(name, value, value, value, "stated") for name, value in values.items())
    return Calibration(WORLD, parameters, (), 1, 64, 0.0, ())


def seconds_of(engine: LocalEngine, tasks: list[ForecastTask]) -> tuple[float, dict[int, Forecast]]:
    """How long the grid takes, and what it comes to."""
    begin = time.perf_counter()
    found = dict(engine.run(run_forecast, tasks))
    return time.perf_counter() - begin, found


def main() -> None:
    """Measure both in turn and print medians and ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    tasks = grid_tasks(AXES, hour_of_load(), OperatorSettings(), stated(), draws=0)
    pairs = []
    for _ in range(runs):
        parallel, many = seconds_of(LocalEngine(), tasks)
        serial, one = seconds_of(LocalEngine(1), tasks)
        if many != one:
            raise RuntimeError("the engines differ")
        pairs.append((parallel, serial))
    begin = time.process_time()
    result = forecast(tasks[0], Random).result
    cell = time.process_time() - begin
    requests = sum(each.requests for each in result.requests)
    print(f"{len(tasks)} cells of one hour, {cores()} cores, {runs} runs, medians; results equal bit for bit")
    print(f"all cores {statistics.median(pair[0] for pair in pairs):7.2f} s")
    print(f"one core  {statistics.median(pair[1] for pair in pairs):7.2f} s")
    print(f"ratio of one core to all: {statistics.median(serial / parallel for parallel, serial in pairs):.2f}")
    print(f"one cell: {cell * 1e3:.0f} ms of CPU, {requests:,} requests, {result.events:,} events")
    print(f"virtual to real time on one core: {HOUR / cell:,.0f}")


if __name__ == "__main__":
    main()
