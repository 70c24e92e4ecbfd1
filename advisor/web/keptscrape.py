"""Operators that the service scrapes itself: one endpoint for ever, what it answers given to whoever keeps it."""

import threading
from typing import Final, Protocol

from advisor.signals.names import SELECTION
from advisor.sources.endpoint import OPENMETRICS, Access, Endpoint, ScrapeFailedError, fetch
from advisor.sources.exposition import Exposition, ExpositionParser, UnusableExpositionError
from advisor.sources.scraping import Clock

__all__ = ["Keeper", "KeptScrape"]

_SCRAPE_SECONDS: Final = 10.0
_LEAST_SCRAPE_SECONDS: Final = 1.0
"""A scrape may take as long as its interval, within these."""


class Keeper(Protocol):
    """Keeps what is scraped; the store does."""

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Take one scrape; ``time`` is the Unix time at which it began. From the thread of that scraper."""
        ...


class KeptScrape:
    """Scrapes one endpoint for ever and gives what it answers to a keeper.

    Args:
        operator: whose endpoint it is.
        endpoint: where to scrape.
        access: what to send along.
        interval_seconds: from the begin of one scrape to that of the next.
        keeper: takes each scrape.
        clock: the time, and how to wait.
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
    ) -> None:
        self.operator = operator
        self.name = f"scrape {operator} {endpoint.instance}"
        self._endpoint = endpoint
        self._access = access
        self._interval = interval_seconds
        self._keeper = keeper
        self._clock = clock or Clock()
        self._error = ""
        self._counts = {"scrapes_ok": 0, "scrapes_failed": 0, "not_kept": 0, "malformed_lines": 0}

    def health(self) -> str:
        """Why the last scrape failed or was not kept; "" where all is well."""
        return self._error

    def counters(self) -> dict[str, int]:
        """Scrapes by outcome, and lines that could not be read."""
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
        parser = ExpositionParser(SELECTION, self._endpoint.instance)
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
        try:
            self._keeper.keep(self.operator, time, exposition)
        except Exception as error:  # noqa: BLE001 - a full disk must not end the scraping
            self._error = f"not kept: {error}"
            self._counts["not_kept"] += 1
        else:
            self._error = ""
