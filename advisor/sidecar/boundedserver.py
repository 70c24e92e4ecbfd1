"""An HTTP server that anybody may ask: each request is bounded in size and time, all of them in number.

Only GET and HEAD are answered, one request a connection, and a query is not looked at.
"""

import errno
import io
import logging
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final, Protocol, cast

from prometheus_client.exposition import gzip_accepted

from advisor.errors import OutputError
from advisor.sources.timedreader import TimedReader

__all__ = ["PLAIN_TYPE", "Answer", "BoundedServer", "Request"]

PLAIN_TYPE: Final = "text/plain; charset=utf-8"
_HEAD_SECONDS: Final = 5.0
"""For all of a request, however slowly its bytes come."""
_ANSWER_SECONDS: Final = 30.0
_LARGEST_HEAD_BYTES: Final = 16 << 10
_MOST_AT_ONCE: Final = 16
_POLL_SECONDS: Final = 0.25
_CHUNK_BYTES: Final = 64 << 10
_GZIP: Final = zlib.MAX_WBITS | 16
_GZIP_LEVEL: Final = 1
"""A fraction of the usual level's time; the bytes mostly stay on one node."""
_METHODS: Final = ("GET", "HEAD")
_BUSY: Final = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
_OUT_OF_FILES: Final = (errno.EMFILE, errno.ENFILE)
_LOG = logging.getLogger(__name__)


class Request(Protocol):
    """What an answer is given to."""

    def header(self, name: str) -> str:
        """A header of the request; "" where it has none of that name."""
        ...

    def body(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Answer with a body, packed where the client can unpack it."""
        ...

    def stream(self, pieces: Iterable[bytes], kind: str) -> None:
        """Answer with what is made while it is sent, packed likewise; what it raises cuts the answer off."""
        ...


Answer = Callable[[Request], None]
"""Answers the requests of one path."""


class _Head(TimedReader):
    """Reads one request for a few seconds and a few kilobytes, then ends."""

    def __init__(self, connection: socket.socket) -> None:
        end = time.monotonic() + _HEAD_SECONDS
        raw = cast("io.RawIOBase", connection.makefile("rb", buffering=0))
        super().__init__(raw, connection, lambda: _left(end))
        self._left_bytes = _LARGEST_HEAD_BYTES

    @property
    def is_used_up(self) -> bool:
        """Whether the request was larger than any that is answered."""
        return self._left_bytes <= 0

    def readinto(self, buffer: "memoryview", /) -> int | None:  # type: ignore[override]
        """Read what is there."""
        count = super().readinto(memoryview(buffer)[: self._left_bytes])
        self._left_bytes -= count or 0
        return count


def _left(end: float) -> float:
    """Seconds until an end.

    Raises:
        TimeoutError: there are none.
    """
    seconds = end - time.monotonic()
    if seconds <= 0.0:
        raise TimeoutError
    return seconds


class _Handler(BaseHTTPRequestHandler):
    """Answers the one request of a connection."""

    server: "BoundedServer"  # type: ignore[mutable-override]
    timeout: ClassVar[float | None] = _HEAD_SECONDS
    # Also to a client that names no version, an answer begins with its status.
    default_request_version = "HTTP/1.0"

    def setup(self) -> None:
        """Bound what is read of the request."""
        super().setup()
        self.rfile.close()
        self._head = _Head(self.connection)
        self.rfile = io.BufferedReader(self._head)

    def version_string(self) -> str:
        """What the header Server says."""
        return "kuberay-advisor"

    def parse_request(self) -> bool:
        """Whether it is a request that is answered; what is wrong with it is told."""
        if not super().parse_request():
            return False
        if self._head.is_used_up:
            self.send_error(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            return False
        if self.command not in _METHODS:
            self.send_error(HTTPStatus.METHOD_NOT_ALLOWED)
            return False
        return True

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer by path."""
        answer = self.server.answers.get(self.path.partition("?")[0])
        if answer is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            answer(self)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Say what is wrong with a request in plain text, with no word of the request in it."""
        status = HTTPStatus(code)
        self.body(f"{status.phrase}\n".encode(), PLAIN_TYPE, status)

    def header(self, name: str) -> str:
        """A header of the request."""
        return self.headers.get(name, "")

    def body(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Answer with a body."""
        packed = status == HTTPStatus.OK and gzip_accepted(self.header("Accept-Encoding"))
        if packed:
            body = b"".join(_packed((body,)))
        self._begin(status, kind, {"Content-Encoding": "gzip"} if packed else {}, len(body))
        self._write((body,))

    def stream(self, pieces: Iterable[bytes], kind: str) -> None:
        """Answer with what is made while it is sent."""
        packed = gzip_accepted(self.header("Accept-Encoding"))
        self._begin(HTTPStatus.OK, kind, {"Content-Encoding": "gzip"} if packed else {})
        self._write(_packed(pieces) if packed else _gathered(pieces))

    def _begin(self, status: HTTPStatus, kind: str, headers: Mapping[str, str], length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name, value)
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", ", ".join(_METHODS))
        self.end_headers()

    def _write(self, pieces: Iterable[bytes]) -> None:
        if self.command == "HEAD":
            return
        end = time.monotonic() + _ANSWER_SECONDS
        for piece in pieces:
            for begin in range(0, len(piece), _CHUNK_BYTES):
                self.connection.settimeout(_left(end))
                self.wfile.write(piece[begin : begin + _CHUNK_BYTES])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet about each request."""


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same in pieces that are worth a packet."""
    begun: list[bytes] = []
    size = 0
    for piece in pieces:
        begun.append(piece)
        size += len(piece)
        if size >= _CHUNK_BYTES:
            yield b"".join(begun)
            begun, size = [], 0
    yield b"".join(begun)


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP)
    for piece in _gathered(pieces):
        yield packer.compress(piece)
    yield packer.flush()


class BoundedServer(ThreadingHTTPServer):
    """Listens from its construction on, and serves in :meth:`serve`, in threads that end with the program.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        answers: by path.

    Raises:
        OutputError: the address is taken or not this machine's.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    timeout: float | None = _POLL_SECONDS

    def __init__(self, host: str, port: int, answers: Mapping[str, Answer]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answers = answers
        self.served = self.refused = self.failed = 0
        self._slots = threading.BoundedSemaphore(_MOST_AT_ONCE)
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise OutputError(
                f"cannot be served at: {error.strerror}",
                where=f"{host}:{port}",
                hint="name another address with --listen ADDRESS",
            ) from error

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Take the address, without asking a name server what it is called."""
        super(ThreadingHTTPServer, self).server_bind()

    def serve(self, stop: threading.Event) -> None:
        """Serve until it is time to stop, then listen no more; answers that have begun go on."""
        while not stop.is_set():
            self.handle_request()
        self.server_close()

    def get_request(self) -> tuple[socket.socket, object]:
        """The next connection.

        Raises:
            OSError: it cannot be taken.
        """
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in _OUT_OF_FILES:
                # The connection stays in line, and would be tried again at once for ever.
                time.sleep(_POLL_SECONDS)
            raise

    def process_request(self, request: socket.socket | tuple[bytes, socket.socket], client_address: object) -> None:
        """Answer in a thread of its own, or refuse where too many are being answered."""
        if not self._slots.acquire(blocking=False):
            self.refused += 1
            if isinstance(request, socket.socket):
                request.settimeout(0.0)
                with suppress(OSError):
                    request.send(_BUSY)
            self.shutdown_request(request)
            return
        self.served += 1
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread could be started
            self._slots.release()
            raise

    def process_request_thread(
        self, request: socket.socket | tuple[bytes, socket.socket], client_address: object
    ) -> None:
        """Answer one connection; the body of its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the base class's
        """Say what went wrong in answering; a client that has gone or reads too slowly is no matter."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            self.failed += 1
            _LOG.exception("a request could not be answered")
