"""What would be asked of a store for one operator, without asking it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from advisor.model.raw import Selection
from advisor.model.signal import Window
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.operators import Operator, finders
from advisor.sources.prometheus.plan import MOST_SPANS, PROBE_SECONDS, as_scraped, make_plan, probe_query

__all__ = ["PlannedQuery", "planned_queries"]


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


def planned_queries(operator: Operator, selection: Selection, span: Window, interval: float) -> Iterator[PlannedQuery]:
    """Every query in the order in which it would be made.

    Args:
        operator: which; what is not known of it yet is left open.
        selection: the samples that an analysis needs.
        span: the range.
        interval: seconds from one scrape to the next, as assumed.
    """
    yield PlannedQuery("series", "which operators there are", " and ".join(finders(operator.matchers())), 0, 1)
    probed = min(PROBE_SECONDS, span.seconds)
    probe = as_scraped(probe_query(operator), probed)
    yield PlannedQuery("query", probe.purpose, probe.text, math.ceil(probed / interval), 1)
    plan = make_plan(operator, selection, span, interval)
    for one in plan.first:
        if one.step is None:
            query = as_scraped(one.query, span.seconds)
            yield PlannedQuery("query", query.purpose, query.text, math.ceil(span.seconds / interval), 1)
        else:
            points = math.floor(span.seconds / one.step) + 1
            requests = math.ceil(points / Limits().points)
            yield PlannedQuery(
                "query_range", f"{one.query.purpose}, step {one.step:.0f} s", one.query.text, points, requests
            )
    if plan.fine is not None:
        query = plan.fine.query
        yield PlannedQuery("query", query.purpose, f"{query.text}[...]", plan.fine_points, MOST_SPANS)
