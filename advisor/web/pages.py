"""The pages for people: all operators, one operator, one report, findings explained, and where data comes from."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Final

from flask import Blueprint, Response, abort, request, url_for

from advisor.diagnosis.findings import RULES
from advisor.diagnosis.rule import Rule
from advisor.diagnosis.thresholds import Thresholds
from advisor.model.finding import Severity
from advisor.model.fleet import FleetKnob, FleetVerdict
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.htmlreport import report_header, report_sections
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.wording import utc
from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.layout import respond, sheet
from advisor.web.scheduler import RunState
from advisor.web.spark import draw_spark
from advisor.web.state import Service

__all__ = ["blueprint"]

_TRIED: Final = 50
"""Reports of an operator's history on its page."""
_TREND: Final = 24
"""Reports that a sparkline is drawn from."""
_UNKNOWN: Final = "-"


def blueprint(service: Service) -> Blueprint:
    """All pages."""
    pages = Blueprint("pages", __name__)

    @pages.get("/style-<digest>.css")
    def style(digest: str) -> Response:
        text, known = sheet()
        response = Response(text, content_type="text/css; charset=utf-8")
        if digest == known:
            response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response

    @pages.get("/")
    def fleet() -> Response:
        return _fleet(service)

    @pages.get("/operators/<path:name>")
    def operator(name: str) -> Response:
        return _operator(service, name)

    @pages.get("/reports/<int:number>")
    def report(number: int) -> Response:
        return _report(service, number)

    @pages.get("/findings")
    def findings() -> Response:
        return _findings()

    @pages.get("/findings/<code>")
    def finding(code: str) -> Response:
        return _finding(code)

    @pages.get("/data")
    def data() -> Response:
        return _data(service)

    return pages


def _fleet(service: Service) -> Response:
    wanted, severity = request.args.get("q", "").strip(), request.args.get("severity", "")
    statuses = sorted(service.store.statuses(), key=_rank)
    shown = [one for one in statuses if wanted.lower() in one.operator.lower() and severity in ("", _severity(one))]
    now = service.clock()
    counts = [(sum(_severity(one) == each for one in statuses), each) for each in (*Severity, "unknown")]
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
    return respond(
        "Operators", header, [Section("operators", "Worst first", blocks([_search(wanted, severity), content]))]
    )


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
        return [name, "unknown", why, _UNKNOWN, _UNKNOWN, "", _UNKNOWN]
    verdict = row.verdict
    wait = verdict.queue_wait_seconds
    code = verdict.finding.value
    trend = [one.verdict.queue_wait_seconds for one in reversed(service.store.reports(status.operator, limit=_TREND))]
    return [
        name,
        element("span", verdict.severity.value, class_=f"badge {verdict.severity.value}"),
        element("a", code, href=url_for("pages.finding", code=code)),
        ", ".join(_moves(verdict)) or "keep all",
        _UNKNOWN if wait is None else format_value(wait, Unit.SECONDS),
        draw_spark(trend, f"mean queue wait of the last {len(trend)} reports"),
        _age(row, status, now, service.stale_seconds),
    ]


def _moves(verdict: FleetVerdict) -> Iterator[str]:
    for name, knob in (("concurrency", verdict.concurrency), ("QPS", verdict.qps), ("burst", verdict.burst)):
        if knob.value is not None and knob.value != knob.current:
            yield f"{name} {_value(knob)} -> {knob.value:g}"


def _value(knob: FleetKnob) -> str:
    if knob.current is None:
        return "?"
    return "off" if knob.current < 0 else f"{knob.current:g}"


def _age(row: ReportRow, status: OperatorStatus, now: float, stale_seconds: float) -> Child:
    until = row.verdict.data_until
    age = now - (row.time if until is None else until)
    text = f"{age_text(age)} ago"
    if status.failure is not None:
        text += "; the last try failed"
    return element("span", text, class_="stale") if age > stale_seconds or status.failure is not None else text


def _severity(status: OperatorStatus) -> str:
    return "unknown" if status.report is None else status.report.verdict.severity.value


def _rank(status: OperatorStatus) -> tuple[int, float, str]:
    if status.report is None:
        # What cannot be seen may be worse than what is seen to be well.
        return (Severity.WARNING.rank, 0.0, status.operator)
    verdict = status.report.verdict
    return (verdict.severity.rank, -verdict.lost_seconds, status.operator)


def _operator(service: Service, name: str) -> Response:
    status = service.status(name)
    if status is None:
        abort(HTTPStatus.NOT_FOUND, f"there is no operator {name!r} here")
    report = None if status.report is None else service.report(status.report)
    if status.report is None or report is None:
        header = element("header", element("h1", name))
        return respond(name, header, [Section("data", "No report yet", _failure(status))])
    notes = [_failure(status)] if status.failure is not None else []
    since = element("p", f"As of {utc(status.report.time)}, {age_text(service.clock() - status.report.time)} ago.")
    title = element("p", element("strong", name), class_="source")
    header = blocks([element("div", title, since, *notes), report_header(report)])
    sections = [*report_sections(report), *_history(service, name)]
    return respond(name, header, sections, skip="Skip to the advice")


def _failure(status: OperatorStatus) -> Markup:
    if status.failure is None:
        return element("p", "It has not been analysed yet.", class_="empty")
    row = status.failure
    parts = (f"{utc(row.time)}: {row.failure.error}", f" ({row.failure.where})" if row.failure.where else None)
    hint = element("p", row.failure.hint, class_="about") if row.failure.hint else None
    return blocks([element("p", "The last try failed at ", *parts, class_="stale"), hint])


def _history(service: Service, name: str) -> Iterator[Section]:
    reports = service.store.reports(name, limit=_TRIED)
    if len(reports) > 1:
        rows = (
            (
                element("a", utc(one.time), href=url_for("pages.report", number=one.id)),
                one.verdict.severity.value,
                one.verdict.finding.value,
                ", ".join(_moves(one.verdict)) or "keep all",
                _wait(one.verdict),
            )
            for one in reports
        )
        table = wide_table("Earlier reports", ("at", "severity", "finding", "do", "queue wait"), rows, numbers=(4,))
        yield Section("history", "Earlier reports", table)
    changes = service.store.changes(name)
    if changes:
        cells = ((utc(one.time), one.setting, _number(one.before), _number(one.after)) for one in changes)
        table = wide_table("Changes of settings", ("at", "setting", "before", "after"), cells, numbers=(2, 3))
        yield Section("changes", "Changes of settings", table)


def _wait(verdict: FleetVerdict) -> str:
    wait = verdict.queue_wait_seconds
    return _UNKNOWN if wait is None else format_value(wait, Unit.SECONDS)


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:g}"


def _report(service: Service, number: int) -> Response:
    row = service.store.row(number)
    report = None if row is None else service.report(row)
    if row is None or report is None:
        abort(HTTPStatus.NOT_FOUND, f"there is no report {number} any more")
    link = element("a", row.operator, href=url_for("pages.operator", name=row.operator))
    title = element("p", "A report of ", link, f" as of {utc(row.time)}.", class_="source")
    header = blocks([element("div", title), report_header(report)])
    return respond(
        f"{row.operator} at {utc(row.time)}", header, list(report_sections(report)), skip="Skip to the advice"
    )


def _findings() -> Response:
    header = element("header", element("h1", "Findings"), element("p", "What the advisor can find, and what it means."))
    rows = (
        (
            element("a", element("code", rule.code.value), href=url_for("pages.finding", code=rule.code.value)),
            rule.title,
        )
        for rule in _rules()
    )
    table = wide_table("All findings", ("code", "means"), rows)
    return respond("Findings", header, [Section("all", "All findings", table)])


def _finding(code: str) -> Response:
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
    return respond(code, header, sections)


def _rules() -> Iterable[Rule]:
    return RULES


def _data(service: Service) -> Response:
    now = service.clock()
    header = element("header", element("h1", "Data"), element("p", "Where reports come from, and how that goes."))
    problem = service.store.problem
    notes = [element("p", problem, class_="stale")] if problem else []
    rows = [_source(service, one, now) for one in service.targets()]
    heads = ("operator", "source", "next", "took", "failures in a row", "last error")
    table = (
        wide_table("Sources", heads, rows, numbers=(3, 4))
        if rows
        else element("p", "No source is configured.", class_="empty")
    )
    size = element("p", f"The history takes {service.store.size_bytes() / 1e6:.1f} MB.")
    sections = [Section("sources", "Sources", blocks([*notes, table])), Section("history", "History", size)]
    return respond("Data", header, sections)


def _source(service: Service, state: RunState, now: float) -> list[Child]:
    if state.hangs:
        following = "hangs"
    elif state.running_since is not None:
        following = f"since {max(0.0, now - state.running_since):.0f} s"
    else:
        following = f"in {max(0.0, state.next_due - now):.0f} s"
    took, failure = state.last_duration_seconds, state.last_failure
    error = None if failure is None else element("span", failure.error, class_="stale")
    return [
        state.name,
        service.kind(state.name) or _UNKNOWN,
        following,
        _UNKNOWN if took is None else format_value(took, Unit.SECONDS),
        f"{state.failures}",
        error,
    ]
