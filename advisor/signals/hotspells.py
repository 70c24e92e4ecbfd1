"""When keys were hot, and who wrote to them then, from a series that is there only while they are."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from advisor.model.raw import Series
from advisor.signals.curves import LONGEST_PAUSE, usual_pause

__all__ = ["HotSpell", "HotSpells"]


@dataclass(frozen=True, slots=True)
class HotSpell:
    """When one key was hot.

    Attributes:
        seconds: for how long altogether.
        since: the first scrape of the stretch that holds at the last scrape; None where it is not hot then.
        is_throughout: whether that stretch begins with the first scrape of all.
        writers: who wrote to it most, the last one first; without those that are not known.
    """

    seconds: float = 0.0
    since: float | None = None
    is_throughout: bool = False
    writers: tuple[str, ...] = ()


class HotSpells:
    """Spells of all keys.

    Args:
        found: series with the labels controller, object_namespace, object_name and writer.
        scrapes: times at which the sidecar was scraped, in order; at one where a series has no sample its key is not
            hot.
    """

    def __init__(self, found: Iterable[Series], scrapes: Sequence[float]) -> None:
        self._scrapes = scrapes
        self._longest = LONGEST_PAUSE * usual_pause(scrapes)
        self._times: dict[tuple[str, ...], set[float]] = {}
        self._writers: dict[tuple[str, ...], dict[str, float]] = {}
        for series in found:
            key = tuple(series.labels.get(name, "") for name in ("controller", "object_namespace", "object_name"))
            hot = [time for time, value in zip(series.times, series.values, strict=True) if value > 0]
            if not hot:
                continue
            self._times.setdefault(key, set()).update(hot)
            writer = series.labels.get("writer", "")
            if writer:
                writers = self._writers.setdefault(key, {})
                writers[writer] = max(hot[-1], writers.get(writer, hot[-1]))

    def of(self, key: tuple[str, str, str]) -> HotSpell:
        """The spells of one key: controller, namespace, name."""
        times = sorted(self._times.get(key, ()))
        if not times:
            return HotSpell()
        places = [bisect_left(self._scrapes, time) for time in times]
        seconds = sum(
            min(self._longest, self._scrapes[place + 1] - self._scrapes[place])
            for place in places
            if place + 1 < len(self._scrapes)
        )
        since, throughout = None, False
        if places[-1] == len(self._scrapes) - 1:
            first = len(places) - 1
            while first and places[first - 1] == places[first] - 1:
                first -= 1
            since, throughout = times[first], places[first] == 0
        last = self._writers.get(key, {})
        writers = tuple(sorted(last, key=lambda writer: (-last[writer], writer)))
        return HotSpell(seconds, since, throughout, writers)
