"""The last records of the log, for an advisor that asks: of plain lines a reconcile's first and last, of others all.

A reconcile of a large cluster writes a line for each Pod, which tell no more than its span. What is kept gives the same
figures as the whole log.
"""

import threading
from collections import deque
from collections.abc import Iterable

from advisor.model.raw import LogRecord, Subject

__all__ = ["RecordRing", "condensed"]

_Key = tuple[str, str, str]


def condensed(records: Iterable[LogRecord]) -> list[LogRecord]:
    """The same records without plain lines of a reconcile that stand between two others of it: they tell nothing."""
    kept: list[LogRecord | None] = []
    between: dict[str, int] = {}
    seen: set[str] = set()
    before = None
    for record in records:
        # One record may stand for many lines that differ in nothing that matters.
        if record is before:
            continue
        before, identity = record, record.reconcile_id
        if identity in seen:
            dropped = between.pop(identity, None)
            if dropped is not None:
                kept[dropped] = None
            if record.subject is Subject.LINE:
                between[identity] = len(kept)
        elif identity:
            seen.add(identity)
        kept.append(record)
    return [record for record in kept if record is not None]


class RecordRing:
    """Keeps the last records; safe to use from several threads.

    Args:
        most: records kept at most.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._kept: deque[LogRecord] = deque()
        self._limit = most
        self._lasts: dict[_Key, LogRecord] = {}
        self._identities: dict[_Key, str] = {}
        self._lock = threading.Lock()

    def resize(self, share: float) -> None:
        """Hold that share of the usual number from now on."""
        with self._lock:
            self._limit = max(1, round(self._most * share))
            self._shrink()

    def add(self, records: Iterable[LogRecord]) -> None:
        """Take records in, in the order of the log."""
        with self._lock:
            for record in records:
                self._add(record)
            self._shrink()

    def records(self) -> list[LogRecord]:
        """What is kept; of each key in the order of the log."""
        with self._lock:
            return [*self._kept, *self._lasts.values()]

    def _add(self, record: LogRecord) -> None:
        if not record.name:
            if record.subject is not Subject.LINE:
                self._kept.append(record)
            return
        key = (record.controller, record.namespace, record.name)
        is_new = self._identities.get(key) != record.reconcile_id
        if not is_new and record.subject is Subject.LINE:
            self._lasts[key] = record
            return
        last = self._lasts.pop(key, None)
        if last is not None:
            self._kept.append(last)
        # Behind the others: those silent longest are forgotten first.
        self._identities.pop(key, None)
        self._identities[key] = record.reconcile_id
        self._kept.append(record)

    def _shrink(self) -> None:
        while len(self._kept) > self._limit:
            self._kept.popleft()
        while len(self._identities) > self._limit:
            key = next(iter(self._identities))
            del self._identities[key]
            self._lasts.pop(key, None)
