"""The part that reads the operator's log, as fast as the CPU budget allows, and passes on what its lines tell."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from advisor.model.raw import LogRecord
from advisor.sidecar.budget import CpuBudget
from advisor.sidecar.condensing import condensed
from advisor.sidecar.queueitems import VERBOSE_FRONT, QueueContent, is_queue_content, queue_content
from advisor.sidecar.selfview import cpu_seconds
from advisor.sources.operatorlog import LogParser
from advisor.sources.scraping import Clock

__all__ = ["Follower", "LogBatch", "LogFigures", "LogReader", "OnLog"]

_VERBOSE_BYTES = len(VERBOSE_FRONT)
_POLL_SECONDS = 0.25
"""Between two looks at a log that has nothing new; an operator writes several lines a reconcile."""


class Follower(Protocol):
    """Where lines come from."""

    behind_bytes: int
    problem: str | None

    @property
    def dropped_long_lines(self) -> int:
        """Lines that were too long."""
        ...

    def poll(self) -> list[bytes]:
        """The next whole lines; none where nothing is new. Never waits."""
        ...

    def close(self) -> None:
        """Give back what it holds."""
        ...


@dataclass(frozen=True, slots=True)
class LogBatch:
    """What some lines tell, condensed and in the order of the log.

    Attributes:
        records: what they tell of reconciles, and of the operator.
        contents: what queues held.
        is_behind: whether more has been written already.
    """

    records: Sequence[LogRecord]
    contents: Sequence[QueueContent] = ()
    is_behind: bool = False


OnLog = Callable[[LogBatch], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFigures:
    """How reading goes: lines by outcome, the time of the last line (Unix seconds), and pauses for the budget."""

    lines: Mapping[str, int]
    last_time: float | None
    is_behind: bool
    throttled_seconds: float


class LogReader:
    """A component that reads one log.

    Args:
        open_follower: opens the log; called again after a failure.
        on_log: who is told what the lines say.
        budget: holds the process to its CPU budget.
        clock: the time.
    """

    name = "log"

    def __init__(
        self,
        open_follower: Callable[[], Follower],
        on_log: Sequence[OnLog],
        budget: CpuBudget,
        clock: Clock | None = None,
    ) -> None:
        self._open = open_follower
        self._on_log = tuple(on_log)
        self._budget = budget
        self._clock = clock or Clock()
        self._parser = LogParser(repeats=False)
        self._dropped = 0
        self._contents = 0
        self._last_time: float | None = None
        self._is_behind = False
        self._problem = ""

    def figures(self) -> LogFigures:
        """How it goes."""
        parser = self._parser
        return LogFigures(
            lines={
                "parsed": parser.lines - parser.unreadable + self._contents,
                "unreadable": parser.unreadable,
                "dropped": self._dropped,
            },
            last_time=self._last_time,
            is_behind=self._is_behind,
            throttled_seconds=self._budget.throttled_seconds,
        )

    def health(self) -> str:
        """Why nothing can be read."""
        return self._problem

    def counters(self) -> Mapping[str, float]:
        """Lines by outcome."""
        return self.figures().lines

    def run(self, stop: threading.Event) -> None:
        """Read until it is time to stop; a stream that has ended is not read again."""
        follower = self._open()
        dropped_before = self._dropped
        try:
            while not stop.is_set():
                lines = follower.poll()
                self._problem = follower.problem or ""
                self._dropped = dropped_before + follower.dropped_long_lines
                self._is_behind = bool(lines) and follower.behind_bytes > 0
                if lines:
                    self.read(lines)
                elif getattr(follower, "ended", False):
                    return
                pause = self._budget.pause_seconds(self._clock.monotonic(), cpu_seconds())
                if self._clock.pause(stop, pause if lines else max(pause, _POLL_SECONDS)):
                    return
        finally:
            follower.close()

    def read(self, lines: Sequence[bytes]) -> None:
        """Take in the next lines, and tell what they say."""
        # Few lines are verbose: the others cost one look at their front, which `startswith` takes longer for.
        listed = [line for line in lines if line[:_VERBOSE_BYTES] == VERBOSE_FRONT and is_queue_content(line)]
        contents = [found for line in listed if (found := queue_content(line)) is not None]
        self._contents += len(listed)
        taken = set(listed)
        others = [line for line in lines if line not in taken] if taken else lines
        records = condensed(self._parser.records(others))
        if records:
            self._last_time = records[-1].time
        batch = LogBatch(records, contents, self._is_behind)
        for tell in self._on_log:
            tell(batch)
