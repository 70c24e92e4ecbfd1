"""A what-if result for a terminal, a pipe or a pull request; every form says the same in the same order."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from advisor.model.whatif import WhatIf
from advisor.report.layout import bullet, indented, plain, table, title
from advisor.report.markdowntext import escape
from advisor.report.whatifwording import (
    INTERVAL_NOTE,
    answer,
    best_lines,
    heads,
    legend,
    load_line,
    parameter_rows,
    point_line,
    rows,
    unfinished_line,
)

__all__ = ["plain_whatif", "print_whatif", "render_whatif_markdown"]

_PARAMETER_HEADS = ("parameter", "value", "between", "and", "from")


def print_whatif(result: WhatIf, console: Console, *, verbose: bool = False) -> None:
    """Print the result; ``verbose`` adds the parameters of the model."""
    for part in _parts(result, verbose=verbose):
        console.print(part)


def plain_whatif(result: WhatIf, *, width: int, verbose: bool = False) -> str:
    """The same lines without any styling, for pipes and files."""
    return plain(_parts(result, verbose=verbose), width=width)


def _parts(result: WhatIf, *, verbose: bool) -> Iterator[RenderableType]:
    yield Text(load_line(result), style="dim")
    yield Text(point_line(result), style="dim")
    if unfinished := unfinished_line(result):
        yield Text(unfinished, style="bold yellow")
    yield Text(answer(result), style="bold")
    yield title("Forecast")
    yield table(("", *heads(result)), (_styled(row.mark, row.cells) for row in rows(result)))
    yield Text(INTERVAL_NOTE, style="dim")
    for mark, text in legend(result):
        yield Text(f"{mark} {text}", style="dim")
    if lines := list(best_lines(result)):
        yield title("The smallest settings within 5 % of the best")
        yield from (bullet(line) for line in lines)
    if result.notes:
        yield title("Worth knowing")
        yield from (bullet(note) for note in result.notes)
    if verbose:
        yield title("What the model rests on")
        yield indented(table(_PARAMETER_HEADS, parameter_rows(result)))


def _styled(mark: str, cells: tuple[str, ...]) -> Iterator[Text]:
    style = "bold green" if "*" in mark else "bold" if ">" in mark else "dim" if "?" in mark else ""
    return (Text(cell, style=style) for cell in (mark, *cells))


def render_whatif_markdown(result: WhatIf) -> str:
    """The result as Markdown, with a line end."""
    return "\n".join(_markdown(result)) + "\n"


def _markdown(result: WhatIf) -> Iterator[str]:
    yield "## KubeRay operator: what other settings would do"
    yield f"\n**{escape(answer(result))}**\n"
    if unfinished := unfinished_line(result):
        yield f"{unfinished}\n"
    yield f"- {escape(load_line(result))}"
    yield f"- {escape(point_line(result))}"
    yield "\n### Forecast\n"
    table_rows = ((f"`{row.mark}`" if row.mark else "", *map(escape, row.cells)) for row in rows(result))
    yield from _markdown_table(("", *heads(result)), table_rows)
    yield f"\n{INTERVAL_NOTE}\n"
    yield from (f"- `{mark}` {text}" for mark, text in legend(result))
    if lines := list(best_lines(result)):
        yield "\n### The smallest settings within 5 % of the best\n"
        yield from (f"- {escape(line)}" for line in lines)
    if result.notes:
        yield "\n### Worth knowing\n"
        yield from (f"- {escape(note)}" for note in result.notes)
    yield "\n### What the model rests on\n"
    yield from _markdown_table(_PARAMETER_HEADS, (tuple(map(escape, row)) for row in parameter_rows(result)))


def _markdown_table(names: tuple[str, ...], cells: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield f"| {' | '.join('---' for _ in names)} |"
    yield from (f"| {' | '.join(row)} |" for row in cells)
