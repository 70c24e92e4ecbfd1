"""A Prometheus in the lab: of the operator, for those who look at it by hand, or of whatever a test says."""

from collections.abc import Sequence
from typing import Any, Final

import yaml

from tests.lab.binaries import Toolbox
from tests.lab.controlplane import free_ports
from tests.lab.laboratory import Laboratory
from tests.lab.operator import Operator
from tests.lab.processes import Process

__all__ = ["run_prometheus", "start_prometheus"]

_INTERVAL: Final = "5s"


def start_prometheus(lab: Laboratory, tools: Toolbox, operator: Operator) -> str:
    """Start it; the address that it will answer at."""
    targets = {"kuberay-operator": operator.metrics, "container": lab.container_address()}
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [address.split("/")[2]], "labels": {"namespace": "kuberay"}}]}
        for name, address in targets.items()
    ]
    return run_prometheus(lab, tools, jobs)


def run_prometheus(lab: Laboratory, tools: Toolbox, jobs: Sequence[dict[str, Any]], interval: str = _INTERVAL) -> str:
    """Start one with these scrape jobs; the address that it will answer at."""
    path = lab.folder / "prometheus.yml"
    settings = {"global": {"scrape_interval": interval, "scrape_timeout": interval}, "scrape_configs": list(jobs)}
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    (port,) = free_ports(1)
    arguments = (
        f"--config.file={path}",
        f"--storage.tsdb.path={lab.folder / 'prometheus'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    )
    lab.plane.processes.start(
        Process("prometheus", (tools.path("prometheus"), *arguments), lab.folder / "prometheus.log")
    )
    return f"http://127.0.0.1:{port}"
