"""The result of a fleet for a terminal, a pipe or a ticket; every form says the same in the same order.

Operators that could not be analysed stand at the end: nothing is known of them that could be better or worse than the
others, and the end is what a terminal shows when a long table has run through. The first line counts them.
"""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.text import Text

from advisor.model.finding import Severity
from advisor.model.fleet import Fleet
from advisor.report.fleetwording import HEADS, cells, failure_lines, head_line, left_line
from advisor.report.layout import bullet, plain, table, title
from advisor.report.markdown import escape

__all__ = ["plain_fleet", "print_fleet", "render_fleet_markdown"]

_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "green"}
_FAILED = "Could not be analysed"
_NOTE = "Lost is the time that the finding explains; an arrow leads from the setting in force to the one advised."


def print_fleet(fleet: Fleet, console: Console) -> None:
    """Print the result; cells are folded where the terminal is too narrow for them."""
    for part in _head(fleet):
        console.print(part)
    rows = _rows(fleet)
    if rows:
        lines = _aligned(rows)
        if max(map(len, lines)) <= console.width:
            console.print(_coloured(lines, fleet))
        else:
            console.print(_folded(rows, fleet))
    for part in _tail(fleet):
        console.print(part)


def plain_fleet(fleet: Fleet, *, width: int) -> str:
    """The same lines without any styling, for pipes and files; those of the table are as long as they have to be."""
    table_lines = "".join(f"{line}\n" for line in _aligned(_rows(fleet)))
    return plain(_head(fleet), width=width) + table_lines + plain(_tail(fleet), width=width)


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


def _rows(fleet: Fleet) -> list[tuple[str, ...]]:
    return [cells(one, verdict, fleet.made) for one, verdict in fleet.analysed()]


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The table as lines; rich would take longer for a thousand of them than for reading them all."""
    if not rows:
        return []
    widths = [max(cell_len(row[column]) for row in (HEADS, *rows)) for column in range(len(HEADS))]
    return [
        "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (HEADS, *rows)
    ]


def _coloured(lines: Sequence[str], fleet: Fleet) -> Text:
    head, *body = lines
    parts: list[tuple[str, str] | str] = [(head, "dim")]
    column = head.index(HEADS[1])
    for line, (_, verdict) in zip(body, fleet.analysed(), strict=True):
        # Names may be wider than they are long, so the place is looked for.
        begin = line.index(verdict.severity.value, min(column, len(line)) - _wider(line, column))
        end = begin + len(verdict.severity.value)
        parts += ["\n", line[:begin], (line[begin:end], _STYLES[verdict.severity]), line[end:]]
    return Text.assemble(*parts)


def render_fleet_markdown(fleet: Fleet) -> str:
    """The result as Markdown, with a line end."""
    return "\n".join(_markdown(fleet)) + "\n"


def _markdown(fleet: Fleet) -> Iterator[str]:
    yield f"## KubeRay operators\n\n**{escape(head_line(fleet))}**"
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
