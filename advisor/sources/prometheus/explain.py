"""What would be asked of a store for one operator, without asking it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from advisor.model.raw import Selection
from advisor.sources.prometheus.operators import Operator, finders
from advisor.sources.prometheus.plan import MOST_SPANS, Span, make_plan, probe_query

__all__ = ["PlannedQuery", "planned_queries"]

_PROBE_SECONDS: Final = 3600.0
_POINTS_PER_REQUEST: Final = 11_000
"""Prometheus answers no more of each series at once."""


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query: where it is sent, why, and what it costs the store at most.

    ``samples`` are of each series that it selects, 0 where only the index is asked; ``requests`` is how often.
    """

    path: str
    purpose: str
    text: str
    samples: int
    requests: int


def planned_queries(operator: Operator, selection: Selection, span: Span, interval: float) -> Iterator[PlannedQuery]:
    """Every query in the order in which it would be made.

    Args:
        operator: which; what is not known of it yet is left open.
        selection: the samples that an analysis needs.
        span: the range.
        interval: seconds from one scrape to the next, as assumed.
    """
    yield PlannedQuery("series", "which operators there are", " and ".join(finders(operator.matchers())), 0, 1)
    probe, probed = probe_query(operator), min(_PROBE_SECONDS, span.seconds)
    yield PlannedQuery("query", probe.purpose, f"{probe.text}[{probed:.0f}s]", math.ceil(probed / interval), 1)
    plan = make_plan(operator, selection, span, interval)
    for one in plan.first:
        if one.step is None:
            text, points = f"{one.query.text}[{span.seconds:.0f}s]", math.ceil(span.seconds / interval)
            yield PlannedQuery("query", one.query.purpose, text, points, 1)
        else:
            points = math.floor(span.seconds / one.step) + 1
            requests = math.ceil(points / _POINTS_PER_REQUEST)
            yield PlannedQuery(
                "query_range", f"{one.query.purpose}, step {one.step:.0f} s", one.query.text, points, requests
            )
    if plan.fine is not None:
        query = plan.fine.query
        yield PlannedQuery("query", query.purpose, f"{query.text}[...]", plan.fine_points, MOST_SPANS)
