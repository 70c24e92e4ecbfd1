"""Which scrapes stay when samples get old, so that the signals made of them stay the same.

Of each bucket of time the last scrape stays, whole: series of one process have to be there at the same times, and at
even distances, since gauges are summed by time and a long pause counts as a gap. What would change the increase of a
counter stays as well: the two scrapes around a fall or a process start, the first and the last of a series. The largest
value of a gauge is kept beside, not as one more sample: a mean over time would take a spike for half of its bucket.
"""

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.knowledge import find
from advisor.store.codec import Block

__all__ = ["Identity", "Row", "Shape", "blocks_of", "rows_of", "thin"]

Identity = tuple[str, tuple[tuple[str, str], ...]]
"""Name and labels of a series."""

_PROCESS_START = "process_start_time_seconds"
_COUNTER_ENDINGS = ("_total", "_sum", "_count", "_bucket")


def _is_counter(name: str) -> bool:
    metric = find(name)
    return name.endswith(_COUNTER_ENDINGS) if metric is None else metric.kind != "gauge"


@dataclass(frozen=True, slots=True)
class Shape:
    """The series of a scrape, in order, and which of them are gauges or tell when a process started."""

    identities: tuple[Identity, ...]
    gauges: frozenset[int] = field(init=False)
    starts: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        names = [name for name, _ in self.identities]
        gauges = frozenset(at for at, name in enumerate(names) if not _is_counter(name))
        object.__setattr__(self, "gauges", gauges)
        object.__setattr__(self, "starts", frozenset(at for at in gauges if names[at] == _PROCESS_START))

    def places(self, names: Container[str] | None) -> list[int]:
        """Places of the series of some names, or of all."""
        return [at for at, (name, _) in enumerate(self.identities) if names is None or name in names]


@dataclass(frozen=True, slots=True)
class Row:
    """One scrape. ``columns_id`` names its shape; ``peaks`` are largest values since the row before, by place."""

    time: float
    columns_id: int
    values: Sequence[float]
    peaks: Mapping[int, float]


def rows_of(columns_id: int, block: Block) -> list[Row]:
    """The scrapes of a block."""
    peaks = [dict(zip(block.peaks, values, strict=True)) for values in zip(*block.peaks.values(), strict=True)]
    rows = zip(block.times, zip(*block.columns, strict=True), peaks or [{}] * len(block.times), strict=True)
    return [Row(time, columns_id, values, peak) for time, values, peak in rows]


def blocks_of(rows: Sequence[Row]) -> list[tuple[int, Block]]:
    """Blocks of scrapes with the same series each, with the name of their shape."""
    grouped: dict[int, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row.columns_id, []).append(row)
    return [(columns_id, _block(group)) for columns_id, group in grouped.items()]


def _block(rows: Sequence[Row]) -> Block:
    peaks = {place: [row.peaks[place] for row in rows] for place in rows[0].peaks}
    return Block([row.time for row in rows], list(zip(*(row.values for row in rows), strict=True)), peaks)


def thin(
    rows: Sequence[Row], shapes: Mapping[int, Shape], width_seconds: float, before: Mapping[Identity, float]
) -> list[Row]:
    """The scrapes that stay, with the largest values of their gauges.

    Args:
        rows: scrapes in order of time.
        shapes: their series.
        width_seconds: of a bucket, which holds its end and not its beginning: a counter's value at a time is that of
            the last sample up to it.
        before: last values of what was thinned before; a series that is not in it is new.
    """
    kept = _kept(rows, shapes, width_seconds, before)
    largest: dict[Identity, float] = {}
    result = []
    for index, row in enumerate(rows):
        shape = shapes[row.columns_id]
        gauges = [(place, shape.identities[place]) for place in sorted(shape.gauges)]
        for place, identity in gauges:
            value = row.peaks.get(place, row.values[place])
            largest[identity] = max(value, largest.get(identity, -math.inf))
        if index in kept:
            peaks = {place: largest.pop(identity) for place, identity in gauges}
            result.append(Row(row.time, row.columns_id, row.values, peaks))
    return result


def _kept(
    rows: Sequence[Row], shapes: Mapping[int, Shape], width_seconds: float, before: Mapping[Identity, float]
) -> set[int]:
    """Indices of the scrapes that stay."""
    seen: dict[Identity, tuple[int, float]] = {identity: (-1, value) for identity, value in before.items()}
    kept: set[int] = set()
    bucket = math.nan
    for index, row in enumerate(rows):
        if (now := math.ceil(row.time / width_seconds)) != bucket:
            kept.update(last for last, _ in seen.values())
            bucket = now
        shape = shapes[row.columns_id]
        for place, (identity, value) in enumerate(zip(shape.identities, row.values, strict=True)):
            last = seen.get(identity)
            if last is None:
                kept.add(index)
            elif value < last[1] if place not in shape.gauges else place in shape.starts and value != last[1]:
                kept.update((last[0], index))
            seen[identity] = index, value
    kept.update(last for last, _ in seen.values())
    return kept - {-1}
