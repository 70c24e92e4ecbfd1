"""Whether one key takes the time of a controller's workers just now, and who writes to it.

A key is never reconciled by two workers at once, and an event of a key that is in work makes it come again right after.
So a key that takes long, or is written to all the time, keeps one worker for itself and waits for itself, whatever the
number of workers. The conditions are those of the finding hot-key (docs/findings), over the last minute.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from advisor.diagnosis.thresholds import Thresholds
from advisor.knowledge.logs import LOGGERS
from advisor.sidecar.hitters import AgingTop
from advisor.sidecar.observed import Observed, Writer
from advisor.sidecar.views import HotKey, Reconcile

__all__ = ["HotKeyRules", "HotKeys", "Running"]

_NANOSECONDS = 1e9
_PANE_SECONDS = 2.5
_KIND_OF = {spec.controller: spec.key_field for spec in LOGGERS}
_KINDS = frozenset(_KIND_OF.values())
_REMEMBERED_OBJECTS = 1024
"""Objects of which the last writers are kept: those written to last."""


class HotKeyRules(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a key hot, beside the thresholds of the diagnosis."""

    window_seconds: float = 60.0
    """Share of the workers' time is taken over so long: a key that comes last after a busy minute is not hot."""
    recent_seconds: tuple[float, ...] = (10.0, 20.0)
    """Over one of these it has to matter: the first is soon enough to see who it is, the second finds slower ones."""
    least_busy_workers: float = 0.05
    """Work of a key below which it is no load, however often it comes: where the analysis calls an operator idle."""
    least_panes: int = 4
    """Panes of 2.5 s of the last ten seconds in which it came: a cluster that starts comes often, but not for long."""
    fewest_turns: int = 3
    """Where others wait they had a turn each between two of its runs, so that so many runs compare it with them."""
    hold_seconds: float = 30.0
    """How long a key stays hot after it last was: a Prometheus that scrapes each half minute sees it, and it does not
    come and go with pauses between its reconciles."""


@dataclass(frozen=True, slots=True)
class Running:
    """A reconcile that has not ended.

    Attributes:
        controller: label of its controller.
        key: ``namespace/name``.
        began: Unix seconds of its start, or of its first line.
        seen: Unix seconds until which it is known to run: its last line, or now where its end would be told.
    """

    controller: str
    key: str
    began: float
    seen: float


@dataclass(slots=True)
class _Row:
    """Runs of one key with no whole run of another between two of them."""

    key: str = ""
    runs: int = 0
    last_ended: float = 0.0
    other_key: str = ""
    other_ended: float | None = None

    def add(self, reconcile: Reconcile) -> None:
        """Count a run, in the order of ends."""
        key, began, ended = reconcile.key, reconcile.began, reconcile.ended
        if key == self.key:
            between = self.other_ended is not None and self.other_ended <= began
            self.runs = 1 if between else self.runs + 1
            self.last_ended, self.other_ended = ended, None
        elif began >= self.last_ended:
            if self.key and self.other_ended is None:
                self.other_key, self.other_ended = key, ended
            else:
                # Another one's second run, or the second other one: the row is over.
                self.runs = 2 if key == self.other_key else 1
                self.key, self.last_ended, self.other_key, self.other_ended = key, ended, "", None


@dataclass(slots=True)
class _Heat:
    """Unix seconds since when a key is hot, and when it last met the conditions."""

    since: float
    last: float


@dataclass(slots=True)
class _Controller:
    """What the keys of one controller did of late, and which of them are hot."""

    busy: AgingTop
    runs: AgingTop
    row: _Row = field(default_factory=_Row)
    hot: dict[str, _Heat] = field(default_factory=dict)


@dataclass(slots=True)
class _Work:
    """Work of a controller over some seconds: of each key and of all in nanoseconds."""

    seconds: float
    by_key: dict[str, int]
    whole: int

    def share(self, key: str) -> float:
        return self.by_key.get(key, 0) / self.whole if self.whole > 0 else 0.0

    def workers(self, key: str) -> float:
        return self.by_key.get(key, 0) / _NANOSECONDS / self.seconds


class HotKeys:
    """Tells the hot keys of all controllers. Memory is bounded at any number of keys.

    All times are those of the operator's log. For one thread.

    Args:
        watched: kinds of which updates are observed; others count as watched from their first update on.
        thresholds: those of the diagnosis.
        rules: the sidecar's own.
    """

    def __init__(
        self,
        watched: Iterable[str] = (),
        *,
        thresholds: Thresholds | None = None,
        rules: HotKeyRules | None = None,
    ) -> None:
        self._limits = thresholds or Thresholds()
        self._rules = rules or HotKeyRules()
        self._controllers: dict[str, _Controller] = {}
        self._writers = _Writers(watched, self._rules.window_seconds)

    def add(self, reconcile: Reconcile) -> None:
        """Take in a reconcile that has ended."""
        controller = self._of(reconcile.controller)
        controller.busy.add_span(reconcile.began, reconcile.ended, reconcile.key)
        controller.runs.add(reconcile.ended, reconcile.key, 1)
        controller.row.add(reconcile)

    def observe_update(self, now: float, observed: Observed) -> None:
        """Take in that an object was written to, at Unix seconds; only those that are keys themselves matter."""
        if observed.kind in _KINDS:
            self._writers.add(now, observed)

    def view(
        self, now: float, running: Iterable[Running] = (), waiting: Mapping[str, int] | None = None
    ) -> tuple[HotKey, ...]:
        """The keys that are hot, one of each controller at most, apart from those that are just cooling down.

        Args:
            now: Unix seconds up to which the log has been read.
            running: reconciles in progress.
            waiting: by controller, how many other keys have been ready for longer than a second, those that wait for
                their own reconcile left out. One that is absent is not known: a single long reconcile is then not
                called hot, since it may be as long as any other.
        """
        running_by: dict[str, list[Running]] = {}
        for one in running:
            running_by.setdefault(one.controller, []).append(one)
        found: list[HotKey] = []
        for name in sorted({*self._controllers, *running_by}):
            controller = self._of(name)
            in_work = running_by.get(name, [])
            others_wait = waiting is None or waiting.get(name, 1) > 0
            work = self._work(controller, now, self._rules.window_seconds, in_work)
            hottest = self._hottest(controller, now, work, in_work, others_wait=others_wait)
            if hottest is not None:
                controller.hot.setdefault(hottest, _Heat(now, now)).last = now
            hold = self._rules.hold_seconds
            controller.hot = {key: heat for key, heat in controller.hot.items() if 0.0 <= now - heat.last < hold}
            found += [
                self._hot_key(name, controller, key, work, now, is_running=any(one.key == key for one in in_work))
                for key in controller.hot
            ]
        return tuple(sorted(found, key=lambda one: (one.since, one.controller, one.key)))

    def _of(self, name: str) -> _Controller:
        found = self._controllers.get(name)
        if found is None:
            seconds = self._rules.window_seconds
            busy, runs = (AgingTop(seconds=seconds, pane_seconds=_PANE_SECONDS) for _ in range(2))
            found = self._controllers[name] = _Controller(busy, runs)
        return found

    @staticmethod
    def _work(controller: _Controller, now: float, seconds: float, running: list[Running]) -> _Work:
        since = controller.busy.since(now, seconds)
        by_key, whole = controller.busy.sums(since)
        for one in running:
            busy = round(max(0.0, min(one.seen, now) - max(one.began, since)) * _NANOSECONDS)
            by_key[one.key] = by_key.get(one.key, 0) + busy
            whole += busy
        return _Work(now - since, by_key, whole)

    def _hottest(
        self, controller: _Controller, now: float, work: _Work, running: list[Running], *, others_wait: bool
    ) -> str | None:
        """The key that leads over the window, if it leads and matters of late as well."""
        limits, rules = self._limits, self._rules
        key = max(work.by_key, key=lambda key: work.by_key[key], default=None)
        if key is None or work.share(key) < limits.hot_key_share:
            return None
        since = controller.busy.since(now, rules.recent_seconds[0])
        is_burst = len(controller.runs.of(key, since)[1]) < rules.least_panes
        for seconds in rules.recent_seconds:
            recent = self._work(controller, now, seconds, running)
            runs, _ = controller.runs.of(key, now - recent.seconds)
            turns = runs + sum(one.key == key for one in running)
            if (others_wait and turns < rules.fewest_turns) or recent.share(key) < limits.hot_key_share:
                continue
            if recent.workers(key) >= limits.idle_workers or (not is_burst and self._comes_often(recent, key, runs)):
                return key
        return None

    def _comes_often(self, work: _Work, key: str, runs: int) -> bool:
        """Whether it comes more often than any timer, and that costs something, or than its own writes explain."""
        limits, rate = self._limits, runs / work.seconds
        if runs < limits.fewest_reconciles:
            return False
        is_load = work.workers(key) >= self._rules.least_busy_workers
        return rate >= limits.hot_key_loop_per_second or (is_load and rate >= limits.hot_key_per_second)

    def _hot_key(
        self, name: str, controller: _Controller, key: str, work: _Work, now: float, *, is_running: bool
    ) -> HotKey:
        in_window, _ = controller.runs.of(key, now - work.seconds)
        in_row = controller.row.runs if controller.row.key == key else in_window
        writer, rate = self._writers.of(_KIND_OF.get(name, ""), key, now)
        return HotKey(
            controller=name,
            key=key,
            writer=writer,
            busy_share=work.share(key),
            consecutive=in_row + is_running,
            updates_per_second=rate,
            since=controller.hot[key].since,
        )


class _Writers:
    """Who writes to which object how often.

    The time of a manager has a grain of one second. An update that moved none is by one of those that wrote last, and
    each of them gets its part.
    """

    _SHARES = 120
    """Parts of one update, so that it can be divided evenly."""
    _LEAST_SECONDS = 5.0
    """A rate over less is chance."""

    def __init__(self, watched: Iterable[str], seconds: float) -> None:
        self._watched = set(watched)
        self._seconds = seconds
        self._updates = AgingTop(seconds=seconds, pane_seconds=_PANE_SECONDS)
        self._by_manager = AgingTop(seconds=seconds, pane_seconds=_PANE_SECONDS, capacity=64)
        self._last: OrderedDict[str, tuple[Writer, ...]] = OrderedDict()

    def add(self, now: float, observed: Observed) -> None:
        """Count an update."""
        self._watched.add(observed.kind)
        name = f"{observed.kind} {observed.key}"
        self._updates.add(now, name, 1)
        managers = self._managers(self._last.pop(name, ()), observed.writers)
        for manager in managers:
            self._by_manager.add(now, f"{name} {manager}", self._SHARES // len(managers))
        if observed.writers:
            self._last[name] = observed.writers
            if len(self._last) > _REMEMBERED_OBJECTS:
                self._last.popitem(last=False)

    def of(self, kind: str, key: str, now: float) -> tuple[str, float | None]:
        """Who writes to it most, "" where that is not known, and how often it is written to; None if not watched."""
        if kind not in self._watched:
            return "", None
        name = f"{kind} {key}"
        since = self._updates.since(now, self._seconds)
        updates, panes = self._updates.of(name, since)
        if not panes:
            return "", 0.0
        began = max(since, min(panes) * _PANE_SECONDS)
        sums, _ = self._by_manager.sums(since)
        prefix = f"{name} "
        managers = [(-parts, text.removeprefix(prefix)) for text, parts in sums.items() if text.startswith(prefix)]
        return min(managers, default=(0, ""))[1], updates / max(self._LEAST_SECONDS, now - began)

    @staticmethod
    def _managers(before: tuple[Writer, ...], after: tuple[Writer, ...]) -> list[str]:
        """Whose write an update may be."""
        known = {writer.manager: writer.time for writer in before}
        newest = max((writer.time for writer in after), default=0.0)
        moved = {writer.manager for writer in after if before and writer.time > known.get(writer.manager, 0.0)}
        return sorted(moved or {writer.manager for writer in after if writer.time == newest})
