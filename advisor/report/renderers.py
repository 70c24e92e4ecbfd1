"""Forms of a report that are text in a file; a new one is a new module and its line here."""

from collections.abc import Callable

from advisor.model.report import Report
from advisor.report.jsonreport import render_json

__all__ = ["RENDERERS"]

RENDERERS: dict[str, Callable[[Report], str]] = {
    "json": render_json,
}
"""By the name that ``--output`` takes; ``text`` is apart, since it depends on the terminal."""
