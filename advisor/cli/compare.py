"""The command ``compare``: did a change of settings help?"""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from advisor.analysis import Options, override, report_of
from advisor.analysis.compare import compare as compare_reports
from advisor.analysis.loading import Progress
from advisor.cli.inputs import Given, load_input
from advisor.cli.progress import late_progress
from advisor.cli.told import profile_option
from advisor.errors import InputFormatError, InputNotFoundError
from advisor.model.comparison import Comparison, Outcome
from advisor.model.raw import Setup
from advisor.model.report import Report
from advisor.report.comparisonjson import render_comparison_json
from advisor.report.comparisontext import comparison_markdown, plain_comparison, print_comparison
from advisor.report.layout import PIPE_WIDTH
from advisor.sources.textstream import plain_text

__all__ = ["WORSE", "compare"]

WORSE = 1
"""Exit code of ``--fail-on-worse`` where it got worse."""
_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("before", type=_PATH)
@click.argument("after", type=_PATH)
@click.option(
    "--output",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="Form of the comparison.",
)
@profile_option
@click.option("--verbose", "-v", is_flag=True, help="Show what stayed, what chance can do, and what is not known.")
@click.option("--fail-on-worse", is_flag=True, help="End with exit code 1 if it got worse.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Change a setting of the comparison or of the analyses, e.g. comparison.tolerance=0.2.",
)
def compare(
    before: Path,
    after: Path,
    output: str,
    assignments: tuple[str, ...],
    profile: str,
    *,
    verbose: bool,
    fail_on_worse: bool,
) -> int:
    """Tell whether a change of settings helped, in proportion to the work that was done.

    BEFORE and AFTER are each a recording's folder, an OpenMetrics file, a facts file (.yaml, .yml) or a report that
    analyze wrote with --output json (.json). The exit code is 0 whatever the verdict, unless --fail-on-worse is given.
    """
    options, told = override(Options(), assignments), Setup(profile=profile)
    with late_progress("reading") as progress:
        first, second = (_report_of(path, options, progress, told) for path in (before, after))
    comparison = compare_reports(first, second, options.comparison)
    _show(comparison, output, verbose=verbose)
    return WORSE if fail_on_worse and comparison.outcome is Outcome.WORSE else 0


def _report_of(path: Path, options: Options, progress: Progress, told: Setup) -> Report:
    """The report on one input, read or made by what the path is."""
    if path.suffix == ".json" and not path.is_dir():
        return _read_report(path)
    is_facts = path.suffix in (".yaml", ".yml") and not path.is_dir()
    recording, facts = (None, path) if is_facts else (path, None)
    return report_of(load_input(Given(recording=recording, facts=facts), progress, told), options)


def _read_report(path: Path) -> Report:
    """A report that was written as JSON.

    Raises:
        InputError: there is no such file, or it is no report.
    """
    try:
        report = msgspec.json.decode(plain_text(path.read_bytes()), type=Report)
    except OSError as error:
        raise InputNotFoundError(
            (error.strerror or "cannot be read").lower(), where=str(path), hint="check the path"
        ) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputFormatError(
            f"this is no report: {error}", where=str(path), hint="write one with analyze --output json"
        ) from error
    if not report.findings:
        raise InputFormatError("the report has no finding", where=str(path), hint="write one with analyze")
    return report


def _show(comparison: Comparison, output: str, *, verbose: bool) -> None:
    console = Console(highlight=False)
    if output == "json":
        click.echo(render_comparison_json(comparison), nl=False)
    elif output == "markdown":
        click.echo(comparison_markdown(comparison, verbose=verbose), nl=False)
    elif output == "html":
        from advisor.report.comparisonhtml import render_comparison_html

        click.echo(render_comparison_html(comparison, verbose=verbose), nl=False)
    elif console.is_terminal:
        print_comparison(comparison, console, verbose=verbose)
    else:
        click.echo(plain_comparison(comparison, width=PIPE_WIDTH, verbose=verbose), nl=False)
