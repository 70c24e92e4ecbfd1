"""The service's file: TOML, and on which line each of its keys stands."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from advisor.errors import SettingsError, nearest
from advisor.web.configkeys import KEYS, OPERATORS, SECTIONS
from advisor.web.configoperators import DEFAULTS

__all__ = ["ConfigFile", "read_file"]

_LARGEST_BYTES: Final = 4 << 20
_HINT: Final = "docs/service-configuration.md lists the keys"
_TABLE: Final = re.compile(r"\s*\[\s*([A-Za-z0-9_.-]+)\s*\]")
_LIST: Final = re.compile(r"\s*\[\[\s*([A-Za-z0-9_.-]+)\s*\]\]")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_.-]+)\s*=")


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """What a file holds.

    Attributes:
        path: the file, absolute.
        values: settings by name, as they are written.
        operators: its list of operators; None where it has none.
        defaults: what sources have where they say nothing themselves; None where it has no such table.
        lines: on which line a key or table stands, as far as that is seen.
    """

    path: Path
    values: Mapping[str, object]
    operators: object = None
    defaults: object = None
    lines: Mapping[str, int] = field(default_factory=dict)

    def origin(self, name: str) -> str:
        """Where a key stands, for people."""
        line = self.lines.get(name) or self.lines.get(name.partition(".")[0])
        return f"file {self.path}" + (f" line {line}" if line else "")


def read_file(path: Path) -> ConfigFile:
    """Read a file; its keys are known ones afterwards, their values not yet looked at.

    Raises:
        SettingsError: it cannot be read, is not TOML, or has an unknown table or key.
    """
    path = path.absolute()
    text = _text(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"is not TOML: {error}", where=str(path), hint=_HINT) from None
    values: dict[str, object] = {}
    lines = _lines(text)
    for section, table in document.items():
        if section in (OPERATORS, DEFAULTS):
            continue
        where = _where(path, lines, section)
        if section not in SECTIONS:
            known = (*SECTIONS, OPERATORS, DEFAULTS)
            raise SettingsError(f"there is no table {section!r}", where=where, hint=nearest(section, known))
        values.update(_keys(section, table, path, lines))
    return ConfigFile(path, values, document.get(OPERATORS), document.get(DEFAULTS), lines)


def _keys(section: str, table: Any, path: Path, lines: Mapping[str, int]) -> dict[str, object]:  # noqa: ANN401 - as read
    """The settings of one table by name.

    Raises:
        SettingsError: it is no table, or has an unknown key.
    """
    if not isinstance(table, dict):
        raise SettingsError(
            f"{section!r} is a table, not a value", where=_where(path, lines, section), hint=f"write [{section}]"
        )
    known = {key.name for key in KEYS if key.section == section}
    found = {f"{section}.{key}": value for key, value in table.items()}
    for name in found:
        if name not in known:
            # First in its own table, then anywhere: a key in the wrong table is as usual as a wrong letter.
            names = tuple(key.name for key in KEYS)
            raise SettingsError(f"there is no key {name!r}", where=_where(path, lines, name), hint=nearest(name, names))
    return found


def _where(path: Path, lines: Mapping[str, int], name: str) -> str:
    line = lines.get(name)
    return f"{path} line {line}" if line else str(path)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise SettingsError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check the path and its permissions"
        ) from error
    if len(data) > _LARGEST_BYTES:
        raise SettingsError(f"is longer than {_LARGEST_BYTES >> 20} MiB", where=str(path), hint=_HINT)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"is not UTF-8 at byte {error.start}", where=str(path), hint=_HINT) from None


def _lines(text: str) -> dict[str, int]:
    """On which line each table and key first stands.

    ``tomllib`` does not tell. Keys in inline tables and within long texts are not told apart; the lines are for people.
    """
    found: dict[str, int] = {}
    table, tables = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _LIST.match(line):
            table, tables = f"{match[1]}[{tables}]", tables + 1
            found.setdefault(match[1], number)
            found.setdefault(table, number)
        elif match := _TABLE.match(line):
            table = match[1]
            found.setdefault(table, number)
        elif match := _KEY.match(line):
            found.setdefault(f"{table}.{match[1]}" if table else match[1], number)
    return found
