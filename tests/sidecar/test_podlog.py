"""The operator's log through the API server: no line twice, none lost that the server still has."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.runtime.context import Cancellation
from advisor.sidecar.kube.client import KubeClient
from advisor.sidecar.kube.podlog import PodLog, newest, pod_by_name, pods_by_labels
from advisor.sidecar.kube.reading import KubeError
from advisor.sidecar.observed import Observed
from tests.sidecar.apiserver import ApiServer, connected, raw, served
from tests.support import until

BY_CHART = {"app.kubernetes.io/name": "kuberay-operator"}
BY_MANIFESTS = {"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/component": "kuberay-operator"}


def operator(name: str, uid: str = "1", labels: dict[str, str] | None = None, **status: object) -> dict[str, object]:
    """The operator's Pod."""
    pod = raw("Pod", name, namespace="kuberay", uid=uid, labels=BY_CHART if labels is None else labels)
    return pod | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]} | status}


def stamp(second: int, nanosecond: int = 0) -> str:
    """A time as the kubelet writes it."""
    return f"2026-08-21T09:14:{second:02}.{nanosecond:09}Z"


class Following:
    """A log that is followed in a thread, with waits that take no time to speak of."""

    def __init__(self, client: KubeClient, cancellation: Cancellation, since_seconds: int | None = None) -> None:
        self.text = b""
        self.now = 0.0
        find = pods_by_labels(client, "kuberay")
        self._cancellation = cancellation
        self.log = PodLog(
            client, find, self._wait, since_seconds=since_seconds, monotonic=lambda: self.now, random=lambda: 0.0
        )
        self.waits: list[float] = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    @property
    def lines(self) -> list[str]:
        """The whole lines so far."""
        return self.text.decode().splitlines()

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self._cancellation.wait(0.005)

    def _run(self) -> None:
        for chunk in self.log.chunks():
            assert chunk.endswith(b"\n")
            self.text += chunk


@contextlib.contextmanager
def following(api: ApiServer, folder: Path, since_seconds: int | None = None) -> Iterator[Following]:
    """A server and a follower of its operator's log while the block lasts."""
    with served(api) as address, connected(address, folder) as (client, cancellation):
        started = Following(client, cancellation, since_seconds)
        try:
            yield started
        finally:
            cancellation.cancel(0)
            client.close()
            started.thread.join(5.0)
            assert not started.thread.is_alive()


@pytest.fixture
def api() -> ApiServer:
    """A server with one operator."""
    api = ApiServer()
    api.put(operator("operator"))
    return api


def asked_since(api: ApiServer) -> list[tuple[str, str]]:
    """From when on each log was asked for."""
    logs = [one.query for one in api.asked if one.path.endswith("/log")]
    return [(query.get("sinceTime", ""), query.get("sinceSeconds", "")) for query in logs]


def test_lines_come_without_their_times_as_they_are_written(api: ApiServer, tmp_path: Path) -> None:
    """A line that has no time before it comes as it is, for servers that add none."""
    api.say("kuberay/operator", stamp(1), '{"msg": "one"}')
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ['{"msg": "one"}'])
        api.say("kuberay/operator", stamp(2), "two words")
        api.say("kuberay/operator", "no", "time")
        until(lambda: run.lines == ['{"msg": "one"}', "two words", "no time"])
        assert run.log.pod == "kuberay/operator"
        assert (run.log.connections, run.log.errors, run.log.problem) == (1, 0, "")
    query = next(one.query for one in api.asked if one.path.endswith("/log"))
    assert query["follow"] == query["timestamps"] == "true"


def test_after_a_lost_connection_only_new_lines_come(api: ApiServer, tmp_path: Path) -> None:
    """Equal lines of equal time are told apart by their number, since the API only knows whole seconds."""
    for number, (second, nanosecond) in enumerate([(1, 0), (2, 5), (2, 7), (2, 7)]):
        api.say("kuberay/operator", stamp(second, nanosecond), f"{number}")
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ["0", "1", "2", "3"])
        api.cut(abruptly=True)
        until(lambda: run.log.connections == 2)
        api.say("kuberay/operator", stamp(2, 7), "4")
        api.say("kuberay/operator", stamp(2, 8), "5")
        until(lambda: len(run.lines) == 6)
        assert run.lines == ["0", "1", "2", "3", "4", "5"]
        assert run.log.repeated == 3
    assert asked_since(api)[1] == ("2026-08-21T09:14:02Z", "")


def test_times_of_another_zone_and_width_are_compared_as_times(api: ApiServer, tmp_path: Path) -> None:
    """A node's kubelet writes its own zone, which may change in between."""
    api.say("kuberay/operator", "2026-08-21T11:14:02.25+02:00", "0")
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ["0"])
        api.replace_log(
            "kuberay/operator",
            ("2026-08-21T09:14:02.100Z", "before"),
            ("2026-08-21T09:14:02.250Z", "0"),
            ("2026-08-21T09:14:02.251Z", "1"),
            ("2026-99-99T09:14:02.251Z", "2"),
        )
        until(lambda: run.lines == ["0", "1", "2"])
    assert asked_since(api)[1] == ("2026-08-21T09:14:02Z", "")


def test_a_new_pod_is_followed_from_its_first_line(api: ApiServer, tmp_path: Path) -> None:
    """Whatever its name; while there is none it is waited for."""
    api.say("kuberay/operator", stamp(9), "old")
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ["old"])
        api.delete("Pod", "kuberay/operator")
        api.cut()
        until(lambda: "no running Pod" in run.log.problem)
        assert run.log.pod == ""
        api.say("kuberay/other", stamp(3), "new")
        api.put(operator("other", uid="2"))
        until(lambda: run.lines == ["old", "new"])
        assert run.log.pod == "kuberay/other"
    assert asked_since(api)[-1] == ("", "")


def test_a_pod_of_the_same_name_is_another_one(api: ApiServer, tmp_path: Path) -> None:
    """Its lines are older by its clock, and new all the same."""
    api.say("kuberay/operator", stamp(9), "old")
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ["old"])
        api.put(operator("operator", uid="2"))
        api.replace_log("kuberay/operator", (stamp(1), "new"))
        until(lambda: run.lines == ["old", "new"])


def test_a_restarted_container_goes_on_in_the_same_log(api: ApiServer, tmp_path: Path) -> None:
    """While it is down the server refuses, with waits that grow until there is a line again."""
    api.say("kuberay/operator", stamp(1), "before")
    with following(api, tmp_path) as run:
        until(lambda: run.lines == ["before"])
        is_down = threading.Event()
        is_down.set()
        api.refuse = lambda asked: 400 if is_down.is_set() and asked.path.endswith("/log") else None
        api.cut()
        until(lambda: run.log.errors >= 3)
        assert run.waits[:3] == [0.8, 1.6, 3.2]
        assert "400" in run.log.problem
        api.replace_log("kuberay/operator", (stamp(4), "after"))
        is_down.clear()
        until(lambda: run.lines == ["before", "after"])
        assert run.log.problem == ""


def test_of_the_past_only_what_was_asked_for_is_read(api: ApiServer, tmp_path: Path) -> None:
    """At least a second, as the API wants; before the first line the time since the start is added."""
    with following(api, tmp_path, since_seconds=0) as run:
        until(lambda: run.log.connections == 1)
        run.now = 100.5
        api.cut()
        until(lambda: run.log.connections == 2)
        api.say("kuberay/operator", stamp(1), "x")
        until(lambda: run.lines == ["x"])
    assert asked_since(api)[:2] == [("", "1"), ("", "101")]


def test_a_log_that_was_followed_for_long_makes_the_next_wait_short(api: ApiServer, tmp_path: Path) -> None:
    """Even if it said nothing."""
    with following(api, tmp_path) as run:
        for round_trip in range(1, 4):
            until(lambda wanted=round_trip: run.log.connections >= wanted)  # type: ignore[misc]
            run.now += 60.0
            api.cut()
        until(lambda: len(run.waits) >= 3)
        assert run.waits[:3] == [0.8, 0.8, 0.8]


@pytest.mark.parametrize("labels", [BY_CHART, BY_MANIFESTS])
def test_the_operator_is_found_by_the_labels_of_chart_and_manifests(tmp_path: Path, labels: dict[str, str]) -> None:
    """A Pod that is not running or on its way out is not followed."""
    api = ApiServer()
    api.put(operator("pending", labels=labels, phase="Pending"))
    api.put(operator("leader", labels=labels))
    leaving = operator("leaving", labels=labels)
    api.put(raw("Pod", "stranger", namespace="kuberay"))
    api.put(leaving | {"metadata": leaving["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}})  # type: ignore[operator]
    with served(api) as address, connected(address, tmp_path) as (client, _):
        found = pods_by_labels(client, "kuberay")()
        assert found is not None
        assert (found.pod.key, found.container) == ("kuberay/leader", "")
        assert pods_by_labels(client, "elsewhere")() is None


def test_of_several_whoever_knows_the_leader_chooses(tmp_path: Path) -> None:
    """Otherwise the newest of those that are ready."""
    api = ApiServer()
    for number, name in enumerate(("a", "b", "c")):
        pod = operator(name, conditions=[{"type": "Ready", "status": str(name != "c")}])
        pod["metadata"]["creationTimestamp"] = f"2026-01-0{number + 1}T00:00:00Z"  # type: ignore[index]
        api.put(pod)

    def lead(pods: Sequence[Observed]) -> Observed | None:
        return next(pod for pod in pods if pod.name == "a")

    with served(api) as address, connected(address, tmp_path) as (client, _):
        chosen = pods_by_labels(client, "kuberay")()
        assert chosen is not None
        assert chosen.pod.name == "b"
        told = pods_by_labels(client, "kuberay", choose=lead)()
        assert told is not None
        assert told.pod.name == "a"
    assert newest([]) is None


def test_a_pod_is_found_by_name(api: ApiServer, tmp_path: Path) -> None:
    """None where there is none; a refusal is an error."""
    with served(api) as address, connected(address, tmp_path) as (client, _):
        found = pod_by_name(client, "kuberay", "operator")
        assert found is not None
        assert (found.pod.phase, found.container) == ("Running", "")
        assert pod_by_name(client, "kuberay", "nobody") is None
        api.refuse = lambda _: 403
        with pytest.raises(KubeError, match="403"):
            pod_by_name(client, "kuberay", "operator")


@pytest.mark.parametrize(
    ("names", "annotations", "container"),
    [
        (["manager"], {}, ""),
        (["istio-proxy", "kuberay-operator"], {}, "kuberay-operator"),
        (["istio-proxy", "manager"], {}, "istio-proxy"),
        (["a", "kuberay-operator"], {"kubectl.kubernetes.io/default-container": "a"}, "a"),
        (["a", "kuberay-operator"], {"kubectl.kubernetes.io/default-container": "gone"}, "kuberay-operator"),
    ],
)
def test_of_several_containers_the_operators_is_asked_for(
    tmp_path: Path, names: list[str], annotations: dict[str, str], container: str
) -> None:
    """The API server refuses a log whose container it would have to guess; found by labels or by name."""
    api = ApiServer()
    pod = operator("operator")
    pod["metadata"] |= {"annotations": annotations}  # type: ignore[operator]
    api.put(pod | {"spec": {"containers": [{"name": name} for name in names]}})
    with served(api) as address, connected(address, tmp_path) as (client, _):
        for found in (pods_by_labels(client, "kuberay")(), pod_by_name(client, "kuberay", "operator")):
            assert found is not None
            assert found.container == container


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.sampled_from(["", "cut", "lose"])), max_size=25))
def test_whenever_the_connection_is_lost_each_line_comes_once(steps: list[tuple[int, int, str]]) -> None:
    """Lines of growing times, many of them equal, with the connection ended or lost between them."""
    api = ApiServer()
    api.put(operator("operator"))
    at, expected = 0, []
    with TemporaryDirectory() as folder, following(api, Path(folder)) as run:
        for number, (seconds, nanoseconds, how) in enumerate(steps):
            at += seconds * 1_000_000_000 + nanoseconds
            api.say("kuberay/operator", stamp(at // 1_000_000_000, at % 1_000_000_000), f"line {number}")
            expected.append(f"line {number}")
            if how:
                api.cut(abruptly=how == "lose")
        until(lambda: len(run.lines) >= len(expected))
        assert run.lines == expected
