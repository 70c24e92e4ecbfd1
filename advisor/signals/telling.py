"""Making signals of what was told: each names the key that it stands under."""

from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.signals.making import Maker

__all__ = ["HOUR", "NOT_TOLD", "ORIGIN", "Told", "product"]

HOUR = Window(0.0, 3600.0)
"""The nominal window: a facts file knows rates and means, counts are those of an hour."""
ORIGIN = "facts file"
NOT_TOLD = "not in the facts file"


class Told:
    """Makes signals of one part of the file; the origin names the key."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._make = Maker(HOUR, ORIGIN)

    def of(self, value: float | None, unit: Unit, key: str, *, quality: Quality = Quality.EXACT) -> Signal:
        """A signal that stands under ``key`` or follows from it."""
        return self._make.of(value, unit, f"{self._part}.{key}", quality=quality, reason=NOT_TOLD)

    def none(self, unit: Unit) -> Signal:
        """A signal that a facts file cannot hold."""
        return self._make.of(None, unit, "", reason=NOT_TOLD)


def product(*factors: float | None) -> float | None:
    """The product, None where a factor is not known."""
    result = 1.0
    for factor in factors:
        if factor is None:
            return None
        result *= factor
    return result
