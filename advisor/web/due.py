"""When which operator is analysed: a state machine without clock, thread or randomness of its own.

Times are seconds of a clock that never goes back. ``take`` says who begins now, ``overrun`` who takes too long,
``next_deadline`` when to come back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["DueRules", "Schedule", "TargetState"]

_MOST_DOUBLINGS: Final = 30
_FIRST_SPREAD_SECONDS: Final = 60.0
"""At most so long after it was named, the first analysis of an operator is due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueRules:
    """What a schedule goes by.

    Attributes:
        interval_seconds: from the begin of one analysis to that of the next.
        jitter_ratio: of each pause, how much it may be shorter or longer.
        longest_pause_seconds: the longest pause after failures; the interval where that is longer.
        at_a_time: how many run at a time.
        first_spread_ratio: of the interval, over how much the first analyses are spread, where places are fewer.

    Raises:
        ValueError: one is out of bounds.
    """

    interval_seconds: float
    jitter_ratio: float = 0.1
    longest_pause_seconds: float = 3600.0
    at_a_time: int = 4
    first_spread_ratio: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.interval_seconds <= 0.0 or self.at_a_time < 1:
            raise ValueError("an interval is longer than zero, and at least one runs at a time")
        if not 0.0 <= self.jitter_ratio < 1.0:
            raise ValueError("a jitter is a ratio below one")

    def pause_seconds(self, failures: int) -> float:
        """The pause after so many failures in a row: twice the one before, up to the longest."""
        doubled = self.interval_seconds * 2.0 ** min(max(0, failures - 1), _MOST_DOUBLINGS)
        return min(doubled, max(self.interval_seconds, self.longest_pause_seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetState:
    """How it stands with one operator; times in seconds of the schedule's clock.

    Attributes:
        due: when it is next analysed, at the earliest.
        running_since: when the analysis began that runs; None where none does.
        is_held: whether something of an earlier analysis still goes on, so that no other begins.
        last_duration_seconds: how long the last one took; None before there was one.
        failures: how many failed in a row.
    """

    due: float
    running_since: float | None = None
    is_held: bool = False
    last_duration_seconds: float | None = None
    failures: int = 0


@dataclass(slots=True)
class _Target:
    """What is known of one operator."""

    due: float
    limit_seconds: float
    began: float | None = None
    is_held: bool = False
    last_duration: float | None = None
    failures: int = 0
    is_leaving: bool = False


class Schedule:
    """Decides; somebody else has the clock and the threads.

    An analysis that is taken ends with ``ended`` or, where it takes too long, in ``overrun``: from then on it counts no
    more for ``at_a_time``. No other of the same operator begins before ``released``.

    Args:
        rules: what it goes by; they may be replaced.
        random: numbers from 0 to 1.
    """

    def __init__(self, rules: DueRules, random: Callable[[], float]) -> None:
        self.rules = rules
        self._random = random
        self._targets: dict[str, _Target] = {}

    def names(self) -> frozenset[str]:
        """Everybody who is on the schedule."""
        return frozenset(name for name, one in self._targets.items() if not one.is_leaving)

    def add(self, name: str, now: float, limit_seconds: float) -> None:
        """Put somebody on the schedule; who is there keeps his state, and gets this limit."""
        known = self._targets.get(name)
        if known is not None:
            known.limit_seconds, known.is_leaving = limit_seconds, False
            return
        spread = min(_FIRST_SPREAD_SECONDS, self.rules.first_spread_ratio * self.rules.interval_seconds)
        if len(self._targets) < self.rules.at_a_time:
            # There is a place for each of the first ones, so nobody has to wait for his first report.
            spread = 0.0
        self._targets[name] = _Target(now + spread * self._random(), limit_seconds)

    def remove(self, name: str) -> None:
        """Take somebody off; what of him is under way is forgotten once it has ended."""
        target = self._targets.get(name)
        if target is not None:
            target.is_leaving = True
            self._forget(name)

    def hurry(self, name: str, now: float) -> bool:
        """Make somebody due now, unless he is under way; whether he is on the schedule."""
        target = self._targets.get(name)
        if target is None or target.is_leaving:
            return False
        target.due = min(target.due, now)
        return True

    def take(self, now: float) -> tuple[str, ...]:
        """Who begins now, longest due first; they run from then on."""
        free = self.rules.at_a_time - sum(one.began is not None for one in self._targets.values())
        waiting = sorted((one.due, name) for name, one in self._targets.items() if _is_ready(one) and one.due <= now)
        chosen = tuple(name for _, name in waiting[: max(0, free)])
        for name in chosen:
            target = self._targets[name]
            target.began, target.is_held = now, True
        return chosen

    def ended(self, name: str, now: float, *, is_ok: bool) -> bool:
        """Say that an analysis has ended; False where it took too long and its result comes too late."""
        target = self._targets.get(name)
        if target is None or target.began is None:
            return False
        self._end(target, now, is_ok=is_ok)
        return not target.is_leaving

    def overrun(self, now: float) -> tuple[str, ...]:
        """Whose analysis takes too long; each is named once, and has failed."""
        late = [
            (name, one)
            for name, one in self._targets.items()
            if one.began is not None and now - one.began >= one.limit_seconds
        ]
        for _, target in late:
            self._end(target, now, is_ok=False)
        return tuple(name for name, _ in late)

    def released(self, name: str) -> None:
        """Say that nothing goes on any more of what was taken."""
        target = self._targets.get(name)
        if target is not None:
            target.is_held = False
            self._forget(name)

    def next_deadline(self) -> float | None:
        """When to come back at the latest; None where only an end or somebody new can change anything."""
        running = [one for one in self._targets.values() if one.began is not None]
        deadlines = [(one.began or 0.0) + one.limit_seconds for one in running]
        if len(running) < self.rules.at_a_time:
            deadlines += [one.due for one in self._targets.values() if _is_ready(one)]
        return min(deadlines, default=None)

    def state(self, name: str) -> TargetState | None:
        """How it stands with somebody; None where he is not on the schedule."""
        target = self._targets.get(name)
        if target is None or target.is_leaving:
            return None
        return TargetState(
            due=target.due,
            running_since=target.began,
            is_held=target.is_held and target.began is None,
            last_duration_seconds=target.last_duration,
            failures=target.failures,
        )

    def _end(self, target: _Target, now: float, *, is_ok: bool) -> None:
        began = now if target.began is None else target.began
        target.began = None
        target.last_duration = now - began
        target.failures = 0 if is_ok else target.failures + 1
        pause = self.rules.pause_seconds(target.failures)
        jitter = self.rules.jitter_ratio * (2.0 * self._random() - 1.0)
        # From begin to begin while all goes well; after a failure the pause is one, however long it took to fail.
        target.due = max(now, (began if is_ok else now) + pause * (1.0 + jitter))

    def _forget(self, name: str) -> None:
        target = self._targets[name]
        if target.is_leaving and target.began is None and not target.is_held:
            del self._targets[name]


def _is_ready(target: _Target) -> bool:
    return target.began is None and not target.is_held and not target.is_leaving
