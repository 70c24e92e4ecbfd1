"""Opening the file of the history, whatever state it is in."""

import os
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from advisor.store.connections import Connections, connect
from advisor.store.errors import StoreOpenError
from advisor.store.migrations import MIGRATIONS, check_version, migrate

__all__ = ["Opened", "open_database"]

_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PAGE_BYTES = 8192
"""Documents and blocks of samples are some kilobytes each: larger pages are filled better."""
_WAL_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Opened:
    """A database that is open, and what is wrong about it in a sentence, None where nothing is."""

    connections: Connections
    problem: str | None


class _DamagedError(Exception):
    """The file is no database, or its check found damage."""


def open_database(path: Path | None, *, now: float) -> Opened:
    """Open or make a database; one in memory where there is no path.

    A damaged file is renamed, never deleted, and a new one is begun. A file that may not be written is read.

    Args:
        path: the file; folders above it are made.
        now: Unix time, for the name of a damaged file.

    Raises:
        StoreOpenError: the file cannot be opened or made, or is not a history that this program knows.
    """
    if path is None:
        connection = connect("file::memory:")
        _prepare(connection, where="")
        return Opened(Connections(None, connection, where=""), None)
    where = str(path)
    try:
        if path.is_file() and not _may_write(path):
            return _read_only(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return Opened(_open(path), None)
        except _DamagedError as damage:
            aside = _set_aside(path, now)
            problem = f"{where} was damaged ({damage}); it is kept as {aside.name}, and a new history was begun"
            return Opened(_open(path), problem)
    except (sqlite3.Error, OSError, _DamagedError) as error:
        raise StoreOpenError(f"the history cannot be opened: {error}", where=where, hint="name another file") from error


def _open(path: Path) -> Connections:
    uri = path.absolute().as_uri()
    connection = connect(f"{uri}?mode=rwc")
    try:
        _check(connection)
        _prepare(connection, where=str(path))
    except BaseException:
        connection.close()
        raise
    return Connections(f"{uri}?mode=rw", connection, where=str(path))


def _read_only(path: Path) -> Opened:
    # Without a log of changes beside it nothing writes the file, and SQLite may not make its own there.
    log_there = path.with_name(f"{path.name}-wal").is_file()
    uri = f"{path.absolute().as_uri()}?{'mode=ro' if log_there else 'immutable=1'}"
    connection = connect(uri)
    try:
        _check(connection)
        version = check_version(connection, where=str(path))
    finally:
        connection.close()
    if version < len(MIGRATIONS):
        raise StoreOpenError(
            "is of an older version and cannot be brought up to date, as it may not be written",
            where=str(path),
            hint="allow writing to the file and its folder",
        )
    problem = f"{path} may not be written: what was kept is shown, nothing is added"
    return Opened(Connections(uri, None, where=str(path)), problem)


def _check(connection: sqlite3.Connection) -> None:
    """Look whether the file is whole.

    Raises:
        _DamagedError: it is not.
    """
    try:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF in _CORRUPT:
            raise _DamagedError(str(error)) from error
        raise
    if found != "ok":
        raise _DamagedError(" ".join(str(found).split()))


def _prepare(connection: sqlite3.Connection, *, where: str) -> None:
    if not check_version(connection, where=where):
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    migrate(connection, where=where)


def _may_write(path: Path) -> bool:
    """SQLite makes files of its own beside it."""
    return os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK)


def _set_aside(path: Path, now: float) -> Path:
    """Rename a file and what SQLite has beside it; its new path, which no file had."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{path.name}.corrupt-{stamp}"
    number = 1
    while path.with_name(name).exists():
        number += 1
        name = f"{path.name}.corrupt-{stamp}-{number}"
    # The file last: a new one must not find the changes of the old one beside it.
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(path.with_name(name + suffix))
    return path.with_name(name)
