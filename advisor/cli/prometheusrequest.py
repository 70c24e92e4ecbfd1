"""What the options of a Prometheus ask for; apart from the options, so that others start without it."""

import datetime as dt
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import click

from advisor.analysis.fleetsources import store_spec
from advisor.errors import AdvisorError
from advisor.model.signal import Window
from advisor.report.queriestext import queries_text
from advisor.signals.names import SELECTION
from advisor.sources.fleetspec import PrometheusSpec
from advisor.sources.logtime import unix_seconds
from advisor.sources.profiles import chosen_profile
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operator, find_operators
from advisor.sources.prometheus.explain import planned_queries
from advisor.sources.prometheus.operators import Operator
from advisor.sources.prometheus.promql import Matcher
from advisor.sources.prometheus.source import USUAL_INTERVAL, PrometheusSource

__all__ = ["DEFAULT_SECONDS", "PrometheusRequest", "request_of", "time_of"]

DEFAULT_SECONDS = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class PrometheusRequest:
    """Which store, how to get in, where to look, and for which time."""

    url: str
    access: Access
    where: Where
    span: Window
    has_end: bool = False
    """Whether somebody named the end, which is now otherwise."""

    def looking_for(self, profile: str | None) -> "PrometheusRequest":
        """The same for operators of a profile, by its name or file.

        Raises:
            InputError: the file cannot be read.
            UnknownNameError: there is no profile of that name.
        """
        chosen = chosen_profile(profile)
        return self if chosen is None else replace(self, where=replace(self.where, profile=chosen.profile))

    def client(self) -> PrometheusClient:
        """A client of the store; nothing is asked yet."""
        return PrometheusClient(self.url, self.access)

    def operators(self, client: PrometheusClient) -> tuple[Operator, ...]:
        """All operators that are there."""
        return find_operators(client, self.where, self.span)

    def source(self, client: PrometheusClient, progress: Callable[[str], None]) -> PrometheusSource:
        """The one operator, as a source.

        Raises:
            InputError: the store does not answer as it should.
            NothingToAnalyseError: there is no operator.
            UnknownNameError: there are several.
        """
        progress("looking for the operator")
        return PrometheusSource(client, find_operator(client, self.where, self.span), self.span, progress)

    def spec(self) -> PrometheusSpec:
        """The store as a fleet file would name it."""
        until = self.span.end if self.has_end else None
        return store_spec(self.url, self.access, self.where, seconds=self.span.seconds, until=until)

    def explained(self) -> str:
        """The queries that a source of this makes, with what they cost; nothing is asked."""
        where = self.where
        operator = Operator(where.cluster, where.namespace, where.job, where.cluster_label, further=where.matchers)
        notes = (
            f"Assumed: one scrape in {USUAL_INTERVAL:.0f} s. Which operator it is, and its Pods, is asked first.",
            "[...]: the stretches in which most happened, known after the queries before.",
        )
        return queries_text(list(planned_queries(operator, SELECTION, self.span, USUAL_INTERVAL)), notes)


def request_of(given: Mapping[str, Any]) -> PrometheusRequest:
    """The request that the options make.

    Raises:
        UsageError: they make none.
    """
    until = time.time() if given["until"] is None else given["until"]
    where = Where(
        given["cluster"] or "",
        given["cluster_label"] or "",
        given["namespace"] or "",
        given["job"] or "",
        tuple(map(_matcher, given["matchers"])),
    )
    span = Window(until - (given["last"] or DEFAULT_SECONDS), until)
    return PrometheusRequest(given["url"], _access(given), where, span, has_end=given["until"] is not None)


def time_of(text: str) -> float:
    """Unix seconds of a time such as 2026-11-30T03:00:00Z, or of Unix seconds.

    Raises:
        ValueError: it is none.
    """
    try:
        return float(text)
    except ValueError:
        return unix_seconds(dt.datetime.fromisoformat(text))


def _matcher(text: str) -> Matcher:
    try:
        return Matcher.parse(text)
    except ValueError as error:
        raise click.UsageError(f"--match: {error}.") from None


def _access(given: Mapping[str, Any]) -> Access:
    try:
        return Access(
            bearer_token_file=given["bearer_token_file"],
            user=given["user"],
            password_file=given["password_file"],
            headers=dict(map(Access.header, given["headers"])),
            tenant=given["tenant"],
            token_command=tuple(shlex.split(given["token_command"] or "")),
            client_cert=given["client_cert"],
            client_key=given["client_key"],
            ca_file=given["ca_file"],
            insecure=given["insecure"],
            sigv4_region=given["sigv4_region"],
        )
    except (AdvisorError, ValueError) as error:
        raise click.UsageError(f"{error}.") from None
