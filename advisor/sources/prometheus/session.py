"""The one seam between the client library and the network.

prometheus-api-client sends the query in the URL, repeats no POST, waits for ever, drops warnings, and takes whatever
comes for data. Here each request becomes a form, with bounds of time and size; its answer is checked, measured and
decoded before the library sees it.
"""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
import requests

from advisor.errors import StoreUnreachableError
from advisor.sources.prometheus.address import redirected
from advisor.sources.prometheus.answers import Result
from advisor.sources.prometheus.body import read_body
from advisor.sources.prometheus.cost import Ledger, Meter, purpose
from advisor.sources.prometheus.credentials import Credentials
from advisor.sources.prometheus.deadline import DEADLINE, Deadline
from advisor.sources.prometheus.envelope import data_of, envelope_of
from advisor.sources.prometheus.failures import EXPECTED, BodyError, Failure, failure_of
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.retries import Retries, retry_after_seconds
from advisor.sources.prometheus.transport import Transport
from advisor.sources.prometheus.verdict import OK, Received, reading_failure, refusal, verdict
from advisor.sources.scraping import Clock

__all__ = ["Answer", "PrometheusSession"]

_POSTED: Final = frozenset({"/api/v1/query", "/api/v1/query_range", "/api/v1/series", "/api/v1/labels"})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
_MOST_REDIRECTS: Final = 3
_NO_POST: Final = 405
_UNAUTHORISED: Final = 401
_FORBIDDEN: Final = 403
_ERROR_BYTES: Final = 1 << 16
_HEADERS: Final = {
    "Accept": "application/json",
    "Accept-Encoding": "gzip",
    "User-Agent": "kuberay-advisor",
}
_FORM: Final = "application/x-www-form-urlencoded"


class Answer(requests.Response):
    """A checked answer, which the library takes for one of requests."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401 - by path
        super().__init__()
        self.status_code = OK
        self._data = data

    def json(self, **kwargs: Any) -> Any:  # noqa: ANN401, ARG002 - as the base class has it
        """``status`` and the decoded ``data``; ``result`` of a query is a :class:`Result`."""
        return {"status": "success", "data": self._data}


@dataclass(frozen=True, slots=True)
class _Call:
    """One request of the library: the path below the base, the URL without and the parameters with form encoding."""

    path: str
    url: str
    form: str

    def target(self, method: str) -> tuple[str, bytes | None]:
        """URL and body."""
        if method == "POST":
            return self.url, self.form.encode()
        return (f"{self.url}?{self.form}" if self.form else self.url), None


class PrometheusSession(requests.Session):
    """Asks one store.

    Args:
        base: the address of the store, without a user.
        credentials: what lets us in.
        transport: connections.
        ledger: takes costs and warnings, and has the budget.
        limits: bounds of time, size and number.
        clock: both clocks and the way to wait.
        random: spreads the pauses.
    """

    def __init__(
        self,
        base: str,
        credentials: Credentials,
        transport: Transport,
        ledger: Ledger,
        limits: Limits,
        clock: Clock,
        random: Random,
    ) -> None:
        super().__init__()
        self._base = base
        self._credentials = credentials
        self._transport = transport
        self._ledger = ledger
        self._limits = limits
        self._clock = clock
        self._random = random
        self._got: set[str] = set()
        self._places = threading.BoundedSemaphore(limits.in_flight)
        self._stop = threading.Event()
        self._running: set[Deadline] = set()
        self._lock = threading.Lock()

    def request(self, method: Any, url: Any, params: Any = None, *_: Any, **__: Any) -> Answer:  # noqa: ANN401 - what else the library says is settled here
        """The checked answer to one request.

        Raises:
            StoreError: there is none.
            SettingsError: signing is not possible.
        """
        path = str(url).removeprefix(self._base)
        form = urlencode({name: value for name, value in (params or {}).items() if value is not None}, doseq=True)
        call = _Call(path, self._base + path, form)
        meter = Meter(path, str(method))
        with self._ledger.measuring(meter):
            return self._answer(str(method), call, meter)

    def close(self) -> None:
        """End what is under way, in whatever thread, and close all connections."""
        self._stop.set()
        with self._lock:
            running = list(self._running)
        for deadline in running:
            deadline.end()
        self._transport.close()
        super().close()

    def _method(self, method: str, call: _Call) -> str:
        if call.path not in _POSTED:
            return method
        return "GET" if call.path in self._got else "POST"

    def _answer(self, method: str, call: _Call, meter: Meter) -> Answer:
        retries = Retries(self._limits, self._clock, self._random)
        renewed = False
        while True:
            meter.method = self._method(method, call)
            outcome = self._attempt(call, meter, retries.left_seconds)
            if isinstance(outcome, Received):
                if outcome.status == _NO_POST and outcome.method == "POST":
                    self._got.add(call.path)
                    continue
                if self._may_renew(outcome) and not renewed:
                    renewed = True
                    if self._credentials.renewed(outcome.sent):
                        continue
            judged = self._judged(outcome, call, meter) if isinstance(outcome, Received) else outcome
            if isinstance(judged, Answer):
                return judged
            self._wait(judged, call, retries, meter)

    def _wait(self, failure: Failure, call: _Call, retries: Retries, meter: Meter) -> None:
        """Wait until it makes sense to ask again.

        Raises:
            StoreError: it never does.
        """
        attempts = retries.attempts
        pause = retries.pause_seconds(failure)
        if not self._stop.is_set():
            if pause is None:
                raise failure.error(call.url, attempts)
            begin = self._clock.monotonic()
            self._clock.pause(self._stop, pause)
            meter.pause_seconds += self._clock.monotonic() - begin
        if self._stop.is_set():
            raise StoreUnreachableError("the client was closed", where=call.url)

    def _may_renew(self, received: Received) -> bool:
        return received.status == _UNAUTHORISED or (received.status == _FORBIDDEN and self._credentials.signs)

    def _attempt(self, call: _Call, meter: Meter, left_seconds: float) -> Received | Failure:
        self._credentials.prepare()
        with self._places, self._deadline(left_seconds) as deadline:
            try:
                return self._exchange(call, meter)
            except EXPECTED as error:
                failure = failure_of(error, deadline, self._limits.connect_seconds)
        # Returned, and raised later where it has to be: those exceptions hold requests with all their headers.
        return failure

    @contextmanager
    def _deadline(self, left_seconds: float) -> Iterator[Deadline]:
        """The deadline of what this thread asks while inside."""
        seconds = min(self._limits.attempt_seconds, left_seconds)
        deadline = Deadline(self._clock, seconds, self._limits.silence_seconds)
        token = DEADLINE.set(deadline)
        with self._lock:
            self._running.add(deadline)
        if self._stop.is_set():
            deadline.end()
        try:
            yield deadline
        finally:
            with self._lock:
                self._running.discard(deadline)
            DEADLINE.reset(token)

    def _exchange(self, call: _Call, meter: Meter) -> Received:
        """The answer behind all redirects.

        Raises:
            one of ``EXPECTED``: there is none.
        """
        method = asked = meter.method
        url, body = call.target(method)
        for _ in range(_MOST_REDIRECTS + 1):
            self._ledger.spend(call.url)
            meter.attempts += 1
            request = requests.Request(method, url, data=body, headers=_HEADERS).prepare()
            if body is not None:
                request.headers["Content-Type"] = _FORM
            sent = self._credentials.headers(method, str(request.url), body)
            request.headers.update(sent.headers)
            begin = self._clock.monotonic()
            try:
                response = self._transport.send(request)
            finally:
                meter.wait_seconds += self._clock.monotonic() - begin
            with closing(response):
                location = response.headers.get("Location")
                if response.status_code not in _REDIRECTS or location is None:
                    read = self._read(response, meter)
                    head = (asked, response.status_code, response.reason or "", response.headers)
                    return Received(*head, read, sent, self._credentials.redacted)
                if response.status_code == _SEE_OTHER:
                    method, body = "GET", None
                url = self._followed(url, location)
        raise BodyError("too many redirects")

    def _followed(self, url: str, location: str) -> str:
        target = redirected(url, location)
        if target.startswith("https:") and url.startswith("http:") and self._credentials.description:
            secure = target.partition("/api/v1")[0]
            self._ledger.warn(
                (f"{self._base} leads to {secure}: give that address, so that nothing is sent in the clear",)
            )
        return target

    def _read(self, response: requests.Response, meter: Meter) -> bytearray:
        succeeded = response.status_code == OK
        most = self._limits.body_bytes if succeeded else _ERROR_BYTES
        return read_body(response, most, meter, self._clock.monotonic, cut=not succeeded)

    def _judged(self, received: Received, call: _Call, meter: Meter) -> Answer | Failure:
        outcome = verdict(received, purpose(), self._credentials.description) or self._decoded(received, call, meter)
        if isinstance(outcome, Answer):
            return outcome
        retry_after = retry_after_seconds(received.headers.get("Retry-After"), self._clock.wall())
        return replace(outcome, retry_after=retry_after)

    def _decoded(self, received: Received, call: _Call, meter: Meter) -> Answer | Failure:
        begin = self._clock.monotonic()
        try:
            return self._read_answer(received, call, meter)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            return reading_failure(error, received)
        finally:
            meter.parse_seconds += self._clock.monotonic() - begin

    def _read_answer(self, received: Received, call: _Call, meter: Meter) -> Answer | Failure:
        """The data of an answer.

        Raises:
            DecodeError, ValueError or RecursionError: it is not as the API has it.
        """
        envelope = envelope_of(received.body)
        if envelope.status == "error":
            return refusal(envelope, received, purpose())
        if envelope.status != "success":
            raise ValueError(f"its status is {envelope.status!r}")
        remarks = envelope.remarks()
        self._ledger.warn(map(received.shown, remarks))
        data = data_of(call.path, envelope)
        result = data.get("result") if isinstance(data, dict) else None
        if isinstance(result, Result):
            meter.series, meter.samples = len(result.series) + len(result.histograms), result.samples
        else:
            meter.series = len(data)
        return Answer(data)
