"""The service's own history of operators that it scrapes, as a source for analyses; and who takes their results."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from advisor.analysis.changes import ChangeRules
from advisor.analysis.fleettask import verdict_of
from advisor.model.finding import FindingCode
from advisor.model.fleet import FleetFailure
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.report.jsonreport import render_json
from advisor.sources.exposition import Exposition
from advisor.store.errors import StoreReadError, StoreWriteError
from advisor.store.store import Store
from advisor.web.changes import ChangeLog
from advisor.web.notify import Notice, Notifier, Told

__all__ = ["KeptHistory", "KeptSource", "StoreSink", "remembered"]

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
        self.not_kept: dict[str, str] = {}
        """Why the last scrape of an operator was not kept; only of those where it was not."""

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Keep a scrape.

        Raises:
            StoreWriteError: it was not kept.
        """
        samples = ((sample.name, sample.labels, sample.value) for sample in exposition.samples)
        try:
            self._store.add_samples(operator, time, samples)
        except StoreWriteError as error:
            self.not_kept[operator] = str(error)
            raise
        self.not_kept.pop(operator, None)

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
        self._told = {name: _encoded(told) for name, told in notifier.known.items()}
        self.changes = ChangeLog(store, ChangeRules())
        self.write_failures = 0
        self.not_kept: dict[str, str] = {}
        """Why the last result of an operator was not kept; only of those where it was not."""

    def report(self, operator: str, time: float, report: Report) -> None:
        """Keep a report."""
        self._keep(operator, time, report)
        with self._lock:
            notices = self._notifier.report(operator, time, report)
            told = self._notifier.known.get(operator)
        if notices:
            self._send(notices)
        # After sending: whoever is killed in between tells it twice, and not never.
        self._keep_told(operator, None if told is None else _encoded(told))

    def _keep(self, operator: str, time: float, report: Report) -> None:
        """Keep a report, and follow the changes of settings that it shows."""
        verdict = verdict_of(report)
        try:
            before = self._store.latest(operator)
            number = self._store.add_report(operator, time, verdict, render_json(report).encode())
        except (StoreReadError, StoreWriteError) as error:
            self._count(operator, error)
            return
        self.not_kept.pop(operator, None)
        if before is None:
            return
        try:
            self.changes.follow(operator, time, number, report, (before, verdict))
        except StoreWriteError as error:
            self._count(operator, error)
        except StoreReadError as error:
            _LOG.warning("%s: its changes of settings cannot be followed: %s", operator, error)

    def failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """Keep a failure."""
        try:
            self._store.add_failure(operator, time, failure)
        except StoreWriteError as error:
            self._count(operator, error)

    def forget(self) -> None:
        """Forget what was told of operators of which nothing is kept any more."""
        with self._lock:
            gone = set(self._notifier.known).difference(self._store.operators())
            self._notifier.forget(gone)
            for name in gone:
                self._told.pop(name, None)

    def _keep_told(self, operator: str, told: bytes | None) -> None:
        """Keep what was told, where that has changed; what is not kept is tried again with the next report."""
        if told == self._told.get(operator):
            return
        try:
            self._store.set_told(operator, told)
        except StoreWriteError as error:
            self._count(operator, error)
            return
        if told is None:
            self._told.pop(operator, None)
        else:
            self._told[operator] = told

    def _count(self, operator: str, error: StoreReadError | StoreWriteError) -> None:
        self.write_failures += 1
        self.not_kept[operator] = str(error)
        # A full disk is not said with each report.
        if self.write_failures & (self.write_failures - 1) == 0:
            _LOG.warning("%s: not kept, %d times so far: %s", operator, self.write_failures, error)


_TOLD: "msgspec.json.Decoder[dict[FindingCode, Told]]" = msgspec.json.Decoder(dict[FindingCode, Told])


def _encoded(told: Mapping[FindingCode, Told]) -> bytes:
    return msgspec.json.encode(told)


def remembered(store: Store) -> dict[str, dict[FindingCode, Told]]:
    """What was told before the service was started anew, for a notifier; what cannot be read counts as not told."""
    known = {}
    for operator, data in store.told().items():
        try:
            known[operator] = _TOLD.decode(data)
        except msgspec.MsgspecError as error:
            _LOG.warning("%s: what was told of it cannot be read, so it may be told again: %s", operator, error)
    return known
