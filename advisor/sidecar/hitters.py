"""Which keys are heaviest, in bounded memory: since the start for counters, and of late for verdicts.

Space-Saving alone would give a series to every key that comes by, and take it away at once. So a key is ranked among
many more than are shown, by what it had of late, and takes another one's place only when it has clearly more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from advisor.queueing.topkeys import TopKeys
from advisor.sidecar.views import KeysView, KeyTotal, Reconcile

__all__ = ["DEFAULT_PLACES", "AgingTop", "Hitters"]

DEFAULT_PLACES = 20
"""Keys with a series of their own."""
_NANOSECONDS = 1_000_000_000
_RANKED = 256
"""Keys that are ranked; each with more than this part of a measure is among them for certain."""
_BOUNDED = 1024
"""Keys of which the busy time since the start is kept, to bound that of all others."""
_GENERATION_SECONDS = 600.0
"""Ranks go by this one and the one before, so by ten to twenty minutes: a key that was heavy last week makes room."""
_REVIEW_SECONDS = 15.0
"""Places change hands no more often: a Prometheus hardly scrapes more often either."""
_CLEARLY_MORE = 1.5
"""Keys of like weight would swap for ever."""
_LEAST_SHARE = 0.2
"""Of an equal part for each place: who has less has nothing to show, and would come and go."""


@dataclass(slots=True)
class _Counts:
    """What one key, or several, had."""

    busy_ns: int = 0
    reconciles: int = 0
    errors: int = 0
    conflicts: int = 0
    pods_created: int = 0

    def add(self, other: "_Counts") -> None:
        self.busy_ns += other.busy_ns
        self.reconciles += other.reconciles
        self.errors += other.errors
        self.conflicts += other.conflicts
        self.pods_created += other.pods_created

    def measures(self) -> tuple[int, ...]:
        """Weights of all measures."""
        return (self.busy_ns, self.reconciles, self.errors, self.conflicts, self.pods_created)

    def total(self, controller: str, key: str) -> KeyTotal:
        return KeyTotal(
            controller=controller,
            key=key,
            busy_seconds=self.busy_ns / _NANOSECONDS,
            reconciles=self.reconciles,
            errors=self.errors,
            conflicts=self.conflicts,
            pods_created=self.pods_created,
        )


_NOTEWORTHY = (_NANOSECONDS, 20, 5, 5, 20)
"""Of each measure the sum from which shares of it mean something: one error is not all there is to see."""


class _Key(NamedTuple):
    controller: str
    key: str

    @property
    def text(self) -> str:
        """For a table of texts; a controller's name has no blank."""
        return f"{self.controller} {self.key}"

    @classmethod
    def of_text(cls, text: str) -> "_Key":
        controller, _, key = text.partition(" ")
        return cls(controller, key)


class _Ranking:
    """Shares of each measure of late, by Space-Saving over two generations."""

    def __init__(self) -> None:
        self._begun: float | None = None
        self._before = self._new()
        self._now = self._new()

    @staticmethod
    def _new() -> tuple[TopKeys, ...]:
        return tuple(TopKeys(_RANKED) for _ in _NOTEWORTHY)

    def add(self, time: float, text: str, counts: _Counts) -> None:
        """Count what a key had, at Unix seconds."""
        if self._begun is None or not self._begun - _GENERATION_SECONDS <= time < self._begun + _GENERATION_SECONDS:
            # A clock that was set back begins a generation as well.
            self._begun, self._before, self._now = time, self._now, self._new()
        for top, weight in zip(self._now, counts.measures(), strict=True):
            if weight > 0:
                top.add(text, weight)

    def shares(self) -> dict[str, float]:
        """Of each key that is ranked, the largest share that it has of any measure; never too high."""
        shares: dict[str, float] = {}
        for now, before, noteworthy in zip(self._now, self._before, _NOTEWORTHY, strict=True):
            whole = max(noteworthy, now.total_weight + before.total_weight)
            had: dict[str, int] = {}
            for top in (now, before):
                for load in top:
                    had[load.key] = had.get(load.key, 0) + load.weight
            for text, weight in had.items():
                shares[text] = max(shares.get(text, 0.0), weight / whole)
        return shares


class Hitters:
    """Totals of the heaviest keys by busy time, reconciles, errors, conflicts or Pods created.

    What a key had before it took its place, or has after it lost it, counts among the rest of its controller. So no
    value ever falls while it is shown, the rest never does, and together they are all there was. Memory is bounded
    at any number of keys. As long as there are no more keys than places, everything is exact.

    Args:
        places: keys that are shown, of all controllers together.
    """

    def __init__(self, places: int = DEFAULT_PLACES) -> None:
        if places < 1:
            raise ValueError(f"at least one key has to have a place, not {places}")
        self._most = places
        self._ranking = _Ranking()
        self._busy = TopKeys(max(_BOUNDED, 4 * places))
        self._places: dict[_Key, _Counts] = {}
        self._rest: dict[str, _Counts] = {}
        self._reviewed = float("-inf")

    def add(self, reconcile: Reconcile) -> None:
        """Count a reconcile that has ended."""
        key = _Key(reconcile.controller, reconcile.key)
        counts = _Counts(
            busy_ns=max(0, round((reconcile.ended - reconcile.began) * _NANOSECONDS)),
            reconciles=1,
            errors=int(reconcile.failed),
            conflicts=int(reconcile.conflict),
            pods_created=reconcile.pods_created,
        )
        text = key.text
        self._ranking.add(reconcile.ended, text, counts)
        self._busy.add(text, counts.busy_ns)
        place = self._places.get(key)
        if place is None and len(self._places) < self._most:
            place = self._places[key] = _Counts()
        rest = self._rest.setdefault(key.controller, _Counts())
        (rest if place is None else place).add(counts)

    def view(self, now: float) -> KeysView:
        """All totals; the rest of a controller has the key "". Before that, places change hands where that is due.

        Args:
            now: Unix seconds.
        """
        if not 0.0 <= now - self._reviewed < _REVIEW_SECONDS:
            self._reviewed = now
            self._review()
        heaviest_first = sorted(self._places.items(), key=lambda item: (-item[1].busy_ns, item[0]))
        return KeysView(
            totals=tuple(counts.total(*key) for key, counts in heaviest_first),
            rest=tuple(counts.total(controller, "") for controller, counts in sorted(self._rest.items())),
            error_seconds={name: bound / _NANOSECONDS for name, bound in sorted(self._bounds().items())},
        )

    def _review(self) -> None:
        """Give places of the lightest keys to keys that have clearly more."""
        if len(self._places) < self._most:
            return
        shares = self._ranking.shares()
        least = _LEAST_SHARE / self._most
        holders = sorted((shares.get(key.text, 0.0), key) for key in self._places)
        others = ((share, _Key.of_text(text)) for text, share in shares.items() if share >= least)
        challengers = sorted((one for one in others if one[1] not in self._places), reverse=True)
        for (held, holder), (share, challenger) in zip(holders, challengers, strict=False):
            if share <= _CLEARLY_MORE * held:
                break
            self._rest[holder.controller].add(self._places.pop(holder))
            self._places[challenger] = _Counts()

    def _bounds(self) -> dict[str, int]:
        """By controller, the most busy nanoseconds that any key without a place can have had."""
        bounds = dict.fromkeys(self._rest, self._busy.error)
        for load in self._busy:
            key = _Key.of_text(load.key)
            if key not in self._places:
                bounds[key.controller] = max(bounds[key.controller], load.weight + load.error)
        return {controller: min(bound, self._rest[controller].busy_ns) for controller, bound in bounds.items()}


class AgingTop:
    """The heaviest keys of the last while, in panes that age one by one. Memory is bounded at any number of keys.

    Args:
        seconds: how long anything is remembered, at least.
        pane_seconds: the width of a pane, and the grain of all answers.
        capacity: keys kept in each pane; what they had is never too high, and too low by at most this part of a pane.

    Raises:
        ValueError: a width is not positive.
    """

    def __init__(self, *, seconds: float, pane_seconds: float, capacity: int = 32) -> None:
        if not 0.0 < pane_seconds <= seconds:
            raise ValueError("a pane is more than zero and at most the whole")
        self._pane_seconds = pane_seconds
        self._panes_kept = -int(-seconds // pane_seconds) + 1
        self._capacity = capacity
        self._panes: dict[int, TopKeys] = {}
        self._newest: int | None = None

    def add(self, time: float, key: str, weight: int) -> None:
        """Count a weight at Unix seconds; what is too old already is left out."""
        number = self._number(time)
        oldest = self._age(number)
        if number < oldest:
            return
        pane = self._panes.get(number)
        if pane is None:
            pane = self._panes[number] = TopKeys(self._capacity)
        pane.add(key, weight)

    def add_span(self, begin: float, end: float, key: str) -> None:
        """Count the nanoseconds between two times, each in its pane."""
        if begin <= end and self._number(begin) == self._number(end):
            self.add(end, key, round((end - begin) * _NANOSECONDS))
            return
        for time, seconds in self.pieces(begin, end):
            self.add(time, key, round(seconds * _NANOSECONDS))

    def pieces(self, begin: float, end: float) -> Iterator[tuple[float, float]]:
        """The parts of a span by pane: a time in the pane, and how many seconds; no more than would be kept."""
        last = self._number(end)
        for number in range(max(self._number(begin), last - self._panes_kept), last + 1):
            start = number * self._pane_seconds
            seconds = min(end, start + self._pane_seconds) - max(begin, start)
            if seconds > 0.0 or begin == end:
                yield max(begin, start), max(0.0, seconds)

    def since(self, now: float, seconds: float) -> float:
        """Unix seconds at which the pane begins that was current some seconds ago."""
        return self._number(now - seconds) * self._pane_seconds

    def sums(self, since: float) -> tuple[dict[str, int], int]:
        """What each key had since a time, and all of them together."""
        sums: dict[str, int] = {}
        whole = 0
        for pane in self._from(since):
            whole += pane.total_weight
            for load in pane:
                sums[load.key] = sums.get(load.key, 0) + load.weight
        return sums, whole

    def of(self, key: str, since: float) -> tuple[int, set[int]]:
        """What one key had since a time, and the numbers of the panes in which it came."""
        weight, panes = 0, set()
        first = self._number(since)
        for number, pane in self._panes.items():
            found = next((load.weight for load in pane if load.key == key), None) if number >= first else None
            if found is not None:
                weight += found
                panes.add(number)
        return weight, panes

    def _from(self, since: float) -> Iterator[TopKeys]:
        first = self._number(since)
        return (pane for number, pane in self._panes.items() if number >= first)

    def _number(self, time: float) -> int:
        return int(time // self._pane_seconds)

    def _age(self, number: int) -> int:
        """Drop what is too old beside a pane; the oldest that is kept."""
        if self._newest is None or number > self._newest or number < self._newest - 10 * self._panes_kept:
            # A clock that was set back far starts over.
            if self._newest is not None and number < self._newest:
                self._panes.clear()
            self._newest = number
            for old in [one for one in self._panes if one <= number - self._panes_kept]:
                del self._panes[old]
        return self._newest - self._panes_kept + 1
