"""What somebody states about the operator beside what is read, as one argument of the command."""

import functools
import shlex
from collections.abc import Callable
from typing import Any

import click

from advisor.model.raw import Setup
from advisor.sources.profiles import AUTO

__all__ = ["profile_option", "told_options"]

_Command = Callable[..., object]

profile_option = click.option(
    "--profile",
    default=AUTO,
    show_default=True,
    metavar="NAME|FILE",
    help="What kind of operator it is: see the command profiles; auto tells it by what is seen.",
)
_OPTIONS = (
    click.option("--version", metavar="VERSION", help="The operator's version, for example 1.7.0."),
    click.option("--args", default="", metavar="'ARGS'", help="The operator's command line, quoted as for a shell."),
    profile_option,
)


def told_options(command: _Command) -> _Command:
    """Options that become the argument ``told``."""

    @functools.wraps(command)
    def with_told(version: str | None, args: str, profile: str, **others: Any) -> object:  # noqa: ANN401 - whatever the command has
        try:
            words = tuple(shlex.split(args))
        except ValueError as error:
            raise click.UsageError(f"--args: {error}.") from None
        return command(told=Setup(version=version, args=words, profile=None if profile == AUTO else profile), **others)

    wrapped: _Command = with_told
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
