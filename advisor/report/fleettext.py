"""The result of a fleet for a terminal, a pipe or a ticket; every form says the same in the same order.

Operators that could not be analysed stand at the end: nothing is known of them that could be better or worse than the
others, and the end is what a terminal shows when a long table has run through. The first line counts them.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from advisor.model.finding import Severity
from advisor.model.fleet import Fleet
from advisor.report.fleetwording import HEADS, cells, failure_lines, head_line, left_line
from advisor.report.layout import bullet, plain, table, title
from advisor.report.markdowntext import escape

__all__ = ["plain_fleet", "print_fleet", "render_fleet_markdown"]

_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "green"}
_GAP = "  "
_LEAST = ("age of data", "burst", "lost", "queue wait", "QPS")
_FAILED = "Could not be analysed"
_NOTE = "Lost is the time that the finding explains; an arrow leads from the setting in force to the one advised."


def print_fleet(fleet: Fleet, console: Console) -> None:
    """Print the result; a narrow terminal gets the columns that matter most, and says which it does not get."""
    for part in _head(fleet):
        console.print(part)
    if padded := _padded(fleet):
        left_out = _too_many(padded, console.width)
        shown = [[cell for head, cell in zip(HEADS, row, strict=True) if head not in left_out] for row in padded]
        fits = cell_len(_GAP.join(shown[0])) <= console.width
        console.print(_coloured(shown, fleet) if fits else _folded(shown, fleet))
        if left_out:
            console.print(Text(f"A wider terminal shows {', '.join(left_out)} as well.", style="dim"))
    for part in _tail(fleet):
        console.print(part)


def plain_fleet(fleet: Fleet, *, width: int) -> str:
    """The same lines without any styling, for pipes and files; those of the table are as long as they have to be."""
    lines = "".join(f"{_GAP.join(row).rstrip()}\n" for row in _padded(fleet))
    return plain(_head(fleet), width=width) + lines + plain(_tail(fleet), width=width)


def _head(fleet: Fleet) -> Iterator[RenderableType]:
    yield Text(head_line(fleet), style="bold")
    if line := left_line(fleet):
        yield Text(line, style="bold yellow")
    if fleet.analysed():
        yield Text()


def _tail(fleet: Fleet) -> Iterator[RenderableType]:
    if fleet.analysed():
        yield Text(_NOTE, style="dim")
    if lines := list(failure_lines(fleet)):
        yield title(f"{_FAILED} ({len(fleet.failed())})")
        yield from (bullet(line) for line in lines)


def _padded(fleet: Fleet) -> list[list[str]]:
    """Heads and rows, each cell as wide as its column; a table of rich takes ten times as long for a thousand rows."""
    rows = [cells(one, verdict, fleet.made) for one, verdict in fleet.analysed()]
    if not rows:
        return []
    columns = zip(HEADS, *rows, strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    return [
        [cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        for row in (HEADS, *rows)
    ]


def _too_many(padded: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns that have to be left out so that the others fit, those first that others say in part."""
    widths = {head: cell_len(cell) + len(_GAP) for head, cell in zip(HEADS, padded[0], strict=True)}
    left_out: list[str] = []
    for head in _LEAST:
        if sum(widths.values()) - len(_GAP) <= width:
            break
        del widths[head]
        left_out.append(head)
    return left_out


def _coloured(shown: Sequence[Sequence[str]], fleet: Fleet) -> Text:
    head, *rows = shown
    lines = [Text(_GAP.join(head).rstrip(), style="dim")]
    for row, (_, verdict) in zip(rows, fleet.analysed(), strict=True):
        name, severity, *others = row
        style = _STYLES[verdict.severity]
        lines.append(Text.assemble(name, _GAP, (severity, style), _GAP, _GAP.join(others).rstrip()))
    return Text("\n").join(lines)


def _folded(shown: Sequence[Sequence[str]], fleet: Fleet) -> RenderableType:
    """A table whose names are folded, where they alone are too long for the terminal."""
    heads, *rows = ([cell.rstrip() for cell in row] for row in shown)
    styled = (
        [Text(cell, style=_STYLES[verdict.severity]) if cell == verdict.severity.value else cell for cell in row]
        for row, (_, verdict) in zip(rows, fleet.analysed(), strict=True)
    )
    grid = table(heads, styled)
    for column in grid.columns:
        column.no_wrap = True
    grid.columns[0].no_wrap, grid.columns[0].overflow = False, "fold"
    return grid


def render_fleet_markdown(fleet: Fleet) -> str:
    """The result as Markdown, with a line end."""
    return "\n".join(_markdown(fleet)) + "\n"


def _markdown(fleet: Fleet) -> Iterator[str]:
    yield f"## Operators\n\n**{escape(head_line(fleet))}**"
    if line := left_line(fleet):
        yield f"\n{escape(line)}"
    analysed = fleet.analysed()
    if analysed:
        yield ""
        yield f"| {' | '.join(HEADS)} |"
        yield f"| {' | '.join('---' for _ in HEADS)} |"
        for one, verdict in analysed:
            yield f"| {' | '.join(escape(cell) for cell in cells(one, verdict, fleet.made))} |"
        yield f"\n{_NOTE}"
    if lines := list(failure_lines(fleet)):
        yield f"\n### {_FAILED} ({len(fleet.failed())})\n"
        yield from (f"- {escape(line)}" for line in lines)
