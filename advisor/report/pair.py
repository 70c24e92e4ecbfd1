"""One quantity before and after as two bars, for a cell of a table that has the figures beside it."""

from typing import NamedTuple

from advisor.report.markup import Markup, element

__all__ = ["Interval", "draw_pair"]

_LEAST = 1e-12


class Interval(NamedTuple):
    """From where to where something was predicted to be."""

    low: float
    high: float


def draw_pair(before: float | None, after: float | None, predicted: Interval | None = None) -> Markup:
    """The bar above is before, the one below after; a bracket shows what was predicted. "" where a side is unknown."""
    if before is None or after is None:
        return Markup("")
    ends = (before, after, *(predicted or ()))
    scale = 100.0 / max(*ends, _LEAST)
    parts = [
        element("rect", class_="was", x=0, y=0, width=max(0.0, before) * scale, height=4.5),
        element("rect", class_="is", x=0, y=5.5, width=max(0.0, after) * scale, height=4.5),
    ]
    if predicted is not None:
        low, high = (max(0.0, end) * scale for end in predicted)
        parts.append(element("line", class_="between", x1=low, x2=high, y1=7.7, y2=7.7))
        parts += [element("line", class_="between", x1=at, x2=at, y1=5.7, y2=9.7) for at in (low, high)]
    return element("svg", *parts, class_="pair", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")
