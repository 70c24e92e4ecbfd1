"""Scraping several endpoints on a steady schedule: one thread each, so that one that hangs delays no other.

Every tick's time follows from the first by the monotonic clock: what a scrape takes shifts no later one, and a jump of
the wall clock changes no order. All endpoints share the ticks' times, as if one moment had been looked at.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol

from advisor.errors import InputNotFoundError
from advisor.model.raw import ReadNote, Selection
from advisor.sources.endpoint import OPENMETRICS, Access, Endpoint, ScrapeFailedError, fetch
from advisor.sources.exposition import Exposition, ExpositionParser, UnusableExpositionError
from advisor.sources.interruption import first_signal

__all__ = ["Clock", "Outcome", "Plan", "Reporter", "Scraping", "Silent", "distinct"]

MOST_SCRAPES = 50_000
_LONGEST_TIMEOUT_SECONDS = 10.0
_TIMEOUT_SHARE = 0.9
_LATE_SHARE = 0.1
_LATE_SECONDS = 0.1
"""A scrape that would begin later than both is left out: its time would be wrong."""
_UPDATE_SECONDS = 0.5
_GRACE_SECONDS = 0.5
_HOPELESS_SCRAPES = 5
_START_SERIES = "process_start_time_seconds"


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how often.

    Raises:
        ValueError: there would be fewer than two scrapes, or far too many.
    """

    seconds: float
    interval: float

    def __post_init__(self) -> None:
        if self.seconds < self.interval:
            raise ValueError("the time is shorter than one interval, and a rate takes two scrapes")
        if self.ticks > MOST_SCRAPES:
            raise ValueError(f"that would be {self.ticks} scrapes; at most {MOST_SCRAPES} are made")

    @property
    def ticks(self) -> int:
        """Scrapes of each endpoint: one at the start, then one each interval."""
        return math.floor(self.seconds / self.interval + 1e-9) + 1

    @property
    def timeout(self) -> float:
        """Seconds after which a scrape has failed."""
        return min(_TIMEOUT_SHARE * self.interval, _LONGEST_TIMEOUT_SECONDS)


class Clock:
    """Both clocks and the way to wait, so that a test brings its own."""

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        return time.monotonic()

    def wall(self) -> float:
        """Unix seconds, as far as this machine knows them."""
        return time.time()

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        """Wait; True at once when it is time to stop."""
        return stop.wait(seconds)


class Reporter(Protocol):
    """Is told how it goes."""

    def say(self, text: str) -> None:
        """Something to read, once."""
        ...

    def update(self, text: str) -> None:
        """What holds now, many times."""
        ...


class Silent:
    """Nobody is told."""

    def say(self, text: str) -> None:
        """Say nothing."""

    def update(self, text: str) -> None:
        """Show nothing."""


@dataclass(slots=True)
class _Tally:
    """What became of one endpoint's scrapes."""

    endpoint: Endpoint
    ok: int = 0
    failed: int = 0
    malformed: int = 0
    last_error: str = ""
    hint: str = ""
    starts: list[float] = field(default_factory=list)
    mixed: bool = False

    def count(self, exposition: Exposition) -> None:
        """Take note of one answer."""
        self.ok += 1
        self.malformed += exposition.malformed
        for sample in exposition.samples:
            if sample.name == _START_SERIES and sample.value not in self.starts[-1:]:
                self.mixed = self.mixed or sample.value in self.starts
                self.starts.append(sample.value)

    def notes(self) -> Iterator[ReadNote]:
        """What a reader of the report should know."""
        where = self.endpoint.instance
        if self.failed:
            total = self.ok + self.failed
            yield ReadNote(
                where=where, message=f"{self.failed} of {total} scrapes failed, the last one: {self.last_error}"
            )
        if self.malformed:
            yield ReadNote(where=where, message=f"malformed lines skipped: {self.malformed}")
        if self.mixed:
            yield ReadNote(
                where=where, message="several processes answered by turns; give each Pod's own address instead"
            )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the scraping came to."""

    start: float
    end: float
    ok: int
    failed: int
    ended_early: bool
    notes: tuple[ReadNote, ...]


@dataclass(frozen=True, slots=True)
class _Result:
    """One scrape: its time, and either what it gave or why it failed."""

    tally: _Tally
    time: float
    exposition: Exposition | None = None
    error: str = ""
    hint: str = ""


class _Done:
    """An endpoint's thread has ended, by a fault of this program where there is one."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault


class _Stop:
    """Somebody wants it to end."""


_Take = Callable[[float, Exposition], None]


class Scraping:
    """One run over all endpoints.

    Args:
        endpoints: where to scrape; each with an ``instance`` of its own.
        access: what to send along.
        plan: how long and how often.
        selection: the samples to keep; None for all.
        reporter: is told how it goes.
        clock: the time.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        access: Access,
        plan: Plan,
        selection: Selection | None,
        *,
        reporter: Reporter,
        clock: Clock,
    ) -> None:
        self._access = access
        self._plan = plan
        self._selection = selection
        self._reporter = reporter
        self._clock = clock
        self._tallies = [_Tally(endpoint) for endpoint in endpoints]
        self._events: SimpleQueue[_Result | _Done | _Stop] = SimpleQueue()
        self._stop = threading.Event()
        self._begin = 0.0
        self._begin_wall = 0.0
        self._last = 0.0

    def run(self, take: _Take) -> Outcome:
        """Scrape to the end, giving each answer with its time to ``take``, in this thread and in order of time.

        The first SIGINT or SIGTERM ends it early; from then on these signals do what they did before.

        Raises:
            InputNotFoundError: no scrape succeeded.
        """
        urls = ", ".join(tally.endpoint.url for tally in self._tallies)
        seconds, interval = self._plan.seconds, self._plan.interval
        self._reporter.say(f"scraping {urls} every {interval:g} s for {seconds:g} s; Ctrl-C ends it early")
        self._begin, self._begin_wall = self._clock.monotonic(), self._clock.wall()
        with first_signal(self._interrupt):
            for tally in self._tallies:  # only now: once anything is asked for, a signal ends it early
                threading.Thread(target=self._follow, args=(tally,), daemon=True).start()
            early = self._collect(take)
        self._stop.set()
        ok, failed = (sum(getattr(tally, name) for tally in self._tallies) for name in ("ok", "failed"))
        if not ok:
            raise self._in_vain(failed)
        notes = [note for tally in self._tallies for note in tally.notes()]
        told = f"scrapes that succeeded: {ok}, that failed: {failed}"
        if early:
            passed = f"ended early after {self._passed():.0f} s of {seconds:g} s"
            notes.insert(0, ReadNote(where="scrape", message=passed))
            told = f"{passed}; {told}"
        self._reporter.say(told)
        return Outcome(self._stamp(0), self._last, ok, failed, early, tuple(notes))

    def _in_vain(self, failed: int) -> InputNotFoundError:
        worst = max(self._tallies, key=lambda tally: tally.failed)
        url = worst.endpoint.url
        return InputNotFoundError(
            f"no scrape succeeded of {failed}, the last one: {worst.last_error or 'no answer came at all'}",
            where=url,
            hint=worst.hint or f"check the address and what it asks for with: curl -v {url}",
        )

    def _interrupt(self) -> None:
        self._stop.set()
        self._events.put(_Stop())

    def _passed(self) -> float:
        return self._clock.monotonic() - self._begin

    def _stamp(self, tick: int) -> float:
        """Unix seconds of a tick, to the millisecond."""
        return round(self._begin_wall + tick * self._plan.interval, 3)

    def _follow(self, tally: _Tally) -> None:
        """Scrape one endpoint at every tick; the body of its thread."""
        fault = None
        try:
            for tick in range(self._plan.ticks):
                due = self._begin + tick * self._plan.interval
                if self._clock.pause(self._stop, max(0.0, due - self._clock.monotonic())):
                    break
                late = self._clock.monotonic() - due
                if late > max(_LATE_SECONDS, _LATE_SHARE * self._plan.interval):
                    self._events.put(_Result(tally, self._stamp(tick), error="it could not begin in time"))
                else:
                    self._events.put(self._scrape(tally, self._stamp(tick)))
        except Exception as error:  # noqa: BLE001 - raised again in the thread that waits
            fault = error
        self._events.put(_Done(fault))

    def _scrape(self, tally: _Tally, stamp: float) -> _Result:
        parser = ExpositionParser(self._selection, tally.endpoint.instance)
        try:
            kind = fetch(tally.endpoint, self._access, self._plan.timeout, parser.feed)
            exposition = parser.finish()
        except (ScrapeFailedError, UnusableExpositionError) as error:
            return _Result(tally, stamp, error=str(error), hint=getattr(error, "hint", ""))
        if kind == OPENMETRICS and not exposition.ended:
            return _Result(tally, stamp, error="the answer is cut off: it does not end with # EOF")
        return _Result(tally, stamp, exposition)

    def _collect(self, take: _Take) -> bool:
        """Take what the threads deliver until they are done or it is in vain; whether it was ended early."""
        running, early = len(self._tallies), False
        end = self._plan.seconds + self._plan.timeout + _GRACE_SECONDS
        while running:
            left = end - self._passed()
            try:
                event = self._events.get(timeout=max(0.0, min(left, _UPDATE_SECONDS)))
            except Empty:
                if left <= 0.0:
                    break
                self._show()
                continue
            if isinstance(event, _Result):
                self._count(event, take)
            elif isinstance(event, _Stop):
                early, end = True, self._passed() + _GRACE_SECONDS
            elif event.fault is not None:
                raise event.fault
            else:
                running -= 1
            self._show()
            if all(not tally.ok and tally.failed >= _HOPELESS_SCRAPES for tally in self._tallies):
                return early
        return early

    def _count(self, result: _Result, take: _Take) -> None:
        if result.exposition is None:
            result.tally.failed += 1
            result.tally.last_error = result.error
            result.tally.hint = result.hint
            return
        result.tally.count(result.exposition)
        self._last = max(self._last, result.time)
        take(result.time, result.exposition)

    def _show(self) -> None:
        ok, failed = (sum(getattr(tally, name) for tally in self._tallies) for name in ("ok", "failed"))
        passed = min(self._passed(), self._plan.seconds)
        self._reporter.update(
            f"scraping: {passed:.0f} of {self._plan.seconds:.0f} s; succeeded: {ok}, failed: {failed}"
        )


def distinct(endpoints: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    """The endpoints with different instances: where one host and port has several, the path tells them apart.

    Raises:
        ValueError: two are the same.
    """
    shared = [one.instance for one in endpoints]
    named = tuple(
        replace(one, instance=one.instance + one.path) if shared.count(one.instance) > 1 else one for one in endpoints
    )
    if len({one.instance for one in named}) < len(named):
        raise ValueError("the same endpoint is given twice")
    return named
