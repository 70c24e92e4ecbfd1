"""Event writes: they hold no worker, but take from a bucket of their own and load the API server.

controller-runtime up to 0.22 posts each event, one after another; from 0.23 on equal ones become one series that is
posted once and patched once while it goes on, each write by itself.
"""

from collections import deque

from advisor.twin.client import Client, Request

__all__ = ["EventRecorder"]


class _Write:
    __slots__ = ("attempt", "ready_ns", "recorder", "request")

    def __init__(self, recorder: "EventRecorder", request: Request) -> None:
        self.recorder = recorder
        self.request = request
        self.attempt = 0
        self.ready_ns = 0

    def answered(self, status: int) -> None:  # noqa: ARG002 - nobody waits for it
        """Let the next one go."""
        self.recorder.written()


class EventRecorder:
    """Turns what a reconcile reports into writes."""

    def __init__(self, client: Client, *, as_series: bool) -> None:
        self._client = client
        self._as_series = as_series
        self._post = client.request("POST", "Event", client="events")
        self._patch = client.request("PATCH", "Event", client="events")
        self._seen: dict[tuple[str, str], int] = {}
        self._line: deque[_Write] = deque()
        self._writing = False

    def record(self, key: str, reason: str) -> None:
        """Report something about an object."""
        if not self._as_series:
            self._line.append(_Write(self, self._post))
            self._next()
            return
        count = self._seen.get((key, reason), 0) + 1
        self._seen[key, reason] = count
        if count <= 2:  # noqa: PLR2004 - the first is posted, the second turns it into a series
            self._client.send(_Write(self, self._post if count == 1 else self._patch))

    def written(self) -> None:
        """A write has been answered."""
        if not self._as_series:
            self._writing = False
            self._next()

    def _next(self) -> None:
        if self._line and not self._writing:
            self._writing = True
            self._client.send(self._line.popleft())
