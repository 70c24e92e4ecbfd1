"""How settings are named and written; one place, so that reports, fleets, comparisons and pages agree."""

from typing import Final

from advisor.model.signal import Unit
from advisor.model.text import format_value

__all__ = ["UNKNOWN", "setting_move", "setting_name", "setting_value"]

UNKNOWN: Final = "-"
"""Stands for a value that is not known."""
_UNITS: Final = {
    "cpu_cores": Unit.CORES,
    "cpu_limit_cores": Unit.CORES,
    "memory_bytes": Unit.BYTES,
    "memory_limit_bytes": Unit.BYTES,
}


def setting_name(name: str) -> str:
    """A setting as it is called in tables: without its unit, which stands with the value."""
    return name.removesuffix("_cores").removesuffix("_bytes")


def setting_value(name: str, value: float | None, unknown: str = UNKNOWN) -> str:
    """A setting's value with its unit; a QPS below zero is a client limiter that is off."""
    if value is None:
        return unknown
    if name in _UNITS:
        return format_value(value, _UNITS[name])
    return "off" if name == "qps" and value < 0 else f"{value:g}"


def setting_move(name: str, before: float | None, after: float | None) -> str:
    """A setting from what to what, such as ``concurrency 1 -> 4``."""
    return f"{setting_name(name)} {setting_value(name, before)} -> {setting_value(name, after)}"
