"""Quantities over a few settings as SVG: curves with their intervals.

Pictures carry classes and no colours: the page around them gives those, for light, dark and paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from advisor.model.text import format_value
from advisor.model.whatif import Interval
from advisor.report.axes import Scale, value_ticks
from advisor.report.markup import Markup, blocks, element, number

__all__ = ["Curve", "Curves", "draw_curves"]

_WIDTH, _HEIGHT = 460.0, 196.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 446.0, 14.0, 164.0
_HALF_BOUND = 3.0
_APART = 5.0
"""Between the intervals of two curves, so that one does not hide the other."""
_DOT = 3.0


@dataclass(frozen=True, slots=True)
class Curve:
    """A value at each place, None where it is not known. ``style`` is a class of the page's."""

    name: str
    style: str
    values: Sequence[Interval | None]


@dataclass(frozen=True, slots=True)
class Curves:
    """Curves over the same places, which stand at even distances, in their order."""

    title: str
    unit: str
    axis: str
    places: Sequence[str]
    curves: Sequence[Curve]


def draw_curves(one: Curves, name: str) -> Markup:
    """The curves as one picture; ``name`` is an id that nothing else on the page has."""
    known = [value for curve in one.curves for value in curve.values if value is not None]
    highest = max((value.value if value.high is None else value.high for value in known), default=0.0)
    ticks = value_ticks(highest, one.unit)
    up = Scale(0.0, ticks[-1][0], _BOTTOM, _TOP)
    across = Scale(-0.5, len(one.places) - 0.5, _LEFT, _RIGHT)
    middle = (len(one.curves) - 1) / 2.0
    return element(
        "svg",
        blocks(
            [
                element("title", f"{one.title} by {one.axis}", id=f"{name}-title"),
                element("desc", _described(one), id=f"{name}-desc"),
                *_axes(one, ticks, up, across),
                *(
                    part
                    for index, curve in enumerate(one.curves)
                    for part in _curve(curve, up, across, (index - middle) * _APART)
                ),
            ]
        ),
        class_="chart",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def _described(one: Curves) -> str:
    """The picture in words, for those who cannot see it."""
    parts = []
    for curve in one.curves:
        told = (
            f"{place}: {format_value(value.value, one.unit)}"
            for place, value in zip(one.places, curve.values, strict=True)
            if value is not None
        )
        parts.append(f"{curve.name}, by {one.axis}, {', '.join(told)}.")
    return " ".join(parts)


def _axes(one: Curves, ticks: Sequence[tuple[float, str]], up: Scale, across: Scale) -> Iterator[Markup]:
    for value, label in ticks:
        yield element("line", class_="grid" if value else "axis", x1=_LEFT, x2=_RIGHT, y1=up(value), y2=up(value))
        yield element("text", label, class_="tick value", x=_LEFT - 6.0, y=up(value) + 4.0)
    for place, label in enumerate(one.places):
        yield element("text", label, class_="tick time", x=across(place), y=_BOTTOM + 15.0)
    yield element("text", one.axis, class_="tick time", x=(_LEFT + _RIGHT) / 2.0, y=_BOTTOM + 29.0)


def _curve(curve: Curve, up: Scale, across: Scale, aside: float) -> Iterator[Markup]:
    way, is_open = "", False
    for place, value in enumerate(curve.values):
        if value is None:
            is_open = False
            continue
        x, y = across(place) + aside, up(value.value)
        way += f"{'L' if is_open else 'M'}{number(x)} {number(y)}"
        is_open = True
        yield element("circle", class_=f"dot {curve.style}", cx=x, cy=y, r=_DOT)
        if value.low is None or value.high is None or value.low == value.high:
            continue
        low, high = up(value.low), up(value.high)
        yield element("line", class_=f"reach {curve.style}", x1=x, x2=x, y1=low, y2=high)
        for end in (low, high):
            yield element("line", class_=f"reach {curve.style}", x1=x - _HALF_BOUND, x2=x + _HALF_BOUND, y1=end, y2=end)
    yield element("path", class_=f"line {curve.style}", d=way)
