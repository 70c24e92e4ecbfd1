"""One operator: its newest report, those before it, and what was changed; and each report by its number."""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Final

from flask import Blueprint, abort, url_for

from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Markup, blocks, element
from advisor.report.wording import utc
from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.drawn import Drawn, drawing
from advisor.web.layout import present
from advisor.web.pages.moves import moves, number, wait
from advisor.web.state import Service
from advisor.web.values import row_values, status_values
from advisor.web.view import View, moment

__all__ = ["register"]

_TRIED: Final = 50
"""Reports of an operator's history on its page."""
Draw = Callable[[ReportRow], Drawn | None]
_SKIP: Final = "Skip to the advice"


def register(routes: Blueprint, service: Service) -> None:
    """``/operators/NAME`` and ``/reports/NUMBER``."""
    draw = drawing(service)
    routes.add_url_rule("/operators/<path:name>", "operator", lambda name: present(_operator(service, draw, name)))
    routes.add_url_rule("/reports/<int:number>", "report", lambda number: present(_report(service, draw, number)))


def _operator(service: Service, draw: Draw, name: str) -> View:
    status = service.status(name)
    if status is None:
        abort(HTTPStatus.NOT_FOUND, f"there is no operator {name!r} here")
    row = status.report
    drawn = None if row is None else draw(row)
    troubles = [element("p", f"{one.text}.", class_="stale") for one in service.troubles() if one.operator == name]
    if row is None or drawn is None:
        header = element("header", blocks([element("h1", name), *troubles]))
        sections = [Section("data", "No report yet", _failure(status))]
        return View(title=name, header=header, sections=sections, data=status_values(status), operator=name)
    notes = [*([_failure(status)] if status.failure is not None else []), *troubles]
    since = element("p", "As of ", moment(row.time), f", {age_text(service.clock() - row.time)} ago.")
    title = element("p", element("strong", name), class_="source")
    header = blocks([element("div", title, since, *notes), drawn.header])
    sections = [*drawn.sections, *_history(service, name)]

    def data() -> Mapping[str, object]:
        return {**status_values(status), "document": service.report(row)}

    return View(title=name, header=header, sections=sections, skip=_SKIP, data=data, operator=name)


def _failure(status: OperatorStatus) -> Markup:
    if status.failure is None:
        return element("p", "It has not been analysed yet.", class_="empty")
    row = status.failure
    parts = (moment(row.time), f": {row.failure.error}", f" ({row.failure.where})" if row.failure.where else None)
    hint = element("p", row.failure.hint, class_="about") if row.failure.hint else None
    return blocks([element("p", "The last try failed at ", *parts, class_="stale"), hint])


def _history(service: Service, name: str) -> Iterator[Section]:
    reports = service.store.reports(name, limit=_TRIED)
    if len(reports) > 1:
        rows = (
            (
                element("a", moment(one.time), href=url_for("pages.report", number=one.id)),
                one.verdict.severity.value,
                one.verdict.finding.value,
                ", ".join(moves(one.verdict)) or "keep all",
                wait(one.verdict),
            )
            for one in reports
        )
        table = wide_table("Earlier reports", ("at", "severity", "finding", "do", "queue wait"), rows, numbers=(4,))
        yield Section("history", "Earlier reports", table)
    changes = service.store.changes(name)
    if changes:
        cells = ((moment(one.time), one.setting, number(one.before), number(one.after)) for one in changes)
        table = wide_table("Changes of settings", ("at", "setting", "before", "after"), cells, numbers=(2, 3))
        yield Section("changes", "Changes of settings", table)


def _report(service: Service, draw: Draw, number: int) -> View:
    row = service.store.row(number)
    drawn = None if row is None else draw(row)
    if row is None or drawn is None:
        abort(HTTPStatus.NOT_FOUND, f"there is no report {number} any more")
    link = element("a", row.operator, href=url_for("pages.operator", name=row.operator))
    title = element("p", "A report of ", link, " as of ", moment(row.time), ".", class_="source")
    header = blocks([element("div", title), drawn.header])
    return View(
        title=f"{row.operator} at {utc(row.time)}",
        header=header,
        sections=drawn.sections,
        skip=_SKIP,
        data=lambda: {**row_values(row), "document": service.report(row)},
        operator=row.operator,
    )
