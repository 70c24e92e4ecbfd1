"""The command ``analyze``: one input to one report."""

from pathlib import Path

import click
from rich.console import Console

from advisor.analysis import Options, analyse, override
from advisor.model.report import Report
from advisor.report.renderers import RENDERERS
from advisor.report.textreport import plain_report, print_report
from advisor.sources.recording import RecordingSource

__all__ = ["analyze"]

_PIPE_WIDTH = 120


@click.command()
@click.option(
    "--recording",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="A recording's folder, or an OpenMetrics file (.om, .om.gz) alone.",
)
@click.option(
    "--output",
    type=click.Choice(["text", *RENDERERS]),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show where each figure comes from, and what is not known.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Change a threshold, a bound of the advice or a cut rule, e.g. thresholds.wait_target_seconds=10.",
)
def analyze(recording: Path, output: str, assignments: tuple[str, ...], *, verbose: bool) -> None:
    """Analyse one operator and print findings and advice."""
    options = override(Options(), assignments)
    with Console(stderr=True, highlight=False).status("reading", spinner="line") as status:
        report = analyse(RecordingSource(recording), options, status.update)
    show_report(report, output, verbose=verbose)


def show_report(report: Report, output: str, *, verbose: bool) -> None:
    """Print a report in one form: text is rich on a terminal (NO_COLOR is honoured), plain lines in a pipe."""
    console = Console(highlight=False)
    if output != "text":
        click.echo(RENDERERS[output](report), nl=False)
    elif console.is_terminal:
        print_report(report, console, verbose=verbose)
    else:
        click.echo(plain_report(report, width=_PIPE_WIDTH, verbose=verbose), nl=False)
