"""Signals of the operator's process and container: CPU, throttling, memory, restarts, leadership."""

from advisor.model.raw import Series, SeriesStore
from advisor.model.settings import Setting
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import ProcessSignals
from advisor.signals.curves import Gauge, increase, sum_gauges
from advisor.signals.instances import Instances
from advisor.signals.making import Maker

__all__ = ["ProcessSeries"]

_OPERATOR_CONTAINERS = ("kuberay-operator", "manager", "operator")
_LIMITS = "kube_pod_container_resource_limits"
_PERIODS = "container_cpu_cfs_periods_total"
_THROTTLED = "container_cpu_cfs_throttled_periods_total"
_THROTTLED_SECONDS = "container_cpu_cfs_throttled_seconds_total"


def _operator_only(series: tuple[Series, ...]) -> list[Series]:
    """Of container series those of the operator's container; all of them where none is named as one."""
    named = [one for one in series if one.labels.get("container") in _OPERATOR_CONTAINERS]
    return named or list(series)


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
        self._memory = sum_gauges(memory)
        limits = container(_LIMITS)
        self._limits = {
            resource: sum_gauges(one for one in limits if one.labels.get("resource") == resource)
            for resource in ("cpu", "memory")
        }

    def limit(self, resource: str, window: Window) -> float | None:
        """The container's limit of ``cpu`` (cores) or ``memory`` (bytes), where kube-state-metrics gives it."""
        gauge: Gauge = self._limits[resource]
        last = gauge.last(window)
        return last if last is not None else gauge.at(window.end)

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
                throttled / periods if throttled is not None and periods else (None if periods is None else 0.0),
                Unit.RATIO,
                f"delta {_THROTTLED} / delta {_PERIODS}",
            ),
            cpu_throttled_seconds=make.of(
                increase(self._throttled_seconds, window), Unit.SECONDS, f"delta {_THROTTLED_SECONDS}"
            ),
            memory_bytes=make.of(self._memory.peak(window), Unit.BYTES, f"max {self._memory_name}"),
            memory_limit_bytes=_limit(make, memory_limit, Unit.BYTES, "memory"),
            restarts=make.of(
                float(self._instances.restarts(window)), Unit.COUNT, "changes of process_start_time_seconds"
            ),
            leader=make.of(
                self._instances.leader(window), Unit.RATIO, "mean leader_election_master_status over instances"
            ),
            uptime_seconds=self._uptime(make),
        )

    def _uptime(self, make: Maker) -> Signal:
        started = [start for start in self._instances.starts() if start <= make.window.end]
        value = make.window.end - started[-1] if started else None
        return make.of(value, Unit.SECONDS, "window end less process_start_time_seconds", quality=Quality.EXACT)


def _limit(make: Maker, setting: Setting, unit: Unit, resource: str) -> Signal:
    reason = f"no {resource} limit in {_LIMITS} or the given settings"
    return make.of(setting.value, unit, setting.detail, reason=reason)
