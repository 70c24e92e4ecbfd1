"""The operator's log, condensed while it streams by: one span a reconcile, and the few lines that carry a figure.

A key is never reconciled twice at once, so a new reconcile id of a key ends the span before. At info level the last
line comes before the final write, so spans are lower bounds; the verbose markers are exact (research: kuberay 3.3).
"""

import re
from array import array
from dataclasses import dataclass, field

from advisor.knowledge.logs import is_control_flow_error
from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Quality, Window

__all__ = ["Key", "KeyTotals", "LogDigest"]

_REFUSED_DETAIL = re.compile(r'"[^"]*"|\S*-[a-z0-9]{5}\b')


@dataclass(frozen=True, slots=True)
class Key:
    """A key of one controller's queue."""

    controller: str
    namespace: str
    name: str


@dataclass(slots=True)
class KeyTotals:
    """What one key did in one window."""

    reconciles: int = 0
    busy_seconds: float = 0.0
    errors: int = 0
    conflicts: int = 0
    pods_created: int = 0


@dataclass(slots=True)
class _Spans:
    """Columns of all spans, one row a reconcile."""

    key: "array[int]" = field(default_factory=lambda: array("q"))
    start: "array[float]" = field(default_factory=lambda: array("d"))
    end: "array[float]" = field(default_factory=lambda: array("d"))
    errors: "array[int]" = field(default_factory=lambda: array("b"))
    conflicts: "array[int]" = field(default_factory=lambda: array("b"))
    pods: "array[int]" = field(default_factory=lambda: array("l"))

    def open(self, key: int, time: float) -> int:
        """Append a span that begins and ends now; its row."""
        self.key.append(key)
        self.start.append(time)
        self.end.append(time)
        self.errors.append(0)
        self.conflicts.append(0)
        self.pods.append(0)
        return len(self.key) - 1


class LogDigest:
    """Feed it records with :meth:`add`, then ask for windows."""

    def __init__(self) -> None:
        self._spans = _Spans()
        self._keys: list[Key] = []
        self._index: dict[Key, int] = {}
        self._open: dict[int, tuple[str, int]] = {}
        self.throttles: list[tuple[float, float, str]] = []
        self._unmet: dict[int, set[str]] = {}
        self.failures: list[tuple[float, bool, str]] = []
        self.leader_losses: list[float] = []
        self.exact = False
        self.records = 0

    def add(self, record: LogRecord) -> None:
        """Take in one record; records come in the order of the log."""
        self.records += 1
        if record.subject is Subject.THROTTLED:
            self.throttles.append((record.time, record.delay_seconds or 0.0, record.detail))
        elif record.subject is Subject.LEADER_LOST:
            self.leader_losses.append(record.time)
        if not record.name:
            return
        key = Key(record.controller, record.namespace, record.name)
        row = self._row(key, record)
        self._spans.end[row] = max(self._spans.end[row], record.time)
        self._count(row, record)

    def _row(self, key: Key, record: LogRecord) -> int:
        number = self._index.get(key)
        if number is None:
            number = self._index[key] = len(self._keys)
            self._keys.append(key)
        open_id, row = self._open.get(number, ("", -1))
        if row < 0 or open_id != record.reconcile_id:
            row = self._spans.open(number, record.time)
            self._open[number] = (record.reconcile_id, row)
        return row

    def _count(self, row: int, record: LogRecord) -> None:
        match record.subject:
            case Subject.POD_CREATED:
                self._spans.pods[row] += 1
            case Subject.ERROR:
                self._spans.errors[row] = 1
                self.failures.append((record.time, is_control_flow_error(record.detail), record.detail))
            case Subject.CONFLICT:
                self._spans.errors[row] = self._spans.conflicts[row] = 1
                self.failures.append((record.time, False, record.detail))
            case Subject.EXPECTATION:
                self._unmet.setdefault(row, set()).add(record.detail)
            case Subject.START:
                self.exact = self.exact or record.exact

    @property
    def quality(self) -> Quality:
        """Quality of span lengths: exact with the verbose markers, else a lower bound."""
        return Quality.EXACT if self.exact else Quality.LOWER_BOUND

    def totals(self, window: Window) -> dict[Key, KeyTotals]:
        """What each key did in the window; a span counts where it ends, its time by the part inside."""
        result: dict[Key, KeyTotals] = {}
        spans = self._spans
        for number, start, end, error, conflict, pods in zip(
            spans.key, spans.start, spans.end, spans.errors, spans.conflicts, spans.pods, strict=True
        ):
            if end < window.start or start > window.end:
                continue
            totals = result.setdefault(self._keys[number], KeyTotals())
            totals.busy_seconds += window.overlap(start, end)
            if end <= window.end:
                totals.reconciles += 1
                totals.errors += error
                totals.conflicts += conflict
                totals.pods_created += pods
        return result

    def unmet_groups(self, window: Window) -> dict[tuple[Key, str], float]:
        """Seconds in the window for which a group's scale expectation stayed unmet, by key and group.

        It holds from the first reconcile that skipped the group until the next one that did not.
        """
        since: dict[tuple[int, str], float] = {}
        held: dict[tuple[Key, str], float] = {}

        def close(number: int, group: str, end: float) -> None:
            seconds = window.overlap(since.pop((number, group)), end)
            name = (self._keys[number], group)
            held[name] = max(held.get(name, 0.0), seconds)

        for row, number in enumerate(self._spans.key):
            start = self._spans.start[row]
            unmet = self._unmet.get(row, set())
            for group in [name for key, name in since if key == number and name not in unmet]:
                close(number, group, start)
            for group in unmet:
                since.setdefault((number, group), start)
        for number, group in list(since):
            close(number, group, window.end)
        return {name: seconds for name, seconds in held.items() if seconds > 0.0}

    def commonest_error(self, window: Window) -> str:
        """The error text that occurs most in the window, without the names in it; "" without errors."""
        counts: dict[str, int] = {}
        for time, _, text in self.failures:
            if time in window:
                shape = _REFUSED_DETAIL.sub("…", text)[:200]
                counts[shape] = counts.get(shape, 0) + 1
        return max(counts, key=lambda shape: (counts[shape], shape)) if counts else ""
