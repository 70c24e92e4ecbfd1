"""Sends notices to a webhook, as JSON or as Slack and its like take them, in a thread of its own.

The URL is a secret: it is read from its file for each notice, and no error or log shows anything of it.
"""

import io
import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from advisor.report.markup import printable
from advisor.sources.endpoint import tls_context
from advisor.sources.scraping import Clock
from advisor.sources.timedreader import TimedReader
from advisor.web.config import Notify
from advisor.web.notify import Notice, NoticeKind

__all__ = ["SCHEMA", "Webhook", "WebhookFigures", "WebhookSettings", "json_body", "slack_body", "webhooks_of"]

SCHEMA: Final = "kuberay-advisor/notices/v1"
_LOG: Final = logging.getLogger(__name__)
_MOST_WAITING: Final = 200
_MOST_SLACK_NOTICES: Final = 20
_LONGEST_SLACK_TEXT: Final = 600
_LARGEST_URL_BYTES: Final = 8192
_URL: Final = re.compile(r"[!-~]+")
_SUCCESS: Final = range(200, 300)
_AGAIN: Final = frozenset({408, 425, 429, *range(500, 600)})
_NO_DIGITS: Final = re.compile(r"\D")

Body = Callable[[Sequence[Notice]], bytes]
"""Makes the body of one request of some notices."""


def json_body(notices: Sequence[Notice]) -> bytes:
    """``{"schema": ..., "notices": [...]}``, each with the fields of `Notice`."""
    return msgspec.json.encode({"schema": SCHEMA, "notices": notices})


def slack_body(notices: Sequence[Notice]) -> bytes:
    """One message for all of them, a line or two each; nothing in it is taken for a mention, link or format."""
    lines = [_slack_text(one) for one in notices[:_MOST_SLACK_NOTICES]]
    if len(notices) > _MOST_SLACK_NOTICES:
        lines.append(f"and {len(notices) - _MOST_SLACK_NOTICES} more")
    return msgspec.json.encode({"text": "\n".join(lines), "mrkdwn": False})


def _slack_text(notice: Notice) -> str:
    if notice.kind is NoticeKind.RESOLVED:
        return f"RESOLVED {_escaped(notice.operator)}: {_escaped(notice.title)} ({notice.code.value})"
    first = f"{notice.severity.value.upper()} {_escaped(notice.operator)}: {_escaped(notice.title)}"
    return f"{first} ({notice.code.value})\n{_escaped(notice.summary)}"


def _escaped(text: str) -> str:
    """Text as Slack's API wants it: what begins a link or a mention is written out."""
    plain = " ".join(printable(text).split())
    if len(plain) > _LONGEST_SLACK_TEXT:
        plain = f"{plain[: _LONGEST_SLACK_TEXT - 3]}..."
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """One webhook.

    Attributes:
        name: what figures and logs call it.
        url_file: holds its URL on one line.
        body: makes what is sent.
        timeout_seconds: for one request, whatever its steps take.
        attempts: requests for one batch of notices, at most.
        first_pause_seconds: after a request that failed; each pause is twice the one before.
        longest_pause_seconds: also where the other side asks for more.
    """

    name: str
    url_file: Path
    body: Body = json_body
    timeout_seconds: float = 10.0
    attempts: int = 5
    first_pause_seconds: float = 1.0
    longest_pause_seconds: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookFigures:
    """How it goes.

    Attributes:
        sent: notices that arrived.
        lost: notices that were given up, or for which there was no room.
        waiting: notices that wait for their turn.
        failed_requests: requests that failed, also those that succeeded at another attempt.
        last_error: why the last request failed; "" where it did not.
        last_sent: Unix time at which the last notice arrived; None before the first.
    """

    sent: int = 0
    lost: int = 0
    waiting: int = 0
    failed_requests: int = 0
    last_error: str = ""
    last_sent: float | None = None


def webhooks_of(notify: Notify) -> tuple[WebhookSettings, ...]:
    """The webhooks that the configuration names."""
    named = (("webhook", notify.webhook_url_file, json_body), ("slack", notify.slack_url_file, slack_body))
    return tuple(WebhookSettings(name=name, url_file=file, body=body) for name, file, body in named if file is not None)


class _RequestFailedError(Exception):
    """A request failed; the message shows nothing of the URL."""

    def __init__(self, message: str, *, is_final: bool = False, pause_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.is_final = is_final
        self.pause_seconds = pause_seconds


class Webhook:
    """Sends notices one batch after the other.

    Args:
        settings: where and how.
        random: numbers from 0 to 1, to spread the pauses.
        clock: the time, and how to wait.
    """

    def __init__(self, settings: WebhookSettings, random: Callable[[], float], clock: Clock | None = None) -> None:
        self._settings = settings
        self._random = random
        self._clock = clock or Clock()
        self._lock = threading.Lock()
        self._waiting: deque[Notice] = deque()
        self._figures = WebhookFigures()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"webhook {settings.name}", daemon=True)

    @property
    def name(self) -> str:
        """What it is called."""
        return self._settings.name

    @property
    def figures(self) -> WebhookFigures:
        """How it goes, all as of one time."""
        with self._lock:
            return replace(self._figures, waiting=len(self._waiting))

    def start(self) -> None:
        """Begin to send what is given."""
        self._thread.start()

    def stop(self, seconds: float = 2.0) -> bool:
        """End within so many seconds; what is not sent by then is lost. Whether the thread has ended."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def rest(self) -> tuple[Notice, ...]:
        """Once it has stopped: what was not sent, for another webhook to send."""
        with self._lock:
            left = tuple(self._waiting)
            self._waiting.clear()
        return left

    def send(self, notices: Iterable[Notice]) -> None:
        """Give notices to be sent; never waits and never raises. Where too many wait, the oldest are lost."""
        with self._lock:
            self._waiting.extend(notices)
            lost = max(0, len(self._waiting) - _MOST_WAITING)
            for _ in range(lost):
                self._waiting.popleft()
            self._figures = replace(self._figures, lost=self._figures.lost + lost)
        self._wake.set()

    def _run(self) -> None:
        """The body of the thread."""
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                batch = tuple(self._waiting)
                self._waiting.clear()
            if batch:
                self._deliver(batch)

    def _deliver(self, batch: Sequence[Notice]) -> None:
        """Send one batch, several times where that may help; what becomes of it is counted."""
        pause = self._settings.first_pause_seconds
        for attempt in range(1, self._settings.attempts + 1):
            if self._stop.is_set():
                with self._lock:
                    self._waiting.extendleft(reversed(batch))
                return
            try:
                self._post(batch)
            except _RequestFailedError as error:
                is_last = error.is_final or attempt == self._settings.attempts
                self._count_failure(str(error), len(batch) if is_last else 0)
                if is_last:
                    return
                spread = pause * (0.5 + self._random())
                self._stop.wait(min(self._settings.longest_pause_seconds, max(spread, error.pause_seconds)))
                pause *= 2.0
            else:
                with self._lock:
                    self._figures = replace(
                        self._figures,
                        sent=self._figures.sent + len(batch),
                        last_error="",
                        last_sent=self._clock.wall(),
                    )
                return

    def _count_failure(self, error: str, lost: int) -> None:
        _LOG.warning("%s: %s%s", self.name, error, f"; {lost} notices are given up" if lost else "")
        with self._lock:
            failed = self._figures.failed_requests + 1
            self._figures = replace(
                self._figures, failed_requests=failed, last_error=error, lost=self._figures.lost + lost
            )

    def _post(self, batch: Sequence[Notice]) -> None:
        """One request.

        Raises:
            _RequestFailedError: it failed.
        """
        settings = self._settings
        target = _target(settings.url_file)
        try:
            status, wanted = _status_of(target, settings.body(batch), settings.timeout_seconds, self._clock)
        except TimeoutError:
            raise _RequestFailedError(f"no answer within {settings.timeout_seconds:g} s") from None
        except OSError as error:
            # Its number's text alone: a certificate's error holds the host.
            raise _RequestFailedError(f"no connection: {error.strerror or type(error).__name__}") from None
        except HTTPException as error:
            raise _RequestFailedError(f"no HTTP answer that can be read: {type(error).__name__}") from None
        except Exception as error:  # noqa: BLE001 - whatever it is, the scheduler goes on
            raise _RequestFailedError(f"a fault of this program: {type(error).__name__}", is_final=True) from None
        if status not in _SUCCESS:
            told = "; redirects are not followed" if status in range(300, 400) else ""
            raise _RequestFailedError(f"status {status}{told}", is_final=status not in _AGAIN, pause_seconds=wanted)


def _target(url_file: Path) -> SplitResult:
    """The URL in a file.

    Raises:
        _RequestFailedError: there is none.
    """
    try:
        with url_file.open("rb") as file:
            text = file.read(_LARGEST_URL_BYTES + 1).strip().decode("ascii", "replace")
    except OSError as error:
        raise _RequestFailedError(f"the file {url_file} cannot be read: {error.strerror}") from None
    if _URL.fullmatch(text) and len(text) <= _LARGEST_URL_BYTES:
        with suppress(ValueError):
            parts = urlsplit(text)
            if parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0:
                return parts
    raise _RequestFailedError(f"the file {url_file} holds no http or https URL on one line")


def _status_of(target: SplitResult, body: bytes, seconds: float, clock: Clock) -> tuple[int, float]:
    """The status of a POST, and after how many seconds the other side wants to be asked again.

    Raises:
        OSError: there is no connection; a TimeoutError where there is no answer in time.
        HTTPException: the answer cannot be read.
    """
    end = clock.monotonic() + seconds

    def left() -> float:
        remaining = end - clock.monotonic()
        if remaining <= 0.0:
            raise TimeoutError
        return remaining

    host = target.hostname or ""
    connection = (
        HTTPConnection(host, target.port, timeout=seconds)
        if target.scheme == "http"
        else HTTPSConnection(host, target.port, timeout=seconds, context=tls_context(None, insecure=False))
    )
    headers = {"Content-Type": "application/json", "User-Agent": "kuberay-advisor", "Connection": "close"}
    path = (target.path or "/") + (f"?{target.query}" if target.query else "")
    with closing(connection):
        connection.request("POST", path, body, headers)
        with HTTPResponse(connection.sock, method="POST") as response:
            # As for a scrape: the whole answer has to come in time, not only each piece of it.
            response.fp = io.BufferedReader(TimedReader(response.fp.detach(), connection.sock, left))
            response.begin()
            return response.status, _seconds(response.headers.get("Retry-After", ""))


def _seconds(text: str) -> float:
    """Seconds of a ``Retry-After``; dates are passed over, since clocks differ."""
    return 0.0 if not text or _NO_DIGITS.search(text) else float(text[:9])
