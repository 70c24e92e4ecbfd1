"""The history of keys from a sidecar's counters: what each cost, when it was hot, who wrote to it.

A key that loses its series goes into its controller's rest with all that it had (`advisor.sidecar.hitters`), so the
rest leaps where keys leave. What has been counted by the keys' own series already is taken out of it here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from advisor.model.keyhistory import KeyHistory, KeyPast, NamespacePast, OtherPast
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Window
from advisor.signals import sidecarnames as names
from advisor.signals.curves import Curve, increase, increases
from advisor.signals.hotspells import HotSpell, HotSpells
from advisor.signals.instances import Instances, instance_of
from advisor.signals.intervals import Intervals
from advisor.signals.overtime import Values, rounded
from advisor.signals.resthistory import rest_curve

__all__ = ["key_history"]

_COUNTERS = (names.KEY_BUSY, names.KEY_RECONCILES, names.KEY_ERRORS, names.KEY_CONFLICTS)
_MOST_KEYS = 200
"""Ten times what a sidecar shows at a time: of a week with many changes the lightest are left out."""
_MOST_NAMESPACES = 50
_FEWEST_SCRAPES = 2


class _Key(NamedTuple):
    controller: str
    namespace: str
    name: str

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> "_Key":
        return cls(labels.get("controller", ""), labels.get("object_namespace", ""), labels.get("object_name", ""))

    @property
    def is_rest(self) -> bool:
        return not self.namespace and self.name == names.OTHER


@dataclass(frozen=True, slots=True)
class _Counted:
    """Busy seconds, reconciles, errors and conflicts of one key, or of several, in the window."""

    busy: float
    reconciles: float
    errors: float
    conflicts: float

    @property
    def is_any(self) -> bool:
        return self.busy > 0.0 or self.reconciles > 0.0

    @classmethod
    def sum(cls, parts: Iterable["_Counted"]) -> "_Counted":
        rows = [(one.busy, one.reconciles, one.errors, one.conflicts) for one in parts]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(0.0, 0.0, 0.0, 0.0)


def key_history(store: SeriesStore, *, most: int = _MOST_KEYS) -> KeyHistory | None:
    """What the samples of a time tell of keys; None with fewer than two scrapes, or where none has any key.

    Args:
        store: samples of a sidecar.
        most: keys that are listed, the heaviest.
    """
    if not store.get(names.KEY_BUSY):
        return None
    history = _History(store)
    return history.made(most) if history.is_long_enough else None


class _History:
    """Curves of all keys and of the rest, over the time that the samples cover."""

    def __init__(self, store: SeriesStore) -> None:
        self._store = store
        instances = Instances(store)
        self._scrapes = instances.scrape_times()
        self._keys: dict[_Key, tuple[list[Curve], ...]] = {}
        self._rests: dict[str, tuple[list[Curve], ...]] = {}
        for place, metric in enumerate(_COUNTERS):
            for keys, rests in _grouped(store.get(metric)):
                for series in keys:
                    self._keys.setdefault(_Key.of(series.labels), _four())[place].append(instances.curve(series))
                for series in rests:
                    curves = self._rests.setdefault(_Key.of(series.labels).controller, _four())
                    curves[place].append(rest_curve(series, keys, instances))

    @property
    def is_long_enough(self) -> bool:
        return len(self._scrapes) >= _FEWEST_SCRAPES

    def made(self, most: int) -> KeyHistory:
        window = Window(self._scrapes[0], self._scrapes[-1])
        counted = {key: _counted(curves, window) for key, curves in self._keys.items()}
        rests = {controller: _counted(curves, window) for controller, curves in self._rests.items()}
        whole = _Counted.sum((*counted.values(), *rests.values())).busy
        ranked = sorted(counted, key=lambda key: (-counted[key].busy, -counted[key].reconciles, key))
        loaded = [key for key in ranked if counted[key].is_any]
        listed = loaded[:most]
        intervals = Intervals.cut(self._scrapes)
        spells = HotSpells(self._store.get(names.HOT_KEY), self._scrapes)
        shares, rates = self._shares(intervals, listed), self._rates(intervals, listed)
        return KeyHistory(
            window=window,
            scrapes=len(self._scrapes),
            bounds=tuple(round(time, 3) for time in intervals.bounds),
            busy_seconds=whole,
            keys=tuple(_past(key, counted[key], whole, spells.of(key), (shares[key], rates[key])) for key in listed),
            keys_left_out=len(loaded) - len(listed),
            others=tuple(self._other(name, one, whole) for name, one in sorted(rests.items())),
            namespaces=tuple(_namespaces(counted, whole)[:_MOST_NAMESPACES]),
            log_lag_seconds=self._last(names.LOG_LAG, ""),
            series_dropped=self._last(names.SERIES_DROPPED, ""),
        )

    def _shares(self, intervals: Intervals, listed: Sequence[_Key]) -> dict[_Key, Values]:
        """The part of all busy time that each key had, interval by interval."""
        bounds = intervals.bounds
        each = [curves[0] for curves in (*self._keys.values(), *self._rests.values())]
        whole = increases([curve for curves in each for curve in curves], bounds)
        gaps = [window is None for window in intervals.windows]
        shares = {}
        for key in listed:
            parts = increases(self._keys[key][0], bounds)
            rows = zip(parts, whole, gaps, strict=True)
            shares[key] = tuple(
                None if part is None or not total or gap else rounded(min(1.0, part / total))
                for part, total, gap in rows
            )
        return shares

    def _rates(self, intervals: Intervals, listed: Sequence[_Key]) -> dict[_Key, Values]:
        """Reconciles per second of each key, interval by interval."""
        rates = {}
        for key in listed:
            rows = zip(increases(self._keys[key][1], intervals.bounds), intervals.windows, strict=True)
            rates[key] = tuple(
                None if part is None or window is None else rounded(part / window.seconds) for part, window in rows
            )
        return rates

    def _other(self, controller: str, counted: _Counted, whole: float) -> OtherPast:
        return OtherPast(
            controller=controller,
            busy_seconds=counted.busy,
            busy_share=_share(counted.busy, whole),
            reconciles=counted.reconciles,
            errors=counted.errors,
            conflicts=counted.conflicts,
            largest_busy_seconds=self._last(names.KEY_BUSY_ERROR, controller),
            unattributed_seconds=self._last(names.UNATTRIBUTED, controller),
        )

    def _last(self, metric: str, controller: str) -> float | None:
        """The newest sample of a gauge, where the last scrape has it."""
        found = [
            (one.times[-1], one.values[-1])
            for one in self._store.get(metric)
            if one.labels.get("controller", "") == controller and len(one) and one.times[-1] == self._scrapes[-1]
        ]
        return max(found)[1] if found else None


def _four() -> tuple[list[Curve], ...]:
    return tuple([] for _ in _COUNTERS)


def _grouped(found: Sequence[Series]) -> Iterable[tuple[list[Series], list[Series]]]:
    """The series of one counter by sidecar and controller: those of keys, and those of the rest."""
    groups: dict[tuple[str, str], tuple[list[Series], list[Series]]] = {}
    for series in found:
        key = _Key.of(series.labels)
        keys, rests = groups.setdefault((instance_of(series.labels), key.controller), ([], []))
        (rests if key.is_rest else keys).append(series)
    return groups.values()


def _counted(curves: tuple[list[Curve], ...], window: Window) -> _Counted:
    return _Counted(*(increase(one, window) or 0.0 for one in curves))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _past(key: _Key, counted: _Counted, whole: float, spell: HotSpell, over_time: tuple[Values, Values]) -> KeyPast:
    return KeyPast(
        controller=key.controller,
        namespace=key.namespace,
        name=key.name,
        busy_seconds=counted.busy,
        busy_share=_share(counted.busy, whole),
        reconciles=counted.reconciles,
        errors=counted.errors,
        conflicts=counted.conflicts,
        writers=spell.writers,
        hot_seconds=spell.seconds,
        hot_since=spell.since,
        hot_throughout=spell.is_throughout,
        shares=over_time[0],
        rates=over_time[1],
    )


def _namespaces(counted: Mapping[_Key, _Counted], whole: float) -> list[NamespacePast]:
    """Sums by namespace, the heaviest first."""
    groups: dict[str, list[_Counted]] = {}
    for key, one in counted.items():
        if one.is_any:
            groups.setdefault(key.namespace, []).append(one)
    sums = {namespace: _Counted.sum(parts) for namespace, parts in groups.items()}
    ranked = sorted(sums, key=lambda name: (-sums[name].busy, -sums[name].reconciles, name))
    return [
        NamespacePast(
            namespace=name,
            keys=len(groups[name]),
            busy_seconds=sums[name].busy,
            busy_share=_share(sums[name].busy, whole),
            reconciles=sums[name].reconciles,
            errors=sums[name].errors,
            conflicts=sums[name].conflicts,
        )
        for name in ranked
    ]
