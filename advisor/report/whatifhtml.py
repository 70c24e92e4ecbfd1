"""A what-if result as one HTML file: the answer, a heat map of the queue wait, and every combination in a table."""

from collections.abc import Iterator

from advisor.model.whatif import WhatIf
from advisor.report.document import Section, page, style_text, wide_table
from advisor.report.heatmap import heat_maps
from advisor.report.markup import Markup, blocks, element
from advisor.report.whatifwording import (
    INTERVAL_NOTE,
    answer,
    best_lines,
    heads,
    legend,
    load_line,
    parameter_rows,
    point_line,
    rows,
    unfinished_line,
)

__all__ = ["render_whatif_html"]

_PARAMETER_HEADS = ("parameter", "value", "between", "and", "from")


def render_whatif_html(result: WhatIf) -> str:
    """The whole document, with a line end."""
    return page(
        f"What other settings would do: {answer(result)}",
        _header(result),
        list(_sections(result)),
        skip="Skip to the forecast",
        style=style_text(("style.css", "whatif.css")),
    )


def _header(result: WhatIf) -> Markup:
    unfinished = unfinished_line(result)
    parts = [
        element("p", load_line(result), class_="source"),
        element("p", point_line(result), class_="source"),
        element("h1", answer(result)),
        element("p", unfinished, class_="short") if unfinished else None,
    ]
    style = "warning" if unfinished or result.smallest is None else "info"
    return element("header", blocks(parts), class_=style)


def _sections(result: WhatIf) -> Iterator[Section]:
    maps = blocks(heat_maps(result))
    if maps:
        yield Section("wait", "Mean queue wait", element("div", maps, class_="charts"))
    yield Section("forecast", "Forecast", blocks(_forecast(result)))
    if lines := list(best_lines(result)):
        items = blocks(element("li", line) for line in lines)
        yield Section("best", "The smallest settings within 5 % of the best", element("ul", items))
    yield Section("basis", "What the model rests on", blocks(_basis(result)))


def _forecast(result: WhatIf) -> Iterator[Markup]:
    names = heads(result)
    body, styles = [], []
    for row in rows(result):
        mark = row.mark
        first, *rest = row.cells
        body.append((element("span", element("span", mark, class_="mark"), first), *rest))
        styles.append("measured" if row.cell is None else "chosen" if "*" in mark else "now" if ">" in mark else None)
    yield wide_table("Every combination", names, body, numbers=range(len(names)), styles=styles)
    yield element("p", INTERVAL_NOTE, class_="about")
    marks = (element("li", element("code", mark), f" {text}") for mark, text in legend(result))
    yield element("ul", blocks(marks), class_="about")


def _basis(result: WhatIf) -> Iterator[Markup]:
    if result.notes:
        yield element("ul", blocks(element("li", note) for note in result.notes))
    yield wide_table("Parameters of the model", _PARAMETER_HEADS, parameter_rows(result), numbers=(1, 2, 3))
    yield element("p", f"{result.draws} draws for each interval, seed {result.seed}.", class_="about")
