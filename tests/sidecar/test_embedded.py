"""The embedded operator against a server on loopback: which keys it looks at, and at which priority."""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import EventType, WatchEvent
from advisor.runtime.collector import RuntimeCollector
from advisor.sidecar.embedded import EmbeddedOperator, EmbeddedSettings
from advisor.sidecar.kube.informer import SharedInformer
from advisor.sidecar.kube.kinds import KINDS, Selection
from advisor.sidecar.observed import Observed
from tests.sidecar.apiserver import ApiServer, connected, owned_by, raw, served
from tests.support import until

LOW = "-100"


class Looked:
    """Notes which keys are looked at, and what was found."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Observed | None]] = []
        self.again: float | None = None
        self.fails = 0

    def __call__(self, now: float, controller: str, key: str, found: Observed | None) -> float | None:
        """Examine."""
        assert abs(now - time.time()) < 60.0
        self.calls.append((controller, key, found))
        if self.fails:
            self.fails -= 1
            raise ValueError("as the test asks for")
        again, self.again = self.again, None
        return again

    def keys(self) -> Counter[tuple[str, str]]:
        """How often each key was looked at."""
        return Counter((controller, key) for controller, key, _ in self.calls)


@contextlib.contextmanager
def operating(
    api: ApiServer, folder: Path, looked: Looked, settings: EmbeddedSettings | None = None
) -> Iterator[EmbeddedOperator]:
    """A server and an embedded operator while the block lasts."""
    with served(api) as address, connected(address, folder) as (client, _):
        operator = EmbeddedOperator(client, looked, settings, close=client.close)
        operator.start()
        try:
            yield operator
        finally:
            began = time.monotonic()
            assert operator.stop(5.0)
            assert time.monotonic() - began < 2.0


def cluster(name: str, owner: str) -> dict[str, object]:
    """A RayCluster of a RayJob."""
    return raw("RayCluster", name, generation=1, ownerReferences=owned_by("RayJob", owner))


@pytest.fixture
def api() -> ApiServer:
    """One RayJob with its RayCluster, and that one's Pod and Service."""
    api = ApiServer()
    api.put(raw("RayJob", "job"))
    api.put(cluster("one", "job"))
    api.put(raw("Pod", "pod", ownerReferences=owned_by("RayCluster", "one")))
    api.put(raw("Service", "svc", ownerReferences=owned_by("RayCluster", "one")))
    api.put(raw("Service", "stranger"))
    return api


def by_priority(operator: EmbeddedOperator, label: str) -> dict[str, int]:
    """Adds of one controller by priority."""
    driver = next(one for one in operator.drivers if one.name == f"advisor-{label}")
    return {priority: one.adds for priority, one in driver.snapshot().by_priority.items() if one.adds}


def test_what_is_there_at_the_start_comes_at_low_priority_once_for_each_key(api: ApiServer, tmp_path: Path) -> None:
    """Pods and Services wake the cluster that is waiting already; a cluster of a job wakes the job."""
    looked = Looked()
    with operating(api, tmp_path, looked) as operator:
        until(lambda: len(looked.keys()) == 2)
        until(lambda: operator.has_synced)
        assert set(looked.keys()) == {("raycluster", "team-a/one"), ("rayjob", "team-a/job")}
        assert set(by_priority(operator, "raycluster")) == set(by_priority(operator, "rayjob")) == {LOW}
        assert {name: len(informer) for name, informer in operator.informers.items()} == {
            "RayCluster": 1,
            "RayJob": 1,
            "RayService": 0,
            "Pod": 1,
            "Service": 1,
            "Job": 0,
        }
        assert all(state.synced and not state.problem for state in operator.states().values())
        assert operator.error is None
    found = next(one for controller, _, one in looked.calls if controller == "raycluster")
    assert found is not None
    assert found.uid == "uid-one"
    assert api.verbs == {"GET"}
    assert not any("secrets" in one.path for one in api.asked)


def test_changes_come_at_priority_zero_by_kuberays_rules(api: ApiServer, tmp_path: Path) -> None:
    """A Pod's change wakes its cluster; a status write of the cluster wakes only its job; a delete finds nothing."""
    looked = Looked()
    with operating(api, tmp_path, looked) as operator:
        until(lambda: len(looked.keys()) == 2 and operator.has_synced)
        until(lambda: not any(driver.snapshot().active_workers for driver in operator.drivers))
        looked.calls.clear()
        api.put(raw("Pod", "pod", ownerReferences=owned_by("RayCluster", "one")))
        until(lambda: looked.keys() == Counter({("raycluster", "team-a/one"): 1}))
        assert by_priority(operator, "raycluster").get("0") == 1
        looked.calls.clear()
        api.put(cluster("one", "job"))
        until(lambda: looked.keys() == Counter({("rayjob", "team-a/job"): 1}))
        looked.calls.clear()
        api.delete("RayCluster", "team-a/one")
        until(lambda: len(looked.calls) == 2)
        assert ("raycluster", "team-a/one", None) in looked.calls


def test_a_key_may_ask_to_be_looked_at_again_and_is_retried_when_looking_fails(api: ApiServer, tmp_path: Path) -> None:
    """After the seconds that it names, or with the queue's back-off."""
    looked = Looked()
    looked.again, looked.fails = 0.01, 1
    with operating(api, tmp_path, looked):
        until(lambda: len(looked.calls) == 4)


def test_listeners_are_told_each_change_with_its_time(api: ApiServer, tmp_path: Path) -> None:
    """Before the start or later: what is there already comes first, as part of the initial list."""
    early: list[tuple[float, Change[Observed]]] = []
    late: list[Change[Observed]] = []
    with served(api) as address, connected(address, tmp_path) as (client, _):
        operator = EmbeddedOperator(client, Looked(), close=client.close)
        operator.listen(lambda now, change: early.append((now, change)))
        operator.start()
        until(lambda: operator.has_synced and len(early) == 4)
        operator.listen(lambda _, change: late.append(change))
        assert len(late) == 4
        assert all(change.is_initial_list for change in late)
        api.put(raw("Pod", "pod", ownerReferences=owned_by("RayCluster", "one")))
        until(lambda: len(early) == len(late) == 5)
        assert operator.stop(5.0)
    now, change = early[-1]
    assert change == late[-1]
    assert change.type is ChangeType.UPDATE
    assert abs(now - time.time()) < 60.0


def test_a_listener_that_fails_costs_nobody_else_anything(api: ApiServer, tmp_path: Path) -> None:
    """It is counted, and the watch goes on."""
    told: list[Change[Observed]] = []

    def fail(now: float, change: Change[Observed]) -> None:
        raise ValueError("as the test asks for")

    with served(api) as address, connected(address, tmp_path) as (client, _):
        operator = EmbeddedOperator(client, Looked(), close=client.close)
        operator.listen(fail)
        operator.listen(lambda _, change: told.append(change))
        operator.start()
        until(lambda: len(told) == 4)
        assert sum(informer.listener_errors for informer in operator.informers.values()) == 4
        operator.stop(5.0)


def test_a_kind_that_is_not_served_holds_up_only_who_needs_it(api: ApiServer, tmp_path: Path) -> None:
    """A cluster without the RayService kind, or a role without Jobs: the others work, and the reason is told."""
    api.refuse = lambda asked: 404 if "rayservices" in asked.path else None
    looked = Looked()
    with operating(api, tmp_path, looked) as operator:
        until(lambda: len(looked.keys()) == 2)
        until(lambda: "404" in operator.states()["RayService"].problem)
        assert not operator.has_synced
        assert operator.error is None


def test_a_server_that_is_not_there_yet_is_waited_for(api: ApiServer, tmp_path: Path) -> None:
    """The embedded operator starts without it, and a stop meanwhile takes no time."""
    looked = Looked()
    with connected("http://127.0.0.1:9", tmp_path) as (client, _):
        operator = EmbeddedOperator(client, looked, close=client.close)
        operator.start()
        until(lambda: all(state.errors for state in operator.states().values()))
        assert operator.error is None
        began = time.monotonic()
        assert operator.stop()
        assert time.monotonic() - began < 1.0
    assert looked.calls == []


@pytest.mark.parametrize(("namespaces", "paths"), [(("team-b",), "/namespaces/team-b/"), (("team-a", "team-b"), "")])
def test_only_the_namespaces_of_the_operator_are_looked_at(
    api: ApiServer, tmp_path: Path, namespaces: tuple[str, ...], paths: str
) -> None:
    """One is asked for by its path; several are picked out of all."""
    api.put(raw("RayCluster", "b", namespace="team-b"))
    api.put(raw("RayCluster", "c", namespace="team-c"))
    looked = Looked()
    with operating(api, tmp_path, looked, EmbeddedSettings(namespaces=namespaces)) as operator:
        until(lambda: operator.has_synced)
        keys = {one.key for one in operator.informers["RayCluster"].objects()}
        assert {key.partition("/")[0] for key in keys} == set(namespaces)
    assert all(paths in one.path for one in api.asked)


def test_without_priorities_everything_goes_into_one_queue(api: ApiServer, tmp_path: Path) -> None:
    """As with KubeRay before 1.7."""
    looked = Looked()
    settings = EmbeddedSettings(has_priorities=False, workers=3)
    with operating(api, tmp_path, looked, settings) as operator:
        until(lambda: len(looked.keys()) == 2)
        assert set(by_priority(operator, "raycluster")) == {""}
        assert operator.drivers[0].snapshot().max_concurrent_reconciles == 3


def test_its_controllers_are_exposed_under_names_of_their_own(api: ApiServer, tmp_path: Path) -> None:
    """So that nobody takes them for KubeRay's."""
    with operating(api, tmp_path, Looked()) as operator:
        families = list(RuntimeCollector(operator.drivers).collect())
    controllers = {sample.labels.get("controller") for family in families for sample in family.samples}
    assert controllers - {None} == {"advisor-raycluster", "advisor-rayjob", "advisor-rayservice"}


class _Nothing:
    """A reader that is never asked."""


def informer(resync_ns: int | None = None, now_ns: list[int] | None = None) -> SharedInformer:
    """An informer that a test feeds by hand."""
    times = now_ns if now_ns is not None else [0]
    return SharedInformer(
        _Nothing(),  # type: ignore[arg-type]
        Selection(KINDS["Pod"]),
        lambda _: True,
        resync_period_ns=resync_ns,
        monotonic_ns=lambda: times[0],
    )


def pod(version: int) -> Observed:
    """A Pod at some version."""
    return Observed(kind="Pod", namespace="team-a", name="p", resource_version=version)


def test_a_resync_tells_unchanged_objects_again() -> None:
    """With the first word of the server after it is due."""
    now_ns = [0]
    one = informer(1000, now_ns)
    told: list[Change[Observed]] = []
    one.listed(1.0, [pod(1)])
    one.listen(lambda _, change: told.append(change))
    now_ns[0] = 1500
    one.event(2.0, WatchEvent(EventType.MODIFIED, None, pod(2)))
    versions = [(change.old, change.new) for change in told[1:]]
    assert versions == [(pod(1), pod(1)), (pod(1), pod(2))]


def test_a_listener_may_look_things_up_while_others_wait_for_it() -> None:
    """Neither it nor a thread that holds what it waits for is blocked."""
    one = informer()
    held = threading.Lock()
    seen: list[Observed | None] = []

    def listen(now: float, change: Change[Observed]) -> None:
        with held:
            seen.append(one.get("team-a/p"))

    one.listen(listen)
    with held:
        thread = threading.Thread(target=one.listed, args=(1.0, [pod(1)]))
        thread.start()
        until(lambda: len(one) == 1)
        assert one.get("team-a/p") == pod(1)
    thread.join(5.0)
    assert seen == [pod(1)]


def test_who_stops_listening_is_told_no_more() -> None:
    """And who begins is told once that the initial list is through."""
    one = informer()
    told: list[Change[Observed]] = []
    synced: list[int] = []
    with one.listening(lambda _, change: told.append(change), lambda: synced.append(len(told))):
        one.listed(1.0, [pod(1)])
        one.listed(2.0, [pod(1)])
    one.event(3.0, WatchEvent(EventType.DELETED, pod(2), None))
    assert synced == [1]
    assert len(told) == 2
    assert one.join(0.0)


def test_failures_are_logged_once_each(caplog: pytest.LogCaptureFixture) -> None:
    """A server that is away for an hour fills no log."""
    one = informer()
    with caplog.at_level("INFO", "advisor.sidecar"):
        for text in ("away", "away", "refused", "away"):
            one.failed(text)
        one.listed(1.0, [])
    assert [record.message for record in caplog.records] == [
        "Pod: away",
        "Pod: refused",
        "Pod: away",
        "Pod: watched again",
    ]
