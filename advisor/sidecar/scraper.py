"""Scrapes the operator's ``/metrics`` every few seconds, and tells whoever listens what it held."""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.model.raw import Selection
from advisor.sidecar.pacing import Pacing, PacingRules, WideReading
from advisor.sources.endpoint import OPENMETRICS, Access, Endpoint, ScrapeFailedError, fetch
from advisor.sources.exposition import Exposition, ExpositionParser, UnusableExpositionError
from advisor.sources.scraping import Clock

__all__ = ["OnRestart", "OnScrape", "RestartWatch", "ScrapeFigures", "Scraper"]

OnScrape = Callable[[float, Exposition], None]
"""Is told each scrape: its time (Unix seconds, of its begin) and what it held."""
OnRestart = Callable[[float], None]
"""Is told that the operator is a new process, and when that began (Unix seconds); before its first scrape is told."""

_LOG = logging.getLogger(__name__)
_TIMEOUT_SECONDS = 10.0
_SMALL_ANSWER_BYTES = 1 << 18
_START = "process_start_time_seconds"
_CPU = "process_cpu_seconds_total"
_START_TOLERANCE_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeFigures:
    """How scraping goes.

    Attributes:
        ok: scrapes that succeeded.
        failed: scrapes that did not.
        seconds: how long all of them took together.
        interval_seconds: from the last one to the next.
        last_time: Unix seconds of the last one that succeeded; None where there was none.
        error: why the last one failed; "" where it did not.
        malformed: lines that could not be read.
    """

    ok: int = 0
    failed: int = 0
    seconds: float = 0.0
    interval_seconds: float
    last_time: float | None = None
    error: str = ""
    malformed: int = 0


@dataclass(frozen=True, slots=True)
class _Got:
    """What one scrape came to: an exposition, or an error.

    Attributes:
        seconds: how long the answer took.
        own_seconds: CPU of this process within them.
        cpu_seconds: CPU of this process in all.
    """

    exposition: Exposition | None
    error: str
    seconds: float
    own_seconds: float
    cpu_seconds: float


class _Waiting:
    """Keeps a small answer until all of it is there, so that taking it apart is no part of its time."""

    def __init__(self, parser: ExpositionParser) -> None:
        self._parser = parser
        self._pieces: list[bytes] = []
        self._size = 0

    def receive(self, piece: bytes) -> None:
        """Take a piece; those of a large answer go on at once."""
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _SMALL_ANSWER_BYTES:
            self.pass_on()

    def pass_on(self) -> None:
        """Give the parser what is there."""
        for piece in self._pieces:
            self._parser.feed(piece)
        self._pieces.clear()


class RestartWatch:
    """Tells a new process from one whose start is told otherwise than before.

    Linux computes a start from the wall clock, so it changes when that is set. CPU time does not: a process that has
    less of it is a new one, and so is one that began after the last look at the old one.
    """

    def __init__(self) -> None:
        self._before: tuple[float, float, float] | None = None

    def look(self, time: float, start: float, cpu_seconds: float) -> bool:
        """Whether the process is another than at the last look.

        Args:
            time: Unix seconds of this look.
            start: of the process, Unix seconds.
            cpu_seconds: that it has used; 0 where it does not tell.
        """
        before, self._before = self._before, (time, start, cpu_seconds)
        if before is None or abs(start - before[1]) <= _START_TOLERANCE_SECONDS:
            return False
        return cpu_seconds < before[2] or start >= before[0] - _START_TOLERANCE_SECONDS


class Scraper:
    """A component that scrapes one endpoint for ever.

    Args:
        endpoint: where to scrape.
        selection: the samples that are wanted; those that exist once an object come in fewer scrapes where they are
            many.
        rules: how often.
        on_scrape: who is told each scrape, in this order.
        on_restart: who is told of a new process.
        access: what to send along.
        clock: the time.
    """

    name = "scraper"

    def __init__(
        self,
        endpoint: Endpoint,
        selection: Selection,
        *,
        rules: PacingRules | None = None,
        on_scrape: Sequence[OnScrape] = (),
        on_restart: Sequence[OnRestart] = (),
        access: Access | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._wide = selection
        self._narrow = Selection(selection.names, {})
        self._pacing = Pacing(rules or PacingRules())
        self._reading = WideReading()
        self._on_scrape = tuple(on_scrape)
        self._on_restart = tuple(on_restart)
        self._access = access or Access()
        self._clock = clock or Clock()
        self._restarts = RestartWatch()
        self._due = float("-inf")
        self._narrow_seconds: float | None = None
        self._has_begun = False
        self._figures = ScrapeFigures(interval_seconds=self._pacing.interval_seconds)

    @property
    def figures(self) -> ScrapeFigures:
        """How it goes, all as of one time."""
        return self._figures

    def health(self) -> str:
        """Why the last scrape failed."""
        return self._figures.error

    def counters(self) -> Mapping[str, float]:
        """Scrapes by outcome, their seconds, and lines that could not be read."""
        figures = self._figures
        return {
            "scrapes_ok": figures.ok,
            "scrapes_failed": figures.failed,
            "scrape_seconds": figures.seconds,
            "malformed_lines": figures.malformed,
        }

    def run(self, stop: threading.Event) -> None:
        """Scrape at once and then at each interval, counted from begin to begin, until it is time to stop."""
        # The time of the next one is kept: a listener that fails does not make scrapes more frequent.
        while not self._clock.pause(stop, max(0.0, self._due - self._clock.monotonic())):
            self.once()

    def once(self) -> None:
        """Scrape once, and tell whoever listens.

        Raises:
            Exception: what a listener raised, once all of them were told.
        """
        began, stamp = self._clock.monotonic(), round(self._clock.wall(), 3)
        # Before the first wide one comes a narrow one: it tells what the operator takes for any.
        is_wide = self._narrow_seconds is not None and self._reading.is_due(began)
        got = self._scrape(self._wide if is_wide else self._narrow)
        if self._has_begun:
            interval = self._pacing.took(self._charged(got, is_wide=is_wide))
        else:
            # Made while this process starts, it takes as long as that, and tells nothing of the operator.
            self._has_begun, interval = True, self._pacing.interval_seconds
        self._due = began + interval
        if bool(got.error) != bool(self._figures.error):
            _LOG.warning("scraping %s: %s", self._endpoint.url, got.error or "succeeds again")
        figures = replace(
            self._figures,
            seconds=self._figures.seconds + got.seconds,
            interval_seconds=interval,
            error=got.error,
        )
        if got.exposition is None:
            self._figures = replace(figures, failed=figures.failed + 1)
            return
        if is_wide:
            self._reading.read(began, got.cpu_seconds)
        self._figures = replace(
            figures, ok=figures.ok + 1, last_time=stamp, malformed=figures.malformed + got.exposition.malformed
        )
        self._tell(stamp, got.exposition)

    def _scrape(self, selection: Selection) -> _Got:
        """What the endpoint answered, or why nothing."""
        parser = ExpositionParser(selection, self._endpoint.instance)
        waiting = _Waiting(parser)
        began, cpu_began = self._clock.monotonic(), time.thread_time()
        exposition, kind, error = None, "", ""
        try:
            kind = fetch(self._endpoint, self._access, _TIMEOUT_SECONDS, waiting.receive)
        except (ScrapeFailedError, UnusableExpositionError) as failure:
            error = str(failure)
        seconds, own_seconds = self._clock.monotonic() - began, time.thread_time() - cpu_began
        if not error:
            try:
                waiting.pass_on()
                exposition = parser.finish()
            except UnusableExpositionError as failure:
                error = str(failure)
        if exposition is not None and kind == OPENMETRICS and not exposition.ended:
            exposition, error = None, "the answer is cut off: it does not end with # EOF"
        return _Got(exposition, error, seconds, own_seconds, time.thread_time() - cpu_began)

    def _charged(self, got: _Got, *, is_wide: bool) -> float:
        """Seconds that count as the operator's.

        It does the same for a wide scrape and a narrow one, so what this process worked for the wide one is taken off
        where that leaves no less than a narrow one took, and a wide one that took less than that tells it better.
        """
        if not is_wide:
            self._narrow_seconds = got.seconds
        elif got.exposition is not None and self._narrow_seconds is not None:
            self._narrow_seconds = min(self._narrow_seconds, got.seconds)
            return max(got.seconds - got.own_seconds, self._narrow_seconds)
        return got.seconds

    def _tell(self, stamp: float, exposition: Exposition) -> None:
        """Tell everybody, also when one of them fails."""
        values = {sample.name: sample.value for sample in exposition.samples if sample.name in (_START, _CPU)}
        failures: list[Exception] = []
        start = values.get(_START)
        if start is not None and self._restarts.look(stamp, start, values.get(_CPU, 0.0)):
            for restarted in self._on_restart:
                try:
                    restarted(start)
                except Exception as error:  # noqa: BLE001 - raised again below
                    failures.append(error)
        for take in self._on_scrape:
            try:
                take(stamp, exposition)
            except Exception as error:  # noqa: BLE001 - raised again below
                failures.append(error)
        if failures:
            raise failures[0]
