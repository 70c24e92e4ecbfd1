"""What the service keeps of a sidecar: of a recording played to its core, and of views that tests make."""

import heapq
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from advisor.model.raw import LogRecord, Selection
from advisor.model.signal import Quality
from advisor.queueing.informer import Change
from advisor.sidecar.collector import SidecarCollector, SidecarView
from advisor.sidecar.gauges import GAUGE_NAMES
from advisor.sidecar.logreader import LogBatch
from advisor.sidecar.observed import Observed
from advisor.sidecar.observer import Observer
from advisor.sidecar.ring import Peaks
from advisor.sidecar.rules import RULES
from advisor.sidecar.views import HotKey, KeysView, KeyTotal, PriorityView, ShadowView
from advisor.signals.sidecarnames import SIDECAR_SELECTION
from advisor.sources.exposition import Exposition, ExpositionParser, Sample
from advisor.sources.recording import RecordingSource
from advisor.web.history import KeptHistory
from tests.sidecar.replay import changes
from tests.sidecar.sidecarviews import durations
from tests.web.serving import NOW, World

__all__ = ["hot", "kept", "key", "keys_view", "parsed", "pieces", "played", "queue_view", "text_of", "views"]

INSTANCE = "10.0.0.1:8090"
_LONGEST = "workqueue_longest_running_processor_seconds"
_Item = LogRecord | Change[Observed] | Exposition


def text_of(view: SidecarView) -> str:
    """What a scrape gets."""
    registry = CollectorRegistry()
    registry.register(SidecarCollector(lambda: view))
    return generate_latest(registry).decode()


def parsed(view: SidecarView) -> Exposition:
    """What is kept of it."""
    parser = ExpositionParser(SIDECAR_SELECTION, INSTANCE)
    parser.feed(text_of(view).encode())
    return parser.finish()


def kept(world: World, views: list[SidecarView], operator: str = "one", step: float = 15.0) -> None:
    """Keep views, the last one as of now."""
    history = KeptHistory(world.store)
    for place, view in enumerate(views):
        history.keep(operator, world.now - step * (len(views) - 1 - place), parsed(view))


def key(name: str, busy: float, *, reconciles: int = 10, errors: int = 0, controller: str = "raycluster") -> KeyTotal:
    """A key's totals."""
    return KeyTotal(
        controller=controller,
        key=name,
        busy_seconds=busy,
        reconciles=reconciles,
        errors=errors,
        conflicts=errors // 2,
        pods_created=0,
    )


def hot(name: str, writer: str = "annotator", controller: str = "raycluster") -> HotKey:
    """A key that is hot."""
    return HotKey(
        controller=controller,
        key=name,
        writer=writer,
        busy_share=0.9,
        consecutive=9,
        updates_per_second=None,
        since=NOW,
    )


def keys_view(*totals: KeyTotal, rest: float = 0.0, hot_keys: tuple[HotKey, ...] = ()) -> SidecarView:
    """A sidecar that knows these keys."""
    others = (key("", rest, reconciles=round(rest)),)
    return SidecarView(keys=KeysView(totals=totals, rest=others, error_seconds={"raycluster": 0.5}), hot_keys=hot_keys)


def queue_view(*rows: tuple[str, int, float, int], quality: Quality = Quality.ESTIMATED) -> SidecarView:
    """A sidecar that knows a queue: priority, depth, age of its oldest key, keys handed out with a wait of 40 ms."""
    by_priority = {
        priority: PriorityView(
            depth=depth,
            adds=depth + served,
            active_workers=1,
            oldest_ready_seconds=age,
            blocked_keys=0,
            wait=durations(*(40,) * served),
            time=durations(*(40,) * served),
            results={"success": served, "error": 0, "requeue": 0, "requeue_after": 0},
            depth_error=1.0,
        )
        for priority, depth, age, served in rows
    }
    shadow = ShadowView(
        controller="raycluster", by_priority=by_priority, queue_quality=quality, time_quality=Quality.EXACT
    )
    return SidecarView(shadows=(shadow,))


def played(folder: Path, step: float = 5.0) -> Iterator[tuple[float, Exposition]]:
    """What a sidecar beside the operator of a recording tells at each of some times, as it is kept."""
    return ((time, parsed(view)) for time, view in views(folder, step))


def views(folder: Path, step: float) -> Iterator[tuple[float, SidecarView]]:
    """All that a sidecar beside the operator of a recording knows of it at each of some times."""
    observer, peaks = Observer(synced=lambda: {kind for rules in RULES.values() for kind, _ in rules.watches}), Peaks()
    due, last, lines = None, 0.0, list[LogRecord]()
    for time, _, item in pieces(folder):
        due = time + step if due is None else due
        last = time
        match item:
            case LogRecord():
                lines.append(item)
            case Exposition():
                observer.logged(LogBatch(lines))
                lines = []
                observer.scraped(time, item)
                peaks.take(time, item)
            case _:
                observer.changed(time, item)
        if time >= due:
            yield time, _known(observer, peaks, time)
            due = time + step
    observer.logged(LogBatch(lines))
    # What has come is joined a little later, when nothing older can come any more.
    yield last + step, _known(observer, peaks, last + step)


def _known(observer: Observer, peaks: Peaks, time: float) -> SidecarView:
    found = observer.look(time)
    return SidecarView(
        shadows=found.shadows,
        peaks=peaks.view(time),
        keys=found.keys,
        hot_keys=found.hot_keys,
        key_state=found.key_state,
    )


def pieces(folder: Path) -> Iterator[tuple[float, int, _Item]]:
    """Log, changes and scrapes of a recording, in order of time."""
    source = RecordingSource(folder)
    store = source.series(Selection(GAUGE_NAMES | {_LONGEST}, {}))
    scrapes: dict[float, list[Sample]] = {}
    for series in store:
        labels = tuple(sorted(series.labels.items()))
        for time, value in zip(series.times, series.values, strict=True):
            scrapes.setdefault(time, []).append(Sample(series.name, labels, value))
    numbers = count()
    streams: list[list[tuple[float, int, _Item]]] = [
        [(one.time, next(numbers), one) for one in source.log()],
        [(time, next(numbers), change) for time, change in changes(source)],
        [(time, next(numbers), Exposition(scrapes[time], {}, 0, ended=True)) for time in sorted(scrapes)],
    ]
    yield from heapq.merge(*streams)
