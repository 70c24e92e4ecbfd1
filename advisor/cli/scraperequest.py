"""What the options of scraping ask for; apart from the options, so that others start without it."""

from dataclasses import dataclass
from pathlib import Path

import click

from advisor.sources.endpoint import Access, Endpoint, ScrapeFailedError, meant_url, tls_context
from advisor.sources.scraping import Plan, distinct

__all__ = ["ScrapeRequest", "access_of", "request_of"]

_DEFAULT_SECONDS = 300.0
_DEFAULT_INTERVAL = 2.0


@dataclass(frozen=True, slots=True)
class ScrapeRequest:
    """What to scrape, how, how long and how often."""

    endpoints: tuple[Endpoint, ...]
    access: Access
    plan: Plan


def request_of(
    *,
    urls: tuple[str, ...],
    seconds: float | None,
    interval: float | None,
    headers: tuple[str, ...],
    bearer_token_file: Path | None,
    ca_file: Path | None,
    insecure: bool,
) -> ScrapeRequest:
    """The request that the options make.

    Raises:
        UsageError: they make none.
    """
    try:
        endpoints = distinct([_endpoint(url) for url in urls])
    except ValueError as error:
        raise click.UsageError(f"--scrape: {error}.") from None
    try:
        plan = Plan(seconds or _DEFAULT_SECONDS, interval or _DEFAULT_INTERVAL)
    except ValueError as error:
        raise click.UsageError(f"--for and --interval: {error}.") from None
    access = access_of(headers=headers, bearer_token_file=bearer_token_file, ca_file=ca_file, insecure=insecure)
    return ScrapeRequest(endpoints, access, plan)


def access_of(
    *, headers: tuple[str, ...], bearer_token_file: Path | None, ca_file: Path | None, insecure: bool
) -> Access:
    """What the options say of how to get in.

    Raises:
        UsageError: a header is none, or the token cannot be read.
        InputNotFoundError: the file of authorities cannot be read.
    """
    try:
        given_headers = dict(map(Access.header, headers))
    except ValueError as error:
        raise click.UsageError(f"--header: {error}.") from None
    access = Access(given_headers, bearer_token_file, tls_context(ca_file, insecure=insecure))
    try:
        access.all_headers()
    except ScrapeFailedError as error:
        raise click.UsageError(f"--bearer-token-file: {error}.") from None
    return access


def _endpoint(url: str) -> Endpoint:
    try:
        return Endpoint.parse(url)
    except ValueError as error:
        meant = meant_url(url)
        raise ValueError(f"{url}: {error}{meant and '; '}{meant}") from None
