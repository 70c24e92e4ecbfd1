"""The leader's lease: one small write every two seconds, in a bucket of its own; a standby reads it as often."""

from advisor.twin.client import Client
from advisor.twin.engine import Engine
from advisor.twin.world import ServiceLine

__all__ = ["Lease", "Standby"]

# Research: controller-runtime 3.4.
_RETRY_NS = 2_000_000_000


class Lease:
    """Renews the lease as long as the process runs. Nobody waits for it, so that its time is in the requests alone.

    Attributes:
        is_held: whether a process has it.
    """

    __slots__ = ("_client", "_engine", "attempt", "cpu_ns", "is_held", "limited_ns", "request", "sent_ns")

    def __init__(self, engine: Engine, client: Client) -> None:
        self._engine = engine
        self._client = client
        self.request = client.request("PUT", "Lease", client="lease")
        self.is_held = False
        self.attempt = 0
        self.sent_ns = 0
        self.limited_ns = 0
        self.cpu_ns = 0

    def start(self) -> None:
        """Take the lease."""
        self.is_held = True
        self._renew(None)

    def stop(self) -> None:
        """The process ends; the next one takes the lease."""
        self.is_held = False

    def answered(self, status: int) -> None:  # noqa: ARG002 - a refused renewal is tried again like any other
        """Renew it again two seconds after the last time; a renewal that takes longer is awaited."""
        engine = self._engine
        engine.at(max(engine.now_ns, self.sent_ns + _RETRY_NS), self._renew)

    def _renew(self, _: object) -> None:
        engine = self._engine
        self.attempt = 0
        self.sent_ns = engine.now_ns
        self.limited_ns = 0
        self._client.send(self)


class Standby:
    """Another replica: it reads the lease and works on nothing (research: controller-runtime 3.6)."""

    __slots__ = ("_engine", "_line", "_work_ns")

    def __init__(self, engine: Engine, line: ServiceLine, work_ns: int) -> None:
        self._engine = engine
        self._line = line
        self._work_ns = work_ns

    def start(self) -> None:
        """Watch the lease from now on."""
        self._look(None)

    def _look(self, _: object) -> None:
        now_ns = self._engine.now_ns
        self._line.finish_ns(now_ns, self._work_ns)
        self._engine.at(now_ns + _RETRY_NS, self._look)
