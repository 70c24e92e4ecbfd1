"""Manifests on the lab's API server: the chart rendered by helm, objects applied and removed, and what is there."""

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from tests.lab.binaries import Toolbox
from tests.lab.cluster import Cluster
from tests.lab.processes import LabError, wait_until
from tests.support import ROOT

__all__ = ["CHART", "Manifests", "Objects", "foreign_definitions", "modes", "read_all", "rendered"]

CHART: Final = ROOT / "helm" / "kuberay-advisor"
Manifests = list[dict[str, Any]]
_CLUSTER_FIRST: Final = ("Namespace", "CustomResourceDefinition", "ServiceAccount", "ConfigMap", "Secret")
_KEPT_BY_THE_SERVER: Final = frozenset({"events", "leases", "ipaddresses"})
"""What it writes all the time, and what it writes for each Service and takes away with it."""
_WAIT_SECONDS: Final = 30.0
_FOREIGN: Final = {
    "monitoring.coreos.com": ("ServiceMonitor", "PodMonitor", "PrometheusRule"),
    "gateway.networking.k8s.io": ("HTTPRoute",),
}


def modes() -> list[Path]:
    """The values of each mode that the chart is checked with."""
    return sorted((CHART / "ci").glob("*-values.yaml"))


def read_all(text: str) -> Manifests:
    """The objects of a manifest; those that are no object, since nothing was rendered, are left out."""
    return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def rendered(tools: Toolbox, *arguments: str | Path, namespace: str, release: str = "advisor") -> Manifests:
    """What `helm template` makes of the chart; hooks, such as the Pod of `helm test`, are not part of it."""
    command = [tools.path("helm"), "template", release, CHART, "--namespace", namespace, "--no-hooks", *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return read_all(done.stdout)


def foreign_definitions() -> Manifests:
    """Definitions of the kinds that come with other products and that the chart can make; they take any content."""
    found = []
    for group, kinds in _FOREIGN.items():
        for kind in kinds:
            plural = f"{kind.lower()}s"
            schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
            # The server asks it of groups below k8s.io.
            metadata = {
                "name": f"{plural}.{group}",
                "annotations": {"api-approved.kubernetes.io": "unapproved, a test"},
            }
            spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
            found.append(
                {
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "metadata": metadata,
                    "spec": spec,
                }
            )
    return found


class Objects:
    """Objects by their kind; the server says where each kind is."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def knows(self, one: Mapping[str, Any]) -> bool:
        """Whether the server has the kind of an object."""
        return self._resource(one) is not None

    def collection(self, one: Mapping[str, Any]) -> str:
        """The path of the collection that an object belongs to."""
        resource = self._resource(one)
        assert resource is not None, f"the server has no {one['kind']} of {one['apiVersion']}"
        namespace = one["metadata"].get("namespace", self._namespace)
        place = f"namespaces/{namespace}/" if resource["namespaced"] else ""
        return f"{_root(one['apiVersion'])}/{place}{resource['name']}"

    def path(self, one: Mapping[str, Any]) -> str:
        """The path of an object."""
        return f"{self.collection(one)}/{one['metadata']['name']}"

    def apply(self, manifests: Iterable[dict[str, Any]], *, is_trial: bool = False) -> list[dict[str, Any]]:
        """Apply all, in the order in which one may need another; what the server made of them."""
        ordered = sorted(manifests, key=lambda one: _CLUSTER_FIRST.index(one["kind"]) if _is_first(one) else 99)
        return [self._cluster.apply(self.path(one), one, is_trial=is_trial) for one in ordered]

    def remove(self, manifests: Sequence[dict[str, Any]]) -> None:
        """Remove all, and wait until they are gone. Finalizers go too: who would see to them may not run."""
        for one in manifests:
            path = self.path(one)
            self._cluster.delete(path, propagationPolicy="Background")
            self._cluster.patch(path, {"metadata": {"finalizers": None}}, may_fail=True)
        left = {self.path(one) for one in manifests}
        wait_until("their removal", lambda: not left & self.everything(), _WAIT_SECONDS)

    def ensure_namespaces(self, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Create the namespaces that objects are in."""
        for name in {one["metadata"]["namespace"] for one in manifests if "namespace" in one["metadata"]}:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._cluster.post("/api/v1/namespaces", body, may_exist=True)

    def everything(self) -> set[str]:
        """The path of every object that is there, but for what the server itself writes beside."""
        found: set[str] = set()
        for version, plural, is_namespaced in self.resources("list"):
            for one in self._items(f"{_root(version)}/{plural}"):
                metadata = one["metadata"]
                place = f"namespaces/{metadata['namespace']}/" if is_namespaced else ""
                found.add(f"{_root(version)}/{place}{plural}/{metadata['name']}")
        return found

    def resources(self, verb: str = "") -> list[tuple[str, str, bool]]:
        """Version, name, and whether namespaced, of each resource; with a verb, of those that it can be done with."""
        versions = ["v1", *(group["preferredVersion"]["groupVersion"] for group in self._groups())]
        found = []
        for version in versions:
            found += [
                (version, one["name"], one["namespaced"])
                for one in self._cluster.get(_root(version))["resources"]
                if not verb or (verb in one["verbs"] and one["name"] not in _KEPT_BY_THE_SERVER)
            ]
        return found

    def _resource(self, one: Mapping[str, Any]) -> dict[str, Any] | None:
        version = one["apiVersion"]
        served = {each["groupVersion"] for group in self._groups() for each in group["versions"]}
        if version != "v1" and version not in served:
            return None
        try:
            found: list[dict[str, Any]] = self._cluster.get(_root(version))["resources"]
        except LabError:
            # A definition that comes or goes is in the list of groups a moment before or after.
            return None
        return next((each for each in found if each["kind"] == one["kind"] and "/" not in each["name"]), None)

    def _items(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []

        def could() -> bool:
            try:
                found[:] = self._cluster.items(path)
            except LabError as error:
                # The first list of a kind may come before the server has read them itself.
                if "initializing" in str(error):
                    return False
                raise
            return True

        wait_until(path, could, _WAIT_SECONDS)
        return found

    def _groups(self) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = self._cluster.get("/apis")["groups"]
        return groups


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def _is_first(one: Mapping[str, Any]) -> bool:
    return one["kind"] in _CLUSTER_FIRST
