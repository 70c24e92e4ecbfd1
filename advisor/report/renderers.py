"""Forms of a report that are text in a file; a new one is a new module and its line here."""

from importlib import import_module

from advisor.model.report import Report

__all__ = ["FORMS", "render"]

_RENDERERS = {
    "json": ("advisor.report.jsonreport", "render_json"),
    "markdown": ("advisor.report.markdown", "render_markdown_report"),
    "html": ("advisor.report.htmlreport", "render_html"),
}

FORMS = tuple(_RENDERERS)
"""The names that ``--output`` takes; ``text`` is apart, since it depends on the terminal."""


def render(report: Report, form: str) -> str:
    """The report in one of the ``FORMS``, whose module is imported only now."""
    module, name = _RENDERERS[form]
    text: str = getattr(import_module(module), name)(report)
    return text
