"""A backtest for a terminal, a pipe, a page or a program."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

import msgspec
from rich.console import RenderableType
from rich.text import Text

from advisor.model.backtest import BacktestRow
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.layout import table

__all__ = ["NOISE_SECONDS", "backtest_json", "backtest_markdown", "backtest_parts", "counted", "summary"]

NOISE_SECONDS = {"limiter_wait_seconds_mean": 0.005}
"""Measured values below these tell nothing about a prediction; 0.2 s for all other quantities."""
_NOISE_SECONDS = 0.2
_HEADS = ("recording", "quantity", "predicted", "80 % between", "and", "measured", "error", "")


def counted(rows: Iterable[BacktestRow]) -> list[BacktestRow]:
    """Rows whose measured value is above noise."""
    return [
        row
        for row in rows
        if row.relative_error is not None and row.measured >= NOISE_SECONDS.get(row.quantity, _NOISE_SECONDS)
    ]


def summary(rows: Iterable[BacktestRow]) -> str:
    """One sentence: how far predictions were off, and how many intervals held the truth."""
    above = counted(rows)
    if not above:
        return "Nothing above noise was predicted and measured."
    errors = [abs(row.relative_error or 0.0) for row in above]
    held = sum(row.holds for row in above)
    return (
        f"{len(above)} figures above noise: off by {median(errors):.0%} (median) and {max(errors):.0%} (worst); "
        f"the interval held {held} of them ({held / len(above):.0%})."
    )


def backtest_parts(rows: Sequence[BacktestRow]) -> Iterator[RenderableType]:
    """The table and the sentence under it."""
    yield table(_HEADS, map(_cells, rows))
    yield Text(summary(rows), style="bold")


def backtest_markdown(rows: Sequence[BacktestRow]) -> str:
    """The same as Markdown."""
    lines = [f"| {' | '.join(_HEADS[:-1])} | held |", f"|{' --- |' * len(_HEADS)}"]
    lines += [f"| {' | '.join(_cells(row))} |" for row in rows]
    return "\n".join([*lines, "", summary(rows)]) + "\n"


def backtest_json(rows: Sequence[BacktestRow]) -> str:
    """The rows as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(rows), indent=2).decode() + "\n"


def _cells(row: BacktestRow) -> tuple[str, ...]:
    is_noise = not counted([row])
    error = "" if row.relative_error is None or is_noise else f"{row.relative_error:+.0%}"
    mark = "noise" if is_noise else "yes" if row.holds else "no"
    seconds = (format_value(value, Unit.SECONDS) for value in (row.predicted, row.low, row.high, row.measured))
    return (row.recording, row.quantity, *seconds, error, mark)
