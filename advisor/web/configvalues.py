"""Readers of single settings: from what a TOML file, a variable or a flag holds to a value, or what is allowed."""

import math
import re
from collections.abc import Callable, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Final

from advisor.sources.logtime import duration_seconds

__all__ = [
    "Reader",
    "address_list",
    "count",
    "duration",
    "header_name",
    "host",
    "host_list",
    "path",
    "ratio",
    "shown_duration",
    "words",
]

Reader = Callable[[object], object]
"""Makes a value of a text or of a number, boolean, path or list; a ValueError says what is allowed."""

_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST: Final = re.compile(r"[0-9A-Za-z.:_-]+")
_LONGEST_TEXT: Final = 4096


def _plain(given: object, allowed: str) -> str:
    """A text of one line.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(given, str) or not given.strip() or not given.isprintable() or len(given) > _LONGEST_TEXT:
        raise ValueError(allowed)
    return given.strip()


def header_name(given: object) -> str:
    """A name of an HTTP header."""
    allowed = "the name of an HTTP header"
    name = _plain(given, allowed)
    if not _HEADER.fullmatch(name):
        raise ValueError(allowed)
    return name


def host(given: object) -> str:
    """A host's name or address, without port."""
    allowed = "a host name or an address, without a port"
    name = _plain(given, allowed).removeprefix("[").removesuffix("]")
    if not _HOST.fullmatch(name):
        raise ValueError(allowed)
    return name


def path(given: object) -> Path:
    """A path; who gives one relative to a file says so elsewhere."""
    return given if isinstance(given, Path) else Path(_plain(given, "a path"))


def count(least: int, most: int) -> Reader:
    """A whole number within bounds."""
    allowed = f"a whole number from {least} to {most}"

    def read(given: object) -> int:
        if isinstance(given, str) and re.fullmatch(r"\d{1,12}", given.strip()):
            given = int(given)
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise ValueError(allowed)
        return given

    return read


def ratio(most: float) -> Reader:
    """A number from zero to ``most``."""
    allowed = f"a number from 0 to {most:g}"

    def read(given: object) -> float:
        try:
            number = float(given) if isinstance(given, str) else given
        except ValueError:
            raise ValueError(allowed) from None
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0.0 <= number <= most:
            raise ValueError(allowed)
        return float(number)

    return read


def duration(least_seconds: float, most_seconds: float) -> Reader:
    """Seconds of a duration such as 5m, within bounds; a bare number is refused, since nobody knows its unit."""
    bounds = f"{shown_duration(least_seconds)} to {shown_duration(most_seconds)}"
    allowed = f"a duration from {bounds}, such as 90s, 5m, 1h30m or 7d"

    def read(given: object) -> float:
        if not isinstance(given, str):
            raise ValueError(allowed)  # noqa: TRY004 - all that is wrong is told in one way
        try:
            seconds = duration_seconds(given.strip())
        except ValueError:
            seconds = math.nan
        if not least_seconds <= seconds <= most_seconds:
            raise ValueError(allowed)
        return seconds

    return read


def shown_duration(seconds: float) -> str:
    """A duration as people write it, such as 5m."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("m", 60.0)):
        if seconds >= size and seconds % size == 0.0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def _listed(given: object, allowed: str) -> tuple[str, ...]:
    """Texts of a list, or of a text with commas.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(given, str):
        given = [part for part in given.split(",") if part.strip()]
    if not isinstance(given, Sequence):
        raise ValueError(allowed)  # noqa: TRY004 - as above
    return tuple(dict.fromkeys(_plain(one, allowed) for one in given))


def host_list(given: object) -> tuple[str, ...]:
    """Host names, as a list or with commas between them; ``*.`` at the front stands for any subdomain."""
    allowed = "a list of host names without ports"
    names = _listed(given, allowed)
    if not all(_HOST.fullmatch(name.removeprefix("*.").strip("[]")) for name in names):
        raise ValueError(allowed)
    return names


def address_list(given: object) -> tuple[str, ...]:
    """Addresses or networks, as a list or with commas between them."""
    allowed = "a list of addresses or networks, such as 10.0.0.0/8"
    addresses = _listed(given, allowed)
    try:
        return tuple(str(ip_network(one)) for one in addresses)
    except ValueError:
        raise ValueError(allowed) from None


def words(choices: Sequence[str]) -> Reader:
    """Some of the choices, as a list or with commas between them."""
    allowed = f"a list of {', '.join(choices)}"

    def read(given: object) -> tuple[str, ...]:
        chosen = _listed(given, allowed)
        if not set(chosen) <= set(choices):
            raise ValueError(allowed)
        return chosen

    return read
