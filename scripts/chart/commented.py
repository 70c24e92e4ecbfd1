"""The chart's values with the comment above each."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

__all__ = ["CHART", "Value", "documented", "read_values"]

CHART: Final = Path(__file__).resolve().parents[2] / "helm" / "kuberay-advisor"
"""The chart's folder."""


@dataclass(frozen=True, slots=True)
class Value:
    """One key of ``values.yaml``.

    Attributes:
        path: the keys that lead to it.
        value: what it is by default.
        comment: the lines above it as one text; "" where there are none.
    """

    path: tuple[str, ...]
    value: Any
    comment: str

    @property
    def name(self) -> str:
        """Its path as ``--set`` has it."""
        return ".".join(self.path)


def read_values(file: Path = CHART / "values.yaml") -> list[Value]:
    """Every key of every mapping, in the order of the file."""
    text = file.read_text(encoding="utf-8")
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    return list(_keys(root, (), text.splitlines(), yaml.safe_load(text)))


def _keys(node: yaml.MappingNode, path: tuple[str, ...], lines: list[str], value: Any) -> Iterator[Value]:  # noqa: ANN401 - as read
    for key, child in node.value:
        here = (*path, key.value)
        yield Value(here, value[key.value], _comment(lines, key.start_mark.line))
        if isinstance(child, yaml.MappingNode):
            yield from _keys(child, here, lines, value[key.value])


def _comment(lines: list[str], line: int) -> str:
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].lstrip().removeprefix("#").strip())
    return " ".join(found)


def documented(values: list[Value]) -> list[Value]:
    """Those that a user sets as a whole: without a comment inside, such as a number, or a security context."""
    sections = {value.path[:-1] for value in values if value.comment}
    return [value for value in values if value.comment and value.path not in sections]
