"""Reconciles of the KubeRay operator, begun and ended as its log tells.

With the verbose markers both are exact. At info level there is no line that every reconcile ends with (research:
kuberay 3.3), so a reconcile counts as ended once something says that it has: the next one of its key or of its worker,
a scrape that shows fewer workers busy, or, after a line that usually is the last, time. What it took is then a lower
bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from advisor.knowledge.defaults import RAYJOB_POLL_SECONDS, RAYSERVICE_POLL_SECONDS
from advisor.knowledge.logs import is_control_flow_error
from advisor.model.raw import LogRecord, Subject
from advisor.sources.operatorlog import BACKOFF

__all__ = ["Began", "Ended", "ReconcileTracker"]

_LAST_WORD_SECONDS = 1.0
"""After a line that usually is the last: the time in which the status is written, and an error of that would come."""
_FRESH_SECONDS = 15.0
"""How long a scrape tells how many workers are busy."""
_SILENT_SECONDS = 30.0
"""A reconcile that has written nothing for so long, beside others that do, is taken to have ended."""
_LATE_SECONDS = 300.0
"""How long the last word of one that was taken to have ended is waited for."""
_POLLING = {"rayjob": RAYJOB_POLL_SECONDS, "rayservice": RAYSERVICE_POLL_SECONDS}
"""After which time a reconcile comes again that told no other (research: kuberay 4.2, 4.3)."""


@dataclass(frozen=True, slots=True)
class Began:
    """A reconcile began. `time` is Unix seconds, of its first line where it is not exact."""

    time: float
    controller: str
    key: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A reconcile ended.

    Attributes:
        began: its start.
        time: Unix seconds of its end, or of its last line.
        likely_time: when it most likely ended: at its last line, or when its worker was seen to begin another.
        exact: whether both ends come from the verbose markers.
        failed: whether it ended in an error.
        conflict: whether that was a write conflict.
        control_flow: whether KubeRay returned it on purpose.
        requeue_seconds: when its key comes again; None where it does not, or with back-off.
        backoff: whether it comes again with back-off.
        pods_created: Pods that it created.
        late: whether it had been taken to have ended before, without the error that came only now.
        result: as `controller_runtime_reconcile_total` counts it.
    """

    began: Began
    time: float
    likely_time: float
    exact: bool
    failed: bool = False
    conflict: bool = False
    control_flow: bool = False
    requeue_seconds: float | None = None
    backoff: bool = False
    pods_created: int = 0
    late: bool = False

    @property
    def result(self) -> str:
        """Its value of the label `result`."""
        if self.failed:
            return "error"
        if self.requeue_seconds is not None:
            return "requeue_after"
        return "requeue" if self.backoff else "success"


@dataclass(slots=True)
class _Open:
    """A reconcile that has not ended yet, as far as is known."""

    began: Began
    identity: str
    last: float
    requeue_seconds: float | None
    pods_created: int = 0
    backoff: bool = False
    has_last_line: bool = False
    error: str | None = None
    is_conflict: bool = False


@dataclass(slots=True)
class _Controller:
    """Open reconciles of one controller by key, those silent longest first."""

    workers: int | None = None
    open: dict[str, _Open] = field(default_factory=dict)
    closed: dict[str, _Open] = field(default_factory=dict)
    """By key the last one that was taken to have ended without its last word."""
    active_workers: float | None = None
    active_time: float = 0.0
    is_exact: bool = False

    def went_on(self, one: _Open, time: float) -> None:
        """An open one wrote a line."""
        # Behind the others: in order of the last line.
        key = one.began.key
        del self.open[key]
        self.open[key] = one
        one.last = max(one.last, time)

    def close(self, one: _Open, time: float | None = None) -> Ended:
        """One is taken to have ended, at a time where that is known better than by its last line."""
        del self.open[one.began.key]
        self.closed[one.began.key] = one
        return _ended(one, one.last if time is None else max(one.last, time))

    def forget(self, before: float) -> None:
        """Wait no longer for the last word of those that were silent before a time."""
        while self.closed:
            key, first = next(iter(self.closed.items()))
            if first.last >= before:
                return
            del self.closed[key]


class ReconcileTracker:
    """Feed it records in the order of the log; it gives what began and what ended, in order of being known."""

    def __init__(self) -> None:
        self._controllers: dict[str, _Controller] = {}

    def in_progress(self) -> Iterator[tuple[Began, float]]:
        """Reconciles that have begun and not ended, as far as is known, and the time of their last line."""
        for controller in self._controllers.values():
            for one in controller.open.values():
                yield one.began, one.last

    def is_exact(self, controller: str) -> bool:
        """Whether the last reconcile that began did so by a verbose marker."""
        found = self._controllers.get(controller)
        return found is not None and found.is_exact

    def set_workers(self, controller: str, workers: int) -> None:
        """Say how many reconciles the controller runs at a time."""
        self._of(controller).workers = workers

    def restart(self, controller: str | None = None) -> None:
        """A controller, or all of them, started anew: what was open will never end."""
        for name in [controller] if controller is not None else list(self._controllers):
            self._controllers.pop(name, None)

    def touch(self, record: LogRecord) -> bool:
        """Take in a plain line of an open reconcile, which tells but that it went on; False where it is none."""
        controller = self._controllers.get(record.controller)
        key = f"{record.namespace}/{record.name}"
        found = None if controller is None else controller.open.get(key)
        if controller is None or found is None or found.identity != record.reconcile_id:
            return False
        controller.went_on(found, record.time)
        return True

    def take(self, record: LogRecord) -> Iterator[Began | Ended]:
        """What one record tells, and what it lets be known of others; one of no reconcile tells nothing."""
        if not record.name or not record.reconcile_id:
            return
        controller = self._of(record.controller)
        key = f"{record.namespace}/{record.name}"
        closed = controller.closed.get(key)
        if closed is not None and closed.identity == record.reconcile_id:
            yield from _late(closed, record)
            return
        found = controller.open.get(key)
        if found is not None and found.identity != record.reconcile_id:
            yield controller.close(found)
            found = None
        if found is None:
            controller.closed.pop(key, None)
            yield from _free_worker(controller, record.time)
            began = Began(record.time, record.controller, key, record.subject is Subject.START and record.exact)
            found = _Open(began, record.reconcile_id, record.time, _POLLING.get(record.controller))
            controller.open[key] = found
            controller.is_exact = began.exact
            yield began
        else:
            controller.went_on(found, record.time)
            if record.subject is not Subject.LINE:
                found.has_last_line = False
        if _note(found, record):
            del controller.open[key]
            yield _ended(found, found.last)

    def scraped(self, time: float, controller: str, active_workers: float) -> Iterator[Ended]:
        """A scrape at a time showed so many busy workers; those of more than that silent longest have ended."""
        found = self._controllers.get(controller)
        if found is None:
            return
        found.active_workers, found.active_time = active_workers, time
        surplus = len(found.open) - round(active_workers)
        for one in list(found.open.values()):
            if surplus <= 0 or one.last > time:
                break
            # The end of one that began exactly will be told, unless its line was lost.
            if not one.began.exact or time - one.last > _SILENT_SECONDS:
                surplus -= 1
                yield found.close(one)

    def tick(self, now: float) -> Iterator[Ended]:
        """What has ended because no more lines came by now, unless the last scrape showed as many workers busy."""
        for controller in self._controllers.values():
            fresh = now - controller.active_time < _FRESH_SECONDS
            busy = controller.active_workers if fresh and controller.active_workers is not None else 0
            for one in list(controller.open.values()):
                silent = now - one.last
                if silent < _LAST_WORD_SECONDS or len(controller.open) <= busy:
                    break
                if not one.began.exact and (one.has_last_line or silent > _SILENT_SECONDS):
                    yield controller.close(one)
            controller.forget(now - _LATE_SECONDS)

    def _of(self, controller: str) -> _Controller:
        found = self._controllers.get(controller)
        if found is None:
            found = self._controllers[controller] = _Controller()
        return found


def _free_worker(controller: _Controller, time: float) -> Iterator[Ended]:
    """Before one more begins than there are workers, the likeliest of the others has ended, for that one to begin."""
    while controller.workers is not None and len(controller.open) >= controller.workers:
        silent = controller.open.values()
        likeliest = next((one for one in silent if one.has_last_line), next(iter(silent)))
        yield controller.close(likeliest, time)


def _note(found: _Open, record: LogRecord) -> bool:
    """Take in what a record says of its reconcile; whether it is the last one for certain."""
    match record.subject:
        case Subject.POD_CREATED:
            found.pods_created += 1
        case Subject.LAST_LINE:
            found.has_last_line, found.requeue_seconds = True, record.delay_seconds
        case Subject.END:
            found.requeue_seconds, found.backoff = record.delay_seconds, record.detail == BACKOFF
            return record.exact or not found.began.exact
        case Subject.ERROR | Subject.CONFLICT:
            found.error, found.is_conflict = record.detail, record.subject is Subject.CONFLICT
            return True
        case _:
            pass
    return False


def _late(closed: _Open, record: LogRecord) -> Iterator[Ended]:
    """A line of a reconcile that was taken to have ended; only an error changes what is known of it."""
    if record.subject in (Subject.ERROR, Subject.CONFLICT):
        closed.last = record.time
        _note(closed, record)
        yield _ended(closed, record.time, late=True)


def _ended(one: _Open, likely_time: float, *, late: bool = False) -> Ended:
    failed = one.error is not None
    return Ended(
        began=one.began,
        time=one.last,
        likely_time=likely_time,
        exact=one.began.exact,
        failed=failed,
        conflict=one.is_conflict,
        control_flow=one.error is not None and is_control_flow_error(one.error),
        requeue_seconds=None if failed else one.requeue_seconds,
        backoff=failed or one.backoff,
        pods_created=one.pods_created,
        late=late,
    )
