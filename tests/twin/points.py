"""Operating points made by the twin itself: what is measured is known to be what the parameters say."""

import random

from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.point import Measured, OperatingPoint
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Workload

TRUTH = WorldParameters(
    request_seconds={"POST": 0.05, "PUT": 0.05, "PATCH": 0.05, "DELETE": 0.05},
    server_work_seconds=0.006,
    pod_work_seconds=0.006,
    pod_start_seconds=0.004,
    pod_starters=6,
    watch_lag_seconds=0.003,
    watch_share=0.3,
    reconcile_seconds=0.006,
)
BURST = Workload(arrivals=tuple(Arrival(0.02 * index, f"team/rc-{index:02d}", 6) for index in range(30)))


def result_of(settings: OperatorSettings, workload: Workload = BURST, world: WorldParameters = TRUTH) -> RunResult:
    """What the twin does with a load."""
    return simulate(workload, settings, world, random.Random(11))


def measured(result: RunResult) -> Measured:
    """What a perfect observer would have measured of a run."""
    main = result.controller("raycluster")
    assert main is not None
    by_verb: dict[str, list[float]] = {}
    for one in result.requests:
        seconds, count = by_verb.setdefault(one.verb, [0.0, 0.0])
        by_verb[one.verb] = [seconds + one.api_seconds, count + one.requests]
    return Measured(
        makespan_seconds=result.makespan_seconds,
        ready_seconds_mean=result.ready_seconds_mean,
        queue_wait_seconds_mean=main.queue_wait_seconds_mean,
        limiter_wait_seconds_mean=result.limiter_wait_seconds_mean,
        busy_worker_seconds=result.busy_worker_seconds("raycluster"),
        reconciles=float(sum(main.reconciles.values())),
        api_seconds_by_verb=tuple((verb, seconds / count) for verb, (seconds, count) in by_verb.items()),
        write_seconds=result.request_seconds_mean,
        conflict_ratio=0.0,
        conflicts=float(result.conflicts),
        throttled_ratio=0.0,
        pod_bound_seconds=TRUTH.pod_work_seconds + TRUTH.watch_lag_seconds,
        pod_running_seconds=result.pod_running_seconds_mean,
        cpu_seconds=result.cpu_seconds,
    )


def point(settings: OperatorSettings, workload: Workload = BURST, name: str = "") -> OperatingPoint:
    """An operating point of the twin under some settings."""
    result = result_of(settings, workload)
    return OperatingPoint(
        name=name or f"c{settings.concurrency}-q{settings.qps:g}",
        settings=settings,
        workload=workload,
        measured=measured(result),
        look_on_seconds=workload.tail_seconds,
    )
