"""Samples are kept as they came, and as finely as their age asks for."""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.curves import Curve, Gauge
from advisor.signals.names import SELECTION
from advisor.sources.recording import RecordingSource
from advisor.store import Store, StoreReadError
from tests.store.storemade import HOUR, NOW, samples_of
from tests.support import ROOT

ALL = Window(0.0, 1e12)
DAY = 24 * HOUR
MIDNIGHT = 1_799_971_200.0


@pytest.fixture
def store() -> Iterator[Store]:
    """A history in memory."""
    with Store.open(None, now=NOW) as opened:
        yield opened


def fill(store: Store, start: float, end: float, pause: float) -> None:
    """Scrapes of a counter that grows by one a second, and of a depth with a spike once an hour."""
    time = start + pause
    while time <= end:
        store.add_samples("a", time, samples_of(time - start, 99.0 if time % HOUR == 30.0 else 1.0))
        time += pause


def one(found: list[Series], name: str) -> Series:
    """The series of that name."""
    (series,) = [series for series in found if series.name == name]
    return series


def test_samples_come_back_as_series(store: Store) -> None:
    """In order of name, with their labels, in order of time, window ends included; operators are apart."""
    for at in (3, 1, 2, 4):
        store.add_samples("a", NOW + at, samples_of(10.0 * at, at / 3))
    store.add_samples("b", NOW, samples_of(1.0, 1.0))
    store.add_samples("a", NOW, [])
    found = store.series("a", Window(NOW + 1, NOW + 3))
    assert [series.name for series in found] == ["workqueue_adds_total", "workqueue_depth"]
    assert found[0].labels == {"name": "raycluster"}
    assert list(found[0].times) == [NOW + 1, NOW + 2, NOW + 3]
    assert list(found[0].values) == [10.0, 20.0, 30.0]
    assert list(found[1].values) == [1 / 3, 2 / 3, 1.0]
    assert store.series("a", Window(0, 1)) == store.series("nobody", ALL) == store.peaks("nobody", ALL) == []


def test_series_come_and_go(store: Store) -> None:
    """A scrape has the series that it has; a second scrape of the same time and series counts."""
    store.add_samples("a", NOW, samples_of(1.0, 0.0))
    store.add_samples("a", NOW + 1, [*samples_of(2.0, 0.0), ("up", (), 1.0)])
    store.add_samples("a", NOW + 2, samples_of(3.0, 0.0))
    store.add_samples("a", NOW + 2, samples_of(4.0, 0.0))
    found = store.series("a", ALL)
    assert list(one(found, "up").times) == [NOW + 1]
    assert list(one(found, "workqueue_adds_total").values) == [1.0, 2.0, 4.0]


def test_some_names_alone(store: Store) -> None:
    """Of single scrapes and of what was thinned, whatever else a scrape had."""
    fill(store, NOW - 6 * HOUR, NOW, 60.0)
    store.prune(NOW)
    store.add_samples("a", NOW + 1.0, [*samples_of(5.0, 2.0), ("extra", (), 1.0)])
    names = frozenset({"workqueue_depth", "none"})
    assert store.series("a", ALL, names) == [one(store.series("a", ALL), "workqueue_depth")]
    assert store.peaks("a", ALL, names) == [one(store.peaks("a", ALL), "workqueue_depth")]
    assert store.series("a", ALL, frozenset({"extra"})) == [one(store.series("a", ALL), "extra")]
    assert store.peaks("a", ALL, frozenset({"workqueue_adds_total"})) == []


def test_until_when_there_are_samples(store: Store) -> None:
    """The time of the last scrape, also where that was thinned; None where there is none."""
    assert store.sampled_until("a") is None
    fill(store, NOW - 6 * HOUR, NOW - 4 * HOUR, 60.0)
    store.prune(NOW)
    assert store.sampled_until("a") == NOW - 4 * HOUR
    store.add_samples("a", NOW, samples_of(1.0, 1.0))
    assert store.sampled_until("a") == NOW


def test_old_samples_are_thinned_by_age(store: Store) -> None:
    """All of two hours, one a minute for two days, one in ten minutes before that, none after thirty days."""
    now = MIDNIGHT + 3 * DAY
    fill(store, MIDNIGHT, MIDNIGHT + HOUR, 15.0)
    fill(store, now - 5 * HOUR, now, 15.0)
    store.prune(now)
    times = one(store.series("a", ALL), "workqueue_adds_total").times
    pauses = {
        "old": {b - a for a, b in pairwise(times) if b <= MIDNIGHT + HOUR and a > MIDNIGHT + 600},
        "today": {b - a for a, b in pairwise(times) if a >= now - 5 * HOUR + 60 and b <= now - 2 * HOUR},
        "new": {b - a for a, b in pairwise(times) if a >= now - 2 * HOUR},
    }
    assert pauses == {"old": {600.0}, "today": {60.0}, "new": {15.0}}
    for day in range(40):
        store.prune(now + day * DAY)
    assert store.series("a", ALL) == []
    assert store.operators() == []


def test_a_peak_outlives_its_sample(store: Store) -> None:
    """A spike between two samples that stay is in the peaks, not in the samples, so that means stay true."""
    now = MIDNIGHT + 3 * DAY
    fill(store, MIDNIGHT, MIDNIGHT + 2 * HOUR, 15.0)
    store.prune(now)
    depth = one(store.series("a", ALL), "workqueue_depth")
    (peaks,) = store.peaks("a", ALL)
    assert Gauge(depth.times, depth.values).mean(ALL) == 1.0
    assert list(peaks.times) == list(depth.times)
    assert [time - MIDNIGHT for time, value in zip(peaks.times, peaks.values, strict=True) if value == 99.0] == [
        600.0,
        4200.0,
    ]


def test_samples_not_thinned_are_their_own_peaks(store: Store) -> None:
    """Of gauges only."""
    store.add_samples("a", NOW, samples_of(1.0, 7.0))
    assert [(series.name, list(series.values)) for series in store.peaks("a", ALL)] == [("workqueue_depth", [7.0])]


def test_samples_that_come_late_are_kept_too(store: Store) -> None:
    """A scrape of a time that was thinned already stands in its place."""
    fill(store, MIDNIGHT, MIDNIGHT + HOUR, 15.0)
    store.prune(MIDNIGHT + 5 * HOUR)
    store.add_samples("a", MIDNIGHT + 100.5, samples_of(100.5, 1.0))
    store.prune(MIDNIGHT + 6 * HOUR)
    series = one(store.series("a", ALL), "workqueue_adds_total")
    assert MIDNIGHT + 100.5 in series.times
    assert list(series.times) == sorted(set(series.times))
    assert list(series.values) == [time - MIDNIGHT for time in series.times]


def test_a_recordings_signals_survive_thinning(store: Store) -> None:
    """What the counters of a real operator tell over whole minutes is the same before and after."""
    source = RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker").series(SELECTION)
    scrapes: dict[float, list[tuple[str, tuple[tuple[str, str], ...], float]]] = {}
    for series in source:
        for time, value in zip(series.times, series.values, strict=True):
            scrapes.setdefault(time, []).append((series.name, tuple(sorted(series.labels.items())), value))
    for time in sorted(scrapes):
        store.add_samples("a", time, scrapes[time])
    window = Window(min(scrapes), max(scrapes))
    before = store.series("a", window)
    store.prune(window.end + 5 * HOUR)
    after = store.series("a", window)
    assert len(before) == len(after) == len(list(source))
    assert sum(len(series) for series in after) < 0.5 * sum(len(series) for series in before)
    for early, late in zip(before, after, strict=True):
        assert (early.name, early.labels) == (late.name, late.labels)
        if early.name.endswith("_total"):
            assert Curve(early).increase(window) == Curve(late).increase(window), early


def test_names_of_series_that_no_sample_has_are_dropped(store: Store) -> None:
    """And are kept again when they come back."""
    store.add_samples("a", MIDNIGHT, samples_of(1.0, 1.0, pod="old"))
    store.add_samples("a", MIDNIGHT, samples_of(1.0, 1.0, pod="old"))
    store.prune(MIDNIGHT)
    for day in range(35):
        store.prune(MIDNIGHT + day * DAY)
    with store._connections.read() as connection:
        assert connection.execute("SELECT count(*) FROM columns").fetchone() == (0,)
    store.add_samples("a", MIDNIGHT + 40 * DAY, samples_of(2.0, 1.0, pod="old"))
    assert list(store.series("a", ALL)[0].values) == [2.0]


@pytest.mark.parametrize("damage", ["UPDATE samples SET data = x'00'", "DELETE FROM columns"])
def test_damaged_samples_are_told(store: Store, damage: str) -> None:
    """With an error of its own."""
    store.add_samples("a", NOW, samples_of(1.0, 1.0))
    with store._connections.write() as connection:
        connection.execute(damage)
    with pytest.raises(StoreReadError, match="damaged"):
        store.series("a", ALL)
