"""The table of values in the chart's README, from the comments of ``values.yaml``."""

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from scripts.chart.commented import Value, documented

__all__ = ["filled"]

_PLACE: Final = re.compile(r"(<!-- values -->\n).*(?=<!-- end of values -->)", re.DOTALL)


def filled(readme: str, values: list[Value]) -> str:
    """The README with its table as the values say."""
    table = "\n".join(_tables(values))
    filled, count = _PLACE.subn(lambda match: f"{match[1]}\n{table}\n\n", readme)
    assert count == 1
    return filled


def _tables(values: list[Value]) -> Iterator[str]:
    comments = {value.path: value.comment for value in values}
    shown = documented(values)
    plain = [value for value in shown if len(value.path) == 1]
    yield from _table("Everything", "", plain)
    for section, members in groupby((value for value in shown if len(value.path) > 1), key=lambda one: one.path[0]):
        yield ""
        yield from _table(f"`{section}`", comments[(section,)], list(members))


def _table(title: str, comment: str, values: list[Value]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    if comment:
        yield comment
        yield ""
    yield "| value | default | what it is |"
    yield "| --- | --- | --- |"
    for value in values:
        yield f"| `{value.name}` | `{json.dumps(value.value)}` | {value.comment.replace('|', chr(92) + '|')} |"
