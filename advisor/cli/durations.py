"""Durations on the command line."""

from typing import Any

import click

from advisor.sources.logtime import seconds_of

__all__ = ["Duration"]

_SHORTEST_SECONDS = 0.1


class Duration(click.ParamType[float]):
    """Seconds of a text such as 90s, 5m or 1h30m."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Seconds; at least a tenth."""
        seconds = seconds_of(value)
        if seconds is None:
            self.fail(f"{value!r} is no duration such as 90s, 5m or 1h30m", param, ctx)
        if seconds < _SHORTEST_SECONDS:
            self.fail(f"{value!r} is shorter than {_SHORTEST_SECONDS:g} s", param, ctx)
        return seconds
