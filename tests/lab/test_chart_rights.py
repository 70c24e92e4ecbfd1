"""What the watcher's service account may do on a real API server: all that the product reads, and nothing else.

Only etcd and the API server run, so no log can be had: its request gets as far as the Pod, which is not there. Where
the lab is not built these tests are left out.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from advisor.runtime.context import Cancellation
from advisor.sidecar.kube.client import ClientSettings, KubeClient, connect
from advisor.sidecar.kube.kinds import KINDS, PODS, Selection
from advisor.sidecar.kube.podlog import OPERATOR_SELECTORS, pods_by_labels
from advisor.sidecar.kube.reading import KubeError, LogRequest
from tests.lab.apionly import API_ONLY, ApiOnly
from tests.lab.binaries import toolbox
from tests.lab.controlplane import OPERATOR_NAMESPACE
from tests.lab.manifests import Manifests, Objects, rendered
from tests.lab.processes import wait_until
from tests.sidecar.apiserver import write_kubeconfig

_MISSING: Final = toolbox().missing((*API_ONLY, "helm"))
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"the lab is not built ({', '.join(_MISSING)}); make lab-build"),
    pytest.mark.timeout(300),
]

_OURS: Final = "advisor"
"""The chart's namespace, which is not the operator's."""
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
_REFUSED: Final = 403
_WATCHED: Final = {
    ("ray.io", "rayclusters"),
    ("ray.io", "rayjobs"),
    ("ray.io", "rayservices"),
    ("", "pods"),
    ("", "services"),
    ("batch", "jobs"),
}
Right = tuple[str, str, str, str]
"""Namespace, API group, resource, verb."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The chart in a namespace of its own, beside the operator's."""

    plane: ApiOnly
    account: str
    watched: tuple[str, ...]
    """Namespaces that the operator watches; none for all."""


@pytest.fixture(scope="module", params=[(), ("team-a", "team-b")], ids=["cluster-wide", "namespaced"])
def installed(plane: ApiOnly, request: pytest.FixtureRequest) -> Iterator[Installed]:
    """The chart's watcher, for an operator that watches all namespaces, and for one that watches two."""
    watched: tuple[str, ...] = request.param
    arguments = ["--set", f"operator.namespace={OPERATOR_NAMESPACE},serve.enabled=false"]
    if watched:
        arguments += ["--set", f"operator.watchNamespaces={{{','.join(watched)}}}"]
    manifests = rendered(toolbox(), *arguments, namespace=_OURS)
    objects = Objects(plane.cluster, _OURS)
    objects.ensure_namespaces(manifests)
    objects.apply(manifests)
    one = Installed(plane, _account(manifests), watched)
    wait_until(
        "the rights", lambda: may(one, watched[0] if watched else "team-c", "ray.io", "rayclusters", "list"), 30.0
    )
    yield one
    objects.remove(manifests)


def _account(manifests: Manifests) -> str:
    """The service account of the watcher's Pod."""
    (deployment,) = [one for one in manifests if one["kind"] == "Deployment"]
    name: str = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    return name


def may(installed: Installed, namespace: str, group: str, resource: str, verb: str) -> bool:
    """Whether the API server would let the account do it."""
    user = f"system:serviceaccount:{_OURS}:{installed.account}"
    return allowed(installed.plane, user, (namespace, group, resource, verb))


def allowed(plane: ApiOnly, user: str, right: Right) -> bool:
    """Whether the API server would let a user do it."""
    namespace, group, resource, verb = right
    name, _, part = resource.partition("/")
    attributes = {"namespace": namespace, "group": group, "resource": name, "subresource": part, "verb": verb}
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{_OURS}", "system:authenticated"]
    spec = {"user": user, "groups": groups, "resourceAttributes": attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = plane.cluster.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    is_allowed: bool = answer["status"]["allowed"]
    return is_allowed


def everything(plane: ApiOnly) -> list[Right]:
    """Each verb on each resource and subresource, in three namespaces and cluster-wide."""
    found = []
    for version, resource, is_namespaced in Objects(plane.cluster, _OURS).resources():
        group = version.rpartition("/")[0]
        places = (OPERATOR_NAMESPACE, "team-a", "team-c", "") if is_namespaced else ("",)
        found += [(place, group, resource, verb) for place in places for verb in _VERBS]
    return found


def test_it_has_the_rights_that_it_needs_and_no_others(installed: Installed) -> None:
    """Every verb on everything that the server has: beyond what anybody may, the list of docs/sidecar.md is allowed."""
    rights = everything(installed.plane)
    assert len(rights) > 1000

    def held(user: str, asked: list[Right]) -> list[Right]:
        with ThreadPoolExecutor(8) as pool:
            answers = pool.map(lambda right: allowed(installed.plane, user, right), asked)
            return [right for right, is_allowed in zip(asked, answers, strict=True) if is_allowed]

    mine = held(f"system:serviceaccount:{_OURS}:{installed.account}", rights)
    anybody = held(f"system:serviceaccount:{_OURS}:nobody", mine)
    places = installed.watched or (OPERATOR_NAMESPACE, "team-a", "team-c", "")
    wanted = {
        (place, group, resource, verb)
        for place in places
        if place != "team-b"
        for group, resource in _WATCHED
        for verb in ("list", "watch")
    }
    wanted |= {(OPERATOR_NAMESPACE, "", "pods", "list"), (OPERATOR_NAMESPACE, "", "pods/log", "get")}
    assert set(mine) - set(anybody) == wanted


@pytest.fixture
def token(installed: Installed) -> str:
    """A token of the account, as the kubelet would ask for."""
    return installed.plane.cluster.token(_OURS, installed.account)


@pytest.fixture
def client(installed: Installed, token: str, tmp_path: Path) -> Iterator[KubeClient]:
    """The product's own client with that token."""
    path = write_kubeconfig(tmp_path / "kubeconfig", installed.plane.api_address, token)
    client = connect(ClientSettings(kubeconfig=path, qps=-1.0), Cancellation())
    yield client
    client.close()


def test_all_that_the_product_reads_is_allowed(installed: Installed, client: KubeClient) -> None:
    """Lists and watches of each kind where the operator watches, the search for its Pod, and the request for a log."""
    for namespace in installed.watched or ("",):
        for kind in KINDS.values():
            client.list_page(Selection(kind, namespace))
            client.watch(Selection(kind, namespace), "", 1).close()
    assert pods_by_labels(client, OPERATOR_NAMESPACE)() is None
    client.list_page(Selection(PODS, OPERATOR_NAMESPACE, OPERATOR_SELECTORS[0]))
    with pytest.raises(KubeError) as no_pod:
        client.pod_log(LogRequest(namespace=OPERATOR_NAMESPACE, name="nobody"))
    assert no_pod.value.status == 404


def test_other_namespaces_are_refused(installed: Installed, client: KubeClient) -> None:
    """No log of another namespace; and where the operator watches some namespaces, no object of others, nor of all."""
    with pytest.raises(KubeError) as refused:
        client.pod_log(LogRequest(namespace="team-c", name="nobody"))
    assert refused.value.status == _REFUSED
    if not installed.watched:
        return
    for namespace in ("team-c", "", _OURS):
        for kind in KINDS.values():
            with pytest.raises(KubeError) as refused:
                client.list_page(Selection(kind, namespace))
            assert refused.value.status == _REFUSED, (namespace, kind)


def test_writes_and_secrets_are_refused(installed: Installed, token: str) -> None:
    """With the token itself: each write, Secrets, commands in Pods, tunnels to them, tokens, and rights."""
    core, pod = "/api/v1/namespaces/team-a", "/api/v1/namespaces/kuberay/pods/operator"
    calls: list[tuple[str, str]] = []
    for kind in KINDS.values():
        many, one = kind.path("team-a"), kind.path("team-a", "x")
        calls += [("POST", many), ("DELETE", many), ("PUT", one), ("PATCH", one), ("DELETE", one), ("GET", one)]
        calls += [("PATCH", f"{one}/status")]
    calls += [("GET", f"{core}/{name}") for name in ("secrets", "secrets/x", "configmaps", "serviceaccounts", "events")]
    calls += [("POST", f"{pod}/{part}") for part in ("exec", "attach", "portforward", "eviction", "binding")]
    calls += [("GET", f"{pod}/{part}") for part in ("exec", "attach", "portforward", "proxy")]
    calls += [("GET", "/api/v1/nodes"), ("GET", "/api/v1/nodes/node-0/proxy/logs"), ("GET", "/metrics")]
    calls += [("POST", f"/api/v1/namespaces/{_OURS}/serviceaccounts/{installed.account}/token")]
    calls += [("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"), ("GET", "/api/v1/secrets")]
    got: list[Any] = []
    with httpx.Client(
        base_url=installed.plane.api_address,
        verify=False,  # noqa: S501 - the API server makes a certificate of its own at each start, on loopback
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
    ) as http:
        for method, path in calls:
            content = "application/merge-patch+json" if method == "PATCH" else "application/json"
            answer = http.request(method, path, content=b"{}", headers={"Content-Type": content})
            if answer.status_code != _REFUSED:
                got.append((method, path, answer.status_code))
    assert got == []
