"""Forecasts that are over in no time, and tasks that go wrong in every way."""

from dataclasses import replace
from typing import Final

from advisor.twin.calibrate import Calibration, Parameter
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.predict import ForecastTask
from advisor.twin.workload import Arrival, Workload

WORLD: Final = WorldParameters()
CALIBRATION: Final = Calibration(
    world=WORLD,
    parameters=(
        Parameter("request_seconds", 0.02, 0.015, 0.03, "made up"),
        Parameter("server_work_seconds", 0.001, 0.0005, 0.002, "made up"),
        Parameter("reconcile_seconds", 0.002, 0.001, 0.004, "made up"),
        Parameter("pod_starters", 1000.0, 4.0, 1000.0, "made up"),
        Parameter("watch_share", 1.0, 0.5, 1.0, "made up"),
    ),
    points=("made-up",),
    fewest_workers=1,
    most_workers=4,
    look_on_seconds=0.0,
    notes=(),
)
SETTINGS: Final = OperatorSettings()


def burst(clusters: int = 4) -> Workload:
    """Clusters of two workers, all at once."""
    return Workload(arrivals=tuple(Arrival(0.0, f"ns/cluster-{index}", 2) for index in range(clusters)))


def tasks(count: int = 6, *, draws: int = 1, workload: Workload | None = None) -> list[ForecastTask]:
    """Tasks that differ by their workers."""
    load = burst() if workload is None else workload
    return [
        ForecastTask(load, replace(SETTINGS, concurrency=1 + index), CALIBRATION, draws, seed=7)
        for index in range(count)
    ]


def broken() -> ForecastTask:
    """A task that cannot be run."""
    return ForecastTask(Workload(arrivals=("no arrival",)), SETTINGS, CALIBRATION, 0)  # type: ignore[arg-type]


SUM: Final = "sum(range(10))"
RAISES: Final = "int('seven')"
DIES: Final = "__import__('os').kill(__import__('os').getpid(), 9)"
HANGS: Final = "__import__('time').sleep(60)"
"""Tasks of the function ``eval``, which every process has."""
