"""What the sidecar serves: its metrics, its health, and what it holds for an advisor.

================================  ======================================================================
``/metrics``                      what it tells, as Prometheus text or OpenMetrics
``/healthz``                      200 while the process itself works, whatever the operator does
``/readyz``                       200 once there is anything to tell
``/v1/recording/metrics.om``      the last minutes of scrapes, OpenMetrics with a time on each sample
``/v1/recording/log.jsonl``       records of the operator's log, a JSON object a line
``/v1/recording/objects.jsonl``   changes of objects, likewise
``/v1/recording/setup.json``      what is known beside: version, arguments, time range
================================  ======================================================================
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import msgspec
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from advisor.model.raw import LogRecord, ObjectChange, Series, Setup
from advisor.sidecar.boundedserver import PLAIN_TYPE, Answer, BoundedServer, Request
from advisor.sources.expositiontext import OPENMETRICS_TYPE
from advisor.sources.openmetricswriter import series_lines
from advisor.sources.sidecar import JSON_LINES, JSON_OBJECT, LOG, METRICS, OBJECTS, RECORDING, SETUP

__all__ = ["Held", "Server", "Telling"]

_MOST_RECORDINGS: Final = 2
"""Made at a time: each takes a copy of the ring."""
_PATIENCE_SECONDS: Final = 2.0


def _nothing() -> tuple[()]:
    return ()


def _unknown() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Who tells what is held for an advisor; each is called in the thread of the request that asks for it.

    Attributes:
        series: the last minutes of scrapes.
        log: records of the log, in order.
        changes: changes of objects, in order of time.
        setup: version, arguments and time range, as far as known.
        interval_seconds: from one scrape to the next.
    """

    series: Callable[[], Iterable[Series]] = _nothing
    log: Callable[[], Iterable[LogRecord]] = _nothing
    changes: Callable[[], Iterable[ObjectChange]] = _nothing
    setup: Callable[[], Setup] = Setup
    interval_seconds: Callable[[], float | None] = _unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Everything that is served.

    Attributes:
        registry: of ``/metrics``.
        held: of the recording.
        is_alive: whether the process works.
        is_ready: whether there is anything to tell.
    """

    registry: Collector
    held: Held
    is_alive: Callable[[], bool]
    is_ready: Callable[[], bool]


class Server:
    """A component that serves until it is told to stop; it listens from its construction on.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        telling: what to serve.

    Raises:
        OutputError: the address is taken or not this machine's.
    """

    name = "server"

    def __init__(self, host: str, port: int, telling: Telling) -> None:
        self._telling = telling
        self._collecting = threading.Lock()
        self._recordings = threading.BoundedSemaphore(_MOST_RECORDINGS)
        held = telling.held
        self._server = BoundedServer(
            host,
            port,
            {
                "/": self._index,
                "/metrics": self._metrics,
                "/healthz": _state(telling.is_alive),
                "/readyz": _state(telling.is_ready),
                RECORDING + METRICS: self._recording(lambda: _text(series_lines(held.series())), OPENMETRICS_TYPE),
                RECORDING + LOG: self._recording(lambda: _json_lines(held.log()), JSON_LINES),
                RECORDING + OBJECTS: self._recording(lambda: _json_lines(held.changes()), JSON_LINES),
                RECORDING + SETUP: lambda request: request.body(_setup(held), JSON_OBJECT),
            },
        )

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.port

    def run(self, stop: threading.Event) -> None:
        """Serve until it is time to stop."""
        self._server.serve(stop)

    def health(self) -> str:
        """Nothing that it could tell is ever wrong with it."""
        return ""

    def counters(self) -> Mapping[str, float]:
        """Requests served, refused since too many came at once, and failed by a fault of ours."""
        server = self._server
        return {
            "requests_served": server.served,
            "requests_refused": server.refused,
            "requests_failed": server.failed,
        }

    def _index(self, request: Request) -> None:
        paths = "".join(f"{path}\n" for path in self._server.answers)
        request.body(f"kuberay-advisor sidecar\n\n{paths}".encode(), PLAIN_TYPE)

    def _metrics(self, request: Request) -> None:
        encode, kind = choose_encoder(request.header("Accept"))
        # One after the other: whoever asks more often than that waits, and takes no CPU meanwhile.
        with self._collecting:
            body = encode(self._telling.registry)
        request.body(body, kind)

    def _recording(self, pieces: Callable[[], Iterator[bytes]], kind: str) -> Answer:
        def answer(request: Request) -> None:
            if not self._recordings.acquire(timeout=_PATIENCE_SECONDS):
                request.body(b"busy\n", PLAIN_TYPE, HTTPStatus.SERVICE_UNAVAILABLE)
                return
            try:
                request.stream(pieces(), kind)
            finally:
                self._recordings.release()

        return answer


def _state(holds: Callable[[], bool]) -> Answer:
    def answer(request: Request) -> None:
        if holds():
            request.body(b"ok\n", PLAIN_TYPE)
        else:
            request.body(b"not yet\n", PLAIN_TYPE, HTTPStatus.SERVICE_UNAVAILABLE)

    return answer


def _text(lines: Iterable[str]) -> Iterator[bytes]:
    for line in lines:
        yield f"{line}\n".encode()


def _json_lines(records: Iterable[LogRecord | ObjectChange]) -> Iterator[bytes]:
    encoder = msgspec.json.Encoder()
    for record in records:
        yield encoder.encode(record) + b"\n"


def _setup(held: Held) -> bytes:
    known = msgspec.to_builtins(held.setup())
    return msgspec.json.encode({**known, "scrape_interval_seconds": held.interval_seconds()}) + b"\n"
