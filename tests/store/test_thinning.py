"""What is thinned tells the same: property tests on the curves that signals are made of."""

import math
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.curves import Curve
from advisor.store.codec import Block, decode, encode
from advisor.store.thinning import Identity, Row, Shape, blocks_of, rows_of, thin

WIDTH = 60.0
COUNTER: Identity = ("workqueue_adds_total", (("name", "raycluster"),))
RARE: Identity = ("rest_client_requests_total", (("code", "500"),))
DEPTH: Identity = ("workqueue_depth", ())
START: Identity = ("process_start_time_seconds", ())
SHAPES = {1: Shape((COUNTER, DEPTH, START)), 2: Shape((COUNTER, RARE, DEPTH, START))}


@st.composite
def scrapes(draw: st.DrawFn) -> list[Row]:
    """Scrapes of a process that may restart, with a counter that comes with its first event and goes with a restart."""
    rows: list[Row] = []
    time, total, rare, start = 1000.0, float(draw(st.integers(0, 50))), 0.0, 0.0
    steps = st.tuples(st.integers(1, 400), st.integers(0, 30), st.integers(0, 2), st.integers(0, 9), st.booleans())
    for pause, more, events, depth, restart in draw(st.lists(steps, min_size=2, max_size=60)):
        time += pause / 2
        if restart and draw(st.integers(0, 4)) == 0:
            total, rare, start = 0.0, 0.0, time
        total += more
        rare += events
        values = (total, rare, float(depth), start) if rare else (total, float(depth), start)
        rows.append(Row(time, 2 if rare else 1, values, {}))
    return rows


def series_of(identity: Identity, rows: Sequence[Row]) -> Series:
    """Samples of one series."""
    series = Series(*identity[:1], {})
    for row in rows:
        identities = SHAPES[row.columns_id].identities
        if identity in identities:
            series.times.append(row.time)
            series.values.append(row.values[identities.index(identity)])
    return series


def curve_of(identity: Identity, rows: Sequence[Row]) -> Curve:
    """The curve of a counter as signals make it."""
    starts = series_of(START, rows)
    restarts = [time for at, time in enumerate(starts.times) if at and starts.values[at] != starts.values[at - 1]]
    return Curve(series_of(identity, rows), scrapes=starts.times, restarts=restarts)


def increases(rows: Sequence[Row], bounds: Sequence[float]) -> list[float]:
    """What each counter counted between each two bounds."""
    curves = [curve_of(identity, rows) for identity in (COUNTER, RARE)]
    return [
        curve.increase(Window(start, end)) or 0.0
        for curve in curves
        for start in bounds
        for end in bounds
        if end > start
    ]


def bounds_of(rows: Sequence[Row], width: float) -> list[float]:
    """Bounds of buckets around all rows."""
    first, last = math.floor(rows[0].time / width), math.ceil(rows[-1].time / width)
    step = max(1, (last - first) // 8)
    return [bound * width for bound in [*range(first, last, step), last]]


@given(scrapes())
def test_no_increase_between_bounds_of_buckets_changes(rows: list[Row]) -> None:
    """Restarts, falls, and counters that come and go included."""
    thinned = thin(rows, SHAPES, WIDTH, {})
    bounds = bounds_of(rows, WIDTH)
    assert increases(thinned, bounds) == increases(rows, bounds)


@given(scrapes(), st.integers(0, 60))
def test_nor_when_thinned_in_parts_and_twice(rows: list[Row], cut: int) -> None:
    """As the store does it: part after part, and what was thinned once is thinned more coarsely later."""
    border = math.ceil(rows[min(cut, len(rows) - 1)].time / WIDTH) * WIDTH
    early = thin([row for row in rows if row.time <= border], SHAPES, WIDTH, {})
    before: dict[Identity, float] = {}
    for row in early:
        before.update(zip(SHAPES[row.columns_id].identities, row.values, strict=True))
    late = thin([row for row in rows if row.time > border], SHAPES, WIDTH, before)
    coarse = thin([*early, *late], SHAPES, 10 * WIDTH, {})
    bounds = bounds_of(rows, 10 * WIDTH)
    assert increases(coarse, bounds) == increases(rows, bounds)


@given(scrapes())
def test_no_peak_is_lost(rows: list[Row]) -> None:
    """The largest value of a gauge up to each row that stays is the largest of all rows since the one before."""
    thinned = thin(rows, SHAPES, WIDTH, {})
    at = -math.inf
    for row in thinned:
        depths = [
            one.values[SHAPES[one.columns_id].identities.index(DEPTH)] for one in rows if at < one.time <= row.time
        ]
        assert row.peaks[SHAPES[row.columns_id].identities.index(DEPTH)] == max(depths)
        at = row.time


@given(scrapes())
def test_thinned_rows_are_rows_as_they_were(rows: list[Row]) -> None:
    """No sample is made up, the last of each bucket is there, and all series of a scrape stay together."""
    thinned = thin(rows, SHAPES, WIDTH, {})
    assert {(row.time, row.values) for row in thinned} <= {(row.time, row.values) for row in rows}
    last = {math.ceil(row.time / WIDTH): row.time for row in rows}
    assert set(last.values()) <= {row.time for row in thinned}


def test_a_steady_minute_leaves_one_scrape() -> None:
    """Without falls, starts and new series each bucket is one row, at an even distance."""
    rows = [Row(5.0 * at, 1, (float(at), 0.0, 1.0), {}) for at in range(1, 61)]
    before = dict(zip(SHAPES[1].identities, (0.0, 0.0, 1.0), strict=True))
    assert [row.time for row in thin(rows, SHAPES, WIDTH, before)] == [60.0, 120.0, 180.0, 240.0, 300.0]


def test_two_processes_scraped_by_turns_both_stay() -> None:
    """Each keeps its own last scrape of a bucket, and nothing else."""
    shapes = {1: Shape((("a_total", ()),)), 2: Shape((("b_total", ()),))}
    rows = [Row(float(at), 1 + at % 2, (float(at),), {}) for at in range(1, 121)]
    thinned = thin(rows, shapes, WIDTH, {("a_total", ()): 0.0, ("b_total", ()): 0.0})
    assert [row.time for row in thinned] == [59.0, 60.0, 119.0, 120.0]


def test_gauges_are_told_from_counters() -> None:
    """By the catalogue, and by the ending where a name is not in it."""
    names = ("workqueue_depth", "workqueue_queue_duration_seconds_sum", "own_total", "own_bucket", "own", "up")
    assert Shape(tuple((name, ()) for name in names)).gauges == {0, 4, 5}


@given(st.data())
def test_blocks_come_back_bit_by_bit(data: st.DataObject) -> None:
    """Any floats: whole, broken, infinite, negative, not a number; one scrape or many, with and without peaks."""
    rows, columns = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    floats = st.floats() | st.integers(-(2**53), 2**53).map(float)
    column = st.lists(floats, min_size=rows, max_size=rows)
    times = sorted(data.draw(st.lists(st.floats(0, 1e10), min_size=rows, max_size=rows)))
    values = [data.draw(column) for _ in range(columns)]
    peaks = {place: data.draw(column) for place in data.draw(st.sets(st.integers(0, columns - 1)))}
    block = decode(encode(Block(times, values, peaks)))
    assert list(block.times) == times
    assert repr([list(one) for one in block.columns]) == repr(values)
    assert repr({place: list(one) for place, one in block.peaks.items()}) == repr(peaks)
    assert blocks_of(rows_of(1, block))[0][1].times == list(block.times)
