"""The sidecar beside a real operator: how far its shadow queue and its counts are from the operator's own.

A burst of RayClusters, then a restart of the operator with all of them there. Both are read all the while.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.lab.controlplane import free_ports
from tests.lab.laboratory import Laboratory
from tests.lab.load import take_step
from tests.lab.operator import Operator
from tests.lab.processes import Process, wait_until
from tests.lab.scenario import Create, Faults, OperatorSettings, Part, Rule, Step

__all__ = ["Phase", "run_sidecar", "samples", "sidecar"]

_START_SECONDS: Final = 60.0
_HOLD_SECONDS: Final = 4.0
"""What the sidecar shows is what was there a little before: it waits for log lines and events that are late."""
_CONTROLLER: Final = "raycluster"
_PROGRAM: Final = "from advisor.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Phase:
    """What was seen in one phase.

    Attributes:
        name: the phase.
        depth_peak: the operator's own largest depth, by priority.
        depth_error_mean: mean of the absolute difference of both depths, by priority.
        reconciles: reconciles by the operator's own count, and by the sidecar's.
        wait_mean_seconds: mean queue wait, likewise.
    """

    name: str
    depth_peak: dict[str, float] = field(default_factory=dict)
    depth_error_mean: dict[str, float] = field(default_factory=dict)
    reconciles: tuple[float, float] = (0.0, 0.0)
    wait_mean_seconds: tuple[float, float] = (0.0, 0.0)


class _Reader:
    """Reads both endpoints while something happens."""

    def __init__(self, operator: Operator, address: str) -> None:
        self._operator = operator.metrics
        self._address = address
        self.depths: dict[str, list[float]] = {}
        self.errors: dict[str, list[float]] = {}

    def read_until(self, stop: threading.Event) -> None:
        """Read both about every second."""
        while not stop.wait(1.0):
            self.look()

    def taken(self) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
        """Depths and errors since the last time."""
        depths, errors, self.depths, self.errors = self.depths, self.errors, {}, {}
        return depths, errors

    def look(self) -> None:
        """Read both once."""
        own = samples(self._operator)
        for labels, value in own.get("workqueue_depth", ()):
            if labels["controller"] == _CONTROLLER:
                self.depths.setdefault(labels["priority"], []).append(value)
        for labels, value in samples(self._address).get("kuberay_advisor_shadow_depth_error", ()):
            if labels["controller"] == _CONTROLLER:
                self.errors.setdefault(labels["priority"], []).append(abs(value))

    def totals(self) -> tuple[dict[str, float], dict[str, float]]:
        """The operator's counters, and the sidecar's: reconciles, hand-offs and their wait."""
        own, mine = samples(self._operator), samples(self._address)
        return (
            {
                "reconciles": _sum(own, "controller_runtime_reconcile_total"),
                "gets": _sum(own, "workqueue_queue_duration_seconds_count"),
                "wait": _sum(own, "workqueue_queue_duration_seconds_sum"),
            },
            {
                "reconciles": _sum(mine, "kuberay_advisor_reconcile_total"),
                "gets": _sum(mine, "kuberay_advisor_workqueue_queue_duration_seconds_count"),
                "wait": _sum(mine, "kuberay_advisor_workqueue_queue_duration_seconds_sum"),
            },
        )


def run_sidecar(lab: Laboratory, say: Callable[[str], None]) -> list[Phase]:
    """Both phases, each with what was seen.

    Raises:
        LabError: a part does not start, or a cluster does not become ready.
    """
    lab.plane.set_faults(Faults(rules=(Rule(methods=("POST", "PUT", "PATCH"), delay_ms=25.0),)))
    operator = lab.start_operator(OperatorSettings(concurrency=1))
    with sidecar(lab, operator) as address:
        reader = _Reader(operator, address)
        say("a burst of 60 RayClusters")
        burst = _phase("burst", reader, lambda: _burst(lab))
        say("a restart of the operator")
        restart = _phase("restart", reader, lambda: _restart(lab, operator), restarted=True)
    return [burst, restart]


@contextmanager
def sidecar(lab: Laboratory, operator: Operator, *options: str) -> Iterator[str]:
    """The sidecar as a process beside an operator; the address of its metrics.

    Raises:
        LabError: it does not start.
    """
    (port,) = free_ports(1)
    address = f"http://127.0.0.1:{port}/metrics"
    command = (
        *(sys.executable, "-c", _PROGRAM, "sidecar", "--operator-metrics", operator.metrics),
        *("--log-file", str(operator.log), "--kubeconfig", str(lab.plane.kubeconfig), "--listen", f"127.0.0.1:{port}"),
        *("--scrape-interval", "1s", "--operator-cpu-limit", "2", "--cpu-budget", "1", *options),
    )
    process = lab.plane.processes.start(Process("sidecar", command, lab.folder / "sidecar.log"))

    def is_up() -> bool:
        process.check()
        return 'kuberay_advisor_sidecar_scrapes_total{outcome="ok"}' in _text(address)

    try:
        wait_until("the sidecar", is_up, _START_SECONDS)
        yield address
    finally:
        lab.plane.processes.stop("sidecar")


def _burst(lab: Laboratory) -> None:
    take_step(lab, Step(create=Create(count=60, workers=3, namespaces=("team-a", "team-b"))))
    wait_until("the clusters", lab.cluster.all_ready, 180.0, pause=1.0)
    time.sleep(4.0)


def _restart(lab: Laboratory, operator: Operator) -> None:
    # Slow enough that the initial list is seen while it is worked off.
    lab.container.limit_cpu(0.15)
    take_step(lab, Step(part=Part(name="operator", do="restart")))
    # Its controllers start once the lease of the process before has run out.
    wait_until("the operator to lead", lambda: operator.exposes("controller_runtime_max_concurrent"), 90.0)
    time.sleep(8.0)


def _phase(name: str, reader: _Reader, what: Callable[[], None], *, restarted: bool = False) -> Phase:
    own_before, mine_before = reader.totals()
    if restarted:
        own_before = dict.fromkeys(own_before, 0.0)
    stop = threading.Event()
    thread = threading.Thread(target=reader.read_until, args=(stop,), daemon=True)
    thread.start()
    try:
        what()
        time.sleep(_HOLD_SECONDS)
    finally:
        stop.set()
        thread.join()
    own, mine = (
        {key: after[key] - before[key] for key in after}
        for after, before in zip(reader.totals(), (own_before, mine_before), strict=True)
    )
    depths, errors = reader.taken()
    return Phase(
        name=name,
        depth_peak={label: max(values) for label, values in depths.items()},
        depth_error_mean={label: sum(values) / len(values) for label, values in errors.items()},
        reconciles=(own["reconciles"], mine["reconciles"]),
        wait_mean_seconds=(own["wait"] / max(1.0, own["gets"]), mine["wait"] / max(1.0, mine["gets"])),
    )


def _text(address: str) -> str:
    try:
        return httpx.get(address, trust_env=False, timeout=5.0).text
    except httpx.HTTPError:
        return ""


def samples(address: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Labels and value of each sample at an address by its name; none where nobody answers."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(_text(address)):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def _sum(found: dict[str, list[tuple[dict[str, str], float]]], name: str) -> float:
    return sum(value for labels, value in found.get(name, ()) if labels.get("controller") == _CONTROLLER)
