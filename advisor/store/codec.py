"""Samples in little room: a block holds some scrapes of the same series.

Values stand series by series, each as its difference to the one before: of whole numbers the difference, of all others
that of their bit patterns, so that nothing is rounded. The bytes are then put in order of their weight, which puts the
zeros together, and deflated. A scrape that is alone has no one before it: it is deflated as it is, which is quicker.
"""

import struct
import zlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from math import copysign

__all__ = ["Block", "decode", "encode"]

_LEVEL = 6
_HEAD = struct.Struct("<BIII")
_ALONE, _COLUMNS = 1, 2
"""How a block is written: one scrape as plain numbers, or by column."""
_LARGEST = 2.0**53
_MASK = (1 << 64) - 1
_WHOLE, _BITS = 1, 0


@dataclass(frozen=True, slots=True)
class Block:
    """Scrapes in order of time, all of the same series.

    Attributes:
        times: Unix seconds.
        columns: for each series its values, as many as times.
        peaks: for each series that has any, by its place in ``columns``: the largest value since the scrape before.
    """

    times: Sequence[float]
    columns: Sequence[Sequence[float]]
    peaks: Mapping[int, Sequence[float]]


def encode(block: Block) -> bytes:
    """A block as bytes that :func:`decode` makes the same block of."""
    rows = len(block.times)
    if rows == 1 and not block.peaks:
        values = (block.times[0], *(column[0] for column in block.columns))
        plain = struct.pack(f"<{len(values)}d", *values)
        return _HEAD.pack(_ALONE, 1, len(block.columns), 0) + zlib.compress(plain, _LEVEL)
    coded = [_column(values) for values in (block.times, *block.columns, *block.peaks.values())]
    flags = bytes(flag for flag, _ in coded)
    words = struct.pack(f"<{len(coded) * rows}Q", *chain.from_iterable(column for _, column in coded))
    places = struct.pack(f"<{len(block.peaks)}I", *block.peaks)
    planes = b"".join(words[weight::8] for weight in range(8))
    head = _HEAD.pack(_COLUMNS, rows, len(block.columns), len(block.peaks))
    return head + zlib.compress(flags + places + planes, _LEVEL)


def decode(data: bytes, places: Container[int] | None = None) -> Block:
    """The block that was encoded.

    Args:
        data: what :func:`encode` gave.
        places: columns that are asked for; all others, and their peaks, are empty. None asks for all.

    Raises:
        ValueError: the data is damaged or of another version.
    """
    try:
        form, rows, columns, peaks = _HEAD.unpack_from(data)
        body = zlib.decompress(data[_HEAD.size :])
        if form == _ALONE:
            time, *values = struct.unpack(f"<{1 + columns}d", body)
            wanted = [(value,) if places is None or at in places else () for at, value in enumerate(values)]
            return Block((time,), wanted, {})
        if form == _COLUMNS:
            return _by_column(body, (rows, columns, peaks), places)
    except (struct.error, zlib.error) as error:
        raise ValueError("a block of samples is damaged") from error
    raise ValueError("a block of samples is damaged, or of a newer program")


def _by_column(body: bytes, sizes: tuple[int, int, int], wanted: Container[int] | None) -> Block:
    rows, columns, peaks = sizes
    coded = 1 + columns + peaks
    size = coded * rows
    if len(body) != coded + 4 * peaks + 8 * size:
        raise ValueError("a block of samples is damaged")
    places = struct.unpack_from(f"<{peaks}I", body, coded)
    planes = body[coded + 4 * peaks :]
    words = bytearray(8 * size)
    for weight in range(8):
        words[weight::8] = planes[weight * size : (weight + 1) * size]
    whole = struct.unpack(f"<{size}q", words)
    ids = (-1, *range(columns), *places)
    values = [
        _values(flag, whole[at * rows : (at + 1) * rows]) if wanted is None or not at or ids[at] in wanted else ()
        for at, flag in enumerate(body[:coded])
    ]
    return Block(values[0], values[1 : columns + 1], dict(zip(places, values[columns + 1 :], strict=True)))


def _is_whole(value: float) -> bool:
    """Whether a whole number stands for the value; a minus zero is none."""
    return -_LARGEST < value < _LARGEST and value.is_integer() and (value != 0.0 or copysign(1.0, value) > 0.0)


def _column(values: Sequence[float]) -> tuple[int, list[int]]:
    """How a column is coded, and its words."""
    if all(map(_is_whole, values)):
        whole, flag = [int(value) for value in values], _WHOLE
    else:
        whole, flag = list(struct.unpack(f"<{len(values)}Q", struct.pack(f"<{len(values)}d", *values))), _BITS
    return flag, [word & _MASK for word in (*whole[:1], *(after - before for before, after in pairwise(whole)))]


def _values(flag: int, differences: Sequence[int]) -> Sequence[float]:
    words = list(accumulate(differences))
    if flag == _WHOLE:
        return [float(word) for word in words]
    return struct.unpack(f"<{len(words)}d", struct.pack(f"<{len(words)}Q", *(word & _MASK for word in words)))
