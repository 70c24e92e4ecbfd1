"""Real HTTP servers on loopback that answer as stores do, or as a test says they should not."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, urlsplit

import pytest

from advisor.errors import AdvisorError
from advisor.sources.prometheus.answers import Result
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient, Query
from advisor.sources.prometheus.limits import Limits
from advisor.sources.scraping import Clock
from tests.sources import servers
from tests.sources.servers import FastClock, lasting

JSON: Final = "application/json"
HTML: Final = "text/html; charset=utf-8"
UP: Final = Query("up", "whether it is up")
AT: Final = 1_796_000_000.0

Behaviour = Callable[["Handler"], None]


@dataclass(frozen=True)
class Request:
    """One request as it came in; ``params`` are those of URL and form together."""

    method: str
    path: str
    url: str
    headers: dict[str, str]
    body: bytes
    params: dict[str, list[str]] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    """Keeps connections, and leaves the answer to the store's behaviours."""

    server: "Store"  # type: ignore[mutable-override]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer as scripted."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        params = parse_qs(url.query) | parse_qs(body.decode())
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request_seen = Request(self.command, url.path, self.path, headers, body, params)
        self.server.answer(self)

    do_POST = do_GET  # noqa: N815 - the name is the base class's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


class Store(ThreadingHTTPServer):
    """The first request gets the first behaviour, and so on; those behind the last get the last."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behaviours: Sequence[Behaviour], tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self._behaviours = behaviours
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.released = threading.Event()
        self.scheme = "http"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
            self.scheme = "https"

    def answer(self, handler: Handler) -> None:
        """Answer one request."""
        with self._lock:
            self.requests.append(handler.request_seen)
            behave = self._behaviours[min(len(self.requests), len(self._behaviours)) - 1]
        behave(handler)

    def finish_request(self, request: object, client_address: object) -> None:
        """Shake hands first; with whom that fails, the connection stays, so that no word of TLS is lost with it."""
        if isinstance(request, ssl.SSLSocket):
            try:
                request.do_handshake()
            except OSError:
                self.released.wait(10.0)
                return
        self.RequestHandlerClass(request, client_address, self)  # type: ignore[arg-type]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self.server_address[1]}"

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"{self.scheme}://{self.host}"


@contextmanager
def serving(*behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Store]:
    """A store while the block lasts."""
    store = Store(behaviours, tls)
    with lasting(store, store.released):
        yield store


def send(handler: Handler, body: bytes, status: int = 200, kind: str = JSON, **headers: str) -> None:
    """One answer; keywords are headers, with _ for -."""
    servers.send(handler, body, status, kind, **headers)


def reply(body: bytes | str, status: int = 200, kind: str = JSON, **headers: str) -> Behaviour:
    """Always the same answer."""
    data = body.encode() if isinstance(body, str) else body
    return lambda handler: send(handler, data, status, kind, **headers)


def succeed(data: object, **more: object) -> Behaviour:
    """A success with this data; keywords are further members."""
    return reply(json.dumps({"status": "success", "data": data, **more}))


def vector(*values: tuple[str, str], **more: object) -> Behaviour:
    """A vector of series of these names and values, at one time."""
    result = [{"metric": {"__name__": name}, "value": [AT, value]} for name, value in values]
    return succeed({"resultType": "vector", "result": result}, **more)


def refuse(kind: str, text: str, status: int, **headers: str) -> Behaviour:
    """The API's own error."""
    return reply(json.dumps({"status": "error", "errorType": kind, "error": text}), status, **headers)


def break_off(handler: Handler) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


def hang(handler: Handler) -> None:
    """Say nothing until the test is over."""
    handler.server.released.wait(10.0)
    handler.close_connection = True


def raw(text: bytes) -> Behaviour:
    """These bytes, then the end of the connection."""

    def behave(handler: Handler) -> None:
        handler.wfile.write(text)
        handler.close_connection = True

    return behave


def evaluate(handler: Handler) -> None:
    """A range query of a series whose value is the time itself, evaluated at all steps from start to end."""
    start, end, step = (round(float(handler.request_seen.params[name][0]) * 1000) for name in ("start", "end", "step"))
    values = [[time / 1000, str(time / 1000)] for time in range(start, end + 1, step)]
    matrix = [{"metric": {"__name__": "clock"}, "values": values}]
    succeed({"resultType": "matrix", "result": matrix})(handler)


OK: Final = vector(("up", "1"))


def ask(
    store: Store,
    access: Access | None = None,
    limits: Limits | None = None,
    clock: Clock | None = None,
    query: Query = UP,
) -> Result:
    """One instant query, with a clock that needs no waiting."""
    with PrometheusClient(store.url, access, limits, clock=clock or FastClock()) as client:
        return client.instant(query, AT)


def failure(
    store: Store, access: Access | None = None, limits: Limits | None = None, clock: Clock | None = None
) -> AdvisorError:
    """Why one instant query fails."""
    with pytest.raises(AdvisorError) as caught:
        ask(store, access, limits, clock)
    return caught.value


def message(
    store: Store, access: Access | None = None, limits: Limits | None = None, clock: Clock | None = None
) -> str:
    """The whole text of the failure, with STORE for the address."""
    return str(failure(store, access, limits, clock)).replace(store.url, "STORE")
