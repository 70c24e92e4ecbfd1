import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from advisor.sources.recording import RecordingSource
from tests.lab import objectlog
from tests.lab.objectlog import ObjectLog
from tests.lab.processes import wait_until
from tests.lab.rayobjects import ray_object
from tests.lab.stubs import PODS, RAYCLUSTERS, ApiServer, Order, api_server, connected, make_ready, pod, raycluster

KINDS = 4


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """An empty API server."""
    with api_server() as server:
        yield server


@contextmanager
def logging(server: ApiServer, path: Path) -> Iterator[ObjectLog]:
    """The log of a server's objects, once all its watches are open."""
    with connected(server) as cluster:
        log = ObjectLog(cluster, path)
        try:
            soon("all watches", lambda: server.watching == KINDS)
            yield log
        finally:
            stop(server, log)


def stop(server: ApiServer, log: ObjectLog) -> None:
    """End a log without waiting for silent watches."""
    log._over.set()
    server.order("end")
    log.stop()


def soon(what: str, is_true: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    wait_until(what, is_true, 30.0, pause=0.01)


def lines(path: Path) -> list[dict[str, Any]]:
    """The lines that are whole."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def seen(path: Path, *keys: str) -> list[tuple[Any, ...]]:
    """Some fields of each line."""
    return [tuple(line[key] for key in keys) for line in lines(path)]


def has_lines(path: Path, count: int) -> None:
    """Wait until there are so many lines, and see that there are no more."""
    soon(f"{count} lines", lambda: len(lines(path)) >= count)
    assert len(lines(path)) == count


def test_what_is_there_comes_first_and_then_every_change_in_order(server: ApiServer, tmp_path: Path) -> None:
    """What existed is told as EXISTING, and each change with the version that it made."""
    path = tmp_path / "objects.jsonl"
    versions = [server.put(RAYCLUSTERS, raycluster("team-a", "rc-000"))]
    with logging(server, path):
        has_lines(path, 1)
        versions.append(server.put(RAYCLUSTERS, raycluster("team-a", "rc-001")))
        versions.append(server.put(RAYCLUSTERS, raycluster("team-a", "rc-001", 2)))
        versions.append(server.remove(RAYCLUSTERS, "team-a", "rc-000"))
        has_lines(path, 4)
    assert seen(path, "event", "name", "rv") == [
        ("EXISTING", "rc-000", versions[0]),
        ("ADDED", "rc-001", versions[1]),
        ("MODIFIED", "rc-001", versions[2]),
        ("DELETED", "rc-000", versions[3]),
    ]
    times = [line["t"] for line in lines(path)]
    assert times == sorted(times)


def test_all_four_kinds_are_followed(server: ApiServer, tmp_path: Path) -> None:
    """Pods and Ray objects of every namespace are in one file; other kinds are not."""
    path = tmp_path / "objects.jsonl"
    with logging(server, path):
        server.put("api/v1/services", {"metadata": {"namespace": "team-a", "name": "head"}})
        for count, kind in enumerate(("RayCluster", "RayJob", "RayService"), 1):
            server.put(f"apis/ray.io/v1/{kind.lower()}s", ray_object(kind, f"team-{count}", "one", 1))
            has_lines(path, count)
        server.put(PODS, pod("team-4", "one"))
        has_lines(path, KINDS)
    assert seen(path, "kind", "namespace") == [
        ("RayCluster", "team-1"),
        ("RayJob", "team-2"),
        ("RayService", "team-3"),
        ("Pod", "team-4"),
    ]


@pytest.mark.parametrize("how", ["end", "break"])
def test_a_watch_that_is_over_goes_on_where_it_was(server: ApiServer, tmp_path: Path, how: Order) -> None:
    """Whether the server ends it or the connection breaks: no change is missed or told twice, and none listed anew."""
    path = tmp_path / "objects.jsonl"
    with logging(server, path):
        server.put(PODS, pod("team-a", "one"))
        last = server.put(PODS, pod("team-a", "two"))
        has_lines(path, 2)
        watches = len(server.sent("GET", "/pods", watch=True))
        server.order(how)
        soon("another watch", lambda: len(server.sent("GET", "/pods", watch=True)) > watches)
        server.put(PODS, pod("team-a", "three"))
        has_lines(path, 3)
    assert [name for (name,) in seen(path, "name")] == ["one", "two", "three"]
    assert server.sent("GET", "/pods", watch=True)[watches].query["resourceVersion"] == last
    assert len(server.sent("GET", "/pods")) == 1


def test_a_silent_server_is_asked_again(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that says nothing may be dead, so it is given up, and the next one goes on from the same version."""
    monkeypatch.setattr(objectlog, "_SILENCE_SECONDS", 0.3)
    path = tmp_path / "objects.jsonl"
    with logging(server, path):
        last = server.put(PODS, pod("team-a", "one"))
        has_lines(path, 1)
        watches = len(server.sent("GET", "/pods", watch=True))
        soon("two more watches", lambda: len(server.sent("GET", "/pods", watch=True)) >= watches + 2)
        server.put(PODS, pod("team-a", "two"))
        has_lines(path, 2)
    assert server.sent("GET", "/pods", watch=True)[watches + 1].query["resourceVersion"] == last
    assert len(server.sent("GET", "/pods")) == 1


def test_a_version_that_has_expired_makes_a_new_list(server: ApiServer, tmp_path: Path) -> None:
    """After the server's ERROR everything there is told as it now is, and watched from there."""
    path = tmp_path / "objects.jsonl"
    with logging(server, path):
        server.put(PODS, pod("team-a", "one"))
        has_lines(path, 1)
        server.order("expire")
        has_lines(path, 2)
        server.put(PODS, pod("team-a", "two"))
        has_lines(path, 3)
    assert seen(path, "event", "name") == [("ADDED", "one"), ("EXISTING", "one"), ("ADDED", "two")]


@pytest.mark.parametrize(("status", "text"), [(410, '{"kind": "Status", "code": 410}'), (429, "too many requests")])
def test_a_watch_that_is_refused_makes_a_new_list(server: ApiServer, tmp_path: Path, status: int, text: str) -> None:
    """An error in place of a watch, JSON or not, ends nothing: the objects are listed and followed again."""
    path = tmp_path / "objects.jsonl"
    server.put(PODS, pod("team-a", "one"))
    with logging(server, path):
        has_lines(path, 1)
        # The next request is a watch.
        server.refuse("GET", "/pods", status, text, times=1)
        server.order("end")
        has_lines(path, 2)
        server.put(PODS, pod("team-a", "two"))
        has_lines(path, 3)
    assert seen(path, "event", "name") == [("EXISTING", "one"), ("EXISTING", "one"), ("ADDED", "two")]


def test_a_server_that_is_not_up_yet_is_asked_again(server: ApiServer, tmp_path: Path) -> None:
    """A list that fails is tried again until it comes."""
    path = tmp_path / "objects.jsonl"
    server.refuse("GET", "/pods", 503, "starting", times=2)
    server.put(PODS, pod("team-a", "one"))
    with logging(server, path):
        has_lines(path, 1)
    assert len(server.sent("GET", "/pods")) == 3
    assert seen(path, "event") == [("EXISTING",)]


def test_the_file_is_whole_at_every_time(server: ApiServer, tmp_path: Path) -> None:
    """Lines are there as soon as the change is seen, and after the end none is added; a second end is fine."""
    path = tmp_path / "objects.jsonl"
    with logging(server, path) as log:
        server.put(PODS, pod("team-a", "one"))
        has_lines(path, 1)
        stop(server, log)
        text = path.read_text(encoding="utf-8")
        server.put(PODS, pod("team-a", "two"))
        log.stop()
    assert path.read_text(encoding="utf-8") == text


class TestLines:
    @pytest.fixture
    def path(self, server: ApiServer, tmp_path: Path) -> Path:
        """The log of a cluster with its Pod, and a job, from nothing to ready."""
        path = tmp_path / "objects.jsonl"
        with logging(server, path):
            server.put(RAYCLUSTERS, raycluster("team-a", "rc-000", 3))
            has_lines(path, 1)
            server.put(PODS, pod("team-a", "rc-000-head", cluster="rc-000", node_type="head"))
            has_lines(path, 2)
            server.put(PODS, pod("team-a", "rc-000-head", ready=True, cluster="rc-000", node_type="head"))
            has_lines(path, 3)
            server.admit = make_ready
            server.put(RAYCLUSTERS, raycluster("team-a", "rc-000", 3))
            has_lines(path, 4)
            job = ray_object("RayJob", "team-a", "job-000", 1)
            server.put("apis/ray.io/v1/rayjobs", job | {"status": {"jobDeploymentStatus": "Running"}})
            has_lines(path, 5)
        return path

    def test_what_they_say(self, path: Path) -> None:
        """Phase and readiness of Pods, state and generations of clusters, the state of what owns clusters."""
        cluster, waiting, running, ready, job = lines(path)
        of_clusters = ("state", "desired", "ready_workers", "generation", "observed")
        assert [cluster[key] for key in of_clusters] == [None, None, None, 1, None]
        assert [ready[key] for key in of_clusters] == ["ready", 3, 3, 1, 1]
        of_pods = ("phase", "ready", "cluster", "node_type")
        assert [waiting[key] for key in of_pods] == ["Pending", False, "rc-000", "head"]
        assert [running[key] for key in of_pods] == ["Running", True, "rc-000", "head"]
        assert job["state"] == "Running"

    def test_they_have_the_fields_of_the_recordings(self, path: Path, shared: Path) -> None:
        """The same, in the same order, as in the recordings that the format describes."""
        wanted = {}
        for name in ("saturated-one-worker", "slow-dashboard"):
            with gzip.open(shared / "recordings" / name / "objects.jsonl.gz", "rt", encoding="utf-8") as text:
                for line in text:
                    one = json.loads(line)
                    wanted[one["kind"]] = list(one)
        assert {line["kind"]: list(line) for line in lines(path)} == wanted

    def test_the_product_reads_them(self, path: Path) -> None:
        """Every line is one change of a recording, with nothing to note."""
        (path.parent / "metrics.om").write_text("# EOF\n", encoding="utf-8")
        source = RecordingSource(path.parent)
        changes = list(source.changes())
        assert source.notes == []
        assert [(one.event, one.kind, one.name) for one in changes] == seen(path, "event", "kind", "name")
        assert (changes[3].state, changes[3].ready_workers, changes[2].ready) == ("ready", 3, True)

    def test_an_object_may_lack_nearly_everything(self) -> None:
        """A Pod that nobody has looked at has no status and no labels; it is not ready."""
        metadata = {"namespace": "team-a", "name": "one", "resourceVersion": "7", "creationTimestamp": "now"}
        line = objectlog.change("ADDED", "Pod", 1.23456, {"metadata": metadata})
        assert line["t"] == 1.235
        assert [line[key] for key in ("phase", "ready", "cluster", "node_type")] == [None, False, None, None]
