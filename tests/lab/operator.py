"""The KubeRay operator under test: a process in a cgroup that reaches the API server through the proxy."""

from pathlib import Path
from typing import Final

import httpx

from tests.lab.binaries import Toolbox
from tests.lab.cgroup import Container
from tests.lab.controlplane import OPERATOR_NAMESPACE, ControlPlane, free_ports
from tests.lab.processes import Process, wait_until
from tests.lab.scenario import OperatorSettings, ScenarioError

__all__ = ["VERSIONS", "Operator", "start_operator"]

VERSIONS: Final = {"priority": "1.7.0", "classic": "1.6.1"}
"""The KubeRay release whose queue and client metrics each build has: what the product is told."""
_START_SECONDS: Final = 90.0
_LEADS: Final = 'controller_runtime_max_concurrent_reconciles{controller="raycluster"}'


class Operator:
    """One operator process and where to read about it."""

    def __init__(self, process: Process, metrics: str, log: Path, args: tuple[str, ...]) -> None:
        self.process = process
        self.metrics = metrics
        """The address of its ``/metrics``."""
        self.log = log
        """The log file that it writes at info level; what it prints is in the process's own log."""
        self.args = args
        """Its command line as somebody would see it in a Pod, without the places of this machine."""

    def exposes(self, text: str) -> bool:
        """Whether it answers, with this text in it."""
        try:
            return text in httpx.get(self.metrics, trust_env=False, timeout=5.0).text
        except httpx.HTTPError:
            return False


def start_operator(
    plane: ControlPlane, tools: Toolbox, container: Container, folder: Path, settings: OperatorSettings, name: str
) -> Operator:
    """Start an operator and wait until its controllers run, or, for a standby, until it answers.

    Raises:
        ScenarioError: it asks for a CPU limit, and this machine allows none.
        LabError: it does not start.
    """
    try:
        container.limit_cpu(settings.cpu_limit_cores)
    except OSError as error:
        raise ScenarioError(str(error)) from error
    metrics, probes = free_ports(2)
    log = folder / f"{name}.file.log"
    printed = folder / f"{name}.log"
    for path in (log, printed):
        path.unlink(missing_ok=True)
    flags = (
        f"--reconcile-concurrency={settings.concurrency}",
        f"--metrics-addr=127.0.0.1:{metrics}",
        f"--health-probe-bind-address=127.0.0.1:{probes}",
        "--enable-metrics=true",
        "--enable-leader-election=true",
        f"--leader-election-namespace={OPERATOR_NAMESPACE}",
        f"--log-file-path={log}",
        f"--qps={settings.qps:g}",
        f"--burst={settings.burst}",
        *(() if settings.log_level is None else (f"--zap-log-level={settings.log_level}",)),
        *settings.args,
    )
    environ = {
        "KUBECONFIG": str(plane.operator_kubeconfig),
        "POD_NAMESPACE": OPERATOR_NAMESPACE,
        "POD_NAME": "kuberay-operator-0",
    }
    command: tuple[str | Path, ...] = (tools.path(f"operator-{settings.build}"), *flags)
    process = plane.processes.start(Process(name, command, printed, environ, container.entrances()))
    shown = tuple(flag.replace(str(folder), "/var/log/kuberay") for flag in flags)
    operator = Operator(process, f"http://127.0.0.1:{metrics}/metrics", log, ("kuberay-operator", *shown))

    def is_up() -> bool:
        process.check()
        return operator.exposes("go_goroutines" if settings.standby else _LEADS)

    wait_until(f"{name} to work", is_up, _START_SECONDS)
    return operator
