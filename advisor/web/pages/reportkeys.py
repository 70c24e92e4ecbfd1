"""What reports tell of keys, and what to say where nothing else does."""

from collections.abc import Iterator
from typing import Final

from flask import url_for

from advisor.model.finding import FindingCode
from advisor.report.document import Section, wide_table
from advisor.report.markup import Markup, blocks, element
from advisor.report.wording import KEY_HEADS, key_cells
from advisor.store.records import ReportRow
from advisor.web.pages.spans import Span
from advisor.web.state import Service
from advisor.web.view import moment

__all__ = ["empty_keys", "finding_rows", "get_a_sidecar", "report_keys"]

_MOST_REPORTS: Final = 1000
"""A week of an analysis in five minutes, thinned after two days, is less, unless verdicts flap."""
_MOST_SHOWN: Final = 20
_SIDECAR: Final = """\
kuberay-advisor sidecar --log-file /var/log/kuberay/operator.log    # in the operator's Pod

[[operators]]
name = "this operator"
sidecar = { url = "http://POD:8090" }
"""


def empty_keys(service: Service, name: str, span: Span) -> Section:
    """Why there is no history of keys, and how to get one."""
    if service.kind(name) != "sidecar":
        text = (
            "No metric of the operator tells which keys take its workers' time: its log does, and a sidecar follows "
            "it. What reports say of keys is below."
        )
        return Section("heaviest", "Heaviest keys", blocks([element("p", text, class_="empty"), *get_a_sidecar()]))
    if service.store.sampled_until(name) is None:
        text = "Nothing that the sidecar tells has been kept yet; two scrapes are needed, so it takes half a minute."
    else:
        text = (
            f"The sidecar told of no key in the {span.words}: it was not reached, it reads no log, or nothing has been "
            "reconciled since it started."
        )
    return Section("heaviest", "Heaviest keys", element("p", text, class_="empty"))


def get_a_sidecar() -> Iterator[Markup]:
    """What to do to know more."""
    yield element("p", "How to get it: run a sidecar beside the operator, and name it here in the place of the source.")
    yield element("pre", element("code", _SIDECAR))


def report_keys(service: Service, name: str, span: Span) -> Iterator[Section]:
    """The keys of the last report, and how often a hot key was its first finding."""
    last = service.latest_report(name)
    if last is not None and (cells := key_cells(last[1])):
        about = element("p", "Over the time of the report as of ", moment(last[0].time), ".", class_="about")
        table = wide_table("Keys of the last report", KEY_HEADS, cells, numbers=range(1, len(KEY_HEADS)))
        yield Section("report", "In the last report", blocks([about, table]))
    rows, found = finding_rows(service, name, span, FindingCode.HOT_KEY)
    if rows:
        link = element("a", "hot-key", href=url_for("pages.finding", code=FindingCode.HOT_KEY.value))
        told = f" came first in {len(found)} of {len(rows)} reports of the {span.words}."
        parts = [element("p", element("strong", link), told)]
        if found:
            links = (
                element("li", element("a", moment(one.time), href=url_for("pages.report", number=one.id)))
                for one in found[:_MOST_SHOWN]
            )
            parts.append(element("ul", blocks(links)))
        yield Section("reports", "In reports over time", blocks(parts))


def finding_rows(service: Service, name: str, span: Span, code: FindingCode) -> tuple[list[ReportRow], list[ReportRow]]:
    """Reports of a time, the newest first; and those of them in which a finding came first."""
    since = service.clock() - span.seconds
    rows = service.store.reports(name, since=since, limit=_MOST_REPORTS)
    return rows, [one for one in rows if one.verdict.finding is code]
