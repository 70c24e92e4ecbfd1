"""Signals of the operator's process and container: CPU, throttling, memory, restarts, leadership."""

from collections.abc import Iterable

from advisor.model.raw import Series, SeriesStore
from advisor.model.settings import Setting
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import ProcessSignals
from advisor.signals.curves import Gauge, increase, sum_gauges
from advisor.signals.instances import Instances, instance_of
from advisor.signals.making import Maker

__all__ = ["OPERATOR_CONTAINERS", "ProcessSeries"]

OPERATOR_CONTAINERS = ("kuberay-operator", "manager", "operator")
_LIMITS = "kube_pod_container_resource_limits"
_PERIODS = "container_cpu_cfs_periods_total"
_THROTTLED = "container_cpu_cfs_throttled_periods_total"
_THROTTLED_SECONDS = "container_cpu_cfs_throttled_seconds_total"


def _operator_only(series: tuple[Series, ...]) -> list[Series]:
    """Of container series those of the operator's container; where none is named as one, of all named containers.

    The kubelet also gives each Pod's total, with an empty name, and its pause container, called POD.
    """
    operator = [one for one in series if one.labels.get("container") in OPERATOR_CONTAINERS]
    named = [one for one in series if one.labels.get("container", "") not in ("", "POD")]
    return operator or named or list(series)


class ProcessSeries:
    """Curves and gauges of the process, made once."""

    def __init__(self, store: SeriesStore, instances: Instances) -> None:
        self._origin = store.origin
        self._instances = instances

        def container(name: str) -> list[Series]:
            return _operator_only(store.get(name))

        self._cpu_name = "process_cpu_seconds_total"
        cpu = list(store.get(self._cpu_name))
        if not cpu:
            self._cpu_name = "container_cpu_usage_seconds_total"
            cpu = container(self._cpu_name)
        self._cpu = [instances.curve(one) for one in cpu]
        self._periods = [instances.curve(one) for one in container(_PERIODS)]
        self._throttled = [instances.curve(one) for one in container(_THROTTLED)]
        self._throttled_seconds = [instances.curve(one) for one in container(_THROTTLED_SECONDS)]
        self._memory_name = "container_memory_working_set_bytes"
        memory = container(self._memory_name)
        if not memory:
            self._memory_name = "process_resident_memory_bytes"
            memory = list(store.get(self._memory_name))
        self._memory = _by_pod(memory)
        limits = container(_LIMITS)
        self._limits = {
            resource: _by_pod(one for one in limits if one.labels.get("resource") == resource)
            for resource in ("cpu", "memory")
        }

    def limit(self, resource: str, window: Window) -> float | None:
        """The container's limit of ``cpu`` (cores) or ``memory`` (bytes), where kube-state-metrics gives it.

        The smallest of several Pods; where none has a sample in the window, the last before it.
        """
        inside = [last for gauge in self._limits[resource] if (last := gauge.last(window)) is not None]
        before = [last for gauge in self._limits[resource] if (last := gauge.at(window.end)) is not None]
        return min(inside or before, default=None)

    def signals(self, window: Window, cpu_limit: Setting, memory_limit: Setting) -> ProcessSignals:
        """Every process signal of one window."""
        make = Maker(window, self._origin)
        cpu = increase(self._cpu, window)
        periods = increase(self._periods, window)
        throttled = increase(self._throttled, window)
        return ProcessSignals(
            cpu_seconds=make.of(cpu, Unit.SECONDS, f"delta {self._cpu_name}"),
            cpu_cores=make.of(None if cpu is None else cpu / window.seconds, Unit.CORES, f"rate of {self._cpu_name}"),
            cpu_limit_cores=_limit(make, cpu_limit, Unit.CORES, "cpu"),
            cpu_throttled_ratio=make.of(
                _part(throttled, periods),
                Unit.RATIO,
                f"delta {_THROTTLED} / delta {_PERIODS}",
            ),
            cpu_throttled_seconds=make.of(
                increase(self._throttled_seconds, window), Unit.SECONDS, f"delta {_THROTTLED_SECONDS}"
            ),
            memory_bytes=make.of(
                max((peak for gauge in self._memory if (peak := gauge.peak(window)) is not None), default=None),
                Unit.BYTES,
                f"max {self._memory_name}",
            ),
            memory_limit_bytes=_limit(make, memory_limit, Unit.BYTES, "memory"),
            restarts=make.of(
                float(self._instances.restarts(window)), Unit.COUNT, "changes of process_start_time_seconds"
            ),
            oom_kills=make.untold(Unit.COUNT),
            replicas=make.untold(Unit.COUNT),
            lease_errors_per_hour=make.untold(Unit.COUNT),
            leader=make.of(
                self._instances.leader(window), Unit.RATIO, "mean leader_election_master_status over instances"
            ),
            uptime_seconds=self._uptime(make),
        )

    def _uptime(self, make: Maker) -> Signal:
        started = [start for start in self._instances.starts() if start <= make.window.end]
        value = make.window.end - started[-1] if started else None
        return make.of(value, Unit.SECONDS, "window end less process_start_time_seconds", quality=Quality.EXACT)


def _part(throttled: float | None, periods: float | None) -> float | None:
    """Share of the periods that were throttled; none passed while nothing ran, which is no throttling."""
    if throttled is None or periods is None:
        return None
    return throttled / periods if periods else 0.0


def _by_pod(series: Iterable[Series]) -> list[Gauge]:
    """The sum over the containers of each Pod: each process has a limit and memory of its own."""
    pods: dict[str, list[Series]] = {}
    for one in series:
        pods.setdefault(one.labels.get("pod") or instance_of(one.labels), []).append(one)
    return [sum_gauges(group) for group in pods.values()]


def _limit(make: Maker, setting: Setting, unit: Unit, resource: str) -> Signal:
    reason = f"no {resource} limit in {_LIMITS} or the given settings"
    return make.of(setting.value, unit, setting.detail, reason=reason)
