"""The sidecar's process: its parts, each in a thread; the loop that keeps time; and the end.

No part can take another down, and nothing that the operator or the API server does ends the process. Told to end, it
is gone within two seconds, whatever its threads wait for.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

from advisor.sidecar.budget import MemoryGuard
from advisor.sidecar.component import Component, Supervisor
from advisor.sidecar.selfview import SelfView, cpu_seconds, resident_bytes
from advisor.sidecar.settings import Settings
from advisor.sources.scraping import Clock

__all__ = ["ClockWatch", "Life", "run"]

_TICK_SECONDS = 1.0
_ALIVE_SECONDS = 30.0
"""A process without a tick for so long is stuck; much longer than a throttled one takes."""
_END_SECONDS = 1.2
"""For all parts to end by themselves; then those that wait for something are left."""
_LOG = logging.getLogger(__name__)


class ClockWatch:
    """Notices that the wall clock was set, by the clock that cannot be."""

    _TOLERANCE_SECONDS = 1.0
    """Between two looks; corrections by steering the clock are far smaller."""

    def __init__(self) -> None:
        self._offset: float | None = None

    def look(self, wall: float, monotonic: float) -> float:
        """By how many seconds the wall clock was set since the last look, back if below zero; 0 where it was not."""
        offset, before = wall - monotonic, self._offset
        self._offset = offset
        if before is None or abs(offset - before) < self._TOLERANCE_SECONDS:
            return 0.0
        return offset - before


class Life:
    """What all parts share of the process: when it ends, whether it works, how much memory they may take.

    Args:
        memory_limit_bytes: where it begins to hold less.
        clock: the time.

    Attributes:
        stop: is set when everything has to end.
        on_share: is told the share of their usual bounds that rings and digests may hold, when it changes.
        on_jump: is told by how many seconds the wall clock was set, back if below zero.
        on_tick: is called about every second with the time in Unix seconds.
    """

    def __init__(self, memory_limit_bytes: int, clock: Clock | None = None) -> None:
        self.stop = threading.Event()
        self.on_share: list[Callable[[float], None]] = []
        self.on_jump: list[Callable[[float], None]] = []
        self.on_tick: list[Callable[[float], None]] = []
        self.clock = clock or Clock()
        self._memory = MemoryGuard(memory_limit_bytes)
        self._clock_watch = ClockWatch()
        self._ticked = self.clock.monotonic()
        self._supervisors: tuple[Supervisor, ...] = ()
        self._jumps = 0
        self._tick_failures = 0

    @property
    def is_alive(self) -> bool:
        """Whether the main loop has ticked within the last half minute."""
        return self.clock.monotonic() - self._ticked <= _ALIVE_SECONDS

    def keeps(self, supervisors: Sequence[Supervisor]) -> None:
        """Learn which parts there are."""
        self._supervisors = tuple(supervisors)

    def tick(self) -> None:
        """Look at clocks and memory, and tell whoever listens; what one of them raises is logged and counted."""
        self._ticked = now = self.clock.monotonic()
        wall = self.clock.wall()
        jump = self._clock_watch.look(wall, now)
        if jump:
            self._jumps += 1
            _LOG.warning("the clock was set by %+.1f s", jump)
            self._tell(self.on_jump, jump)
        if self._memory.look(now, resident_bytes()):
            _LOG.warning("memory: rings and digests hold %g of their usual bounds", self._memory.share)
            self._tell(self.on_share, self._memory.share)
        self._tell(self.on_tick, wall)

    def _tell(self, listeners: Sequence[Callable[[float], None]], value: float) -> None:
        for listener in listeners:
            try:
                listener(value)
            except Exception:  # noqa: BLE001 - whatever it is, the process goes on
                self._tick_failures += 1
                # A listener that always fails is not said every second.
                if self._tick_failures & (self._tick_failures - 1) == 0:
                    _LOG.exception("failed at a tick, %d times so far", self._tick_failures)

    def health(self) -> dict[str, str]:
        """What is wrong, by part; parts with which nothing is are absent."""
        found = {one.component.name: one.error or one.component.health() for one in self._supervisors}
        return {name: text for name, text in found.items() if text}

    def self_view(self) -> SelfView:
        """What the process knows of itself; a part's figures are for whoever has the part to add."""
        failures = {one.component.name: one.failures for one in self._supervisors}
        return SelfView(
            cpu_seconds=cpu_seconds(),
            resident_bytes=resident_bytes(),
            component_failures=failures | {"main": self._tick_failures},
            clock_jumps=self._jumps,
            memory_share=self._memory.share,
        )


def run(
    settings: Settings,
    asked_to_end: "SimpleQueue[None]",
    assemble: Callable[[Settings, Life], Sequence[Component]],
) -> int:
    """Run everything until something is in a queue; the exit code.

    Args:
        settings: what to run.
        asked_to_end: a queue and no event, since a signal's handler may put into it whatever the main thread is doing.
        assemble: makes the parts; what it raises ends the process.
    """
    life = Life(settings.memory_limit_bytes)
    supervisors = [Supervisor(component, life.stop) for component in assemble(settings, life)]
    life.keeps(supervisors)
    for one in supervisors:
        one.start()
    while True:
        life.tick()
        try:
            asked_to_end.get(timeout=_TICK_SECONDS)
        except Empty:
            continue
        break
    _end(life, supervisors)
    return 0


def _end(life: Life, supervisors: Sequence[Supervisor]) -> None:
    """End all parts."""
    began = time.monotonic()
    life.stop.set()
    for one in supervisors:
        if not one.join(began + _END_SECONDS - time.monotonic()):
            _LOG.warning("%s did not end in time, and is left", one.component.name)
