"""Analyses every target on its schedule, in threads: a thin edge around the decisions of ``due.py``."""

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from advisor.analysis.fleettask import failure_of
from advisor.engines.base import TaskTimeoutError
from advisor.errors import AdvisorError
from advisor.model.fleet import FleetFailure
from advisor.model.report import Report
from advisor.sources.scraping import Clock
from advisor.web.due import DueRules, Schedule

__all__ = ["Discovery", "RunState", "Scheduler", "Sink", "Target"]

_LOG: Final = logging.getLogger(__name__)
_STOP_SECONDS: Final = 2.0
_IDLE_SECONDS: Final = 60.0


@runtime_checkable
class Target(Protocol):
    """One operator that is analysed again and again."""

    @property
    def name(self) -> str:
        """What the operator is called."""
        ...

    @property
    def limit_seconds(self) -> float:
        """How long one analysis may take."""
        ...

    def analyse(self, stop: threading.Event) -> Report:
        """One analysis, in a thread of its own; it ends soon once ``stop`` is set, if it can.

        Raises:
            Exception: whatever goes wrong; it is told to the sink.
        """
        ...


class Discovery(Protocol):
    """Somewhere operators come and go, such as a store; looked at on the same schedule as they are."""

    @property
    def name(self) -> str:
        """What it is called in failures."""
        ...

    @property
    def limit_seconds(self) -> float:
        """How long one look may take."""
        ...

    def find(self, stop: threading.Event) -> tuple[Target, ...]:
        """The targets that are there now.

        Raises:
            Exception: whatever goes wrong; those found before stay.
        """
        ...


class Sink(Protocol):
    """Takes what analyses come to, from any thread, one call at a time for each operator."""

    def report(self, operator: str, time: float, report: Report) -> None:
        """A report; ``time`` is the Unix time at which its analysis began."""
        ...

    def failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """An analysis that failed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """How it stands with one target, for pages and metrics; times are Unix seconds.

    Attributes:
        name: which target.
        next_due: when it is next analysed, at the earliest.
        running_since: when the analysis began that runs; None where none does.
        hangs: whether an analysis that took too long has still not ended.
        last_duration_seconds: how long the last one took; None before there was one.
        failures: how many failed in a row.
        failures_total: how many failed since the start.
        last_failure: what went wrong last; None after a success.
        last_success: when the last report came; None before the first.
    """

    name: str
    next_due: float
    running_since: float | None
    hangs: bool
    last_duration_seconds: float | None
    failures: int
    failures_total: int
    last_failure: FleetFailure | None
    last_success: float | None


@dataclass(slots=True)
class _Tally:
    """What the schedule does not know of one target."""

    failures_total: int = 0
    last_failure: FleetFailure | None = None
    last_success: float | None = None


@dataclass(slots=True, eq=False)
class _Job:
    """One analysis under way; ``holds`` counts the threads that are busy with it."""

    of: "Target | Discovery"
    began_wall: float
    stop: threading.Event = field(default_factory=threading.Event)
    holds: int = 1


class Scheduler:
    """Runs targets until it is stopped.

    A target that takes too long has failed, its place goes to another, and its late result is dropped; while its thread
    hangs, it is not started again. A sink that fails is logged and disturbs nobody.

    Args:
        rules: when.
        sink: who takes the results.
        random: numbers from 0 to 1, for the jitter.
        clock: the time, and how to wait.
    """

    def __init__(self, rules: DueRules, sink: Sink, random: Callable[[], float], clock: Clock | None = None) -> None:
        self._sink = sink
        self._clock = clock or Clock()
        self._schedule = Schedule(rules, random)
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._known: dict[str, Target | Discovery] = {}
        self._owners: dict[str, str] = {}
        self._jobs: dict[str, _Job] = {}
        self._tallies: dict[str, _Tally] = {}
        self._threads: set[threading.Thread] = set()
        self._loop: threading.Thread | None = None
        self.sink_errors = 0

    def start(self) -> None:
        """Begin; at once, and in threads of its own."""
        self._loop = threading.Thread(target=self._run, name="scheduler", daemon=True)
        self._loop.start()

    def stop(self, seconds: float = _STOP_SECONDS) -> bool:
        """End everything within so many seconds; whether nothing goes on any more. What hangs is left behind."""
        end = self._clock.monotonic() + seconds
        with self._lock:
            self._stopping.set()
            for job in self._jobs.values():
                job.stop.set()
            threads = [one for one in (self._loop, *self._threads) if one is not None]
        self._wake.set()
        for thread in threads:
            thread.join(max(0.0, end - self._clock.monotonic()))
        return not any(thread.is_alive() for thread in threads)

    def replace(
        self, targets: Iterable[Target], discoveries: Iterable[Discovery] = (), rules: DueRules | None = None
    ) -> None:
        """Watch these from now on, as after a reload: who was there before keeps his state.

        What a discovery found stays until it looks again, unless the discovery is gone.
        """
        fixed: dict[str, Target | Discovery] = {one.name: one for one in targets}
        fixed.update({one.name: one for one in discoveries})
        with self._lock:
            if rules is not None:
                self._schedule.rules = rules
            for name in [name for name in self._known if name not in fixed]:
                owner = self._owners.get(name)
                if owner is None or owner not in fixed:
                    self._remove(name)
            for one in fixed.values():
                self._owners.pop(one.name, None)
                self._add(one)
        self._wake.set()

    def hurry(self, name: str) -> bool:
        """Analyse a target as soon as there is a place; False where it is not known."""
        with self._lock:
            is_known = self._schedule.hurry(name, self._clock.monotonic())
        self._wake.set()
        return is_known

    def states(self) -> tuple[RunState, ...]:
        """How it stands with every target and discovery, by name."""
        with self._lock:
            ahead = self._clock.wall() - self._clock.monotonic()
            found = []
            for name in sorted(self._known):
                state = self._schedule.state(name)
                if state is None:
                    continue
                tally = self._tallies[name]
                since, job = state.running_since, self._jobs.get(name)
                found.append(
                    RunState(
                        name=name,
                        next_due=state.due + ahead,
                        running_since=None if since is None else since + ahead,
                        hangs=state.is_held and job is not None and job.stop.is_set(),
                        last_duration_seconds=state.last_duration_seconds,
                        failures=state.failures,
                        failures_total=tally.failures_total,
                        last_failure=tally.last_failure,
                        last_success=tally.last_success,
                    )
                )
            return tuple(found)

    def _add(self, one: "Target | Discovery") -> None:
        self._known[one.name] = one
        self._tallies.setdefault(one.name, _Tally())
        self._schedule.add(one.name, self._clock.monotonic(), one.limit_seconds)

    def _remove(self, name: str) -> None:
        del self._known[name]
        del self._tallies[name]
        self._owners.pop(name, None)
        self._schedule.remove(name)
        if name in self._jobs:
            self._jobs[name].stop.set()

    def _run(self) -> None:
        """The body of the thread that keeps the time."""
        while not self._stopping.is_set():
            self._wake.clear()
            with self._lock:
                now = self._clock.monotonic()
                for name in self._schedule.overrun(now):
                    self._give_up(name)
                for name in () if self._stopping.is_set() else self._schedule.take(now):
                    self._begin(name)
                deadline = self._schedule.next_deadline()
            wait = _IDLE_SECONDS if deadline is None else min(_IDLE_SECONDS, deadline - self._clock.monotonic())
            self._clock.pause(self._wake, max(0.0, wait))

    def _begin(self, name: str) -> None:
        job = self._jobs[name] = _Job(self._known[name], self._clock.wall())
        try:
            self._spawn(lambda: self._work(job), f"analysis {name}")
        except RuntimeError as error:  # no thread is to be had; the others go on
            self._schedule.ended(name, self._clock.monotonic(), is_ok=False)
            self._count_failure(name, failure_of(error))
            self._let_go(job)

    def _spawn(self, body: Callable[[], None], name: str) -> None:
        """Run something in a thread that is waited for at the end.

        Raises:
            RuntimeError: the system gives no thread.
        """
        thread = threading.Thread(target=body, name=name, daemon=True)
        thread.start()
        self._threads = {one for one in self._threads if one.is_alive()} | {thread}

    def _give_up(self, name: str) -> None:
        """Tell that an analysis takes too long; in a thread of its own, since a sink may be slow."""
        job = self._jobs[name]
        job.stop.set()
        failure = failure_of(TaskTimeoutError.after(job.of.limit_seconds))
        if not self._count_failure(name, failure):
            return
        job.holds += 1
        try:
            self._spawn(lambda: self._tell_overrun(job, failure), f"overrun {name}")
        except RuntimeError:
            job.holds -= 1
            self.sink_errors += 1

    def _tell_overrun(self, job: _Job, failure: FleetFailure) -> None:
        self._tell(lambda: self._sink.failure(job.of.name, job.began_wall, failure))
        self._finish(job)

    def _work(self, job: _Job) -> None:
        """One analysis and what comes of it; the body of its thread."""
        try:
            found = _outcome(job)
            if job.stop.is_set():
                # It was ended, so whatever came of it says nothing.
                with self._lock:
                    self._schedule.ended(job.of.name, self._clock.monotonic(), is_ok=True)
            else:
                self._take(job, found)
        finally:
            self._finish(job)

    def _take(self, job: _Job, found: "_Outcome") -> None:
        """Count what came of an analysis, and tell it unless it comes too late."""
        name = job.of.name
        failure = found if isinstance(found, FleetFailure) else None
        with self._lock:
            if not self._schedule.ended(name, self._clock.monotonic(), is_ok=failure is None):
                return
            if failure is not None:
                self._count_failure(name, failure)
            else:
                tally = self._tallies[name]
                tally.last_failure, tally.last_success = None, self._clock.wall()
            if isinstance(found, tuple):
                self._adopt(name, found)
        if isinstance(found, FleetFailure):
            self._tell(lambda: self._sink.failure(name, job.began_wall, found))
        elif isinstance(found, Report):
            self._tell(lambda: self._sink.report(name, job.began_wall, found))

    def _adopt(self, owner: str, targets: "tuple[Target, ...]") -> None:
        """Watch what a discovery found, and no more what it does not find any longer."""
        mine = {one.name: one for one in targets if self._owners.get(one.name, owner) == owner}
        mine = {name: one for name, one in mine.items() if name in self._owners or name not in self._known}
        for name in [name for name, whose in self._owners.items() if whose == owner and name not in mine]:
            self._remove(name)
        for name, one in mine.items():
            self._owners[name] = owner
            self._add(one)

    def _count_failure(self, name: str, failure: FleetFailure) -> bool:
        """Take note of a failure; whether the target is still watched."""
        tally = self._tallies.get(name)
        if tally is None:
            return False
        tally.failures_total += 1
        tally.last_failure = failure
        return True

    def _tell(self, tell: Callable[[], None]) -> None:
        try:
            tell()
        except Exception:  # noqa: BLE001 - whatever the sink runs into
            # A full disk of the store must not end the watching.
            _LOG.exception("a result could not be kept")
            with self._lock:
                self.sink_errors += 1

    def _finish(self, job: _Job) -> None:
        with self._lock:
            self._let_go(job)
        self._wake.set()

    def _let_go(self, job: _Job) -> None:
        job.holds -= 1
        if job.holds == 0:
            del self._jobs[job.of.name]
            self._schedule.released(job.of.name)


_Outcome = Report | FleetFailure | tuple[Target, ...]


def _outcome(job: _Job) -> _Outcome:
    """What an analysis or a discovery comes to; whatever is raised is a failure."""
    one = job.of
    try:
        return one.analyse(job.stop) if isinstance(one, Target) else one.find(job.stop)
    except Exception as error:  # noqa: BLE001 - one target's fault is no other's
        failure = failure_of(error)
        if failure.exit_code == AdvisorError.exit_code and not job.stop.is_set():
            _LOG.error("analysis of %s: %s", one.name, failure.error, exc_info=error)
        return failure
