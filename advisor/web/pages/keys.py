"""Keys of one operator over time: which take the workers' time, who writes to them, namespaces, and one key alone."""

from collections.abc import Iterator, Sequence
from typing import Final

from flask import Blueprint, request, url_for

from advisor.model.keyhistory import KeyHistory, KeyPast, NamespacePast, OtherPast
from advisor.model.signal import Unit
from advisor.report.charts import Chart
from advisor.report.document import Section, wide_table
from advisor.report.markup import Child, Markup, blocks, element
from advisor.web.layout import present
from advisor.web.pages.moves import UNKNOWN
from advisor.web.pages.reportkeys import empty_keys, report_keys
from advisor.web.pages.spans import (
    Span,
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
from advisor.web.values import MOST_KEYS, key_values
from advisor.web.view import View, moment

__all__ = ["register"]

_HEADS: Final = ("key", "controller", "busy", "busy time", "reconciles", "errors", "conflicts", "written by", "hot")
_LONGEST_NAME: Final = 40
_LONG_LOG_LAG_SECONDS: Final = 60.0
_QUALITY: Final = (
    (
        "Busy time is a lower bound: of a log at info level a reconcile counts from its first line to its last, and "
        "one that writes no line does not count. Errors include conflicts."
    ),
    (
        "A sidecar has series for the heaviest keys, twenty if it is told nothing else. A key among them is counted in "
        "full from then on; what it had before is in all other keys. With no more keys than that nothing is missing."
    ),
    (
        "Who writes is the field manager that wrote to the object most while it was hot; only a sidecar with watches "
        "knows it."
    ),
)


def register(routes: Blueprint, service: Service) -> None:
    """``/keys/NAME``."""
    routes.add_url_rule("/keys/<path:name>", "keys", lambda name: present(_keys(service, name)))


def _keys(service: Service, name: str) -> View:
    refuse_unknown(service, name)
    span = span_asked()
    history = service.loads.keys(name, span.seconds)
    wanted, controller = request.args.get("key", ""), request.args.get("controller", "")
    title, sections = f"Keys of {name}", [*_listed(history, name, span)] if history is not None else []
    found: Sequence[KeyPast] = () if history is None else history.keys
    if wanted:
        title = f"Key {wanted} of {name}"
        found = _named(found, wanted, controller)
        sections = [*_alone(history, found, name, span, wanted)]
    elif history is None:
        sections = [empty_keys(service, name, span)]
    if not wanted:
        sections += report_keys(service, name, span)
    header = element(
        "header",
        blocks(
            [
                element("h1", f"Key {wanted}" if wanted else "Keys", class_="name"),
                element("p", element("strong", name), f", {span.words}"),
                *freshness(service, name, history),
                *_doubts(history),
                span_links("pages.keys", span, name, key=wanted, controller=controller if wanted else ""),
            ]
        ),
    )
    data = key_values(service, name, span.name, MOST_KEYS)
    if wanted:
        data = {**data, "key": wanted, "keys": found}
    return View(title=title, header=header, sections=sections, data=data, operator=name)


def _named(keys: Sequence[KeyPast], wanted: str, controller: str) -> list[KeyPast]:
    """The keys of a name, of any controller where that is ""."""
    namespace, _, name = wanted.partition("/")
    return [
        one for one in keys if (one.namespace, one.name) == (namespace, name) and controller in ("", one.controller)
    ]


def _doubts(history: KeyHistory | None) -> Iterator[Markup]:
    """What makes the figures less than they seem."""
    if history is None:
        return
    if (history.log_lag_seconds or 0.0) >= _LONG_LOG_LAG_SECONDS:
        text = f"The sidecar is {seconds(history.log_lag_seconds)} behind the log, and these figures are as old."
        yield element("p", text, class_="stale")
    if history.series_dropped:
        text = (
            f"The sidecar left {count(history.series_dropped)} series out to stay below its limit; light keys go first."
        )
        yield element("p", text, class_="stale")


def _listed(history: KeyHistory, name: str, span: Span) -> Iterator[Section]:
    if not history.keys and not any(one.busy_seconds for one in history.others):
        text = f"No reconcile has ended in the {span.words}, as far as the log shows."
        yield Section("heaviest", "Heaviest keys", element("p", text, class_="empty"))
        return
    shown = history.keys[:MOST_KEYS]
    rows = [*(_row(one, name, span) for one in shown), *_others(history)]
    left = history.keys_left_out + len(history.keys) - len(shown)
    more = element("p", f"{left} lighter keys had series of their own in this time.", class_="about") if left else None
    whole = element("p", f"All of them together: {seconds(history.busy_seconds)} of busy worker time.", class_="about")
    table = wide_table("Heaviest keys", _HEADS, rows, numbers=(2, 3, 4, 5, 6))
    yield Section("heaviest", "Heaviest keys", blocks([table, whole, more, *_bounds(history)]))
    if lines := known_lines((_short(f"{one.namespace}/{one.name}"), one.shares) for one in shown):
        chart = Chart("Share of busy worker time", Unit.RATIO, history.bounds, lines, ())
        yield Section("over-time", "Over time", charts([chart], "keys"))
    if history.namespaces:
        yield Section("namespaces", "By namespace", _namespaces(history))
    yield Section("quality", "How far these figures go", _quality())


def _short(key: str) -> str:
    """A key as a legend has room for it."""
    return key if len(key) <= _LONGEST_NAME else f"{key[: _LONGEST_NAME - 1]}\N{HORIZONTAL ELLIPSIS}"


def _row(one: KeyPast, name: str, span: Span) -> list[Child]:
    key = f"{one.namespace}/{one.name}"
    link = url_for("pages.keys", name=name, window=span.name, key=key, controller=one.controller)
    return [
        element("a", key, href=link, class_="long"),
        one.controller,
        *_figures(one),
        element("span", ", ".join(one.writers) or UNKNOWN, class_="long" if one.writers else None),
        _hot(one),
    ]


def _figures(one: KeyPast | OtherPast | NamespacePast) -> tuple[str, ...]:
    """Its share of busy worker time, that time, reconciles, errors and conflicts."""
    told = (one.reconciles, one.errors, one.conflicts)
    return share(one.busy_share), seconds(one.busy_seconds), *map(count, told)


def _hot(one: KeyPast) -> Child:
    if one.hot_since is not None:
        word = "since before " if one.hot_throughout else "since "
        return element("span", word, moment(one.hot_since), class_="long stale")
    return element("span", f"for {seconds(one.hot_seconds)}, not now", class_="long") if one.hot_seconds else UNKNOWN


def _others(history: KeyHistory) -> Iterator[list[Child]]:
    """What all keys without series of their own had, by controller."""
    for one in history.others:
        if one.busy_seconds or one.reconciles:
            yield [
                element("em", "all other keys"),
                one.controller,
                *_figures(one),
                UNKNOWN,
                UNKNOWN,
            ]


def _bounds(history: KeyHistory) -> Iterator[Markup]:
    """How much a key that is not listed may have had."""
    for one in history.others:
        if one.largest_busy_seconds:
            text = f"Of the other keys of {one.controller} none has had more than {seconds(one.largest_busy_seconds)} "
            yield element("p", text, "since the sidecar started.", class_="about")
        if one.unattributed_seconds:
            text = f"{seconds(one.unattributed_seconds)} of reconciles of {one.controller} are in no line of its log: "
            yield element("p", text, "any one key may have had them.", class_="about")


def _namespaces(history: KeyHistory) -> Markup:
    rows = (
        (
            element("span", one.namespace, class_="long"),
            *_figures(one),
            count(one.keys),
        )
        for one in history.namespaces
    )
    heads = ("namespace", "busy", "busy time", "reconciles", "errors", "conflicts", "keys")
    table = wide_table("By namespace", heads, rows, numbers=(1, 2, 3, 4, 5, 6))
    return blocks([table, element("p", "Of keys with series of their own; the others are in none.", class_="about")])


def _quality() -> Markup:
    return element("ul", blocks(element("li", text) for text in _QUALITY))


def _alone(
    history: KeyHistory | None, found: Sequence[KeyPast], name: str, span: Span, wanted: str
) -> Iterator[Section]:
    """One key, of each controller that has it."""
    back = element("p", element("a", "All keys", href=url_for("pages.keys", name=name, window=span.name)))
    if history is None or not found:
        text = (
            f"{wanted} had no series of its own in the {span.words}. It is among all other keys, or was not worked on."
        )
        yield Section("key", "This key", blocks([element("p", text, class_="empty"), back]))
        return
    rows = [_row(one, name, span) for one in found]
    table = wide_table("This key", _HEADS, rows, numbers=(2, 3, 4, 5, 6))
    yield Section("key", "This key", blocks([table, back]))
    drawn = []
    for title, unit, pick in (
        ("Share of busy worker time", Unit.RATIO, "shares"),
        ("Reconciles a second", Unit.PER_SECOND, "rates"),
    ):
        if lines := known_lines((one.controller, getattr(one, pick)) for one in found):
            drawn.append(Chart(title, unit, history.bounds, lines, ()))
    if drawn:
        yield Section("over-time", "Over time", charts(drawn, "key"))
