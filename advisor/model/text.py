"""Figures as people read them; one place, so that findings, reports and pages agree."""

from collections.abc import Callable, Sequence

from advisor.model.signal import Quality, Signal, Unit

__all__ = ["format_change", "format_signal", "format_some", "format_value"]

_MILLI, _MICRO = 1e-3, 1e-6
_LONG_SECONDS, _HOURS_FROM, _DAYS_FROM = 120.0, 2 * 3600.0, 2 * 86400.0
_MANIFOLD, _BEYOND_COUNTING = 2.0, 1000.0
_BYTE_STEPS = ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"))


def format_value(value: float, unit: Unit | str) -> str:
    """``0.0284`` seconds as ``28.4 ms``, a ratio of ``0.961`` as ``96%`` and so on; three digits at most."""
    formatter = _FORMATTERS.get(unit)
    return formatter(value) if formatter is not None else _number(value)


def format_signal(signal: Signal) -> str:
    """The signal's value with its bound or quality; ``unknown`` where it is missing."""
    if signal.value is None:
        return "unknown"
    text = format_value(signal.value, signal.unit)
    if signal.quality is Quality.LOWER_BOUND:
        return f"at least {text}"
    if signal.low is not None and signal.high is not None and signal.low < signal.high:
        return f"{text} ({format_value(signal.low, signal.unit)} to {format_value(signal.high, signal.unit)})"
    return text


def format_some(names: Sequence[str], most: int) -> str:
    """The first so many names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def format_change(ratio: float) -> str:
    """A ratio of after by before as ``-66%`` or ``+12%``, from a doubling on as ``x 5.4``."""
    if ratio > _BEYOND_COUNTING:
        return f"over x {_BEYOND_COUNTING:.0f}"
    if ratio >= _MANIFOLD:
        return f"x {_number(ratio)}"
    percent = f"{ratio - 1.0:+.0%}"
    return "0%" if percent in ("+0%", "-0%") else percent


def _number(value: float) -> str:
    if value == 0.0:
        return "0"
    if abs(value) >= 100.0:  # noqa: PLR2004 - three significant digits
        return f"{value:,.0f}"
    text = f"{value:.3g}" if abs(value) < 10.0 else f"{value:.1f}"  # noqa: PLR2004 - as above
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _hours(value: float) -> str:
    """Two parts, so that times of a week can be told apart: ``5 h 6 min``, ``3 d 21.7 h``."""
    sign, size = ("-" if value < 0 else ""), abs(value)
    if size >= _DAYS_FROM:
        days, tenths = divmod(round(size / 360.0), 240)
        return f"{sign}{days} d" + (f" {tenths / 10:g} h" if tenths else "")
    hours, minutes = divmod(round(size / 60.0), 60)
    return f"{sign}{hours} h" + (f" {minutes} min" if minutes else "")


def _seconds(value: float) -> str:
    size = abs(value)
    if size >= _HOURS_FROM:
        return _hours(value)
    if size >= _LONG_SECONDS:
        return f"{value / 60.0:.1f} min"
    if size >= 1.0 or value == 0.0:
        return f"{_number(value)} s"
    if size >= _MILLI:
        return f"{_number(round(value / _MILLI, 1))} ms"
    return f"{value / _MICRO:.0f} us"


def _bytes(value: float) -> str:
    for step, name in _BYTE_STEPS:
        if value >= step:
            return f"{value / step:.0f} {name}"
    return f"{value:.0f} B"


def _percent(value: float) -> str:
    percent = value * 100.0
    return f"{percent:.0f}%" if abs(percent) >= 1.0 or percent == 0.0 else f"{percent:.2g}%"


_FORMATTERS: dict[str, Callable[[float], str]] = {
    Unit.SECONDS: _seconds,
    Unit.WORKER_SECONDS: lambda value: f"{_number(value)} worker s",
    Unit.KEY_SECONDS: lambda value: f"{_number(value)} key s",
    Unit.PER_SECOND: lambda value: f"{_number(value)}/s",
    Unit.RATIO: _percent,
    Unit.CORES: lambda value: f"{_number(value)} cores",
    Unit.BYTES: _bytes,
}
