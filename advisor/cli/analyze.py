"""The command ``analyze``: one input to one report."""

from pathlib import Path

import click

from advisor.analysis import Options, override, report_of
from advisor.cli.entry import FOUND
from advisor.cli.fleetoptions import FleetOptions, fleet_options
from advisor.cli.inputs import Given, input_options, load_input
from advisor.cli.output import ReportOutput, output_options
from advisor.cli.progress import late_progress
from advisor.cli.told import told_options
from advisor.model.finding import Severity
from advisor.model.raw import Setup
from advisor.model.report import Report

__all__ = ["analyze"]


@click.command(context_settings={"allow_extra_args": True})
@input_options
@told_options
@fleet_options
@output_options
@click.option(
    "--explain-queries", is_flag=True, help="Print what would be asked of --prometheus and what it costs; ask nothing."
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Change a threshold, a bound of the advice or a cut rule, e.g. thresholds.wait_target_seconds=10.",
)
@click.option(
    "--fail-on",
    type=click.Choice([Severity.WARNING.value, Severity.CRITICAL.value]),
    help="End with exit code 1 if the verdict has a finding of this severity or above.",
)
def analyze(
    *,
    given: Given,
    told: Setup,
    fleet: FleetOptions | None,
    output: ReportOutput,
    explain_queries: bool,
    assignments: tuple[str, ...],
    fail_on: str | None,
) -> int:
    """Analyse one operator and print findings and advice; or many: a report of each, and a summary."""
    _refuse_unnamed(click.get_current_context().args)
    if explain_queries:
        click.echo(_explained(given), nl=False)
        return 0
    options = override(Options(), assignments)
    if fleet is not None:
        from advisor.cli.fleetcommand import FleetRequest, entries_of, run_fleet

        return run_fleet(
            FleetRequest(entries_of(fleet, given, told), output.file, output.form, options, fleet, fail_on)
        )
    with late_progress("reading") as progress:
        loaded = load_input(given, progress, told)
        report = report_of(loaded, options)
    output.show(report)
    return FOUND if fail_on is not None and _has(report, Severity(fail_on)) else 0


def _refuse_unnamed(words: list[str]) -> None:
    """Refuse what stands there without an option, and say which it may belong to.

    Raises:
        UsageError: there is such.
    """
    if not words:
        return
    word = words[0]
    if "://" in word:
        hint = f"name it by its kind: --prometheus, --scrape or --sidecar {word}"
    elif word.endswith((".yaml", ".yml")):
        hint = f"did you mean --facts {word}?"
    else:
        hint = f"did you mean --recording {word}?" if Path(word).exists() else "inputs are named by options"
    raise click.UsageError(f"Got unexpected extra argument ({word}); {hint}")


def _explained(given: Given) -> str:
    """What would be asked of the store.

    Raises:
        UsageError: no store is given.
    """
    if given.prometheus is None:
        raise click.UsageError("--explain-queries belongs to --prometheus URL.")
    return given.prometheus.explained()


def _has(report: Report, least: Severity) -> bool:
    """Whether the verdict's episode has a finding of this severity or above."""
    return any(finding.severity.rank <= least.rank for finding in report.findings)
