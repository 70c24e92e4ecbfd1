"""A time cut into the intervals of a chart: one pause between scrapes, or as many as are needed to stay near 240.

Where scraping paused for long nothing is known, and nothing is to be drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from advisor.model.signal import Window
from advisor.signals.curves import LONGEST_PAUSE, usual_pause

__all__ = ["Intervals"]

_MOST_INTERVALS = 240


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals that follow one another.

    Attributes:
        bounds: Unix seconds; interval i lies between bounds i and i + 1.
        windows: for each interval the window to ask for; None in a gap. The sample at a bound belongs to the interval
            that it ends; the first one after nothing ends none.
    """

    bounds: tuple[float, ...]
    windows: tuple[Window | None, ...]

    @classmethod
    def cut(cls, times: Sequence[float]) -> Self:
        """Cut at least two times of scrapes, in order."""
        bounds, gaps = _cut(times)
        windows: list[Window | None] = []
        for start, end in pairwise(bounds):
            opens = not windows or windows[-1] is None
            interval = Window(start if opens else math.nextafter(start, end), end)
            windows.append(None if start in gaps else interval)
        return cls(tuple(bounds), tuple(windows))


def _cut(times: Sequence[float]) -> tuple[list[float], set[float]]:
    """Bounds of the intervals, and where those begin in which nothing was scraped for long."""
    step = math.ceil((len(times) - 1) / _MOST_INTERVALS)
    longest = max(LONGEST_PAUSE * usual_pause(times), (times[-1] - times[0]) / _MOST_INTERVALS)
    bounds, gaps, pauses = [times[0]], set(), 0
    for earlier, later in pairwise(times):
        if later - earlier > longest:
            gaps.add(earlier)
            bounds += [later] if pauses == 0 else [earlier, later]
            pauses = 0
            continue
        pauses += 1
        if pauses == step:
            bounds.append(later)
            pauses = 0
    return bounds if pauses == 0 else [*bounds, times[-1]], gaps
