"""A number that never travels without its origin."""

import enum
import math
from collections.abc import Callable
from typing import Self

import msgspec

__all__ = ["Quality", "Signal", "Unit", "Window", "measured", "missing"]


class Unit(enum.StrEnum):
    """Units of signals; names of fields repeat them."""

    SECONDS = "seconds"
    PER_SECOND = "per_second"
    RATIO = "ratio"
    COUNT = "count"
    CORES = "cores"
    BYTES = "bytes"
    WORKER_SECONDS = "worker_seconds"
    KEY_SECONDS = "key_seconds"


class Quality(enum.StrEnum):
    """How far a value can be trusted.

    ``exact``: follows from counters by an identity. ``estimated``: rests on an assumption that the origin names.
    ``lower_bound``: the true value is at least this.
    """

    EXACT = "exact"
    ESTIMATED = "estimated"
    LOWER_BOUND = "lower_bound"


class Window(msgspec.Struct, frozen=True):
    """A closed stretch of time, in Unix seconds."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Length of the window in seconds."""
        return self.end - self.start

    def overlap(self, start: float, end: float) -> float:
        """Seconds that ``start`` to ``end`` shares with the window; never negative."""
        return max(0.0, min(self.end, end) - max(self.start, start))

    def __contains__(self, time: float) -> bool:
        """Whether a time in Unix seconds lies in the window, ends included."""
        return self.start <= time <= self.end


class Signal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure about an operator over one window, or the reason why it is not known.

    ``value`` is None exactly when ``missing`` gives a reason: missing is never zero. ``low`` and ``high`` bound an
    estimated value where bounds are known.
    """

    unit: Unit
    value: float | None = None
    low: float | None = None
    high: float | None = None
    quality: Quality = Quality.EXACT
    window: Window | None = None
    origin: str = ""
    missing: str | None = None

    def __post_init__(self) -> None:
        """Refuse a signal that is both known and missing, neither, or not a number."""
        if (self.value is None) == (self.missing is None):
            msg = "a signal has either a value or a reason why it is missing"
            raise ValueError(msg)
        for number in (self.value, self.low, self.high):
            if number is not None and not math.isfinite(number):
                msg = f"a signal's value and bounds are finite numbers, not {number}"
                raise ValueError(msg)

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def or_else(self, default: float) -> float:
        """The value, or ``default`` where it is missing."""
        return default if self.value is None else self.value

    def at_least(self, threshold: float) -> bool:
        """Whether the value is known and not below ``threshold``."""
        return self.value is not None and self.value >= threshold

    def below(self, threshold: float) -> bool:
        """Whether the value is known and below ``threshold``."""
        return self.value is not None and self.value < threshold

    def map(self, function: Callable[[float], float], *, unit: Unit, origin: str) -> Self:
        """A signal derived from this one alone; a missing one stays missing for the same reason."""
        if self.value is None:
            return msgspec.structs.replace(self, unit=unit)
        low, high = (None if bound is None else function(bound) for bound in (self.low, self.high))
        return msgspec.structs.replace(self, unit=unit, value=function(self.value), low=low, high=high, origin=origin)


def measured(
    value: float,
    unit: Unit,
    *,
    origin: str,
    window: Window | None = None,
    quality: Quality = Quality.EXACT,
    low: float | None = None,
    high: float | None = None,
) -> Signal:
    """A signal that is known."""
    return Signal(unit=unit, value=value, low=low, high=high, quality=quality, window=window, origin=origin)


def missing(unit: Unit, reason: str, *, window: Window | None = None) -> Signal:
    """A signal that is not known, and why."""
    return Signal(unit=unit, missing=reason, window=window)
