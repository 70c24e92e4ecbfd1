"""When keys of a lower priority wait while those of higher ones are handed out.

The priority queue hands out the highest priority first and never lets a key age into a higher one (research:
controller-runtime 3.5). A sidecar tells the age of the oldest ready key and what is handed out by priority. An operator
alone tells depths: there a lower priority starves where it never empties nor shrinks although keys are handed out.
"""

import math
from collections.abc import Sequence

from advisor.model.signal import Window
from advisor.signals.curves import Gauge

__all__ = ["STARVED_SECONDS", "by_age", "by_depth", "starved"]

STARVED_SECONDS = 30.0
"""Age of the oldest ready key from which it starves: below it one sees a burst worked off in its order."""
_LARGEST_SHARE = 0.05
"""Of the keys handed out; a priority that gets more than one of twenty has its turn."""


def by_age(oldest_seconds: float | None, own_served: float | None, higher_served: float | None) -> bool:
    """Whether a priority starves, by the age of its oldest ready key and what was handed out meanwhile."""
    if oldest_seconds is None or oldest_seconds < STARVED_SECONDS or not higher_served:
        return False
    own = own_served or 0.0
    return own <= _LARGEST_SHARE * (own + higher_served)


def by_depth(own: Gauge, higher: Sequence[Gauge], served: float | None, interval: Window) -> bool:
    """Whether a priority may starve in an interval, by depths alone and what was handed out of all priorities."""
    depths = own.slice(interval)[1]
    before = own.at(math.nextafter(interval.start, -math.inf))
    first = depths[0] if before is None and len(depths) else before
    if not len(depths) or not first or not served:
        return False
    others = sum(gauge.peak(interval) or 0.0 for gauge in higher)
    return min(depths) >= 1.0 and depths[-1] >= first and others >= 1.0


def starved(marks: Sequence[bool], intervals: Sequence[Window | None], least_seconds: float) -> tuple[float, bool]:
    """Seconds of all stretches of marked intervals that are long enough, and whether the last one is at the end."""
    seconds, stretch = 0.0, 0.0
    for marked, interval in zip(marks, intervals, strict=True):
        if marked and interval is not None:
            stretch += interval.seconds
            continue
        seconds += stretch if stretch >= least_seconds else 0.0
        stretch = 0.0
    last = stretch if stretch >= least_seconds else 0.0
    return seconds + last, last > 0.0
