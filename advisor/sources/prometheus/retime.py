"""Values of a range query put back to the times of the scrapes that they come from.

A store answers at the steps that are asked for, with whatever was scraped last, and goes on doing so for five minutes
after the last scrape. As times at which the operator was looked at such steps would be wrong.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from advisor.model.raw import Series
from advisor.sources.prometheus.plan import CLOCK

__all__ = ["retimed"]


def retimed(series: Iterable[Series], computed: frozenset[str], step: float) -> list[Series]:
    """The series, those of ``computed`` names at the scrapes of their process instead of at steps (seconds)."""
    found = list(series)
    scrapes = {one.labels.get("instance", ""): one.times for one in found if one.name == CLOCK}
    return [
        _at_scrapes(one, scrapes.get(one.labels.get("instance", ""), ()), step) if one.name in computed else one
        for one in found
    ]


def _at_scrapes(series: Series, scrapes: Sequence[float], step: float) -> Series:
    """Each scrape has the value of the first step at or after it, where that comes before the next one could."""
    moved = Series(series.name, series.labels, array("d"), array("d"))
    for scraped in scrapes:
        index = bisect_left(series.times, scraped)
        if index < len(series) and series.times[index] - scraped < step:
            moved.times.append(scraped)
            moved.values.append(series.values[index])
    return moved
