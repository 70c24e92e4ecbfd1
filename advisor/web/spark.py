"""A line of a few values without axes, small enough for a cell of a table."""

from collections.abc import Sequence
from typing import Final

from advisor.report.markup import Markup, element

__all__ = ["draw_spark"]

_WIDTH: Final = 100.0
_HEIGHT: Final = 20.0
_FEWEST: Final = 2


def draw_spark(values: Sequence[float | None], label: str) -> Markup:
    """Values from left to right, from 0 to the largest one; gaps where one is not known, "" with fewer than two."""
    known = [value for value in values if value is not None]
    if len(known) < _FEWEST:
        return Markup("")
    largest = max(known) or 1.0
    step = _WIDTH / (len(values) - 1)
    way, is_open = [], False
    for index, value in enumerate(values):
        if value is None:
            is_open = False
            continue
        down = _HEIGHT - (_HEIGHT - 1.0) * value / largest - 0.5
        way.append(f"{'L' if is_open else 'M'}{index * step:.1f} {down:.1f}")
        is_open = True
    return element(
        "svg",
        element("path", d="".join(way)),
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        class_="spark",
        preserveAspectRatio="none",
        role="img",
        aria_label=label,
    )
