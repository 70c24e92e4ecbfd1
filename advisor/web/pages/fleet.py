"""All operators, worst first, or in the order that the address says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from flask import Blueprint, abort, request, url_for

from advisor.model.finding import Severity
from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Child, Markup, blocks, element
from advisor.store.records import OperatorStatus
from advisor.web.layout import present
from advisor.web.pages.fleetorder import COLUMNS, TREND, Order, Page, age_seconds, ordered, page_of
from advisor.web.pages.moves import UNKNOWN, moves, severity_of, wait
from advisor.web.state import Service
from advisor.web.trends import Trend, Trends
from advisor.web.values import status_values
from advisor.web.view import View

__all__ = ["register"]

_ROWS: Final = 100
_LINKS: Final = 4096
_UNKNOWN: Final = "unknown"


class _Asked:
    """What the address asks for; a state that does not exist is refused."""

    def __init__(self) -> None:
        self.text = request.args.get("q", "").strip()
        self.severity = request.args.get("severity", "")
        self.sort = request.args.get("sort", "")
        page = request.args.get("page", "1")
        try:
            self.order = Order.parse(self.sort)
        except ValueError as error:
            abort(HTTPStatus.BAD_REQUEST, f"{error}")
        if not page.isascii() or not page.isdigit() or len(page) > len(str(10**6)):
            abort(HTTPStatus.BAD_REQUEST, f"page is a whole number, not {page!r}")
        self.page = int(page)

    def address(self, **changed: str) -> str:
        """The address of the same with something changed; what is as usual is left out."""
        state = {"q": self.text, "severity": self.severity, "sort": self.sort, **changed}
        told = urlencode([(name, value) for name, value in state.items() if value])
        return url_for("pages.fleet") + (f"?{told}" if told else "")

    def fits(self, status: OperatorStatus) -> bool:
        """Whether an operator passes the filter: a part of its name or finding, and its severity."""
        if self.severity not in ("", severity_of(status)):
            return False
        finding = "" if status.report is None else status.report.verdict.finding.value
        wanted = self.text.casefold()
        return wanted in status.operator.casefold() or wanted in finding


def register(routes: Blueprint, service: Service) -> None:
    """``/``."""
    trends = Trends(service.store)
    routes.add_url_rule("/", "fleet", lambda: present(_fleet(service, trends)))


def _fleet(service: Service, trends: Trends) -> View:
    asked, now = _Asked(), service.clock()
    statuses = service.store.statuses()
    fitting = [one for one in statuses if asked.fits(one)]
    page = page_of(len(fitting), asked.page, _ROWS)
    compared = trends.of(fitting) if asked.order.column.name == TREND else {}
    shown = ordered(fitting, asked.order, now, compared)[page.first - 1 : page.last]
    counts = Counter(map(severity_of, statuses))
    told = ", ".join(f"{counts[each]} {each}" for each in (*Severity, _UNKNOWN) if counts[each])
    summary = element("p", f"{len(statuses)}: {told or 'none has been analysed yet'}")
    header = element("header", element("h1", "Operators"), summary)
    counted = element("p", _count(page, len(fitting), len(statuses)), class_="about") if shown else None
    content = _content(service, asked, shown, trends.of(shown), now)
    parts = [_search(asked), counted, content, _pages(asked, page) if shown else None]
    title = "Worst first" if asked.order == Order() else f"By {asked.order.column.head}"
    sections = [Section("operators", title, blocks(parts))]
    data = partial(_data, page, len(fitting), len(statuses), shown)
    return View(title="Operators", header=header, sections=sections, data=data)


def _data(page: Page, fitting: int, every: int, shown: Sequence[OperatorStatus]) -> Mapping[str, object]:
    operators = [status_values(one) for one in shown]
    return {"count": every, "fitting": fitting, "page": page.number, "pages": page.count, "operators": operators}


def _content(
    service: Service, asked: _Asked, shown: Sequence[OperatorStatus], trends: Mapping[str, Trend], now: float
) -> Markup:
    if shown:
        heads = [element("a", one.head, href=asked.address(sort=asked.order.following(one))) for one in COLUMNS]
        place = COLUMNS.index(asked.order.column)
        sorts = {place: "descending" if asked.order.is_descending else "ascending"}
        rows = [_row(one, trends.get(one.operator), now, service.stale_seconds) for one in shown]
        return wide_table("Operators", heads, rows, numbers=(4,), sorts=sorts)
    if asked.text or asked.severity:
        return element("p", "No operator is like that.", class_="empty")
    text = "Nothing has been analysed yet. The first reports come within a minute; Data tells how it goes."
    return element("p", text, class_="empty")


def _count(page: Page, fitting: int, every: int) -> str:
    """Which operators these are, and of how many."""
    which = f"{page.first} to {page.last} of {fitting}" if page.count > 1 else f"{fitting}"
    return f"{which}{f' that fit, of {every} in all' if fitting < every else ''}"


def _pages(asked: _Asked, page: Page) -> Markup | None:
    """Links to the other pages."""
    if page.count == 1:
        return None
    links = [
        element(
            "a",
            f"{number}",
            href=asked.address(page=f"{number}" if number > 1 else ""),
            aria_current="page" if number == page.number else None,
        )
        for number in range(1, page.count + 1)
    ]
    return element("nav", blocks(["Page", *links]), class_="places", aria_label="Pages of operators")


def _search(asked: _Asked) -> Markup:
    options = [
        element("option", text, value=value, selected="" if value == asked.severity else None)
        for value, text in (("", "any"), *((one.value, one.value) for one in Severity), (_UNKNOWN, _UNKNOWN))
    ]
    return element(
        "form",
        element("label", "name or finding", element("input", type="search", name="q", value=asked.text)),
        element("label", "severity", element("select", blocks(options), name="severity")),
        element("input", type="hidden", name="sort", value=asked.sort) if asked.sort else None,
        element("button", "Filter"),
        class_="search",
        role="search",
        method="get",
        action=url_for("pages.fleet"),
    )


def _row(status: OperatorStatus, trend: Trend | None, now: float, stale_seconds: float) -> list[Child]:
    name = _operator_link(request.root_path, status.operator)
    row = status.report
    if row is None:
        failure = status.failure
        why = "not analysed yet" if failure is None else failure.failure.error
        return [name, _UNKNOWN, why, UNKNOWN, UNKNOWN, "", UNKNOWN]
    verdict = row.verdict
    code = verdict.finding.value
    return [
        name,
        element("span", verdict.severity.value, class_=f"badge {verdict.severity.value}"),
        _finding_link(request.root_path, code),
        ", ".join(moves(verdict)) or "keep all",
        wait(verdict),
        None if trend is None else trend.line,
        _age(status, now, stale_seconds),
    ]


@lru_cache(_LINKS)
def _operator_link(_root: str, name: str) -> Markup:
    """A link, made once: making its address takes longer than the rest of a row. ``_root`` is where the service is."""
    return element("a", name, href=url_for("pages.operator", name=name))


@lru_cache(_LINKS)
def _finding_link(_root: str, code: str) -> Markup:
    return element("a", code, href=url_for("pages.finding", code=code))


def _age(status: OperatorStatus, now: float, stale_seconds: float) -> Child:
    age = age_seconds(status, now) or 0.0
    text = f"{age_text(age)} ago"
    if status.failure is not None:
        text += "; the last try failed"
    return element("span", text, class_="stale") if age > stale_seconds or status.failure is not None else text
