"""The API server as the lab's own client sees it: not through the proxy, not limited."""

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import httpx

from tests.lab.processes import LabError, wait_until
from tests.lab.rayobjects import PLURALS, is_ready

__all__ = ["NAMESPACES", "Cluster"]

NAMESPACES: Final = ("team-a", "team-b", "team-c")
_MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}
_APPLY_PATCH: Final = {"Content-Type": "application/apply-patch+yaml"}
_RAY: Final = "/apis/ray.io/v1"
_GONE: Final = 404
_CONFLICT: Final = 409
_WIPE_SECONDS: Final = 240.0


class Cluster:
    """A client of the API server.

    Errors of single calls are ``LabError``, with what the API server said.
    """

    def __init__(self, address: str, token: str) -> None:
        self._client = httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            verify=False,  # noqa: S501 - the API server makes a certificate of its own at each start, on loopback
            trust_env=False,
            timeout=60.0,
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def is_up(self) -> bool:
        """Whether the API server is ready."""
        try:
            return self._client.get("/readyz", timeout=2.0).is_success
        except httpx.HTTPError:
            return False

    def _call(self, method: str, path: str, accept: tuple[int, ...] = (), **given: Any) -> dict[str, Any]:  # noqa: ANN401
        try:
            answer = self._client.request(method, path, **given)
        except httpx.HTTPError as error:
            raise LabError(f"{method} {path}: {error}") from error
        if not answer.is_success and answer.status_code not in accept:
            raise LabError(f"{method} {path}: {answer.status_code} {answer.text[:400]}")
        body: dict[str, Any] = answer.json()
        return body

    def get(self, path: str, **parameters: str | int) -> dict[str, Any]:
        """One object or list."""
        return self._call("GET", path, params=parameters)

    def items(self, path: str, **parameters: str | int) -> list[dict[str, Any]]:
        """The objects of a list."""
        found: list[dict[str, Any]] = self.get(path, **parameters).get("items") or []
        return found

    def post(self, path: str, body: dict[str, Any], *, may_exist: bool = False) -> None:
        """Create an object."""
        self._call("POST", path, (_CONFLICT,) if may_exist else (), json=body)

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Create something, and what the server made of it, such as the token of a request for one."""
        return self._call("POST", path, json=body)

    def token(self, namespace: str, account: str) -> str:
        """A token of a service account."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        body: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token: str = self.create(path, body)["status"]["token"]
        return token

    def apply(self, path: str, body: dict[str, Any], *, is_trial: bool = False) -> dict[str, Any]:
        """Apply an object on the server's side, as `kubectl apply --server-side` does; ``is_trial`` changes nothing."""
        parameters = {"fieldManager": "kuberay-lab", "force": "true"} | ({"dryRun": "All"} if is_trial else {})
        return self._call("PATCH", path, params=parameters, json=body, headers=_APPLY_PATCH)

    def patch(self, path: str, body: dict[str, Any], *, may_fail: bool = False) -> None:
        """Merge into an object; ``may_fail`` is for one that may be gone or change meanwhile."""
        self._call("PATCH", path, (_GONE, _CONFLICT) if may_fail else (), json=body, headers=_MERGE_PATCH)

    def delete(self, path: str, **parameters: str | int) -> None:
        """Delete an object or a collection; one that is gone is fine."""
        self._call("DELETE", path, (_GONE,), params=parameters)

    def create_ray(self, body: dict[str, Any]) -> None:
        """Create a Ray object."""
        self.post(f"{_RAY}/namespaces/{body['metadata']['namespace']}/{PLURALS[body['kind']]}", body)

    @staticmethod
    def ray_path(cluster: str) -> str:
        """The path of a RayCluster named ``NAMESPACE/NAME``."""
        namespace, _, name = cluster.partition("/")
        return f"{_RAY}/namespaces/{namespace}/rayclusters/{name}"

    def ray_clusters(self) -> list[dict[str, Any]]:
        """All RayClusters."""
        return self.items(f"{_RAY}/rayclusters")

    def all_ready(self) -> bool:
        """Whether there are RayClusters, and all are ready."""
        clusters = self.ray_clusters()
        return bool(clusters) and all(map(is_ready, clusters))

    def scale(self, cluster: str, workers: int) -> None:
        """Set the workers of a RayCluster's one group."""
        path = self.ray_path(cluster)
        groups = self.get(path)["spec"]["workerGroupSpecs"]
        groups[0]["replicas"] = workers
        self.patch(path, {"spec": {"workerGroupSpecs": groups}})

    @contextlib.contextmanager
    def watch(self, path: str, version: str, seconds: float) -> Iterator[Iterator[str]]:
        """The lines of a watch; a server that says nothing for so many seconds ends it with ``httpx.ReadTimeout``.

        Raises:
            LabError: the server refuses it.
        """
        timeout = httpx.Timeout(60.0, read=seconds)
        parameters = {"watch": "true", "resourceVersion": version}
        with self._client.stream("GET", path, params=parameters, timeout=timeout) as answer:
            if not answer.is_success:
                raise LabError(f"watch {path}: {answer.status_code} {answer.read()[:400].decode(errors='replace')}")
            yield answer.iter_lines()

    def wipe(self) -> None:
        """Remove all Ray objects and whatever belongs to them; the operator must not run."""
        for plural in reversed(PLURALS.values()):
            for one in self.items(f"{_RAY}/{plural}"):
                path = f"{_RAY}/namespaces/{one['metadata']['namespace']}/{plural}/{one['metadata']['name']}"
                self._release(path, one)
            for namespace in NAMESPACES:
                self.delete(f"{_RAY}/namespaces/{namespace}/{plural}", propagationPolicy="Background")
        for namespace in NAMESPACES:
            for pod in self.items(f"/api/v1/namespaces/{namespace}/pods"):
                self._release(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}", pod)
            self.delete(f"/api/v1/namespaces/{namespace}/pods", gracePeriodSeconds=0)
            for service in self.items(f"/api/v1/namespaces/{namespace}/services"):
                self.delete(f"/api/v1/namespaces/{namespace}/services/{service['metadata']['name']}")
        wait_until("removing what a scenario made", self._is_empty, _WIPE_SECONDS, pause=1.0)

    def _release(self, path: str, one: dict[str, Any]) -> None:
        if one["metadata"].get("finalizers"):
            self.patch(path, {"metadata": {"finalizers": None}}, may_fail=True)

    def _is_empty(self) -> bool:
        return not self.items("/api/v1/pods", limit=1) and not self.ray_clusters()
