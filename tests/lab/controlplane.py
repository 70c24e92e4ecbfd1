"""A Kubernetes control plane on loopback: etcd, API server, scheduler, controller manager, kwok, and the fault proxy.

Pods become ready at once on kwok's nodes, so only the control plane works.
"""

import json
import secrets
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
import yaml

from tests.lab.binaries import Toolbox
from tests.lab.cluster import NAMESPACES, Cluster
from tests.lab.processes import LabError, Process, Processes, wait_until
from tests.lab.rayobjects import PLURALS
from tests.lab.scenario import Faults

__all__ = ["OPERATOR_NAMESPACE", "ControlPlane", "free_ports"]

OPERATOR_NAMESPACE: Final = "kuberay"
_NODES: Final = 20
_START_SECONDS: Final = 120.0
_CLIENT_LIMITS: Final = ("--kube-api-qps=500", "--kube-api-burst=1000")
"""Scheduler and controller manager must not be what a load waits for."""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


@dataclass(frozen=True, slots=True)
class _Ports:
    etcd: int
    etcd_peer: int
    api: int
    proxy: int
    proxy_admin: int
    scheduler: int
    manager: int
    kwok: int


class ControlPlane:
    """Everything but the operator, in a folder of its own."""

    controllers: Sequence[str] = (
        "garbage-collector-controller",
        "namespace-controller",
        "job-controller",
        "endpoints-controller",
    )
    """Those of Kubernetes' own that a load needs."""

    def __init__(self, tools: Toolbox, folder: Path) -> None:
        self._tools = tools
        self._folder = folder
        self._ports = _Ports(*free_ports(8))
        self._token = secrets.token_hex(16)
        self.processes = Processes()
        self.cluster = Cluster(self.api_address, self._token)
        self.kubeconfig = folder / "kubeconfig"
        self.operator_kubeconfig = folder / "kubeconfig-operator"
        """The way through the proxy."""

    @property
    def api_address(self) -> str:
        """The API server itself."""
        return f"https://127.0.0.1:{self._ports.api}"

    @property
    def proxy_address(self) -> str:
        """The proxy before the API server."""
        return f"https://127.0.0.1:{self._ports.proxy}"

    @property
    def faults_address(self) -> str:
        """Where the proxy takes faults."""
        return f"http://127.0.0.1:{self._ports.proxy_admin}/faults"

    def up(self) -> None:
        """Start everything and wait until it works.

        Raises:
            LabError: a part does not start.
            BuildError: a program is not built.
        """
        self._write_files()
        self._start("etcd", *self._etcd())
        self._start("kube-apiserver", *self._api_server())
        self._wait("the API server", self.cluster.is_up)
        for name, port, arguments in (
            ("kube-scheduler", self._ports.scheduler, ()),
            ("kube-controller-manager", self._ports.manager, (f"--controllers={','.join(self.controllers)}",)),
        ):
            certificates = f"--cert-dir={self._folder / 'certificates'}"
            own = (self._kubeconfig(), "--leader-elect=false", "--bind-address=127.0.0.1", f"--secure-port={port}")
            self._start(name, *own, certificates, *_CLIENT_LIMITS, *arguments)
        self._start("kwok", *self._kwok())
        self._start("faultproxy", *self._proxy())
        self._wait("the proxy", self._proxy_answers)
        self._install()
        self._wait("nodes", self._nodes_are_ready)
        self._wait("the Ray kinds", self._kinds_are_served)
        self.processes.check()

    def down(self) -> None:
        """End everything."""
        self.cluster.close()
        self.processes.stop_all()

    def set_faults(self, faults: Faults) -> None:
        """Put these faults into force, in place of any before.

        Raises:
            LabError: the proxy refuses them, or does not answer.
        """
        try:
            answer = httpx.put(self.faults_address, json=msgspec.to_builtins(faults), trust_env=False)
        except httpx.HTTPError as error:
            raise LabError(f"the proxy does not take the faults: {error}") from error
        if not answer.is_success:
            raise LabError(f"the proxy refuses the faults: {answer.text.strip()}")

    def _start(self, name: str, *arguments: str | Path) -> None:
        command = (self._tools.path(name), *arguments)
        self.processes.start(Process(name, command, self._folder / f"{name}.log"))

    def _wait(self, what: str, is_true: Any) -> None:  # noqa: ANN401 - a function that tells
        def holds() -> bool:
            self.processes.check()
            return bool(is_true())

        wait_until(what, holds, _START_SECONDS)

    def _kubeconfig(self) -> str:
        return f"--kubeconfig={self.kubeconfig}"

    def _write_files(self) -> None:
        self._private("token", self._token)
        self._private("tokens.csv", f'{self._token},admin,1,"system:masters"\n')
        key = self._folder / "service-accounts.key"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        for path, server in ((self.kubeconfig, self.api_address), (self.operator_kubeconfig, self.proxy_address)):
            self._private(path.name, yaml.safe_dump(_kubeconfig(server, self._token)))

    def _private(self, name: str, text: str) -> None:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")

    def _etcd(self) -> Sequence[str]:
        clients, peers = (f"http://127.0.0.1:{port}" for port in (self._ports.etcd, self._ports.etcd_peer))
        return (
            f"--data-dir={self._folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
            "--log-level=warn",
        )

    def _api_server(self) -> Sequence[str]:
        key = self._folder / "service-accounts.key"
        return (
            f"--etcd-servers=http://127.0.0.1:{self._ports.etcd}",
            f"--secure-port={self._ports.api}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self._folder / 'certificates'}",
            f"--token-auth-file={self._folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://lab",
            "--service-cluster-ip-range=10.200.0.0/16",
            # Nothing here makes service accounts or knows how nodes fare.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,DefaultTolerationSeconds",
            "--endpoint-reconciler-type=none",
            "--max-requests-inflight=800",
            "--max-mutating-requests-inflight=400",
        )

    def _kwok(self) -> Sequence[str]:
        stages = sorted(self._tools.path("stages").glob("*.yaml"))
        address = f"--server-address=127.0.0.1:{self._ports.kwok}"
        own = (self._kubeconfig(), "--manage-all-nodes=true", "--node-ip=127.0.0.1", address)
        return (*own, *(word for path in stages for word in ("--config", str(path))))

    def _proxy(self) -> Sequence[str]:
        return (
            f"-listen=127.0.0.1:{self._ports.proxy}",
            f"-admin=127.0.0.1:{self._ports.proxy_admin}",
            f"-target={self.api_address}",
            f"-token-file={self._folder / 'token'}",
        )

    def _proxy_answers(self) -> bool:
        try:
            return httpx.get(self.faults_address, trust_env=False).is_success
        except httpx.HTTPError:
            return False

    def _install(self) -> None:
        for path in sorted(self._tools.path("crds").glob("*.yaml")):
            for one in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
                self.cluster.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
        for number in range(_NODES):
            self.cluster.post("/api/v1/nodes", _node(f"node-{number}"))
        for namespace in (OPERATOR_NAMESPACE, *NAMESPACES):
            self.cluster.post(
                "/api/v1/namespaces",
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
                may_exist=True,
            )

    def _nodes_are_ready(self) -> bool:
        nodes = self.cluster.items("/api/v1/nodes")
        ready = [
            condition
            for node in nodes
            for condition in node.get("status", {}).get("conditions", [])
            if condition["type"] == "Ready" and condition["status"] == "True"
        ]
        return len(ready) == _NODES

    def _kinds_are_served(self) -> bool:
        try:
            self.cluster.ray_clusters()
            served = {one["name"] for one in self.cluster.get("/apis/ray.io/v1")["resources"]}
        except (LabError, json.JSONDecodeError):
            return False
        return served >= set(PLURALS.values())


def _kubeconfig(server: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": server, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "admin"}}],
    }


def _node(name: str) -> dict[str, Any]:
    size = {"cpu": "10000", "memory": "10Ti", "pods": "20000"}
    metadata = {"name": name, "labels": {"type": "kwok"}, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": size, "capacity": size}}
