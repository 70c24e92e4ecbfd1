"""Reports as they stand on pages, drawn once: a report never changes, and drawing one takes longer than all else."""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from advisor.report.document import Section
from advisor.report.htmlreport import report_header, report_sections
from advisor.report.markup import Markup
from advisor.store.records import ReportRow
from advisor.web.state import Service

__all__ = ["Drawn", "drawing"]

_MOST: Final = 256
"""Of some 60 kB each."""


class Drawn(NamedTuple):
    """What a report has above its sections, and these."""

    header: Markup
    sections: tuple[Section, ...]


class _GoneError(Exception):
    """The report is no longer kept; raised and not returned, so that it is not remembered."""


def drawing(service: Service) -> Callable[[ReportRow], Drawn | None]:
    """A function that draws a report, or gives the last drawing of it; None where it is no longer kept."""

    @lru_cache(_MOST)
    def draw(row: ReportRow) -> Drawn:
        report = service.report(row)
        if report is None:
            raise _GoneError
        return Drawn(report_header(report), tuple(report_sections(report)))

    def drawn(row: ReportRow) -> Drawn | None:
        try:
            return draw(row)
        except _GoneError:
            return None

    return drawn
