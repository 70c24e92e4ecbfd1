"""Lines of a plain or gzip file, streamed, keeping all that a cut-off file still holds."""

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from advisor.errors import InputNotFoundError

__all__ = ["LineReader"]

_CHUNK_BYTES = 1 << 18
_GZIP_MAGIC = b"\x1f\x8b"
_ANY_HEADER = zlib.MAX_WBITS | 32


class LineReader:
    """Iterates over the lines of one file as bytes without the line end.

    gzip is recognised by its first bytes, members may follow one another. ``problem`` tells after iterating why the
    file ended early, or is None. A last line without a line end is given out too, since its reader decides whether
    it is whole.

    Raises:
        InputNotFoundError: the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.problem: str | None = None
        self.lines = 0
        self.ended_within_line = False

    def __iter__(self) -> Iterator[bytes]:
        """Every line; see the class for what happens at a damaged end."""
        rest = b""
        for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            self.lines += len(lines)
            yield from lines
        if rest:
            self.ended_within_line = True
            self.lines += 1
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise InputNotFoundError(
                f"cannot be opened: {error.strerror}", where=str(self._path), hint="check the path and its permissions"
            ) from error
        with file:
            first = file.read(_CHUNK_BYTES)
            if first.startswith(_GZIP_MAGIC):
                yield from self._inflate(first, file.read)
                return
            while first:
                yield first
                first = file.read(_CHUNK_BYTES)

    def _inflate(self, data: bytes, read: Callable[[int], bytes]) -> Iterator[bytes]:
        decoder = zlib.decompressobj(_ANY_HEADER)
        whole = False
        while data:
            try:
                yield decoder.decompress(data)
            except zlib.error as error:
                self.problem = f"damaged after line {self.lines}: {error}"
                return
            data = decoder.unused_data
            whole = decoder.eof
            if whole:
                decoder = zlib.decompressobj(_ANY_HEADER)
            data = data or read(_CHUNK_BYTES)
        if not whole:
            self.problem = f"cut off after line {self.lines}: the compressed data has no end"
