"""What an answer is: data of the API, its refusal, or something else, such as a page for people."""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from advisor.errors import StoreAccessError, StoreAnswerError, StoreQueryError, StoreUnreachableError
from advisor.sources.prometheus.credentials import Sent
from advisor.sources.prometheus.envelope import Envelope, envelope_of
from advisor.sources.prometheus.failures import LONGEST, Failure, plain

__all__ = ["OK", "OVERLOADED", "Received", "reading_failure", "refusal", "verdict"]

OK: Final = 200
OVERLOADED: Final = frozenset({429, 502, 503, 504})
_INTERNAL: Final = 500
_UNAUTHORISED: Final = 401
_FORBIDDEN: Final = 403
_ABSENT: Final = 404
_GATEWAY_TIMEOUT: Final = 504
_TITLE: Final = re.compile(rb"<title[^>]*>(.*?)</title>", re.DOTALL | re.IGNORECASE)
_SHOWN: Final = 200
_LONGEST_TITLE: Final = 80
_NO_API: Final = "check the path of the URL: it ends before /api/v1, Mimir's in /prometheus"
_TOO_MUCH: Final = re.compile(
    r"exceeded maximum resolution|too many (?:samples|points|chunks|series)|time(?:d )?out|deadline exceeded"
    r"|exceed(?:s|ed) (?:the )?(?:maximum|limit|aggregated|estimated|series|chunks?|samples|bytes)|exceeds the limit"
    r"|-search\.max|cannot select more than|not enough memory|resource ?exhausted|max-(?:total-)?query-length",
    re.IGNORECASE,
)
"""How Prometheus, Thanos, Mimir, Cortex and VictoriaMetrics say that a query asks for too much at once."""


@dataclass(frozen=True, slots=True)
class Received:
    """One answer as it came; ``method`` and ``sent`` are those of the request that it is to.

    ``clean`` takes secrets out of a text: a server may repeat what it was sent.
    """

    method: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytearray
    sent: Sent
    clean: Callable[[str], str]

    def shown(self, text: str, longest: int = LONGEST) -> str:
        """A text of the answer that people may see. What is cut off is cut after cleaning: half a secret is one too."""
        return plain(self.clean(text), longest)

    @property
    def said(self) -> str:
        """Status and reason."""
        return f"status {self.status} {self.shown(self.reason)}".rstrip()

    @property
    def kind(self) -> str:
        """The content type alone."""
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def is_page(self) -> bool:
        """Whether it is HTML."""
        return self.kind in ("text/html", "application/xhtml+xml") or (
            not self.may_be_json and self.body.lstrip()[:1] == b"<"
        )

    @property
    def may_be_json(self) -> bool:
        """Whether it says that it is JSON."""
        return self.kind.endswith(("/json", "+json"))


def verdict(received: Received, purpose: str, shown: str) -> Failure | None:
    """Why the answer is none of the API's data; None where it seems to be.

    Args:
        received: the answer.
        purpose: what the request is for, or "".
        shown: what was sent along to be let in, in words that show none of it; "" where nothing was.
    """
    return _unwanted(received) if received.status == OK else _unsuccessful(received, purpose, shown)


def refusal(envelope: Envelope, received: Received, purpose: str) -> Failure:
    """The API's own refusal."""
    status = received.status
    asked = f"the query for {purpose}" if purpose else "the request"
    text = received.shown(envelope.error) or "no reason given"
    kind = received.shown(envelope.errorType) or "error"
    timed_out = envelope.errorType == "timeout"
    return Failure(
        f"the store refuses {asked}: {kind}: {text}",
        # The same again would take as long again.
        again=not timed_out and (status in OVERLOADED or status == _INTERNAL),
        once=status == _INTERNAL,
        too_much=timed_out or _TOO_MUCH.search(envelope.error) is not None,
        kind=StoreQueryError,
        error_type=envelope.errorType,
        status=status,
    )


def reading_failure(error: Exception, received: Received) -> Failure:
    """Why an answer that seemed to be data could not be read."""
    text = received.shown(str(error))
    if "truncated" in text:
        return Failure("the answer is cut off: the JSON has no end", again=True, kind=StoreAnswerError)
    hint = "is that the address of a Prometheus, or of one of its kind"
    return Failure(f"the answer is not that of the Prometheus API: {text}", hint, kind=StoreAnswerError)


def _unwanted(received: Received) -> Failure | None:
    """What a successful answer is in place of JSON."""
    if received.is_page:
        return _page(received)
    if received.kind and not received.may_be_json:
        return Failure(
            f"the content type is {received.shown(received.kind)}, which is not JSON", _NO_API, kind=StoreAnswerError
        )
    if not received.body:
        return Failure("the answer is empty", again=True, kind=StoreAnswerError)
    return None


def _page(received: Received) -> Failure:
    title = _TITLE.search(received.body)
    text = "" if title is None else received.shown(html.unescape(title[1].decode("utf-8", "replace")), _LONGEST_TITLE)
    named = f' titled "{text}"' if text else ""
    return Failure(
        f"an HTML page{named} came in place of data, as from a login",
        "check the URL, and how to get in without a browser",
        kind=StoreAnswerError,
    )


def _unsuccessful(received: Received, purpose: str, shown: str) -> Failure:
    status = received.status
    envelope = _refusing_envelope(received)
    if status in (_UNAUTHORISED, _FORBIDDEN):
        return _access(received, shown)
    if envelope is not None:
        return refusal(envelope, received, purpose)
    if status == _ABSENT:
        return Failure(f"{received.said}: no Prometheus API is there", _NO_API, kind=StoreAnswerError, status=status)
    overloaded = status in OVERLOADED
    return Failure(
        f"{received.said}{_excerpt(received)}",
        again=overloaded or status == _INTERNAL,
        once=status == _INTERNAL,
        # A proxy before the store gave up waiting.
        too_much=status == _GATEWAY_TIMEOUT,
        kind=StoreUnreachableError if overloaded else StoreAnswerError,
        status=status,
    )


def _access(received: Received, shown: str) -> Failure:
    said = received.said
    if not shown:
        return Failure(
            f"{said}: who asks has to be said, and was not{_excerpt(received)}",
            "give a token, a user with a password, a client certificate, or the tenant that a Mimir wants",
            kind=StoreAccessError,
        )
    if received.status == _FORBIDDEN:
        return Failure(
            f"{said}: {shown} may not read here{_excerpt(received)}",
            "its account lacks the right",
            kind=StoreAccessError,
        )
    return Failure(f"{said}: {shown} was refused{_excerpt(received)}", "has it expired", kind=StoreAccessError)


def _refusing_envelope(received: Received) -> Envelope | None:
    try:
        envelope = envelope_of(received.body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return envelope if envelope.status == "error" else None


def _excerpt(received: Received) -> str:
    """The begin of a text; of a page nothing, since nothing of it is meant for this place."""
    if received.is_page:
        return ""
    text = received.shown(received.body.decode("utf-8", "replace"), _SHOWN)
    return f": {text}" if text else ""
