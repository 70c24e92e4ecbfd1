"""What-ifs that readers ask for, each in a process of its own: a thin edge around what ``whatifline.py`` decides."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from advisor.analysis.basis import Basis
from advisor.errors import AdvisorError
from advisor.model.whatif import WhatIf
from advisor.sources.scraping import Clock
from advisor.web.readers import Readers
from advisor.web.whatifasked import Asked, axes_around, run_id
from advisor.web.whatifline import Line, LineRules, Phase
from advisor.web.whatifprocess import Failed, Process, Step, Task, Told

__all__ = ["BusyError", "Effort", "Running", "WhatIfRun", "WhatIfs"]

_LOG: Final = logging.getLogger(__name__)
_IDLE_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 2.0
_GRACE_SECONDS: Final = 5.0
"""For the start of a process, and for what it has begun when its time is over."""
_AGAIN_SECONDS: Final = 10.0
_DEATH: Final = "its process ended before it was through: was it killed, or is there too little memory?"


class BusyError(AdvisorError):
    """A question cannot be taken now.

    Attributes:
        retry_seconds: when to try again.
        is_readers: the reader asked too often; else too many others wait.
    """

    def __init__(self, message: str, retry_seconds: float, *, is_readers: bool) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds
        self.is_readers = is_readers


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What one run may cost.

    Attributes:
        seconds: after so many no more combinations are tried.
        draws: runs for the intervals of what is asked.
        draws_around: runs for those of the combinations beside.
        workers: numbers of workers that are shown.
        paces: values of QPS that are shown.
    """

    seconds: float = 30.0
    draws: int = 12
    draws_around: int = 4
    workers: int = 6
    paces: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRun:
    """How it stands with one run.

    Attributes:
        id: its name.
        operator: of whom.
        asked: the settings.
        basis_time: Unix time of the analysis that it rests on.
        phase: how far it is.
        ahead: how many wait before it.
        step: what is being done.
        answer: the settings in force and those that are asked; None until it is there.
        around: the combinations beside; None until they are there.
        error: why there is no result; "" for no reason.
    """

    id: str
    operator: str
    asked: Asked
    basis_time: float
    phase: Phase
    ahead: int = 0
    step: str = ""
    answer: WhatIf | None = None
    around: WhatIf | None = None
    error: str = ""


class Running(Protocol):
    """A process as this module sees it."""

    def told(self) -> Iterator[Told]:
        """What it tells, until it has ended and nothing of it is left."""
        ...

    def end(self) -> None:
        """End it, whatever it is doing."""
        ...


@dataclass(slots=True)
class _Record:
    """What is known of a run beside its place in the line; ``task`` until it has ended."""

    operator: str
    asked: Asked
    basis_time: float
    task: Task | None
    process: Running | None = None
    step: str = ""
    answer: WhatIf | None = None
    around: WhatIf | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is behind the lock."""

    line: Line
    readers: Readers
    records: dict[str, _Record] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)


class WhatIfs:
    """Runs what-ifs until it is stopped.

    Args:
        rules: how many, and for how long; the limit of a run follows from the effort.
        effort: what one may cost.
        per_minute: how many each reader may ask for.
        clock: the time, and how to wait.
        begin: starts the process of a task.
    """

    def __init__(
        self,
        rules: LineRules,
        effort: Effort,
        *,
        per_minute: int = 6,
        clock: Clock | None = None,
        begin: Callable[[Task], Running] = Process,
    ) -> None:
        self._effort = effort
        self._clock = clock or Clock()
        self._begin = begin
        self._parts = _Parts(Line(rules), Readers(per_minute))
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._loop: threading.Thread | None = None

    @staticmethod
    def limit_seconds(effort: Effort) -> float:
        """How long a run may take before it is ended."""
        return effort.seconds + _GRACE_SECONDS

    def start(self) -> None:
        """Begin, in threads of its own."""
        self._loop = threading.Thread(target=self._run, name="what-ifs", daemon=True)
        self._loop.start()

    def stop(self, seconds: float = _STOP_SECONDS) -> bool:
        """End everything within so many seconds; whether nothing goes on any more."""
        end = self._clock.monotonic() + seconds
        with self._lock:
            self._stopping.set()
            processes = [one.process for one in self._parts.records.values() if one.process is not None]
            threads = [one for one in (self._loop, *self._parts.threads) if one is not None]
        for process in processes:
            process.end()
        self._wake.set()
        for thread in threads:
            thread.join(max(0.0, end - self._clock.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def ask(
        self, reader: str, basis: Basis, basis_time: float, asked: Asked, advised: tuple[float | None, float | None]
    ) -> str:
        """Ask a question; the name of its run. One that is known costs the reader nothing.

        Args:
            reader: who asks.
            basis: what it rests on, named as the operator.
            basis_time: Unix time of the analysis that found it.
            asked: the settings.
            advised: concurrency and QPS that the report advises, to be shown beside.

        Raises:
            BusyError: the reader asks too often, or too many wait.
        """
        name, effort = run_id(basis.name, basis_time, asked), self._effort
        around = axes_around(basis.settings, asked, advised, workers=effort.workers, paces=effort.paces)
        now = self._clock.monotonic()
        with self._lock:
            phase = self._parts.line.touch(name, now)
            if phase is Phase.DONE or (phase is not None and phase.goes_on):
                return name
            if self._parts.line.is_full:
                raise BusyError("too many what-ifs wait already", _AGAIN_SECONDS, is_readers=False)
            wait = self._parts.readers.wait_seconds(reader, now)
            if wait > 0.0:
                raise BusyError("this is asked too often from where you are", wait, is_readers=True)
            self._parts.line.ask(name, now)
            task = Task(
                basis=basis,
                asked=asked,
                around=around,
                draws=effort.draws,
                draws_around=effort.draws_around,
                seconds=effort.seconds,
            )
            self._parts.records[name] = _Record(basis.name, asked, basis_time, task)
            for old in self._parts.line.forget():
                del self._parts.records[old]
        self._wake.set()
        return name

    def look(self, name: str) -> WhatIfRun | None:
        """How it stands with a run, which goes on for a while because of that; None where it is not known."""
        with self._lock:
            phase = self._parts.line.touch(name, self._clock.monotonic())
            record = self._parts.records.get(name)
            if phase is None or record is None:
                return None
            return WhatIfRun(
                id=name,
                operator=record.operator,
                asked=record.asked,
                basis_time=record.basis_time,
                phase=phase,
                ahead=self._parts.line.ahead(name),
                step=record.step,
                answer=record.answer,
                around=record.around,
                error=record.error,
            )

    def cancel(self, name: str) -> None:
        """End a run, if it goes on."""
        with self._lock:
            if self._parts.line.cancel(name):
                self._end(name)
        self._wake.set()

    def _run(self) -> None:
        """The body of the thread that keeps the time."""
        while not self._stopping.is_set():
            self._wake.clear()
            with self._lock:
                now = self._clock.monotonic()
                for name in self._parts.line.overdue(now):
                    self._end(name)
                for name in () if self._stopping.is_set() else self._parts.line.take(now):
                    self._start(name)
                deadline = self._parts.line.next_deadline()
            wait = _IDLE_SECONDS if deadline is None else min(_IDLE_SECONDS, deadline - self._clock.monotonic())
            self._clock.pause(self._wake, max(0.0, wait))

    def _start(self, name: str) -> None:
        record = self._parts.records[name]
        thread = threading.Thread(target=self._follow, args=(name, record), name=f"what-if {name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no thread is to be had; the others go on
            self._over(name, record, f"it cannot be started: {error}")
            return
        self._parts.threads[:] = [one for one in self._parts.threads if one.is_alive()] + [thread]

    def _end(self, name: str) -> None:
        process = self._parts.records[name].process
        if process is not None:
            process.end()

    def _follow(self, name: str, record: _Record) -> None:
        """Run a process and take what it tells, to its end; the body of its thread."""
        error = _DEATH
        try:
            assert record.task is not None  # noqa: S101 - it is there until the run has ended
            process = self._begin(record.task)
            with self._lock:
                record.process = process
                if self._stopping.is_set() or not self._parts.line.is_running(name):
                    # It was cancelled before there was anything to end.
                    process.end()
            for told in process.told():
                with self._lock:
                    _take(record, told)
        except OSError as failed:
            error = f"it cannot be started: {failed}"
        finally:
            with self._lock:
                self._over(name, record, error)
            self._wake.set()

    def _over(self, name: str, record: _Record, error: str) -> None:
        """Take note that there is no process any more; ``error`` is why there is no result, where nothing says it."""
        record.process = record.task = None
        phase = self._parts.line.ended(name, is_ok=record.answer is not None and record.around is not None)
        if phase is Phase.FAILED and not record.error and not self._stopping.is_set():
            record.error = error
            _LOG.warning("what-if of %s: %s", record.operator, error)


def _take(record: _Record, told: Told) -> None:
    if isinstance(told, Step):
        record.step = told.text
    elif isinstance(told, Failed):
        record.error = told.error
    elif told.is_around:
        record.around = told.result
    else:
        record.answer = told.result
