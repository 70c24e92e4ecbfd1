"""A dashboard as one SVG: panels in two columns, curves as the product's own charts draw them.

For the docs, since Grafana is not at hand. Pictures have classes; their colours follow the reader's theme.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Final

from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.charts import Chart, Line, draw_chart
from advisor.report.markup import Markup, blocks, element

__all__ = ["Cell", "Curve", "draw_dashboard"]

_COLUMN: Final = 480.0
_CHART_WIDTH, _CHART_HEIGHT = 460.0, 196.0
_CELL_HEIGHT: Final = 278.0
_ROW_HEIGHT: Final = 34.0
_STYLES: Final = ("first", "second", "third", "fourth", "fifth", "sixth")
_LEVELS: Final = 6
_LINE: Final = 15.0
_MOST_ROWS: Final = 10
_MOST_STATS: Final = 4
_LETTERS: Final = 62
_CARRIED: Final = re.compile(r' data-chart="[^"]*"')
"""Values for a page that is live, which a picture is not."""
_SCALES: Final = {"bytes": ((2.0**20, "MiB"), (2.0**10, "KiB")), "Bps": ((1e6, "MB/s"), (1e3, "kB/s"))}
"""By unit, the larger size first."""
_UNITS: Final = {"s": Unit.SECONDS, "percentunit": Unit.RATIO, "ops": Unit.PER_SECOND, "reqps": Unit.PER_SECOND}
_STYLE: Final = Path(__file__).with_name("picture.css").read_text(encoding="utf-8") + "".join(
    f".line.{one} {{ stroke: var(--{one}); }} .area.{one}, .fill.{one} {{ fill: var(--{one}); }}\n" for one in _STYLES
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One series of a panel: its name, and a value for each interval, None where there is none."""

    name: str
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a panel shows.

    Attributes:
        kind: the type of the panel.
        title: above it; of a row its name.
        unit: Grafana's.
        bounds: of the intervals.
        curves: in the order of the panel.
        lines: thresholds, as (class, value).
        stacked: whether curves lie upon each other.
        states: text and class by value.
        table: heads, and rows of text.
        text: what a panel without data says, or the text that it is.
    """

    kind: str
    title: str
    unit: str = "none"
    bounds: Sequence[float] = ()
    curves: Sequence[Curve] = ()
    lines: Sequence[tuple[str, float]] = ()
    stacked: bool = False
    states: Mapping[float, tuple[str, str]] = field(default_factory=dict)
    table: tuple[Sequence[str], Sequence[Sequence[str]]] = ((), ())
    text: str = ""


def draw_dashboard(title: str, caption: str, cells: Sequence[Cell]) -> str:
    """The whole picture; the caption says what was recorded."""
    parts = [
        element("text", title, class_="name", x=14.0, y=30.0),
        element("text", caption, x=14.0, y=50.0),
    ]
    top = 62.0
    for row, panels in _rows(cells):
        if row:
            parts.append(element("text", row, class_="row", x=14.0, y=top + 22.0))
            top += _ROW_HEIGHT
        for number, line in enumerate(_pairs(panels)):
            height = max(_height(cell) for cell in line)
            for column, cell in enumerate(line):
                wide = len(line) == 1 and cell.kind == "text"
                name = f"c{len(parts)}-{number}-{column}"
                parts.append(_cell(cell, name, 10.0 + column * (_COLUMN + 10.0), top, height, wide=wide))
            top += height + 10.0
    size = {"width": 2 * _COLUMN + 30.0, "height": top}
    return element(
        "svg",
        blocks(
            [
                element("title", title),
                element("style", Markup(_STYLE)),
                element("rect", class_="page", x=0.0, y=0.0, **size),
                *parts,
            ]
        ),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {size['width']:g} {size['height']:g}",
        role="img",
    )


def _height(cell: Cell) -> float:
    """As much as its content needs."""
    if cell.kind == "text":
        return 84.0
    if cell.kind == "table":
        return 64.0 + 19.0 * min(len(cell.table[1]), _MOST_ROWS)
    if cell.kind in {"stat", "state-timeline"} or not cell.curves:
        return 90.0 + 40.0 * min(len(cell.curves), _MOST_STATS)
    return _CELL_HEIGHT


def _pairs(cells: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
    return (cells[at : at + 2] for at in range(0, len(cells), 2))


def _rows(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Each row's name with its panels; texts stand alone, so they come first."""
    at = [place for place, one in enumerate(cells) if one.kind == "row"]
    for start, end in pairwise([*at, len(cells)]):
        inside = cells[start + 1 : end]
        notes = [one for one in inside if one.kind == "text"]
        if notes:
            yield cells[start].title, notes
        yield "" if notes else cells[start].title, [one for one in inside if one.kind != "text"]


def _cell(cell: Cell, name: str, left: float, top: float, height: float, *, wide: bool) -> Markup:
    width = 2 * _COLUMN + 10.0 if wide else _COLUMN
    drawn = [
        element("rect", class_="card", x=0.0, y=0.0, width=width, height=height, rx=6.0),
        element("text", _titled(cell), class_="title", x=12.0, y=20.0),
        *_content(cell, name),
    ]
    return element("g", blocks(drawn), transform=f"translate({left:g} {top:g})")


def _titled(cell: Cell) -> str:
    suffix = {"ops": "per second", "reqps": "per second"}.get(cell.unit, _scale(cell)[1])
    return f"{cell.title} ({suffix})" if suffix and cell.kind == "timeseries" else cell.title


def _scale(cell: Cell) -> tuple[float, str]:
    """What values are divided by, and the name of that."""
    sizes = _SCALES.get(cell.unit, ((1.0, ""),))
    highest = max((_highest(one.values) for one in cell.curves), default=0.0)
    return next((one for one in sizes if highest >= one[0]), sizes[-1])


def _content(cell: Cell, name: str) -> Iterator[Markup]:
    if cell.kind == "text":
        yield from _wrapped(cell.text, 38.0, 150)
    elif cell.kind == "table" and cell.table[1]:
        yield from _table(cell)
    elif not cell.curves:
        yield from _wrapped(cell.text, 60.0, _LETTERS)
    elif cell.kind == "heatmap":
        yield from _heat(cell)
    elif cell.kind == "state-timeline":
        yield from _states(cell)
    elif cell.kind == "stat":
        for place, curve in enumerate(cell.curves[:_MOST_STATS]):
            last = next(value for value in reversed(curve.values) if value is not None)
            y = 62.0 + place * 52.0
            yield element("text", _worded(last, cell.unit), class_="big", x=12.0, y=y)
            yield element("text", curve.name, x=12.0, y=y + 18.0)
    else:
        yield from _curves(cell, name)


def _wrapped(text: str, top: float, letters: int) -> Iterator[Markup]:
    for place, line in enumerate(textwrap.wrap(text, letters)):
        yield element("text", line, x=12.0, y=top + place * _LINE)


def _worded(value: float, unit: str) -> str:
    return format_value(value, _UNITS.get(unit, ""))


def _curves(cell: Cell, name: str) -> Iterator[Markup]:
    size, _ = _scale(cell)
    shown = sorted(cell.curves, key=lambda one: -_highest(one.values))[: len(_STYLES)]
    shown = [one for one in cell.curves if one in shown]
    values = [[None if one is None else one / size for one in curve.values] for curve in shown]
    if cell.stacked:
        values = [
            list(each) for each in accumulate(values, lambda a, b: [_plus(x, y) for x, y in zip(a, b, strict=True)])
        ]
    lines = [
        Line(curve.name, style, each, filled=cell.stacked)
        for curve, style, each in zip(shown, _STYLES, values, strict=False)
    ]
    highest = max(_highest(each) for each in values)
    marks = [Line(kind, kind, [at / size] * len(values[0])) for kind, at in cell.lines if at / size <= 2.0 * highest]
    # The highest of a stack first, so that the others lie upon it.
    order = lines[::-1] if cell.stacked else lines
    chart = draw_chart(Chart(cell.title, _UNITS.get(cell.unit, ""), cell.bounds, [*order, *marks], ()), name)
    place = f'<svg x="8" y="26" width="{_CHART_WIDTH:g}" height="{_CHART_HEIGHT:g}" '
    yield Markup(_CARRIED.sub("", chart).replace("<svg ", place, 1))
    for at, line in enumerate(lines):
        x, y = 12.0 + (at % 2) * (_COLUMN / 2.0), 236.0 + (at // 2) * _LINE
        yield element("rect", class_=f"fill {line.style}", x=x, y=y - 8.0, width=10.0, height=8.0)
        yield element("text", textwrap.shorten(line.name, 36, placeholder=".."), class_="legend", x=x + 15.0, y=y)


def _highest(values: Sequence[float | None]) -> float:
    return max((one for one in values if one is not None), default=0.0)


def _plus(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


def _heat(cell: Cell) -> Iterator[Markup]:
    """Buckets from below; what is exposed is cumulative."""
    sorted_curves = sorted(cell.curves, key=lambda one: float(one.name))
    counts: list[list[float]] = []
    below = [0.0] * len(sorted_curves[0].values)
    for curve in sorted_curves:
        now = [value or 0.0 for value in curve.values]
        counts.append([max(0.0, a - b) for a, b in zip(now, below, strict=True)])
        below = now
    most = max(max(each) for each in counts) or 1.0
    left, top, width, height = 64.0, 34.0, _COLUMN - 80.0, _CELL_HEIGHT - 60.0
    high, wide = height / len(counts), width / len(below)
    for row, (curve, each) in enumerate(zip(sorted_curves, counts, strict=True)):
        y = top + height - (row + 1) * high
        yield element("text", f"{float(curve.name):g}", class_="tick value", x=left - 6.0, y=y + high / 2.0 + 4.0)
        for column, count in enumerate(each):
            if count > 0.0:
                x = left + column * wide
                style = f"fill-opacity:{max(0.12, (count / most) ** 0.5):.2f}"
                yield element("rect", class_="heat", x=x, y=y, width=wide - 0.5, height=high - 1.0, style=style)
    yield element("text", "upper bound in seconds; darker is more", class_="legend", x=left, y=_CELL_HEIGHT - 10.0)


def _states(cell: Cell) -> Iterator[Markup]:
    left, width = 150.0, _COLUMN - 165.0
    begin, end = cell.bounds[0], cell.bounds[-1]
    for row, curve in enumerate(cell.curves[:_MOST_STATS]):
        y = 36.0 + row * 34.0
        yield element("text", textwrap.shorten(curve.name, 24, placeholder=".."), x=12.0, y=y + 16.0)
        for value, (start, until) in zip(curve.values, pairwise(cell.bounds), strict=True):
            if value is not None:
                x = left + (start - begin) / (end - begin) * width
                wide = (until - start) / (end - begin) * width
                style = cell.states.get(value, ("", "first"))[1]
                yield element("rect", class_=f"state fill {style}", x=x, y=y, width=wide + 0.2, height=24.0)
    for at, (text, style) in enumerate(cell.states.values()):
        x, y = 12.0 + at * 140.0, _height(cell) - 14.0
        yield element("rect", class_=f"state fill {style}", x=x, y=y - 8.0, width=10.0, height=8.0)
        yield element("text", text, class_="legend", x=x + 15.0, y=y)


def _table(cell: Cell) -> Iterator[Markup]:
    heads, rows = cell.table
    widths = [max(len(head), *(len(row[place]) for row in rows)) + 2.0 for place, head in enumerate(heads)]
    wide = (_COLUMN - 24.0) / sum(widths)
    starts = [12.0 + wide * before for before in accumulate([0.0, *widths[:-1]])]
    for x, head in zip(starts, heads, strict=True):
        yield element("text", head, class_="legend", x=x, y=44.0)
    for number, row in enumerate(rows[:_MOST_ROWS]):
        for x, text, room in zip(starts, row, widths, strict=True):
            shown = text if len(text) <= room else f"{text[: int(room)]}.."
            yield element("text", shown, class_="legend strong", x=x, y=64.0 + number * 19.0)
