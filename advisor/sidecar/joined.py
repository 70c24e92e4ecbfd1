"""The KubeRay operator's controllers, joined from its log, its objects and its metrics: one shadow queue for each.

Everything is taken in order of its own time; `Joined` reads no clock and does no input.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from advisor.model.raw import LogRecord, Subject
from advisor.queueing.handlers import is_unchanged
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.types import AddOptions
from advisor.sidecar.gauges import Gauges
from advisor.sidecar.observed import Observed
from advisor.sidecar.queueitems import QueueContent
from advisor.sidecar.reconciles import Began, Ended, ReconcileTracker
from advisor.sidecar.rules import RULES
from advisor.sidecar.shadow import NO_PRIORITIES, ShadowController, as_ns

__all__ = ["Joined"]

_ONE_START_SECONDS = 10.0
"""A controller's sources start one after the other; within this time they are one start."""


class Joined:
    """Shadow queues of all controllers.

    Args:
        on_ended: is told each reconcile that has ended, with the priority at which it was handed out.
        awaited: kinds whose objects are still to be listed; until then, what they make ready is not known.
    """

    def __init__(
        self, on_ended: Callable[[Ended, str], None] = lambda _ended, _priority: None, awaited: Iterable[str] = ()
    ) -> None:
        self.tracker = ReconcileTracker()
        self.controllers: dict[str, ShadowController] = {}
        self._objects: dict[str, dict[str, Observed]] = {}
        self._started: dict[str, float] = {}
        self._has_priorities = True
        self._on_ended = on_ended
        self._awaited = set(awaited)

    def controller(self, name: str) -> ShadowController:
        """The shadow of one controller, made when it is first heard of."""
        found = self.controllers.get(name)
        if found is None:
            found = self.controllers[name] = ShadowController(name, has_priorities=self._has_priorities)
        return found

    def record(self, record: LogRecord) -> None:
        """Take in one record of the log."""
        if record.subject is Subject.SOURCE_STARTED:
            self._source_started(record)
        elif record.name and not (record.subject is Subject.LINE and self.tracker.touch(record)):
            self._apply(self.tracker.take(record))

    def change(self, time: float, change: Change[Observed]) -> None:
        """Take in one change of what is watched, at the time at which it was seen."""
        one = change.new or change.old
        if one is None:
            return
        known = self._objects.setdefault(one.kind, {})
        if change.new is None:
            known.pop(one.key, None)
        else:
            known[one.key] = change.new
        if change.type is ChangeType.UPDATE and is_unchanged(change):
            # A list made anew here, not there.
            return
        now_ns = as_ns(time)
        for name, rules in RULES.items():
            for kind, watch in rules.watches:
                if kind != one.kind:
                    continue
                controller = self.controller(name)
                if change.is_initial_list:
                    self._existed(controller, change)
                else:
                    watch.handle(now_ns, change, controller)

    def listed(self, kind: str) -> None:
        """All objects of a kind that there are have been told."""
        self._awaited.discard(kind)

    def knows_queue(self, name: str) -> bool:
        """Whether all that makes keys of a controller ready is watched, and has been listed."""
        return name in RULES and self._awaited.isdisjoint(kind for kind, _ in RULES[name].watches)

    def scraped(self, time: float, gauges: Mapping[str, Gauges]) -> None:
        """Take in one scrape of the operator's own metrics, by controller."""
        labels = {label for one in gauges.values() for label in one.depths}
        if labels and (labels != {NO_PRIORITIES}) != self._has_priorities:
            self._switch_queues()
        for name, one in gauges.items():
            if one.max_workers is not None and one.max_workers >= 1.0:
                self.tracker.set_workers(name, round(one.max_workers))
            if one.active_workers is not None:
                self._apply(self.tracker.scraped(time, name, one.active_workers))
            # These gauges are there from when the workers start (research: kuberay 2.1).
            if one.max_workers is not None:
                self.controller(name).scraped(time, one.depths, is_known=self.knows_queue(name))

    def content(self, content: QueueContent) -> None:
        """Take in what the verbose log says that a queue holds."""
        self.controller(content.controller).content(content.time, content.items)

    def tick(self, now: float) -> None:
        """Let time pass."""
        self._apply(self.tracker.tick(now))
        for one in self.controllers.values():
            one.tick(now)

    def restarted(self, since: float) -> None:
        """The operator's process is another one since a time: what its controllers had before is no more."""
        for name, controller in self.controllers.items():
            if self._started.get(name, float("-inf")) < since:
                self._started.pop(name, None)
                self.tracker.restart(name)
                controller.stop()

    def clock_set(self) -> None:
        """Times from before say nothing of those to come: what is pending or in work is forgotten; counters go on."""
        self.tracker.restart()
        self._started.clear()
        for controller in self.controllers.values():
            controller.stop()

    def _source_started(self, record: LogRecord) -> None:
        name, before = record.controller, self._started.get(record.controller)
        if before is not None and 0.0 <= record.time - before < _ONE_START_SECONDS:
            return
        self._started[name] = record.time
        self.tracker.restart(name)
        self._start(name, record.time)

    def _start(self, name: str, time: float, had: Collection[str] = ()) -> None:
        controller = self.controller(name)
        controller.start(time, had)
        for kind, _ in RULES[name].watches if name in RULES else ():
            for one in self._objects.get(kind, {}).values():
                self._existed(controller, Change(ChangeType.CREATE, None, one, is_initial_list=True))

    def _switch_queues(self) -> None:
        """The operator has the other kind of queue than thought: begin anew, with what is still the case."""
        self._has_priorities = not self._has_priorities
        before, self.controllers = self.controllers, {}
        for name, controller in before.items():
            if controller.is_draining:
                self._start(name, self._started[name], controller.had)
        for began, _ in self.tracker.in_progress():
            self.controller(began.controller).began(began)

    @staticmethod
    def _existed(controller: ShadowController, change: Change[Observed]) -> None:
        collected = _Keys()
        for kind, watch in RULES[controller.name].watches:
            if change.new is not None and kind == change.new.kind:
                watch.handle(0, change, collected)
        for key in collected.keys:
            controller.existed(key)

    def _apply(self, events: Iterable[Began | Ended] | Iterator[Ended]) -> None:
        for event in events:
            if isinstance(event, Began):
                self.controller(event.controller).began(event)
            else:
                self._on_ended(event, self.controller(event.began.controller).ended(event))


class _Keys:
    """Collects keys in place of a queue."""

    has_priorities = True

    def __init__(self) -> None:
        self.keys: dict[str, None] = {}

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:  # noqa: ARG002 - the protocol's arguments
        self.keys.update(dict.fromkeys(keys))
