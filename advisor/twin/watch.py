"""The way of a change from the API server to the operator's cache."""

from collections.abc import Callable
from typing import Any

from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["Watch"]


class Watch:
    """Brings changes to the operator after a lag; reading them takes CPU time, which a quota delays.

    Under no quota that time is a part of the lag.
    """

    __slots__ = ("_cpu", "_engine", "_event_cpu_ns", "_lag_ns", "_line", "_share")

    def __init__(self, engine: Engine, line: ServiceLine, cpu: CpuQuota, world: WorldParameters) -> None:
        self._engine = engine
        self._line = line
        self._cpu = cpu
        self._event_cpu_ns = round(world.event_cpu_seconds * 1e9)
        self._lag_ns = round(world.watch_lag_seconds * 1e9)
        self._share = world.watch_share

    def deliver(self, callback: Callable[[Any], None], argument: object) -> None:
        """Call back when the operator sees what has just been written: behind a share of the server's backlog."""
        written_ns = self._engine.now_ns
        backlog_ns = self._line.free_ns - written_ns
        if backlog_ns > 0:
            written_ns += int(backlog_ns * self._share)
        if self._event_cpu_ns:
            self.deliver_at(written_ns, callback, argument)
            return
        self._engine.at(written_ns + self._lag_ns, callback, argument)

    def deliver_at(self, written_ns: int, callback: Callable[[Any], None], argument: object) -> None:
        """Call back when the operator sees what is written then."""
        seen_ns = written_ns + self._lag_ns
        if not self._event_cpu_ns:
            self._engine.at(seen_ns, callback, argument)
        elif self._cpu.limit_cores is None:
            self._engine.at(self._cpu.finish_ns(seen_ns, self._event_cpu_ns), callback, argument)
        else:
            self._engine.at(seen_ns, self._read, (callback, argument))

    def _read(self, event: tuple[Callable[[Any], None], object]) -> None:
        engine = self._engine
        engine.at(self._cpu.finish_ns(engine.now_ns, self._event_cpu_ns), *event)
