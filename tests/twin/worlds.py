"""Worlds, loads and short ways to run them that the twin's tests share."""

from random import Random

from advisor.twin.parameters import Faults, OperatorSettings, WorldParameters
from advisor.twin.result import ControllerResult, RunResult
from advisor.twin.simulation import Simulation, simulate
from advisor.twin.workload import Arrival, Existing, Workload

__all__ = ["SETTINGS", "arrivals", "attempts", "controller", "existing", "requests", "run", "started", "world"]

SETTINGS = OperatorSettings(qps=-1.0, burst=1)
"""One worker and no limiter."""


def world(
    *,
    request_seconds: float = 0.01,
    put_seconds: float | None = None,
    server_work_seconds: float = 0.0001,
    reconcile_seconds: float = 0.001,
    faults: Faults | None = None,
) -> WorldParameters:
    """A quick world without contention; every request takes the same time."""
    put = request_seconds if put_seconds is None else put_seconds
    return WorldParameters(
        request_seconds={"POST": request_seconds, "PUT": put, "PATCH": request_seconds, "DELETE": request_seconds},
        server_work_seconds=server_work_seconds,
        pod_work_seconds=0.0001,
        reconcile_seconds=reconcile_seconds,
        faults=faults or Faults(),
    )


def arrivals(number: int, workers: int, *, kind: str = "RayCluster", every_seconds: float = 0.0) -> tuple[Arrival, ...]:
    """Clusters or what brings them, in three namespaces in turn."""
    return tuple(
        Arrival(place * every_seconds, f"team-{'abc'[place % 3]}/{place:03d}", workers, kind=kind)
        for place in range(number)
    )


def existing(number: int, workers: int, *, kind: str = "RayCluster") -> tuple[Existing, ...]:
    """Objects that are there before the run, in one namespace."""
    return tuple(Existing(f"old/{place:03d}", workers, kind=kind) for place in range(number))


def run(
    workload: Workload, settings: OperatorSettings = SETTINGS, parameters: WorldParameters | None = None, seed: int = 1
) -> RunResult:
    """One run to its end."""
    return simulate(workload, settings, parameters or world(), Random(seed))


def started(
    workload: Workload, settings: OperatorSettings = SETTINGS, parameters: WorldParameters | None = None
) -> Simulation:
    """A run that can be advanced step by step."""
    return Simulation(workload, settings, parameters or world(), Random(1))


def controller(result: RunResult, name: str = "raycluster") -> ControllerResult:
    """The result of one controller, which must have run."""
    one = result.controller(name)
    assert one is not None
    return one


def requests(result: RunResult, verb: str, kind: str) -> int:
    """How many requests of a verb on a kind were answered."""
    return sum(one.requests for one in result.requests if (one.verb, one.kind) == (verb, kind))


def attempts(result: RunResult, verb: str, kind: str) -> int:
    """How often requests of a verb on a kind were sent."""
    return sum(one.attempts for one in result.requests if (one.verb, one.kind) == (verb, kind))
