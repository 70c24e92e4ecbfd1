"""A load out of rates and means: what facts carry, where nobody has seen single objects.

A batch that arrives at once is taken as it is told. Otherwise clusters of one size are created at an even pace, as many
as make the operator reconcile as often as it is told to. Nothing is assumed about a figure that is not told: without
those that a load needs, there is none.
"""

from random import Random

from advisor.analysis.loading import Loaded
from advisor.errors import NothingToAnalyseError
from advisor.model.facts import ControllerFacts, Facts
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.point import Measured, OperatingPoint, settings_of
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Existing, Workload

__all__ = ["facts_point"]

_MAIN = "raycluster"
_LONGEST_SECONDS = 3600.0
_MOST_CREATED = 200
"""So many clusters show what there is to see, and a run of them is short."""
_MOST_OBJECTS = 5000
_MOST_WORKERS = 5000
_RECONCILES = 3.0
"""Of a cluster where much waits: one makes its objects, one writes that they are there, one that they are ready."""
_FIXED_REQUESTS = 4.0
"""Of a cluster beside its worker Pods: service, head Pod, two writes of its status (knowledge: programs)."""
_RESYNC_SECONDS = 300.0


def facts_point(name: str, facts: Facts, loaded: Loaded) -> OperatingPoint:
    """An operating point that does what the facts tell.

    Raises:
        NothingToAnalyseError: they do not carry a load; the message says what is missing.
    """
    controller = facts.controllers.get(_MAIN, ControllerFacts())
    api_seconds = _api_seconds(facts)
    is_batch = facts.demand.items_in_burst is not None
    lacking = [*_lacking_always(facts, controller, api_seconds), *_lacking(facts, controller, is_batch=is_batch)]
    if lacking or api_seconds is None:
        raise NothingToAnalyseError(
            f"the facts carry no load that could be run: missing {', '.join(lacking)}",
            where=name,
            hint="add these facts, describe the load with --workload, or record the operator",
        )
    signals = loaded.observed.signals(loaded.info.window)
    settings = settings_of(signals)
    if is_batch:
        workload, measured = _batch(facts, controller, api_seconds)
    else:
        workload, measured = _pace(facts, controller, settings, api_seconds)
    return OperatingPoint(name, settings, workload, measured, workload.tail_seconds)


def _api_seconds(facts: Facts) -> float | None:
    """Time of a request without the client's limiter."""
    client = facts.client
    if client.request_seconds_mean is None:
        return None
    if client.qps is not None and client.qps < 0:
        return client.request_seconds_mean
    if client.limiter_wait_seconds_mean is None:
        return None
    return max(0.0, client.request_seconds_mean - client.limiter_wait_seconds_mean) or None


def _lacking_always(facts: Facts, controller: ControllerFacts, api_seconds: float | None) -> list[str]:
    found = []
    if controller.max_concurrent_reconciles is None and controller.configured_concurrency is None:
        found.append(f"controllers.{_MAIN}.max_concurrent_reconciles")
    if facts.client.qps is None and facts.operator.version is None:
        found.append("client.qps or operator.version")
    if api_seconds is None:
        found.append("client.request_seconds_mean with client.limiter_wait_seconds_mean below it")
    return found


def _lacking(facts: Facts, controller: ControllerFacts, *, is_batch: bool) -> list[str]:
    if is_batch:
        return [] if facts.demand.api_calls_per_item is not None else ["demand.api_calls_per_item"]
    needed = {
        "reconciles_per_second": controller.reconciles_per_second,
        "reconcile_seconds_mean": controller.reconcile_seconds_mean,
        "api_calls_per_reconcile": controller.api_calls_per_reconcile,
    }
    found = [f"controllers.{_MAIN}.{name}" for name, value in needed.items() if not value]
    return [*found[:-1], f"{found[-1]} (or demand.items_in_burst with demand.api_calls_per_item)"] if found else []


def _batch(facts: Facts, controller: ControllerFacts, api_seconds: float) -> tuple[Workload, Measured]:
    """So many clusters at once, each with the Pods that its number of requests stands for."""
    count = min(_MOST_OBJECTS, max(1, round(facts.demand.items_in_burst or 0.0)))
    workers = _workers((facts.demand.api_calls_per_item or 0.0) - _FIXED_REQUESTS)
    workload = Workload(arrivals=tuple(Arrival(0.0, f"batch/cluster-{index}", workers) for index in range(count)))
    return workload, Measured(
        makespan_seconds=facts.demand.drain_seconds,
        queue_wait_seconds_mean=controller.queue_wait_seconds_mean,
        limiter_wait_seconds_mean=facts.client.limiter_wait_seconds_mean,
        api_seconds_by_verb=(("POST", api_seconds),),
        write_seconds=api_seconds,
        throttled_ratio=facts.client.requests_per_second_by_code.get("429"),
    )


def _pace(
    facts: Facts, controller: ControllerFacts, settings: OperatorSettings, api_seconds: float
) -> tuple[Workload, Measured]:
    """Clusters at an even pace, so many that reconciles come to the told rate."""
    rate = controller.reconciles_per_second or 0.0
    workers = _workers((controller.api_calls_per_reconcile or 0.0) * _RECONCILES - _FIXED_REQUESTS)
    objects = min(_MOST_OBJECTS, facts.demand.objects.get(_MAIN, 0))
    resync = objects / (facts.demand.resync_seconds or _RESYNC_SECONDS)
    per_cluster = _reconciles_of_one(workers, settings, api_seconds)
    created_per_second = max(0.0, rate - resync) / per_cluster
    seconds = min(_LONGEST_SECONDS, _MOST_CREATED / created_per_second) if created_per_second else _LONGEST_SECONDS
    count = round(created_per_second * seconds)
    workload = Workload(
        existing=tuple(Existing(f"standing/cluster-{index}", workers) for index in range(objects)),
        arrivals=tuple(Arrival(index / created_per_second, f"new/cluster-{index}", workers) for index in range(count)),
        duration_seconds=seconds,
    )
    reconcile_seconds = controller.reconcile_seconds_mean or 0.0
    return workload, Measured(
        queue_wait_seconds_mean=controller.queue_wait_seconds_mean,
        limiter_wait_seconds_mean=facts.client.limiter_wait_seconds_mean,
        busy_worker_seconds=rate * seconds * reconcile_seconds,
        reconciles=rate * seconds,
        api_seconds_by_verb=(("POST", api_seconds),),
        write_seconds=api_seconds,
        throttled_ratio=facts.client.requests_per_second_by_code.get("429"),
    )


def _reconciles_of_one(workers: int, settings: OperatorSettings, api_seconds: float) -> float:
    """How often one cluster alone is reconciled until it is ready."""
    verbs = ("POST", "PUT", "PATCH", "DELETE")
    world = WorldParameters(request_seconds=dict.fromkeys(verbs, api_seconds))
    one = Workload(arrivals=(Arrival(0.0, "new/cluster", workers),), tail_seconds=0.0)
    result = simulate(one, settings, world, Random(1))  # noqa: S311 - nothing secret
    main = result.controller(_MAIN)
    return max(_RECONCILES, float(sum(main.reconciles.values())) if main is not None else 0.0)


def _workers(requests: float) -> int:
    return min(_MOST_WORKERS, max(0, round(requests)))
