"""What the operator of a run exposes to Prometheus, and what kubelet and kube-state-metrics expose about it.

Names, labels and types are those of a real operator of the same generation (research: kuberay 2); what the twin has no
notion of, such as goroutines and sizes of requests, is absent.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from advisor.queueing.controller import ControllerMetrics
from advisor.queueing.metrics import DurationHistogram, QueueMetrics
from advisor.twin.parameters import QueueKind
from advisor.twin.simulation import Simulation
from advisor.twin.watcher import API_SERVER, Watcher

__all__ = ["CONTROLLERS", "Family", "Labels", "Operator", "Sample", "container_families", "operator_families"]

CONTROLLERS = ("raycluster", "rayjob", "rayservice")
"""That run in every operator, whether there is work for them or not."""
CONTAINER = (("container", "kuberay-operator"), ("namespace", "kuberay"), ("pod", "kuberay-operator-0"))
"""What kubelet and kube-state-metrics call it."""
_REFRESH_NS = 500_000_000
_MEMORY_BYTES = 45_000_000
# A RayCluster and a Pod in the operator's caches (research: kuberay 7.2).
_OBJECT_BYTES = 120_000

Labels = tuple[tuple[str, str], ...]
"""Names and values."""


class Sample(NamedTuple):
    """One sample; labels in order of name."""

    name: str
    labels: Labels
    value: float


class Family(NamedTuple):
    """All samples of one name; of a histogram those of its buckets, sum and count."""

    name: str
    kind: str
    samples: tuple[Sample, ...]


class _Cpu(NamedTuple):
    spent_ns: int = 0
    periods: int = 0
    throttled_periods: int = 0
    stopped_ns: int = 0


class _Unfinished(NamedTuple):
    sum_ns: int
    longest_ns: int


class Operator:
    """A simulation with an onlooker, and the gauges that a real queue refreshes by a timer of its own.

    Args:
        simulation: that has not begun.
        watcher: sits on its engine from now on.
    """

    def __init__(self, simulation: Simulation, watcher: Watcher) -> None:
        self.simulation = simulation
        self.watcher = watcher
        self.unfinished: dict[str, _Unfinished] = {}
        self._before = _Cpu()
        simulation.engine.observer = watcher
        watcher.on_restart = self._restarted
        # Before anything happens: what exists is there, and the process runs.
        simulation.advance(-1.0)

    @property
    def is_up(self) -> bool:
        """Whether a process runs that can be scraped."""
        return self.simulation.operator.is_up

    @property
    def cpu(self) -> "_Cpu":
        """What the process has had of the CPU since it started."""
        now, before = self._cpu(), self._before
        return _Cpu(*(value - earlier for value, earlier in zip(now, before, strict=True)))

    @property
    def is_over(self) -> bool:
        """Whether the run has come to its end, or to the longest that it may take."""
        simulation = self.simulation
        end_ns = simulation.end_ns
        if end_ns is None:
            end_ns = round(simulation.workload.limit_seconds * 1e9)
        return simulation.engine.now_ns >= end_ns

    def looks(self, interval_ns: int) -> Iterator[None]:
        """Go through the run, and come back at the start, after each interval, and at the end."""
        yield
        while not self.is_over:
            self.advance((self.simulation.engine.now_ns // interval_ns + 1) * interval_ns)
            yield

    def advance(self, to_ns: int) -> None:
        """Go on to a time, or to the end of the run, whichever comes first."""
        engine = self.simulation.engine
        limit_ns = round(self.simulation.workload.limit_seconds * 1e9)
        while engine.now_ns < to_ns and not self.is_over:
            # As far as the timer of the gauges; the run may end before.
            next_ns = min(to_ns, limit_ns, (engine.now_ns // _REFRESH_NS + 1) * _REFRESH_NS)
            self.simulation.advance(next_ns / 1e9)
            if engine.now_ns % _REFRESH_NS == 0:
                self.refresh()

    def live(self, to_ns: int) -> None:
        """Go on to a time, also beyond the end of the run: the operator does not end with it."""
        self.advance(to_ns)
        engine = self.simulation.engine
        while engine.now_ns < to_ns:
            engine.run(min(to_ns, (engine.now_ns // _REFRESH_NS + 1) * _REFRESH_NS))
            if engine.now_ns % _REFRESH_NS == 0:
                self.refresh()

    def _cpu(self) -> "_Cpu":
        cpu = self.simulation.cpu
        spent_ns = cpu.spent_ns(self.simulation.engine.now_ns)
        return _Cpu(spent_ns, cpu.periods, cpu.throttled_periods, cpu.stopped_ns)

    def _restarted(self) -> None:
        self._before = self._cpu()
        self.unfinished.clear()
        self.watcher.resized(self.simulation.settings.concurrency)

    def refresh(self) -> None:
        """Set the gauges of unfinished work."""
        now_ns = self.simulation.engine.now_ns
        for name, controller in self.simulation.controllers.items():
            ages = [now_ns - work.began_ns for work in controller.loop.in_work.values()]
            self.unfinished[name] = _Unfinished(sum(ages), max(ages, default=0))


def operator_families(operator: Operator) -> Iterator[Family]:
    """What the operator's own endpoint answers now; nothing while no process runs."""
    if not operator.is_up:
        return
    simulation, watcher = operator.simulation, operator.watcher
    is_new = simulation.settings.queue is QueueKind.PRIORITY
    yield from _controller_families(simulation, is_new=is_new)
    yield from _queue_families(operator, is_new=is_new)
    yield from _client_families(watcher, is_new=is_new)
    yield from _process_families(operator)
    yield from _object_families(watcher)


def container_families(operator: Operator) -> Iterator[Family]:
    """What kubelet and kube-state-metrics answer about the operator's container now; nothing while there is none."""
    if not operator.is_up:
        return
    cpu = operator.cpu
    counters = {
        "container_cpu_cfs_periods_total": cpu.periods,
        "container_cpu_cfs_throttled_periods_total": cpu.throttled_periods,
        "container_cpu_cfs_throttled_seconds_total": cpu.stopped_ns / 1e9,
        "container_cpu_usage_seconds_total": cpu.spent_ns / 1e9,
    }
    for name, value in counters.items():
        yield _one(name, "counter", CONTAINER, value)
    yield _one("container_memory_working_set_bytes", "gauge", CONTAINER, _memory_bytes(operator.watcher))
    limit_cores = operator.simulation.cpu.limit_cores
    if limit_cores is not None:
        labels = (*CONTAINER, ("resource", "cpu"), ("unit", "core"))
        yield _one("kube_pod_container_resource_limits", "gauge", labels, limit_cores)


def _controller_families(simulation: Simulation, *, is_new: bool) -> Iterator[Family]:
    idle = ControllerMetrics(simulation.settings.concurrency)
    running = {name: one.loop.metrics for name, one in simulation.controllers.items()}
    metrics = {name: running.get(name, idle) for name in (*CONTROLLERS, *(running.keys() - set(CONTROLLERS)))}

    def family(name: str, kind: str, attribute: str) -> Family:
        name = f"controller_runtime_{name}"
        samples = (Sample(name, _of(one), float(getattr(metrics[one], attribute))) for one in metrics)
        return Family(name, kind, tuple(samples))

    yield family("active_workers", "gauge", "active_workers")
    yield family("max_concurrent_reconciles", "gauge", "max_concurrent_reconciles")
    yield family("reconcile_errors_total", "counter", "errors")
    yield family("terminal_reconcile_errors_total", "counter", "terminal_errors")
    yield family("reconcile_panics_total", "counter", "panics")
    if is_new:
        yield family("reconcile_timeouts_total", "counter", "timeouts")
    yield _one("controller_runtime_conversion_webhook_panics_total", "counter", (), 0.0)
    name = "controller_runtime_reconcile_total"
    samples = (
        Sample(name, (*_of(controller), ("result", result.value)), float(count))
        for controller, one in metrics.items()
        for result, count in one.reconciles.items()
    )
    yield Family(name, "counter", tuple(samples))
    # Of a controller that has never run one, a real operator shows nothing.
    times = ((_of(one), metrics[one].reconcile_time) for one in metrics if metrics[one].reconcile_time.count)
    yield _histograms("controller_runtime_reconcile_time_seconds", times)


def _queue_families(operator: Operator, *, is_new: bool) -> Iterator[Family]:
    simulation = operator.simulation
    running = {name: one.queue.metrics for name, one in simulation.controllers.items()}
    queues = {
        name: running.get(name) or QueueMetrics() for name in (*CONTROLLERS, *(running.keys() - set(CONTROLLERS)))
    }
    labels = {name: (*_of(name), ("name", name)) for name in queues}

    def family(name: str, kind: str, values: dict[str, float]) -> Family:
        return Family(name, kind, tuple(Sample(name, labels[one], value) for one, value in values.items()))

    depth = "workqueue_depth"
    depths = (
        Sample(depth, (*labels[name], ("priority", str(priority))), float(value))
        for name, queue in queues.items()
        for priority, value in (queue.depth or ({} if is_new else {"": 0})).items()
    )
    yield Family(depth, "gauge", tuple(depths))
    yield family("workqueue_adds_total", "counter", {name: float(one.adds) for name, one in queues.items()})
    yield family("workqueue_retries_total", "counter", {name: float(one.retries) for name, one in queues.items()})
    unfinished = {name: operator.unfinished.get(name, _Unfinished(0, 0)) for name in queues}
    longest = {name: one.longest_ns / 1e9 for name, one in unfinished.items()}
    yield family("workqueue_longest_running_processor_seconds", "gauge", longest)
    sums = {name: one.sum_ns / 1e9 for name, one in unfinished.items()}
    yield family("workqueue_unfinished_work_seconds", "gauge", sums)
    for which in ("queue", "work"):
        observed = ((labels[name], getattr(queue, f"{which}_duration")) for name, queue in queues.items())
        yield _histograms(f"workqueue_{which}_duration_seconds", observed)


def _client_families(watcher: Watcher, *, is_new: bool) -> Iterator[Family]:
    client, host = watcher.client, ("host", API_SERVER)

    def counts(name: str, label: str, values: dict[tuple[int, str], int]) -> Family:
        samples = (
            Sample(name, tuple(sorted((("code", str(code)), host, (label, verb)))), float(count))
            for (code, verb), count in sorted(values.items())
        )
        return Family(name, "counter", tuple(samples))

    yield counts("rest_client_requests_total", "method", client.requests)
    if not is_new:
        return
    yield counts("rest_client_request_retries_total", "verb", client.retries)
    for name, by_verb in (
        ("rest_client_request_duration_seconds", client.durations),
        ("rest_client_rate_limiter_duration_seconds", client.limiter_waits),
    ):
        yield _histograms(name, (((host, ("verb", verb)), one) for verb, one in sorted(by_verb.items())))


def _process_families(operator: Operator) -> Iterator[Family]:
    watcher = operator.watcher
    lease = (("name", "ray-operator-leader"),)
    yield _one("leader_election_master_status", "gauge", lease, float(operator.simulation.lease.is_held))
    yield _one("process_cpu_seconds_total", "counter", (), operator.cpu.spent_ns / 1e9)
    yield _one("process_resident_memory_bytes", "gauge", (), _memory_bytes(watcher))
    started = watcher.stamps.unix_seconds(watcher.process_started_ns)
    yield _one("process_start_time_seconds", "gauge", (), started)


def _object_families(watcher: Watcher) -> Iterator[Family]:
    clusters = watcher.objects.clusters
    owners = watcher.objects.owners
    infos, conditions, durations = [], [], []
    for key, known in clusters.items():
        labels = _object(key, known.uid)
        infos.append(_labelled("kuberay_cluster_info", labels, owner_kind=known.look.owner_kind))
        if known.look.observed is not None:
            is_provisioned = str(known.look.was_ready).lower()
            name = "kuberay_cluster_condition_provisioned"
            conditions.append(_labelled(name, labels, condition=is_provisioned))
        if known.ready_after_ns is not None:
            name = "kuberay_cluster_provisioned_duration_seconds"
            durations.append(Sample(name, labels, known.ready_after_ns / 1e9))
    yield Family("kuberay_cluster_info", "gauge", tuple(infos))
    yield Family("kuberay_cluster_condition_provisioned", "gauge", tuple(conditions))
    yield Family("kuberay_cluster_provisioned_duration_seconds", "gauge", tuple(durations))
    jobs = [(_object(key, one.uid), one.state) for (kind, key), one in owners.items() if kind == "RayJob"]
    services = [_object(key, one.uid) for (kind, key), one in owners.items() if kind == "RayService"]
    yield Family("kuberay_job_info", "gauge", tuple(Sample("kuberay_job_info", labels, 1.0) for labels, _ in jobs))
    name = "kuberay_job_deployment_status"
    states = (_labelled(name, labels, deployment_status=state) for labels, state in jobs if state is not None)
    yield Family(name, "gauge", tuple(states))
    name = "kuberay_service_info"
    yield Family(name, "gauge", tuple(Sample(name, labels, 1.0) for labels in services))


def _of(controller: str) -> Labels:
    return (("controller", controller),)


def _object(key: str, uid: str) -> Labels:
    namespace, _, name = key.rpartition("/")
    return (("name", name), ("namespace", namespace), ("uid", uid))


def _labelled(name: str, labels: Labels, **more: str) -> Sample:
    return Sample(name, tuple(sorted((*labels, *more.items()))), 1.0)


def _one(name: str, kind: str, labels: Labels, value: float) -> Family:
    return Family(name, kind, (Sample(name, labels, float(value)),))


def _histograms(name: str, histograms: Iterable[tuple[Labels, DurationHistogram]]) -> Family:
    samples: list[Sample] = []
    for labels, histogram in histograms:
        count = 0
        for bound, count in histogram.cumulative():
            samples.append(Sample(f"{name}_bucket", _bucket(labels, bound), float(count)))
        samples.append(Sample(f"{name}_sum", labels, histogram.sum_ns / 1e9))
        samples.append(Sample(f"{name}_count", labels, float(count)))
    return Family(name, "histogram", tuple(samples))


@lru_cache(maxsize=1024)
def _bucket(labels: Labels, bound: float) -> Labels:
    return tuple(sorted((*labels, ("le", "+Inf" if bound == float("inf") else f"{bound:g}"))))


def _memory_bytes(watcher: Watcher) -> float:
    objects = watcher.objects
    return float(_MEMORY_BYTES + _OBJECT_BYTES * (objects.pods + len(objects.clusters)))
