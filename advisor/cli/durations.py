"""Durations on the command line."""

from typing import Any

import click

from advisor.sources.logtime import duration_seconds

__all__ = ["Duration"]

_SHORTEST_SECONDS = 0.1


class Duration(click.ParamType[float]):
    """Seconds of a text such as 90s, 5m, 1h30m or 7d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Seconds; at least a tenth."""
        try:
            seconds = duration_seconds(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if seconds < _SHORTEST_SECONDS:
            self.fail(f"{value!r} is shorter than {_SHORTEST_SECONDS:g} s", param, ctx)
        return seconds
