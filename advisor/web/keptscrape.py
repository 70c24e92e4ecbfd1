"""Operators and sidecars that the service scrapes itself: one endpoint for ever, what it answers given to a keeper."""

import threading
from typing import Final, NamedTuple, Protocol

from advisor.model.raw import Selection
from advisor.signals.names import SELECTION
from advisor.sources.endpoint import OPENMETRICS, Access, Endpoint, ScrapeFailedError, fetch
from advisor.sources.exposition import Exposition, ExpositionParser, UnusableExpositionError
from advisor.sources.scraping import Clock

__all__ = ["Keeper", "KeptScrape", "Wanted"]

_SCRAPE_SECONDS: Final = 10.0
_LEAST_SCRAPE_SECONDS: Final = 1.0
"""A scrape may take as long as its interval, within these."""
_COUNTS: Final = ("scrapes_ok", "scrapes_failed", "not_kept", "malformed_lines", "samples_left_out")


class Wanted(NamedTuple):
    """What is kept of an answer.

    Attributes:
        selection: which samples.
        most_samples: of one answer; those of a larger one that come last are not kept, and counted.
    """

    selection: Selection = SELECTION
    most_samples: int = 100_000


class Keeper(Protocol):
    """Keeps what is scraped; the store does."""

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Take one scrape; ``time`` is the Unix time at which it began. From the thread of that scraper."""
        ...


_USUAL: Final = Wanted()


class KeptScrape:
    """Scrapes one endpoint for ever and gives what it answers to a keeper.

    Args:
        operator: whose endpoint it is.
        endpoint: where to scrape.
        access: what to send along.
        interval_seconds: from the begin of one scrape to that of the next.
        keeper: takes each scrape.
        clock: the time, and how to wait.
        wanted: what is kept of an answer; by default what an analysis of an operator reads.
    """

    def __init__(
        self,
        operator: str,
        endpoint: Endpoint,
        access: Access,
        interval_seconds: float,
        *,
        keeper: Keeper,
        clock: Clock | None = None,
        wanted: Wanted = _USUAL,
    ) -> None:
        self.operator = operator
        self.name = f"scrape {operator} {endpoint.instance}"
        self._endpoint = endpoint
        self._access = access
        self._interval = interval_seconds
        self._keeper = keeper
        self._clock = clock or Clock()
        self._wanted = wanted
        self._error = ""
        self._counts = dict.fromkeys(_COUNTS, 0)

    def health(self) -> str:
        """Why the last scrape failed or was not kept; "" where all is well."""
        return self._error

    def counters(self) -> dict[str, int]:
        """Scrapes by outcome, lines that could not be read, and samples that were too many to keep."""
        return dict(self._counts)

    def run(self, stop: threading.Event) -> None:
        """Scrape at once and then at each interval until it is time to stop; nothing is raised for a failed scrape."""
        due = self._clock.monotonic()
        while not self._clock.pause(stop, max(0.0, due - self._clock.monotonic())):
            self.once()
            # What a slow answer has missed is not made up for.
            due = max(due + self._interval, self._clock.monotonic())

    def once(self) -> None:
        """One scrape."""
        time = round(self._clock.wall(), 3)
        parser = ExpositionParser(self._wanted.selection, self._endpoint.instance)
        seconds = min(_SCRAPE_SECONDS, max(_LEAST_SCRAPE_SECONDS, self._interval))
        try:
            kind = fetch(self._endpoint, self._access, seconds, parser.feed)
            exposition = parser.finish()
            if kind == OPENMETRICS and not exposition.ended:
                raise UnusableExpositionError("the answer is cut off: it does not end with # EOF")  # noqa: TRY301
        except (ScrapeFailedError, UnusableExpositionError) as error:
            self._error = str(error)
            self._counts["scrapes_failed"] += 1
            return
        self._counts["scrapes_ok"] += 1
        self._counts["malformed_lines"] += exposition.malformed
        most = self._wanted.most_samples
        self._counts["samples_left_out"] += max(0, len(exposition.samples) - most)
        exposition = exposition._replace(samples=exposition.samples[:most])
        try:
            self._keeper.keep(self.operator, time, exposition)
        except Exception as error:  # noqa: BLE001 - a full disk must not end the scraping
            self._error = f"not kept: {error}"
            self._counts["not_kept"] += 1
        else:
            self._error = ""
