"""How text is laid out on a terminal and in a pipe: titles, bullets, tables; the same lines styled or plain."""

from collections.abc import Iterable
from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

__all__ = ["PIPE_WIDTH", "bullet", "indented", "plain", "table", "title"]

PIPE_WIDTH = 120
"""Columns of text that does not go to a terminal."""


def plain(parts: Iterable[RenderableType], *, width: int) -> str:
    """The parts without any styling and without blanks at the ends of lines, for pipes and files."""
    console = Console(file=StringIO(), width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def title(text: str) -> RenderableType:
    """The head of a section, with an empty line before it."""
    return Text(f"\n{text}", style="bold")


def indented(renderable: RenderableType) -> RenderableType:
    """Something below a title."""
    return Padding(renderable, (0, 0, 0, 2), expand=False)


def bullet(text: str) -> RenderableType:
    """One line of a list."""
    return Padding(Text(f"- {text}"), (0, 0, 0, 2), expand=False)


def table(heads: Iterable[str], rows: Iterable[Iterable[str | Text]]) -> Table:
    """Columns without lines."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for head in heads:
        grid.add_column(head)
    for row in rows:
        grid.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))  # a str would be markup
    return grid
