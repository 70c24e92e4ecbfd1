"""The service's own history of operators that it scrapes, as a source for analyses; and who takes their results."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from advisor.analysis.changes import ChangeRules
from advisor.analysis.fleettask import verdict_of
from advisor.model.fleet import FleetFailure
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.report.jsonreport import render_json
from advisor.sources.exposition import Exposition
from advisor.store.errors import StoreReadError, StoreWriteError
from advisor.store.store import Store
from advisor.web.changes import ChangeLog
from advisor.web.notify import Notice, Notifier

__all__ = ["KeptHistory", "KeptSource", "StoreSink"]

_LOG: Final = logging.getLogger(__name__)


class KeptSource:
    """What was kept of one operator in a time; it has no log and no objects."""

    kind = "history"
    log_lines = 0

    def __init__(self, store: Store, operator: str, span: Window) -> None:
        self._store = store
        self._operator = operator
        self._span = span
        self.notes: Sequence[ReadNote] = ()

    def series(self, selection: Selection) -> SeriesStore:
        """The samples that are selected."""
        wanted = selection.names | selection.aggregated.keys()
        found = self._store.series(self._operator, self._span)
        return SeriesStore((one for one in found if one.name in wanted), origin=f"history of {self._operator}")

    def log(self) -> Iterable[LogRecord]:
        """No log."""
        return ()

    def changes(self) -> Iterable[ObjectChange]:
        """No object changes."""
        return ()

    def setup(self) -> Setup:
        """Nothing beside the samples."""
        return Setup()


class KeptHistory:
    """Keeps scrapes in the store, and gives them back (`advisor.web.targets.History`)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Keep a scrape.

        Raises:
            StoreWriteError: it was not kept.
        """
        samples = ((sample.name, sample.labels, sample.value) for sample in exposition.samples)
        self._store.add_samples(operator, time, samples)

    def source(self, operator: str, span: Window) -> KeptSource:
        """The samples of one operator in a time."""
        return KeptSource(self._store, operator, span)


class StoreSink:
    """Keeps reports and failures, follows changes of settings, and passes on what is worth a notice.

    A store that cannot be written to is logged and counted; the schedule goes on, and pages say what the store says.
    """

    def __init__(self, store: Store, notifier: Notifier, send: Callable[[Sequence[Notice]], None]) -> None:
        self._store = store
        self._notifier = notifier
        self._send = send
        self._lock = threading.Lock()
        self.changes = ChangeLog(store, ChangeRules())
        self.write_failures = 0

    def report(self, operator: str, time: float, report: Report) -> None:
        """Keep a report."""
        verdict = verdict_of(report)
        try:
            before = self._store.latest(operator)
            number = self._store.add_report(operator, time, verdict, render_json(report).encode())
            if before is not None:
                self.changes.follow(operator, time, number, report, (before, verdict))
        except StoreWriteError as error:
            self._count(operator, error)
        except StoreReadError as error:
            _LOG.warning("%s: its changes of settings cannot be followed: %s", operator, error)
        with self._lock:
            notices = self._notifier.report(operator, time, report)
        if notices:
            self._send(notices)

    def failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """Keep a failure."""
        try:
            self._store.add_failure(operator, time, failure)
        except StoreWriteError as error:
            self._count(operator, error)

    def _count(self, operator: str, error: StoreWriteError) -> None:
        self.write_failures += 1
        # A full disk is not said with each report.
        if self.write_failures & (self.write_failures - 1) == 0:
            _LOG.warning("%s: not kept, %d times so far: %s", operator, self.write_failures, error)
