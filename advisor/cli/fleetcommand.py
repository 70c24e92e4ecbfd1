"""What ``analyze --fleet`` and ``analyze --prometheus URL --all`` do: many operators, a report each, one summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from advisor.analysis.fleet import FleetInterruptedError, FleetPlan, FleetRun, analyse_fleet
from advisor.analysis.fleetsources import discovered
from advisor.analysis.options import Options
from advisor.cli.entry import FOUND, INTERRUPTED
from advisor.cli.fleetoptions import FleetOptions
from advisor.cli.inputs import Given
from advisor.cli.progress import late_progress
from advisor.engines.base import engine_named
from advisor.model.finding import Severity
from advisor.model.fleet import Fleet
from advisor.model.raw import Setup
from advisor.report.wording import utc
from advisor.sources.fleetfile import read_fleet
from advisor.sources.fleetspec import FleetEntry

__all__ = ["ALL_FAILED", "FleetRequest", "entries_of", "run_fleet"]

ALL_FAILED: Final = 3
"""Exit code where no operator could be analysed."""
_FORMS: Final = ("text", "json", "markdown")


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """Everything that was asked for.

    Attributes:
        entries: the operators, from a fleet file or from a store.
        folder: what ``--out`` names.
        form: of the summary.
        options: of each analysis.
        how: how they are analysed.
        fail_on: the severity from which on the exit code says so.
    """

    entries: Sequence[FleetEntry]
    folder: Path | None
    form: str
    options: Options
    how: FleetOptions
    fail_on: str | None = None


def entries_of(how: FleetOptions, given: Given, told: Setup) -> tuple[FleetEntry, ...]:
    """The operators of a fleet file, or all of a store.

    Raises:
        UsageError: the options do not fit together.
        InputError: the file cannot be read, or the store does not answer as it should.
        NothingToAnalyseError: there is no operator in the store.
    """
    if how.file is not None:
        if given != Given() or told != Setup():
            raise click.UsageError(
                "A fleet file says itself where its operators are: --fleet FILE goes without an input."
            )
        return read_fleet(how.file)
    if given.prometheus is None:
        raise click.UsageError("--all belongs to --prometheus URL.")
    given.check()
    request = given.prometheus.looking_for(told.profile)
    with request.client() as client:
        operators = request.operators(client)
    return discovered(
        operators, request.spec(), narrowed=request.where.narrows, told=told, profile=request.where.profile
    )


def run_fleet(request: FleetRequest) -> int:
    """Analyse all operators, print the summary, and give the exit code.

    Raises:
        UsageError: there is no folder for the reports, or the summary has no such form.
        InputError: what an earlier run left in the folder cannot be read.
        OutputError: the folder cannot be written to.
        AdvisorError: the engine is not there, or failed.
    """
    if request.folder is None:
        raise click.UsageError("Many operators need --out DIR: there each report goes.")
    if request.form not in _FORMS:
        raise click.UsageError(f"The summary is {', '.join(_FORMS)}; --report-form {request.form} is for the reports.")
    how = request.how
    engine = engine_named(how.engine, workers=how.jobs)
    plan = FleetPlan(
        request.entries, request.folder, request.options, how.report_form, how.limit_seconds, fresh=how.fresh
    )
    is_interrupted = False
    with late_progress("operators") as progress:
        try:
            run = analyse_fleet(plan, engine, progress)
        except FleetInterruptedError as error:
            run, is_interrupted = error.finished, True
    _say_kept(run)
    _show(run.fleet, request.form)
    if is_interrupted:
        done, total = len(run.fleet.operators), len(request.entries)
        click.echo(
            f"interrupted: {done} of {total} operators are finished; the same command goes on from there", err=True
        )
        return INTERRUPTED
    return _exit_code(run.fleet, request.fail_on)


def _say_kept(run: FleetRun) -> None:
    if not run.kept:
        return
    total = len(run.fleet.operators) + len(run.fleet.left)
    click.echo(
        f"{run.kept} of {total} operators were analysed before, as of {utc(run.fleet.began)} UTC; "
        "--fresh analyses them again",
        err=True,
    )


def _show(fleet: Fleet, form: str) -> None:
    """Print the summary: text is rich on a terminal, plain lines elsewhere."""
    if form == "json":
        from advisor.report.fleetjson import render_fleet_json

        click.echo(render_fleet_json(fleet), nl=False)
        return
    from advisor.report.fleettext import plain_fleet, print_fleet, render_fleet_markdown

    console = Console(highlight=False)
    if form == "markdown":
        click.echo(render_fleet_markdown(fleet), nl=False)
    elif console.is_terminal:
        print_fleet(fleet, console)
    else:
        from advisor.report.layout import PIPE_WIDTH

        click.echo(plain_fleet(fleet, width=PIPE_WIDTH), nl=False)


def _exit_code(fleet: Fleet, fail_on: str | None) -> int:
    verdicts = [verdict for _, verdict in fleet.analysed()]
    if not verdicts:
        return ALL_FAILED
    grave = fail_on is not None and any(one.severity.rank <= Severity(fail_on).rank for one in verdicts)
    return FOUND if grave else 0
