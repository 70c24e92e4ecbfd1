"""A client of one store, for PromQL and its index: bounded, measured, and with errors that say what to do."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Final, Self

from prometheus_api_client.prometheus_connect import PrometheusConnect

from advisor.errors import StoreAnswerError
from advisor.sources.prometheus.address import Address
from advisor.sources.prometheus.answers import Result, joined
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.buildinfo import BuildInfo, recognised
from advisor.sources.prometheus.cost import Cost, Ledger, about
from advisor.sources.prometheus.credentials import Credentials
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.promql import label_in_path
from advisor.sources.prometheus.ranges import Chunk, aligned, gather
from advisor.sources.prometheus.session import PrometheusSession
from advisor.sources.prometheus.sigv4 import Signer
from advisor.sources.prometheus.tls import Trust
from advisor.sources.prometheus.transport import Transport
from advisor.sources.scraping import Clock

__all__ = ["PrometheusClient", "Query", "Result"]

_INDEX: Final = "the index of series"
_ABSENT: Final = frozenset({404, 405, 501})
_SERVER_SHARE: Final = 0.9
"""Of the time that we wait, what the store may compute: it should give up before we do, and say so."""


@dataclass(frozen=True, slots=True)
class Query:
    """``text`` in PromQL, and in ``purpose`` why it is asked, in words that fit behind "for"."""

    text: str
    purpose: str


class PrometheusClient:
    """Asks a Prometheus, a Thanos, a Mimir, a Cortex or a VictoriaMetrics.

    Any number of threads may use it. It is a context manager; :meth:`close` ends what is under way.

    Args:
        url: the store, up to the path before ``/api/v1``; a user in it is used and shown nowhere.
        access: how to get in.
        limits: bounds of time, size and number of requests.
        clock: both clocks and the way to wait.
        random: spreads the pauses between attempts.
        signer: signs for AWS, in place of one made from ``access``.

    Raises:
        SettingsError: the URL is none, or the ways in exclude each other.
        InputNotFoundError: the CA file cannot be used.
        StoreAccessError: the client certificate cannot be used.

    All methods that ask raise StoreError: :class:`~advisor.errors.StoreUnreachableError`, ``StoreAccessError``,
    ``StoreAnswerError``, ``StoreQueryError`` or, when no more requests may be made, ``StoreBudgetError``.
    """

    def __init__(
        self,
        url: str,
        access: Access | None = None,
        limits: Limits | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        signer: Signer | None = None,
    ) -> None:
        address = Address.parse(url)
        access = (access or Access()).with_user_of(address)
        clock = clock or Clock()
        self._limits = limits or Limits()
        self._ledger = Ledger(self._limits.requests)
        self._base = address.url
        self._session = PrometheusSession(
            address.url,
            Credentials(access, clock, signer),
            Transport(Trust(access), self._limits),
            self._ledger,
            self._limits,
            clock,
            random or Random(),  # noqa: S311 - nothing has to be unguessable
        )
        self._connect = PrometheusConnect(url=address.url, session=self._session)

    @property
    def name(self) -> str:
        """The store's address without credentials."""
        return self._base

    @property
    def in_flight(self) -> int:
        """How many requests are under way at a time, at most."""
        return self._limits.in_flight

    @property
    def costs(self) -> list[Cost]:
        """Costs of all requests, in the order in which they ended."""
        return list(self._ledger.costs)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings and infos of the store, each once, in the order in which they first came."""
        return self._ledger.warnings

    @property
    def budget(self) -> int:
        """How many requests may be made; attempts and redirects count."""
        return self._ledger.budget

    def instant(self, query: Query, at: float) -> Result:
        """The value of a query at a time in Unix seconds; of a range selector, the samples as they were scraped."""
        with about(query.purpose):
            answer: Result = self._connect.custom_query(query.text, params={"time": f"{at:.3f}", **self._timeout()})
        return answer

    def range(self, query: Query, start: float, end: float, step: float) -> Result:
        """The value of a query at all multiples of ``step`` from ``start`` to ``end``, all in seconds.

        More times than a store answers at once are asked for in several requests, what is too much for it in halves.

        Raises:
            ValueError: the step is shorter than a millisecond, or the end is before the start.
        """
        whole = aligned(start, end, step)
        limits = self._limits
        try:
            results = gather(
                whole, limits.points, limits.halvings, limits.in_flight, lambda chunk: self._chunk(query, chunk)
            )
        except KeyboardInterrupt:
            # What other threads wait for would keep the program alive.
            self.close()
            raise
        return joined(results)

    def label_values(self, label: str, matchers: Sequence[str], start: float, end: float) -> tuple[str, ...]:
        """Values of a label in series that match one of the selectors, any series if there is none."""
        params = {"match[]": list(matchers), "start": f"{start:.3f}", "end": f"{end:.3f}"}
        with about(_INDEX):
            return tuple(self._connect.get_label_values(label_in_path(label), params=params))

    def series(self, matchers: Sequence[str], start: float, end: float) -> tuple[dict[str, str], ...]:
        """Label sets of series that match one of the selectors and have samples in the time.

        No more than the limit are given; that there are more is then among the warnings.
        """
        most = self._limits.series
        params = {"match[]": list(matchers), "limit": most}
        with about(_INDEX):
            found = self._connect.get_series(_moment(start), _moment(end), params=params)
        if len(found) > most:
            self._ledger.warn((f"there are more than {most} series; the others were left out",))
        return tuple(found[:most])

    def build_info(self) -> BuildInfo | None:
        """Which store it is; None where it does not say."""
        try:
            with about("kind and version of the store"):
                answer = self._session.request("GET", f"{self._base}/api/v1/status/buildinfo")
        except StoreAnswerError as error:
            if error.status in _ABSENT:
                return None
            raise
        return recognised(answer.json()["data"])

    def close(self) -> None:
        """End what is under way, in any thread, and close all connections; nothing can be asked any more."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _chunk(self, query: Query, chunk: Chunk) -> Result:
        begin, end = _moment(chunk.start), _moment(chunk.end)
        # The library rounds times to whole seconds; parameters of our own go before its own.
        exact = {"start": f"{chunk.start:.3f}", "end": f"{chunk.end:.3f}", **self._timeout()}
        with about(query.purpose):
            answer: Result = self._connect.custom_query_range(query.text, begin, end, f"{chunk.step:.3f}", params=exact)
        return answer

    def _timeout(self) -> dict[str, str]:
        seconds = min(self._limits.silence_seconds, self._limits.attempt_seconds) * _SERVER_SHARE
        return {"timeout": f"{seconds:.3f}"}


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
