from typing import Final

import pytest

from advisor.model.raw import Series
from advisor.model.settings import Setting, SettingSource
from advisor.model.signal import Signal, Unit, Window
from advisor.model.signals import ProcessSignals
from advisor.signals.instances import Instances
from advisor.signals.process import ProcessSeries
from tests.signals.builders import ORIGIN, every, reasons, series, store, values

WINDOW: Final = Window(0, 20)
UNKNOWN: Final = Setting(None, SettingSource.UNKNOWN)
OPERATOR: Final = {"container": "kuberay-operator", "pod": "operator-0"}
PERIODS: Final = "container_cpu_cfs_periods_total"
THROTTLED: Final = "container_cpu_cfs_throttled_periods_total"
MEMORY: Final = "container_memory_working_set_bytes"
LIMITS: Final = "kube_pod_container_resource_limits"


def process(*found: Series) -> ProcessSeries:
    """The process of these series."""
    samples = store(*found)
    return ProcessSeries(samples, Instances(samples))


def signals(*found: Series, window: Window = WINDOW) -> ProcessSignals:
    """Its signals, without limits from settings."""
    return process(*found).signals(window, UNKNOWN, UNKNOWN)


def example() -> list[Series]:
    """A process for which each figure can be computed in the head."""
    return [
        series("process_cpu_seconds_total", {}, every(10, 100, 101, 106)),
        series("process_resident_memory_bytes", {}, every(10, 50, 60, 55)),
        series("process_start_time_seconds", {}, every(10, -80, -80, 12)),
        series("leader_election_master_status", {}, every(10, 1, 1, 1)),
        series(PERIODS, OPERATOR, every(10, 1000, 1100, 1200, start=1)),
        series(THROTTLED, OPERATOR, every(10, 10, 20, 60, start=1)),
        series("container_cpu_cfs_throttled_seconds_total", OPERATOR, every(10, 4, 5, 7, start=1)),
        series(MEMORY, OPERATOR, every(10, 300, 500, 400, start=1)),
    ]


def test_every_signal_has_the_value_computed_by_hand() -> None:
    """Each signal of the process, from the samples of ``example``."""
    limits = (Setting(0.5, SettingSource.METRIC, "cpu"), Setting(512.0, SettingSource.METRIC, "memory"))
    assert values(process(*example()).signals(Window(0, 25), *limits)) == {
        "cpu_seconds": 107.0,  # 1 until the restart, and all 106 of the new process
        "cpu_cores": 4.28,
        "cpu_limit_cores": 0.5,
        "cpu_throttled_ratio": 0.25,
        "cpu_throttled_seconds": 3.0,
        "memory_bytes": 500.0,
        "memory_limit_bytes": 512.0,
        "restarts": 1.0,
        "oom_kills": None,
        "replicas": None,
        "leader": 1.0,
        "lease_errors_per_hour": None,
        "uptime_seconds": 13.0,
    }


def test_nothing_is_known_without_series() -> None:
    """Without series everything but the count of restarts seen is missing, with the reason."""
    found = signals()
    assert {name: value for name, value in values(found).items() if value is not None} == {"restarts": 0.0}
    assert reasons(found)["cpu_limit_cores"] == f"no cpu limit in {LIMITS} or the given settings"
    assert reasons(found)["memory_limit_bytes"] == f"no memory limit in {LIMITS} or the given settings"


class TestCpu:
    def test_falls_back_to_the_kubelets(self) -> None:
        """Without the process's own counter the container's is taken, and named."""
        assert signals(series("container_cpu_usage_seconds_total", OPERATOR, every(10, 5, 6, 9))).cpu_seconds == Signal(
            unit=Unit.SECONDS, value=4.0, window=WINDOW, origin=f"delta container_cpu_usage_seconds_total [{ORIGIN}]"
        )

    def test_only_the_operators_container_counts(self) -> None:
        """Other containers of the Pod, its total and its pause container are not the operator."""
        cpu = "container_cpu_usage_seconds_total"
        others = [series(cpu, {"container": name}, every(20, 0, 100)) for name in ("", "POD", "sidecar")]
        assert signals(*others, series(cpu, OPERATOR, every(20, 0, 3))).cpu_seconds.value == 3.0

    def test_of_an_operator_by_another_name(self) -> None:
        """Where no container has a name that operators have, the named ones are it, without the Pod's total."""
        cpu = "container_cpu_usage_seconds_total"
        found = [series(cpu, {"container": name}, every(20, 0, 100)) for name in ("", "POD", "mine")]
        assert signals(*found).cpu_seconds.value == 100.0

    def test_of_containers_without_names(self) -> None:
        """Where no container has a name, what there is counts."""
        assert signals(series("container_cpu_usage_seconds_total", {}, every(20, 0, 7))).cpu_seconds.value == 7.0


class TestThrottling:
    @pytest.mark.parametrize(
        ("periods", "throttled", "ratio"),
        [
            (every(20, 0, 200), every(20, 0, 50), 0.25),
            (every(20, 9, 9), every(20, 3, 3), 0.0),
            (every(20, 0, 200), {}, None),
            ({}, every(20, 0, 50), None),
        ],
    )
    def test_ratio(self, periods: dict[float, float], throttled: dict[float, float], ratio: float | None) -> None:
        """Throttled periods of all; none while nothing ran; not known where one of the two counters is missing."""
        found = signals(series(PERIODS, OPERATOR, periods), series(THROTTLED, OPERATOR, throttled))
        assert found.cpu_throttled_ratio.value == ratio


class TestMemory:
    def test_falls_back_to_the_processes(self) -> None:
        """Without the container's memory the process's is taken."""
        found = signals(series("process_resident_memory_bytes", {}, every(10, 50, 60, 55)))
        assert (found.memory_bytes.value, found.memory_bytes.origin) == (
            60.0,
            f"max process_resident_memory_bytes [{ORIGIN}]",
        )

    def test_each_replica_has_a_limit_of_its_own(self) -> None:
        """With a standby beside the leader neither memory nor limits are added up."""
        found = []
        for pod, used in (("operator-0", 400.0), ("operator-1", 300.0)):
            labels = {"container": "kuberay-operator", "pod": pod}
            found.append(series(MEMORY, labels, every(20, used, used)))
            found.append(series(LIMITS, {**labels, "resource": "cpu"}, every(20, 0.1, 0.1)))
            found.append(series(LIMITS, {**labels, "resource": "memory"}, every(20, 512, 512)))
        one = process(*found)
        assert (one.limit("cpu", WINDOW), one.limit("memory", WINDOW)) == (0.1, 512.0)
        assert one.signals(WINDOW, UNKNOWN, UNKNOWN).memory_bytes.value == 400.0


class TestLimit:
    def test_of_both_resources(self) -> None:
        """CPU in cores and memory in bytes, of the operator's container, the last of the window."""
        cpu = series(LIMITS, {**OPERATOR, "resource": "cpu"}, every(10, 0.1, 0.5))
        memory = series(LIMITS, {**OPERATOR, "resource": "memory"}, every(10, 512, 512))
        sidecar = series(LIMITS, {"container": "sidecar", "resource": "cpu"}, every(10, 9, 9))
        one = process(cpu, memory, sidecar)
        assert (one.limit("cpu", WINDOW), one.limit("memory", WINDOW)) == (0.5, 512.0)

    def test_outside_the_samples(self) -> None:
        """A limit holds on after its last sample; before its first it is not known."""
        one = process(series(LIMITS, {**OPERATOR, "resource": "cpu"}, {50: 0.1, 60: 0.5}))
        assert [one.limit("cpu", window) for window in (Window(70, 80), Window(0, 20))] == [0.5, None]

    def test_a_pod_that_is_gone_does_not_hold_it_down(self) -> None:
        """After a roll-out with a higher limit the Pods of the window decide."""
        old = series(LIMITS, {**OPERATOR, "resource": "cpu"}, every(10, 0.1, 0.1))
        new = series(LIMITS, {**OPERATOR, "pod": "operator-1", "resource": "cpu"}, every(10, 2, 2, start=40))
        assert process(old, new).limit("cpu", Window(30, 60)) == 2.0


def test_a_container_alone_is_no_scrape_of_the_operator() -> None:
    """Series of the kubelet and of kube-state-metrics alone make no scrape, yet their figures are there."""
    found = [
        series(PERIODS, OPERATOR, every(10, 0, 100, 200)),
        series(THROTTLED, OPERATOR, every(10, 0, 50, 100)),
        series(LIMITS, {**OPERATOR, "resource": "cpu"}, every(10, 0.1, 0.1)),
    ]
    assert not Instances(store(*found)).scrape_times()
    assert signals(*found).cpu_throttled_ratio.value == 0.5


def test_uptime_is_not_known_before_the_start() -> None:
    """A window that ends before the process started has no uptime."""
    assert signals(series("process_start_time_seconds", {}, {30: 25})).uptime_seconds.value is None
