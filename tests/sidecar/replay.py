"""A recording played to the sidecar's core in order of time: metrics, log and object changes as they came."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from advisor.model.raw import LogRecord, ObjectChange, Selection, SeriesStore
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.sidecar.accounting import Accounting
from advisor.sidecar.gauges import GAUGE_NAMES, Gauges, gauges_of
from advisor.sidecar.joined import Joined
from advisor.sidecar.observed import Observed
from advisor.sidecar.reconciles import Ended
from advisor.sidecar.rules import RULES
from advisor.sources.exposition import Sample
from advisor.sources.recording import RecordingSource

__all__ = ["DepthRow", "Replay", "WaitRow", "changes", "observed", "replay", "scrapes"]

_WAIT_COUNT: Final = "workqueue_queue_duration_seconds_count"
_WAIT_SECONDS: Final = "workqueue_queue_duration_seconds_sum"
_KINDS: Final = frozenset(kind for rules in RULES.values() for kind, _ in rules.watches)
Action = Callable[[Joined], None]


class DepthRow(NamedTuple):
    """Ready keys of one priority at one scrape: by the operator's own gauge, and in the shadow before it is told."""

    time: float
    controller: str
    priority: str
    own: float
    shadow: float


class WaitRow(NamedTuple):
    """Reconciles begun by one scrape, and their queue wait: by the operator's own counters, and by the shadow's."""

    time: float
    controller: str
    own_reconciles: float
    own_seconds: float
    reconciles: int
    seconds: float


@dataclass
class Replay:
    """What a replay shows.

    Attributes:
        joined: the core, as it is at the end.
        depths: at each scrape, of controllers all of whose objects had been listed by then.
        waits: at each scrape.
        ended: reconciles, with the label of their priority.
        accounting: by controller.
    """

    joined: Joined = field(default_factory=Joined)
    depths: list[DepthRow] = field(default_factory=list)
    waits: list[WaitRow] = field(default_factory=list)
    ended: list[tuple[Ended, str]] = field(default_factory=list)
    accounting: defaultdict[str, Accounting] = field(default_factory=lambda: defaultdict(Accounting))

    def end(self, event: Ended, priority: str) -> None:
        """Take in a reconcile that has ended."""
        self.ended.append((event, priority))
        self.accounting[event.began.controller].ended(event)


def observed(change: ObjectChange, version: int) -> Observed:
    """The object of a recorded change; its owner is known by the label of its cluster."""
    owners = () if change.cluster is None else (OwnerReference("RayCluster", change.cluster, ""),)
    return Observed(
        kind=change.kind,
        namespace=change.namespace,
        name=change.name,
        resource_version=version,
        generation=change.generation or 0,
        owners=owners,
        phase=change.phase,
        ready=change.ready,
        state=change.state,
        desired_workers=change.desired,
        ready_workers=change.ready_workers,
        observed_generation=change.observed,
    )


def changes(source: RecordingSource) -> Iterator[tuple[float, Change[Observed]]]:
    """Changes of a cache, as an informer would tell them."""
    known: dict[tuple[str, str], Observed] = {}
    for version, change in enumerate(source.changes(), start=1):
        one = observed(change, version)
        old = known.get((one.kind, one.key))
        if change.event == "DELETED":
            if known.pop((one.kind, one.key), None) is not None:
                yield change.t, Change(ChangeType.DELETE, old, None)
            continue
        known[one.kind, one.key] = one
        if old is None:
            yield change.t, Change(ChangeType.CREATE, None, one, is_initial_list=change.event == "EXISTING")
        else:
            yield change.t, Change(ChangeType.UPDATE, old, one)


def scrapes(store: SeriesStore) -> Iterator[tuple[float, Mapping[str, Gauges]]]:
    """What each scrape says of each controller."""
    samples: dict[float, list[Sample]] = {}
    for series in store:
        if series.name in GAUGE_NAMES:
            labels = tuple(sorted(series.labels.items()))
            for time, value in zip(series.times, series.values, strict=True):
                samples.setdefault(time, []).append(Sample(series.name, labels, value))
    for time in sorted(samples):
        yield time, gauges_of(samples[time])


def replay(
    folder: Path,
    *,
    log: Iterable[LogRecord] | None = None,
    looks: Iterable[tuple[float, Action]] = (),
    each: Callable[[float, Joined], None] = lambda _time, _joined: None,
) -> Replay:
    """Play one recording.

    Args:
        folder: the recording.
        log: records in place of its own log.
        looks: what is called at which time, after all else of that time; in order.
        each: called after each scrape.
    """
    source = RecordingSource(folder)
    store = source.series(Selection(GAUGE_NAMES | {_WAIT_COUNT, _WAIT_SECONDS}, {}))
    seen = Replay()
    seen.joined = joined = Joined(seen.end, _KINDS)

    def scraped(time: float, gauges: Mapping[str, Gauges]) -> None:
        seen.depths += _depth_rows(time, gauges, joined)
        seen.waits += _wait_rows(time, store, joined)
        for name, one in gauges.items():
            seen.accounting[name].scraped(one)
        joined.scraped(time, gauges)
        each(time, joined)

    told = list(changes(source))
    # The recorder lists what exists one kind after the other; until it is through, what exists is not known.
    listed = max((time for time, change in told if change.is_initial_list), default=float("-inf"))
    streams: tuple[Iterable[tuple[float, Action]], ...] = (
        ((one.time, _call(Joined.record, one)) for one in _distinct(source.log() if log is None else log)),
        ((time, _call(Joined.change, time, change)) for time, change in told),
        ((listed, _call(Joined.listed, kind)) for kind in sorted(_KINDS)),
        ((time, _ignoring(scraped, time, gauges)) for time, gauges in scrapes(store)),
        looks,
    )
    numbers = count()
    ranked = (((time, rank, next(numbers), action) for time, action in stream) for rank, stream in enumerate(streams))
    now = float("-inf")
    for time, _, _, action in heapq.merge(*ranked):
        if time > now:
            now = time
            joined.tick(now)
        action(joined)
    return seen


def _distinct(records: Iterable[LogRecord]) -> Iterator[LogRecord]:
    """Without those that are the one before once more: lines that differ in nothing that matters."""
    before = None
    for record in records:
        if record is not before:
            yield record
        before = record


def _call(method: Callable[..., None], *arguments: object) -> Action:
    return lambda joined: method(joined, *arguments)


def _ignoring(function: Callable[..., None], *arguments: object) -> Action:
    return lambda _: function(*arguments)


def _depth_rows(time: float, gauges: Mapping[str, Gauges], joined: Joined) -> Iterator[DepthRow]:
    for name, one in gauges.items():
        if not one.depths or not joined.knows_queue(name):
            continue
        shadow = joined.controller(name).depth()
        for label in sorted({**one.depths, **shadow}):
            yield DepthRow(time, name, label, one.depths.get(label, 0.0), shadow.get(label, 0))


def _wait_rows(time: float, store: SeriesStore, joined: Joined) -> Iterator[WaitRow]:
    sums = {frozenset(series.labels.items()): series for series in store.get(_WAIT_SECONDS)}
    for series in store.get(_WAIT_COUNT):
        name, at = series.labels.get("controller") or series.labels["name"], series.index_at(time)
        if at < 0:
            continue
        views = joined.controllers[name].views(time).values() if name in joined.controllers else ()
        yield WaitRow(
            time,
            name,
            series.values[at],
            sums[frozenset(series.labels.items())].values[at],
            sum(sum(one.wait.buckets) for one in views),
            sum(one.wait.sum_ns for one in views) / 1e9,
        )
