"""The options of commands that read from a Prometheus-compatible store, as one argument of the command."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.durations import Duration

if TYPE_CHECKING:
    from advisor.cli.prometheusrequest import PrometheusRequest

__all__ = ["prometheus_options"]

_Command = Callable[..., object]
_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


class _Time(click.ParamType[float]):
    """Unix seconds of a time."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Unix seconds; a time without a zone is UTC."""
        from advisor.cli.prometheusrequest import time_of

        try:
            return time_of(str(value))
        except ValueError:
            self.fail(f"{value!r} is no time such as 2026-11-30T03:00:00Z, nor Unix seconds", param, ctx)


_OWN = {
    "last": "--last",
    "until": "--until",
    "cluster": "--cluster",
    "cluster_label": "--cluster-label",
    "namespace": "--namespace",
    "job": "--job",
    "matchers": "--match",
    "user": "--user",
    "password_file": "--password-file",
    "token_command": "--token-command",
    "tenant": "--tenant",
    "client_cert": "--client-cert",
    "client_key": "--client-key",
    "sigv4_region": "--sigv4-region",
}
_SHARED = ("headers", "bearer_token_file", "ca_file", "insecure")
"""Options that scraping has as well."""

_OPTIONS = (
    click.option("--prometheus", "url", metavar="URL", help="A Prometheus, Thanos, Mimir or VictoriaMetrics."),
    click.option("--last", type=Duration(), metavar="DURATION", help="Time to look at.  [default: 6h]"),
    click.option(
        "--until", type=_Time(), metavar="TIME", help="Its end, such as 2026-11-30T03:00:00Z.  [default: now]"
    ),
    click.option("--cluster", metavar="NAME", help="Of several clusters in the store, this one."),
    click.option("--cluster-label", metavar="LABEL", help="The label that tells clusters apart, where it is unusual."),
    click.option("--namespace", metavar="NAME", help="The namespace of the operator."),
    click.option("--job", metavar="NAME", help="The scrape job of the operator."),
    click.option(
        "--match", "matchers", multiple=True, metavar="MATCHER", help='A further matcher, such as env="prod".'
    ),
    click.option("--user", metavar="NAME", help="Basic authentication."),
    click.option("--password-file", type=_FILE, metavar="FILE", help="Holds the password of --user."),
    click.option("--token-command", metavar="'COMMAND'", help="Prints a bearer token; run anew when it is refused."),
    click.option("--tenant", metavar="ID", help="The tenant of a Mimir or Cortex (X-Scope-OrgID)."),
    click.option("--client-cert", type=_FILE, metavar="FILE", help="A client certificate, as PEM."),
    click.option("--client-key", type=_FILE, metavar="FILE", help="Its key, if it is in a file of its own."),
    click.option("--sigv4-region", metavar="REGION", help="Sign requests for AWS; needs kuberay-advisor[aws]."),
)


def prometheus_options(command: _Command) -> _Command:
    """Options that become the argument ``prometheus``, None where no ``--prometheus`` is given.

    ``command`` takes the options of scraping as well; those that both have go to whichever is used.
    """

    @functools.wraps(command)
    def with_request(**arguments: Any) -> object:  # noqa: ANN401 - whatever options the command has
        given = {name: arguments.pop(name) for name in ("url", *_OWN)}
        return command(prometheus=_request(given, arguments), **arguments)

    wrapped: _Command = with_request
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _request(given: dict[str, Any], others: dict[str, Any]) -> "PrometheusRequest | None":
    """The request that the options make; options that scraping shares are taken out of ``others``.

    Raises:
        UsageError: they contradict each other, or one cannot be.
    """
    if given["url"] is None:
        stray = next((option for name, option in _OWN.items() if given[name]), None)
        if stray is not None:
            raise click.UsageError(f"{stray} belongs to --prometheus URL.")
        return None
    for name in _SHARED:
        given[name] = others[name]
        others[name] = () if name == "headers" else None
    from advisor.cli.prometheusrequest import request_of

    return request_of(given)
