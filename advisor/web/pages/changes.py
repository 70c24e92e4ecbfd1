"""Changes of an operator's settings: what was predicted, and what was measured afterwards."""

from collections.abc import Iterator
from typing import Final

from flask import Blueprint, url_for

from advisor.model.change import ChangeState
from advisor.model.comparison import Comparison, PredictionCheck, PredictionResult
from advisor.report.comparisonhtml import load_table, outcome_badge, word
from advisor.report.comparisonwording import (
    RESULTS,
    figure_text,
    lists,
    shown_quantities,
    unchecked_lines,
)
from advisor.report.document import Section, wide_table
from advisor.report.fleetwording import age_text
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.pair import Interval, draw_pair
from advisor.report.quantitywording import quantity_words
from advisor.report.settingwording import setting_move
from advisor.report.wording import prediction_cells, prediction_origin, utc
from advisor.web.asked import known_status
from advisor.web.changes import Change, changes_of
from advisor.web.layout import present
from advisor.web.state import Service
from advisor.web.values import change_values
from advisor.web.view import View, moment

__all__ = ["change_title", "outcome_of", "register"]

_MOST: Final = 50
_TOLD: Final = 10
"""So many of the last changes are told at length."""
_WAIT: Final = "queue_wait_seconds_mean"
_NOTHING: Final = (
    "No change of settings has been seen. Once concurrency, QPS, burst or a limit of the operator is another than in "
    "the report before, it stands here with what was predicted of it, and later with what was measured."
)


def register(routes: Blueprint, service: Service) -> None:
    """``/changes/NAME``."""
    routes.add_url_rule("/changes/<path:name>", "changes", lambda name: present(_changes(service, name)))


def change_title(change: Change) -> str:
    """What was set."""
    return ", ".join(setting_move(one.setting, one.before, one.after) for one in change.moves)


def _changes(service: Service, name: str) -> View:
    known_status(service, name)
    now, rules = service.clock(), service.change_rules()
    found = changes_of(service.store, name, now, rules, limit=_MOST)
    about = element("p", "Every change of settings that was seen: what was predicted, and what was measured after it.")
    header = element("header", element("p", name, class_="source"), element("h1", "Changes of settings"), about)
    if found:
        heads = ("seen", "set", "predicted queue wait", "measured", "came of it")
        rows = (_row(one, linked=place < _TOLD) for place, one in enumerate(found))
        sections = [Section("changes", "All changes", wide_table("All changes", heads, rows, numbers=(2, 3)))]
        sections += [_section(one, now) for one in found[:_TOLD]]
    else:
        sections = [Section("changes", "All changes", element("p", _NOTHING, class_="empty"))]
    data = {"operator": name, "changes": [change_values(one) for one in found]}
    return View(title=f"Changes of {name}", header=header, sections=sections, data=data, operator=name)


def _row(change: Change, *, linked: bool) -> tuple[Child, ...]:
    title = change_title(change)
    predicted, measured = _waits(change)
    return (
        moment(change.time),
        element("a", title, href=f"#{_anchor(change)}") if linked else title,
        predicted or "not predicted",
        measured,
        outcome_of(change),
    )


def _waits(change: Change) -> tuple[str, str]:
    """The queue wait that was predicted, and the one measured; "" where there is none."""
    checks = () if change.measured is None else change.measured.comparison.predictions
    wait = next((one for one in checks if one.quantity == _WAIT), None)
    if change.predicted is None or change.predicted.reason:
        return "", ""
    predicted = next((one for one in change.predicted.predictions if one.quantity == _WAIT), None)
    if predicted is None:
        return "", ""
    is_checked = wait is not None and wait.result is not PredictionResult.NOT_CHECKED
    return (
        figure_text(predicted.then, predicted.unit),
        figure_text(wait.measured, wait.unit) if is_checked and wait is not None else "",
    )


def outcome_of(change: Change) -> Markup:
    """What came of it, in a word or two."""
    if change.state is ChangeState.MEASURED and change.measured is not None:
        return outcome_badge(change.measured.comparison.outcome)
    return element("span", change.state.value, class_="stale")


def _anchor(change: Change) -> str:
    return f"change-{change.id}"


def _section(change: Change, now: float) -> Section:
    parts = [
        element(
            "p", "Seen at ", moment(change.time), f", {age_text(now - change.time)} ago; made since the report before."
        )
    ]
    parts += [element("p", _state_line(change), class_="short"), *_effect(change)]
    title = f"{change_title(change)}, {utc(change.time, '%Y-%m-%d %H:%M')}"
    return Section(_anchor(change), title, blocks(parts))


def _state_line(change: Change) -> Markup:
    match change.state:
        case ChangeState.MEASURED if change.measured is not None:
            comparison = change.measured.comparison
            return element("span", outcome_badge(comparison.outcome), " ", comparison.summary)
        case ChangeState.NOT_COMPARABLE if change.measured is not None:
            text = (
                f"{change.measured.comparison.summary} A later time that can be compared takes the place of this one."
            )
        case ChangeState.OVERTAKEN:
            text = "Another change came before this one had settled, so what it did alone cannot be told."
        case ChangeState.NOT_MEASURED:
            text = "Nothing after it was measured in a week."
        case _:
            text = "It has to settle: what it did is told by the first report that lies wholly after it."
    return element("span", text)


def _effect(change: Change) -> Iterator[Markup]:
    """What was predicted and measured, as far as it is known."""
    comparison = None if change.measured is None else change.measured.comparison
    if comparison is None:
        yield from _predicted(change)
        return
    checked = [one for one in comparison.predictions if one.result is not PredictionResult.NOT_CHECKED]
    if checked:
        before = {} if change.predicted is None else {one.quantity: one.now for one in change.predicted.predictions}
        yield element("h3", "Predicted and measured")
        heads = ("quantity", "", "before", "predicted", "between", "measured", "")
        rows = (_check_cells(one, before.get(one.quantity)) for one in checked)
        yield wide_table("Predicted and measured", heads, rows, numbers=(2, 3, 4, 5))
        yield element(
            "p", "The upper bar is before, the lower one after; the bracket is what was predicted.", class_="about"
        )
    yield from _not_predicted(change, comparison)
    yield from _before_and_after(comparison)
    for head, lines in lists(comparison):
        yield element("details", element("summary", head), element("ul", blocks(element("li", line) for line in lines)))
    yield load_table(comparison)
    yield from _reports(change)


def _predicted(change: Change) -> Iterator[Markup]:
    """The predictions alone, before anything is measured."""
    predicted = change.predicted
    if predicted is None:
        yield element("p", "What was predicted is not known: the report before could not be read.", class_="about")
    elif predicted.reason:
        yield element("p", f"Not predicted: {predicted.reason}.", class_="about")
    else:
        yield element("p", f"Predicted, {prediction_origin(predicted.predictions)}:", class_="about")
        cells = map(prediction_cells, predicted.predictions)
        rows = ((quantity, was, then, f"{low} to {high}") for quantity, was, then, low, high in cells)
        yield wide_table("Predicted", ("quantity", "before", "predicted", "between"), rows, numbers=(1, 2, 3))


def _check_cells(check: PredictionCheck, before: float | None) -> tuple[Child, ...]:
    return (
        quantity_words(check.quantity),
        draw_pair(before, check.measured, Interval(check.low, check.high)),
        figure_text(before, check.unit),
        figure_text(check.then, check.unit),
        f"{figure_text(check.low, check.unit)} to {figure_text(check.high, check.unit)}",
        figure_text(check.measured, check.unit),
        word(RESULTS[check.result]),
    )


def _not_predicted(change: Change, comparison: Comparison) -> Iterator[Markup]:
    """Why nothing, or not everything, that was predicted was checked."""
    if change.predicted is not None and change.predicted.reason:
        yield element("p", f"Not predicted: {change.predicted.reason}.", class_="about")
        return
    if lines := unchecked_lines(comparison.predictions):
        yield element("ul", blocks(element("li", line) for line in lines), class_="about")


def _before_and_after(comparison: Comparison) -> Iterator[Markup]:
    """What the verdict rests on, on both sides."""
    decisive = [one for one in shown_quantities(comparison.quantities) if one.decides]
    if decisive:
        rows = (
            (
                one.title,
                draw_pair(one.before, one.after),
                figure_text(one.before, one.unit),
                figure_text(one.after, one.unit),
                word(one.trend.value),
            )
            for one in decisive
        )
        yield element("h3", "Before and after")
        yield wide_table("Before and after", ("quantity", "", "before", "after", ""), rows, numbers=(2, 3))


def _reports(change: Change) -> Iterator[Markup]:
    if change.predicted is None or change.measured is None:
        return
    link = url_for("pages.compare", a=change.predicted.report, b=change.measured.report)
    before, after = moment(change.predicted.time), moment(change.measured.time)
    told = element("a", "The whole comparison", href=link)
    yield element(
        "p", told, " of the reports at ", before, " and ", after, ", as long as both are kept.", class_="about"
    )
