"""Where reports come from, and how that goes."""

from typing import Final

from flask import Blueprint, url_for

from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.document import Section, wide_table
from advisor.report.markup import Child, blocks, element
from advisor.web.layout import present
from advisor.web.pages.moves import UNKNOWN
from advisor.web.scheduler import RunState
from advisor.web.state import Service
from advisor.web.view import View

__all__ = ["SOURCE_HEADS", "register", "source_row"]

SOURCE_HEADS: Final = ("operator", "source", "next", "took", "failures in a row", "last error")


def register(routes: Blueprint, service: Service) -> None:
    """``/data``."""
    routes.add_url_rule("/data", "data", lambda: present(_data(service)))


def _data(service: Service) -> View:
    now = service.clock()
    header = element("header", element("h1", "Data"), element("p", "Where reports come from, and how that goes."))
    problem = service.store.problem
    troubles = service.troubles()
    wrong = [element("li", f"{one.operator}: {one.text}" if one.operator else one.text) for one in troubles]
    notes = [element("ul", blocks(wrong), class_="stale")] if wrong else []
    targets = service.targets()
    rows = [source_row(service, one, now) for one in targets]
    table = (
        wide_table("Sources", SOURCE_HEADS, rows, numbers=(3, 4))
        if rows
        else element("p", "No source is configured.", class_="empty")
    )
    size_bytes = service.store.size_bytes()
    size = element("p", f"The history takes {size_bytes / 1e6:.1f} MB.")
    sections = [Section("sources", "Sources", blocks([*notes, table])), Section("history", "History", size)]
    data = {"problem": problem, "size_bytes": size_bytes, "troubles": troubles, "sources": targets}
    return View(title="Data", header=header, sections=sections, data=data)


def source_row(service: Service, state: RunState, now: float) -> list[Child]:
    """How one operator's analyses go, as a row below `SOURCE_HEADS`."""
    if state.hangs:
        following = "hangs"
    elif state.running_since is not None:
        following = f"since {max(0.0, now - state.running_since):.0f} s"
    else:
        following = f"in {max(0.0, state.next_due - now):.0f} s"
    took, failure = state.last_duration_seconds, state.last_failure
    error = None if failure is None else element("span", failure.error, class_="stale")
    return [
        element("a", state.name, href=url_for("pages.operator_data", name=state.name)),
        service.kind(state.name) or UNKNOWN,
        following,
        UNKNOWN if took is None else format_value(took, Unit.SECONDS),
        f"{state.failures}",
        error,
    ]
