"""Commands that look things up: findings and metrics."""

from typing import Literal

import click
import msgspec
from click.shell_completion import CompletionItem

from advisor.diagnosis.engine import rule_for
from advisor.diagnosis.findings import RULES
from advisor.errors import UnknownNameError, nearest
from advisor.knowledge import METRICS, Metric, find
from advisor.report.pages import render_page

__all__ = ["explain", "metrics"]


def _codes(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Finding codes for a shell that completes, each with its title."""
    return [CompletionItem(rule.code.value, help=rule.title) for rule in RULES if rule.code.startswith(begun)]


def _names(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Metric names, likewise."""
    return [CompletionItem(one.name, help=one.meaning) for one in METRICS if one.name.startswith(begun)]


@click.command()
@click.argument("code", required=False, shell_complete=_codes)
def explain(code: str | None) -> None:
    """Explain a finding: what it means, when it is found, what to do and what not. Without CODE: list them."""
    if code is None:
        width = max(len(rule.code) for rule in RULES)
        for rule in RULES:
            click.echo(f"{rule.code.value:{width}}  {rule.title}")
        return
    page = render_page(rule_for(code))
    from rich.console import Console

    console = Console(highlight=False)
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(page))
    else:
        click.echo(page, nl=False)


@click.command()
@click.argument("name", required=False, shell_complete=_names)
@click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the output."
)
def metrics(name: str | None, output: Literal["text", "json"]) -> None:
    """Show the metric catalogue, or what one metric means and does not mean."""
    chosen: tuple[Metric, ...] = METRICS
    if name is not None:
        found = find(name)
        if found is None:
            raise UnknownNameError(
                f"{name!r} is not in the catalogue",
                where="metrics",
                hint=nearest(name, [metric.name for metric in METRICS], "run without a name for the list"),
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
