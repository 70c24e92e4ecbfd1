"""An operator's HTTP endpoints on this machine, in front of anything that has what they show.

========================  ==============================================================
``/metrics``              the operator's own series
``/metrics/cadvisor``     what kubelet and kube-state-metrics expose about its container
``/log``                  log lines, as ``pods/log`` gives them
``/objects``              changes of objects, a JSON object a line
``/healthz``              ``ok``
========================  ==============================================================

``/log`` and ``/objects`` take ``follow=true`` and ``tailLines=N``.
"""

import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Protocol
from urllib.parse import parse_qs, urlsplit

from advisor.sources.expositiontext import (
    OPENMETRICS_TYPE,
    TEXT_TYPE,
    FamilyLike,
    exposition_text,
    wants_openmetrics,
)
from advisor.sources.feed import Feed

__all__ = ["OperatorServer", "Shown"]

_PLAIN = "text/plain; charset=utf-8"
_JSON_LINES = "application/x-ndjson"
_CLIENT_TIMEOUT_SECONDS = 30.0
_FOLLOW_WAIT_SECONDS = 0.5
_LINES_AT_ONCE = 1000


class Shown(Protocol):
    """What the endpoints show; asked from several threads at a time."""

    @property
    def log(self) -> Feed:
        """Lines of the log."""
        ...

    @property
    def objects(self) -> Feed:
        """Lines of object changes."""
        ...

    def metrics(self) -> Sequence[FamilyLike]:
        """The operator's own series now; none while it is down."""
        ...

    def container_metrics(self) -> Sequence[FamilyLike]:
        """Series about its container now; none while there is none."""
        ...


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: "OperatorServer"  # type: ignore[mutable-override]
    timeout: ClassVar[float | None] = _CLIENT_TIMEOUT_SECONDS

    def version_string(self) -> str:
        """What the header Server says."""
        return "kuberay-advisor"

    def do_GET(self) -> None:
        """Answer by path."""
        url = urlsplit(self.path)
        shown = self.server.shown
        try:
            match url.path:
                case "/metrics":
                    self._metrics(shown.metrics())
                case "/metrics/cadvisor":
                    self._metrics(shown.container_metrics())
                case "/log":
                    self._lines(shown.log, _PLAIN, url.query)
                case "/objects":
                    self._lines(shown.objects, _JSON_LINES, url.query)
                case "/healthz" | "/readyz":
                    self._send(b"ok", _PLAIN)
                case _:
                    self.send_error(HTTPStatus.NOT_FOUND)
        except (ConnectionError, TimeoutError):
            # The client has gone, and nobody is left to be told.
            self.close_connection = True

    def _metrics(self, families: Sequence[FamilyLike]) -> None:
        if not families:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        openmetrics = wants_openmetrics(self.headers.get("Accept", ""))
        text = exposition_text(families, openmetrics=openmetrics)
        self._send(text.encode(), OPENMETRICS_TYPE if openmetrics else TEXT_TYPE)

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _lines(self, feed: Feed, kind: str, query: str) -> None:
        asked = parse_qs(query)
        follow = asked.get("follow", ["false"])[-1] == "true"
        tail = asked.get("tailLines", [""])[-1]
        if tail and not (tail.isascii() and tail.isdigit() and len(tail) < 10):  # noqa: PLR2004 - fits any feed
            self.send_error(HTTPStatus.BAD_REQUEST, "tailLines is no whole number")
            return
        # Before the answer begins, so that a follower misses nothing that comes after it.
        position = feed.tail(int(tail) if tail else None)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.end_headers()
        lines, position = feed.read(position)
        self._write(lines)
        while follow and not self.server.is_ending.is_set():
            lines, position = feed.read(position, _FOLLOW_WAIT_SECONDS)
            self._write(lines)

    def _write(self, lines: list[str]) -> None:
        for begin in range(0, len(lines), _LINES_AT_ONCE):
            part = lines[begin : begin + _LINES_AT_ONCE]
            self.wfile.write("".join(f"{line}\n" for line in part).encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet about each request."""


class OperatorServer(ThreadingHTTPServer):
    """Serves from its construction on, in threads that end with the program.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        shown: what to show.

    Raises:
        OSError: the address is taken or not this machine's.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str, port: int, shown: Shown) -> None:
        super().__init__((host, port), _Handler)
        self.shown = shown
        self.is_ending = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it serves."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def end(self) -> None:
        """Answer nobody any more."""
        self.is_ending.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
