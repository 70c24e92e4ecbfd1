"""Two times of one operator, or two operators, side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from flask import Blueprint, abort, request, url_for

from advisor.analysis.compare import compare
from advisor.report.comparisonhtml import comparison_header, comparison_sections
from advisor.report.document import Section
from advisor.report.markup import Markup, blocks, element
from advisor.report.wording import utc
from advisor.store.records import ReportRow
from advisor.web.comparing import both_reports, report_before, report_number
from advisor.web.layout import present
from advisor.web.state import Service
from advisor.web.values import row_values
from advisor.web.view import View, moment

__all__ = ["earlier_links", "register"]

_HOUR: Final = 3600.0
_DAY: Final = 86_400.0
_SPANS: Final = ((_HOUR, "an hour ago"), (_DAY, "a day ago"), (7 * _DAY, "a week ago"))
_EACH: Final = 12
"""So many of the newest reports are offered each; of older ones one an hour for a day, then one a day."""
_ABOUT: Final = (
    "The first is taken for before, the second for after: better means that the second does better, in proportion to "
    "its load."
)


def register(routes: Blueprint, service: Service) -> None:
    """``/compare``."""
    routes.add_url_rule("/compare", "compare", lambda: present(_compare(service)))


def earlier_links(service: Service, newest: ReportRow) -> list[Markup]:
    """Links to compare an operator's newest report with those an hour, a day and a week before, as far as they are."""
    found = [(report_before(service.store, newest, span), text) for span, text in _SPANS]
    return [
        element("a", text, href=url_for("pages.compare", a=row.id, b=newest.id))
        for row, text in found
        if row is not None
    ]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """One side: an operator, and which of its reports; None where it has none."""

    operator: str
    row: ReportRow | None


def _compare(service: Service) -> View:
    names = [one.operator for one in service.store.statuses() if one.report is not None]
    about = element("header", element("h1", "Compare"), element("p", _ABOUT))
    if not names:
        text = "There is nothing to compare yet: no operator has been analysed."
        sections = [Section("choose", "Choose", element("p", text, class_="empty"))]
        return View(title="Compare", header=about, sections=sections, data={"reports": [], "comparison": None})
    sides = _sides(service, names)
    form = _form(service, names, sides)
    first, second = (one.row for one in sides)
    if first is None or second is None or first.id == second.id:
        text = "There is one report only. Choose another operator, or come back when there is a second."
        sections = [Section("none", "Nothing to compare", element("p", text, class_="empty"))]
        rows = [row_values(one) for one in (first, second) if one is not None]
        data = {"reports": rows, "comparison": None}
        return View(title="Compare", header=blocks([about, form]), sections=sections, data=data)
    before, after = both_reports(service, first, second)
    comparison = compare(before, after, service.change_rules().comparison)
    header = blocks([form, element("div", *_titles(first, second)), comparison_header(comparison)])
    return View(
        title=f"{first.operator} at {utc(first.time)} and {second.operator} at {utc(second.time)}",
        header=header,
        sections=list(comparison_sections(comparison)),
        skip="Skip to the reasons",
        data={"reports": [row_values(first), row_values(second)], "comparison": comparison},
        operator=first.operator if first.operator == second.operator else "",
    )


def _titles(first: ReportRow, second: ReportRow) -> Iterator[Markup]:
    for name, row in (("Before: ", first), ("After: ", second)):
        operator = element("a", row.operator, href=url_for("pages.operator", name=row.operator))
        report = element("a", moment(row.time), href=url_for("pages.report", number=row.id))
        yield element("p", name, operator, ", report of ", report, class_="source")
    swapped = url_for("pages.compare", a=second.id, b=first.id)
    yield element("p", element("a", "The other way round", href=swapped), class_="source")


def _sides(service: Service, names: Sequence[str]) -> tuple[_Chosen, _Chosen]:
    """What is asked for: reports by their numbers, else the newest ones of the operators."""
    given = [_given(service, name) for name in ("a", "b")]
    operators = [_operator(names, parameter, row) for parameter, row in zip(("from", "to"), given, strict=True)]
    if request.args.get("to") is None and given[1] is None:
        operators[1] = operators[0]
    second = _of(service, operators[1], given[1])
    first = _of(service, operators[0], given[0])
    if first.row is not None and second.row is not None and first.row.id == second.row.id:
        first = _Chosen(first.operator, _one_before(service, first.row))
    return first, second


def _given(service: Service, parameter: str) -> ReportRow | None:
    """The report that a parameter names; None where it names none."""
    text = request.args.get(parameter, "")
    return report_number(service.store, parameter, text) if text else None


def _operator(names: Sequence[str], parameter: str, row: ReportRow | None) -> str:
    name = request.args.get(parameter)
    if name is None:
        return names[0] if row is None else row.operator
    if name not in names:
        abort(HTTPStatus.NOT_FOUND, f"there is no report of an operator {name!r} here")
    return name


def _of(service: Service, operator: str, row: ReportRow | None) -> _Chosen:
    """A report of an operator: the one given, unless it is another operator's; else the newest."""
    if row is not None and row.operator == operator:
        return _Chosen(operator, row)
    return _Chosen(operator, service.store.latest(operator))


def _one_before(service: Service, row: ReportRow) -> ReportRow | None:
    """The report of an hour before, else the oldest one before; None where there is none."""
    found = report_before(service.store, row, _HOUR)
    if found is not None:
        return found
    earlier = [number for number, _ in service.store.report_times(row.operator) if number < row.id]
    return service.store.row(earlier[-1]) if earlier else None


def _form(service: Service, names: Sequence[str], sides: Sequence[_Chosen]) -> Markup:
    fields = []
    for side, operator, report, word in zip(sides, ("from", "to"), ("a", "b"), ("before", "after"), strict=True):
        options = [_option(name, name, is_chosen=name == side.operator) for name in names]
        fields.append(element("label", f"{word}: operator", element("select", blocks(options), name=operator)))
        chosen = None if side.row is None else side.row.id
        times = [
            _option(f"{number}", f"{utc(time)} UTC", is_chosen=number == chosen)
            for number, time in _offered(service.store.report_times(side.operator), chosen)
        ]
        choices = blocks([_option("", "newest", is_chosen=False), *times])
        fields.append(element("label", f"{word}: report", element("select", choices, name=report)))
    told = element("p", "Reports of another operator are offered once it is chosen.", class_="about")
    button = element("button", "Compare")
    return element("form", *fields, button, told, class_="search", method="get", action=url_for("pages.compare"))


def _option(value: str, text: str, *, is_chosen: bool) -> Markup:
    return element("option", text, value=value, selected="" if is_chosen else None)


def _offered(times: Sequence[tuple[int, float]], chosen: int | None) -> Iterator[tuple[int, float]]:
    """Reports to choose from: all of the newest, then fewer the older they are; the chosen one in any case."""
    taken: set[tuple[float, int]] = set()
    for place, (number, time) in enumerate(times):
        step = _HOUR if times[0][1] - time < _DAY else _DAY
        slot = (step, int(time // step))
        if place < _EACH or slot not in taken or number == chosen:
            taken.add(slot)
            yield number, time
