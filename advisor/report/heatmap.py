"""Heat maps of the queue wait over workers and QPS, as SVG: one for each burst and CPU limit.

Pictures carry classes and no colours: the page around them gives those, for light, dark and paper.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.model.whatif import SettingsCell, WhatIf
from advisor.report.markup import Markup, blocks, element
from advisor.report.whatifwording import pace_text, workers_text

__all__ = ["heat_maps"]

LEVELS = 6
"""Shades; a wait of each level is the same factor above that of the one before."""

_QUANTITY = "queue_wait_seconds_mean"
_MOST_MAPS = 6
_MOST_COLUMNS = 9
"""With more, a picture takes all the width there is."""
_LEFT, _TOP = 92.0, 22.0
_WIDTH, _HEIGHT = 78.0, 40.0
_FOOT = 6.0
_LEAST_SECONDS = 0.001
"""A wait below this is none."""

_Slice = tuple[str, float | None]
Asked = tuple[int, float]
"""Workers and QPS."""


class _Shown(NamedTuple):
    """What the cells of a picture are part of."""

    result: WhatIf
    asked: Asked | None

    def is_chosen(self, cell: SettingsCell) -> bool:
        """Whether a cell is the smallest that is enough."""
        return self.result.smallest is not None and cell is self.result.cells[self.result.smallest]

    def is_asked(self, cell: SettingsCell) -> bool:
        """Whether a cell is the one that was asked for."""
        return (cell.concurrency, cell.qps) == self.asked


def heat_maps(result: WhatIf, asked: Asked | None = None) -> Iterator[Markup]:
    """A picture for each burst and CPU limit that was tried, as far as a reader can take them in.

    Args:
        result: all combinations.
        asked: workers and QPS that somebody asked for, which are marked.
    """
    slices = _slices(result)
    waits = [wait for cells in slices.values() for cell in cells if (wait := _wait(cell)) is not None]
    if not waits:
        return
    scale = (max(_LEAST_SECONDS, min(waits)), max(_LEAST_SECONDS, *waits))
    for index, (key, cells) in enumerate(list(slices.items())[:_MOST_MAPS]):
        caption = element("figcaption", element("strong", _caption(key)))
        yield element("figure", blocks([caption, _draw(_Shown(result, asked), cells, scale, f"heat-{index}")]))


def _slices(result: WhatIf) -> dict[_Slice, list[SettingsCell]]:
    """Cells by burst and CPU limit; a burst that only follows its QPS is no difference, and none without limiter."""
    pairs = {(one.qps, one.burst) for one in result.cells if one.qps >= 0 and not one.is_now}
    follows = len(pairs) == len({qps for qps, _ in pairs})
    found: dict[_Slice, list[SettingsCell]] = {}
    bursts = [""] if follows else [f"burst {burst}" for burst in sorted({burst for _, burst in pairs})]
    for limit in dict.fromkeys(one.cpu_limit_cores for one in result.cells):
        for burst in bursts:
            cells = [
                one
                for one in result.cells
                if one.cpu_limit_cores == limit and (follows or one.qps < 0 or f"burst {one.burst}" == burst)
            ]
            if cells:
                found[burst, limit] = cells
    return found


def _caption(key: _Slice) -> str:
    burst, limit = key
    parts = [burst, "" if limit is None else f"{limit:g} cores"]
    return ", ".join(["Mean queue wait by workers and QPS", *(one for one in parts if one)])


def _draw(shown: _Shown, cells: Sequence[SettingsCell], scale: tuple[float, float], name: str) -> Markup:
    workers = sorted({one.concurrency for one in cells})
    paces = sorted({one.qps for one in cells}, key=lambda qps: math.inf if qps < 0 else qps)
    at = {(one.concurrency, one.qps): one for one in cells}
    width, height = _LEFT + len(paces) * _WIDTH + 2.0, _TOP + len(workers) * _HEIGHT + _FOOT
    return element(
        "svg",
        blocks(
            [
                element("title", "Mean queue wait by workers and QPS", id=f"{name}-title"),
                element("desc", _described(shown, cells), id=f"{name}-desc"),
                *_heads(workers, paces),
                *(
                    part
                    for row, count in enumerate(workers)
                    for column, qps in enumerate(paces)
                    if (cell := at.get((count, qps))) is not None
                    for part in _cell(shown, cell, scale, _LEFT + column * _WIDTH, _TOP + row * _HEIGHT)
                ),
            ]
        ),
        class_=f"chart heat columns-{min(len(paces), _MOST_COLUMNS)}",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
    )


def _heads(workers: Sequence[int], paces: Sequence[float]) -> Iterator[Markup]:
    for column, qps in enumerate(paces):
        yield element("text", pace_text(qps), class_="tick time", x=_LEFT + (column + 0.5) * _WIDTH, y=_TOP - 8.0)
    for row, count in enumerate(workers):
        yield element(
            "text", workers_text(count), class_="tick value", x=_LEFT - 6.0, y=_TOP + (row + 0.5) * _HEIGHT + 4.0
        )


def _cell(shown: _Shown, cell: SettingsCell, scale: tuple[float, float], left: float, top: float) -> Iterator[Markup]:
    wait = _wait(cell)
    words = _words(shown, cell)
    style = " ".join(
        [
            "heat-cell",
            *([] if wait is None else [f"level-{_level(wait, scale)}"]),
            *(["heat-now"] if cell.is_now else []),
            *(["heat-asked"] if shown.is_asked(cell) else []),
            *(["heat-chosen"] if shown.is_chosen(cell) else []),
            *(["heat-guess"] if cell.is_beyond else []),
        ]
    )
    yield element("rect", class_=style, x=left + 2.0, y=top + 2.0, width=_WIDTH - 4.0, height=_HEIGHT - 4.0)
    middle = top + _HEIGHT / 2.0
    text = "-" if wait is None else format_value(wait, Unit.SECONDS)
    yield element("text", text, class_="heat-value", x=left + _WIDTH / 2.0, y=middle + (0.0 if words else 4.0))
    if words:
        yield element("text", words, class_="heat-word", x=left + _WIDTH / 2.0, y=middle + 13.0)


def _words(shown: _Shown, cell: SettingsCell) -> str:
    parts = (
        ("now", cell.is_now),
        ("asked", shown.is_asked(cell)),
        ("enough", shown.is_chosen(cell)),
        ("guess", cell.is_beyond),
        ("unfinished", not cell.is_complete),
    )
    return ", ".join(word for word, holds in parts if holds)


def _wait(cell: SettingsCell) -> float | None:
    estimate = cell.estimate(_QUANTITY)
    return None if estimate is None else estimate.value


def _level(wait: float, scale: tuple[float, float]) -> int:
    low, high = scale
    if high <= low:
        return 0
    share = math.log(max(wait, low) / low) / math.log(high / low)
    return min(LEVELS - 1, int(share * LEVELS))


def _described(shown: _Shown, cells: Sequence[SettingsCell]) -> str:
    """The picture in words, cell by cell, for those who cannot see it."""
    parts = []
    for one in cells:
        wait = _wait(one)
        words = _words(shown, one)
        value = "not known" if wait is None else format_value(wait, Unit.SECONDS)
        parts.append(f"{workers_text(one.concurrency)}, {pace_text(one.qps)}: {value}{f' ({words})' if words else ''}.")
    return " ".join(parts)
