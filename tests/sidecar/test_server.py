import errno
import gzip
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection

import msgspec
import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from advisor.errors import OutputError
from advisor.model.raw import LogRecord, ObjectChange, Series, Setup, Subject
from advisor.sidecar.boundedserver import BoundedServer, Request
from advisor.sidecar.server import Held, Server, Telling

BOUNDED = "advisor.sidecar.boundedserver"
RECORD = LogRecord(time=1.5, subject=Subject.START, controller="raycluster", namespace="a", name="b", exact=True)
CHANGE = ObjectChange(t=1.5, event="ADDED", kind="Pod", namespace="a", name="b", phase="Pending", ready=False)


@dataclass
class Answer:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, unpacked."""
        packed = self.headers.get("Content-Encoding") == "gzip"
        return (gzip.decompress(self.body) if packed else self.body).decode()


def ask(port: int, path: str, method: str = "GET", **headers: str) -> Answer:
    """One request; keywords are headers, with _ for -."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())
    finally:
        connection.close()


def raw(port: int, data: bytes, seconds: float = 10.0) -> bytes:
    """All that comes back for some bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        found = b""
        while piece := connection.recv(1 << 16):
            found += piece
        return found


@dataclass
class State:
    """What the server under test is told by the rest of the process."""

    alive: bool = True
    ready: bool = False
    registry: Collector = field(default_factory=CollectorRegistry)
    held: Held = field(default_factory=Held)


@contextmanager
def running(run: Callable[[threading.Event], None]) -> Iterator[None]:
    """Something that serves, while the block lasts."""
    stop = threading.Event()
    thread = threading.Thread(target=run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(2.0)
        assert not thread.is_alive()


@contextmanager
def serving(state: State) -> Iterator[Server]:
    """The sidecar's server, while the block lasts."""
    telling = Telling(
        registry=state.registry, held=state.held, is_alive=lambda: state.alive, is_ready=lambda: state.ready
    )
    server = Server("127.0.0.1", 0, telling)
    with running(server.run):
        yield server


@contextmanager
def answering(answer: Callable[[Request], None]) -> Iterator[BoundedServer]:
    """A server that has one answer, at /a."""
    server = BoundedServer("127.0.0.1", 0, {"/a": answer})
    with running(server.serve):
        yield server


def registry() -> CollectorRegistry:
    """A counter and a gauge."""
    made = CollectorRegistry()
    Counter("things", "Things.", registry=made).inc(3)
    Gauge("depth", "Depth.", ["controller"], registry=made).labels("raycluster").set(7)
    return made


class TestHealth:
    def test_alive_and_ready(self) -> None:
        """Each says what it is told, with a status that the kubelet reads."""
        state = State()
        with serving(state) as server:
            found = []
            for state.alive, state.ready in ((True, False), (True, True), (False, True)):
                found.append((ask(server.port, "/healthz").status, ask(server.port, "/readyz").status))
        assert found == [(200, 503), (200, 200), (503, 200)]

    def test_the_index(self) -> None:
        """All paths, a line each."""
        with serving(State()) as server:
            answer = ask(server.port, "/")
            paths = answer.text.split()[2:]
            assert [ask(server.port, path).status for path in paths] == [200, 200, 200, 503, 200, 200, 200, 200]
        assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"

    def test_counters(self) -> None:
        """Requests are counted."""
        with serving(State()) as server:
            ask(server.port, "/healthz")
            assert server.counters() == {"requests_served": 1, "requests_refused": 0, "requests_failed": 0}
        assert (server.name, server.health()) == ("server", "")


class TestMetrics:
    def test_text(self) -> None:
        """The Prometheus text format where nothing else is asked for."""
        with serving(State(registry=registry())) as server:
            answer = ask(server.port, "/metrics")
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "things_total 3.0\n" in answer.text
        assert 'depth{controller="raycluster"} 7.0\n' in answer.text

    def test_openmetrics(self) -> None:
        """By the header with which Prometheus asks."""
        with serving(State(registry=registry())) as server:
            answer = ask(server.port, "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
        assert answer.text.endswith("# EOF\n")

    def test_packed(self) -> None:
        """With gzip where the client asks for it; the text is the same."""
        with serving(State(registry=registry())) as server:
            packed = ask(server.port, "/metrics", Accept_Encoding="gzip, deflate")
            plain = ask(server.port, "/metrics")
        assert packed.headers["Content-Encoding"] == "gzip"
        lines = [line for line in plain.text.splitlines() if "_created" not in line]
        assert [line for line in packed.text.splitlines() if "_created" not in line] == lines

    def test_the_query_does_not_matter(self) -> None:
        """Nothing can be asked for by it."""
        with serving(State(registry=registry())) as server:
            assert "depth" in ask(server.port, "/metrics?name[]=things_total").text

    def test_one_that_cannot_be_collected(self, caplog: pytest.LogCaptureFixture) -> None:
        """It is logged and counted; the connection is closed, and the next request is answered."""

        class Failing(Collector):
            def collect(self) -> Iterator[Metric]:
                """Raise."""
                raise RuntimeError("no")

        with serving(State(registry=Failing())) as server, caplog.at_level(logging.ERROR):
            assert raw(server.port, b"GET /metrics HTTP/1.0\r\n\r\n") == b""
            assert ask(server.port, "/healthz").status == 200
            assert server.counters()["requests_failed"] == 1
        assert "a request could not be answered" in caplog.text


class TestRecording:
    def test_everything_that_is_held(self) -> None:
        """Four files, in the forms of a recording."""
        series = Series("workqueue_depth", {"name": "a"})
        series.times.extend((1.0, 2.5))
        series.values.extend((3.0, 0.5))
        held = Held(
            series=lambda: [series],
            log=lambda: iter([RECORD, RECORD]),
            changes=lambda: [CHANGE],
            setup=lambda: Setup(version="1.7.0", args=("--qps=5",), start=1.0, end=2.5),
            interval_seconds=lambda: 5.0,
        )
        with serving(State(held=held)) as server:
            metrics, log, objects, setup = (
                ask(server.port, f"/v1/recording/{name}")
                for name in ("metrics.om", "log.jsonl", "objects.jsonl", "setup.json")
            )
        assert metrics.text.splitlines() == [
            "# TYPE workqueue_depth gauge",
            'workqueue_depth{name="a"} 3 1.000',
            'workqueue_depth{name="a"} 0.5 2.500',
            "# EOF",
        ]
        assert metrics.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        assert [msgspec.json.decode(line, type=LogRecord) for line in log.text.splitlines()] == [RECORD, RECORD]
        assert log.headers["Content-Type"] == "application/x-ndjson"
        assert [msgspec.json.decode(line, type=ObjectChange) for line in objects.text.splitlines()] == [CHANGE]
        assert json.loads(setup.text) == {
            "version": "1.7.0",
            "args": ["--qps=5"],
            "start": 1.0,
            "end": 2.5,
            "profile": None,
            "scrape_interval_seconds": 5.0,
        }

    def test_nothing_is_held_yet(self) -> None:
        """Files without content, no errors."""
        with serving(State()) as server:
            assert ask(server.port, "/v1/recording/metrics.om").text == "# EOF\n"
            assert ask(server.port, "/v1/recording/log.jsonl").text == ""
            assert json.loads(ask(server.port, "/v1/recording/setup.json").text)["start"] is None

    def test_a_long_one_is_streamed_packed(self) -> None:
        """A million bytes and more, in pieces that are made while they are sent."""
        with serving(State(held=Held(log=lambda: [RECORD] * 20_000))) as server:
            answer = ask(server.port, "/v1/recording/log.jsonl", Accept_Encoding="gzip")
        assert answer.text.count("\n") == 20_000
        assert len(answer.body) < 100_000
        assert "Content-Length" not in answer.headers

    def test_a_failure_in_the_middle_cuts_it_off(self) -> None:
        """A packed answer has no end then, so that nobody takes it for whole."""

        def log() -> Iterator[LogRecord]:
            yield from [RECORD] * 1000
            raise RuntimeError("no")

        with serving(State(held=Held(log=log))) as server:
            answer = ask(server.port, "/v1/recording/log.jsonl", Accept_Encoding="gzip")
            with pytest.raises(EOFError):
                assert answer.text
            assert server.counters()["requests_failed"] == 1

    def test_two_are_made_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A third waits a little, and is told to come again."""
        monkeypatch.setattr("advisor.sidecar.server._PATIENCE_SECONDS", 0.1)
        began, go_on = threading.Semaphore(0), threading.Event()

        def log() -> Iterator[LogRecord]:
            began.release()
            go_on.wait(10.0)
            yield RECORD

        with serving(State(held=Held(log=log))) as server:
            path = "/v1/recording/log.jsonl"
            first = [threading.Thread(target=ask, args=(server.port, path)) for _ in range(2)]
            for one in first:
                one.start()
                began.acquire()
            assert ask(server.port, path).status == 503
            assert ask(server.port, "/healthz").status == 200
            go_on.set()
            for one in first:
                one.join()
            assert ask(server.port, path).status == 200


class TestRequests:
    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "NONSENSE"])
    def test_other_methods_are_refused(self, method: str) -> None:
        """Whatever the path is; what may be asked is said."""
        with serving(State()) as server:
            answer = ask(server.port, "/healthz", method)
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")

    @pytest.mark.parametrize("path", ["/", "/metrics", "/v1/recording/metrics.om"])
    def test_head(self, path: str) -> None:
        """The headers of a GET, and no body."""
        with serving(State(registry=registry())) as server:
            headed, got = ask(server.port, path, "HEAD"), ask(server.port, path)
        assert headed.body == b""
        assert {**headed.headers, "Date": ""} == {**got.headers, "Date": ""}

    @pytest.mark.parametrize(
        "path", ["/metrics/", "/v1/recording/", "/v1/recording/../../etc/passwd", "/%6detrics", "*"]
    )
    def test_other_paths(self, path: str) -> None:
        """Nothing is guessed."""
        with serving(State()) as server:
            assert ask(server.port, path).status == 404

    @pytest.mark.parametrize(
        ("request_bytes", "status"),
        [
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400 Bad Request"),
            (b"GET /healthz HTTP/9.9\r\n\r\n", b"505 HTTP Version Not Supported"),
            (b"GET /healthz HTTP/1.0\r\n" + b"a: b\r\n" * 200 + b"\r\n", b"431 Request Header Fields Too Large"),
            (b"GET /healthz HTTP/1.0\r\na: " + b"b" * 20_000 + b"\r\n\r\n", b"431 Request Header Fields Too Large"),
        ],
    )
    def test_what_is_no_request(self, request_bytes: bytes, status: bytes) -> None:
        """It is told so, without any of its own words."""
        with serving(State()) as server:
            try:
                answer = raw(server.port, request_bytes)
            except ConnectionResetError:
                # What was sent and not read resets the connection; the answer may be lost then.
                return
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.0 " + status)
        assert body == status[4:] + b"\n"

    def test_an_old_client(self) -> None:
        """One that names no version is answered like all others."""
        with serving(State()) as server:
            answer = raw(server.port, b"GET /healthz\r\n\r\n")
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\nok\n")

    def test_one_request_a_connection(self) -> None:
        """A client that wants to keep it gets it closed."""
        with serving(State()) as server:
            answer = raw(server.port, b"GET /healthz HTTP/1.1\r\nConnection: keep-alive\r\n\r\n")
        assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
        assert b"keep-alive" not in answer


class TestBounds:
    def test_a_slow_request_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However it is spread: a byte now and then gives it no more time."""
        monkeypatch.setattr(f"{BOUNDED}._HEAD_SECONDS", 0.5)
        with serving(State()) as server, socket.create_connection(("127.0.0.1", server.port), timeout=5.0) as slow:
            began = time.monotonic()
            with suppress(ConnectionError):
                for _ in range(100):
                    slow.sendall(b"G")
                    time.sleep(0.05)
            assert 0.4 < time.monotonic() - began < 3.0
            assert server.counters()["requests_failed"] == 0

    def test_a_slow_reader_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its thread is free again; nothing is logged."""
        monkeypatch.setattr(f"{BOUNDED}._ANSWER_SECONDS", 0.3)
        ended = threading.Event()

        def answer(request: Request) -> None:
            try:
                request.stream((b"x" * (1 << 20) for _ in range(100)), "text/plain")
            finally:
                ended.set()

        with answering(answer) as server, socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(b"GET /a HTTP/1.0\r\n\r\n")
            assert ended.wait(5.0)
        assert server.failed == 0

    def test_too_many_at_once_are_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """At once and without reading what they want; when others are through, there is room again."""
        monkeypatch.setattr(f"{BOUNDED}._MOST_AT_ONCE", 2)
        with serving(State()) as server:
            address = ("127.0.0.1", server.port)
            with socket.create_connection(address), socket.create_connection(address):
                while server.counters()["requests_served"] < 2:
                    time.sleep(0.01)
                assert raw(server.port, b"").startswith(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\n")
            while ask(server.port, "/healthz").status != 200:
                time.sleep(0.01)
            assert server.counters()["requests_refused"] >= 1

    def test_a_client_that_goes_away(self) -> None:
        """Is no fault of ours."""

        def answer(request: Request) -> None:
            for _ in range(100):
                request.stream((b"x" * (1 << 20) for _ in range(10)), "text/plain")

        before = threading.active_count()
        with answering(answer) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as hasty:
                hasty.sendall(b"GET /a HTTP/1.0\r\n\r\n")
                hasty.recv(10)
            # The one that listens goes on.
            while threading.active_count() > before + 1:
                time.sleep(0.01)
            assert server.failed == 0

    def test_out_of_files(self) -> None:
        """A connection that cannot be taken is tried again after a pause, not at once for ever."""

        class Exhausted:
            """A listening socket of a process that has no file left."""

            def accept(self) -> None:
                """Fail as the system does."""
                raise OSError(errno.EMFILE, "Too many open files")

        server = BoundedServer("127.0.0.1", 0, {})
        server.server_close()
        server.socket = Exhausted()  # type: ignore[assignment]
        began = time.monotonic()
        with pytest.raises(OSError, match="Too many open files"):
            server.get_request()
        assert time.monotonic() - began >= 0.2

    def test_no_thread_can_be_started(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The connection is closed, its place is free again, and the server goes on."""

        def refuse(*_: object) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(f"{BOUNDED}._MOST_AT_ONCE", 1)
        with serving(State()) as server:
            with monkeypatch.context() as patch:
                patch.setattr("socketserver.ThreadingMixIn.process_request", refuse)
                assert raw(server.port, b"") == b""
            assert ask(server.port, "/healthz").status == 200


class TestAddress:
    def test_one_that_is_taken(self) -> None:
        """The message names it and the option."""
        with serving(State()) as server:
            telling = Telling(registry=CollectorRegistry(), held=Held(), is_alive=bool, is_ready=bool)
            with pytest.raises(OutputError) as caught:
                Server("127.0.0.1", server.port, telling)
        assert str(caught.value) == (
            f"127.0.0.1:{server.port}: cannot be served at: Address already in use (name another address with "
            "--listen ADDRESS)"
        )

    def test_ipv6(self) -> None:
        """A host with colons is one."""
        if not socket.has_ipv6:
            pytest.skip("no IPv6 here")
        try:
            server = BoundedServer("::1", 0, {"/a": lambda request: request.body(b"six\n", "text/plain")})
        except OutputError:
            pytest.skip("no IPv6 here")
        with running(server.serve), socket.create_connection(("::1", server.port), timeout=5.0) as connection:
            connection.sendall(b"GET /a HTTP/1.0\r\n\r\n")
            assert connection.makefile("rb").read().endswith(b"six\n")
