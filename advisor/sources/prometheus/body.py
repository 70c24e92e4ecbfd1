"""The body of an answer, unpacked, bounded and whole."""

import zlib
from collections.abc import Callable, Iterator
from http.client import IncompleteRead
from typing import Final

from requests import Response
from urllib3.exceptions import ProtocolError

from advisor.sources.prometheus.cost import Meter
from advisor.sources.prometheus.failures import BodyError, plain

__all__ = ["read_body"]

_CHUNK_BYTES: Final = 1 << 16
_GZIP: Final = zlib.MAX_WBITS | 16
_MEBIBYTE: Final = 1 << 20


def read_body(response: Response, most: int, meter: Meter, now: Callable[[], float], *, cut: bool = False) -> bytearray:
    """Read it to its end.

    Args:
        response: the answer; nothing of the body was read yet.
        most: bytes at most, unpacked.
        meter: counts bytes on the wire, and seconds of waiting and of unpacking.
        now: the monotonic clock.
        cut: whether what is more than that is left out, in place of an error.

    Raises:
        BodyError: it is larger, cut off, or packed in another way than gzip.
        HTTPError, OSError or zlib.error: it cannot be read.
    """
    body = bytearray()
    for piece in _unpacked(response, meter, now):
        body += piece
        if len(body) > most:
            if not cut:
                raise BodyError(f"the answer is larger than {most / _MEBIBYTE:g} MiB", too_much=True)
            del body[most:]
            break
    meter.body_bytes = len(body)
    return body


def _unpacked(response: Response, meter: Meter, now: Callable[[], float]) -> Iterator[bytes]:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        yield from _pieces(response, meter, now)
        return
    if encoding not in ("gzip", "x-gzip"):
        raise BodyError(f"the content encoding is {plain(encoding)}, not gzip")
    decoder = zlib.decompressobj(_GZIP)
    for packed in _pieces(response, meter, now):
        data = packed
        while data and not decoder.eof:
            begin = now()
            piece = decoder.decompress(data, _CHUNK_BYTES)
            data = decoder.unconsumed_tail
            meter.parse_seconds += now() - begin
            yield piece
    yield decoder.flush()
    if not decoder.eof:
        raise BodyError("the answer is cut off: the compressed data has no end", again=True)


def _pieces(response: Response, meter: Meter, now: Callable[[], float]) -> Iterator[bytes]:
    """What comes over the wire.

    Raises:
        BodyError: it ends too early.
        HTTPError or OSError: it cannot be read.
    """
    pieces: Iterator[bytes] = response.raw.stream(_CHUNK_BYTES, decode_content=False)
    while True:
        begin = now()
        try:
            piece = next(pieces, None)
        except ProtocolError as error:
            raise BodyError(f"the answer is cut off{_missing(error)}", again=True) from error
        meter.wait_seconds += now() - begin
        if piece is None:
            return
        meter.received_bytes += len(piece)
        yield piece


def _missing(error: ProtocolError) -> str:
    inner = next((one for one in error.args if isinstance(one, IncompleteRead)), None)
    return f": {inner.expected} bytes are missing" if inner is not None and inner.expected else ""
