"""Values as text, in the style of the place where they go."""

import json
import re
from typing import Final

import yaml
from yaml.resolver import Resolver

from advisor.inject.tree import Value

__all__ = ["block_lines", "flow_text", "scalar_text"]

_BARE: Final = re.compile(r"[A-Za-z/-][A-Za-z0-9_./:=@+-]*[A-Za-z0-9_/]|[A-Za-z/]|[0-9]+(?:m|Ki|Mi|Gi)")
"""What needs no quotes, unless it means something else than itself; such as a flag, a path, an image, a quantity."""
_RESOLVER: Final = Resolver()
_STRING: Final = "tag:yaml.org,2002:str"
_SWITCHES: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""Words that some reader of YAML takes for something else than themselves."""


def scalar_text(value: str | int | bool | None) -> str:  # noqa: FBT001 - a value
    """One scalar on one line."""
    if not isinstance(value, str):
        return json.dumps(value)
    meant = _RESOLVER.resolve(yaml.ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]
    if _BARE.fullmatch(value) and not value.startswith("---") and meant == _STRING and value.lower() not in _SWITCHES:
        return value
    if '"' in value and value.isascii() and value.isprintable():
        quoted = value.replace("'", "''")
        return f"'{quoted}'"
    return json.dumps(value)


def block_lines(value: Value, step: int, dash: int) -> list[str]:
    """The lines of a mapping or list in block style, from column 0.

    Args:
        value: what is written.
        step: by how much a mapping is further in than its key.
        dash: by how much a list is.
    """
    if isinstance(value, list):
        lines = []
        for item in value:
            first, *rest = block_lines(item, step, dash) if isinstance(item, dict) and item else [_inline(item)]
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    assert isinstance(value, dict)  # noqa: S101 - scalars are written with their key
    lines = []
    for key, item in value.items():
        if isinstance(item, dict | list) and item:
            inner = " " * (dash if isinstance(item, list) else step)
            lines += [f"{scalar_text(key)}:", *(f"{inner}{line}" for line in block_lines(item, step, dash))]
        else:
            lines.append(f"{scalar_text(key)}: {_inline(item)}")
    return lines


def _inline(value: Value) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else scalar_text(value)


def flow_text(value: Value, *, compact: bool, step: int | None = None, inner: str = "", newline: str = "\n") -> str:
    """A value as JSON, on one line, or with ``step`` on several, of which all but the first begin with ``inner``."""
    if step is None:
        separators = (",", ":") if compact else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    return json.dumps(value, ensure_ascii=False, indent=step).replace("\n", f"{newline}{inner}")
