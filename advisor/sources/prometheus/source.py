"""One operator in a Prometheus-compatible store, as a source of samples like any other.

Counters come as they are: increases and resets are computed from them by the same code as for a recording.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from advisor.errors import NothingToAnalyseError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, Series, SeriesStore, Setup
from advisor.model.signal import Window
from advisor.signals.curves import usual_pause
from advisor.sources.prometheus.busiest import busiest
from advisor.sources.prometheus.client import PrometheusClient, Result
from advisor.sources.prometheus.native import with_native
from advisor.sources.prometheus.operators import Operator
from advisor.sources.prometheus.plan import (
    CLOCK,
    MOST_SPANS,
    OBJECTS,
    POD_INFO,
    PROBE_SECONDS,
    Pass,
    Plan,
    as_scraped,
    make_plan,
    probe_query,
    spans_within,
)
from advisor.sources.prometheus.retime import retimed
from advisor.sources.prometheus.splice import splice

__all__ = ["USUAL_INTERVAL", "PrometheusSource"]

USUAL_INTERVAL: Final = 30.0
"""KubeRay's ServiceMonitor default, assumed where too few samples tell."""
_DOWNSAMPLED_SECONDS: Final = 240.0
"""Samples further apart than this are not scraped so: Thanos keeps one in five minutes, or in an hour."""
_STALE_INTERVALS: Final = 5
_TELLING: Final = 6
"""Samples of a process from which on their pace tells something."""
_OTHER_PACE: Final = 1.5


class PrometheusSource:
    """What a store holds about one operator in a range.

    Args:
        client: the store.
        operator: which operator.
        span: the range, in Unix seconds.
        progress: is told what is read.
    """

    kind = "prometheus"
    log_lines = 0

    def __init__(
        self,
        client: PrometheusClient,
        operator: Operator,
        span: Window,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._operator = operator
        self._span = span
        self._progress = progress
        self._version: str | None = None
        self.notes: list[ReadNote] = []

    @property
    def _where(self) -> str:
        return f"{self._client.name}, {self._operator.name}"

    def series(self, selection: Selection) -> SeriesStore:
        """The selected samples, coarsely where the range is long, and as scraped where most happened.

        Raises:
            InputError: the store does not answer as it should.
            NothingToAnalyseError: the operator has no samples at the end of the range.
        """
        plan = make_plan(self._operator, selection, self._span, self._interval())
        found = self._read(plan.first, plan.span)
        if plan.fine is None:
            self._note_pace(found, plan.interval)
        else:
            found = self._refined(found, plan, plan.fine, selection)
        found = retimed(found, _objects(selection), plan.coarse_step or plan.interval)
        self._version = _version(found)
        self.notes.extend(ReadNote(where=self._client.name, message=text) for text in self._client.warnings)
        return self._store(found)

    def log(self) -> Iterable[LogRecord]:
        """No log: a store of metrics has none."""
        return ()

    def changes(self) -> Iterable[ObjectChange]:
        """No object changes, likewise."""
        return ()

    def setup(self) -> Setup:
        """The version by the tag of the container's image, where kube-state-metrics tells it."""
        return Setup(version=self._version)

    def _store(self, found: Iterable[Series]) -> SeriesStore:
        return SeriesStore((one for one in found if one.name != POD_INFO), origin=self._where)

    def _interval(self) -> float:
        """Seconds from one scrape to the next at the end of the range.

        Raises:
            NothingToAnalyseError: there are no samples there or anywhere before.
        """
        for seconds in dict.fromkeys((min(PROBE_SECONDS, self._span.seconds), self._span.seconds)):
            probed = self._client.instant(as_scraped(probe_query(self._operator), seconds), self._span.end).series
            times = max((one.times for one in probed), key=len, default=None)
            if times is not None:
                break
        else:
            raise NothingToAnalyseError(
                "no samples of this operator in this time",
                where=self._where,
                hint="name another time with --last and --until",
            )
        interval = usual_pause(times) or USUAL_INTERVAL
        self._note_age(max(one.times[-1] for one in probed), interval)
        return interval

    def _note_age(self, last: float, interval: float) -> None:
        if interval >= _DOWNSAMPLED_SECONDS:
            message = f"one sample in {interval:.0f} s: down-sampled, so short bursts are not in it"
            self.notes.append(ReadNote(where=self._where, message=message))
        age = self._span.end - last
        if age > _STALE_INTERVALS * interval:
            message = f"the last sample is {age:.0f} s older than the end of the range"
            self.notes.append(ReadNote(where=self._where, message=message))

    def _note_pace(self, found: Iterable[Series], interval: float) -> None:
        """Say where samples as scraped came at another pace than at the end of the range."""
        for one in found:
            if one.name != CLOCK or len(one) < _TELLING:
                continue
            early = usual_pause(one.times[: len(one) // 2])
            if early and not 1 / _OTHER_PACE < early / interval < _OTHER_PACE:
                message = f"one sample in {early:.0f} s around {one.times[0]:.0f}, and in {interval:.0f} s at the end"
                self.notes.append(ReadNote(where=self._where, message=message))

    def _read(self, passes: Sequence[Pass], span: Window) -> list[Series]:
        with ThreadPoolExecutor(self._client.in_flight) as pool:
            try:
                results = list(pool.map(lambda one: self._ask(one, span), passes))
            except KeyboardInterrupt:
                # What other threads wait for would keep the program alive.
                self._client.close()
                raise
        return with_native(
            (series for result in results for series in result.series),
            (histogram for result in results for histogram in result.histograms),
        )

    def _ask(self, one: Pass, span: Window) -> Result:
        self._progress(f"reading {one.query.purpose}")
        if one.step is None:
            return self._client.instant(as_scraped(one.query, span.seconds), span.end)
        return self._client.range(one.query, span.start, span.end, one.step)

    def _refined(self, found: list[Series], plan: Plan, fine: Pass, selection: Selection) -> list[Series]:
        """With the busiest stretches as they were scraped, in place of the coarse samples there."""
        margin = 2 * max(plan.interval, plan.coarse_step or 0.0)
        computed = _objects(selection)
        ranked = busiest(self._store(one for one in found if one.name not in computed)) or (
            Window(plan.span.end - margin, plan.span.end),
        )
        spans = spans_within(ranked[:MOST_SPANS], plan.fine_points, plan.interval, margin)
        for span in spans:
            closely = self._read((fine,), span)
            self._note_pace(closely, plan.interval)
            found = splice(found, closely, span)
        seconds = sum(span.seconds for span in spans)
        self.notes.append(
            ReadNote(
                where=self._where,
                message=f"read at one sample in {plan.coarse_step:.0f} s, and {seconds / 3600:.1f} h in {len(spans)} "
                "stretches where most happened as scraped; distributions are of those alone",
            )
        )
        return found


def _objects(selection: Selection) -> frozenset[str]:
    """Names of series about Ray objects, of which a store is asked for sums."""
    return frozenset(name for name in selection.aggregated if name.startswith(OBJECTS))


def _version(found: Iterable[Series]) -> str | None:
    """The tag of the newest image of the operator's container."""
    images = [(one.times[-1], one.labels.get("image", "")) for one in found if one.name == POD_INFO and one.times]
    for _, image in sorted(images, reverse=True):
        tag = image.partition("@")[0].rpartition(":")[2]
        if tag and "/" not in tag and tag != image:
            return tag.removeprefix("v")
    return None
