"""Durations on the command line."""

import re
from typing import Any

import click

from advisor.sources.logtime import seconds_of

__all__ = ["Duration"]

_SHORTEST_SECONDS = 0.1
_LONG = re.compile(r"(\d+(?:\.\d+)?)([dw])")
_HOURS = {"d": 24, "w": 168}


class Duration(click.ParamType[float]):
    """Seconds of a text such as 90s, 5m, 1h30m or 7d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Seconds; at least a tenth."""
        seconds = seconds_of(_LONG.sub(lambda part: f"{float(part[1]) * _HOURS[part[2]]:g}h", value))
        if seconds is None:
            self.fail(f"{value!r} is no duration such as 90s, 5m, 1h30m or 7d", param, ctx)
        if seconds < _SHORTEST_SECONDS:
            self.fail(f"{value!r} is shorter than {_SHORTEST_SECONDS:g} s", param, ctx)
        return seconds
