"""The report for a terminal: rich where there is one, the same lines plain where there is none."""

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.model.advice import Direction
from advisor.model.finding import Finding, Severity
from advisor.model.report import EpisodeReport, Report
from advisor.model.text import format_value
from advisor.report.layout import bullet, indented, plain, table, title
from advisor.report.wording import (
    KEY_HEADS,
    PREDICTION_HEADS,
    about_finding,
    budget_shares,
    check_line,
    episode_cells,
    figure_quality,
    in_short,
    key_cells,
    knob_rows,
    prediction_cells,
    prediction_origin,
    profile_line,
    shown_evidence,
    source_line,
)

__all__ = ["plain_report", "print_report"]

_SEVERITY_STYLE = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold green"}
_DIRECTION_STYLE = {
    Direction.RAISE: "bold",
    Direction.LOWER: "bold",
    Direction.KEEP: "dim",
    Direction.NO_NUMBER: "dim",
}


def print_report(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the report; ``verbose`` adds the origin of each figure and what is missing."""
    for part in _parts(report, verbose=verbose):
        console.print(part)


def plain_report(report: Report, *, width: int, verbose: bool = False) -> str:
    """The same lines without any styling and without blanks at their ends, for pipes and files."""
    return plain(_parts(report, verbose=verbose), width=width)


def _parts(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    yield from _head(report, verbose=verbose)
    yield title("Findings")
    for finding in report.findings:
        yield from _finding(finding, verbose=verbose)
    yield title("Advice")
    if knob_rows(report.advice):
        yield indented(_advice_table(report))
    else:
        yield bullet(f"no number: {report.advice.concurrency.reason}")
    if report.advice.actions:
        yield from (bullet(action) for action in report.advice.actions)
    if report.predictions:
        yield title(f"Expected effect ({prediction_origin(report.predictions)})")
        yield indented(table(PREDICTION_HEADS, map(prediction_cells, report.predictions)))
    if shares := budget_shares(report):
        yield title("Where a busy worker's second goes")
        rows = ((one.name, f"{one.share:.0%}", one.bounds) for one in shares)
        yield indented(table(("", "share", "bounds"), rows))
    if keys := key_cells(report):
        yield title("Who takes the time")
        yield indented(table(KEY_HEADS, keys))
    if len(report.episodes) > 1:
        yield title("Episodes")
        yield indented(_episode_table(report.episodes, report.source.window.start))
    for patch in report.advice.patches:
        yield title(f"Patch: {patch.title}")
        yield indented(Text(patch.text.rstrip("\n")))
    yield from _notes(report)
    if verbose:
        yield from _figures(report)


def _head(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    yield Text(source_line(report), style="dim")
    if line := profile_line(report, verbose=verbose):
        yield Text(line, style="dim")
    verdict = Text()
    severity = report.findings[0].severity
    verdict.append(f"{severity.value.upper()} ", style=_SEVERITY_STYLE[severity])
    verdict.append(report.verdict, style="bold")
    yield verdict
    yield Text(in_short(report.advice), style="bold")


def _finding(finding: Finding, *, verbose: bool) -> Iterator[RenderableType]:
    head = Text("  ")
    head.append(f"{finding.severity.value} ", style=_SEVERITY_STYLE[finding.severity])
    head.append(finding.code.value, style="bold")
    head.append(f"  {about_finding(finding)}", style="dim")
    yield head
    yield Padding(Text(finding.summary), (0, 0, 0, 4), expand=False)
    for evidence in shown_evidence(finding, verbose=verbose):
        yield Padding(Text(f"- {evidence.text}"), (0, 0, 0, 4), expand=False)
        if verbose and evidence.origin:
            yield Padding(Text(f"from {evidence.origin}", style="dim"), (0, 0, 0, 6), expand=False)
    for check in finding.checks:
        yield Padding(Text(check_line(check), style="dim"), (0, 0, 0, 4), expand=False)


def _advice_table(report: Report) -> Table:
    return table(
        ("setting", "now", "set", "", "why"),
        (
            (
                row.setting,
                row.now,
                row.to_set,
                Text(row.direction.value, style=_DIRECTION_STYLE[row.direction]),
                row.reason,
            )
            for row in knob_rows(report.advice)
        ),
    )


def _episode_table(episodes: Sequence[EpisodeReport], start: float) -> Table:
    heads = ("", "episode", "from", "to", "lost", "findings")
    return table(heads, ((">" if one.is_verdict else "", *episode_cells(one, start)) for one in episodes))


def _notes(report: Report) -> Iterator[RenderableType]:
    if not report.source.notes:
        return
    yield title("Skipped while reading")
    for note in report.source.notes:
        yield bullet(f"{note.where}: {note.message}")


def _figures(report: Report) -> Iterator[RenderableType]:
    yield title("Figures")
    for name, figure in report.figures.items():
        quality = f" ({words})" if (words := figure_quality(figure)) else ""
        yield Padding(Text(f"{name}: {format_value(figure.value, figure.unit)}{quality}"), (0, 0, 0, 2), expand=False)
        yield Padding(Text(f"from {figure.origin}", style="dim"), (0, 0, 0, 4), expand=False)
    if report.missing:
        yield title("Not known")
        for absent in report.missing:
            yield Padding(Text(f"{absent.name}: {absent.reason}", style="dim"), (0, 0, 0, 2), expand=False)
