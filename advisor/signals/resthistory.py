"""What all keys without series of their own were counted, without what keys brought along that lost their series."""

from collections.abc import Sequence
from itertools import pairwise

from advisor.model.raw import Series
from advisor.signals.curves import Curve
from advisor.signals.instances import Instances

__all__ = ["rest_curve"]


def rest_curve(rest: Series, keys: Sequence[Series], instances: Instances) -> Curve:
    """The curve of the rest's counter as if keys that lost their series had not come to it with all that they had.

    Where a key's series ends while the rest goes on, the rest leaps by what that key had; it has been counted under
    the key already. No more is taken out than the rest grew by: a sidecar may leave series out to stay below its limit.
    Where the rest fell the sidecar began anew, and nobody came to it.

    Args:
        rest: the counter of the rest of one controller of one sidecar.
        keys: the same counter of that controller's keys.
        instances: the sidecar's scrapes.
    """
    whole = instances.curve(rest)
    left: dict[float, float] = {}
    for series in keys:
        for time, value in _endings(series, rest):
            left[time] = left.get(time, 0.0) + value
    if not left:
        return whole
    fallen = {
        time for time, (before, after) in zip(rest.times[1:], pairwise(rest.values), strict=True) if after < before
    }
    result = Curve(Series(rest.name, rest.labels))
    less, before = 0.0, 0.0
    for time, total in zip(whole.times, whole.totals, strict=True):
        if time not in fallen:
            less += min(left.get(time, 0.0), total - before)
        result.times.append(time)
        result.totals.append(total - less)
        before = total
    return result


def _endings(series: Series, rest: Series) -> list[tuple[float, float]]:
    """Times of the rest's first samples without the series, each with the last value that the series had before."""
    if series.times == rest.times:
        return []
    found = []
    places = [rest.index_at(time) + 1 for time in series.times]
    for at, place in enumerate(places):
        is_gone = at + 1 == len(places) or places[at + 1] > place + 1
        if place < len(rest) and is_gone:
            found.append((rest.times[place], series.values[at]))
    return found
