"""What a page shows, before it takes a form: as a page of the service, or as a file to keep."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus

from advisor.report.document import Section
from advisor.report.markup import Markup, element
from advisor.report.wording import utc

__all__ = ["View", "moment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One page.

    Attributes:
        title: for the browser, without the program's name.
        header: what stands above the sections.
        sections: at least one.
        data: the same as values, for the page as JSON; whatever msgspec writes, or a function that makes it where few
            ask for it and it takes time. None where there is nothing to keep: then the page has no other form.
        operator: whose page it is, which gives it the operator's other pages in its navigation; "" for none.
        skip: text of the link past the header.
        status: of the answer.
        refresh_seconds: when a browser asks again, while the page shows something that goes on; 0 for never.
    """

    title: str
    header: Markup
    sections: Sequence[Section]
    data: object = field(default=None, compare=False)
    operator: str = ""
    skip: str = "Skip to the content"
    status: HTTPStatus = HTTPStatus.OK
    refresh_seconds: int = 0


def moment(unix_seconds: float) -> Markup:
    """A time as UTC; where scripts run, it is shown in the reader's zone."""
    stamp = datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return element("time", f"{utc(unix_seconds)} UTC", datetime=stamp)
