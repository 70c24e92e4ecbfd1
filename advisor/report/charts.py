"""Pictures of a report as SVG: figures over time with the episodes behind them, and shares as bars.

Pictures carry classes and no colours: the page around them gives those, for light, dark and paper.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from advisor.model.report import EpisodeReport
from advisor.model.text import format_value
from advisor.report.axes import Scale, time_ticks, value_ticks
from advisor.report.markup import Markup, blocks, element, number, printable
from advisor.report.wording import BudgetShare, utc

__all__ = ["Chart", "Line", "draw_chart", "draw_figure", "draw_range", "draw_shares", "draw_swatch"]

_WIDTH, _HEIGHT = 460.0, 196.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 450.0, 22.0, 172.0
_HEADROOM = 8.0
"""Between the top of the picture and the highest value, so that a curve at its limit is seen."""
_LETTER = 7.0
"""Width of a letter of a band's label, on the generous side."""
_LABEL_ROOM = 8.0
_HALF_TIME_LABEL = 30.0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: a value for each interval, None where it is not known. ``style`` is a class of the page's."""

    name: str
    style: str
    values: Sequence[float | None]
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves over the same intervals, with the episodes behind them."""

    title: str
    unit: str
    bounds: Sequence[float]
    lines: Sequence[Line]
    episodes: Sequence[EpisodeReport]


def draw_figure(chart: Chart, name: str, *, fewest_named: int = 2) -> Markup:
    """The chart below its title, with a legend where it has as many curves as need names."""
    legend = [element("span", draw_swatch(line.style), line.name, class_="legend") for line in chart.lines]
    caption = element("figcaption", element("strong", chart.title), *(legend if len(legend) >= fewest_named else ()))
    return element("figure", blocks([caption, draw_chart(chart, name)]))


def draw_chart(chart: Chart, name: str) -> Markup:
    """The chart as one picture; ``name`` is an id that nothing else on the page has."""
    begin, end = chart.bounds[0], chart.bounds[-1]
    known = [value for line in chart.lines for value in line.values if value is not None]
    ticks = value_ticks(max(known, default=0.0), chart.unit)
    across = Scale(begin, end, _LEFT, _RIGHT)
    up = Scale(0.0, ticks[-1][0], _BOTTOM, _TOP + _HEADROOM)
    return element(
        "svg",
        blocks(
            [
                element("title", chart.title, id=f"{name}-title"),
                element("desc", _described(chart), id=f"{name}-desc"),
                *_bands(chart.episodes, across),
                *_value_axis(ticks, up),
                *_time_axis(begin, end, across),
                *(path for line in chart.lines for path in _curve(line, chart.bounds, across, up)),
            ]
        ),
        class_="chart",
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        data_chart=_carried(chart, ticks),
    )


def _carried(chart: Chart, ticks: Sequence[tuple[float, str]]) -> str:
    """The figures behind the picture as JSON, for a script that draws them anew; `document.page` leaves them out.

    Times are the first in Unix seconds, then the seconds from each to the next; values have five digits.
    """
    steps = [round(after - before, 3) for before, after in pairwise(chart.bounds)]
    lines = [
        {
            "name": printable(line.name),
            "style": line.style,
            "filled": line.filled,
            "values": [None if value is None else float(f"{value:.5g}") for value in line.values],
        }
        for line in chart.lines
    ]
    episodes = [
        {
            "from": one.episode.window.start,
            "to": one.episode.window.end,
            "kind": one.episode.kind.value,
            "verdict": one.is_verdict,
        }
        for one in _drawn(chart.episodes)
    ]
    carried = {
        "title": printable(chart.title),
        "unit": chart.unit,
        "times": [chart.bounds[0], *steps],
        "ticks": ticks,
        "lines": lines,
        "episodes": episodes,
    }
    return msgspec.json.encode(carried).decode()


def _described(chart: Chart) -> str:
    """The chart in words, for those who cannot see it."""
    begin, end = chart.bounds[0], chart.bounds[-1]
    parts = [f"From {utc(begin)} to {utc(end)} UTC."]
    for line in chart.lines:
        known = [(value, index) for index, value in enumerate(line.values) if value is not None]
        highest = max(value for value, _ in known)
        first = next(index for value, index in known if value == highest)
        at = utc(chart.bounds[first + 1], "%H:%M:%S")
        last = format_value(known[-1][0], chart.unit)
        parts.append(f"{line.name}: highest {format_value(highest, chart.unit)} at {at}, last {last}.")
    return " ".join(parts)


def _bands(episodes: Sequence[EpisodeReport], across: Scale) -> Iterator[Markup]:
    """The episodes as stripes with their labels on top, as far as there is room for them."""
    taken: list[tuple[float, float]] = []
    labels = []
    for one in _drawn(episodes):
        window = one.episode.window
        left, right = (min(max(across(time), _LEFT), _RIGHT) for time in (window.start, window.end))
        style = f"band {one.episode.kind.value}{' verdict' if one.is_verdict else ''}"
        yield element("rect", class_=style, x=left, y=_TOP, width=right - left, height=_BOTTOM - _TOP)
        if one.is_verdict:
            yield element("rect", class_="verdict-mark", x=left, y=_TOP - 3.0, width=right - left, height=3.0)
        text = f"{one.episode.kind.value}{' (verdict)' if one.is_verdict else ''}"
        need = len(text) * _LETTER + _LABEL_ROOM
        middle = min(max((left + right) / 2.0, _LEFT + need / 2.0), _RIGHT - need / 2.0)
        span = (middle - need / 2.0, middle + need / 2.0)
        fits = one.is_verdict or right - left >= need
        if fits and all(span[1] <= start or end <= span[0] for start, end in taken):
            taken.append(span)
            style = "band-label verdict-label" if one.is_verdict else "band-label"
            labels.append(element("text", text, class_=style, x=middle, y=_TOP - 8.0))
    yield from labels


def _drawn(episodes: Sequence[EpisodeReport]) -> list[EpisodeReport]:
    """The episodes in the order in which they are drawn: the verdict's is the first to get its label."""
    return sorted(episodes, key=lambda one: not one.is_verdict)


def _value_axis(ticks: Sequence[tuple[float, str]], up: Scale) -> Iterator[Markup]:
    for value, label in ticks:
        style = "grid" if value else "axis"
        yield element("line", class_=style, x1=_LEFT, x2=_RIGHT, y1=up(value), y2=up(value))
        yield element("text", label, class_="tick value", x=_LEFT - 6.0, y=up(value) + 4.0)


def _time_axis(begin: float, end: float, across: Scale) -> Iterator[Markup]:
    for time, label in time_ticks(begin, end):
        at = across(time)
        yield element("line", class_="axis", x1=at, x2=at, y1=_BOTTOM, y2=_BOTTOM + 4.0)
        middle = min(at, _WIDTH - _HALF_TIME_LABEL)
        yield element("text", label, class_="tick time", x=middle, y=_BOTTOM + 18.0)


def _curve(line: Line, bounds: Sequence[float], across: Scale, up: Scale) -> Iterator[Markup]:
    """The curve as stairs: each value holds for its whole interval, and where none is known there is none."""
    parts = list(_stairs(line.values, bounds, across, up))
    if line.filled:
        floor = number(_BOTTOM)
        area = "".join(f"M{points[0][0]} {floor}{_way(points, 'V')}V{floor}Z" for points in parts)
        yield element("path", class_=f"area {line.style}", d=area)
    yield element("path", class_=f"line {line.style}", d="".join(f"M{points[0][0]} {_way(points)}" for points in parts))


def _way(points: Sequence[tuple[str, str]], first: str = "") -> str:
    """The rest of a path over the corners of stairs, from below the first of them."""
    (_, before), *rest = points
    way = f"{first}{before}"
    for x, y in rest:
        way += f"H{x}" if y == before else f"V{y}"
        before = y
    return way


def _stairs(
    values: Sequence[float | None], bounds: Sequence[float], across: Scale, up: Scale
) -> Iterator[list[tuple[str, str]]]:
    """The corners of each unbroken part, without those on a straight way."""
    corners: list[tuple[str, str]] = []
    for value, (start, end) in zip(values, pairwise(bounds), strict=True):
        if value is None:
            if corners:
                yield corners
            corners = []
            continue
        y = number(up(value))
        if corners and corners[-1][1] == y:
            corners.pop()
        else:
            corners.append((number(across(start)), y))
        corners.append((number(across(end)), y))
    if corners:
        yield corners


def draw_swatch(style: str) -> Markup:
    """A short piece of a curve, for a legend."""
    line = element("line", class_=f"line {style}", x1=1, x2=23, y1=5, y2=5)
    return element("svg", line, class_="swatch", viewBox="0 0 24 10", aria_hidden="true")


def draw_shares(shares: Sequence[BudgetShare], description: str) -> Markup:
    """Shares of a whole, side by side; what none of them covers stays open."""
    at, parts = 0.0, []
    for one in shares:
        width = min(one.share * 100.0, 100.0 - at)
        parts.append(element("rect", class_=f"share {one.part}", x=at, y=0, width=width, height=10))
        at += width
    return element(
        "svg",
        element("title", description),
        element("rect", class_="share-open", x=0, y=0, width=100, height=10),
        *parts,
        class_="shares",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
    )


def draw_range(one: BudgetShare) -> Markup:
    """One share as a bar with its bounds as a line across; for a table that has the figures beside it."""
    low, high = (one.share if bound is None else bound for bound in (one.low, one.high))
    ends = [
        element("line", class_="bound", x1=at * 100.0, x2=at * 100.0, y1=2, y2=8) for at in (low, high) if low < high
    ]
    return element(
        "svg",
        element("rect", class_="share-open", x=0, y=0, width=100, height=10),
        element("rect", class_=f"share {one.part}", x=0, y=0, width=one.share * 100.0, height=10),
        element("line", class_="bound", x1=low * 100.0, x2=high * 100.0, y1=5, y2=5) if low < high else None,
        *ends,
        class_="range",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
