"""Times and durations in the forms that an operator's log writes them in."""

import math
import re
from datetime import UTC, datetime

__all__ = ["LogClock", "duration_seconds", "seconds_of", "unix_seconds"]

_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{3})(Z|[+-]\d\d:?\d\d)")
_MILLISECONDS_AT, _ZONE_AT = 20, 23
"""Where the milliseconds of such a text begin, and its zone."""
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_DAYS_AND_WEEKS = re.compile(r"(\d+(?:\.\d+)?)([dw])")
_HOURS = {"d": 24, "w": 168}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)")
_MILLISECONDS_FROM = 1e11
_NANOSECONDS_FROM = 1e16
"""zap may write times as seconds, milliseconds or nanoseconds since 1970; for centuries no two of these overlap."""


def seconds_of(value: object) -> float | None:
    """Seconds of a delay: a number of seconds or Go's text such as ``1m2.5s``; None where it is neither."""
    if isinstance(value, str):
        parts = list(_PART.finditer(value))
        if not parts or "".join(part.group() for part in parts) != value:
            return None
        return sum(float(part[1]) * _UNIT_SECONDS[part[2]] for part in parts)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0.0 <= value < math.inf else None


def duration_seconds(text: str) -> float:
    """Seconds of a duration that a person writes, such as 90s, 5m, 1h30m or 7d.

    Raises:
        ValueError: it is none, or no time at all.
    """
    seconds = seconds_of(_DAYS_AND_WEEKS.sub(lambda part: f"{float(part[1]) * _HOURS[part[2]]:g}h", text))
    if not seconds:
        raise ValueError(f"{text!r} is no duration such as 90s, 5m, 1h30m or 7d")
    return seconds


def unix_seconds(moment: datetime) -> float:
    """Unix seconds of a moment that a person names; one without a zone is UTC."""
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()


class LogClock:
    """Unix seconds of the times of one log, whose lines mostly share the second with the line before."""

    def __init__(self) -> None:
        self._second, self._zone = "", ""
        self._second_begins = 0.0
        self._latest: datetime | None = None

    def seconds(self, stamp: object) -> float:
        """Seconds of an ISO 8601 text or a number since 1970.

        Raises:
            ValueError: it is neither.
        """
        if isinstance(stamp, str):
            if stamp[:_MILLISECONDS_AT] == self._second and stamp[_ZONE_AT:] == self._zone:
                milliseconds = stamp[_MILLISECONDS_AT:_ZONE_AT]
                if milliseconds.isascii() and milliseconds.isdigit():
                    return self._second_begins + int(milliseconds) / 1000.0
            match = _STAMP.fullmatch(stamp)
            if match is None:
                return self._parse(stamp)
            second, zone = f"{match[1]}.", match[3]
            if second != self._second or zone != self._zone:
                self._second_begins = self._parse(match[1] + zone)
                self._second, self._zone = second, zone
            return self._second_begins + int(match[2]) / 1000.0
        number = seconds_of(stamp)
        if number is None:
            raise ValueError(stamp)
        if number >= _NANOSECONDS_FROM:
            return number / 1e9
        return number / 1e3 if number >= _MILLISECONDS_FROM else number

    def _parse(self, text: str) -> float:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        self._latest = moment
        return moment.timestamp()

    def seconds_without_year(self, month_and_day: str, time: str) -> float:
        """Seconds of a klog time such as ``0829`` and ``12:00:01.123456``: the moment nearest to the latest in full.

        Raises:
            ValueError: there is no such day, or no time in full came before, so that year and zone are unknown.
        """
        if self._latest is None:
            raise ValueError(time)
        latest = self._latest
        moments = []
        for year in (latest.year - 1, latest.year, latest.year + 1):
            try:
                moment = datetime.fromisoformat(f"{year:04}{month_and_day}T{time}")
            except ValueError:
                continue
            moments.append(moment.replace(tzinfo=latest.tzinfo).timestamp())
        return min(moments, key=lambda moment: abs(moment - latest.timestamp()))
