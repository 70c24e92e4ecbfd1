"""Event writes: they hold no worker, but take from a bucket of their own and load the API server.

controller-runtime up to 0.22 posts each event, one after another; from 0.23 on equal ones become one series that is
posted once and patched once while it goes on, each write by itself.
"""

from collections import deque

from advisor.twin.client import Client, Request
from advisor.twin.engine import Engine

__all__ = ["EventRecorder"]

# Of one series.
_WRITES = 2


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
        """Let the next one go, where they go one after another."""
        if self.recorder.is_line:
            self.recorder.written()


class EventRecorder:
    """Turns what a reconcile reports into writes.

    Attributes:
        is_line: whether these go one after another.
    """

    __slots__ = ("_client", "_engine", "_is_writing", "_line", "_patch", "_post", "_seen", "is_line")

    def __init__(self, engine: Engine, client: Client, *, as_series: bool) -> None:
        self._engine = engine
        self._client = client
        self.is_line = not as_series
        self._post = client.request("POST", "Event", client="events")
        self._patch = client.request("PATCH", "Event", client="events")
        self._seen: dict[tuple[str, str], int] = {}
        self._line: deque[_Write] = deque()
        self._is_writing = False

    def record(self, key: str, reason: str) -> None:
        """Report something about an object."""
        if self.is_line:
            self._line.append(_Write(self, self._post))
            self._next()
            return
        event = (key, reason)
        seen = self._seen
        count = seen.get(event, 0)
        # The first is posted, the second turns it into a series, which goes on by itself.
        if count < _WRITES:
            seen[event] = count + 1
            self._send(_Write(self, self._patch if count else self._post))

    def written(self) -> None:
        """A write has been answered: the next one may go."""
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
