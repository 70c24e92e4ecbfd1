"""What reports tell of priorities: the finding of starvation, depths by priority, and how the queue wait went."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from flask import url_for

from advisor.model.finding import FindingCode
from advisor.model.report import Report
from advisor.model.signal import Unit
from advisor.report.charts import Chart, Line
from advisor.report.document import Section, wide_table
from advisor.report.markup import Markup, blocks, element
from advisor.store.records import ReportRow
from advisor.web.pages.reportkeys import finding_rows
from advisor.web.pages.spans import Span, any_known, charts, count, seconds
from advisor.web.state import Service
from advisor.web.view import moment

__all__ = ["report_priorities", "starvation_finding"]

_FIGURE: Final = ".depth_by_priority."
_FEWEST_REPORTS: Final = 3
_CLASSIC: Final = "none"


def starvation_finding(row: ReportRow, report: Report) -> Iterator[Markup]:
    """What a report says of starvation, where it does."""
    found = next((one for one in report.findings if one.code is FindingCode.PRIORITY_STARVATION), None)
    if found is not None:
        link = element("a", found.code.value, href=url_for("pages.finding", code=found.code.value))
        whole = element("a", moment(row.time), href=url_for("pages.report", number=row.id))
        yield element("p", "The report as of ", whole, " finds ", link, f": {found.summary}")


def report_priorities(service: Service, name: str, span: Span) -> Iterator[Section]:
    """Depths of the last report by priority, and the mean queue wait of each report."""
    last = service.latest_report(name)
    if last is not None:
        row, report = last
        cells = _cells(report)
        heads = ("controller", "priority", "mean depth", "largest depth", "mean wait, all priorities")
        about = element("p", "Over the time of the report as of ", moment(row.time), ".", class_="about")
        table = wide_table("Depths of the last report", heads, cells, numbers=(2, 3, 4)) if cells else None
        finding = list(starvation_finding(row, report))
        if table or finding:
            yield Section("report", "In the last report", blocks([about, table, *finding]))
    rows, found = finding_rows(service, name, span, FindingCode.PRIORITY_STARVATION)
    waits = [(one.time, one.verdict.queue_wait_seconds) for one in reversed(rows)]
    # A clock that was set back makes times that do not ascend.
    waits = [waits[0], *(after for before, after in pairwise(waits) if after[0] > before[0])] if waits else []
    if len(waits) >= _FEWEST_REPORTS and any_known([value for _, value in waits[1:]]):
        line = Line("mean queue wait", "first", [value for _, value in waits[1:]])
        chart = Chart("Mean queue wait by report", Unit.SECONDS, [time for time, _ in waits], [line], ())
        told = element("p", f"Starvation came first in {len(found)} of {len(rows)} reports of the {span.words}.")
        yield Section("reports", "In reports over time", blocks([told, charts([chart], "reports")]))


def _cells(report: Report) -> list[tuple[str, ...]]:
    """Controller, priority, mean and largest depth, mean wait of the controller."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for name, figure in report.figures.items():
        left, is_depth, right = name.partition(_FIGURE)
        priority, _, kind = right.rpartition(".")
        if is_depth:
            found.setdefault((left.removeprefix("controllers."), priority), {})[kind] = figure.value
    return [
        (
            controller,
            "classic queue" if priority == _CLASSIC else priority,
            count(depths.get("mean")),
            count(depths.get("peak")),
            seconds(_wait(report, controller)),
        )
        for (controller, priority), depths in found.items()
    ]


def _wait(report: Report, controller: str) -> float | None:
    figure = report.figures.get(f"controllers.{controller}.queue_wait_seconds_mean")
    return None if figure is None else figure.value
