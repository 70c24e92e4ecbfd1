"""Predictions against what happened: one row for each quantity of each recording."""

import msgspec

__all__ = ["BacktestRow"]


class BacktestRow(msgspec.Struct, frozen=True, kw_only=True):
    """One prediction and what was measured; in seconds.

    ``low`` and ``high`` hold the truth in four cases of five. ``relative_error`` is predicted over measured, less one;
    None where nothing was measured to divide by.
    """

    recording: str
    quantity: str
    predicted: float
    low: float
    high: float
    measured: float
    relative_error: float | None

    @property
    def holds(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.low <= self.measured <= self.high
