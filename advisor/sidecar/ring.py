"""The last minutes of scrapes, for an advisor that asks for them, and the largest values of the last one."""

import threading
from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from advisor.model.raw import Series
from advisor.sidecar.views import PeaksView
from advisor.sources.exposition import Exposition, Sample

__all__ = ["Peaks", "Ring", "RingBounds"]

_Identity = tuple[str, tuple[tuple[str, str], ...]]

_VALUE_BYTES = 8
_REFERENCE_BYTES = 8
_IDENTITY_BYTES = 800
"""Roughly what name and labels of a series take."""
_PEAK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RingBounds:
    """How much is kept: what lies further back than one of these is dropped, the oldest first."""

    seconds: float = 900.0
    """As long as a look at what is going on now needs; for more there is a Prometheus."""
    most_samples: int = 1_000_000
    most_bytes: int = 16 << 20
    most_series: int = 20_000
    """Of one scrape; the rest of it is left out."""


@dataclass(slots=True)
class _Columns:
    """Which series some scrapes in a row had, and how many of these are held."""

    identities: tuple[_Identity, ...]
    rows: int = 0


@dataclass(frozen=True, slots=True)
class _Row:
    """One scrape: a value for each column."""

    time: float
    columns: _Columns
    values: "array[float]"


class _Names:
    """Names and labels of all columns held, each kept once."""

    def __init__(self) -> None:
        self._held: dict[_Identity, tuple[_Identity, int]] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._held)

    def columns(self, identities: tuple[_Identity, ...]) -> _Columns:
        """Columns of these, which are held until they are let go."""
        kept = []
        for identity in identities:
            one, count = self._held.get(identity, (identity, 0))
            self._held[one] = (one, count + 1)
            kept.append(one)
        return _Columns(tuple(kept))

    def let_go(self, columns: _Columns) -> None:
        """Forget what no other columns have."""
        for identity in columns.identities:
            one, count = self._held[identity]
            if count > 1:
                self._held[one] = (one, count - 1)
            else:
                del self._held[one]


class Ring:
    """Keeps the samples of the last scrapes; safe to use from several threads.

    Args:
        bounds: how much is kept.
    """

    def __init__(self, bounds: RingBounds | None = None) -> None:
        self._bounds = bounds or RingBounds()
        self._share = 1.0
        self._rows: deque[_Row] = deque()
        self._names = _Names()
        self._samples = 0
        self._references = 0
        self._refused = 0
        self._lock = threading.Lock()

    @property
    def refused(self) -> int:
        """Samples left out since their scrapes had too many series."""
        return self._refused

    @property
    def sample_count(self) -> int:
        """Samples held."""
        return self._samples

    @property
    def size_bytes(self) -> int:
        """About how much memory they take."""
        held = self._samples * _VALUE_BYTES + self._references * _REFERENCE_BYTES
        return held + len(self._names) * _IDENTITY_BYTES

    def span(self) -> tuple[float, float] | None:
        """Unix times of the first and the last scrape held; None where there is none."""
        with self._lock:
            return (self._rows[0].time, self._rows[-1].time) if self._rows else None

    def take(self, time: float, exposition: Exposition) -> None:
        """Keep the samples of one scrape.

        Where its time lies before that of others, the clock was set back, and those are dropped: times always rise.
        """
        with self._lock:
            while self._rows and self._rows[-1].time >= time:
                self._drop(self._rows.pop())
            self._append(time, exposition.samples)
            self._trim()

    def resize(self, share: float) -> None:
        """Hold a share of the usual bounds from now on, above 0 and at most 1."""
        with self._lock:
            self._share = share
            self._trim()

    def series(self) -> list[Series]:
        """Copies of everything held, by series in the order in which they came."""
        with self._lock:
            rows = tuple(self._rows)
        found: dict[_Identity, Series] = {}
        for row in rows:
            for identity, value in zip(row.columns.identities, row.values, strict=True):
                series = found.get(identity)
                if series is None:
                    series = found[identity] = Series(identity[0], dict(identity[1]))
                series.times.append(row.time)
                series.values.append(value)
        return list(found.values())

    def _append(self, time: float, samples: list[Sample]) -> None:
        kept = samples[: self._bounds.most_series]
        self._refused += len(samples) - len(kept)
        identities = tuple((sample.name, sample.labels) for sample in kept)
        columns = self._rows[-1].columns if self._rows else None
        if columns is None or columns.identities != identities:
            columns = self._names.columns(identities)
            self._references += len(identities)
        columns.rows += 1
        self._rows.append(_Row(time, columns, array("d", (sample.value for sample in kept))))
        self._samples += len(kept)

    def _trim(self) -> None:
        """Drop the oldest rows that are too much; the last one always stays."""
        bounds, share = self._bounds, self._share
        while len(self._rows) > 1 and (
            self._rows[0].time < self._rows[-1].time - bounds.seconds * share
            or self._samples > bounds.most_samples * share
            or self.size_bytes > bounds.most_bytes * share
        ):
            self._drop(self._rows.popleft())

    def _drop(self, row: _Row) -> None:
        columns = row.columns
        self._samples -= len(row.values)
        columns.rows -= 1
        if columns.rows == 0:
            self._names.let_go(columns)
            self._references -= len(columns.identities)


@dataclass(frozen=True, slots=True)
class _Look:
    """What one scrape showed, by controller."""

    time: float
    depth: dict[str, float]
    active_workers: dict[str, float]
    longest_running_seconds: dict[str, float]


class Peaks:
    """The largest values of the last minute; safe to use from several threads."""

    def __init__(self) -> None:
        self._looks: deque[_Look] = deque()
        self._lock = threading.Lock()

    def take(self, time: float, exposition: Exposition) -> None:
        """Look at one scrape."""
        look = _Look(time, {}, {}, {})
        parts = {
            "workqueue_depth": look.depth,
            "controller_runtime_active_workers": look.active_workers,
            "workqueue_longest_running_processor_seconds": look.longest_running_seconds,
        }
        for sample in exposition.samples:
            part = parts.get(sample.name)
            if part is not None:
                labels = dict(sample.labels)
                controller = labels.get("controller") or labels.get("name", "")
                # Each priority has a series of its own; all others have one a controller.
                part[controller] = part.get(controller, 0.0) + sample.value
        with self._lock:
            # Where the clock was set back, what comes after now was seen by the old one.
            while self._looks and self._looks[-1].time >= time:
                self._looks.pop()
            while self._looks and self._looks[0].time < time - _PEAK_SECONDS:
                self._looks.popleft()
            self._looks.append(look)

    def view(self, now: float) -> PeaksView:
        """The peaks of the minute up to now, in Unix seconds; empty where nothing was scraped in it."""
        with self._lock:
            looks = [look for look in self._looks if now - _PEAK_SECONDS <= look.time]
        return PeaksView(
            depth=_largest(look.depth for look in looks),
            active_workers=_largest(look.active_workers for look in looks),
            longest_running_seconds=_largest(look.longest_running_seconds for look in looks),
        )


def _largest(values: Iterator[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in values:
        for controller, value in one.items():
            found[controller] = max(value, found.get(controller, value))
    return found
