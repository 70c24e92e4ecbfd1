"""The options of commands that scrape, as one argument of the command."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.analysis.loading import Progress
from advisor.cli.durations import Duration

if TYPE_CHECKING:
    from advisor.cli.scraperequest import ScrapeRequest

__all__ = ["Announcer", "scrape_options"]

_BESIDE = {
    "seconds": "--for",
    "interval": "--interval",
    "headers": "--header",
    "bearer_token_file": "--bearer-token-file",
    "ca_file": "--ca-file",
    "insecure": "--insecure",
}

_Command = Callable[..., object]


class Announcer:
    """Tells on standard error how scraping goes: what is said once as lines, what holds now by ``progress``."""

    def __init__(self, progress: Progress) -> None:
        self.update = progress

    def say(self, text: str) -> None:
        """A line."""
        click.echo(text, err=True)


_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
_OPTIONS = (
    click.option(
        "--scrape", "urls", multiple=True, metavar="URL", help="The operator's /metrics; one option for each replica."
    ),
    click.option("--for", "seconds", type=Duration(), metavar="DURATION", help="How long to scrape.  [default: 5m]"),
    click.option("--interval", type=Duration(), metavar="DURATION", help="From one scrape to the next.  [default: 2s]"),
    click.option("--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header for each scrape."),
    click.option("--bearer-token-file", type=_FILE, metavar="FILE", help="Holds the token to scrape with."),
    click.option("--ca-file", type=_FILE, metavar="FILE", help="Certificates of the authorities to trust, as PEM."),
    click.option("--insecure", is_flag=True, help="Do not check the certificate."),
)


def scrape_options(command: _Command) -> _Command:
    """Options that become the argument ``scrape``, None where no ``--scrape`` is given."""

    @functools.wraps(command)
    def with_request(**arguments: Any) -> object:  # noqa: ANN401 - whatever options the command has
        given = {name: arguments.pop(name) for name in ("urls", *_BESIDE)}
        return command(scrape=_request(given), **arguments)

    wrapped: _Command = with_request
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _request(given: dict[str, Any]) -> "ScrapeRequest | None":
    """The request that the options make, None where they ask for no scraping.

    Raises:
        UsageError: they contradict each other, or one cannot be.
    """
    if not given["urls"]:
        stray = next((option for name, option in _BESIDE.items() if given[name]), None)
        if stray is not None:
            raise click.UsageError(f"{stray} belongs to --scrape URL.")
        return None
    from advisor.cli.scraperequest import request_of

    return request_of(**given)
