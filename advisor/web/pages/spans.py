"""What pages of an operator over time share: how far back they look, how old what they show is, their charts."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from flask import url_for

from advisor.model.keyhistory import KeyHistory
from advisor.model.priorityhistory import PriorityHistory
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.charts import Chart, Line, draw_figure
from advisor.report.fleetwording import age_text
from advisor.report.markup import Markup, blocks, element
from advisor.web.asked import refuse_operator, window_asked
from advisor.web.loads import SPANS
from advisor.web.pages.moves import UNKNOWN
from advisor.web.state import Service
from advisor.web.view import moment

__all__ = [
    "Span",
    "any_known",
    "charts",
    "count",
    "freshness",
    "known_lines",
    "refuse_unknown",
    "seconds",
    "share",
    "span_asked",
    "span_links",
]

_STYLES: Final = ("first", "second", "third", "fourth")
"""Classes of a chart's lines, which differ in their strokes as well."""
_WORDS: Final = {"1h": "hour", "6h": "6 hours", "24h": "24 hours", "7d": "7 days"}
_LEAST_STALE_SECONDS: Final = 120.0
_STALE_SCRAPES: Final = 4.0
"""So many scrapes may be missed before what is shown is called old."""


class Span(NamedTuple):
    """How far back a page looks."""

    name: str
    seconds: float

    @property
    def words(self) -> str:
        """In words, after "the"."""
        return f"last {_WORDS[self.name]}"


def span_asked() -> Span:
    """What the address asks for, the last hour where it says nothing; an error where that cannot be."""
    name = window_asked()
    return Span(name, SPANS[name])


def refuse_unknown(service: Service, operator: str) -> None:
    """End with an error where nothing is kept of an operator, and nobody watches it."""
    if operator not in service.store.operators() and all(one.name != operator for one in service.targets()):
        refuse_operator(operator)


def span_links(endpoint: str, span: Span, operator: str, *, key: str = "", controller: str = "") -> Markup:
    """Links to the same page over other times."""
    links = []
    for name, words in _WORDS.items():
        # What is None is left out of an address.
        href = url_for(endpoint, name=operator, window=name, key=key or None, controller=controller or None)
        links.append(element("a", f"last {words}", href=href, aria_current="page" if name == span.name else None))
    return element("nav", blocks(links), class_="places tabs", aria_label="How far back")


def freshness(service: Service, operator: str, history: KeyHistory | PriorityHistory | None) -> list[Markup]:
    """When the last scrape was, and why there is none since, where that is so.

    Args:
        service: what the pages read.
        operator: whose page it is.
        history: what its scrapes came to; None where they came to nothing.
    """
    pause = 0.0 if history is None else history.window.seconds / (history.scrapes - 1)
    until = service.store.sampled_until(operator) if history is None else history.window.end
    told = []
    if until is not None:
        age = service.clock() - until
        is_stale = age > max(_LEAST_STALE_SECONDS, _STALE_SCRAPES * pause)
        parts = ("The last scrape was at ", moment(until), f", {age_text(age)} ago.")
        told.append(element("p", *parts, class_="stale" if is_stale else "about"))
    if problem := service.keeping(operator):
        told.append(element("p", f"What it tells is not kept just now: {problem}", class_="stale"))
    return told


def charts(drawn: Iterable[Chart], prefix: str) -> Markup:
    """Charts side by side where there is room, each with a legend; ``prefix`` begins the names of their parts."""
    figures = [draw_figure(chart, f"{prefix}-{number}", fewest_named=1) for number, chart in enumerate(drawn)]
    return element("div", blocks(figures), class_="charts") if figures else Markup("")


def any_known(values: Sequence[float | None]) -> bool:
    """Whether there is anything to draw."""
    return any(value is not None for value in values)


def known_lines(rows: Iterable[tuple[str, Sequence[float | None]]]) -> list[Line]:
    """The first curves, by name, of which anything is known; as many as can be told from each other."""
    known = (row for row in rows if any_known(row[1]))
    return [Line(name, style, values) for style, (name, values) in zip(_STYLES, known, strict=False)]


def share(value: float | None) -> str:
    """A part of a whole."""
    return UNKNOWN if value is None else format_value(value, Unit.RATIO)


def count(value: float | None) -> str:
    """A number of things, whole where it is."""
    return UNKNOWN if value is None else format_value(value, Unit.COUNT)


def seconds(value: float | None) -> str:
    """A time."""
    return UNKNOWN if value is None else format_value(value, Unit.SECONDS)
