"""One GET of one ``/metrics`` endpoint, bounded in time and size, over HTTP or HTTPS.

No proxy is used, as none is by a scraper in the cluster. Redirects are followed on the same host only, so that
credentials go nowhere else.
"""

import io
import re
import ssl
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from advisor.errors import InputNotFoundError
from advisor.sources.timedreader import TimedReader

__all__ = ["Access", "Endpoint", "ScrapeFailedError", "fetch", "meant_url", "tls_context"]

LARGEST_BODY_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16
_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_OK = 200
_GZIP = zlib.MAX_WBITS | 16
_ACCEPT = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=1,*/*;q=0.1"
OPENMETRICS = "application/openmetrics-text"
_TYPES = ("", "text/plain", OPENMETRICS)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[!-~]+")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[ -~]*")
_LARGEST_TOKEN_BYTES = 1 << 16
_LONGEST_REASON = 200
_UNREACHED = "does it run, and is that its port; to reach one in a cluster: kubectl port-forward"
_HINTS = {
    401: "give a token with --bearer-token-file, or a --header",
    403: "give a token with --bearer-token-file that may read this, or a --header",
}
"""What to do about a status."""
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]+:[0-9]+(/[A-Za-z0-9._/-]*)?")
_UNPRINTABLE = re.compile(r"[^ -~]+")


def meant_url(text: str) -> str:
    """A hint for what is no URL but a host and a port, and so holds no password; "" for anything else."""
    return f"did you mean http://{text}" if _HOST_AND_PORT.fullmatch(text) else ""


class ScrapeFailedError(Exception):
    """One scrape failed, and the message says why; ``hint`` what to do about it, "" where that does not follow."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to scrape. ``instance`` tells it from the others in labels."""

    scheme: str
    host: str
    port: int
    path: str
    instance: str

    @classmethod
    def parse(cls, url: str) -> "Endpoint":
        """An endpoint from its URL; without a path it is ``/metrics``.

        Raises:
            ValueError: it is no http or https URL, or one with a user in it.
        """
        if not _URL.fullmatch(url):
            raise ValueError("a URL has no spaces and only ASCII")
        parts = urlsplit(url)
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError("expected http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]")
        if parts.username is not None:
            raise ValueError("a user or password does not belong in a URL; use --header or --bearer-token-file")
        port = parts.port or _DEFAULT_PORTS[parts.scheme]
        path = (parts.path if parts.path not in ("", "/") else "/metrics") + (f"?{parts.query}" if parts.query else "")
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        return cls(parts.scheme, parts.hostname, port, path, f"{host}:{port}")

    @property
    def url(self) -> str:
        """The URL without its query, for messages."""
        return f"{self.scheme}://{self.instance.partition('/')[0]}{self.path.partition('?')[0]}"

    def redirected(self, location: str) -> "Endpoint":
        """Where a redirect leads.

        Raises:
            ScrapeFailedError: to another host or port, from https to http, or nowhere.
        """
        try:
            target = Endpoint.parse(urljoin(f"{self.scheme}://{self.instance.partition('/')[0]}{self.path}", location))
        except ValueError:
            raise ScrapeFailedError("redirects to something that is no http or https URL") from None
        same = (target.scheme, target.host, target.port) == (self.scheme, self.host, self.port)
        upgraded = self.scheme == "http" and target.scheme == "https" and target.host == self.host
        if not same and not upgraded:
            raise ScrapeFailedError(f"redirects to {target.instance}, which is not followed: only the same host is")
        return target


@dataclass(frozen=True)
class Access:
    """What to send along and whom to trust.

    The token is read again for each scrape, because mounted tokens are renewed.
    """

    headers: dict[str, str] = field(default_factory=dict)
    token_file: Path | None = None
    tls: ssl.SSLContext | None = None

    @staticmethod
    def header(text: str) -> tuple[str, str]:
        """Name and value of ``Name: value``.

        Raises:
            ValueError: it is no header.
        """
        name, colon, value = text.partition(":")
        if not colon or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError("expected 'Name: value'")
        return name, value.strip()

    def all_headers(self) -> dict[str, str]:
        """Every header of one request.

        Raises:
            ScrapeFailedError: the token file cannot be read, or holds no token.
        """
        headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip", "User-Agent": "kuberay-advisor", "Connection": "close"}
        if self.token_file is not None:
            headers["Authorization"] = f"Bearer {_token(self.token_file)}"
        return headers | self.headers


def _token(path: Path) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST_TOKEN_BYTES).removeprefix(BOM_UTF8).strip()
    except OSError as error:
        raise ScrapeFailedError(f"the token file cannot be read: {error.strerror}") from error
    token = text.decode("ascii", "replace")
    if not _URL.fullmatch(token):
        raise ScrapeFailedError("the token file holds no token of one line of ASCII")
    return token


def tls_context(ca_file: Path | None, *, insecure: bool) -> ssl.SSLContext:
    """How certificates are checked: against the system's authorities or those of a file, or not at all.

    Raises:
        InputNotFoundError: the file cannot be read or holds no certificate.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise InputNotFoundError(
            f"holds no certificate that can be read: {error.strerror or error}",
            where=str(ca_file),
            hint="give a PEM file with the certificate of the authority",
        ) from error
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class _Deadline:
    """The end of one request, whatever its steps take."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left.

        Raises:
            TimeoutError: none is left.
        """
        left = self._end - time.monotonic()
        if left <= 0.0:
            raise TimeoutError
        return left


def fetch(
    endpoint: Endpoint,
    access: Access,
    seconds: float,
    receive: Callable[[bytes], object],
    types: Collection[str] = _TYPES,
) -> str:
    """GET, and give the body in pieces to ``receive``; the content type, which is one of ``types``.

    Raises:
        ScrapeFailedError: there is no whole answer of at most 64 MiB with status 200 in time.
    """
    deadline = _Deadline(seconds)
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            answer = _get(endpoint, access, deadline, receive, types)
            if isinstance(answer, str):
                return answer
            endpoint = answer
    except TimeoutError as error:
        raise ScrapeFailedError(f"no whole answer within {seconds:g} s") from error
    except ssl.SSLCertVerificationError as error:
        raise ScrapeFailedError(
            f"the certificate is not trusted: {_plain(error.verify_message)}",
            "give the certificate of its authority with --ca-file",
        ) from error
    except ssl.SSLError as error:
        if error.reason == "WRONG_VERSION_NUMBER":
            raise ScrapeFailedError("what answers there speaks no TLS", "is it http://") from error
        raise ScrapeFailedError(_plain(error.strerror or str(error))) from error
    except ConnectionRefusedError as error:
        raise ScrapeFailedError(_plain(error.strerror or str(error)), _UNREACHED) from error
    except OSError as error:
        raise ScrapeFailedError(_plain(error.strerror or str(error))) from error
    except HTTPException as error:
        raise ScrapeFailedError(f"no HTTP answer that can be read: {_plain(repr(error))}") from error
    raise ScrapeFailedError("too many redirects")


def _get(
    endpoint: Endpoint,
    access: Access,
    deadline: _Deadline,
    receive: Callable[[bytes], object],
    types: Collection[str],
) -> "str | Endpoint":
    """One request: the content type of what was received, or where to go instead."""
    headers = access.all_headers()
    connection = _connection(endpoint, access, deadline.remaining())
    try:
        connection.request("GET", endpoint.path, headers=headers)
        with _response(connection, deadline) as response:
            if response.status in _REDIRECTS:
                return endpoint.redirected(response.headers.get("Location", ""))
            if response.status != _OK:
                raise ScrapeFailedError(
                    f"status {response.status} {_plain(response.reason)}".rstrip(), _HINTS.get(response.status, "")
                )
            kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            if kind not in types:
                raise _wrong_type(kind, "metrics as text" if types is _TYPES else " or ".join(types))
            for piece in _bounded(_unpacked(response)):
                receive(piece)
            return kind
    finally:
        connection.close()


def _wrong_type(kind: str, wanted: str) -> ScrapeFailedError:
    if kind == "text/html":
        return ScrapeFailedError(
            f"an HTML page came in place of {wanted}", "check the path, and how to get in without a browser"
        )
    has = f"the content type is {_plain(kind)}, which" if kind else "the answer has no content type, so it"
    return ScrapeFailedError(f"{has} is not {wanted}")


def _connection(endpoint: Endpoint, access: Access, seconds: float) -> HTTPConnection:
    if endpoint.scheme == "http":
        return HTTPConnection(endpoint.host, endpoint.port, timeout=seconds)
    return HTTPSConnection(endpoint.host, endpoint.port, timeout=seconds, context=access.tls)


@contextmanager
def _response(connection: HTTPConnection, deadline: _Deadline) -> Iterator[HTTPResponse]:
    """The answer, its header read; closed at the end also where it cannot be read."""
    with HTTPResponse(connection.sock, method="GET") as response:
        response.fp = io.BufferedReader(TimedReader(response.fp.detach(), connection.sock, deadline.remaining))
        response.begin()
        yield response


def _unpacked(response: HTTPResponse) -> Iterator[bytes]:
    """The body, unpacked.

    Raises:
        ScrapeFailedError: it is cut off or damaged, or packed in another way than gzip.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        yield from _body(response)
        return
    if encoding not in ("gzip", "x-gzip"):
        raise ScrapeFailedError(f"the content encoding is {_plain(encoding)}, not gzip")
    decoder = zlib.decompressobj(_GZIP)
    try:
        for packed in _body(response):
            data = packed
            while data and not decoder.eof:
                yield decoder.decompress(data, _CHUNK_BYTES)
                data = decoder.unconsumed_tail
        yield decoder.flush()
    except zlib.error as error:
        raise ScrapeFailedError("the compressed answer is damaged") from error
    if not decoder.eof:
        raise ScrapeFailedError("the answer is cut off: the compressed data has no end")


def _body(response: HTTPResponse) -> Iterator[bytes]:
    while piece := response.read1(_CHUNK_BYTES):
        yield piece
    # A reader of http.client does not tell the end of the body from the end of the connection.
    if response.length:
        raise ScrapeFailedError(f"the answer is cut off: {response.length} bytes are missing")


def _bounded(pieces: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        if total > LARGEST_BODY_BYTES:
            raise ScrapeFailedError(f"the answer is larger than {LARGEST_BODY_BYTES >> 20} MiB")
        yield piece


def _plain(text: str) -> str:
    """A text of the other side, fit for a terminal and a line."""
    return _UNPRINTABLE.sub(" ", text)[:_LONGEST_REASON].strip()
