"""Style sheets, scripts and pictures of the pages: each under an address that names its content, so that it is kept."""

import hashlib
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from advisor.report.document import style_text

__all__ = ["Asset", "asset", "sheet_text"]

_TYPES: Final = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_SHEET: Final = "style.css"
_SOURCES: Final = {
    _SHEET: "",
    "live.js": "live.js",
    "charts.js": "charts.js",
    "uPlot.iife.min.js": "vendor/uplot/uPlot.iife.min.js",
    "uPlot.min.css": "vendor/uplot/uPlot.min.css",
}
"""Everything that is served, and where it is in ``static`` beside this module; the sheet is made of several."""


class Asset(NamedTuple):
    """One file: its text, what it is, and a name for its content."""

    text: str
    content_type: str
    digest: str


@cache
def asset(name: str) -> Asset | None:
    """A file by its name; None where there is none."""
    source = _SOURCES.get(name)
    if source is None:
        return None
    text = _read(source) if source else sheet_text()
    return Asset(text, _TYPES[name.rpartition(".")[2]], hashlib.sha256(text.encode()).hexdigest()[:12])


@cache
def sheet_text() -> str:
    """The style sheet of all pages: those of reports, what-ifs and comparisons, and what only the service has."""
    return style_text(("style.css", "whatif.css", "comparison.css")) + _read("web.css")


def _read(name: str) -> str:
    return files("advisor.web").joinpath("static", name).read_text(encoding="utf-8")
