"""Samples of operators in the database: added by scrape, thinned with age, read as series."""

import hashlib
import json
import math
import sqlite3
import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import chain, pairwise

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.store.codec import Block, decode, encode
from advisor.store.connections import Connections
from advisor.store.errors import StoreReadError
from advisor.store.retention import TIERS
from advisor.store.thinning import Identity, Shape, blocks_of, rows_of, thin

__all__ = ["Samples"]

_MOST_CACHED = 1000
_BLOCKS_BEFORE = 8
"""Of the last hour or day that was thinned, blocks to look for a series' last value in: one for each set of series."""
_INSERT = "INSERT INTO samples (operator_id, tier, columns_id, begins, ends, data) VALUES (?, ?, ?, ?, ?, ?)"


class Samples:
    """Samples on the given connections."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._ids: dict[tuple[Identity, ...], int] = {}
        self._shapes: dict[int, Shape] = {}

    def add(self, connection: sqlite3.Connection, operator_id: int, time: float, row: dict[Identity, float]) -> None:
        """Add one scrape, in a transaction of the caller."""
        identities = tuple(sorted(row))
        columns_id = self._columns_id(connection, identities)
        data = encode(Block([time], [[row[one]] for one in identities], {}))
        connection.execute(_INSERT, (operator_id, 0, columns_id, time, time, data))

    def series(self, operator_id: int, window: Window, names: Container[str] | None = None) -> list[Series]:
        """Samples of the window, ends included, of some names or of all."""
        series = _Assembly()
        for shape, block, places in self._blocks(operator_id, window, lambda shape: shape.places(names)):
            for place in places:
                series.add(shape.identities[place], block.times, block.columns[place], window)
        return series.result()

    def until(self, operator_id: int) -> float | None:
        """The time of the last scrape."""
        with self._connections.read() as connection:
            (ends,) = connection.execute(
                "SELECT max(ends) FROM samples WHERE operator_id = ?", (operator_id,)
            ).fetchone()
        return None if ends is None else float(ends)

    def peaks(self, operator_id: int, window: Window, names: Container[str] | None = None) -> list[Series]:
        """For each gauge, of some names or of all, its largest value since the sample before."""
        series = _Assembly()
        asked = self._blocks(operator_id, window, lambda shape: sorted(shape.gauges.intersection(shape.places(names))))
        for shape, block, places in asked:
            for place in places:
                values = block.peaks.get(place, block.columns[place])
                series.add(shape.identities[place], block.times, values, window)
        return series.result()

    def prune(self, operator_id: int, now: float, keep_seconds: float) -> None:
        """Thin what is old enough, an hour or a day a transaction, and drop what is older than ``keep_seconds``."""
        for number, (source, target) in enumerate(pairwise(TIERS)):
            width = target.block_seconds
            border = math.floor((now - source.keep_seconds) / width) * width
            while (oldest := self._oldest(operator_id, number, border)) is not None:
                end = math.ceil(oldest / width) * width
                self._thin(operator_id, number, end)
        with self._connections.write(durable=False) as connection:
            connection.execute(
                "DELETE FROM samples WHERE operator_id = ? AND tier BETWEEN 0 AND ? AND ends < ?",
                (operator_id, len(TIERS) - 1, now - keep_seconds),
            )

    def drop_unused_columns(self, connection: sqlite3.Connection) -> None:
        """Forget names of series that no sample has, in a transaction of the caller."""
        unused = "SELECT id FROM columns WHERE NOT EXISTS (SELECT 1 FROM samples WHERE columns_id = columns.id)"
        if connection.execute(f"DELETE FROM columns WHERE id IN ({unused})").rowcount:  # noqa: S608 - no input in it
            self._ids.clear()

    def _oldest(self, operator_id: int, tier: int, border: float) -> float | None:
        """End of the oldest block of a tier that ends up to ``border``."""
        with self._connections.read() as connection:
            (oldest,) = connection.execute(
                "SELECT min(ends) FROM samples WHERE operator_id = ? AND tier = ? AND ends <= ?",
                (operator_id, tier, border),
            ).fetchone()
        return None if oldest is None else float(oldest)

    def _thin(self, operator_id: int, tier: int, end: float) -> None:
        """Move all blocks of a tier that end up to ``end`` to the next one, thinned."""
        with self._connections.read() as connection:
            found = connection.execute(
                "SELECT id, columns_id, data FROM samples WHERE operator_id = ? AND tier = ? AND ends <= ?",
                (operator_id, tier, end),
            ).fetchall()
            shapes = {columns_id: self._shape(connection, columns_id) for _, columns_id, _ in found}
        rows = [row for _, columns_id, data in found for row in rows_of(columns_id, _decoded(data))]
        rows.sort(key=lambda row: row.time)
        before = self._before(operator_id, tier + 1, rows[0].time)
        kept = [
            (columns_id, block, encode(block))
            for columns_id, block in blocks_of(thin(rows, shapes, TIERS[tier + 1].bucket_seconds, before))
        ]
        with self._connections.write(durable=False) as connection:
            for columns_id, block, data in kept:
                stored = (operator_id, tier + 1, columns_id, block.times[0], block.times[-1], data)
                connection.execute(_INSERT, stored)
            # By id: what was added meanwhile for the same time stays for the next turn.
            connection.executemany("DELETE FROM samples WHERE id = ?", [(one,) for one, _, _ in found])

    def _before(self, operator_id: int, tier: int, time: float) -> dict[Identity, float]:
        """The last values before ``time`` in a tier."""
        with self._connections.read() as connection:
            found = connection.execute(
                "SELECT columns_id, data FROM samples WHERE operator_id = ? AND tier = ? AND ends < ? "
                "ORDER BY ends DESC LIMIT ?",
                (operator_id, tier, time, _BLOCKS_BEFORE),
            ).fetchall()
            shapes = {columns_id: self._shape(connection, columns_id) for columns_id, _ in found}
        values: dict[Identity, float] = {}
        for columns_id, data in found:
            for identity, column in zip(shapes[columns_id].identities, _decoded(data).columns, strict=True):
                values.setdefault(identity, column[-1])
        return values

    def _blocks(
        self, operator_id: int, window: Window, wanted: Callable[[Shape], Sequence[int]]
    ) -> Iterator[tuple[Shape, Block, Sequence[int]]]:
        """Blocks that reach into the window, in order of their beginning; single scrapes of one shape as one.

        With each block its shape and the places in it that are wanted; the columns at all others are empty.
        """
        with self._connections.read() as connection:
            found = connection.execute(
                "SELECT columns_id, data FROM samples WHERE operator_id = ? AND tier BETWEEN 0 AND ? "
                "AND ends >= ? AND begins <= ? ORDER BY begins, id",
                (operator_id, len(TIERS) - 1, window.start, window.end),
            ).fetchall()
            shapes = {columns_id: self._shape(connection, columns_id) for columns_id in {one for one, _ in found}}
        places = {columns_id: wanted(shape) for columns_id, shape in shapes.items()}
        asked = {columns_id: frozenset(each) for columns_id, each in places.items()}
        single: dict[int, list[Block]] = {}
        for columns_id, data in found:
            block = _decoded(data, asked[columns_id])
            if len(block.times) > 1 or block.peaks:
                yield shapes[columns_id], block, places[columns_id]
            else:
                single.setdefault(columns_id, []).append(block)
        for columns_id, blocks in single.items():
            yield shapes[columns_id], _one_of(blocks, len(shapes[columns_id].identities)), places[columns_id]

    def _columns_id(self, connection: sqlite3.Connection, identities: tuple[Identity, ...]) -> int:
        known = self._ids.get(identities)
        if known is not None:
            return known
        text = json.dumps(identities, separators=(",", ":")).encode()
        digest = hashlib.sha256(text).digest()
        found = connection.execute("SELECT id FROM columns WHERE digest = ?", (digest,)).fetchone()
        if found is None:
            # Not remembered: the transaction may yet be undone.
            data = zlib.compress(text, 9)
            cursor = connection.execute("INSERT INTO columns (digest, data) VALUES (?, ?)", (digest, data))
            return int(cursor.lastrowid or 0)
        if len(self._ids) >= _MOST_CACHED:
            self._ids.clear()
        self._ids[identities] = int(found[0])
        return self._ids[identities]

    def _shape(self, connection: sqlite3.Connection, columns_id: int) -> Shape:
        """The series of columns; ids are never used again, so a shape once read holds."""
        shape = self._shapes.get(columns_id)
        if shape is None:
            found = connection.execute("SELECT data FROM columns WHERE id = ?", (columns_id,)).fetchone()
            shape = _read_shape(None if found is None else found[0])
            if len(self._shapes) >= _MOST_CACHED:
                self._shapes.clear()
            self._shapes[columns_id] = shape
        return shape


def _read_shape(data: bytes | None) -> Shape:
    try:
        parsed = json.loads(zlib.decompress(data or b""))
    except (ValueError, zlib.error) as error:
        raise StoreReadError("names of series are damaged or gone") from error
    return Shape(tuple((name, tuple((key, value) for key, value in labels)) for name, labels in parsed))


def _one_of(blocks: Sequence[Block], columns: int) -> Block:
    """One block of single scrapes of one shape."""
    values = [list(chain.from_iterable(block.columns[place] for block in blocks)) for place in range(columns)]
    return Block([block.times[0] for block in blocks], values, {})


def _decoded(data: bytes, places: Container[int] | None = None) -> Block:
    try:
        return decode(data, places)
    except ValueError as error:
        raise StoreReadError(str(error)) from error


class _Assembly:
    """Series put together from blocks that may lie across each other."""

    def __init__(self) -> None:
        self._series: dict[Identity, Series] = {}
        self._unordered: set[Identity] = set()

    def add(self, identity: Identity, times: Sequence[float], values: Sequence[float], window: Window) -> None:
        """Add samples of a series, in order of time, as far as they lie in the window."""
        low, high = bisect_left(times, window.start), bisect_right(times, window.end)
        if low >= high:
            return
        series = self._series.get(identity)
        if series is None:
            series = self._series[identity] = Series(identity[0], dict(identity[1]))
        elif times[low] <= series.times[-1]:
            self._unordered.add(identity)
        series.times.extend(times[low:high])
        series.values.extend(values[low:high])

    def result(self) -> list[Series]:
        """All series, in order of name and labels; of samples at one time the last one added."""
        # Most series of an operator have the same times, so the order of those is looked for once.
        orders: dict[bytes, list[int]] = {}
        for identity in self._unordered:
            series = self._series[identity]
            key = series.times.tobytes()
            order = orders.get(key)
            if order is None:
                last = {time: place for place, time in enumerate(series.times)}
                order = orders[key] = [last[time] for time in sorted(last)]
            times, values = (array("d", map(each.__getitem__, order)) for each in (series.times, series.values))
            self._series[identity] = Series(series.name, series.labels, times, values)
        return [self._series[identity] for identity in sorted(self._series)]
