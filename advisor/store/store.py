"""The history of the advisor service: reports, failures, changes of settings, and samples of each operator.

Everything may be called from any thread. What a method added is kept once it returns, also where the process is killed
right after; reports, failures and changes also where the machine loses power.
"""

import sqlite3
import threading
import zlib
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from advisor.model.fleet import FleetFailure, FleetVerdict
from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.store import documents
from advisor.store import reports as tables
from advisor.store.clock import believed_time
from advisor.store.connections import Connections
from advisor.store.errors import StoreReadError
from advisor.store.files import open_database
from advisor.store.records import BasisRow, ChangeRow, OperatorStatus, ReportRow
from advisor.store.reports import Between
from advisor.store.retention import Retention
from advisor.store.samples import Samples

__all__ = ["Store"]


class Store:
    """One database, open. Made by :meth:`open`; a context manager that closes it.

    Attributes:
        problem: what was found wrong when it was opened, as a sentence; None where nothing was.
        retention: how long what is kept; may be replaced, and counts from the next :meth:`prune` on.
    """

    def __init__(
        self, connections: Connections, path: Path | None, problem: str | None, retention: Retention | None = None
    ) -> None:
        self.problem = problem
        self.retention = retention or Retention()
        self._connections = connections
        self._path = path
        self._samples = Samples(connections)
        self._pruning = threading.Lock()
        self._statuses: tuple[int, tuple[OperatorStatus, ...]] = (-1, ())

    @classmethod
    def open(cls, path: Path | None, *, now: float, retention: Retention | None = None) -> "Store":
        """Open a history, or begin one.

        Args:
            path: its file; None keeps everything in memory, and forgets it.
            now: Unix time.
            retention: how long what is kept; None for what docs/store.md says.

        Raises:
            StoreOpenError: the file cannot be opened, is something else, or is of a newer program.
        """
        opened = open_database(path, now=now)
        return cls(opened.connections, path, opened.problem, retention)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, after what is being written. Reading and writing then raise."""
        self._connections.close()

    def add_report(self, operator: str, time: float, verdict: FleetVerdict, document: bytes) -> int:
        """Keep a report; its id.

        Args:
            operator: whose it is.
            time: Unix time of the analysis.
            verdict: what it comes to.
            document: the whole report, as :meth:`document` gives it back.

        Raises:
            StoreWriteError: it was not kept.
        """
        with self._connections.write() as connection:
            return tables.add_report(connection, _operator_id(connection, operator), time, verdict, document)

    def document(self, report_id: int) -> bytes | None:
        """The document of a report; None where that is not kept, or no longer."""
        with self._connections.read() as connection:
            return tables.document(connection, report_id)

    def row(self, report_id: int) -> ReportRow | None:
        """The report of an id, without its document; None where it is not kept, or no longer."""
        with self._connections.read() as connection:
            return tables.row(connection, report_id)

    def latest(self, operator: str) -> ReportRow | None:
        """The report that was added last."""
        return next(iter(self.reports(operator, limit=1)), None)

    def reports(
        self,
        operator: str,
        *,
        since: float | None = None,
        until: float | None = None,
        before_id: int | None = None,
        limit: int = 100,
    ) -> list[ReportRow]:
        """Reports, the one added last first.

        Args:
            operator: whose.
            since: Unix time from which on, itself included.
            until: Unix time up to which, itself included.
            before_id: only those added before that one, as for the next page.
            limit: how many at most.
        """
        between = Between(since=since, until=until, before_id=before_id, limit=limit)
        with self._connections.read() as connection:
            return tables.reports(connection, operator, between)

    def report_times(self, operator: str) -> list[tuple[int, float]]:
        """Id and Unix time of each report that is kept of an operator, the one added last first."""
        with self._connections.read() as connection:
            return tables.report_times(connection, operator)

    def add_failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """Keep that an operator could not be analysed at a Unix time, and why.

        Raises:
            StoreWriteError: it was not kept.
        """
        with self._connections.write() as connection:
            operator_id = _operator_id(connection, operator)
            connection.execute(
                "INSERT INTO failures (operator_id, time, after_report, failure) VALUES (?1, ?2, "
                "(SELECT coalesce(max(id), 0) FROM reports WHERE operator_id = ?1), ?3)",
                (operator_id, time, msgspec.json.encode(failure)),
            )

    def statuses(self) -> list[OperatorStatus]:
        """How each operator stands, by name. Read once for all who ask until something is added."""
        # Before the reading: what is added meanwhile is read by whoever asks next.
        revision = self.revision
        known = self._statuses
        if revision is not None and known[0] == revision:
            return list(known[1])
        with self._connections.read() as connection:
            found = tuple(tables.statuses(connection))
        if revision is not None:
            self._statuses = (revision, found)
        return list(found)

    def status(self, operator: str) -> OperatorStatus | None:
        """How one operator stands; None where nothing is kept of one of this name."""
        with self._connections.read() as connection:
            return next(iter(tables.statuses(connection, operator)), None)

    @property
    def revision(self) -> int | None:
        """A number that is another one after anything but samples was added; None where another process adds."""
        return None if self._connections.writer is None else self._connections.revision

    def queue_waits(self, operators: Sequence[str], *, limit: int) -> Mapping[str, Sequence[float | None]]:
        """Of each of these operators the mean queue waits of its last reports, in seconds, the oldest first."""
        with self._connections.read() as connection:
            return tables.queue_waits(connection, operators, limit)

    def has_report(self) -> bool:
        """Whether there is any report."""
        with self._connections.read() as connection:
            return connection.execute("SELECT 1 FROM reports LIMIT 1").fetchone() is not None

    def told(self) -> Mapping[str, bytes]:
        """What was kept by :meth:`set_told`, by operator."""
        query = "SELECT name, data FROM told JOIN operators ON operators.id = operator_id"
        with self._connections.read() as connection:
            return dict(connection.execute(query).fetchall())

    def set_told(self, operator: str, data: bytes | None) -> None:
        """Keep what was told of an operator; None forgets it.

        Raises:
            StoreWriteError: what was kept before is still there.
        """
        with self._connections.write() as connection:
            operator_id = _operator_id(connection, operator)
            connection.execute("DELETE FROM told WHERE operator_id = ?", (operator_id,))
            if data is not None:
                connection.execute("INSERT INTO told (operator_id, data) VALUES (?, ?)", (operator_id, data))

    def operators(self) -> list[str]:
        """Names of all operators of which anything is kept, in order."""
        with self._connections.read() as connection:
            return [name for (name,) in connection.execute("SELECT name FROM operators ORDER BY name")]

    def add_samples(
        self, operator: str, time: float, samples: Iterable[tuple[str, tuple[tuple[str, str], ...], float]]
    ) -> None:
        """Keep what one scrape gave: name, labels and value of each series, all at one Unix time.

        Raises:
            StoreWriteError: none of it was kept.
        """
        row = {(name, labels): value for name, labels, value in samples}
        if not row:
            return
        with self._connections.write(durable=False) as connection:
            self._samples.add(connection, _operator_id(connection, operator), time, row)

    def series(self, operator: str, window: Window, names: Container[str] | None = None) -> list[Series]:
        """Samples of a window, ends included, as finely as they are still kept; fit for signals.

        Args:
            operator: whose.
            window: the time.
            names: of the series that are wanted; None for all.
        """
        operator_id = self._known(operator)
        return [] if operator_id is None else self._samples.series(operator_id, window, names)

    def sampled_until(self, operator: str) -> float | None:
        """Unix time of the last scrape of an operator that is kept; None where none is."""
        operator_id = self._known(operator)
        return None if operator_id is None else self._samples.until(operator_id)

    def peaks(self, operator: str, window: Window, names: Container[str] | None = None) -> list[Series]:
        """Of each gauge, at the times of its samples in the window, the largest value since the sample before.

        For charts: samples that are no longer kept are in it. A mean over them would be too high.
        """
        operator_id = self._known(operator)
        return [] if operator_id is None else self._samples.peaks(operator_id, window, names)

    def add_change(self, operator: str, time: float, setting: str, before: float | None, after: float | None) -> int:
        """Keep that a setting of an operator was seen to change at a Unix time; its id.

        Raises:
            StoreWriteError: it was not kept.
        """
        return self.add_changes(operator, time, ((setting, before, after),))

    def add_changes(
        self,
        operator: str,
        time: float,
        moves: Iterable[tuple[str, float | None, float | None]],
        predicted: bytes | None = None,
    ) -> int:
        """Keep settings of an operator that were seen to change together, all or none; the first one's id.

        Args:
            operator: whose they are.
            time: Unix time, the same for all.
            moves: at least one: setting, value before and after.
            predicted: what was predicted of them, kept with the first.

        Raises:
            StoreWriteError: none of it was kept.
        """
        packed = None if predicted is None else documents.pack(predicted)
        with self._connections.write() as connection:
            operator_id = _operator_id(connection, operator)
            return tables.add_changes(connection, operator_id, time, tuple(moves), packed)

    def changes(
        self, operator: str | None, *, since: float | None = None, before_id: int | None = None, limit: int = 100
    ) -> list[ChangeRow]:
        """Changes of an operator, or of all where None, from a Unix time on; the one added last first.

        Args:
            operator: whose.
            since: Unix time from which on, itself included.
            before_id: only those added before that one, as for the next page.
            limit: how many at most.
        """
        with self._connections.read() as connection:
            return tables.changes(connection, operator, Between(since=since, before_id=before_id, limit=limit))

    def last_measured(self) -> list[tuple[str, bytes]]:
        """Of each operator the last change after which something was measured: its name, and the measurement."""
        with self._connections.read() as connection:
            return tables.last_measured(connection)

    def set_outcome(self, change_id: int, predicted: bytes | None, measured: bytes | None) -> bool:
        """Keep what was predicted of a change and what was measured after it; None leaves what there is.

        Returns:
            Whether the change is there.

        Raises:
            StoreWriteError: nothing was kept.
        """
        packed = [None if one is None else documents.pack(one) for one in (predicted, measured)]
        with self._connections.write() as connection:
            cursor = connection.execute(
                "UPDATE changes SET predicted = coalesce(?, predicted), measured = coalesce(?, measured) WHERE id = ?",
                (*packed, change_id),
            )
            return cursor.rowcount > 0

    def set_basis(self, operator: str, time: float, document: bytes | None, missing: str = "") -> None:
        """Keep what a what-if can rest on, in place of what was kept before.

        Args:
            operator: whose.
            time: Unix time of the analysis.
            document: what it found; None leaves what there is.
            missing: why it found none.

        Raises:
            StoreWriteError: it was not kept.
        """
        data = None if document is None else documents.pack(document)
        # The next analysis brings another one, so it need not outlive a loss of power.
        with self._connections.write(durable=False) as connection:
            connection.execute(
                "INSERT INTO bases (operator_id, time, data, missing) VALUES (?1, ?2, ?3, ?4) "
                "ON CONFLICT (operator_id) DO UPDATE SET time = coalesce(?2, time), data = coalesce(?3, data), "
                "missing = ?4",
                (_operator_id(connection, operator), None if data is None else time, data, missing),
            )

    def basis(self, operator: str) -> BasisRow | None:
        """What a what-if can rest on; None where no analysis has said anything of it.

        Raises:
            StoreReadError: it is damaged.
        """
        with self._connections.read() as connection:
            found = connection.execute(
                "SELECT time, data, missing FROM bases JOIN operators ON operators.id = operator_id WHERE name = ?",
                (operator,),
            ).fetchone()
        if found is None:
            return None
        time, data, missing = found
        try:
            return BasisRow(time, None if data is None else documents.unpack(data), missing)
        except zlib.error as error:
            raise StoreReadError(f"the basis of what-ifs of {operator!r} is damaged") from error

    def prune(self, now: float) -> None:
        """Thin and drop what is old, and give room back. To be called every few minutes.

        A clock that leaps ahead by more than a day is believed an hour later, so that a wrong one drops nothing.

        Args:
            now: Unix time.

        Raises:
            StoreWriteError: the rest is still as it was.
        """
        with self._pruning:
            with self._connections.write(durable=False) as connection:
                time = believed_time(connection, now)
            with self._connections.read() as connection:
                operators = [one for (one,) in connection.execute("SELECT id FROM operators")]
            for operator_id in operators:
                self._samples.prune(operator_id, time, self.retention.samples_seconds)
            with self._connections.write() as connection:
                tables.prune(connection, time, self.retention)
                self._samples.drop_unused_columns(connection)
            self._connections.vacuum()

    def size_bytes(self) -> int:
        """What the history takes on disk, in memory where it is kept there."""
        with self._connections.read() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        beside = 0 if self._path is None else _file_bytes(self._path.with_name(f"{self._path.name}-wal"))
        return int(pages * page_bytes + beside)

    def _known(self, operator: str) -> int | None:
        with self._connections.read() as connection:
            found = connection.execute("SELECT id FROM operators WHERE name = ?", (operator,)).fetchone()
        return None if found is None else int(found[0])


def _operator_id(connection: sqlite3.Connection, name: str) -> int:
    connection.execute("INSERT OR IGNORE INTO operators (name) VALUES (?)", (name,))
    (operator_id,) = connection.execute("SELECT id FROM operators WHERE name = ?", (name,)).fetchone()
    return int(operator_id)


def _file_bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
