"""The client of the API server, against a server on loopback."""

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.errors import InputFormatError, InputNotFoundError, SettingsError
from advisor.runtime.context import Cancellation
from advisor.sidecar.kube import client as module
from advisor.sidecar.kube.client import ClientSettings, KubeClient, connect
from advisor.sidecar.kube.kinds import KINDS, PODS, Selection
from advisor.sidecar.kube.reading import KubeError, LogRequest
from tests.sidecar.apiserver import TOKEN, ApiServer, connected, raw, served, write_kubeconfig
from tests.sources.servers import serving
from tests.support import until

CLUSTERS = Selection(KINDS["RayCluster"])


@pytest.fixture
def api() -> ApiServer:
    """The state of the server."""
    return ApiServer()


@pytest.fixture
def address(api: ApiServer) -> Iterator[str]:
    """The server."""
    with served(api) as address:
        yield address


@pytest.fixture
def client(address: str, tmp_path: Path) -> Iterator[KubeClient]:
    """A client without limit."""
    with connected(address, tmp_path) as (client, _):
        yield client


def test_a_page_says_how_many_objects_and_which(api: ApiServer, client: KubeClient) -> None:
    """Limit, token and label selector are sent; the body is handed on as it came."""
    api.put(raw("Pod", "a"))
    api.put(raw("Pod", "b", labels={}))
    api.put(raw("Pod", "c"))
    api.page_objects = 1
    first = client.list_page(Selection(PODS))
    assert b'"name": "a"' in first
    assert api.asked[0].path == "/api/v1/pods"
    assert api.asked[0].query == {"limit": "500", "labelSelector": "ray.io/cluster"}
    assert b'"name": "c"' in client.list_page(Selection(PODS, "team-a"), "1")
    assert api.asked[1].path == "/api/v1/namespaces/team-a/pods"
    assert api.asked[1].query["continue"] == "1"


@pytest.mark.parametrize(("kind", "is_partial"), [("Service", True), ("Job", True), ("Pod", False)])
def test_of_services_and_jobs_only_metadata_is_asked_for(
    api: ApiServer, client: KubeClient, kind: str, *, is_partial: bool
) -> None:
    """Their specs do not leave the server."""
    api.put(raw(kind, "a"))
    selection = Selection(KINDS[kind])
    assert (b"SPEC" in client.list_page(selection)) is not is_partial
    assert (b"SPEC" in client.get(Selection(KINDS[kind], "team-a"), "a")) is not is_partial
    stream = client.watch(selection, "1", 1)
    assert (b"SPEC" in next(iter(stream))) is not is_partial
    stream.close()


def test_every_request_is_a_get_and_is_counted(api: ApiServer, client: KubeClient) -> None:
    """By kind and verb of Kubernetes; also one that is refused."""
    api.put(raw("RayCluster", "a"))
    client.list_page(CLUSTERS)
    client.get(Selection(KINDS["RayCluster"], "team-a"), "a")
    with pytest.raises(KubeError, match="404") as missing:
        client.get(Selection(KINDS["RayCluster"], "team-a"), "b")
    assert missing.value.status == 404
    client.watch(CLUSTERS, "1", 1).close()
    client.pod_log(LogRequest(namespace="team-a", name="p")).close()
    counts = client.counts()
    assert counts.requests == {
        ("RayCluster", "list"): 1,
        ("RayCluster", "get"): 2,
        ("RayCluster", "watch"): 1,
        ("Pod/log", "get"): 1,
    }
    assert counts.seconds.keys() == counts.requests.keys()
    assert all(seconds > 0.0 for seconds in counts.seconds.values())
    assert api.verbs == {"GET"}


def test_requests_of_one_kind_wait_for_its_bucket_and_watches_do_not(address: str, tmp_path: Path) -> None:
    """With two at once and two a second, the third waits about half a second; another kind has its own bucket."""
    with connected(address, tmp_path, qps=2.0, burst=2) as (client, _):
        for _ in range(3):
            client.list_page(CLUSTERS)
        for _ in range(5):
            client.watch(CLUSTERS, "1", 1).close()
        client.list_page(Selection(PODS))
        waits = client.limiter.snapshot().wait_ns
    assert 50e6 < waits["RayCluster", "list"] <= 600e6
    assert waits["Pod", "list"] == 0
    assert ("RayCluster", "watch") not in waits


def test_the_default_limits_are_those_of_client_go() -> None:
    """Five a second, ten at once."""
    assert (ClientSettings().qps, ClientSettings().burst) == (5.0, 10)


def test_a_wait_for_the_limiter_ends_with_the_cancellation(address: str, tmp_path: Path) -> None:
    """The request is not sent."""
    with connected(address, tmp_path, qps=0.001, burst=1) as (client, cancellation):
        client.list_page(CLUSTERS)
        threading.Timer(0.1, lambda: cancellation.cancel(time.monotonic_ns())).start()
        began = time.monotonic()
        with pytest.raises(KubeError, match="not asked"):
            client.list_page(CLUSTERS)
        assert time.monotonic() - began < 5.0


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_a_refusal_tells_what_the_server_said(api: ApiServer, client: KubeClient, status: int) -> None:
    """Status, message, path, and how long to wait where the server says so."""
    api.refuse = lambda _: status
    api.refusal_headers = {"Retry-After": "7"}
    with pytest.raises(KubeError) as refused:
        client.list_page(CLUSTERS)
    assert refused.value.status == status
    assert refused.value.retry_after_seconds == 7.0
    assert str(refused.value).startswith(f"GET /apis/ray.io/v1/rayclusters: {status}: refused by the test")


def test_a_refusal_that_is_no_status_is_told_in_short(tmp_path: Path) -> None:
    """Such as a proxy's page."""
    with serving(lambda handler: handler.send_error(502, "bad gateway")) as server:
        address = server.url.removesuffix("/metrics")
        with connected(address, tmp_path) as (client, _), pytest.raises(KubeError, match="502: <!DOCTYPE") as refused:
            client.list_page(CLUSTERS)
    assert len(str(refused.value)) < 300


def test_an_answer_without_end_is_cut(client: KubeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded, whatever answers."""
    monkeypatch.setattr(module, "_LARGEST_ANSWER_BYTES", 10)
    with pytest.raises(KubeError, match="larger than 10 bytes"):
        client.list_page(CLUSTERS)


def test_a_wrong_token_is_refused(address: str, tmp_path: Path) -> None:
    """With a hint at the credentials."""
    with connected(address, tmp_path, token="wrong") as (client, _), pytest.raises(KubeError, match="credentials"):
        client.list_page(CLUSTERS)


def test_nobody_there_is_an_error_without_status(tmp_path: Path) -> None:
    """So it is tried again."""
    with connected("http://127.0.0.1:9", tmp_path) as (client, _), pytest.raises(KubeError, match="no answer") as none:
        client.list_page(CLUSTERS)
    assert none.value.status == 0


def test_a_stream_that_is_cut_off_is_an_error_and_one_that_ends_is_none(api: ApiServer, client: KubeClient) -> None:
    """What came before is there in both cases."""
    api.put(raw("RayCluster", "a"))
    stream = iter(client.watch(CLUSTERS, "1", 60))
    assert b"ADDED" in next(stream)
    api.cut()
    assert list(stream) == []
    stream = iter(client.watch(CLUSTERS, "1", 60))
    next(stream)
    api.cut(abruptly=True)
    with pytest.raises(KubeError, match="cut off"):
        list(stream)


def test_closing_wakes_whoever_reads(client: KubeClient) -> None:
    """From another thread, within a moment, and without an error; afterwards nothing can be asked."""
    ended = threading.Event()

    def read() -> None:
        for _ in client.watch(CLUSTERS, "1", 60):
            pass
        ended.set()

    thread = threading.Thread(target=read)
    thread.start()
    until(lambda: bool(client._streams))
    time.sleep(0.05)
    client.close()
    assert ended.wait(2.0)
    thread.join()
    with pytest.raises(KubeError, match="no answer"):
        client.list_page(CLUSTERS)
    client.close()


def test_without_lightkube_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named as pip wants it."""
    for name in ("lightkube", "lightkube.core", "lightkube.core.exceptions"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SettingsError, match=r"pip install 'kuberay-advisor\[kubernetes\]'"):
        connect(ClientSettings(), Cancellation())


def test_a_kubeconfig_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    """Each with an error of its kind."""
    missing = tmp_path / "missing"
    with pytest.raises(InputNotFoundError, match="missing"):
        connect(ClientSettings(kubeconfig=missing), Cancellation())
    broken = tmp_path / "broken"
    for text in ("a: [", "[]", "{}", "clusters: 3"):
        broken.write_text(text, encoding="utf-8")
        with pytest.raises(InputFormatError, match="broken: cannot be used"):
            connect(ClientSettings(kubeconfig=broken), Cancellation())
    whole = write_kubeconfig(tmp_path / "whole", "http://127.0.0.1:9")
    with pytest.raises(InputNotFoundError, match="'other' not found"):
        connect(ClientSettings(kubeconfig=whole, context="other"), Cancellation())


def test_credentials_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    """Such as a certificate that is not there."""
    path = write_kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:9")
    path.write_text(path.read_text().replace(f'"token": "{TOKEN}"', '"client-certificate": "/nowhere"'))
    with pytest.raises(InputFormatError, match="credentials cannot be used"):
        connect(ClientSettings(kubeconfig=path), Cancellation())


def test_outside_a_pod_the_kubeconfig_of_the_environment_is_used(
    api: ApiServer, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none is named."""
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", address)))
    client = connect(ClientSettings(qps=-1.0), Cancellation())
    client.list_page(CLUSTERS)
    client.close()
    assert len(api.asked) == 1
