"""Containers of Pods on the lab's API server, as processes of this machine: there is no kubelet that would run them.

Arguments, variables and mounted files are those of the Pod. What only a node has is put in the place of it: a folder
for each mount, a free port of loopback for each port of a container, such an address for the name of a Service, and a
kubeconfig with a token of the Pod's service account for the files that a kubelet mounts.
"""

import base64
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.lab.controlplane import free_ports
from tests.lab.laboratory import Laboratory
from tests.lab.processes import Process, wait_until
from tests.sidecar.apiserver import write_kubeconfig

__all__ = ["Containers"]

_PROGRAM: Final = "from advisor.cli import main; main()"
_SERVICE: Final = re.compile(r"http://([a-z0-9-]+)\.([a-z0-9-]+)\.svc(?:\.cluster\.local)?:(\d+)")
_VARIABLE: Final = re.compile(r"\$\((\w+)\)")
_PODS_SECONDS: Final = 60.0


class Containers:
    """What runs of a namespace, and where its ports are."""

    def __init__(self, lab: Laboratory) -> None:
        self._lab = lab
        self._ports: dict[tuple[str, str, int], int] = {}

    def pod(self, namespace: str, labels: Mapping[str, str]) -> dict[str, Any]:
        """The one Pod with these labels, once its node says that it runs."""
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        path = f"/api/v1/namespaces/{namespace}/pods"

        def running() -> list[dict[str, Any]]:
            pods = self._lab.cluster.items(path, labelSelector=selector)
            return [
                one
                for one in pods
                if one.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in one["metadata"]
            ]

        wait_until(f"a Pod {selector}", lambda: len(running()) == 1, _PODS_SECONDS)
        (one,) = running()
        return one

    def port(self, pod: Mapping[str, Any], port: int) -> int:
        """Where a port of a Pod is on this machine."""
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"], port)
        if key not in self._ports:
            (self._ports[key],) = free_ports(1)
        return self._ports[key]

    def is_at(self, pod: Mapping[str, Any], port: int, address: str) -> None:
        """Say where a port of a Pod is that somebody else has started, by an address with that port in it."""
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"], port)
        self._ports[key] = int(address.split("/")[2].rpartition(":")[2])

    def behind(self, namespace: str, service: str, port: int | str) -> tuple[dict[str, Any], int]:
        """The Pod and its port behind a Service's port, given by number or name, as the cluster's own endpoints say."""
        spec = self._lab.cluster.get(f"/api/v1/namespaces/{namespace}/services/{service}")["spec"]
        (name,) = [one.get("name", "") for one in spec["ports"] if port in (one["port"], one.get("name"))]
        path = f"/api/v1/namespaces/{namespace}/endpoints/{service}"
        found: list[tuple[str, int]] = []

        def has_one() -> bool:
            found[:] = [
                (address["targetRef"]["name"], each["port"])
                for subset in self._lab.cluster.get(path).get("subsets") or []
                for address in subset.get("addresses") or []
                for each in subset["ports"]
                if each.get("name", "") == name
            ]
            return len(found) == 1

        wait_until(f"an endpoint of {namespace}/{service}", has_one, _PODS_SECONDS)
        ((pod, number),) = found
        return self._lab.cluster.get(f"/api/v1/namespaces/{namespace}/pods/{pod}"), number

    def start(self, pod: Mapping[str, Any], name: str, files: Mapping[str, Path] | None = None) -> str:
        """Start a container of a Pod, also one that is a native sidecar; the address of its first port.

        Args:
            pod: the Pod.
            name: the container's name.
            files: folders that stand for mounts, by volume; others are made.
        """
        spec = pod["spec"]
        (container,) = [one for one in (*spec["containers"], *spec.get("initContainers", ())) if one["name"] == name]
        assert "command" not in container, "the image's entry point is the program"
        mounts = self._mounted(pod, container, files or {})
        environ = self._environ(pod, container, mounts)
        port = self.port(pod, container["ports"][0]["containerPort"])
        # An address that no argument names is the program's default, which is not to be listened at here.
        environ.setdefault("KUBERAY_ADVISOR_SIDECAR_LISTEN", f"127.0.0.1:{port}")
        words = [self._here(pod, word, mounts, environ) for word in container["args"]]
        process = f"{pod['metadata']['name']}-{name}"
        log = self._lab.folder / f"{process}.log"
        command = (sys.executable, "-c", _PROGRAM, *words)
        self._lab.plane.processes.start(Process(process, command, log, environ))
        return f"http://127.0.0.1:{port}"

    def stop(self, pod: Mapping[str, Any], name: str) -> None:
        """End a container."""
        self._lab.plane.processes.stop(f"{pod['metadata']['name']}-{name}")

    def log(self, pod: Mapping[str, Any], name: str) -> str:
        """What a container has written so far."""
        return (self._lab.folder / f"{pod['metadata']['name']}-{name}.log").read_text(encoding="utf-8")

    def _mounted(
        self, pod: Mapping[str, Any], container: Mapping[str, Any], files: Mapping[str, Path]
    ) -> dict[str, str]:
        """A folder for each mount, by its path in the container, with what a ConfigMap or Secret has."""
        volumes = {one["name"]: one for one in pod["spec"].get("volumes", ())}
        mounts: dict[str, str] = {}
        for mount in container.get("volumeMounts", ()):
            name = mount["name"]
            folder = files.get(name) or self._lab.folder / "volumes" / pod["metadata"]["name"] / name
            folder.mkdir(parents=True, exist_ok=True)
            mounts[mount["mountPath"]] = str(folder)
        for mount in container.get("volumeMounts", ()):
            for file, content in self._content(pod, volumes[mount["name"]]).items():
                text = self._here(pod, content, mounts, {})
                (Path(mounts[mount["mountPath"]]) / file).write_text(text, encoding="utf-8")
        return mounts

    def _content(self, pod: Mapping[str, Any], volume: Mapping[str, Any]) -> dict[str, str]:
        root = f"/api/v1/namespaces/{pod['metadata']['namespace']}"
        if "configMap" in volume:
            data: dict[str, str] = self._lab.cluster.get(f"{root}/configmaps/{volume['configMap']['name']}")["data"]
            return data
        if "secret" in volume:
            secret = self._lab.cluster.get(f"{root}/secrets/{volume['secret']['secretName']}")["data"]
            return {name: base64.b64decode(value).decode() for name, value in secret.items()}
        return {}

    def _environ(
        self, pod: Mapping[str, Any], container: Mapping[str, Any], mounts: Mapping[str, str]
    ) -> dict[str, str]:
        """The container's variables, and what a kubelet gives beside."""
        fields = {
            "status.podIP": "127.0.0.1",
            "status.podIPs": "127.0.0.1",
            "metadata.namespace": pod["metadata"]["namespace"],
            "metadata.name": pod["metadata"]["name"],
        }
        environ: dict[str, str] = {}
        for one in container.get("env", ()):
            value = one["value"] if "value" in one else fields[one["valueFrom"]["fieldRef"]["fieldPath"]]
            environ[one["name"]] = self._here(pod, value, mounts, environ)
        spec = pod["spec"]
        folder = self._lab.folder / "accounts"
        folder.mkdir(exist_ok=True)
        path = folder / f"{pod['metadata']['name']}-{container['name']}"
        if spec.get("automountServiceAccountToken", True):
            token = self._lab.cluster.token(pod["metadata"]["namespace"], spec["serviceAccountName"])
            write_kubeconfig(path, self._lab.plane.api_address, token)
        return {"KUBECONFIG": str(path), "HOME": str(folder), "PATH": os.environ["PATH"]} | environ

    def _here(self, pod: Mapping[str, Any], text: str, mounts: Mapping[str, str], environ: Mapping[str, str]) -> str:
        """Text of a Pod with the places of this machine in it."""
        text = _VARIABLE.sub(lambda match: environ.get(match[1], match[0]), text)
        text = _SERVICE.sub(self._service, text)
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            for one in container.get("ports", ()):
                there, here = one["containerPort"], self.port(pod, one["containerPort"])
                text = text.replace(f"0.0.0.0:{there}", f"127.0.0.1:{here}")
                text = text.replace(f"http://127.0.0.1:{there}/", f"http://127.0.0.1:{here}/")
                # The service's file.
                text = text.replace(f'host = "0.0.0.0"\nport = {there}\n', f'host = "127.0.0.1"\nport = {here}\n')
        paths = "|".join(re.escape(path) for path in sorted(mounts, key=len, reverse=True))
        # Once only, since a folder of this machine may begin like a mount.
        return re.sub(rf"(?<![\w/])(?:{paths})(?=/|$)", lambda match: mounts[match[0]], text) if paths else text

    def _service(self, match: re.Match[str]) -> str:
        pod, port = self.behind(match[2], match[1], int(match[3]))
        return f"http://127.0.0.1:{self.port(pod, port)}"
