"""Reading an answer until a deadline: a server that sends one byte at a time never lets a pause grow long."""

import io
import socket
from collections.abc import Callable

__all__ = ["TimedReader"]


class TimedReader(io.RawIOBase):
    """Reads from a socket, each time for at most as long as ``patience`` says (seconds), or raises what that raises."""

    def __init__(self, raw: io.RawIOBase, connection: socket.socket, patience: Callable[[], float]) -> None:
        super().__init__()
        self._raw = raw
        self._connection = connection
        self._patience = patience

    def readable(self) -> bool:
        """As each reader says."""
        return True

    def readinto(self, buffer: "memoryview", /) -> int | None:  # type: ignore[override]
        """Read what is there, waiting until the deadline."""
        self._connection.settimeout(self._patience())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Close the socket's reader too."""
        self._raw.close()
        super().close()
