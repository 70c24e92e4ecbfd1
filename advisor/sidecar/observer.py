"""Everything that is known of the KubeRay operator, from threads that follow its log, watch its objects and scrape it.

They bring what they find; it waits in an inbox until it can be joined in order of its time, which `advance` does. What
is shown is copied under the same lock, so that all of one answer belongs together.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import add

from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Quality
from advisor.queueing.handlers import is_unchanged
from advisor.queueing.informer import Change, ChangeType
from advisor.runtime.histogram import HistogramSnapshot
from advisor.sidecar.accounting import Accounting
from advisor.sidecar.gauges import Gauges, gauges_of
from advisor.sidecar.hitters import Hitters
from advisor.sidecar.hotkeys import HotKeys, Running
from advisor.sidecar.inbox import Inbox
from advisor.sidecar.joined import Joined
from advisor.sidecar.keystate import KeyState, KeyStateView
from advisor.sidecar.logreader import LogBatch
from advisor.sidecar.observed import Observed
from advisor.sidecar.queueitems import QueueContent
from advisor.sidecar.reconciles import Ended
from advisor.sidecar.rules import RULES
from advisor.sidecar.shadow import NO_PRIORITIES
from advisor.sidecar.views import HotKey, KeysView, PriorityView, Reconcile, ShadowView
from advisor.sources.exposition import Exposition

__all__ = ["ObservedOperator", "Observer", "ObserverSettings"]

_STEP_SECONDS = 0.25
"""The longest time that delays wait for what has expired to be handed on, where nothing else comes."""
_VERBOSE_SECONDS = 60.0
"""A queue whose content the log told within this time is known exactly."""

_WATCHED = frozenset(kind for rules in RULES.values() for kind, _ in rules.watches)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverSettings:
    """What is brought.

    Attributes:
        has_log: whether a log is followed; without it nothing is known of reconciles and queues.
        has_watches: whether objects are watched; without them nothing is known of when keys became ready.
        keys: how many keys are told apart.
    """

    has_log: bool = True
    has_watches: bool = True
    keys: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedOperator:
    """All that is shown, as of one time; see the types of its parts. `keys` is None where no log is followed."""

    shadows: tuple[ShadowView, ...]
    keys: KeysView | None
    hot_keys: tuple[HotKey, ...]
    key_state: KeyStateView


@dataclass(frozen=True, slots=True)
class _Restarted:
    """The operator is a new process, since Unix seconds."""

    since: float


@dataclass(frozen=True, slots=True)
class _Listed:
    """All objects of a kind have been told."""

    kind: str


_Item = LogRecord | QueueContent | Change[Observed] | Mapping[str, Gauges] | _Restarted | _Listed


class Observer:
    """Safe to use from several threads.

    Args:
        settings: what is brought.
        synced: kinds whose first list is through; what others would make ready is not known yet.
    """

    def __init__(
        self, settings: ObserverSettings | None = None, synced: Callable[[], Collection[str]] = lambda: ()
    ) -> None:
        self._settings = settings or ObserverSettings()
        self._synced = synced
        self._inbox: Inbox[_Item] = Inbox()
        self._joined = Joined(self._ended, awaited=_WATCHED)
        self._accounting: dict[str, Accounting] = {}
        self._hitters = Hitters(self._settings.keys)
        self._hot_keys = self._new_hot_keys()
        self._key_state = KeyState()
        self._verbose: dict[str, float] = {}
        self._listed: set[str] = set()
        self._ticked = float("-inf")
        self._log_time: float | None = None
        self._is_behind = False
        self._lock = threading.Lock()

    def logged(self, batch: LogBatch) -> None:
        """Take in what the log tells."""
        with self._lock:
            for record in batch.records:
                self._inbox.put(record.time, record)
            for content in batch.contents:
                self._inbox.put(content.time, content)
            if batch.records:
                self._log_time = batch.records[-1].time
            self._is_behind = batch.is_behind

    def changed(self, time: float, change: Change[Observed]) -> None:
        """Take in a change of what is watched."""
        with self._lock:
            self._inbox.put(time, change)

    def scraped(self, time: float, exposition: Exposition) -> None:
        """Take in a scrape of the operator."""
        gauges = gauges_of(exposition.samples)
        with self._lock:
            self._inbox.put(time, gauges)

    def restarted(self, time: float) -> None:
        """Take in that the operator is a new process since a time."""
        with self._lock:
            self._inbox.put(time, _Restarted(time))

    def clock_set(self, _: float) -> None:
        """Begin anew where the wall clock was set, by whatever: ages across that would be wrong."""
        with self._lock:
            for time, item in self._inbox.empty():
                self._take(time, item)
            self._joined.clock_set()
            self._hot_keys = self._new_hot_keys()
            self._key_state.forget_creates()
            self._ticked = float("-inf")
            self._log_time, self._is_behind = None, False

    def advance(self, now: float) -> None:
        """Join what is due by now; to be called about every second, and before anything is shown."""
        with self._lock:
            self._advance(now)

    def look(self, now: float) -> ObservedOperator:
        """What is known now."""
        with self._lock:
            self._advance(now)
            has_log = self._settings.has_log
            return ObservedOperator(
                shadows=tuple(self._shadow(name, now) for name in sorted(self._joined.controllers)) if has_log else (),
                keys=self._hitters.view(now) if has_log else None,
                hot_keys=self._hot(now) if has_log else (),
                key_state=self._key_state.view(now),
            )

    def _advance(self, now: float) -> None:
        for kind in set(self._synced()) - self._listed:
            # Behind its objects, which wait as well.
            self._listed.add(kind)
            self._inbox.put(now, _Listed(kind))
        for time, item in self._inbox.due(now, self._behind_since):
            self._tick(time)
            self._take(time, item)
        self._tick(self._settled(now))

    def _tick(self, time: float) -> None:
        # Delays expire with whatever a queue is told next as well; for the rest a second is made of few steps.
        if not 0.0 <= time - self._ticked < _STEP_SECONDS:
            self._ticked = time
            self._joined.tick(time)

    def _take(self, time: float, item: _Item) -> None:
        match item:
            case LogRecord():
                self._record(item)
            case QueueContent():
                self._verbose[item.controller] = time
                self._joined.content(item)
            case Change():
                self._change(time, item)
            case _Listed():
                self._joined.listed(item.kind)
            case _Restarted():
                self._joined.restarted(item.since)
            case _:
                for name, gauges in item.items():
                    self._accounting.setdefault(name, Accounting()).scraped(gauges)
                self._joined.scraped(time, item)

    def _record(self, record: LogRecord) -> None:
        if record.subject is Subject.POD_CREATED:
            self._key_state.created_pods(record.time, f"{record.namespace}/{record.name}", 1)
        elif record.subject is Subject.EXPECTATION:
            self._key_state.unsatisfied(record.time, f"{record.namespace}/{record.name}", record.detail)
        self._joined.record(record)

    def _change(self, time: float, change: Change[Observed]) -> None:
        self._joined.change(time, change)
        if is_unchanged(change):
            # A list made anew: what came and went meanwhile was not seen.
            self._key_state.forget_creates()
        self._key_state.update(time, change)
        if change.type is ChangeType.UPDATE and change.new is not None:
            self._hot_keys.observe_update(time, change.new)

    def _ended(self, event: Ended, priority: str) -> None:
        began = event.began
        self._accounting.setdefault(began.controller, Accounting()).ended(event)
        if event.late:
            # It has been counted; only its error was not known.
            return
        reconcile = Reconcile(
            controller=began.controller,
            key=began.key,
            priority=priority,
            began=began.time,
            ended=event.time,
            exact=event.exact,
            failed=event.failed,
            conflict=event.conflict,
            control_flow=event.control_flow,
            pods_created=event.pods_created,
            result=event.result,
        )
        self._hitters.add(reconcile)
        self._hot_keys.add(reconcile)
        self._key_state.reconciled(reconcile)

    def _shadow(self, name: str, now: float) -> ShadowView:
        controller = self._joined.controllers[name]
        by_priority = controller.views(self._settled(now))
        if not self._settings.has_watches:
            by_priority = _of_any_priority(by_priority.values())
        elif not self._knows_queue(name):
            by_priority = {label: _without_queue(one) for label, one in by_priority.items()}
        is_verbose = now - self._verbose.get(name, float("-inf")) < _VERBOSE_SECONDS
        accounting = self._accounting.get(name)
        return ShadowView(
            controller=name,
            by_priority=by_priority,
            queue_quality=Quality.EXACT if is_verbose else Quality.ESTIMATED,
            time_quality=Quality.EXACT if self._joined.tracker.is_exact(name) else Quality.LOWER_BOUND,
            unattributed_seconds=None if accounting is None else accounting.unattributed_seconds,
        )

    def _hot(self, now: float) -> tuple[HotKey, ...]:
        settled = self._settled(now)
        running = [
            Running(began.controller, began.key, began.time, settled if began.exact else last)
            for began, last in self._joined.tracker.in_progress()
        ]
        controllers = self._joined.controllers.items()
        waiting = {name: one.waiting(settled) for name, one in controllers if self._knows_queue(name)}
        return self._hot_keys.view(settled, running, waiting)

    def _settled(self, now: float) -> float:
        return self._inbox.settled(now, self._behind_since)

    @property
    def _behind_since(self) -> float | None:
        """The time of the log's last record while the log is read behind its end."""
        return self._log_time if self._is_behind else None

    def _new_hot_keys(self) -> HotKeys:
        return HotKeys(_WATCHED if self._settings.has_watches else ())

    def _knows_queue(self, name: str) -> bool:
        """Whether all that makes keys of this controller ready is watched, and has been listed."""
        return self._settings.has_watches and self._joined.knows_queue(name)


def _without_queue(one: PriorityView) -> PriorityView:
    return replace(one, depth=None, oldest_ready_seconds=None, depth_error=None)


def _of_any_priority(views: Iterable[PriorityView]) -> dict[str, PriorityView]:
    """One view of all: without objects nothing tells at which priority a key went out."""
    found = list(views)
    if not found:
        return {}
    whole = _without_queue(found[0])
    for one in found[1:]:
        whole = replace(
            whole,
            active_workers=whole.active_workers + one.active_workers,
            time=_sum(whole.time, one.time),
            results={result: count + one.results[result] for result, count in whole.results.items()},
        )
    return {NO_PRIORITIES: whole}


def _sum(one: HistogramSnapshot, other: HistogramSnapshot) -> HistogramSnapshot:
    buckets = tuple(map(add, one.buckets, other.buckets))
    return HistogramSnapshot(one.bounds_ns, buckets, one.sum_ns + other.sum_ns)
