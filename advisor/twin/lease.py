"""The leader's lease: one small write every two seconds, in a bucket of its own."""

from advisor.twin.client import Client
from advisor.twin.engine import Engine

__all__ = ["Lease"]

_RETRY_NS = 2_000_000_000


class Lease:
    """Renews the lease as long as it is held."""

    __slots__ = ("_client", "_engine", "attempt", "is_held", "ready_ns", "request")

    def __init__(self, engine: Engine, client: Client) -> None:
        self._engine = engine
        self._client = client
        self.request = client.request("PUT", "Lease", client="lease")
        self.attempt = 0
        self.ready_ns = 0
        self.is_held = False

    def start(self) -> None:
        """Take the lease."""
        self.is_held = True
        self._renew(None)

    def answered(self, status: int) -> None:
        """Nobody waits for the answer."""

    def _renew(self, _: object) -> None:
        if self.is_held:
            self._client.send(self)
            self._engine.at(self._engine.now_ns + _RETRY_NS, self._renew)
