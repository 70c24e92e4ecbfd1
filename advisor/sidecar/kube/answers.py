"""Answers of the API server as they come: closed from any thread, with failures of one kind."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from advisor.sidecar.kube.reading import KubeError

__all__ = ["AnswerStream", "refusal"]

_LONGEST_REASON_BYTES: Final = 64 * 1024
_HINTS: Final = {
    401: "the credentials are not accepted, or have expired",
    403: "the service account needs get, list and watch; the chart's ClusterRole has them",
}


class AnswerStream:
    """The body of one answer; see `ByteStream`.

    Args:
        answer: an httpx response, not read yet.
        failures: what reading it raises.
        where: method and path.
        forget: called once when it is over.
    """

    def __init__(
        self,
        answer: Any,  # noqa: ANN401 - the client's library may not be installed
        failures: tuple[type[Exception], ...],
        where: str,
        forget: "Callable[[AnswerStream], None]",
    ) -> None:
        self._answer = answer
        self._failures = failures
        self._where = where
        self._forget = forget
        self._lock = threading.Lock()
        self._socket: socket.socket | None = answer.extensions["network_stream"].get_extra_info("socket")
        self._is_closed = False
        self._reader = threading.get_ident()

    def __iter__(self) -> Iterator[bytes]:
        """Its bytes as they come; nothing after `close`."""
        self._reader = threading.get_ident()
        try:
            yield from self._answer.iter_bytes()
        except self._failures as error:
            if not self._is_closed:
                raise KubeError(f"cut off: {str(error) or type(error).__name__}", where=self._where) from error
        finally:
            self._end()

    def close(self) -> None:
        """End it. A thread that waits for its next bytes is woken by the end of the connection.

        Only the thread that reads, which is the one that opened it before the first byte, may give the socket back: its
        number may be another file's at once, and whoever still waits on it would wait for that one.
        """
        with self._lock:
            self._is_closed = True
            if self._socket is not None:
                # Of the base class: that of a TLS socket would take the connection's state from under the reader.
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        if self._reader == threading.get_ident():
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        with self._lock:
            # Its connection may serve another request from now on.
            self._socket = None
        with contextlib.suppress(*self._failures):
            self._answer.close()
        self._forget(self)


def refusal(answer: Any, body: AnswerStream, where: str) -> KubeError:  # noqa: ANN401 - as above
    """The error that an answer is.

    Args:
        answer: an httpx response that is no success.
        body: its body.
        where: method and path.
    """
    text = b""
    with contextlib.suppress(KubeError):
        for part in body:
            text += part
            if len(text) > _LONGEST_REASON_BYTES:
                break
    status: int = answer.status_code
    message = _message(text) or answer.reason_phrase or "no reason is given"
    seconds: str = answer.headers.get("Retry-After", "")
    return KubeError(
        f"{status}: {message}",
        where=where,
        hint=_HINTS.get(status, ""),
        status=status,
        retry_after_seconds=float(seconds) if seconds.isdecimal() else 0.0,
    )


class _Status(msgspec.Struct):
    message: str = ""


def _message(text: bytes) -> str:
    with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(text, type=_Status).message
    return " ".join(text[:200].decode("utf-8", "replace").split())
