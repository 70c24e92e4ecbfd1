"""What went wrong between us and a store, in words that hold nothing secret."""

import re
import socket
import ssl
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from typing import TypeVar

from requests.exceptions import ProxyError, RequestException
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ProtocolError, ReadTimeoutError

from advisor.errors import StoreAnswerError, StoreError, StoreQueryError, StoreUnreachableError
from advisor.sources.prometheus.address import ForeignRedirectError
from advisor.sources.prometheus.deadline import Deadline
from advisor.sources.prometheus.tls import explained

__all__ = ["EXPECTED", "LONGEST", "BodyError", "Failure", "failure_of", "plain"]

_UNPRINTABLE = re.compile(r"[^ -~\u00a1-\uffff]+")
LONGEST = 300
_E = TypeVar("_E", bound=BaseException)

EXPECTED = (RequestException, HTTPError, OSError, HTTPException, zlib.error, ForeignRedirectError)
"""All that sending a request and reading its answer may raise."""


class BodyError(OSError):
    """A body that is not taken; the text says why.

    Args:
        text: why.
        again: whether another attempt may give a whole one.
        too_much: whether less at once may succeed.
    """

    def __init__(self, text: str, *, again: bool = False, too_much: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.again = again
        self.too_much = too_much


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer; ``again`` says whether it makes sense to ask once more."""

    message: str
    hint: str = ""
    again: bool = False
    too_much: bool = False
    kind: type[StoreError] = StoreUnreachableError
    once: bool = False
    """Whether that makes sense once only."""
    retry_after: float | None = None
    """Seconds that the store asks to wait."""
    status: int = 0
    error_type: str = ""

    def error(self, where: str, attempts: int) -> StoreError:
        """The same to raise."""
        tried = f"after {attempts} attempts" if self.again and attempts > 1 else ""
        hint = "; ".join(part for part in (tried, self.hint) if part)
        error = self.kind(self.message, where=where, hint=hint, too_much=self.too_much)
        if isinstance(error, StoreAnswerError):
            error.status = self.status
        elif isinstance(error, StoreQueryError):
            error.error_type = self.error_type
        return error


def plain(text: str, longest: int = LONGEST) -> str:
    """Somebody else's text, on one line and not without end."""
    text = _UNPRINTABLE.sub(" ", text).strip()
    return text if len(text) <= longest else f"{text[:longest]}..."


def failure_of(error: BaseException, deadline: Deadline, connect_seconds: float) -> Failure:
    """What an exception means; its own text may hold addresses, so only what is known to be harmless is shown."""
    failure = _direct(error) or _of_tls(error) or _of_time(error, deadline, connect_seconds) or _of_network(error)
    if _found(error, ProxyError) is not None:
        message = f"through the proxy of the environment: {failure.message}"
        return Failure(message, "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY", again=failure.again)
    return failure


def _direct(error: BaseException) -> Failure | None:
    body = _found(error, BodyError)
    if body is not None:
        hint = "ask for a shorter time or fewer series" if body.too_much else ""
        return Failure(body.text, hint, again=body.again, too_much=body.too_much, kind=StoreAnswerError)
    if isinstance(error, ForeignRedirectError):
        return Failure(
            f"redirects to {error}, which is not followed: what lets us in is for this host alone",
            "if that is the store, give its address",
            kind=StoreAnswerError,
        )
    if isinstance(error, zlib.error):
        return Failure("the compressed answer is damaged", again=True, kind=StoreAnswerError)
    return None


def _of_tls(error: BaseException) -> Failure | None:
    tls = _found(error, ssl.SSLError)
    if tls is None:
        return None
    message, hint = explained(tls)
    return Failure(message, hint, again=isinstance(tls, ssl.SSLEOFError | ssl.SSLZeroReturnError))


def _of_time(error: BaseException, deadline: Deadline, connect_seconds: float) -> Failure | None:
    # Of a name that does not exist, urllib3 says that no connection came about in time.
    if _found(error, socket.gaierror) is not None:
        return None
    if _found(error, ConnectTimeoutError) is not None and _found(error, TimeoutError) is not None:
        return Failure(f"no connection within {connect_seconds:g} s", "is there a firewall between", again=True)
    if _found(error, TimeoutError) is None and _found(error, ReadTimeoutError) is None:
        return None
    hint = "ask for a shorter time or fewer series"
    if deadline.passed:
        return Failure(f"no whole answer within {deadline.seconds:g} s", hint, too_much=True)
    return Failure(f"nothing came for {deadline.silence_seconds:g} s", hint, too_much=True)


def _of_network(error: BaseException) -> Failure:
    if _found(error, socket.gaierror) is not None:
        return Failure("the name of the host is not known", "check the host of the URL", again=True)
    system = next((one for one in _chain(error) if isinstance(one, OSError) and one.strerror), None)
    if isinstance(system, ConnectionRefusedError):
        return Failure("the connection is refused", "is the store running, and is that its port", again=True)
    if system is not None:
        return Failure(f"the connection failed: {plain(str(system.strerror))}", again=True)
    if _found(error, ConnectionError) is not None:
        return Failure("the connection was closed without an answer", again=True)
    if _found(error, HTTPException) is not None or _found(error, ProtocolError) is not None:
        return Failure(
            "no HTTP answer that can be read", "is that the address of a store", again=True, kind=StoreAnswerError
        )
    return Failure(f"the request failed: {type(error).__name__}")


def _found(error: BaseException, kind: type[_E]) -> _E | None:
    return next((one for one in _chain(error) if isinstance(one, kind)), None)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that it wraps, in whatever way its library does so."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        inner = (getattr(one, "reason", None), *one.args, one.__cause__, one.__context__)
        waiting.extend(found for found in inner if isinstance(found, BaseException))
