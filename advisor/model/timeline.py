"""How an operator's figures went over time, thinned out for charts."""

import msgspec

__all__ = ["Timeline", "TimelineSeries"]


class TimelineSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity over time: a value for each interval, None where it is not known.

    ``quantity`` is named and meant as in ``figures``, with the interval as its window. ``controller`` is "" for what
    is about the operator's client.
    """

    controller: str
    quantity: str
    unit: str
    values: tuple[float | None, ...]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Intervals that follow one another, and what was the case in each.

    ``bounds`` are Unix seconds; interval i lies between bounds i and i + 1, so there is one bound more than values.
    """

    bounds: tuple[float, ...]
    series: tuple[TimelineSeries, ...]

    def find(self, quantity: str, controller: str = "") -> TimelineSeries | None:
        """The series of that quantity, or None."""
        return next((one for one in self.series if (one.controller, one.quantity) == (controller, quantity)), None)
