"""A comparison for a terminal, a pipe or a pull request; every form says the same in the same order."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from advisor.model.comparison import Comparison, Outcome, PredictionResult, Trend
from advisor.report.comparisonwording import (
    CHECK_HEADS,
    LOAD_HEADS,
    SETTING_HEADS,
    comparison_title,
    lists,
    load_cells,
    prediction_check_cells,
    quantity_rows,
    setting_rows,
    side_lines,
    unchecked_lines,
    unknown_lines,
)
from advisor.report.layout import bullet, indented, plain, table, title
from advisor.report.markdowntext import escape

__all__ = ["comparison_markdown", "plain_comparison", "print_comparison"]

_OUTCOME_STYLE = {
    Outcome.BETTER: "bold green",
    Outcome.WORSE: "bold red",
    Outcome.NO_CLEAR_CHANGE: "bold yellow",
    Outcome.NOT_COMPARABLE: "bold yellow",
}
_TREND_STYLE = {Trend.BETTER.value: "green", Trend.WORSE.value: "red", Trend.SAME.value: "dim"}


def print_comparison(comparison: Comparison, console: Console, *, verbose: bool = False) -> None:
    """Print the comparison; ``verbose`` adds settings that stayed, tolerances, and all that is not known."""
    for part in _parts(comparison, verbose=verbose):
        console.print(part)


def plain_comparison(comparison: Comparison, *, width: int, verbose: bool = False) -> str:
    """The same lines without any styling, for pipes and files."""
    return plain(_parts(comparison, verbose=verbose), width=width)


def _parts(comparison: Comparison, *, verbose: bool) -> Iterator[RenderableType]:
    for name, side in side_lines(comparison):
        yield Text(f"{name}: {side}", style="dim")
    yield Text(comparison.summary, style=_OUTCOME_STYLE[comparison.outcome])
    for head, lines in lists(comparison):
        yield title(head)
        yield from (bullet(line) for line in lines)
    yield title("Settings")
    settings = setting_rows(comparison.settings, verbose=verbose)
    yield indented(table(SETTING_HEADS, settings)) if settings else bullet("none that is known changed")
    yield title("Load")
    yield indented(table(LOAD_HEADS, map(load_cells, comparison.load)))
    yield title("Figures (* decides)")
    heads, rows = quantity_rows(comparison.quantities, verbose=verbose)
    yield indented(table(heads, _styled(rows)))
    if comparison.predictions:
        yield title("What was predicted before")
        checked = [one for one in comparison.predictions if one.result is not PredictionResult.NOT_CHECKED]
        if checked:
            yield indented(table(CHECK_HEADS, map(prediction_check_cells, checked)))
        yield from (bullet(line) for line in unchecked_lines(comparison.predictions))
    if unknown := unknown_lines(comparison.quantities, verbose=verbose):
        yield title("Not known")
        yield from (bullet(line) for line in unknown)


def comparison_markdown(comparison: Comparison, *, verbose: bool = False) -> str:
    """The comparison as Markdown, for a pull request."""
    return "\n".join(_markdown(comparison, verbose=verbose)) + "\n"


def _markdown(comparison: Comparison, *, verbose: bool) -> Iterator[str]:
    yield f"## {escape(comparison_title(comparison))}"
    yield ""
    yield f"**{escape(comparison.summary)}**"
    yield ""
    yield from (f"- {name}: {escape(side)}" for name, side in side_lines(comparison))
    for head, lines in lists(comparison):
        yield from _markdown_list(head, lines)
    settings = setting_rows(comparison.settings, verbose=verbose)
    if settings:
        yield from _markdown_table("Settings", SETTING_HEADS, settings)
    else:
        yield from _markdown_list("Settings", ["none that is known changed"])
    yield from _markdown_table("Load", LOAD_HEADS, map(load_cells, comparison.load))
    yield from _markdown_table("Figures (\\* decides)", *quantity_rows(comparison.quantities, verbose=verbose))
    if comparison.predictions:
        checked = [one for one in comparison.predictions if one.result is not PredictionResult.NOT_CHECKED]
        head = "What was predicted before"
        if checked:
            yield from _markdown_table(head, CHECK_HEADS, map(prediction_check_cells, checked))
        if lines := unchecked_lines(comparison.predictions):
            yield from _markdown_list("" if checked else head, lines)
    if unknown := unknown_lines(comparison.quantities, verbose=verbose):
        yield from _markdown_list("Not known", unknown)


def _markdown_list(head: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"### {head}") if head else ()
    yield ""
    yield from (f"- {escape(line)}" for line in lines)


def _markdown_table(head: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"### {head}", "")
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    yield from (f"| {' | '.join(escape(cell) for cell in row)} |" for row in rows)


def _styled(rows: Iterable[Sequence[str]]) -> Iterator[list[str | Text]]:
    """The cells of each quantity, with its trend in colour."""
    for row in rows:
        yield [Text(cell, style=_TREND_STYLE[cell]) if cell in _TREND_STYLE else cell for cell in row]
