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
    """Print the result."""
    for part in _parts(fleet):
        console.print(part)


def plain_fleet(fleet: Fleet, *, width: int) -> str:
    """The same lines without any styling, for pipes and files."""
    return plain(_parts(fleet), width=width)


def _parts(fleet: Fleet) -> Iterator[RenderableType]:
    yield Text(head_line(fleet), style="bold")
    if line := left_line(fleet):
        yield Text(line, style="bold yellow")
    analysed = fleet.analysed()
    if analysed:
        yield Text()
        yield table(HEADS, (_styled(verdict.severity, cells(one, verdict, fleet.made)) for one, verdict in analysed))
        yield Text(_NOTE, style="dim")
    if lines := list(failure_lines(fleet)):
        yield title(f"{_FAILED} ({len(fleet.failed())})")
        yield from (bullet(line) for line in lines)


def _styled(severity: Severity, row: tuple[str, ...]) -> list[str | Text]:
    return [Text(cell, style=_STYLES[severity]) if cell == severity.value else cell for cell in row]


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
