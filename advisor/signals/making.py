"""Making signals with an origin from figures that may be absent."""

from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing

__all__ = ["Maker"]


class Maker:
    """Makes the signals of one window and one subject.

    Args:
        window: the window that all figures are about.
        origin: the file or server that the samples came from.
        subject: what the figures are about, for the origin ("" where the expression says it).
    """

    __slots__ = ("_origin", "_subject", "window")

    def __init__(self, window: Window, origin: str, subject: str = "") -> None:
        self.window = window
        self._origin = origin
        self._subject = f" of {subject}" if subject else ""

    def of(
        self,
        value: float | None,
        unit: Unit,
        text: str,
        *,
        quality: Quality = Quality.EXACT,
        reason: str = "",
        low: float | None = None,
        high: float | None = None,
    ) -> Signal:
        """A signal from a figure; None becomes a missing one, whose reason names the expression if none is given."""
        if value is None:
            return missing(unit, reason or f"no sample in the window for: {text}", window=self.window)
        origin = f"{text}{self._subject} [{self._origin}]"
        return measured(value, unit, origin=origin, window=self.window, quality=quality, low=low, high=high)

    def untold(self, unit: Unit) -> Signal:
        """A figure that no series, log or object tells, but a person may."""
        return missing(unit, "no series tells it", window=self.window)

    def rate(self, amount: float | None, text: str, *, reason: str = "") -> Signal:
        """``amount`` in the window as a rate per second; missing where the window has no length."""
        value = None if amount is None or not self.window.seconds else amount / self.window.seconds
        return self.of(value, Unit.PER_SECOND, text, reason=reason)

    def ratio(self, part: float | None, whole: float | None, text: str, *, reason: str = "") -> Signal:
        """``part / whole``; missing where either is, or where the whole is nothing."""
        value = part / whole if part is not None and whole else None
        if value is None and not reason and whole is not None:
            reason = "nothing was counted in the window"
        return self.of(value, Unit.RATIO, text, reason=reason)

    def mean(self, total: float | None, count: float | None, text: str, *, reason: str = "") -> Signal:
        """Mean seconds of ``count`` events that took ``total`` seconds."""
        value = total / count if total is not None and count else None
        if value is None and not reason and count is not None:
            reason = "none ended in the window"
        return self.of(value, Unit.SECONDS, text, reason=reason)
