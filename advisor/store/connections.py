"""One connection that writes, and any number that read beside it."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from advisor.store.errors import StoreReadError, StoreWriteError

__all__ = ["Connections", "connect"]

_MOST_IDLE = 8
_WAIT_SECONDS = 5.0
_VACUUM_PAGES = 2000
_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


def connect(uri: str) -> sqlite3.Connection:
    """A connection in autocommit mode that any thread may use, one at a time."""
    return sqlite3.connect(uri, uri=True, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)


class Connections:
    """Connections to one database, for several threads.

    Args:
        uri: the database, or None where only ``writer`` sees it, which then also reads: one in memory.
        writer: the connection that writes, None where nothing can be written.
        where: the file, for errors.
    """

    def __init__(self, uri: str | None, writer: sqlite3.Connection | None, *, where: str) -> None:
        self._uri = uri
        self._where = where
        self.writer = writer
        self._lock = threading.RLock()
        self._pool = threading.Lock()
        """Of its own, so that no reader waits for a writer."""
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self.revision = 0
        """How many transactions were kept that are not samples; to be compared, to see whether anything was added."""

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, only inside the block, which sees one state of the database.

        Raises:
            StoreReadError: reading failed.
        """
        try:
            if self._uri is None and self.writer is not None:
                with self._lock:
                    yield self.writer
                return
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield connection
            finally:
                _undo(connection)
                self._give_back(connection)
        except sqlite3.Error as error:
            raise StoreReadError(f"the history cannot be read: {error}", where=self._where) from error

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction, one at a time. It is undone where the block raises.

        Args:
            durable: whether it has to outlive a loss of power, too; the end of the process it always outlives.

        Raises:
            StoreWriteError: nothing of it was kept.
        """
        writer = self.writer
        if writer is None:
            raise StoreWriteError("the history cannot be written", where=self._where)
        with self._lock:
            try:
                writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
                self.revision += durable
            except sqlite3.Error as error:
                _undo(writer)
                raise self._not_kept(error) from error
            except BaseException:
                _undo(writer)
                raise

    def vacuum(self) -> None:
        """Give free pages back to the file system, some megabytes at a time.

        Raises:
            StoreWriteError: it failed, and did no harm.
        """
        if self.writer is None:
            return
        with self._lock:
            try:
                # As a script: execute() would take one step, which is one page.
                self.writer.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            except sqlite3.Error as error:
                raise self._not_kept(error) from error

    def close(self) -> None:
        """Close all; those that are reading are closed when they are done."""
        with self._pool:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()
        with self._lock:
            if self.writer is not None:
                self.writer.close()

    def _take(self) -> sqlite3.Connection:
        with self._pool:
            if self._idle:
                return self._idle.pop()
            closed = self._closed
        if closed or self._uri is None:
            raise StoreReadError("the history is closed", where=self._where)
        connection = connect(self._uri)
        connection.execute("PRAGMA query_only = ON")
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._pool:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _not_kept(self, error: sqlite3.Error) -> StoreWriteError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        hint = "make room on its disk; what was kept before is still there" if code in _FULL else ""
        return StoreWriteError(f"the history cannot be written: {error}", where=self._where, hint=hint)


def _undo(connection: sqlite3.Connection) -> None:
    """End a transaction, unless SQLite has ended it by itself."""
    with suppress(sqlite3.Error):
        if connection.in_transaction:
            connection.execute("ROLLBACK")
