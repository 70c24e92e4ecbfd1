"""Lines of a plain or gzip file, streamed, keeping all that a damaged or cut-off file still holds."""

import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from advisor.errors import InputNotFoundError

__all__ = ["LineReader", "plain_text"]

_CHUNK_BYTES = 1 << 18
_LONGEST_LINE_BYTES = 1 << 25
"""Over ten times the longest line of an operator, the list of its queue's items."""
_OVERLONG = b"\0"
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_HEADER = zlib.MAX_WBITS | 16


class LineReader:
    """Iterates over the lines of one file as bytes without the line end, once.

    gzip is recognised by its first bytes, members may follow one another. Of a line too long to be kept only the end is
    given out, behind a NUL byte, so that no format takes it. After iterating ``lines`` is the number of whole
    lines, ``problem`` tells why the file ended early, or is None, and ``rest`` holds what follows the last line end.

    Args:
        path: the file.
        chunk_bytes: how much is read, and at most unpacked, at once; two or more, to tell gzip by.

    Raises:
        InputNotFoundError: while iterating, when the file cannot be opened.
    """

    def __init__(self, path: Path, *, chunk_bytes: int = _CHUNK_BYTES) -> None:
        self._path = path
        self._chunk_bytes = chunk_bytes
        self.problem: str | None = None
        self.lines = 0
        self.rest = b""

    def __iter__(self) -> Iterator[bytes]:
        """Every line, the last one also without a line end: whether that is whole is for its reader to decide."""
        yield from self.whole_lines()
        if self.rest:
            yield self.rest

    def whole_lines(self) -> Iterator[bytes]:
        """Every line that has a line end."""
        begun: list[bytes] = []
        length = 0
        for chunk in _as_utf8(self._chunks()):
            if b"\n" not in chunk:
                begun.append(chunk)
                length += len(chunk)
                if length > _LONGEST_LINE_BYTES:
                    begun, length = [_OVERLONG], 0
                continue
            text = b"".join((*begun, chunk))
            # One byte is looked for several times faster than two.
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n")
            *lines, rest = text.split(b"\n")
            self.lines += len(lines)
            yield from lines
            begun, length = [rest], len(rest)
        self.rest = b"".join(begun)

    def _chunks(self) -> Iterator[bytes]:
        try:
            file = self._path.open("rb")
        except OSError as error:
            raise InputNotFoundError(
                f"cannot be opened: {error.strerror}", where=str(self._path), hint="check the path and its permissions"
            ) from error
        with file:
            first = self._read(file)
            if first.startswith(_GZIP_MAGIC):
                yield from self._inflate(first, file)
                return
            while first:
                yield first
                first = self._read(file)

    def _read(self, file: BinaryIO) -> bytes:
        """The next bytes; none at the end of the file, and none when it can be read no further."""
        try:
            return file.read(self._chunk_bytes)
        except OSError as error:
            self.problem = f"cannot be read beyond line {self.lines}: {error.strerror}"
            return b""

    def _inflate(self, data: bytes, file: BinaryIO) -> Iterator[bytes]:
        decoder = zlib.decompressobj(_GZIP_HEADER)
        whole = False
        while data:
            # Inflating cannot be resumed after an error, and what it had unpacked until then is lost with it.
            before = decoder.copy()
            try:
                chunk = decoder.decompress(data, self._chunk_bytes)
            except zlib.error as error:
                yield _salvaged(before, data)
                self.problem = f"damaged after line {self.lines}: {error}"
                return
            yield chunk
            whole = decoder.eof
            data = decoder.unused_data if whole else decoder.unconsumed_tail
            data = data or self._read(file)
            if whole:
                decoder = zlib.decompressobj(_GZIP_HEADER)
                # Some tools pad a file with zeros.
                data = data.lstrip(b"\0")
        yield decoder.flush()
        if not whole and self.problem is None:
            self.problem = f"cut off after line {self.lines}: the compressed data has no end"


def _as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks without a byte order mark; as UTF-8 where the mark says UTF-16, as files of PowerShell have it."""
    begun = b""
    for chunk in chunks:
        begun += chunk
        if len(begun) >= len(BOM_UTF8):
            break
    if not begun.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        yield begun.removeprefix(BOM_UTF8)
        yield from chunks
        return
    decoder = getincrementaldecoder("utf-16")("replace")
    for chunk in chain((begun,), chunks):
        yield decoder.decode(chunk).encode()
    yield decoder.decode(b"", final=True).encode()


def plain_text(data: bytes) -> bytes:
    """A whole text without a byte order mark, and as UTF-8, likewise."""
    return b"".join(_as_utf8(iter((data,))))


def _salvaged(decoder: "zlib._Decompress", data: bytes) -> bytes:
    """What the decoder unpacks of the data before it comes to the damage."""
    found: list[bytes] = []
    with suppress(zlib.error):
        found.extend(map(decoder.decompress, (data[position : position + 1] for position in range(len(data)))))
    return b"".join(found)
