"""What every form of a what-if result says in the same words: sentences, marks and cells."""

from collections.abc import Iterator
from typing import NamedTuple

from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.model.whatif import Interval, MeasuredValue, SettingsCell, WhatIf
from advisor.report.quantitywording import quantity_words

__all__ = [
    "INTERVAL_NOTE",
    "MARKS",
    "Row",
    "answer",
    "best_lines",
    "heads",
    "legend",
    "load_line",
    "named",
    "pace_text",
    "parameter_rows",
    "point_line",
    "rows",
    "spread",
    "unfinished_line",
    "workers_text",
]

INTERVAL_NOTE = "Values are means; in parentheses stands what holds four cases of five."
MARKS = {
    ">": "the settings in force",
    "*": "the smallest that meet the wait target",
    "=": "a raise that gains less than 5 %: the next smaller value does as well",
    "!": "not everything got ready: means leave out what would take longest",
    "?": "beyond the calibrated range, or above the CPU limit: a guess",
}
"""Marks of rows, and what they say."""

_COLUMNS = (
    ("makespan_seconds", "makespan"),
    ("ready_seconds_mean", "ready"),
    ("queue_wait_seconds_mean", "queue wait"),
    ("limiter_wait_seconds_mean", "limiter wait"),
    ("utilisation", "busy"),
    ("cpu_cores", "cores"),
    ("requests_per_second", "API/s"),
)
_NOTHING = "-"
_SIZES = ((120.0, 60.0), (1.0, 1.0), (1e-3, 1e-3))
"""From how many seconds on a value is written in minutes, seconds and milliseconds; below in microseconds."""


class Row(NamedTuple):
    """One line of the table; ``cell`` is None for what was measured."""

    cell: SettingsCell | None
    mark: str
    cells: tuple[str, ...]


def answer(result: WhatIf) -> str:
    """What to set, in one sentence."""
    target = format_value(result.wait_target_seconds, Unit.SECONDS)
    now = _wait(result.now)
    today = f", now {now}" if now else ""
    if result.smallest is None:
        best = next((one.cell for one in result.best if one.quantity == "queue_wait_seconds_mean"), None)
        least = "" if best is None else f"; the least is {_wait(result.cells[best])} with {named(result.cells[best])}"
        # Settings count as good enough only with the upper end of their interval.
        return f"None of the settings is sure to keep the mean queue wait within {target}{today}{least}."
    cell = result.cells[result.smallest]
    if cell.is_now:
        return f"The settings in force keep the mean queue wait within {target}: {_wait(cell)}."
    guess = ", as far as a guess beyond the calibrated range can tell" if cell.is_beyond else ""
    return (
        f"The smallest settings that keep the mean queue wait within {target} are {named(cell)}: "
        f"{_wait(cell)}{today}{guess}."
    )


def _wait(cell: SettingsCell | None) -> str:
    wait = None if cell is None else cell.estimate("queue_wait_seconds_mean")
    return "" if wait is None else spread(wait)


def named(cell: SettingsCell) -> str:
    """The settings in words."""
    bucket = "no limiter" if cell.qps < 0 else f"QPS {cell.qps:g} with burst {cell.burst}"
    limit = "" if cell.cpu_limit_cores is None else f" and {cell.cpu_limit_cores:g} cores"
    return f"{workers_text(cell.concurrency)}, {bucket}{limit}"


def workers_text(count: int) -> str:
    """So many workers."""
    return f"{count} worker{'' if count == 1 else 's'}"


def pace_text(qps: float) -> str:
    """The QPS in words."""
    return "no limiter" if qps < 0 else f"QPS {qps:g}"


def load_line(result: WhatIf) -> str:
    """The load in one line."""
    load = result.load
    parts = []
    if load.existing:
        parts.append(f"{load.existing:,} existing")
    if load.created:
        over = f" over {format_value(load.arrival_seconds, Unit.SECONDS)}" if load.arrival_seconds > 0 else " at once"
        parts.append(f"{load.created:,} created{over} with {load.pods:,} Pods")
    restarts = "restart" if load.restarts == 1 else "restarts"
    for count, name in ((load.scalings, "scaled"), (load.deletions, "deleted"), (load.restarts, restarts)):
        if count:
            parts.append(f"{count:,} {name}")
    if load.duration_seconds is not None:
        parts.append(f"{format_value(load.duration_seconds, Unit.SECONDS)} long")
    return f"load of {load.name}: {', '.join(parts) or 'nothing'}"


def point_line(result: WhatIf) -> str:
    """What the model was calibrated on, in one line."""
    points = [f"{one.name} ({workers_text(one.concurrency)}, {pace_text(one.qps)})" for one in result.points]
    return f"calibrated on {', '.join(points)}" if points else "not calibrated: the times of the world are stated"


def unfinished_line(result: WhatIf) -> str:
    """How far an interrupted run got, "" where it is whole."""
    if result.is_complete:
        return ""
    return f"Interrupted: {len(result.cells)} of {result.cells_wanted} combinations are finished."


def best_lines(result: WhatIf) -> Iterator[str]:
    """The best settings for each quantity."""
    for one in result.best:
        cell = result.cells[one.cell]
        estimate = cell.estimate(one.quantity)
        if estimate is not None:
            yield f"{quantity_words(one.quantity)}: {spread(estimate)} with {named(cell)}"


def _shows_limits(result: WhatIf) -> bool:
    return any(one.cpu_limit_cores is not None for one in result.cells)


def heads(result: WhatIf) -> tuple[str, ...]:
    """The heads of the table, without that of the marks."""
    limits = ("limit",) if _shows_limits(result) else ()
    return ("workers", "QPS", "burst", *limits, *(title for _, title in _COLUMNS))


def rows(result: WhatIf) -> Iterator[Row]:
    """A row for each cell, and one for what was measured below the settings in force."""
    limits = _shows_limits(result)
    for index, cell in enumerate(result.cells):
        limit = _NOTHING if cell.cpu_limit_cores is None else f"{cell.cpu_limit_cores:g}"
        settings = (
            str(cell.concurrency),
            _qps(cell.qps),
            _NOTHING if cell.qps < 0 else str(cell.burst),
            *((limit,) if limits else ()),
        )
        values = (cell.estimate(name) for name, _ in _COLUMNS)
        cells = (*settings, *(_NOTHING if one is None else _cell_text(one) for one in values))
        yield Row(cell, _mark(result, index), cells)
        if cell.is_now and result.measured:
            known = {one.quantity: _cell_text(one) for one in result.measured}
            blank = ("",) * (len(settings) - 1)
            yield Row(None, "", ("measured", *blank, *(known.get(name, _NOTHING) for name, _ in _COLUMNS)))


def _cell_text(one: Interval | MeasuredValue) -> str:
    """A value below its head, which names the unit of cores and rates."""
    if one.unit in (Unit.CORES, Unit.PER_SECOND):
        return f"{one.value:.2g}" if one.value < 1.0 else format_value(one.value, Unit.COUNT)
    return spread(one) if isinstance(one, Interval) else format_value(one.value, one.unit)


def _mark(result: WhatIf, index: int) -> str:
    cell = result.cells[index]
    marks = (
        (">", cell.is_now),
        ("*", index == result.smallest),
        ("=", bool(cell.no_gain)),
        ("!", not cell.is_complete),
        ("?", cell.is_beyond),
    )
    return "".join(mark for mark, holds in marks if holds)


def legend(result: WhatIf) -> Iterator[tuple[str, str]]:
    """The marks that occur, and what they say."""
    used = "".join(_mark(result, index) for index in range(len(result.cells)))
    return ((mark, text) for mark, text in MARKS.items() if mark in used)


def parameter_rows(result: WhatIf) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, value, bounds and origin of each parameter of the model."""
    for one in result.parameters:
        unit = Unit.SECONDS if one.name.endswith("_seconds") else Unit.COUNT
        value, low, high = (format_value(value, unit) for value in (one.value, one.low, one.high))
        yield one.name.replace("_", " "), value, low, high, one.origin


def spread(one: Interval) -> str:
    """A value with its interval in the same unit, such as ``9.9 s (8.1-11.8)``."""
    text = format_value(one.value, one.unit)
    if one.low is None or one.high is None or one.low == one.high:
        return text
    if one.value == 0.0:
        return f"{text} (up to {format_value(one.high, one.unit)})"
    if one.unit != Unit.SECONDS:
        return f"{text} ({format_value(one.low, one.unit)}-{format_value(one.high, one.unit)})"
    size = next((size for least, size in _SIZES if one.value >= least), 1e-6)
    return f"{text} ({_short(one.low / size)}-{_short(one.high / size)})"


def _short(value: float) -> str:
    """Two digits are more than a bound of an interval is worth."""
    return f"{float(f'{value:.2g}'):g}"


def _qps(value: float) -> str:
    return "off" if value < 0 else f"{value:g}"
