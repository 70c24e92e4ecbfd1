"""The option of commands that read from a sidecar, as one argument of the command."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from advisor.sources.endpoint import Access, Endpoint

__all__ = ["SidecarRequest", "sidecar_options"]

_Command = Callable[..., object]
_SHARED = ("headers", "bearer_token_file", "ca_file", "insecure")
"""Options that scraping has as well."""
_OPTION = click.option(
    "--sidecar", "sidecar_url", metavar="URL", help="A kuberay-advisor sidecar: the last minutes, with log and objects."
)


@dataclass(frozen=True, slots=True)
class SidecarRequest:
    """Where a sidecar is, and how to get in."""

    sidecar: "Endpoint"
    access: "Access"


def sidecar_options(command: _Command) -> _Command:
    """An option that becomes the argument ``sidecar``, None where it is not given.

    ``command`` takes the options of scraping as well; those that both have go to whichever is used.
    """

    @functools.wraps(command)
    def with_request(sidecar_url: str | None, **arguments: Any) -> object:  # noqa: ANN401 - whatever the command has
        return command(sidecar=None if sidecar_url is None else _request(sidecar_url, arguments), **arguments)

    wrapped: _Command = with_request
    return _OPTION(wrapped)


def _request(url: str, others: dict[str, Any]) -> SidecarRequest:
    """The request that the options make; options that scraping shares are taken out of ``others``.

    Raises:
        UsageError: they make none.
    """
    from advisor.cli.scraperequest import access_of
    from advisor.sources.sidecar import address

    shared = {name: others[name] for name in _SHARED}
    others.update(dict.fromkeys(_SHARED), headers=())
    try:
        sidecar = address(url)
    except ValueError as error:
        raise click.UsageError(f"--sidecar: {url}: {error}.") from None
    return SidecarRequest(sidecar, access_of(**shared))
