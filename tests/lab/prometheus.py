"""A Prometheus that scrapes the lab's operator, for those who look at it by hand."""

from typing import Final

import yaml

from tests.lab.binaries import Toolbox
from tests.lab.controlplane import free_ports
from tests.lab.laboratory import Laboratory
from tests.lab.operator import Operator
from tests.lab.processes import Process

__all__ = ["start_prometheus"]

_INTERVAL: Final = "5s"


def start_prometheus(lab: Laboratory, tools: Toolbox, operator: Operator) -> str:
    """Start it; the address that it will answer at."""
    targets = {"kuberay-operator": operator.metrics, "container": lab.container_address()}
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [address.split("/")[2]], "labels": {"namespace": "kuberay"}}]}
        for name, address in targets.items()
    ]
    path = lab.folder / "prometheus.yml"
    settings = {"global": {"scrape_interval": _INTERVAL}, "scrape_configs": jobs}
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
