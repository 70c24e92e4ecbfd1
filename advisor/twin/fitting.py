"""Numbers for a calibration: shapes of times, and where a figure has a wanted value."""

import math
from collections.abc import Callable

__all__ = ["exponential", "shape", "solve"]

# Shape of a time of which no single ones are known: most of it fixed, the rest exponential.
_FIXED_SHARE = 0.7
_SHAPE_QUANTILES = 16
_STEPS = 7


def exponential(count: int) -> tuple[float, ...]:
    """Quantiles of an exponential time with mean 1."""
    quantiles = [-math.log(1.0 - (index + 0.5) / count) for index in range(count)]
    return tuple(one * count / sum(quantiles) for one in quantiles)


def shape(quantiles: tuple[float, ...]) -> tuple[float, ...]:
    """Quantiles as factors with mean 1; a plausible shape where there are none."""
    if not quantiles or sum(quantiles) <= 0.0:
        quantiles = tuple(_FIXED_SHARE + (1.0 - _FIXED_SHARE) * one for one in exponential(_SHAPE_QUANTILES))
    mean = sum(quantiles) / len(quantiles)
    return tuple(one / mean for one in quantiles)


def solve(figure: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a growing figure has the wanted value, by bisection; the nearer end where it has it nowhere between."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if figure(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2
