"""The end of one request, whatever its steps take: also where a server sends a byte now and then."""

import io
import socket
import threading
from contextlib import suppress
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any, Final

from advisor.sources.scraping import Clock
from advisor.sources.timedreader import TimedReader

__all__ = ["DEADLINE", "Deadline", "TimedResponse"]


class Deadline:
    """When a request has to be over, and for how long nothing may come.

    Args:
        clock: the clock.
        seconds: from now to the end.
        silence_seconds: the longest pause between two pieces of an answer.
    """

    def __init__(self, clock: Clock, seconds: float, silence_seconds: float) -> None:
        self.seconds = seconds
        self.silence_seconds = silence_seconds
        self._clock = clock
        self._end = clock.monotonic() + seconds
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._ended = False

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self._ended or self._clock.monotonic() >= self._end

    def patience(self) -> float:
        """Seconds to wait for the next piece.

        Raises:
            TimeoutError: it is over.
        """
        if self.passed:
            raise TimeoutError
        return min(self.silence_seconds, self._end - self._clock.monotonic())

    def attach(self, connection: socket.socket) -> None:
        """Say which connection the request uses."""
        with self._lock:
            self._connection = connection
        if self._ended:
            self.end()

    def end(self) -> None:
        """End the request now, from any thread."""
        with self._lock:
            self._ended = True
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)


DEADLINE: Final[ContextVar[Deadline]] = ContextVar("deadline")
"""That of the request which this thread makes; set before one is sent."""


class TimedResponse(HTTPResponse):
    """An answer whose header and body come before the deadline of the request, or not at all."""

    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as http.client calls it
        super().__init__(sock, *args, **kwargs)
        deadline = DEADLINE.get()
        deadline.attach(sock)
        self.fp = io.BufferedReader(TimedReader(self.fp.detach(), sock, deadline.patience))
