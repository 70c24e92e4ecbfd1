"""The operator's log, condensed while it streams by: one span a reconcile, and the few lines that carry a figure.

A key is never reconciled twice at once, so a new reconcile id of a key ends the span before. At info level the last
line comes before the final write, so spans are lower bounds; the verbose markers are exact (research: kuberay 3.3).
"""

import re
from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from advisor.knowledge.logs import is_control_flow_error
from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Quality, Window

__all__ = ["Failure", "Key", "KeyTotals", "LogDigest"]

_REFUSED_DETAIL = re.compile(r'"[^"]*"|\S*-[a-z0-9]{5}\b')


@dataclass(frozen=True, slots=True)
class Key:
    """A key of one controller's queue."""

    controller: str
    namespace: str
    name: str


class Failure(NamedTuple):
    """One failed reconcile; ``control_flow`` where KubeRay returned the error on purpose."""

    time: float
    controller: str
    control_flow: bool
    text: str


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
        self._open: dict[tuple[str, str, str], tuple[str, int]] = {}
        self._plain: LogRecord | None = None
        self.throttles: list[tuple[float, float, str]] = []
        self._unmet: dict[int, set[str]] = {}
        self.failures: list[Failure] = []
        self._begin = float("inf")
        self.leader_losses: list[float] = []
        self.exact = False
        self.records = 0

    def add(self, record: LogRecord) -> None:
        """Take in one record; records come in the order of the log."""
        self.records += 1
        # A source may give one record many times in a row, for lines that differ in nothing that matters.
        if record is self._plain:
            return
        subject, time = record.subject, record.time
        if self.records == 1:
            self._begin = time
        if record.name:
            row = self._row(record)
            if time > self._spans.end[row]:  # noqa: PLR1730 - max() would cost more than all else here
                self._spans.end[row] = time
            if subject is Subject.LINE:
                self._plain = record
                return
            self._count(row, record)
        if subject is Subject.THROTTLED:
            self.throttles.append((time, record.delay_seconds or 0.0, record.detail))
        elif subject is Subject.LEADER_LOST:
            self.leader_losses.append(time)

    def _row(self, record: LogRecord) -> int:
        """The row of the record's reconcile, a new one where its key was last in another reconcile."""
        name = (record.controller, record.namespace, record.name)
        open_id, row = self._open.get(name, ("", -1))
        if row < 0 or open_id != record.reconcile_id:
            key = Key(*name)
            number = self._index.setdefault(key, len(self._keys))
            if number == len(self._keys):
                self._keys.append(key)
            row = self._spans.open(number, record.time)
            self._open[name] = (record.reconcile_id, row)
        return row

    def _count(self, row: int, record: LogRecord) -> None:
        match record.subject:
            case Subject.POD_CREATED:
                self._spans.pods[row] += 1
            case Subject.ERROR:
                self._spans.errors[row] = 1
                on_purpose = is_control_flow_error(record.detail)
                self.failures.append(Failure(record.time, record.controller, on_purpose, record.detail))
            case Subject.CONFLICT:
                self._spans.errors[row] = self._spans.conflicts[row] = 1
                self.failures.append(Failure(record.time, record.controller, control_flow=False, text=record.detail))
            case Subject.EXPECTATION:
                self._unmet.setdefault(row, set()).add(record.detail)
            case Subject.START:
                self.exact = self.exact or record.exact

    def reaches(self, window: Window) -> bool:
        """Whether the log had begun when the window ended; a quiet operator writes nothing, so its end says nothing."""
        return self._begin <= window.end

    def control_flow_errors(self, window: Window, controller: str | None = None) -> int:
        """Failures on purpose in the window, of one controller or of all."""
        return sum(
            1
            for one in self.failures
            if one.control_flow and one.time in window and controller in (None, one.controller)
        )

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
        for failure in self.failures:
            if failure.time in window:
                shape = " ".join(_REFUSED_DETAIL.sub("…", failure.text).split())[:200]
                counts[shape] = counts.get(shape, 0) + 1
        return max(counts, key=lambda shape: (counts[shape], shape)) if counts else ""
