"""Event writes: they hold no worker, but take from a bucket of their own and load the API server.

controller-runtime up to 0.22 posts each event, one after another; from 0.23 on equal ones become one series that is
posted once and patched once while it goes on, each write by itself.
"""

from collections import deque

from advisor.twin.client import Client, Request
from advisor.twin.engine import Engine

__all__ = ["EventRecorder"]


class _Write:
    __slots__ = ("attempt", "cpu_ns", "limited_ns", "recorder", "request", "sent_ns")

    def __init__(self, recorder: "EventRecorder", request: Request) -> None:
        self.recorder = recorder
        self.request = request
        self.attempt = 0
        self.sent_ns = 0
        self.limited_ns = 0
        self.cpu_ns = 0

    def answered(self, status: int) -> None:  # noqa: ARG002 - nobody waits for it
        """Let the next one go."""
        self.recorder.written()


class EventRecorder:
    """Turns what a reconcile reports into writes."""

    __slots__ = ("_as_series", "_client", "_engine", "_is_writing", "_line", "_patch", "_post", "_seen")

    def __init__(self, engine: Engine, client: Client, *, as_series: bool) -> None:
        self._engine = engine
        self._client = client
        self._as_series = as_series
        self._post = client.request("POST", "Event", client="events")
        self._patch = client.request("PATCH", "Event", client="events")
        self._seen: dict[tuple[str, str], int] = {}
        self._line: deque[_Write] = deque()
        self._is_writing = False

    def record(self, key: str, reason: str) -> None:
        """Report something about an object."""
        if not self._as_series:
            self._line.append(_Write(self, self._post))
            self._next()
            return
        event = (key, reason)
        seen = self._seen
        count = seen.get(event, 0) + 1
        seen[event] = count
        if count <= 2:  # noqa: PLR2004 - the first is posted, the second turns it into a series
            self._send(_Write(self, self._post if count == 1 else self._patch))

    def written(self) -> None:
        """A write has been answered."""
        if not self._as_series:
            self._is_writing = False
            self._next()

    def start(self) -> None:
        """Begin as a new process: series and what had not been sent are lost."""
        self._seen.clear()
        self._line.clear()
        self._is_writing = False

    def _next(self) -> None:
        if self._line and not self._is_writing:
            self._is_writing = True
            self._send(self._line.popleft())

    def _send(self, write: _Write) -> None:
        write.sent_ns = self._engine.now_ns
        self._client.send(write)
