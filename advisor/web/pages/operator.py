"""One operator: its newest report, those before it, and what was changed; and each report by its number."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from flask import Blueprint, url_for

from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.wording import utc
from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.asked import known_status, refuse_report
from advisor.web.changes import changes_of
from advisor.web.drawn import Drawn, drawing
from advisor.web.layout import present
from advisor.web.pages.changes import change_title, outcome_of
from advisor.web.pages.compare import earlier_links
from advisor.web.pages.moves import failure_note, moves, wait
from advisor.web.state import Service
from advisor.web.values import row_values, status_values
from advisor.web.view import View, moment

__all__ = ["register"]

_TRIED: Final = 50
"""Reports of an operator's history on its page."""
Draw = Callable[[ReportRow], Drawn | None]
_CHANGES: Final = 5
_SKIP: Final = "Skip to the advice"


def register(routes: Blueprint, service: Service) -> None:
    """``/operators/NAME`` and ``/reports/NUMBER``."""
    draw = drawing(service)
    routes.add_url_rule("/operators/<path:name>", "operator", lambda name: present(_operator(service, draw, name)))
    routes.add_url_rule("/reports/<int:number>", "report", lambda number: present(_report(service, draw, number)))


def _operator(service: Service, draw: Draw, name: str) -> View:
    status = known_status(service, name)
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
    links = earlier_links(service, row)
    earlier = [element("p", "Compare with ", *_listed(links), class_="source")] if links else []
    header = blocks([element("div", title, since, *earlier, *notes), drawn.header])
    sections = [*drawn.sections, *_history(service, name)]

    def data() -> Mapping[str, object]:
        return {**status_values(status), "document": service.report(row)}

    return View(title=name, header=header, sections=sections, skip=_SKIP, data=data, operator=name)


def _listed(links: Sequence[Markup]) -> Iterator[Child]:
    for place, link in enumerate(links):
        yield ", " if place else None
        yield link


def _failure(status: OperatorStatus) -> Markup:
    if status.failure is None:
        return element("p", "It has not been analysed yet.", class_="empty")
    return failure_note(status.failure)


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
    changes = changes_of(service.store, name, service.clock(), service.change_rules(), limit=_CHANGES)
    if changes:
        cells = ((moment(one.time), change_title(one), outcome_of(one)) for one in changes)
        table = wide_table("Changes of settings", ("seen", "set", "came of it"), cells)
        more = element("a", "What was predicted, and what was measured", href=url_for("pages.changes", name=name))
        yield Section("changes", "Changes of settings", blocks([table, element("p", more)]))


def _report(service: Service, draw: Draw, number: int) -> View:
    row = service.store.row(number)
    drawn = None if row is None else draw(row)
    if row is None or drawn is None:
        refuse_report(number)
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
