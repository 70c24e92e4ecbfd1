"""The operator's own ``/metrics``, scraped for some minutes, as a source."""

from collections.abc import Sequence

from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, Series, SeriesStore, Setup
from advisor.sources.endpoint import Access, Endpoint
from advisor.sources.exposition import Exposition
from advisor.sources.scraping import Clock, Plan, Reporter, Scraping, Silent

__all__ = ["ScrapeSource"]

_MOST_SERIES = 250_000
"""Over all scrapes: an endpoint that invents labels may not fill the memory."""


class ScrapeSource:
    """Scrapes when it is asked for samples. ``notes`` is complete then.

    Args:
        endpoints: where to scrape; each with an ``instance`` of its own.
        access: what to send along.
        plan: how long and how often.
        reporter: is told how it goes.
        clock: the time.
    """

    kind = "scrape"
    log_lines = 0

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        access: Access,
        plan: Plan,
        *,
        reporter: Reporter | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._endpoints = endpoints
        self._access = access
        self._plan = plan
        self._reporter = reporter or Silent()
        self._clock = clock or Clock()
        self.notes: list[ReadNote] = []
        self._span: tuple[float, float] | None = None

    def series(self, selection: Selection) -> SeriesStore:
        """Scrape, and give the selected samples.

        Raises:
            InputNotFoundError: no scrape succeeded.
        """
        kept = _Kept()
        scraping = Scraping(
            self._endpoints, self._access, self._plan, selection, reporter=self._reporter, clock=self._clock
        )
        outcome = scraping.run(kept.take)
        self.notes.extend(outcome.notes)
        if kept.refused:
            self.notes.append(
                ReadNote(where="scrape", message=f"samples of more than {_MOST_SERIES} series skipped: {kept.refused}")
            )
        self._span = (outcome.start, outcome.end)
        return SeriesStore(kept.series.values(), origin="scrape")

    def log(self) -> tuple[LogRecord, ...]:
        """No log is read."""
        return ()

    def changes(self) -> tuple[ObjectChange, ...]:
        """No object is looked at."""
        return ()

    def setup(self) -> Setup:
        """The time range, all that a scrape tells beside samples."""
        start, end = self._span or (None, None)
        return Setup(start=start, end=end)


class _Kept:
    """All samples so far, by series."""

    def __init__(self) -> None:
        self.series: dict[tuple[str, tuple[tuple[str, str], ...]], Series] = {}
        self.refused = 0

    def take(self, time: float, exposition: Exposition) -> None:
        """Keep the samples of one scrape; scrapes come in order of time."""
        for sample in exposition.samples:
            identity = (sample.name, sample.labels)
            series = self.series.get(identity)
            if series is None:
                if len(self.series) >= _MOST_SERIES:
                    self.refused += 1
                    continue
                series = self.series[identity] = Series(sample.name, dict(sample.labels))
            series.times.append(time)
            series.values.append(sample.value)
