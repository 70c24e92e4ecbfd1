"""Documents in little room: a report says mostly what the one before it said.

A document is compressed alone, or against another one of the same operator, its base. Deflate looks back 32 KiB, so a
longer document is cut, and each piece is compressed against the part of the base around the same place.
"""

import struct
import zlib

__all__ = ["pack", "pack_against", "unpack", "unpack_against"]

_PIECE_BYTES = 12_000
_BEFORE_BYTES = 10_000
_AROUND_BYTES = 32_000
_LEVEL = 9


def pack(document: bytes) -> bytes:
    """A document, compressed alone."""
    return zlib.compress(document, _LEVEL)


def unpack(data: bytes) -> bytes:
    """What :func:`pack` was given.

    Raises:
        zlib.error: the data is damaged.
    """
    return zlib.decompress(data)


def pack_against(base: bytes, document: bytes) -> bytes:
    """A document, compressed against another one."""
    pieces = []
    for start in range(0, len(document), _PIECE_BYTES):
        packer = zlib.compressobj(_LEVEL, zdict=_around(base, start))
        piece = packer.compress(document[start : start + _PIECE_BYTES]) + packer.flush()
        pieces += [struct.pack("<I", len(piece)), piece]
    return b"".join(pieces)


def unpack_against(base: bytes, data: bytes) -> bytes:
    """What :func:`pack_against` was given, with the same base.

    Raises:
        zlib.error: the data is damaged, or the base is another one.
    """
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        unpacker = zlib.decompressobj(zdict=_around(base, len(pieces) * _PIECE_BYTES))
        pieces.append(unpacker.decompress(data[at : at + length]) + unpacker.flush())
        at += length
    return b"".join(pieces)


def _around(base: bytes, start: int) -> bytes:
    first = max(0, start - _BEFORE_BYTES)
    return base[first : first + _AROUND_BYTES]
