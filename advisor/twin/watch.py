"""The way of a change from the API server to the operator's cache."""

from collections.abc import Callable
from heapq import heappush
from typing import Any

from advisor.twin.client import Random
from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["Watch"]


class Watch:
    """Brings changes to the operator after a lag; reading them takes CPU time, which a quota delays."""

    __slots__ = (
        "_cpu",
        "_engine",
        "_event_cpu_ns",
        "_heap",
        "_is_plain",
        "_lag_ns",
        "_lags_ns",
        "_line",
        "_random",
        "_share",
    )

    def __init__(
        self, engine: Engine, line: ServiceLine, cpu: CpuQuota, world: WorldParameters, random: Random
    ) -> None:
        self._engine = engine
        self._heap = engine.heap()
        self._line = line
        self._cpu = cpu
        self._share = world.watch_share
        self._event_cpu_ns = round(world.event_cpu_seconds * 1e9)
        self._random = random.random
        self._lags_ns = tuple(round(world.watch_lag_seconds * factor * 1e9) for factor in world.watch_lag_spread)
        self._lag_ns = self._lags_ns[0]
        # No number is drawn where chance has no choice, so that runs without chance need no random numbers.
        self._is_plain = len(self._lags_ns) == 1 and not self._event_cpu_ns

    def deliver(self, callback: Callable[[Any], None], argument: object) -> None:
        """Call back when the operator sees what has just been written: behind a share of the server's backlog."""
        engine = self._engine
        seen_ns = engine.now_ns
        backlog_ns = self._line.free_ns - seen_ns
        if backlog_ns > 0:
            seen_ns += int(backlog_ns * self._share)
        if self._is_plain:
            # As `Engine.at`, without the cost of a call.
            engine.asked = number = engine.asked + 1
            heappush(self._heap, (seen_ns + self._lag_ns, number, callback, argument))
        else:
            self._come(seen_ns, callback, argument)

    def write(self, work_ns: int, callback: Callable[[Any], None], argument: object) -> None:
        """Let somebody else than the operator write now; call back when the operator sees it."""
        # As `ServiceLine.finish_ns` and `Engine.at`, without the cost of calls.
        engine, line = self._engine, self._line
        now_ns, free_ns = engine.now_ns, line.free_ns
        line.free_ns = written_ns = (now_ns if free_ns < now_ns else free_ns) + work_ns  # noqa: FURB136 - as there
        line.served += 1
        line.busy_ns += work_ns
        if self._is_plain:
            engine.asked = number = engine.asked + 1
            heappush(self._heap, (written_ns + self._lag_ns, number, callback, argument))
        else:
            self._come(written_ns, callback, argument)

    def _come(self, written_ns: int, callback: Callable[[Any], None], argument: object) -> None:
        """The lag by chance, and CPU time for what comes."""
        lags_ns = self._lags_ns
        come_ns = written_ns + (lags_ns[int(self._random() * len(lags_ns))] if len(lags_ns) > 1 else self._lag_ns)
        if self._event_cpu_ns:
            self._engine.at(come_ns, self._read, (callback, argument))
        else:
            self._engine.at(come_ns, callback, argument)

    def _read(self, event: tuple[Callable[[Any], None], object]) -> None:
        engine = self._engine
        engine.at(self._cpu.finish_ns(engine.now_ns, self._event_cpu_ns), *event)
