"""The sidecar's client and informers against a real API server: rights, restarts, lost versions, size.

Only etcd and the API server run. Where the lab is not built these tests are left out.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from advisor.runtime.context import Cancellation
from advisor.sidecar.embedded import EmbeddedOperator
from advisor.sidecar.kube.client import ClientSettings, KubeClient, connect
from advisor.sidecar.kube.kinds import KINDS, Selection
from advisor.sidecar.kube.reading import KubeError, LogRequest
from tests.lab.apionly import API_ONLY, ApiOnly
from tests.lab.binaries import toolbox
from tests.lab.controlplane import OPERATOR_NAMESPACE
from tests.lab.processes import wait_until
from tests.lab.rayobjects import PLURALS, ray_object
from tests.sidecar.apiserver import write_kubeconfig
from tests.support import ROOT

_MISSING: Final = toolbox().missing(API_ONLY)
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"the lab is not built ({', '.join(_MISSING)}); make lab-build"),
    pytest.mark.timeout(300),
]

_READ: Final = ["get", "list", "watch"]
_RULES: Final = [
    {"apiGroups": ["ray.io"], "resources": list(PLURALS.values()), "verbs": _READ},
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": _READ},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _READ},
]
"""What a chart gives the sidecar's service account."""
_RBAC: Final = "rbac.authorization.k8s.io"
_CLUSTERS: Final = 1000
_PODS_EACH: Final = 5
_WITH_SIZE: Final = "ADVISOR_LAB_SIZE"
_MIB: Final = 1024.0
_MOST_RSS_MIB: Final = 120.0
_MOST_SYNC_SECONDS: Final = 60.0

_WATCHER: Final = """
import json, sys, time
from pathlib import Path
from advisor.runtime.context import Cancellation
from advisor.sidecar.embedded import EmbeddedOperator
from advisor.sidecar.kube.client import ClientSettings, connect

def kib(what):
    # Not getrusage's maximum, which is that of the parent at first.
    return int(Path("/proc/self/status").read_text().partition(what)[2].split()[0])

client = connect(ClientSettings(kubeconfig=Path(sys.argv[1])), Cancellation())
looked = set()
operator = EmbeddedOperator(client, lambda now, controller, key, one: looked.add(key), close=client.close)
before_kib, began = kib("VmRSS:"), time.monotonic()
operator.start()
while not operator.has_synced or len(looked) < int(sys.argv[2]):
    if time.monotonic() - began > 120:
        raise SystemExit("not in sync: %r, %d looked at" % (operator.states(), len(looked)))
    time.sleep(0.01)
seconds, cpu_seconds = time.monotonic() - began, time.process_time()
after_kib = kib("VmRSS:")
objects = {name: len(one) for name, one in operator.informers.items()}
waited = sum(client.limiter.snapshot().wait_ns.values()) / 1e9
began = time.monotonic()
assert operator.stop()
print(json.dumps({
    "seconds": seconds, "cpu_seconds": cpu_seconds, "before_kib": before_kib, "after_kib": after_kib,
    "peak_kib": kib("VmHWM:"), "objects": objects, "limiter_seconds": waited,
    "stop_seconds": time.monotonic() - began,
}))
"""


@pytest.fixture(scope="module")
def token(plane: ApiOnly) -> str:
    """The token of a service account with the chart's rights."""
    metadata = {"name": "sidecar"}
    plane.cluster.post(
        f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
    )
    role = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": _RULES}
    plane.cluster.post(f"/apis/{_RBAC}/v1/clusterroles", role)
    binding = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "sidecar"},
        "subjects": [{"kind": "ServiceAccount", "name": "sidecar", "namespace": OPERATOR_NAMESPACE}],
    }
    plane.cluster.post(f"/apis/{_RBAC}/v1/clusterrolebindings", binding)
    token = plane.token("sidecar")
    kind = Selection(KINDS["RayCluster"])
    path = plane.kubeconfig.with_name("kubeconfig-sidecar")
    write_kubeconfig(path, plane.api_address, token)
    client = connect(ClientSettings(kubeconfig=path, qps=-1.0), Cancellation())

    def has_rights() -> bool:
        try:
            client.list_page(kind)
        except KubeError:
            return False
        return True

    wait_until("the role", has_rights, 30.0)
    client.close()
    return token


@pytest.fixture
def client(plane: ApiOnly, token: str, tmp_path: Path) -> Iterator[KubeClient]:
    """The product's client with that token."""
    path = write_kubeconfig(tmp_path / "kubeconfig", plane.api_address, token)
    client = connect(ClientSettings(kubeconfig=path, qps=-1.0), Cancellation())
    yield client
    client.close()


def test_the_charts_rights_allow_all_that_is_read(plane: ApiOnly, client: KubeClient) -> None:
    """Lists, watches and gets of each kind, and a Pod's log, of which there is none here: no kubelet answers."""
    plane.cluster.create_ray(ray_object("RayCluster", "team-a", "rbac", 0))
    for kind in KINDS.values():
        client.list_page(Selection(kind))
        client.watch(Selection(kind), "", 1).close()
    assert b'"rbac"' in client.get(Selection(KINDS["RayCluster"], "team-a"), "rbac")
    with pytest.raises(KubeError) as no_pod:
        client.pod_log(LogRequest(namespace="team-a", name="nobody"))
    assert no_pod.value.status == 404


def test_every_write_is_refused(plane: ApiOnly, token: str) -> None:
    """Each write verb on each kind, and any access to Secrets, with the token of the chart's rights."""
    expected: list[tuple[str, str]] = []
    refused: list[tuple[str, str]] = []
    allowed: list[tuple[str, str, int]] = []
    paths = [(kind.path("team-a"), kind.path("team-a", "rbac")) for kind in KINDS.values()]
    paths.append(("/api/v1/namespaces/team-a/secrets", "/api/v1/namespaces/team-a/secrets/x"))
    writes = [call for many, one in paths for call in (("POST", many), ("DELETE", many), ("PUT", one), ("PATCH", one))]
    writes += [("DELETE", one) for _, one in paths]
    writes += [("PATCH", f"{one}/status") for _, one in paths[:3]]
    writes += [("POST", f"/api/v1/namespaces/team-a/pods/rbac/{sub}") for sub in ("binding", "eviction", "exec")]
    writes += [("GET", path) for path in paths[-1]]
    with httpx.Client(
        base_url=plane.api_address,
        verify=False,  # noqa: S501 - the API server makes a certificate of its own at each start, on loopback
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/merge-patch+json"},
        trust_env=False,
    ) as http:
        for method, path in writes:
            kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
            answer = http.request(method, path, content=b"{}", headers={"Content-Type": kind})
            expected.append((method, path))
            if answer.status_code == 403:
                refused.append((method, path))
            else:
                allowed.append((method, path, answer.status_code))
    assert allowed == []
    assert refused == expected


def test_a_restart_and_lost_versions_are_survived(plane: ApiOnly, client: KubeClient) -> None:
    """After each the caches show what the server has, without a restart of anything here."""
    looked: dict[str, bool] = {}
    operator = EmbeddedOperator(
        client, lambda _now, _label, key, one: looked.__setitem__(key, one is not None), close=client.close
    )
    operator.start()
    wait_until("the first lists", lambda: operator.has_synced, 30.0)
    plane.cluster.create_ray(ray_object("RayCluster", "team-b", "before", 0))
    wait_until("an event", lambda: looked.get("team-b/before") is True, 10.0)

    plane.processes.do("kube-apiserver", "kill")
    wait_until("its loss", lambda: all(state.problem for state in operator.states().values()), 60.0)
    plane.processes.get("kube-apiserver").start()
    wait_until("the API server", plane.cluster.is_up, 60.0)
    plane.cluster.delete(plane.cluster.ray_path("team-b/before"))
    plane.cluster.create_ray(ray_object("RayCluster", "team-b", "after", 0))
    plane.compact()
    # What was told before the restart is not in the memory of the new server, so that it says 410.
    wait_until("what came meanwhile", lambda: looked.get("team-b/after") is True, 90.0)
    wait_until("what went meanwhile", lambda: looked.get("team-b/before") is False, 30.0)
    wait_until("all watches", lambda: not any(state.problem for state in operator.states().values()), 90.0)
    keys = {f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in plane.cluster.ray_clusters()}
    assert {one.key for one in operator.informers["RayCluster"].objects()} == keys
    assert operator.error is None
    assert operator.states()["RayCluster"].relists >= 1
    assert operator.stop()


@pytest.mark.skipif(os.environ.get(_WITH_SIZE) != "1", reason=f"takes a minute and a half; {_WITH_SIZE}=1 runs it")
def test_a_thousand_clusters_and_five_thousand_pods(plane: ApiOnly, token: str, tmp_path: Path) -> None:
    """At the limits that clients have by default; memory after the sync and at its peak."""
    _create_many(plane)
    path = write_kubeconfig(tmp_path / "kubeconfig", plane.api_address, token)
    command = [sys.executable, "-c", _WATCHER, str(path), str(_CLUSTERS)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    # For those who look: pytest -s.
    sys.stdout.write(done.stdout)
    assert measured["objects"]["RayCluster"] >= _CLUSTERS
    assert measured["objects"]["Pod"] == _CLUSTERS * _PODS_EACH
    assert measured["seconds"] < _MOST_SYNC_SECONDS
    assert measured["peak_kib"] / _MIB < _MOST_RSS_MIB
    assert measured["stop_seconds"] < 2.0


def _create_many(plane: ApiOnly) -> None:
    """RayClusters with Pods of a usual size that belong to them; nothing runs."""

    def create(number: int) -> None:
        name = f"many-{number:04}"
        plane.cluster.create_ray(ray_object("RayCluster", "team-c", name, _PODS_EACH))
        for index in range(_PODS_EACH):
            plane.cluster.post("/api/v1/namespaces/team-c/pods", _pod(name, index))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(_CLUSTERS)))


def _pod(cluster: str, index: int) -> dict[str, Any]:
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "name": cluster,
        "uid": f"uid-{cluster}",
        "controller": True,
    }
    environ = [{"name": f"RAY_SETTING_{number}", "value": "x" * 60} for number in range(40)]
    labels = {
        "ray.io/cluster": cluster,
        "ray.io/group": "g0",
        "ray.io/node-type": "worker",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{cluster}-{index}", "labels": labels, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.50.0", "env": environ}]},
    }
