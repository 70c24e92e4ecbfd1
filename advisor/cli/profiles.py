"""The command ``profiles``: which kinds of operators are known, and what is known of each."""

from typing import Literal

import click
import msgspec

from advisor.errors import UnknownNameError
from advisor.knowledge.profile import Profile
from advisor.knowledge.profiles import PROFILES
from advisor.report.profiletext import plain_profile
from advisor.sources.profiles import chosen_profile

__all__ = ["profiles"]


@click.command()
@click.argument("name", required=False, metavar="[NAME|FILE]")
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def profiles(name: str | None, output: Literal["text", "json"]) -> None:
    """Show what is known of a kind of operator: flags, defaults and their sources. Without NAME: list them.

    With --output json the profile is printed as a file that --profile takes, to begin one of your own from. A FILE is
    checked and shown likewise.
    """
    if name is None:
        _list(output)
        return
    chosen = chosen_profile(name)
    if chosen is None:
        raise UnknownNameError(f"{name!r} is no profile but leaves the choice open", where="profiles", hint="name one")
    if output == "json":
        click.echo(_json(chosen.profile))
    else:
        click.echo(plain_profile(chosen.profile), nl=False)


def _list(output: str) -> None:
    if output == "json":
        click.echo(_json(PROFILES))
        return
    width = max(len(one.name) for one in PROFILES)
    for one in PROFILES:
        click.echo(f"{one.name:{width}}  {one.summary}")


def _json(value: Profile | tuple[Profile, ...]) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
