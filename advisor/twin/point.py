"""One operating point: the settings, the load and what was measured under them, as the twin is calibrated from."""

from dataclasses import dataclass

from advisor.model.signals import ControllerSignals, OperatorSignals
from advisor.model.trace import ClusterTrace, DemandTrace
from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.workload import Arrival, Deletion, Existing, Scaling, Workload

__all__ = ["Measured", "OperatingPoint", "operating_point", "settings_of", "workload_of"]

_MAIN = "raycluster"
# controller-runtime 0.23 brought event series together with the priority queue as the default (research: kuberay 1.6).
_EVENT_SERIES_QUEUE = QueueKind.PRIORITY


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of one operating point; None where the data does not carry one.

    Attributes:
        makespan_seconds: from the first arrival to all ready.
        ready_seconds_mean: from arrival to ready.
        queue_wait_seconds_mean: of the RayCluster controller.
        limiter_wait_seconds_mean: of all requests.
        busy_worker_seconds: of the RayCluster controller.
        reconciles: of the RayCluster controller.
        api_seconds_by_verb: mean time of a request without the limiter, by verb.
        write_seconds: the same over all writes; from the pace of Pods where no series has it.
        conflict_ratio: 409 on PUT and PATCH, of all writes.
        conflicts: their number.
        throttled_ratio: share of answers 429.
        pod_bound_seconds: from a Pod's creation to bound.
        pod_running_seconds: from bound to ready.
        cpu_seconds: CPU time of the operator.
        interval_quantiles: of the time between two Pods of one cluster.
        running_quantiles: of the time of a Pod from bound to ready.
    """

    makespan_seconds: float | None = None
    ready_seconds_mean: float | None = None
    queue_wait_seconds_mean: float | None = None
    limiter_wait_seconds_mean: float | None = None
    busy_worker_seconds: float | None = None
    reconciles: float | None = None
    api_seconds_by_verb: tuple[tuple[str, float], ...] = ()
    write_seconds: float | None = None
    conflict_ratio: float | None = None
    conflicts: float | None = None
    throttled_ratio: float | None = None
    pod_bound_seconds: float | None = None
    pod_running_seconds: float | None = None
    cpu_seconds: float | None = None
    interval_quantiles: tuple[float, ...] = ()
    running_quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Settings, load and measured figures of one stretch of time.

    Attributes:
        name: what it is called.
        settings: in force.
        workload: the load, with its end as measured.
        measured: figures over it.
        look_on_seconds: how long such a measurement goes on after the last ready cluster, on average.
    """

    name: str
    settings: OperatorSettings
    workload: Workload
    measured: Measured
    look_on_seconds: float = 0.0


def operating_point(
    name: str, signals: OperatorSignals, trace: DemandTrace, *, look_on_seconds: float | None = None
) -> OperatingPoint:
    """Put one operating point together.

    Args:
        name: what to call it.
        signals: of a window that begins no later than the first arrival.
        trace: the load of the same window, from the first arrival on.
        look_on_seconds: see `OperatingPoint`; what this trace did where None.
    """
    workload = workload_of(trace)
    return OperatingPoint(
        name=name,
        settings=settings_of(signals),
        workload=workload,
        measured=_measured(signals, trace),
        look_on_seconds=workload.tail_seconds if look_on_seconds is None else look_on_seconds,
    )


def settings_of(signals: OperatorSignals) -> OperatorSettings:
    """The settings in force; what is not known is taken as controller-runtime's default: one worker, no limiter."""
    settings = signals.settings
    queue = QueueKind.CLASSIC if signals.queue == "classic" else QueueKind.PRIORITY
    qps = settings.qps.value
    burst = settings.burst.value
    return OperatorSettings(
        concurrency=int(settings.concurrency.value or 1),
        qps=-1.0 if qps is None else qps,
        burst=1 if burst is None else max(1, int(burst)),
        cpu_limit_cores=settings.cpu_limit_cores.value,
        queue=queue,
        events_as_series=queue is _EVENT_SERIES_QUEUE,
    )


def workload_of(trace: DemandTrace) -> Workload:
    """The load of a trace, to be run again.

    Clusters of unknown size are taken as the usual one of the trace. Look on after the last ready cluster as long as
    the trace does, so that means over a run and over the trace have the same end.
    """
    sizes = sorted(one.workers for one in trace.clusters if one.workers is not None)
    usual = sizes[len(sizes) // 2] if sizes else 0
    last = trace.last_ready_seconds
    by_job = trace.jobs or trace.services
    arrivals = () if by_job else tuple(_arrival(one, usual) for one in trace.arrivals)
    return Workload(
        existing=tuple(
            Existing(one.key, usual if one.workers is None else one.workers)
            for one in trace.clusters
            if one.created_seconds is None
        ),
        arrivals=(
            *arrivals,
            *(Arrival(at, key, usual, kind="RayJob") for at, key in trace.jobs),
            *(Arrival(at, key, usual, kind="RayService") for at, key in trace.services),
        ),
        scalings=tuple(Scaling(at, one.key, workers) for one in trace.clusters for at, workers in one.scaled),
        deletions=tuple(
            Deletion(one.deleted_seconds, one.key) for one in trace.clusters if one.deleted_seconds is not None
        ),
        duration_seconds=None if last is not None else trace.seconds,
        tail_seconds=max(0.0, trace.seconds - last) if last is not None else 0.0,
    )


def _arrival(one: ClusterTrace, usual: int) -> Arrival:
    return Arrival(one.created_seconds or 0.0, one.key, usual if one.workers is None else one.workers)


def _measured(signals: OperatorSignals, trace: DemandTrace) -> Measured:
    client, main = signals.client, signals.controller(_MAIN)
    seconds = signals.window.seconds
    ready = [
        one.ready_seconds - one.created_seconds
        for one in trace.arrivals
        if one.ready_seconds is not None and one.created_seconds is not None
    ]
    limiter = client.limiter_wait_seconds_mean
    conflicts = client.conflicts_per_second.value
    return Measured(
        makespan_seconds=trace.last_ready_seconds,
        ready_seconds_mean=sum(ready) / len(ready) if ready else None,
        limiter_wait_seconds_mean=None if signals.settings.limiter_off else limiter.value,
        api_seconds_by_verb=tuple(
            (verb.verb, verb.api_seconds_mean.value) for verb in client.verbs if verb.api_seconds_mean.value is not None
        ),
        write_seconds=client.write_api_seconds_mean.value or trace.pods.interval_seconds,
        conflict_ratio=client.conflict_ratio.value,
        conflicts=None if conflicts is None else conflicts * seconds,
        throttled_ratio=client.too_many_requests_ratio.value,
        pod_bound_seconds=trace.pods.bound_seconds_mean,
        pod_running_seconds=trace.pods.running_seconds_mean,
        cpu_seconds=signals.process.cpu_seconds.value,
        interval_quantiles=trace.pods.interval_quantiles,
        running_quantiles=trace.pods.running_quantiles,
        **_of_controller(main),
    )


def _of_controller(main: ControllerSignals | None) -> dict[str, float | None]:
    if main is None:
        return {}
    return {
        "queue_wait_seconds_mean": main.queue_wait_seconds_mean.value,
        "busy_worker_seconds": main.busy_worker_seconds.value,
        "reconciles": main.reconciles.value,
    }
