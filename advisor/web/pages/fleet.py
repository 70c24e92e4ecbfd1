"""All operators, worst first."""

from typing import Final

from flask import Blueprint, request, url_for

from advisor.model.finding import Severity
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Child, Markup, blocks, element
from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.layout import present
from advisor.web.pages.moves import UNKNOWN, moves, severity_of
from advisor.web.spark import draw_spark
from advisor.web.state import Service
from advisor.web.values import status_values
from advisor.web.view import View

__all__ = ["register"]

_TREND: Final = 24
"""Reports that a sparkline is drawn from."""


def register(routes: Blueprint, service: Service) -> None:
    """``/``."""
    routes.add_url_rule("/", "fleet", lambda: present(_fleet(service)))


def _fleet(service: Service) -> View:
    wanted, severity = request.args.get("q", "").strip(), request.args.get("severity", "")
    statuses = sorted(service.store.statuses(), key=_rank)
    shown = [one for one in statuses if wanted.lower() in one.operator.lower() and severity in ("", severity_of(one))]
    now = service.clock()
    counts = [(sum(severity_of(one) == each for one in statuses), each) for each in (*Severity, "unknown")]
    told = ", ".join(f"{count} {each}" for count, each in counts if count) or "none has been analysed yet"
    header = element("header", element("h1", "KubeRay operators"), element("p", f"{len(statuses)}: {told}"))
    if shown:
        heads = ("operator", "severity", "finding", "do", "queue wait", "trend", "data")
        rows = [_row(service, one, now) for one in shown]
        content = wide_table("Operators, worst first", heads, rows, numbers=(4,))
    elif statuses:
        content = element("p", "No operator is like that.", class_="empty")
    else:
        text = "Nothing has been analysed yet. The first reports come within a minute; Data tells how it goes."
        content = element("p", text, class_="empty")
    sections = [Section("operators", "Worst first", blocks([_search(wanted, severity), content]))]
    data = [status_values(one) for one in shown]
    return View(title="Operators", header=header, sections=sections, data=data)


def _search(wanted: str, severity: str) -> Markup:
    options = [
        element("option", text, value=value, selected="" if value == severity else None)
        for value, text in (("", "any"), *((one.value, one.value) for one in Severity), ("unknown", "unknown"))
    ]
    return element(
        "form",
        element("label", "name", element("input", type="search", name="q", value=wanted)),
        element("label", "severity", element("select", blocks(options), name="severity")),
        element("button", "Filter"),
        class_="search",
        role="search",
        method="get",
        action=url_for("pages.fleet"),
    )


def _row(service: Service, status: OperatorStatus, now: float) -> list[Child]:
    name = element("a", status.operator, href=url_for("pages.operator", name=status.operator))
    row = status.report
    if row is None:
        failure = status.failure
        why = "not analysed yet" if failure is None else failure.failure.error
        return [name, "unknown", why, UNKNOWN, UNKNOWN, "", UNKNOWN]
    verdict = row.verdict
    wait = verdict.queue_wait_seconds
    code = verdict.finding.value
    trend = [one.verdict.queue_wait_seconds for one in reversed(service.store.reports(status.operator, limit=_TREND))]
    return [
        name,
        element("span", verdict.severity.value, class_=f"badge {verdict.severity.value}"),
        element("a", code, href=url_for("pages.finding", code=code)),
        ", ".join(moves(verdict)) or "keep all",
        UNKNOWN if wait is None else format_value(wait, Unit.SECONDS),
        draw_spark(trend, f"mean queue wait of the last {len(trend)} reports"),
        _age(row, status, now, service.stale_seconds),
    ]


def _age(row: ReportRow, status: OperatorStatus, now: float, stale_seconds: float) -> Child:
    until = row.verdict.data_until
    age = now - (row.time if until is None else until)
    text = f"{age_text(age)} ago"
    if status.failure is not None:
        text += "; the last try failed"
    return element("span", text, class_="stale") if age > stale_seconds or status.failure is not None else text


def _rank(status: OperatorStatus) -> tuple[int, float, str]:
    if status.report is None:
        # What cannot be seen may be worse than what is seen to be well.
        return (Severity.WARNING.rank, 0.0, status.operator)
    verdict = status.report.verdict
    return (verdict.severity.rank, -verdict.lost_seconds, status.operator)
