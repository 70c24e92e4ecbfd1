"""Which what-if runs, which wait, and which nobody waits for any more: a state machine without clock or thread.

Times are seconds of a clock that never goes back. ``take`` says which begin now, ``overdue`` which are to be ended,
``next_deadline`` when to come back.
"""

import enum
from dataclasses import dataclass
from typing import Final

__all__ = ["Line", "LineRules", "Phase"]


class Phase(enum.StrEnum):
    """How far a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LATE = "late"
    """It took too long."""
    CANCELLED = "cancelled"
    LEFT = "left"
    """Nobody asked after it for a while, so it was ended."""

    @property
    def goes_on(self) -> bool:
        """Whether there is something to wait for."""
        return self in _GOES_ON


_GOES_ON: Final = frozenset({Phase.WAITING, Phase.RUNNING})


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRules:
    """What a line goes by.

    Attributes:
        at_a_time: how many run at a time.
        most_waiting: how many wait; more are refused.
        lease_seconds: for so long a run goes on without anybody asking after it.
        limit_seconds: the longest that one may run.
        most_kept: how many runs are known, those that have ended included.

    Raises:
        ValueError: one is out of bounds.
    """

    at_a_time: int = 1
    most_waiting: int = 8
    lease_seconds: float = 15.0
    limit_seconds: float = 35.0
    most_kept: int = 64

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.at_a_time < 1 or self.most_waiting < 0 or self.most_kept < self.at_a_time + self.most_waiting:
            raise ValueError("at least one runs at a time, and all that run and wait are kept")
        if self.lease_seconds <= 0.0 or self.limit_seconds <= 0.0:
            raise ValueError("times are longer than zero")


@dataclass(slots=True)
class _Run:
    """What is known of one run. ``has_process``: it takes a place, since its process has not ended yet."""

    phase: Phase
    asked: float
    began: float = 0.0
    has_process: bool = False


class Line:
    """Decides; somebody else has the clock, the threads and the processes.

    A run that is taken has a process until ``ended``, also when it was cancelled or overdue meanwhile.
    """

    def __init__(self, rules: LineRules) -> None:
        self.rules = rules
        # In the order in which they were asked for.
        self._runs: dict[str, _Run] = {}

    def ask(self, run: str, now: float) -> bool:
        """Ask for a run; one that goes on or is done is not made again. False where too many wait."""
        known = self._runs.get(run)
        if known is not None and (known.phase.goes_on or known.phase is Phase.DONE):
            known.asked = now
            return True
        if self.is_full:
            return False
        again = _Run(Phase.WAITING, now) if known is None else known
        again.phase, again.asked = Phase.WAITING, now
        # To the end of the line.
        self._runs.pop(run, None)
        self._runs[run] = again
        return True

    @property
    def is_full(self) -> bool:
        """Whether no more can wait."""
        waiting = sum(one.phase is Phase.WAITING for one in self._runs.values())
        return waiting >= self.rules.most_waiting + self._free()

    def touch(self, run: str, now: float) -> Phase | None:
        """Say that somebody still waits for a run; how far it is, None where it is not known."""
        known = self._runs.get(run)
        if known is None:
            return None
        known.asked = now
        return known.phase

    def is_running(self, run: str) -> bool:
        """Whether a run goes on in its process."""
        return self._runs[run].phase is Phase.RUNNING

    def ahead(self, run: str) -> int:
        """How many wait before a run."""
        waiting = [name for name, one in self._runs.items() if one.phase is Phase.WAITING]
        return waiting.index(run) if run in waiting else 0

    def take(self, now: float) -> list[str]:
        """The runs that begin now."""
        taken = []
        for name, one in self._runs.items():
            if self._free() <= 0:
                break
            if one.phase is Phase.WAITING and not one.has_process:
                one.phase, one.began, one.has_process = Phase.RUNNING, now, True
                taken.append(name)
        return taken

    def overdue(self, now: float) -> list[str]:
        """End what nobody waits for and what takes too long; those of it that have a process."""
        ended = []
        for name, one in self._runs.items():
            if not one.phase.goes_on:
                continue
            is_left = now >= one.asked + self.rules.lease_seconds
            is_late = one.phase is Phase.RUNNING and now >= one.began + self.rules.limit_seconds
            if is_left or is_late:
                if one.phase is Phase.RUNNING:
                    ended.append(name)
                one.phase = Phase.LEFT if is_left else Phase.LATE
        return ended

    def cancel(self, run: str) -> bool:
        """End a run; whether it has a process that is to be ended."""
        known = self._runs.get(run)
        if known is None or not known.phase.goes_on:
            return False
        was, known.phase = known.phase, Phase.CANCELLED
        return was is Phase.RUNNING

    def ended(self, run: str, *, is_ok: bool) -> Phase:
        """The process of a run is gone; how the run stands now."""
        known = self._runs[run]
        known.has_process = False
        if known.phase is Phase.RUNNING:
            known.phase = Phase.DONE if is_ok else Phase.FAILED
        return known.phase

    def forget(self) -> list[str]:
        """Drop the runs that were asked after the longest ago, where there are too many; their names."""
        many = len(self._runs) - self.rules.most_kept
        old = sorted(
            (name for name, one in self._runs.items() if not one.phase.goes_on and not one.has_process),
            key=lambda name: self._runs[name].asked,
        )
        dropped = old[: max(0, many)]
        for name in dropped:
            del self._runs[name]
        return dropped

    def next_deadline(self) -> float | None:
        """When something is overdue at the earliest; None while nothing goes on."""
        rules = self.rules
        times = [one.asked + rules.lease_seconds for one in self._runs.values() if one.phase.goes_on]
        times += [one.began + rules.limit_seconds for one in self._runs.values() if one.phase is Phase.RUNNING]
        return min(times, default=None)

    def _free(self) -> int:
        return self.rules.at_a_time - sum(one.has_process for one in self._runs.values())
