"""Real HTTP servers on loopback that behave as a test says, and clocks that need no waiting."""

import gzip
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from advisor.sources.endpoint import Endpoint
from advisor.sources.scraping import Clock
from tests.support import ROOT

TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
TLS: Final = ROOT / "tests" / "data" / "tls"
EXAMPLE: Final = ROOT / "advisor" / "examples" / "saturated-one-worker"

Behaviour = Callable[["Handler"], None]

_FOREIGN: Final = re.compile(rb"up[{ ]|container_")
_OWN_LABELS: Final = re.compile(rb'(?<=[{,])(?:instance|job|pod)="[^"]*",?')


class Handler(BaseHTTPRequestHandler):
    """Leaves the answer to the server's behaviour."""

    server: "Server"  # type: ignore[mutable-override]

    def do_GET(self) -> None:
        """Answer as scripted."""
        self.server.requests.append(self)
        self.server.behave(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    """One scripted server; ``released`` is set when the test is over, so that nothing hangs longer."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behave: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behave = behave
        self.requests: list[Handler] = []
        self.released = threading.Event()
        self.scheme = "http"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}/metrics"

    @property
    def endpoint(self) -> Endpoint:
        """The same, parsed."""
        return Endpoint.parse(self.url)


@contextmanager
def serving(behave: Behaviour, *, tls: bool = False) -> Iterator[Server]:
    """A server while the block lasts."""
    server = Server(behave)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "cert.pem", TLS / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.scheme = "https"
    with lasting(server, server.released):
        yield server


@contextmanager
def lasting(server: ThreadingHTTPServer, released: threading.Event) -> Iterator[None]:
    """Serve while the block lasts; whatever still waits is let go at its end."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, kind: str = TEXT, **headers: str) -> None:
    """One answer; keywords are headers, with _ for -."""
    handler.send_response(status)
    if kind:
        handler.send_header("Content-Type", kind)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def answer(body: bytes, status: int = 200, kind: str = TEXT, **headers: str) -> Behaviour:
    """Always the same answer."""
    return lambda handler: send(handler, body, status, kind, **headers)


def sequence(bodies: Sequence[bytes]) -> Behaviour:
    """One body after another, then the last for ever."""
    return lambda handler: send(handler, bodies[min(len(handler.server.requests), len(bodies)) - 1])


def hang(handler: Handler) -> None:
    """Say nothing until the test is over."""
    handler.server.released.wait(10.0)


def snapshots(folder: Path = EXAMPLE) -> list[bytes]:
    """What the operator of a recording served at each of its scrapes."""
    by_time: dict[bytes, list[bytes]] = {}
    for line in gzip.decompress((folder / "metrics.om.gz").read_bytes()).splitlines():
        if not line.startswith(b"#"):
            key, value, time = line.rsplit(b" ", 2)
            if not _FOREIGN.match(key):
                plain = _OWN_LABELS.sub(b"", key).replace(b",}", b"}").removesuffix(b"{}")
                by_time.setdefault(time, []).append(plain + b" " + value + b"\n")
    return [TYPES + b"".join(lines) for _, lines in sorted(by_time.items(), key=lambda item: float(item[0]))]


TYPES: Final = b"".join(
    f"# HELP {name} Help.\n# TYPE {name} {kind}\n".encode()
    for name, kind in (
        ("controller_runtime_active_workers", "gauge"),
        ("controller_runtime_max_concurrent_reconciles", "gauge"),
        ("controller_runtime_reconcile_time_seconds", "histogram"),
        ("controller_runtime_reconcile_total", "counter"),
        ("kuberay_cluster_info", "gauge"),
        ("process_start_time_seconds", "gauge"),
        ("rest_client_rate_limiter_duration_seconds", "histogram"),
        ("rest_client_request_duration_seconds", "histogram"),
        ("rest_client_requests_total", "counter"),
        ("workqueue_adds_total", "counter"),
        ("workqueue_queue_duration_seconds", "histogram"),
        ("workqueue_work_duration_seconds", "histogram"),
    )
)


class FastClock(Clock):
    """Nobody waits: each pause only moves the hands, which each thread has for itself.

    ``jumps`` moves the wall clock alone, by the pause's number.
    """

    def __init__(self, wall: float = 1_795_980_685.564, jumps: dict[int, float] | None = None) -> None:
        self._hands = threading.local()
        self._wall = wall
        self._jumps = jumps or {}
        self.pauses: list[float] = []

    @property
    def now(self) -> float:
        """What pauses of this thread have made."""
        return float(getattr(self._hands, "now", 1000.0))

    def move(self, seconds: float) -> None:
        """Move this thread's hands."""
        self._hands.now = self.now + seconds

    def monotonic(self) -> float:
        """The time of this thread."""
        return self.now

    def wall(self) -> float:
        """The wall clock, with its jumps."""
        return self._wall + self.now - 1000.0

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        """Move on at once."""
        self.move(seconds)
        self._wall += self._jumps.get(len(self.pauses), 0.0)
        self.pauses.append(seconds)
        return stop.is_set()
