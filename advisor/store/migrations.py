"""The tables of the history, by ``PRAGMA user_version``: each step is made once, in a transaction of its own."""

import sqlite3
from collections.abc import Sequence
from typing import Final

from advisor.store.errors import StoreOpenError

__all__ = ["APPLICATION_ID", "MIGRATIONS", "check_version", "migrate"]

APPLICATION_ID: Final = 0x4B524144
"""Tells a history from any other SQLite file: "KRAD"."""

_FIRST: Final = (
    "CREATE TABLE clock (id INTEGER PRIMARY KEY CHECK (id = 1), believed REAL NOT NULL, leapt REAL, thinned REAL)",
    "CREATE TABLE operators (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    """CREATE TABLE reports (id INTEGER PRIMARY KEY AUTOINCREMENT, operator_id INTEGER NOT NULL, time REAL NOT NULL,
       changed INTEGER NOT NULL, verdict BLOB NOT NULL)""",
    "CREATE INDEX reports_by_operator ON reports (operator_id, id)",
    "CREATE INDEX reports_by_time ON reports (time)",
    "CREATE TABLE documents (report_id INTEGER PRIMARY KEY, base INTEGER, data BLOB NOT NULL)",
    "CREATE INDEX documents_by_base ON documents (base) WHERE base IS NOT NULL",
    "CREATE TABLE dropped (report_id INTEGER PRIMARY KEY)",
    """CREATE TABLE failures (id INTEGER PRIMARY KEY, operator_id INTEGER NOT NULL, time REAL NOT NULL,
       after_report INTEGER NOT NULL, failure BLOB NOT NULL)""",
    "CREATE INDEX failures_by_operator ON failures (operator_id, id)",
    "CREATE INDEX failures_by_time ON failures (time)",
    """CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, operator_id INTEGER NOT NULL, time REAL NOT NULL,
       setting TEXT NOT NULL, before REAL, after REAL, predicted BLOB, measured BLOB)""",
    "CREATE INDEX changes_by_operator ON changes (operator_id, id)",
    "CREATE TABLE columns (id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, data BLOB NOT NULL)",
    """CREATE TABLE samples (id INTEGER PRIMARY KEY, operator_id INTEGER NOT NULL, tier INTEGER NOT NULL,
       columns_id INTEGER NOT NULL, begins REAL NOT NULL, ends REAL NOT NULL, data BLOB NOT NULL)""",
    "CREATE INDEX samples_by_time ON samples (operator_id, tier, ends)",
    "CREATE INDEX samples_by_columns ON samples (columns_id)",
)

_BASES: Final = (
    """CREATE TABLE bases (operator_id INTEGER PRIMARY KEY, time REAL, data BLOB, missing TEXT NOT NULL)""",
)
_TOLD: Final = ("CREATE TABLE told (operator_id INTEGER PRIMARY KEY, data BLOB NOT NULL)",)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_FIRST, _BASES, _TOLD)
"""Statements that lead from each version to the next; a step that has been released is never changed."""


def check_version(connection: sqlite3.Connection, *, where: str, known: int = len(MIGRATIONS)) -> int:
    """The version of a file, 0 for a new one.

    Raises:
        StoreOpenError: the file is of a newer program, or is a database of something else.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION_ID:
        raise StoreOpenError("is a database of another program", where=where, hint="name another file")
    if version > known:
        raise StoreOpenError(
            f"is of version {version}, and this program knows up to {known}",
            where=where,
            hint="run a newer kuberay-advisor, or name another file to begin a new history",
        )
    return int(version)


def migrate(
    connection: sqlite3.Connection, *, where: str = "", migrations: Sequence[Sequence[str]] = MIGRATIONS
) -> None:
    """Bring a file to the present version; what is not yet done is done, one transaction a step.

    Args:
        connection: in autocommit mode.
        where: the file, for errors.
        migrations: the steps.

    Raises:
        StoreOpenError: as of :func:`check_version`.
        sqlite3.Error: a step failed; the file is as before that step.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Under the lock, so that two processes that open the same file do not both make a step.
        version = check_version(connection, where=where, known=len(migrations))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for number, statements in enumerate(migrations[version:], version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
