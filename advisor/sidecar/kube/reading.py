"""What is asked of an API server, and how it fails; the rest of the sidecar knows no other client than this."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from advisor.errors import InputError
from advisor.sidecar.kube.kinds import Selection

__all__ = ["LONGEST_LINE_BYTES", "ByteStream", "KubeError", "KubeReader", "LogRequest", "Wait", "lines", "split_lines"]

LONGEST_LINE_BYTES = 16 * 1024 * 1024
"""A line of a watch is one object, which etcd bounds to some 1.5 MB; what is longer is no watch."""

Wait = Callable[[float], bool]
"""Sleeps so many seconds, at most until it all ends; whether it ends."""


class KubeError(InputError):
    """The API server does not answer, or refuses.

    Args:
        message: what is wrong.
        where: method and path.
        hint: what the reader can do about it, or "".
        status: HTTP's, or that of a Status object; 0 where there was no answer.
        retry_after_seconds: how long the server asks to wait.
    """

    def __init__(
        self, message: str, *, where: str = "", hint: str = "", status: int = 0, retry_after_seconds: float = 0.0
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


class ByteStream(Protocol):
    """An answer that comes bit by bit, read by one thread and closed by any."""

    def __iter__(self) -> Iterator[bytes]:
        """Its bytes as they come, until it ends.

        Raises:
            KubeError: the connection is lost.
        """
        ...

    def close(self) -> None:
        """End it, also while it is being read; safe to call again."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRequest:
    """Which log of which Pod, followed as it grows.

    Attributes:
        namespace: the Pod's namespace.
        name: the Pod.
        container: its container; "" for the only one.
        since_time: lines from this second on, in RFC 3339; "" for no such bound.
        since_seconds: lines of the last so many seconds; None for no such bound.
    """

    namespace: str
    name: str
    container: str = ""
    since_time: str = ""
    since_seconds: int | None = None


class KubeReader(Protocol):
    """A client that can read, and nothing else."""

    def list_page(self, selection: Selection, continue_token: str = "") -> bytes:
        """One page of a list, as it came.

        Args:
            selection: what to list.
            continue_token: where the page before ended; "" for the first page.

        Raises:
            KubeError: the server does not answer, or refuses.
        """
        ...

    def watch(self, selection: Selection, version: str, seconds: int) -> ByteStream:
        """The events after a version, one a line, with bookmarks; the server ends it after so many seconds.

        Raises:
            KubeError: the server does not answer, or refuses.
        """
        ...

    def pod_log(self, request: LogRequest) -> ByteStream:
        """A Pod's log, each line after its time and a space.

        Raises:
            KubeError: the server does not answer, or refuses.
        """
        ...

    def get(self, selection: Selection, name: str) -> bytes:
        """One object, as it came.

        Raises:
            KubeError: the server does not answer, or refuses; its status is 404 where there is no such object.
        """
        ...


def split_lines(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines of a stream as they come, without their ends; one that is cut off by the end of the stream is dropped.

    Raises:
        KubeError: a line is longer than `LONGEST_LINE_BYTES`.
    """
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        whole = chunk.split(b"\n")
        rest = whole.pop()
        if whole:
            whole[0] = b"".join((*parts, whole[0]))
            yield whole
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > LONGEST_LINE_BYTES:
            raise KubeError(f"a line is longer than {LONGEST_LINE_BYTES} bytes")


def lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same, one by one."""
    for some in split_lines(chunks):
        yield from some
