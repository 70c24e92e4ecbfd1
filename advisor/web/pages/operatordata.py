"""What one operator's report was made of: how fresh it is, what was read, by which queries, and what was missing."""

from collections import defaultdict

from flask import Blueprint

from advisor.model.report import Report
from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.wording import missing_by_reason
from advisor.store.records import OperatorStatus
from advisor.web.asked import refuse_operator
from advisor.web.layout import present
from advisor.web.pages.data import SOURCE_HEADS, source_row
from advisor.web.pages.moves import failure_note
from advisor.web.state import Service
from advisor.web.view import View, moment

__all__ = ["register"]


def register(routes: Blueprint, service: Service) -> None:
    """``/data/NAME``."""
    routes.add_url_rule("/data/<path:name>", "operator_data", lambda name: present(_data(service, name)))


def _data(service: Service, name: str) -> View:
    status = service.status(name)
    target = next((one for one in service.targets() if one.name == name), None)
    if status is None and target is None:
        refuse_operator(name)
    row = None if status is None else status.report
    report = None if row is None else service.report(row)
    sections = []
    if target is not None:
        table = wide_table("How it goes", SOURCE_HEADS, [source_row(service, target, service.clock())], numbers=(3, 4))
        sections.append(Section("schedule", "How it goes", table))
    if status is not None:
        sections.append(Section("freshness", "How fresh it is", _freshness(service, status)))
    if report is not None:
        sections += [
            Section("read", "What was read", _read(report)),
            Section("queries", "Queries and what came of them", _queries(report)),
        ]
        if report.missing:
            sections.append(Section("missing", "What is not known", _missing(report)))
    header = element("header", element("h1", name), element("p", "Where its reports come from."))
    data = {
        "schedule": target,
        "report": None if row is None else row.id,
        "source": None if report is None else report.source,
        "queries": {} if report is None else _by_origin(report),
        "missing": () if report is None else report.missing,
    }
    return View(title=f"Data of {name}", header=header, sections=sections, data=data, operator=name)


def _freshness(service: Service, status: OperatorStatus) -> Markup:
    now = service.clock()
    parts: list[Child] = []
    if status.report is None:
        parts.append(element("p", "There is no report yet.", class_="empty"))
    else:
        made = status.report.time
        parts.append(element("p", "The newest report is of ", moment(made), f", {age_text(now - made)} ago."))
        until = status.report.verdict.data_until
        if until is not None:
            age = now - until
            parts.append(element("p", "Its data reach until ", moment(until), f", {age_text(age)} ago."))
            if age > service.stale_seconds:
                parts.append(element("p", "That is older than it should be.", class_="stale"))
    if status.failure is not None:
        parts.append(failure_note(status.failure))
    return blocks(parts)


def _read(report: Report) -> Markup:
    source, window = report.source, report.source.window
    notes = [element("li", element("code", note.where), f": {note.message}") for note in source.notes]
    rows: list[tuple[Child, Child]] = [
        ("source", source.kind),
        ("from", moment(window.start)),
        ("to", moment(window.end)),
        ("samples", f"{source.samples:,}"),
        ("log lines", f"{source.log_lines:,}"),
        ("changes of objects", f"{source.object_changes:,}"),
    ]
    skipped = [element("h3", "Skipped while reading"), element("ul", blocks(notes))] if notes else []
    return blocks([wide_table("What was read", ("what", "how much"), rows), *skipped])


def _by_origin(report: Report) -> dict[str, list[str]]:
    """The figures that came of each query, file or line."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, figure in report.figures.items():
        found[figure.origin].append(name)
    return dict(found)


def _queries(report: Report) -> Markup:
    rows = [(element("code", origin), _names(names)) for origin, names in _by_origin(report).items()]
    if not rows:
        return element("p", "No figure came of what was read.", class_="empty")
    return wide_table("Queries and what came of them", ("query, or place in the input", "figures"), rows)


def _missing(report: Report) -> Markup:
    rows = [(reason, _names(names)) for reason, names in missing_by_reason(report).items()]
    return wide_table("What is not known", ("why", "figures"), rows)


def _names(names: list[str]) -> Markup:
    return element("code", ", ".join(names))
