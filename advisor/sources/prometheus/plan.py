"""What is asked of a store for one operator, why, and in which steps.

A short range is read whole, as the samples that were scraped. A long one is read twice: coarsely, at one-minute steps,
without histogram buckets; then the busiest stretches as scraped, buckets included. The step of the coarse pass and the
length of the fine one are bounded, so that a month costs what a week costs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.model.raw import Selection
from advisor.model.signal import Window
from advisor.signals.instances import is_foreign
from advisor.signals.process import OPERATOR_CONTAINERS
from advisor.sources.prometheus.client import Query
from advisor.sources.prometheus.operators import MARK, Operator
from advisor.sources.prometheus.promql import Matcher, selector

__all__ = [
    "CLOCK",
    "COARSE_SECONDS",
    "MOST_SPANS",
    "OBJECTS",
    "POD_INFO",
    "PROBE_SECONDS",
    "Pass",
    "Plan",
    "as_scraped",
    "make_plan",
    "probe_query",
    "spans_within",
]

CLOCK: Final = "process_start_time_seconds"
"""Every scrape of a process has it."""
PROBE_SECONDS: Final = 3600.0
COARSE_SECONDS: Final = 60.0
_WHOLE_POINTS: Final = 1500
"""Samples of one series up to which a range is read whole: six hours at 15 s."""
_COARSE_POINTS: Final = 10_080
"""Samples of one series in a coarse pass: a week at one minute."""
MOST_SPANS: Final = 3
"""Stretches that a fine pass reads."""
OBJECTS: Final = "kuberay_"
"""How series about Ray objects begin."""
_WRITES: Final = ("APPLY", "PATCH", "POST", "PUT")
_WRITTEN: Final = ("pods", "rayclusters", "rayjobs", "rayservices", "services")
POD_INFO: Final = "kube_pod_container_info"
_NATIVE: Final = (
    "controller_runtime_reconcile_time_seconds",
    "workqueue_queue_duration_seconds",
    "workqueue_work_duration_seconds",
    "rest_client_request_duration_seconds",
    "rest_client_rate_limiter_duration_seconds",
)
"""Histograms that a store may hold in native form, under the family's own name."""


@dataclass(frozen=True, slots=True)
class Pass:
    """A query over a time; ``step`` in seconds, None for the samples as they were scraped."""

    query: Query
    step: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """How one operator's range is read: ``first`` whole, then ``fine`` over as many samples as ``fine_points`` allows.

    ``fine`` is None where the range is short enough to be read at once as it was scraped.
    """

    span: Window
    interval: float
    first: tuple[Pass, ...]
    fine: Pass | None
    coarse_step: float | None

    @property
    def fine_points(self) -> int:
        """Samples of one series that the fine pass may read: fewer than the coarse one, which so sets the pace."""
        return 0 if self.coarse_step is None else math.floor(0.5 * self.span.seconds / self.coarse_step)


def make_plan(operator: Operator, selection: Selection, span: Window, interval: float) -> Plan:
    """The plan for one operator.

    Args:
        operator: which.
        selection: the samples that an analysis needs.
        span: the range.
        interval: seconds from one scrape to the next.
    """
    queries = _Queries(operator, selection)
    if span.seconds <= _WHOLE_POINTS * interval:
        whole = [Pass(query, None) for query in (*queries.plain(), queries.buckets(), queries.container())]
        computed = [Pass(query, interval) for query in (queries.objects(), queries.api_server())]
        return Plan(span, interval, (*whole, *computed), None, None)
    step = coarse_step(span, interval)
    coarse = tuple(Pass(query, step) for query in (*queries.plain(), *queries.beside()))
    return Plan(span, interval, coarse, Pass(queries.everything(), None), step)


def coarse_step(span: Window, interval: float) -> float:
    """Seconds between the samples of a coarse pass, whole minutes."""
    least = max(COARSE_SECONDS, interval, span.seconds / _COARSE_POINTS)
    return COARSE_SECONDS * math.ceil(least / COARSE_SECONDS - 1e-9)


def probe_query(operator: Operator) -> Query:
    """Asks for the times at which the operator was scraped of late: over ``PROBE_SECONDS`` before the end."""
    return Query(selector([CLOCK, MARK], operator.matchers()), "scrape interval and last sample")


def as_scraped(query: Query, seconds: float) -> Query:
    """Asks for the samples of a selector over a time up to now, as they were scraped."""
    return Query(f"{query.text}[{max(1, round(seconds))}s]", query.purpose)


class _Queries:
    def __init__(self, operator: Operator, selection: Selection) -> None:
        self._operator = operator
        own = sorted(name for name in selection.names if not is_foreign(name) and name != "up")
        self._plain = [name for name in own if not name.endswith("_bucket")]
        self._buckets = [name for name in own if name.endswith("_bucket")]
        self._foreign = sorted(name for name in selection.names if is_foreign(name))
        self._objects = {name: kept for name, kept in selection.aggregated.items() if name.startswith(OBJECTS)}
        self._server = {name: kept for name, kept in selection.aggregated.items() if not name.startswith(OBJECTS)}

    def plain(self) -> tuple[Query, ...]:
        """Counters and gauges, the queue and the controllers apart from the client and the process."""
        names = (*self._plain, *_NATIVE)
        queue = [name for name in names if name.startswith(("controller_runtime_", "workqueue_"))]
        other = [name for name in names if name not in queue]
        return (
            self._own(queue, "workers, queue and reconciles"),
            self._own(other, "API client, process and leadership"),
        )

    def buckets(self) -> Query:
        """Buckets of histograms."""
        return self._own(self._buckets, "distribution of reconcile time and limiter wait")

    def beside(self) -> tuple[Query, ...]:
        """Everything that is not the operator's own counters and gauges."""
        return self.container(), self.objects(), self.api_server()

    def everything(self) -> Query:
        """All of the operator's own series."""
        return self._own((*self._plain, *self._buckets, *_NATIVE), "the same as scraped, with distributions")

    def container(self) -> Query:
        """What kubelet and kube-state-metrics expose about the operator's container."""
        pods = self._operator.pods
        about = Matcher.one_of("pod", pods) if pods else Matcher.one_of("container", OPERATOR_CONTAINERS)
        foreign = selector((*self._foreign, POD_INFO), (*self._operator.place(), about))
        return Query(foreign, "CPU, memory, limits and image of the container")

    def objects(self) -> Query:
        """How many Ray objects there are, one series of each kind in place of one of each object."""
        text = selector(sorted(self._objects), self._operator.objects())
        return Query(_summed(text, self._objects), "how many Ray objects there are")

    def api_server(self) -> Query:
        """What the API server says of itself: how long writes take it, and what it refuses for load."""
        cluster = tuple(one for one in self._operator.place() if one.label != "namespace")
        durations = [name for name in sorted(self._server) if "_duration_" in name]
        writes = (Matcher.one_of("verb", _WRITES), Matcher.one_of("resource", _WRITTEN))
        timed = selector(durations, (*writes, *cluster))
        refused = selector(
            [name for name in self._server if name not in durations], (Matcher("code", "=", "429"), *cluster)
        )
        text = f"{_summed(timed, self._server)} or {_summed(refused, self._server)}"
        return Query(text, "the API server's own time for writes, and 429")

    def _own(self, names: Iterable[str], purpose: str) -> Query:
        return Query(selector(list(names), self._operator.matchers()), purpose)


def _summed(text: str, kept: Mapping[str, Iterable[str]]) -> str:
    labels = sorted({label for labels in kept.values() for label in labels})
    return f"sum by (__name__, {', '.join(labels)}) ({text})"


def spans_within(spans: Sequence[Window], points: int, interval: float, margin: float) -> tuple[Window, ...]:
    """As many of the spans, the first ones first, as a number of samples allows, each with a margin before it."""
    chosen: list[Window] = []
    left = points * interval
    for span in spans:
        length = min(span.seconds, left)
        if length < 2 * interval:
            break
        chosen.append(Window(span.start - margin, span.start + length))
        left -= length + margin
    return tuple(sorted(chosen, key=lambda one: one.start))
