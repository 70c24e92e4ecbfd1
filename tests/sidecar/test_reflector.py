"""List and watch of one kind, against a server on loopback that does what servers do to their clients."""

import contextlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.queueing.objectstore import EventType, WatchEvent
from advisor.runtime.context import Cancellation
from advisor.sidecar.kube.backoff import Backoff
from advisor.sidecar.kube.kinds import KINDS, Selection
from advisor.sidecar.kube.reading import LONGEST_LINE_BYTES, KubeError, KubeReader, lines, split_lines
from advisor.sidecar.kube.reflector import Reflector
from advisor.sidecar.observed import Observed
from tests.sidecar.apiserver import ApiServer, Asked, connected, raw, served
from tests.support import until

CLUSTERS = Selection(KINDS["RayCluster"])


class Copy:
    """A sink that keeps what it is told, as a cache would."""

    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.lists = 0
        self.events: list[WatchEvent[Observed]] = []
        self.failures: list[str] = []

    def listed(self, time: float, objects: list[Observed]) -> None:
        """Start over."""
        self.lists += 1
        self.objects = {one.key: one.resource_version for one in objects}

    def event(self, time: float, event: WatchEvent[Observed]) -> None:
        """Apply it."""
        self.events.append(event)
        if event.new is not None:
            self.objects[event.new.key] = event.new.resource_version
        elif event.old is not None:
            self.objects.pop(event.old.key, None)

    def failed(self, text: str) -> None:
        """Keep it."""
        self.failures.append(text)


class Running:
    """A reflector in a thread, whose waits are noted and take no time to speak of."""

    def __init__(self, client: KubeReader, cancellation: Cancellation, selection: Selection = CLUSTERS) -> None:
        self.copy = Copy()
        self.waits: list[float] = []
        self._cancellation = cancellation
        self.reflector = Reflector(client, selection, self.copy, self._wait, random=lambda: 0.0)
        self.thread = threading.Thread(target=self.reflector.run)
        self.thread.start()

    def _wait(self, seconds: float) -> bool:
        if seconds:
            self.waits.append(seconds)
        return self._cancellation.wait(min(seconds, 0.005))


@contextlib.contextmanager
def running(api: ApiServer, folder: Path, selection: Selection = CLUSTERS) -> Iterator[Running]:
    """A server and a reflector while the block lasts."""
    with served(api) as address, connected(address, folder) as (client, cancellation):
        started = Running(client, cancellation, selection)
        try:
            yield started
        finally:
            cancellation.cancel(0)
            client.close()
            started.thread.join(5.0)
            assert not started.thread.is_alive()


@pytest.fixture
def api() -> ApiServer:
    """A server with two clusters."""
    api = ApiServer()
    api.put(raw("RayCluster", "a"))
    api.put(raw("RayCluster", "b"))
    return api


def watches(api: ApiServer) -> list[Asked]:
    """The watches that were begun."""
    return [one for one in api.asked if one.query.get("watch")]


def test_a_list_comes_page_by_page_and_the_watch_goes_on_from_its_version(api: ApiServer, tmp_path: Path) -> None:
    """All pages are one list; changes after it come as events."""
    api.page_objects = 1
    with running(api, tmp_path) as run:
        until(lambda: len(watches(api)) == 1)
        assert run.copy.lists == 1
        assert run.copy.objects == api.versions("RayCluster")
        assert watches(api)[0].query["resourceVersion"] == "102"
        assert watches(api)[0].query["allowWatchBookmarks"] == "true"
        assert 300 <= int(watches(api)[0].query["timeoutSeconds"]) <= 600
        api.put(raw("RayCluster", "c"))
        api.put(raw("RayCluster", "a"))
        api.delete("RayCluster", "team-a/b")
        until(lambda: len(run.copy.events) == 3)
        assert [event.type for event in run.copy.events] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
        assert run.copy.objects == api.versions("RayCluster")
        state = run.reflector.state()
    assert (state.synced, state.relists, state.errors, state.skipped, state.problem) == (True, 0, 0, 0, "")
    assert state.last_event is not None


def test_other_peoples_objects_and_other_namespaces_are_not_asked_for(api: ApiServer, tmp_path: Path) -> None:
    """The path has the namespace."""
    api.put(raw("RayCluster", "a", namespace="team-b"))
    with running(api, tmp_path, Selection(KINDS["RayCluster"], "team-b")) as run:
        until(lambda: run.copy.lists == 1)
        assert list(run.copy.objects) == ["team-b/a"]


def test_a_watch_that_ends_is_resumed_from_its_last_version(api: ApiServer, tmp_path: Path) -> None:
    """Without a wait after a clean end, and without another list; nothing comes twice."""
    with running(api, tmp_path) as run:
        until(lambda: len(watches(api)) == 1)
        version = api.put(raw("RayCluster", "c"))
        until(lambda: len(run.copy.events) == 1)
        api.cut()
        until(lambda: len(watches(api)) == 2)
        assert watches(api)[1].query["resourceVersion"] == str(version)
        api.put(raw("RayCluster", "d"))
        until(lambda: len(run.copy.events) == 2)
        assert run.waits == []
        assert run.copy.lists == 1


def test_a_bookmark_advances_the_version(api: ApiServer, tmp_path: Path) -> None:
    """So that a kind that seldom changes does not fall behind what the server remembers."""
    with running(api, tmp_path) as run:
        until(lambda: len(watches(api)) == 1)
        api.put(raw("Pod", "of-another-kind"))
        until(lambda: bool(run.reflector.state().version))
        api.bookmark()
        until(lambda: run.reflector.state().version == "104")
        api.cut(abruptly=True)
        until(lambda: len(watches(api)) == 2)
        assert watches(api)[1].query["resourceVersion"] == "104"
        assert run.copy.lists == 1


@pytest.mark.parametrize("as_event", [False, True])
def test_a_version_that_is_gone_makes_a_new_list(api: ApiServer, tmp_path: Path, *, as_event: bool) -> None:
    """After a wait, whether it is told as HTTP status or by an event of the watch."""
    api.gone_as_event = as_event
    with running(api, tmp_path) as run:
        until(lambda: len(watches(api)) == 1)
        is_away = threading.Event()
        is_away.set()
        api.refuse = lambda asked: 503 if is_away.is_set() and asked.query.get("watch") else None
        api.cut(abruptly=True)
        until(lambda: any("503" in text for text in run.copy.failures))
        api.put(raw("RayCluster", "c"))
        api.delete("RayCluster", "team-a/a")
        api.compact()
        is_away.clear()
        until(lambda: run.copy.lists == 2)
        until(lambda: run.copy.objects == api.versions("RayCluster"))
        until(lambda: run.reflector.state().problem == "")
        assert run.waits
        assert run.reflector.state().relists == 1
    assert any("too old" in text for text in run.copy.failures)


def test_a_page_that_expires_makes_a_new_list(api: ApiServer, tmp_path: Path) -> None:
    """Half a list is never told."""
    api.page_objects = 1
    first = iter([None, 410])
    api.refuse = lambda _: next(first, None)
    with running(api, tmp_path) as run:
        until(lambda: run.copy.lists == 1)
        assert run.copy.objects == api.versions("RayCluster")
        assert run.reflector.state().relists == 0
        assert len(run.copy.failures) == 1


def test_failures_in_a_row_are_tried_again_ever_more_slowly(api: ApiServer, tmp_path: Path) -> None:
    """0.8 s and then twice as long each time, up to 30 s; what the server asks for is heeded; a word resets it."""
    refuse = threading.Event()
    refuse.set()
    api.refuse = lambda asked: 500 if refuse.is_set() else None
    with running(api, tmp_path) as run:
        until(lambda: len(run.waits) >= 8)
        assert run.waits[:8] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
        assert "500" in run.reflector.state().problem
        api.refusal_headers = {"Retry-After": "120"}
        until(lambda: run.waits[-1] == 120.0)
        refuse.clear()
        until(lambda: len(watches(api)) == 1)
        api.bookmark()
        until(lambda: run.reflector.state().version == "103")
        assert run.reflector.state().problem == ""
        del run.waits[:]
        api.refusal_headers = {}
        refuse.set()
        api.cut()
        until(lambda: bool(run.waits))
        assert run.waits[0] == 0.8


def test_a_watch_that_ends_at_once_is_not_resumed_in_a_loop(api: ApiServer, tmp_path: Path) -> None:
    """A server or proxy that closes each watch is a failure like any other."""
    with running(api, tmp_path) as run:
        until(lambda: len(watches(api)) >= 1)
        while len(run.waits) < 3:
            api.cut()
        assert run.waits[:3] == [0.8, 1.6, 3.2]
        assert any("ended at once" in text for text in run.copy.failures)


@pytest.mark.parametrize("status", [400, 404, 504])
def test_a_watch_whose_version_the_server_cannot_use_makes_a_new_list(
    api: ApiServer, tmp_path: Path, status: int
) -> None:
    """As with etcd restored from a backup, whose versions are lower than the one that is asked for."""
    first = iter([status])
    api.refuse = lambda asked: next(first, None) if asked.query.get("watch") else None
    with running(api, tmp_path) as run:
        until(lambda: run.copy.lists == 2)


def test_a_server_that_is_away_is_waited_for(api: ApiServer, tmp_path: Path) -> None:
    """As long as it takes; then the watch goes on from its version, and a change made meanwhile is told once."""
    with contextlib.ExitStack() as first, contextlib.ExitStack() as client_stack:
        address = first.enter_context(served(api))
        client, cancellation = client_stack.enter_context(connected(address, tmp_path))
        run = Running(client, cancellation)
        until(lambda: len(watches(api)) == 1)
        first.close()
        until(lambda: len(run.copy.failures) >= 5)
        assert "no answer" in run.reflector.state().problem
        api.put(raw("RayCluster", "c"))
        with served(api, int(address.rpartition(":")[2])):
            until(lambda: run.copy.objects == api.versions("RayCluster"))
            assert run.copy.lists == 1
            assert [event.type for event in run.copy.events] == [EventType.ADDED]
            cancellation.cancel(0)
            client.close()
            run.thread.join(5.0)
    assert not run.thread.is_alive()


def test_a_list_without_a_version_is_tried_again() -> None:
    """There would be nowhere to watch from."""
    copy = Copy()
    waits: list[float] = []

    class Versionless:
        def list_page(self, *_: object) -> bytes:
            return b'{"metadata": {}, "items": []}'

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        return len(waits) > 4

    Reflector(Versionless(), CLUSTERS, copy, wait, random=lambda: 0.0).run()  # type: ignore[arg-type]
    assert copy.lists == 0
    assert "has no version" in copy.failures[0]


def test_delays_are_spread_over_as_much_again() -> None:
    """So that clients which lost one server do not come back at once."""
    backoff = Backoff(lambda: 0.5)
    assert [backoff.next_seconds() for _ in range(3)] == pytest.approx([1.2, 2.4, 4.8])
    assert max(backoff.next_seconds() for _ in range(9)) == 30.0
    backoff.reset()
    assert backoff.next_seconds() == pytest.approx(1.2)


@given(st.lists(st.binary(max_size=12), max_size=12), st.lists(st.integers(1, 9), max_size=30))
def test_lines_are_the_same_however_they_are_cut(texts: list[bytes], sizes: list[int]) -> None:
    """The last one, which has no end, is dropped."""
    texts = [text.replace(b"\n", b".") for text in texts]
    whole = b"\n".join((*texts, b"cut"))
    chunks: list[bytes] = []
    for size in sizes:
        chunks.append(whole[:size])
        whole = whole[size:]
    chunks.append(whole)
    assert list(lines(chunks)) == texts


def test_a_line_without_end_is_an_error() -> None:
    """Memory is bounded, whatever answers."""
    chunk = b"x" * (LONGEST_LINE_BYTES // 4)
    with pytest.raises(KubeError, match="longer than"):
        list(split_lines([chunk] * 5))


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcde")),
        st.tuples(st.just("delete"), st.sampled_from("abcde")),
        st.tuples(st.just("cut"), st.booleans()),
        st.tuples(st.just("compact"), st.booleans()),
        st.tuples(st.just("refuse"), st.sampled_from([403, 410, 429, 500, 504])),
        st.tuples(st.just("pages"), st.integers(1, 3)),
        st.tuples(st.just("bookmark"), st.none()),
        st.tuples(st.just("pause"), st.none()),
    ),
    min_size=1,
    max_size=25,
)


def do(api: ApiServer, run: Running, operation: tuple[str, object]) -> None:
    """Let one thing happen to the server."""
    match operation:
        case "put", str(name):
            api.put(raw("RayCluster", name))
        case "delete", str(name):
            api.delete("RayCluster", f"team-a/{name}")
        case "cut", bool(abruptly):
            api.cut(abruptly=abruptly)
        case "compact", bool(as_event):
            api.gone_as_event = as_event
            api.compact()
        case "refuse", int(status):
            left = iter([status, status])
            api.refuse = lambda _: next(left, None)
        case "pages", int(count):
            api.page_objects = count
        case "bookmark", _:
            api.bookmark()
        case _:
            run.thread.join(0.01)


@settings(max_examples=40)
@given(OPERATIONS)
def test_after_any_history_the_copy_is_what_the_server_has(operations: list[tuple[str, object]]) -> None:
    """Whatever was lost, cut, refused or forgotten meanwhile; and by reads only."""
    api = ApiServer()
    with TemporaryDirectory() as folder, running(api, Path(folder)) as run:
        for operation in operations:
            do(api, run, operation)
        api.refuse = lambda _: None
        until(lambda: run.copy.objects == api.versions("RayCluster") and run.reflector.state().synced)
        api.put(raw("RayCluster", "last"))
        until(lambda: run.copy.objects == api.versions("RayCluster"))
    assert api.verbs == {"GET"}
    assert json.dumps(run.copy.objects, sort_keys=True) == json.dumps(api.versions("RayCluster"), sort_keys=True)
