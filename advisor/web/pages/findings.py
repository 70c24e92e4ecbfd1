"""What each finding means."""

from collections.abc import Iterable
from http import HTTPStatus

import msgspec
from flask import Blueprint, abort, url_for

from advisor.diagnosis.findings import RULES
from advisor.diagnosis.rule import Rule
from advisor.diagnosis.thresholds import Thresholds
from advisor.report.document import Section, wide_table
from advisor.report.markup import blocks, element
from advisor.web.layout import present
from advisor.web.state import Service
from advisor.web.view import View

__all__ = ["register"]


def register(routes: Blueprint, service: Service) -> None:  # noqa: ARG001 - all pages are registered alike
    """``/findings`` and ``/findings/CODE``."""
    routes.add_url_rule("/findings", "findings", lambda: present(_findings()))
    routes.add_url_rule("/findings/<code>", "finding", lambda code: present(_finding(code)))


def _findings() -> View:
    header = element("header", element("h1", "Findings"), element("p", "What the advisor can find, and what it means."))
    rows = (
        (
            element("a", element("code", rule.code.value), href=url_for("pages.finding", code=rule.code.value)),
            rule.title,
        )
        for rule in _rules()
    )
    table = wide_table("All findings", ("code", "means"), rows)
    data = [{"code": rule.code.value, "title": rule.title} for rule in _rules()]
    return View(title="Findings", header=header, sections=[Section("all", "All findings", table)], data=data)


def _finding(code: str) -> View:
    rule = next((one for one in _rules() if one.code.value == code), None)
    if rule is None:
        abort(HTTPStatus.NOT_FOUND, f"there is no finding {code!r}")
    page, defaults = rule.page, Thresholds()
    header = element("header", element("h1", element("code", code)), element("p", f"{rule.title}. {page.meaning}"))
    limits = [
        element("li", element("code", f"thresholds.{one} = {getattr(defaults, one):g}")) for one in page.thresholds
    ]
    found = blocks([element("p", page.condition), element("ul", blocks(limits)) if limits else None])
    sections = [
        Section("when", "When it is found", found),
        Section("refuted", "What would refute it", element("p", page.refuted_by)),
        Section("do", "What to do", element("p", page.what_to_do)),
        Section("avoid", "What not to do", element("p", page.what_not_to_do)),
        Section("rests", "What it rests on", element("p", page.rests_on)),
    ]
    return View(title=code, header=header, sections=sections, data={"title": rule.title, **msgspec.to_builtins(page)})


def _rules() -> Iterable[Rule]:
    return RULES
