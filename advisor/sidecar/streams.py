"""Whole lines of a stream, such as standard input or a Pod's log, that its reader asks for when it has time.

A thread reads, since a stream may be silent for hours; what it has read waits in a bounded buffer. While that is full
nothing is read, so that the stream's own means hold back who writes to it.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable, Iterator

from advisor.sidecar.followlines import LineCutter

__all__ = ["LONGEST_STREAM_LINE_BYTES", "Stop", "StreamFollower", "stdin_chunks"]

Stop = threading.Event
"""Set when a stream shall end."""

LONGEST_STREAM_LINE_BYTES = 4 << 20
"""The verbose log lists all items of a queue in one line, a megabyte for ten thousand keys."""
_WAITING_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16
_LOOK_SECONDS = 0.5
"""How often a silent stream looks whether it shall end."""


def stdin_chunks(stop: Stop, descriptor: int = 0) -> Iterator[bytes]:
    """What comes on standard input, in pieces, until its end."""
    while not stop.is_set():
        readable, _, _ = select.select([descriptor], [], [], _LOOK_SECONDS)
        if not readable:
            continue
        data = os.read(descriptor, _PIECE_BYTES)
        if not data:
            return
        yield data


class StreamFollower:
    """Whole lines of a stream; `poll` is for one thread and never waits.

    Args:
        chunks: gives the stream in pieces of any size, and ends soon after the event is set. To connect again is its
            part; None as a piece says that it has, and that a line that had begun will not be finished.
        most_bytes: about how much one call gives out.
        waiting_bytes: about how much is read ahead.
        longest_line_bytes: longer lines are dropped and counted.

    Attributes:
        bytes: bytes given out, as lines or not.
        behind_bytes: bytes read and not given out.
        problem: why the stream broke off; None where it did not.
    """

    def __init__(
        self,
        chunks: Callable[[Stop], Iterator[bytes | None]],
        *,
        most_bytes: int = 1 << 20,
        waiting_bytes: int = _WAITING_BYTES,
        longest_line_bytes: int = LONGEST_STREAM_LINE_BYTES,
    ) -> None:
        self._chunks = chunks
        self._most_bytes = most_bytes
        self._bound_bytes = waiting_bytes
        self._cutter = LineCutter(longest_line_bytes)
        self._stop = Stop()
        self._changed = threading.Condition()
        self._waiting: deque[bytes | None] = deque()
        self._is_read = False
        self._is_finished = False
        self.bytes = 0
        self.behind_bytes = 0
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._keep_reading, name="log stream", daemon=True)
        self._thread.start()

    @property
    def lines(self) -> int:
        """Lines given out."""
        return self._cutter.lines

    @property
    def dropped_long_lines(self) -> int:
        """Lines that were too long."""
        return self._cutter.dropped

    @property
    def ended(self) -> bool:
        """Whether nothing will ever come again."""
        return self._is_finished

    def poll(self) -> list[bytes]:
        """The next whole lines, without their ends; none where nothing is new."""
        pieces, is_over = self._take()
        lines: list[bytes] = []
        for data in pieces:
            if data is None:
                self._cutter.forget()
            else:
                self.bytes += len(data)
                lines += self._cutter.feed(data)
        if is_over and not self._is_finished:
            lines += self._cutter.finish()
            self._is_finished = True
        return lines

    def close(self) -> None:
        """Let the stream end, without waiting for it."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()

    def _take(self) -> tuple[list[bytes | None], bool]:
        """The next pieces, and whether they are the last."""
        pieces: list[bytes | None] = []
        left = self._most_bytes
        with self._changed:
            while left > 0 and self._waiting:
                data = self._waiting.popleft()
                pieces.append(data)
                left -= len(data or b"")
            self.behind_bytes -= self._most_bytes - left
            self._changed.notify_all()
            return pieces, self._is_read and not self._waiting

    def _keep_reading(self) -> None:
        problem: str | None = None
        try:
            for data in self._chunks(self._stop):
                if not self._put(data):
                    break
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream is over and its reader has to know
            problem = f"{type(error).__name__}: {error}"
        with self._changed:
            self.problem = problem
            self._is_read = True

    def _put(self, data: bytes | None) -> bool:
        """Let a piece wait to be asked for; whether more is wanted."""
        with self._changed:
            self._changed.wait_for(lambda: self.behind_bytes < self._bound_bytes or self._stop.is_set())
            if self._stop.is_set():
                return False
            self._waiting.append(data)
            self.behind_bytes += len(data or b"")
            return True
