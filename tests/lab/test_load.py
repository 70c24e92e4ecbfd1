import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.lab import load
from tests.lab.binaries import Toolbox
from tests.lab.cgroup import NoContainer
from tests.lab.controlplane import ControlPlane, free_ports
from tests.lab.laboratory import Laboratory
from tests.lab.load import make_existing, take_step
from tests.lab.processes import LabError, Process
from tests.lab.scenario import Existing, Faults, Rule, Step
from tests.lab.stubs import PODS, RAYCLUSTERS, ApiServer, Request, api_server, connected, make_ready, pod, raycluster


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An empty API server, which is the proxy's administration as well."""
    with api_server() as server:
        yield server


@pytest.fixture
def said() -> list[str]:
    """What the lab said."""
    return []


@pytest.fixture
def lab(server: ApiServer, said: list[str], tmp_path: Path) -> Iterator[Laboratory]:
    """A laboratory whose API server and proxy are the one in memory; nothing else runs in it."""
    plane = ControlPlane(Toolbox({}), tmp_path)
    plane.cluster.close()
    plane._ports = dataclasses.replace(plane._ports, proxy_admin=server.server_address[1])
    lab = Laboratory(Toolbox({}), tmp_path, plane, NoContainer(), said.append)
    with connected(server) as cluster:
        plane.cluster = cluster
        yield lab
        lab.close()


def take(lab: Laboratory, **step: Any) -> None:  # noqa: ANN401 - as a scenario's file has it
    """Take a step that is written as in a scenario."""
    take_step(lab, msgspec.convert(step, Step))


def names(server: ApiServer, collection: str = RAYCLUSTERS) -> list[str]:
    """What is there, as ``NAMESPACE/NAME``."""
    return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in server.objects(collection)]


def workers(server: ApiServer) -> list[int]:
    """The workers that each cluster asks for."""
    return [one["spec"]["workerGroupSpecs"][0]["replicas"] for one in server.objects(RAYCLUSTERS)]


def fill(server: ApiServer, count: int) -> None:
    """Clusters of two workers in team-a and team-b, in turn."""
    for number in range(count):
        server.put(RAYCLUSTERS, raycluster(("team-a", "team-b")[number % 2], f"rc-{number:03d}", 2))


class TestCreate:
    def test_names_count_and_namespaces_take_turns(self, lab: Laboratory, server: ApiServer) -> None:
        """Three namespaces unless others are given; each object has the workers asked for."""
        take(lab, create={"count": 5, "workers": 4})
        assert names(server) == ["team-a/rc-000", "team-a/rc-003", "team-b/rc-001", "team-b/rc-004", "team-c/rc-002"]
        assert workers(server) == [4] * 5
        created = [one.body["metadata"]["name"] for one in server.sent("POST")]
        assert created == [f"rc-{number:03d}" for number in range(5)]

    def test_kind_prefix_and_namespaces(self, lab: Laboratory, server: ApiServer) -> None:
        """Each can be chosen."""
        given = {"count": 3, "workers": 1, "kind": "RayJob", "prefix": "job", "namespaces": ["team-c", "team-a"]}
        take(lab, create=given)
        assert names(server, "apis/ray.io/v1/rayjobs") == ["team-a/job-001", "team-c/job-000", "team-c/job-002"]

    def test_what_exists_is_an_error(self, lab: Laboratory, server: ApiServer) -> None:
        """A load that cannot be made as described is none."""
        server.put(RAYCLUSTERS, raycluster("team-b", "rc-001"))
        with pytest.raises(LabError, match="409"):
            take(lab, create={"count": 3, "workers": 1})

    def test_pauses_lie_between(self, lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
        """One every so many seconds."""
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        take(lab, create={"count": 3, "workers": 1, "every_seconds": 30.0})
        assert pauses == [30.0] * 3


class TestExisting:
    def test_it_waits_until_all_are_ready(
        self, lab: Laboratory, server: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Clusters of the namespaces given, all of them ready."""
        monkeypatch.setattr(load, "_SETTLE_SECONDS", 0.0)
        server.admit = make_ready
        make_existing(lab, Existing(clusters=4, workers=2))
        assert names(server) == ["team-a/rc-000", "team-a/rc-002", "team-b/rc-001", "team-b/rc-003"]
        assert lab.cluster.all_ready()

    def test_without_them_nothing_can_begin(
        self, lab: Laboratory, server: ApiServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Clusters that do not become ready are an error of the lab."""
        monkeypatch.setattr(load, "_EXISTING_SECONDS", 0.0)
        with pytest.raises(LabError, match="the existing clusters: not within 0 s"):
            make_existing(lab, Existing(clusters=1, workers=1))


class TestWaitReady:
    def test_ready_clusters_end_it(self, lab: Laboratory, server: ApiServer, said: list[str]) -> None:
        """Nothing is said of a load that became ready in time."""
        server.admit = make_ready
        fill(server, 2)
        take(lab, wait_ready_seconds=600.0)
        assert said == []

    def test_one_that_never_is_ready_is_a_result(self, lab: Laboratory, server: ApiServer, said: list[str]) -> None:
        """It is said, and the run goes on."""
        fill(server, 1)
        take(lab, wait_ready_seconds=0.0)
        assert said == ["all clusters ready: not within 0 s"]


class TestScaleAndNudge:
    def test_only_the_clusters_named_are_scaled(self, lab: Laboratory, server: ApiServer) -> None:
        """To the number given, up or down."""
        fill(server, 4)
        take(lab, scale={"clusters": ["team-a/rc-000", "team-b/rc-003"], "workers": 9})
        assert dict(zip(names(server), workers(server), strict=True)) == {
            "team-a/rc-000": 9,
            "team-a/rc-002": 2,
            "team-b/rc-001": 2,
            "team-b/rc-003": 9,
        }
        take(lab, scale={"clusters": ["team-b/rc-003"], "workers": 0})
        assert workers(server) == [9, 2, 2, 0]

    def test_a_cluster_that_is_not_there(self, lab: Laboratory) -> None:
        """It is an error that names it."""
        with pytest.raises(LabError, match=r"rayclusters/rc-007: 404"):
            take(lab, scale={"clusters": ["team-a/rc-007"], "workers": 9})

    def test_a_nudge_goes_round(self, lab: Laboratory, server: ApiServer) -> None:
        """Each write is of the next cluster, every second one with a worker more."""
        fill(server, 3)
        take(lab, nudge={"seconds": 0.3, "every_seconds": 0.001})
        sent = server.sent("PATCH")
        assert sent != []
        expected = [2, 2, 2]
        order = ["team-a/rc-000", "team-a/rc-002", "team-b/rc-001"]
        for number, request in enumerate(sent):
            place = number % 3
            expected[place] += (number + 1) % 2
            assert request.path == lab.cluster.ray_path(order[place])
            assert request.body["spec"]["workerGroupSpecs"][0]["replicas"] == expected[place]
        assert workers(server) == expected


class TestWrite:
    def of(self, server: ApiServer) -> list[Request]:
        """The writes."""
        return server.sent("PATCH", "/rayclusters/")

    def test_an_annotation_of_the_clusters_named(self, lab: Laboratory, server: ApiServer) -> None:
        """Each write has another value, and nothing but the annotation is written."""
        fill(server, 3)
        take(lab, write={"field": "annotations", "clusters": ["team-b/rc-001"], "per_second": 50.0, "seconds": 0.2})
        writes = self.of(server)
        wanted = [{"metadata": {"annotations": {"example.com/heartbeat": str(n)}}} for n in range(1, len(writes) + 1)]
        assert [one.body for one in writes] == wanted
        assert {one.path for one in writes} == {lab.cluster.ray_path("team-b/rc-001")}
        generations = [one["metadata"]["generation"] for one in server.objects(RAYCLUSTERS)]
        assert generations == [1, 1, 1]

    def test_labels_of_any_by_several_writers(self, lab: Laboratory, server: ApiServer) -> None:
        """Without names the existing clusters are written, by each writer with values of its own."""
        fill(server, 4)
        take(lab, write={"field": "labels", "per_second": 200.0, "writers": 2, "seconds": 0.3})
        numbers = [int(one.body["metadata"]["labels"]["example.com/heartbeat"]) for one in self.of(server)]
        assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
        assert max(numbers.count(number) for number in numbers) <= 2
        assert {one.path for one in self.of(server)} <= {lab.cluster.ray_path(name) for name in names(server)}

    def test_clusters_that_go_or_change_meanwhile(self, lab: Laboratory, server: ApiServer) -> None:
        """A conflict or a missing cluster is no error."""
        server.put(RAYCLUSTERS, raycluster("team-a", "rc-000"))
        server.refuse("PATCH", "rc-000", 409, "{}", times=1)
        given = ["team-a/rc-000"]
        take(lab, write={"field": "labels", "clusters": given, "per_second": 100.0, "seconds": 0.2})
        server.remove(RAYCLUSTERS, "team-a", "rc-000")
        take(lab, write={"field": "labels", "clusters": given, "per_second": 100.0, "seconds": 0.1})
        assert {one.path for one in self.of(server)} == {lab.cluster.ray_path(given[0])}

    def test_any_other_refusal_ends_the_step(self, lab: Laboratory, server: ApiServer) -> None:
        """A writer that cannot write makes the step an error, once all writers have ended."""
        fill(server, 1)
        server.refuse("PATCH", "rc-000", 403, "not allowed")
        with pytest.raises(LabError, match=r"PATCH .*rc-000: 403 not allowed"):
            take(lab, write={"field": "labels", "per_second": 100.0, "writers": 2, "seconds": 0.2})


class TestHold:
    def test_worker_pods_are_held_and_released(self, lab: Laboratory, server: ApiServer) -> None:
        """Those of the namespace, neither heads nor Pods of others; deleted ones stay until the release."""
        for namespace in ("team-a", "team-b"):
            for kind in ("head", "worker"):
                server.put(PODS, pod(namespace, kind, node_type=kind))
        take(lab, hold={"namespace": "team-a"})
        held = [one["metadata"]["name"] for one in server.objects(PODS) if one["metadata"].get("finalizers")]
        assert held == ["worker"]
        for namespace in ("team-a", "team-b"):
            lab.cluster.delete(f"/api/v1/namespaces/{namespace}/pods")
        assert names(server, PODS) == ["team-a/worker"]
        take(lab, hold={"namespace": "team-a", "release": True})
        assert names(server, PODS) == []

    def test_a_pod_that_goes_meanwhile_is_fine(self, lab: Laboratory, server: ApiServer) -> None:
        """It needs no finalizer any more."""
        server.put(PODS, pod("team-a", "worker", node_type="worker"))
        server.refuse("PATCH", "/pods/worker", 404, "{}", then=lambda: server.remove(PODS, "team-a", "worker"))
        take(lab, hold={"namespace": "team-a"})
        assert names(server, PODS) == []


class TestPartsAndFaults:
    def test_a_part_is_done_something_to(self, lab: Laboratory, tmp_path: Path) -> None:
        """A part is killed and started again by its name; one that the lab has not is an error."""
        part = lab.plane.processes.start(Process("kwok", ("sleep", "600"), tmp_path / "kwok.log"))
        first = part.pid
        take(lab, part={"name": "kwok", "do": "kill"})
        assert lab.plane.processes.pids() == {}
        take(lab, part={"name": "kwok", "do": "restart"})
        assert lab.plane.processes.pids() not in ({}, {"kwok": first})
        with pytest.raises(LabError, match="no part scheduler; there are: kwok"):
            take(lab, part={"name": "scheduler", "do": "pause"})

    def test_faults_replace_those_before(self, lab: Laboratory, server: ApiServer) -> None:
        """The proxy gets all of them, with each key that it knows."""
        faults = Faults(rules=(Rule(methods=("POST",), path="/pods", status=429, probability=0.5),))
        take(lab, faults=msgspec.to_builtins(faults))
        assert msgspec.convert(server.faults, Faults) == faults
        assert set(server.faults["rules"][0]) == set(Rule.__struct_fields__)
        take(lab, faults={})
        assert server.faults == {"rules": [], "dashboard": {"delay_ms": 0.0, "job_status": "RUNNING"}}

    def test_faults_that_the_proxy_refuses(self, lab: Laboratory, server: ApiServer) -> None:
        """What it says about them is told."""
        server.refuse("PUT", "/faults", 400, "rule 1: error parsing regexp\n")
        with pytest.raises(LabError, match=r"the proxy refuses the faults: rule 1: error parsing regexp$"):
            take(lab, faults={"rules": [{"path": "("}]})

    def test_faults_without_a_proxy(self, lab: Laboratory) -> None:
        """Where it does not answer, that is told."""
        lab.plane._ports = dataclasses.replace(lab.plane._ports, proxy_admin=free_ports(1)[0])
        with pytest.raises(LabError, match="the proxy does not take the faults: "):
            take(lab, faults={})

    def test_a_sleep_only_waits(self, lab: Laboratory, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
        """So many seconds, without a request."""
        pauses: list[float] = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        take(lab, sleep_seconds=90.0)
        assert pauses == [90.0]
        assert server.requests == []
