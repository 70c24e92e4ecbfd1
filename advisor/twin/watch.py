"""The way of a change from the API server to the operator's cache."""

from collections.abc import Callable
from typing import Any

from advisor.twin.client import Random
from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["Watch"]


class Watch:
    """Brings changes to the operator after a lag; reading them takes CPU time, which a quota delays.

    Attributes:
        at: calls back when an event has been read that comes at a time, as `Engine.at` does.
    """

    __slots__ = ("_cpu", "_engine", "_event_cpu_ns", "_lags_ns", "_line", "_random", "_share", "at")

    at: Callable[[int, Callable[[Any], None], object], None]

    def __init__(
        self, engine: Engine, line: ServiceLine, cpu: CpuQuota, world: WorldParameters, random: Random
    ) -> None:
        self._engine = engine
        self._line = line
        self._cpu = cpu
        self._share = world.watch_share
        self._event_cpu_ns = round(world.event_cpu_seconds * 1e9)
        self._random = random
        self._lags_ns = tuple(round(world.watch_lag_seconds * factor * 1e9) for factor in world.watch_lag_spread)
        # Where reading takes no time, it costs no call either.
        self.at = self._come if self._event_cpu_ns else engine.at

    def deliver(self, callback: Callable[[Any], None], argument: object) -> None:
        """Call back when the operator sees what has just been written: behind a share of the server's backlog."""
        written_ns = self._engine.now_ns
        backlog_ns = self._line.free_ns - written_ns
        if backlog_ns > 0:
            written_ns += int(backlog_ns * self._share)
        self.at(written_ns + self.lag_ns(), callback, argument)

    def lag_ns(self) -> int:
        """From a write to its sight, this time."""
        lags_ns = self._lags_ns
        # No number is drawn where chance has no choice, so that runs without chance need no random numbers.
        return lags_ns[int(self._random.random() * len(lags_ns))] if len(lags_ns) > 1 else lags_ns[0]

    def _come(self, time_ns: int, callback: Callable[[Any], None], argument: object) -> None:
        self._engine.at(time_ns, self._read, (callback, argument))

    def _read(self, event: tuple[Callable[[Any], None], object]) -> None:
        engine = self._engine
        engine.at(self._cpu.finish_ns(engine.now_ns, self._event_cpu_ns), *event)
