"""Priorities of one operator's queues over time: depth, wait, and whether a lower one never gets its turn."""

from collections.abc import Iterator
from typing import Final

from flask import Blueprint, url_for

from advisor.knowledge.defaults import PRIORITY_EVENT, PRIORITY_INITIAL_LIST
from advisor.model.finding import FindingCode
from advisor.model.priorityhistory import ControllerPriorities, PriorityHistory, PriorityPast
from advisor.model.signal import Quality, Unit
from advisor.report.charts import Chart
from advisor.report.document import Section, wide_table
from advisor.report.markup import Child, Markup, blocks, element
from advisor.web.layout import present
from advisor.web.pages.reportpriorities import report_priorities, starvation_finding
from advisor.web.pages.spans import (
    Span,
    any_known,
    charts,
    count,
    freshness,
    known_lines,
    refuse_unknown,
    seconds,
    share,
    span_asked,
    span_links,
)
from advisor.web.state import Service
from advisor.web.values import priority_values
from advisor.web.view import View

__all__ = ["register"]

_HEADS: Final = (
    "priority",
    "now",
    "peak",
    "mean wait",
    "oldest now",
    "oldest, peak",
    "handed out",
    "share",
    "starved",
    "quality",
)
_NAMES: Final = {
    str(PRIORITY_EVENT): "changes",
    str(PRIORITY_INITIAL_LIST): "initial list, resync",
    "": "classic queue",
}
_QUALITIES: Final = {
    Quality.EXACT: "exact: as the operator's own series or its verbose log say.",
    Quality.ESTIMATED: (
        "estimated: the sidecar's shadow of the queue, which is right as far as its depth is the operator's own."
    ),
    Quality.LOWER_BOUND: "lower bound: at least so much; what the log does not show is missing.",
}

_MEANT: Final = (
    (
        "Depth is the largest of each interval, wait the mean of keys handed out in it: what still waits is not in it, "
        "so the oldest ready key tells of starvation where the mean wait does not."
    ),
    (
        "A priority starves while its oldest key has waited for half a minute or more and hardly any key but those of "
        "higher priorities is handed out."
    ),
)


def register(routes: Blueprint, service: Service) -> None:
    """``/priorities/NAME``."""
    routes.add_url_rule("/priorities/<path:name>", "priorities", lambda name: present(_priorities(service, name)))


def _priorities(service: Service, name: str) -> View:
    refuse_unknown(service, name)
    span = span_asked()
    history = service.loads.priorities(name, span.seconds)
    header = element(
        "header",
        blocks(
            [
                element("h1", "Priorities"),
                element("p", element("strong", name), f", {span.words}"),
                *freshness(service, name, history),
                span_links("pages.priorities", span, name),
            ]
        ),
    )
    if history is None:
        sections = [_empty(service, name, span), *report_priorities(service, name, span)]
    else:
        sections = [
            Section("starvation", "Does a priority starve?", _verdict(service, name, history)),
            *(_controller(history, one, number) for number, one in enumerate(history.controllers)),
            Section("quality", "How far these figures go", _quality(history)),
        ]
    data = priority_values(service, name, span.name)
    return View(title=f"Priorities of {name}", header=header, sections=sections, data=data, operator=name)


def _empty(service: Service, name: str, span: Span) -> Section:
    kind = service.kind(name)
    if kind == "sidecar" and service.store.sampled_until(name) is None:
        text = "Nothing that the sidecar tells has been kept yet; two scrapes are needed, so it takes half a minute."
    elif kind == "sidecar":
        text = (
            f"The sidecar told of no queue in the {span.words}: it was not reached, it reads no log, or no key has "
            "been in work since it started."
        )
    elif kind == "scrape":
        text = f"Fewer than two scrapes of the operator were kept in the {span.words}."
    else:
        text = (
            "Of an operator in a store the service keeps reports and no samples, so it has no history by priority. "
            "What reports say is below. Let it scrape the operator itself for depths, or a sidecar for waits as well."
        )
    return Section("priorities", "By priority", element("p", text, class_="empty"))


def _verdict(service: Service, name: str, history: PriorityHistory) -> Markup:
    lines = [line for one in history.controllers for line in _starving(one)]
    if not lines:
        several = any(len(one.priorities) > 1 for one in history.controllers)
        text = (
            "No: whenever keys of a lower priority waited long, they were handed out as well."
            if several
            else "No: there is one priority alone, and its keys are handed out in their order."
        )
        lines = [element("p", text)]
    last = service.latest_report(name)
    return blocks([*lines, *(() if last is None else starvation_finding(*last))])


def _starving(one: ControllerPriorities) -> Iterator[Markup]:
    """What starves, now or in the time that is looked at."""
    for priority in one.priorities:
        if not priority.starved_seconds and not priority.is_starving:
            continue
        when = "now" if priority.is_starving else "not now"
        told = f"{one.controller}, priority {_name(priority)}: {when}"
        if priority.starved_seconds:
            told += f", {seconds(priority.starved_seconds)} in all"
        if priority.oldest_peak_seconds is not None:
            told += f"; its oldest key waited up to {seconds(priority.oldest_peak_seconds)}"
        doubt = " By depths alone: it did not shrink while keys were handed out." if one.origin == "operator" else ""
        text = f"{told}, while keys of higher priorities were handed out.{doubt}"
        yield element("p", text, class_="stale" if priority.is_starving else None)


def _controller(history: PriorityHistory, one: ControllerPriorities, number: int) -> Section:
    rows = [_row(priority) for priority in one.priorities]
    table = wide_table(f"Priorities of {one.controller}", _HEADS, rows, numbers=range(1, len(_HEADS) - 1))
    mean = (
        f"{seconds(one.wait_seconds_mean)} mean wait of {count(one.served)} keys handed out, all priorities together."
    )
    parts = [table, element("p", mean, class_="about"), *_notes(one), charts(_drawn(history, one), f"queue-{number}")]
    return Section(f"controller-{number}", one.controller, blocks(parts))


def _notes(one: ControllerPriorities) -> Iterator[Markup]:
    if [priority.priority for priority in one.priorities] == [""]:
        text = "This is the classic queue, which has no priorities: first in, first out. KubeRay has it up to 1.6."
        yield element("p", text, class_="about")
    elif one.origin == "operator" and len(one.priorities) > 1:
        text = "The operator tells depths by priority, and waits over all of them only; a sidecar knows both."
        yield element("p", text, class_="about")
    errors = [abs(each.depth_error) for each in one.priorities if each.depth_error is not None]
    if errors:
        off = f"off the operator's own by {count(max(errors))}" if max(errors) else "the operator's own"
        text = f"At the last scrape the depth of the sidecar's shadow was {off}."
        yield element("p", text, class_="about")


def _row(one: PriorityPast) -> list[Child]:
    return [
        _name(one),
        count(one.depth_now),
        count(one.depth_peak),
        seconds(one.wait_seconds_mean),
        seconds(one.oldest_now_seconds),
        seconds(one.oldest_peak_seconds),
        count(one.served),
        share(one.served_share),
        seconds(one.starved_seconds) if one.starved_seconds else "no",
        one.quality.value.replace("_", " "),
    ]


def _name(one: PriorityPast) -> str:
    """The priority, and what KubeRay uses it for."""
    known = _NAMES.get(one.priority)
    return f"{one.priority} ({known})".strip() if known and one.priority else known or one.priority


def _drawn(history: PriorityHistory, one: ControllerPriorities) -> Iterator[Chart]:
    waits = [(_name(priority), priority.waits) for priority in one.priorities]
    if not any(any_known(values) for _, values in waits):
        waits = [("all priorities", one.waits)]
    for title, unit, rows in (
        ("Keys waiting", Unit.COUNT, [(_name(each), each.depths) for each in one.priorities]),
        ("Mean queue wait", Unit.SECONDS, waits),
        ("Oldest ready key", Unit.SECONDS, [(_name(each), each.oldest) for each in one.priorities]),
    ):
        if lines := known_lines(rows):
            yield Chart(f"{title}: {one.controller}", unit, history.bounds, lines, ())


def _quality(history: PriorityHistory) -> Markup:
    shown = {priority.quality for one in history.controllers for priority in one.priorities}
    texts = [_QUALITIES[one] for one in Quality if one in shown]
    texts += _MEANT
    link = element(
        "a", "priority-starvation", href=url_for("pages.finding", code=FindingCode.PRIORITY_STARVATION.value)
    )
    items = [element("li", text) for text in texts]
    return blocks([element("ul", blocks(items)), element("p", "The finding: ", link)])
