"""Style sheets, scripts and pictures of the pages: each under an address that names its content, so that it is kept."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from advisor.report.document import style_text

__all__ = ["Asset", "asset", "sheet_text"]

_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_SHEET: Final = "style.css"
_NAMES: Final = frozenset({_SHEET})
"""Everything that is served; all but the sheet are files in ``static`` beside this module."""


class Asset(NamedTuple):
    """One file: its text, what it is, and a name for its content."""

    text: str
    content_type: str
    digest: str


@cache
def asset(name: str) -> Asset | None:
    """A file by its name; None where there is none."""
    if name not in _NAMES:
        return None
    text = sheet_text() if name == _SHEET else _read(name)
    return Asset(text, _TYPES[name.rpartition(".")[2]], hashlib.sha256(text.encode()).hexdigest()[:12])


@cache
def sheet_text() -> str:
    """The style sheet of all pages: those of reports, what-ifs and comparisons, and what only the service has."""
    return style_text(("style.css", "whatif.css", "comparison.css")) + _read("web.css")


def _read(name: str) -> str:
    return files("advisor.web").joinpath("static", name).read_text(encoding="utf-8")
