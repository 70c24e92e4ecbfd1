"""The two reports of a comparison, for the page and the API."""

from http import HTTPStatus
from typing import Final

from flask import abort

from advisor.model.report import Report
from advisor.store.records import ReportRow
from advisor.store.store import Store
from advisor.web.asked import refuse_report
from advisor.web.state import Service

__all__ = ["both_reports", "report_before", "report_number"]

_LATE_RATIO: Final = 0.5
"""A report is still the one of an hour ago where it is up to half an hour older."""
_LONGEST_NUMBER: Final = 18


def report_number(store: Store, parameter: str, text: str) -> ReportRow:
    """The report whose number a parameter gives; else the request ends with what is wrong."""
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST_NUMBER:
        abort(HTTPStatus.BAD_REQUEST, f"{parameter} is the number of a report, not {text!r:.40}")
    row = store.row(int(text))
    if row is None:
        refuse_report(text)
    return row


def both_reports(service: Service, first: ReportRow, second: ReportRow) -> tuple[Report, Report]:
    """The whole reports of two rows; where one was dropped meanwhile the request ends with that."""
    return _whole(service, first), _whole(service, second)


def _whole(service: Service, row: ReportRow) -> Report:
    report = service.report(row)
    if report is None:
        refuse_report(row.id)
    return report


def report_before(store: Store, newest: ReportRow, seconds: float) -> ReportRow | None:
    """The report so many seconds before another one of the same operator, or a little earlier."""
    until = newest.time - seconds
    since = until - _LATE_RATIO * seconds
    found = store.reports(newest.operator, since=since, until=until, before_id=newest.id, limit=1)
    return found[0] if found else None
