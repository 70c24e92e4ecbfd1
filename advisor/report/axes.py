"""Axes with ticks at round numbers, for values and for UTC times."""

import math
from dataclasses import dataclass

from advisor.model.signal import Unit
from advisor.report.wording import utc

__all__ = ["Scale", "time_ticks", "value_ticks"]

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_TIME_STEPS = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(minutes * _MINUTE for minutes in (1.0, 2.0, 5.0, 10.0, 15.0, 30.0)),
    *(hours * _HOUR for hours in (1.0, 2.0, 3.0, 6.0, 12.0)),
)
_NUMBER_STEPS = (1.0, 2.0, 5.0, 10.0)
_MOST_VALUE_STEPS = 4
_MOST_TIME_STEPS = 5
"""More lines than these behind a curve are noise."""
_ROUNDING = 1e-6
"""Seconds that rounding may be off in a Unix time."""
_TINY = 1e-9
"""Less than this is nothing: a nanosecond, or what rounding leaves over."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear way from values to coordinates."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def value_ticks(highest: float, unit: str) -> list[tuple[float, str]]:
    """Values from zero to a round one not below ``highest``, with their labels; where all is zero, up to one."""
    if unit == Unit.RATIO:
        return _ratio_ticks(highest)
    seconds = unit == Unit.SECONDS
    reach = highest if highest > _TINY else 1.0
    step = _value_step(reach, seconds=seconds)
    last = math.ceil(reach / step - _TINY)
    size, name = _label_unit(step, last * step) if seconds else (1.0, "")
    return [(index * step, f"{index * step / size:,g}{name if index else ''}") for index in range(last + 1)]


def _ratio_ticks(highest: float) -> list[tuple[float, str]]:
    """Whole percents from zero to a round one; where all is zero, up to everything."""
    percents = 100.0 * highest if highest > _TINY else 100.0
    step = _value_step(percents, seconds=False)
    last = math.ceil(percents / step - _TINY)
    return [(index * step / 100.0, f"{index * step:g}%" if index else "0") for index in range(last + 1)]


def _value_step(highest: float, *, seconds: bool) -> float:
    """The smallest round step that needs few enough of them."""
    least = highest / _MOST_VALUE_STEPS
    if seconds and least > _TIME_STEPS[3]:
        return next((step for step in _TIME_STEPS if step >= least), _days(least))
    power = 10.0 ** math.floor(math.log10(least))
    step = power * next(one for one in _NUMBER_STEPS if one * power >= least * (1.0 - _TINY))
    return step if seconds else max(1.0, step)


def _days(least: float) -> float:
    return math.ceil(least / _DAY) * _DAY


def _label_unit(step: float, last: float) -> tuple[float, str]:
    """The size and name of the unit in which all labels of an axis of seconds are written."""
    if step >= _MINUTE:
        return (_HOUR, " h") if step >= _HOUR else (_MINUTE, " min")
    if last >= 1.0:
        return 1.0, " s"
    return (1e-3, " ms") if last >= 1e-3 else (1e-6, " us")  # noqa: PLR2004 - a millisecond


def time_ticks(start: float, end: float) -> list[tuple[float, str]]:
    """Round UTC times from ``start`` to ``end``, with labels as fine as the steps between them."""
    least = (end - start) / _MOST_TIME_STEPS
    step = next((one for one in _TIME_STEPS if one >= least), _days(least))
    form = "%H:%M:%S" if step < _MINUTE else "%H:%M" if step < _DAY else "%d %b"
    # A microsecond, whatever the step: of a step of months even a tiny part would be seen as past the end.
    first, last = math.ceil((start - _ROUNDING) / step), math.floor((end + _ROUNDING) / step)
    return [(index * step, utc(index * step, form)) for index in range(first, last + 1)]
