"""Which charts a report's timeline makes: three for each controller that worked, one for the client."""

from collections.abc import Iterator

from advisor.model.report import Report
from advisor.model.timeline import Timeline
from advisor.report.charts import Chart, Line

__all__ = ["charts_of"]

_MOST_CONTROLLERS = 3
_LEAST_OF_BUSIEST = 0.05
"""A controller that worked less than this part of the busiest one has no charts of its own."""


def charts_of(report: Report) -> list[Chart]:
    """The charts in the order in which they are shown; none where the input holds no samples over time."""
    if report.timeline is None:
        return []
    timeline = report.timeline
    charts = [chart for name in _shown_controllers(timeline) for chart in _of_controller(report, timeline, name)]
    return [*charts, *_of_client(report, timeline)]


def _shown_controllers(timeline: Timeline) -> list[str]:
    """The controllers that worked most, the busiest first."""
    worked = {
        one.controller: sum(value or 0.0 for value in one.values)
        for one in timeline.series
        if one.quantity == "busy_workers_mean"
    }
    ranked = sorted(worked, key=lambda name: (-worked[name], name))[:_MOST_CONTROLLERS]
    return [name for name in ranked if worked[name] >= _LEAST_OF_BUSIEST * worked[ranked[0]]]


def _of_controller(report: Report, timeline: Timeline, name: str) -> Iterator[Chart]:
    yield from _chart(
        report,
        timeline,
        name,
        f"Keys waiting: {name}",
        (("depth_peak", "keys waiting", "first", True),),
    )
    yield from _chart(
        report,
        timeline,
        name,
        f"Workers: {name}",
        (
            ("busy_workers_mean", "busy", "first", True),
            ("max_concurrent_reconciles", "configured", "second", False),
        ),
    )
    yield from _chart(
        report,
        timeline,
        name,
        f"Queue wait: {name}",
        (
            ("queue_wait_seconds_mean", "mean", "first", False),
            ("oldest_wait_seconds_peak", "oldest waiting key", "second", False),
        ),
    )


def _of_client(report: Report, timeline: Timeline) -> Iterator[Chart]:
    parts = (
        ("api_seconds_mean", "API server", "first", True),
        ("limiter_wait_seconds_mean", "client limiter", "second", False),
    )
    whole = (("request_seconds_mean", "API server and client limiter", "first", True),)
    known = timeline.find("api_seconds_mean") is not None
    yield from _chart(report, timeline, "", "Time of a request, mean", parts if known else whole)


def _chart(
    report: Report,
    timeline: Timeline,
    controller: str,
    title: str,
    lines: tuple[tuple[str, str, str, bool], ...],
) -> Iterator[Chart]:
    """One chart of the quantities that are known; none where none is."""
    drawn = [
        (found, Line(name, style, found.values, filled=filled))
        for quantity, name, style, filled in lines
        if (found := timeline.find(quantity, controller)) is not None
    ]
    if drawn:
        yield Chart(title, drawn[0][0].unit, timeline.bounds, [line for _, line in drawn], report.episodes)
