"""Signals as figures by dotted name, and the figures that follow from several of them."""

from collections.abc import Iterator

import msgspec

from advisor.model.report import Figure, MissingFigure
from advisor.model.signal import Quality, Signal
from advisor.model.signals import ControllerSignals, OperatorSignals, PriorityDepth, VerbSignals
from advisor.recommend.concurrency import offered_workers
from advisor.recommend.limits import bucket_demand_per_second
from advisor.recommend.policy import Policy

__all__ = ["figures_of"]

_OF_CLUSTERS = frozenset(
    f"demand.{name}"
    for name in (
        "clusters_created",
        "largest_fanout_pods",
        "missing_pod_cluster_seconds",
        "pending_pod_seconds",
        "ready_seconds_mean",
        "ready_seconds_p95",
        "unready_cluster_seconds",
        "unready_clusters_peak",
    )
)
"""Figures of RayClusters, which nobody misses of another operator."""


def figures_of(signals: OperatorSignals, policy: Policy) -> tuple[dict[str, Figure], tuple[MissingFigure, ...]]:
    """Known signals by name with the derived figures, and the missing ones with their reasons."""
    figures: dict[str, Figure] = {}
    absent: list[MissingFigure] = []
    for name, signal in _walk(signals, ""):
        if signal.value is None:
            if signals.profile.is_kuberay or name not in _OF_CLUSTERS:
                absent.append(MissingFigure(name=name, reason=signal.missing or ""))
        else:
            figures[name] = Figure(
                value=signal.value,
                unit=signal.unit.value,
                quality=signal.quality.value,
                origin=signal.origin,
                low=signal.low,
                high=signal.high,
            )
    figures.update(_derived(signals, policy))
    return figures, tuple(absent)


def _walk(value: object, name: str) -> Iterator[tuple[str, Signal]]:
    """Every signal below a value, with its dotted name; lists are named by what their items are about."""
    if isinstance(value, Signal):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{name}.{key}")
    elif isinstance(value, tuple):
        for item in value:
            yield from _walk(item, f"{name}.{_item_name(item)}")
    elif isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            yield from _walk(getattr(value, field.name), f"{name}.{field.name}" if name else field.name)


def _item_name(item: object) -> str:
    match item:
        case ControllerSignals():
            return item.controller
        case VerbSignals():
            return item.verb
        case PriorityDepth():
            return item.priority or "none"
        case _:
            return ""


def _derived(signals: OperatorSignals, policy: Policy) -> Iterator[tuple[str, Figure]]:
    busiest = max(signals.controllers, key=lambda one: one.busy_worker_seconds.or_else(0.0), default=None)
    yield from _needed_qps(signals)
    if busiest is None:
        return
    offered = offered_workers(busiest, signals.profile)
    if offered is not None:
        yield _estimate(
            "needed_workers",
            offered / policy.target_utilisation,
            "count",
            f"offered load of {busiest.controller} / target",
        )
    if busiest.reconciles_per_second.value is not None:
        origin = busiest.reconciles_per_second.origin
        yield _estimate("throughput_per_second", busiest.reconciles_per_second.value, "per_second", origin)
    workers, work = busiest.max_concurrent_reconciles.value, busiest.work_seconds_mean.value
    if workers and work is not None:
        yield from _drain(signals, busiest, workers, work)
    demand, qps = bucket_demand_per_second(signals), signals.settings.qps.value
    if demand is not None:
        yield _estimate("bucket_demand_per_second", demand, "per_second", "workers / time of a write at the API server")
        if qps is not None and qps > 0 and workers:
            wait = max(0.0, workers / qps - workers / demand)
            yield _estimate("limiter_wait_seconds", wait, "seconds", "max(0, workers / QPS - time of a write)")


def _drain(
    signals: OperatorSignals, busiest: ControllerSignals, workers: float, work: float
) -> Iterator[tuple[str, Figure]]:
    """How long a batch takes at least: no faster than its workers, and no faster than the limiter allows."""
    demand, qps, burst = signals.demand, signals.settings.qps.value, signals.settings.burst.value
    items, calls = demand.items_in_burst.value, demand.api_calls_per_item.value
    if items is None:
        backlog = busiest.backlog_peak.value
        if backlog is not None:
            text = "backlog peak x time of one reconcile / workers"
            yield _estimate("drain_seconds", backlog * work / workers, "seconds", text)
        return
    bounds = [(items * work / workers, "items x time of one reconcile / workers")]
    if calls is not None and qps is not None and qps > 0:
        bounds.append((max(0.0, items * calls - (burst or 0.0)) / qps, "(items x calls per item - Burst) / QPS"))
    seconds, text = max(bounds)
    yield _estimate("drain_seconds", seconds, "seconds", text)


def _needed_qps(signals: OperatorSignals) -> Iterator[tuple[str, Figure]]:
    """What QPS a load needs at the very least, without headroom."""
    demand = signals.demand
    needs = []
    for one in signals.controllers:
        calls, period = one.api_calls_per_reconcile.value, demand.resync_seconds.value
        if calls is None:
            continue
        objects = demand.objects.get(one.controller)
        periodic = objects.or_else(0.0) / period if objects is not None and period else 0.0
        needs.append(max(one.adds_per_second.or_else(0.0), periodic) * calls)
    if needs:
        yield _estimate("needed_qps", max(needs), "per_second", "arrival rate x calls per reconcile, without headroom")


def _estimate(name: str, value: float, unit: str, origin: str) -> tuple[str, Figure]:
    return name, Figure(value=value, unit=unit, quality=Quality.ESTIMATED.value, origin=origin)
