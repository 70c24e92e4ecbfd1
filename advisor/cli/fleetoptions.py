"""The options of a run over many operators, as one argument of the command."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from advisor.cli.durations import Duration

__all__ = ["FleetOptions", "fleet_options"]

_Command = Callable[..., object]
_ENGINES: Final = ("local", "ray")
"""As in advisor.engines.base, which is not imported to list the commands."""
_FORMS: Final = ("markdown", "html", "text")
"""As in advisor.analysis.fleettask, for the same reason."""
_DEFAULT_SECONDS: Final = 120.0
_BESIDE: Final = {
    "jobs": "--jobs",
    "limit": "--timeout",
    "fresh": "--fresh",
    "report_form": "--report-form",
    "engine": "--engine",
}


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """Which operators, and how they are analysed.

    Attributes:
        file: the fleet file; None where all operators of a store are meant.
        jobs: operators at a time; as many as cores where None.
        limit_seconds: how long one may take.
        fresh: whether to analyse again what is finished.
        report_form: form of the reports beside JSON.
        engine: where operators are analysed.
    """

    file: Path | None
    jobs: int | None = None
    limit_seconds: float = _DEFAULT_SECONDS
    fresh: bool = False
    report_form: str | None = None
    engine: str = "local"


_OPTIONS = (
    click.option(
        "--fleet",
        "fleet_file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="A fleet file: many operators, a report of each in --out DIR, and one summary.",
    ),
    click.option("--all", "every", is_flag=True, help="With --prometheus: all operators in the store, likewise."),
    click.option("--jobs", type=click.IntRange(1, 1024), help="Operators at a time.  [default: as many as cores]"),
    click.option("--timeout", "limit", type=Duration(), metavar="DURATION", help="For one operator.  [default: 2m]"),
    click.option("--fresh", is_flag=True, help="Analyse again what an earlier run into --out DIR has finished."),
    click.option("--report-form", type=click.Choice(_FORMS), help="Write each report in this form too, beside JSON."),
    click.option("--engine", type=click.Choice(_ENGINES), help="Where operators are analysed.  [default: local]"),
)


def fleet_options(command: _Command) -> _Command:
    """Options that become the argument ``fleet``, None where neither ``--fleet`` nor ``--all`` is given."""

    @functools.wraps(command)
    def with_fleet(*, fleet_file: Path | None, every: bool, **arguments: Any) -> object:  # noqa: ANN401 - as given
        given = {name: arguments.pop(name) for name in _BESIDE}
        return command(fleet=_options(fleet_file, given, every=every), **arguments)

    wrapped: _Command = with_fleet
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _options(file: Path | None, given: dict[str, Any], *, every: bool) -> FleetOptions | None:
    """What the options say.

    Raises:
        UsageError: they contradict each other.
    """
    if file is not None and every:
        raise click.UsageError("--fleet and --all exclude each other.")
    if file is None and not every:
        stray = next((option for name, option in _BESIDE.items() if given[name]), None)
        if stray is not None:
            raise click.UsageError(f"{stray} belongs to --fleet FILE or --all.")
        return None
    return FleetOptions(
        file=file,
        jobs=given["jobs"],
        limit_seconds=given["limit"] or _DEFAULT_SECONDS,
        fresh=given["fresh"],
        report_form=given["report_form"],
        engine=given["engine"] or _ENGINES[0],
    )
