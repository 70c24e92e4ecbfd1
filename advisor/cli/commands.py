"""The commands; each one is thin."""

from pathlib import Path
from typing import Literal

import click
import msgspec
from rich.console import Console
from rich.markdown import Markdown

from advisor import __version__
from advisor.analysis import Options, analyse, override
from advisor.diagnosis.engine import rule_for
from advisor.diagnosis.findings import RULES
from advisor.errors import UnknownNameError
from advisor.knowledge import METRICS, Metric, find
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.report.pages import render_page
from advisor.report.textreport import plain_report, print_report
from advisor.sources.recording import RecordingSource

__all__ = ["cli"]

_PIPE_WIDTH = 120
Output = Literal["text", "json"]


def _show_report(report: Report, *, verbose: bool) -> None:
    """Rich on a terminal (which honours NO_COLOR), plain lines of fixed width in a pipe."""
    console = Console(highlight=False)
    if console.is_terminal:
        print_report(report, console, verbose=verbose)
    else:
        click.echo(plain_report(report, width=_PIPE_WIDTH, verbose=verbose), nl=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kuberay-advisor")
def cli() -> None:
    """Tell what holds a KubeRay operator back, what to set, and why.

    Exit codes: 0 done; 2 wrong use; 3 input cannot be read; 4 nothing to analyse; 70 fault of this program.
    """


@cli.command()
@click.option(
    "--recording",
    type=click.Path(path_type=Path),
    required=True,
    metavar="PATH",
    help="A recording's folder, or an OpenMetrics file (.om, .om.gz) alone.",
)
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the report."
)
@click.option("--verbose", "-v", is_flag=True, help="Show where each figure comes from, and what is not known.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="SECTION.NAME=VALUE",
    help="Change a threshold, a bound of the advice or a cut rule, e.g. thresholds.wait_target_seconds=10.",
)
def analyze(recording: Path, output: Output, assignments: tuple[str, ...], *, verbose: bool) -> None:
    """Analyse one operator and print findings and advice."""
    options = override(Options(), assignments)
    errors = Console(stderr=True, highlight=False)
    with errors.status("reading", spinner="line") as status:
        report = analyse(RecordingSource(recording), options, status.update)
    if output == "json":
        click.echo(render_json(report), nl=False)
        return
    _show_report(report, verbose=verbose)


@cli.command()
@click.argument("code", required=False)
def explain(code: str | None) -> None:
    """Explain a finding: what it means, when it is found, what to do and what not. Without CODE: list them."""
    if code is None:
        width = max(len(rule.code) for rule in RULES)
        for rule in RULES:
            click.echo(f"{rule.code.value:{width}}  {rule.title}")
        return
    page = render_page(rule_for(code))
    console = Console()
    if console.is_terminal:
        console.print(Markdown(page))
    else:
        click.echo(page, nl=False)


@cli.command()
@click.argument("name", required=False)
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def metrics(name: str | None, output: Output) -> None:
    """Show the metric catalogue, or what one metric means and does not mean."""
    chosen: tuple[Metric, ...] = METRICS
    if name is not None:
        found = find(name)
        if found is None:
            raise UnknownNameError(
                f"{name!r} is not in the catalogue", where="metrics", hint="run without a name for the list"
            )
        chosen = (found,)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(chosen), indent=2).decode())
    elif name is None:
        width = max(len(metric.name) for metric in chosen)
        for metric in chosen:
            click.echo(f"{metric.name:{width}}  {metric.kind:9}  {metric.unit}")
    else:
        _print_metric(chosen[0])


def _print_metric(metric: Metric) -> None:
    click.echo(metric.name)
    rows = (
        ("type", metric.kind),
        ("labels", ", ".join(metric.labels) or "none"),
        ("unit", metric.unit),
        ("since", f"KubeRay {metric.since}" if metric.since else "all releases"),
        ("exposed by", metric.exposed_by),
        ("means", metric.meaning),
        ("does not mean", metric.not_meaning),
        ("note", metric.note),
    )
    for label, text in rows:
        if text:
            click.echo(f"  {label + ':':15}{text}")
