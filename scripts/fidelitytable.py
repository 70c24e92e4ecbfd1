"""The tables that other pages show of docs/fidelity.md: how far predictions were off, by what they were made from.

``<!-- fidelity: all -->`` and ``<!-- fidelity: some -->`` mark where; ``python -m scripts.generate_docs`` writes them.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["PAGES", "page", "rows"]

_ROOT: Final = Path(__file__).resolve().parent.parent
PAGES: Final = ("README.md", "docs/method/README.md")
_TABLE: Final = re.compile(r"(<!-- fidelity: (all|some) -->\n).*?(?=<!-- end of fidelity -->)", re.DOTALL)
_SECTION: Final = re.compile(
    r"^## (?P<title>.+)\n(?:(?!^## )[^\n]*\n)*?.*?(?P<figures>\d+) figures above noise: "
    r"off by (?P<median>\d+%) \(median\) and (?P<worst>\d+%) \(worst\); the interval held (?P<held>\d+) of them",
    re.MULTILINE,
)
_SOME: Final = (
    "From one worker, up to four times as many",
    "From one worker, sixteen times as many",
    "From two points",
    "Before and after a change",
)
_HEAD: Final = (
    "| prediction | figures | off by, median | worst | within the interval |",
    "| --- | --- | --- | --- | --- |",
)


class Row(NamedTuple):
    """What one section of docs/fidelity.md found."""

    title: str
    figures: str
    median: str
    worst: str
    held: str


def rows() -> Iterator[Row]:
    """One for each section with predictions."""
    text = (_ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    for match in _SECTION.finditer(text):
        yield Row(
            match["title"], match["figures"], match["median"], match["worst"], f"{match['held']} of {match['figures']}"
        )


def page(name: str) -> str:
    """The text of a page as it is, with its table put in anew."""
    found = list(rows())
    assert found, "docs/fidelity.md has no figures"

    def table(match: re.Match[str]) -> str:
        chosen = [row for row in found if match[2] == "all" or row.title in _SOME]
        assert match[2] == "all" or len(chosen) == len(_SOME), "a section of docs/fidelity.md has another name"
        lines = [*_HEAD, *(f"| {' | '.join(row)} |" for row in chosen)]
        return match[1] + "\n" + "\n".join(lines) + "\n\n"

    text, replaced = _TABLE.subn(table, (_ROOT / name).read_text(encoding="utf-8"))
    assert replaced == 1, f"{name} has no place for the table of predictions"
    return text
