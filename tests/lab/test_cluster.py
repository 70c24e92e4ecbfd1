from collections.abc import Iterator

import pytest

from tests.lab import cluster as module
from tests.lab.cluster import NAMESPACES, Cluster
from tests.lab.processes import LabError
from tests.lab.rayobjects import ray_object
from tests.lab.stubs import PODS, RAYCLUSTERS, TOKEN, ApiServer, api_server, connected, make_ready, pod, raycluster

A = "/apis/ray.io/v1/namespaces/team-a/rayclusters/rc-000"


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An empty API server."""
    with api_server() as server:
        yield server


@pytest.fixture
def cluster(server: ApiServer) -> Iterator[Cluster]:
    """The lab's client of it."""
    with connected(server) as cluster:
        yield cluster


def test_the_token_is_sent(server: ApiServer, cluster: Cluster) -> None:
    """Each request carries it; with another one the API server's refusal is told."""
    cluster.ray_clusters()
    assert server.requests[-1].headers["Authorization"] == f"Bearer {TOKEN}"
    with connected(server, "wrong") as stranger, pytest.raises(LabError, match=r"401 .*Unauthorized"):
        stranger.ray_clusters()


def test_an_error_tells_what_the_server_said(server: ApiServer, cluster: Cluster) -> None:
    """Method, path, status and text are in it, the text not at any length."""
    with pytest.raises(LabError) as failed:
        cluster.get(A)
    assert str(failed.value).startswith(f"GET {A}: 404 ")
    assert '\\"rc-000\\" not found' in str(failed.value)
    server.refuse("POST", "/pods", 403, "exceeded quota: " + "x" * 5000)
    with pytest.raises(LabError, match=r"POST /api/v1/namespaces/team-a/pods: 403 exceeded quota: x+$") as failed:
        cluster.post("/api/v1/namespaces/team-a/pods", pod("team-a", "one"))
    assert len(str(failed.value)) < 500


def test_no_server_is_an_error_too() -> None:
    """Where nobody answers, the call says so, and the server counts as not up."""
    with api_server() as server:
        pass
    with connected(server) as cluster:
        assert not cluster.is_up()
        with pytest.raises(LabError, match=r"GET /apis/ray\.io/v1/rayclusters: "):
            cluster.ray_clusters()


def test_up_is_what_the_server_says(server: ApiServer, cluster: Cluster) -> None:
    """A server that answers but is not ready is not up."""
    assert cluster.is_up()
    server.ready = False
    assert not cluster.is_up()


def test_what_exists_may_be_created_again_only_where_it_may(server: ApiServer, cluster: Cluster) -> None:
    """409 is an error, unless ``may_exist``, which leaves what is there as it is."""
    body = {"kind": "Namespace", "metadata": {"name": "team-a"}}
    cluster.post("/api/v1/namespaces", body)
    with pytest.raises(LabError, match=r"409 .*already exists"):
        cluster.post("/api/v1/namespaces", body)
    version = server.version
    cluster.post("/api/v1/namespaces", body, may_exist=True)
    assert server.version == version
    server.refuse("POST", "/namespaces", 500, "no")
    with pytest.raises(LabError, match="500 no"):
        cluster.post("/api/v1/namespaces", body, may_exist=True)


@pytest.mark.parametrize(
    ("kind", "plural"), [("RayCluster", "rayclusters"), ("RayJob", "rayjobs"), ("RayService", "rayservices")]
)
def test_ray_objects_go_where_their_kind_belongs(server: ApiServer, cluster: Cluster, kind: str, plural: str) -> None:
    """The path follows from kind and namespace."""
    cluster.create_ray(ray_object(kind, "team-b", "one", 3))
    assert server.requests[-1].path == f"/apis/ray.io/v1/namespaces/team-b/{plural}"
    (kept,) = server.objects(f"apis/ray.io/v1/{plural}")
    assert (kept["kind"], kept["metadata"]["name"]) == (kind, "one")


def test_a_patch_merges(server: ApiServer, cluster: Cluster) -> None:
    """It is sent as a merge patch, so that what it does not name stays and null removes."""
    cluster.create_ray(raycluster("team-a", "rc-000"))
    cluster.patch(A, {"metadata": {"annotations": {"a": "1", "b": "2"}}})
    cluster.patch(A, {"metadata": {"annotations": {"a": None}}})
    assert server.requests[-1].headers["Content-Type"] == "application/merge-patch+json"
    found = cluster.get(A)
    assert found["metadata"]["annotations"] == {"b": "2"}
    assert found["spec"] == raycluster("team-a", "rc-000")["spec"]


def test_a_patch_may_fail_only_where_it_may(server: ApiServer, cluster: Cluster) -> None:
    """``may_fail`` is for what is gone or has changed; anything else stays an error."""
    with pytest.raises(LabError, match="404"):
        cluster.patch(A, {})
    cluster.patch(A, {}, may_fail=True)
    server.refuse("PATCH", "rc-000", 409, '{"message": "changed meanwhile"}', times=1)
    cluster.patch(A, {}, may_fail=True)
    server.refuse("PATCH", "rc-000", 500, "etcd failed")
    with pytest.raises(LabError, match="500 etcd failed"):
        cluster.patch(A, {}, may_fail=True)


def test_deleting_what_is_gone_is_fine(server: ApiServer, cluster: Cluster) -> None:
    """One object or a collection; other errors are told."""
    cluster.create_ray(raycluster("team-a", "rc-000"))
    cluster.delete(A, propagationPolicy="Background")
    assert server.requests[-1].query == {"propagationPolicy": "Background"}
    cluster.delete(A)
    assert cluster.ray_clusters() == []
    server.refuse("DELETE", "rc-000", 403, "no")
    with pytest.raises(LabError, match=r"DELETE .*: 403 no"):
        cluster.delete(A)


def test_lists_take_selectors(server: ApiServer, cluster: Cluster) -> None:
    """Parameters go to the server, and a list of nothing is empty."""
    server.put(PODS, pod("team-a", "head", node_type="head"))
    server.put(PODS, pod("team-a", "worker", node_type="worker"))
    server.put(PODS, pod("team-b", "worker", node_type="worker"))
    found = cluster.items("/api/v1/namespaces/team-a/pods", labelSelector="ray.io/node-type=worker")
    assert [one["metadata"]["name"] for one in found] == ["worker"]
    assert len(cluster.items("/api/v1/pods", limit=1)) == 1
    assert cluster.items("/api/v1/namespaces/team-c/pods") == []
    server.refuse("GET", "/services", 200, '{"items": null}')
    assert cluster.items("/api/v1/services") == []


def test_scaling_writes_one_group(server: ApiServer, cluster: Cluster) -> None:
    """The workers are the number asked for, and the rest of the group is as it was."""
    cluster.create_ray(raycluster("team-a", "rc-000", 2))
    cluster.scale("team-a/rc-000", 7)
    wanted = raycluster("team-a", "rc-000", 7)["spec"]
    assert cluster.get(cluster.ray_path("team-a/rc-000"))["spec"] == wanted
    assert set(server.requests[-2].body["spec"]) == {"workerGroupSpecs"}


def test_all_are_ready_once_each_has_its_workers(server: ApiServer, cluster: Cluster) -> None:
    """None at all is not ready; a state of ready with workers missing is not either."""
    assert not cluster.all_ready()
    server.admit = make_ready
    server.put(RAYCLUSTERS, raycluster("team-a", "rc-000", 0))
    server.put(RAYCLUSTERS, raycluster("team-b", "rc-001", 2))
    assert cluster.all_ready()
    server.admit = lambda _: None
    cluster.scale("team-b/rc-001", 3)
    assert not cluster.all_ready()
    cluster.scale("team-b/rc-001", 1)
    assert cluster.all_ready()
    cluster.create_ray(raycluster("team-c", "rc-002"))
    assert not cluster.all_ready()


class TestWipe:
    def test_nothing_is_left(self, server: ApiServer, cluster: Cluster) -> None:
        """Ray objects of each kind, Pods and services go from every namespace, those held by finalizers too."""
        for namespace in NAMESPACES:
            for kind in ("RayCluster", "RayJob", "RayService"):
                held = ray_object(kind, namespace, f"held-{kind.lower()}", 1)
                held["metadata"]["finalizers"] = ["ray.io/gcs"]
                for one in (held, ray_object(kind, namespace, "plain", 1)):
                    cluster.create_ray(one)
            stuck = pod(namespace, "stuck")
            stuck["metadata"] |= {"finalizers": ["lab.example.com/hold"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
            server.put(PODS, stuck)
            server.put(PODS, pod(namespace, "plain"))
            server.put("api/v1/services", {"metadata": {"namespace": namespace, "name": "head"}})
        server.put("api/v1/services", {"metadata": {"namespace": "default", "name": "kubernetes"}})
        cluster.wipe()
        kinds = ("rayclusters", "rayjobs", "rayservices")
        assert [server.objects(f"apis/ray.io/v1/{plural}") for plural in kinds] == [[], [], []]
        assert server.objects(PODS) == []
        assert [one["metadata"]["namespace"] for one in server.objects("api/v1/services")] == ["default"]

    def test_owners_go_before_what_they_own(self, server: ApiServer, cluster: Cluster) -> None:
        """A RayService or RayJob deleted after its RayCluster might have made another one."""
        cluster.wipe()
        plurals = [one.path.rpartition("/")[2] for one in server.sent("DELETE")]
        assert list(dict.fromkeys(plurals)) == ["rayservices", "rayjobs", "rayclusters", "pods"]

    def test_it_waits_until_all_is_gone(self, server: ApiServer, cluster: Cluster) -> None:
        """What is deleted may stay for a while, Terminating."""
        server.put(PODS, pod("team-a", "slow"))
        server.put(RAYCLUSTERS, raycluster("team-a", "rc-000"))
        server.linger = 1
        cluster.wipe()
        assert server.linger == 0
        assert (server.objects(PODS), server.objects(RAYCLUSTERS)) == ([], [])

    def test_what_does_not_go_is_an_error(
        self, server: ApiServer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It says what it waited for."""
        monkeypatch.setattr(module, "_WIPE_SECONDS", 0.0)
        server.put(PODS, pod("team-a", "for-ever"))
        server.linger = 1000
        with pytest.raises(LabError, match="removing what a scenario made: not within 0 s"):
            cluster.wipe()

    def test_an_object_that_goes_meanwhile_is_fine(self, server: ApiServer, cluster: Cluster) -> None:
        """Between the list and the patch of its finalizers it may end."""
        held = raycluster("team-a", "rc-000")
        held["metadata"]["finalizers"] = ["ray.io/gcs"]
        cluster.create_ray(held)
        server.refuse("PATCH", "rc-000", 404, "{}", then=lambda: server.remove(RAYCLUSTERS, "team-a", "rc-000"))
        cluster.wipe()
        assert server.sent("PATCH", "rc-000") != []
