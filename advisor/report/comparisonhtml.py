"""A comparison as one HTML file, and its parts for pages that show one."""

from collections.abc import Iterator, Sequence

from advisor.model.comparison import Comparison, Outcome, PredictionCheck, PredictionResult, Quantity, Trend
from advisor.report.comparisonwording import (
    CHECK_HEADS,
    LOAD_HEADS,
    SETTING_HEADS,
    comparison_title,
    lists,
    load_cells,
    prediction_check_cells,
    quantity_rows,
    setting_rows,
    shown_quantities,
    side_lines,
    unchecked_lines,
    unknown_lines,
)
from advisor.report.document import Section, page, style_text, wide_table
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.pair import draw_pair

__all__ = ["comparison_header", "comparison_sections", "load_table", "outcome_badge", "render_comparison_html", "word"]

_STYLES = {Outcome.BETTER: "info", Outcome.WORSE: "critical"}
_UNCLEAR = "warning"


def render_comparison_html(comparison: Comparison, *, verbose: bool = False) -> str:
    """The whole document, with a line end; ``verbose`` adds settings that stayed, tolerances, and all not known."""
    return page(
        comparison_title(comparison),
        comparison_header(comparison),
        list(comparison_sections(comparison, verbose=verbose)),
        skip="Skip to the reasons",
        style=style_text(("style.css", "comparison.css")),
    )


def comparison_header(comparison: Comparison) -> Markup:
    """The verdict, and what is compared."""
    return element(
        "header",
        blocks(
            [
                *(element("p", f"{name}: {side}", class_="source") for name, side in side_lines(comparison)),
                element("h1", outcome_badge(comparison.outcome), " ", comparison.summary),
            ]
        ),
        class_=_STYLES.get(comparison.outcome, _UNCLEAR),
    )


def outcome_badge(outcome: Outcome) -> Markup:
    """The outcome as a word that stands out."""
    return element("span", outcome.value, class_=f"badge {_STYLES.get(outcome, _UNCLEAR)}")


def comparison_sections(comparison: Comparison, *, verbose: bool = False) -> Iterator[Section]:
    """Id, title and content of each section that has something to say."""
    yield Section("why", "Why", blocks(_why(comparison)))
    settings = setting_rows(comparison.settings, verbose=verbose)
    content = (
        wide_table("Settings", SETTING_HEADS, settings, numbers=(1, 2))
        if settings
        else element("p", "None that is known changed.")
    )
    yield Section("settings", "Settings", content)
    yield Section("load", "Load", load_table(comparison))
    yield Section("figures", "Figures", _figures(comparison.quantities, verbose=verbose))
    if comparison.predictions:
        yield Section("predicted", "What was predicted before", blocks(_predicted(comparison.predictions)))
    if unknown := unknown_lines(comparison.quantities, verbose=verbose):
        yield Section("unknown", "Not known", _list(unknown))


def load_table(comparison: Comparison) -> Markup:
    """What was asked of the operator on both sides."""
    rows = ([*cells, word(judged)] for *cells, judged in map(load_cells, comparison.load))
    return wide_table("Load", LOAD_HEADS, rows, numbers=(1, 2))


def word(text: str) -> Markup:
    """A judgement in the last column, which narrow screens must not take apart."""
    return element("span", text, class_="word")


def _why(comparison: Comparison) -> Iterator[Markup]:
    (_, reasons), *others = lists(comparison)
    yield _list(reasons)
    for head, lines in others:
        yield element("h3", head)
        yield _list(lines)


def _list(lines: Sequence[str]) -> Markup:
    return element("ul", blocks(element("li", line) for line in lines))


def _figures(quantities: Sequence[Quantity], *, verbose: bool) -> Markup:
    """The table of figures, each with a picture of both sides."""
    (first, *others), rows = quantity_rows(quantities, verbose=verbose)
    pictures = [draw_pair(one.before, one.after) for one in shown_quantities(quantities)]
    cells = ([name, picture, *map(_cell, rest)] for picture, (name, *rest) in zip(pictures, rows, strict=True))
    told = "Those with * decide. Of two bars the upper one is before, the lower one after."
    return blocks(
        [
            wide_table("Figures", (first, "", *others), cells, numbers=range(2, len(others) + (0 if verbose else 1))),
            element("p", told, class_="about"),
        ]
    )


def _cell(cell: str) -> Child:
    """A figure as it is, a judgement as a word that stands out."""
    if cell in (Trend.BETTER.value, Trend.WORSE.value):
        return element("span", cell, class_=f"word trend-{cell}")
    return word(cell) if cell.isalpha() else cell


def _predicted(checks: Sequence[PredictionCheck]) -> Iterator[Markup]:
    checked = [one for one in checks if one.result is not PredictionResult.NOT_CHECKED]
    if checked:
        cells = ([*rest, word(result)] for *rest, result in map(prediction_check_cells, checked))
        yield wide_table("What was predicted before", CHECK_HEADS, cells, numbers=(1, 2, 3))
    if lines := unchecked_lines(checks):
        yield _list(lines)
