"""Reports, failures and changes in the database. Each function is given a connection and knows no transaction."""

import math
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from advisor.model.advice import Direction
from advisor.model.fleet import FleetFailure, FleetVerdict
from advisor.store import documents
from advisor.store.errors import StoreReadError
from advisor.store.records import ChangeRow, FailureRow, OperatorStatus, ReportRow
from advisor.store.retention import HOUR, REPORTS_AN_HOUR, Retention

__all__ = [
    "Between",
    "add_changes",
    "add_report",
    "changes",
    "document",
    "last_measured",
    "prune",
    "queue_waits",
    "report_times",
    "reports",
    "row",
    "statuses",
]

_BASE_SECONDS: Final = 86_400.0
"""A document is compressed against one of the same day, so that no base stays much longer than its own report."""
_WORTH: Final = 0.7
"""Of its size alone; a document that is hardly smaller against its base becomes the next base."""

_Any = TypeVar("_Any")

_VERDICT: Final = msgspec.json.Decoder(FleetVerdict)
_FAILURE: Final = msgspec.json.Decoder(FleetFailure)


class _Wait(msgspec.Struct):
    """The one figure of a verdict that a trend is drawn from: reading it alone takes a third of the time."""

    queue_wait_seconds: float | None = None


_WAIT: Final = msgspec.json.Decoder(_Wait)


_STATUS: Final = """
    SELECT operators.name, reports.id, reports.time, reports.verdict, failures.time, failures.failure
    FROM operators
    LEFT JOIN reports ON reports.id =
        (SELECT id FROM reports WHERE operator_id = operators.id ORDER BY id DESC LIMIT 1)
    LEFT JOIN failures ON failures.id =
        (SELECT id FROM failures WHERE operator_id = operators.id ORDER BY id DESC LIMIT 1)
        AND failures.after_report >= coalesce(reports.id, 0)
"""


class Between(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows: times from ``since`` to ``until`` with both ends, ids below ``before_id``, at most ``limit``."""

    since: float | None = None
    until: float | None = None
    before_id: int | None = None
    limit: int = 100

    def sql(self) -> tuple[str, list[float | int]]:
        """Conditions behind a WHERE with at least one, the order with the newest first, and their parameters."""
        conditions = (("time >= ?", self.since), ("time <= ?", self.until), ("id < ?", self.before_id))
        given = [(condition, value) for condition, value in conditions if value is not None]
        text = "".join(f" AND {condition}" for condition, _ in given) + " ORDER BY id DESC LIMIT ?"
        return text, [*(value for _, value in given), max(0, self.limit)]


def add_report(
    connection: sqlite3.Connection, operator_id: int, time: float, verdict: FleetVerdict, text: bytes
) -> int:
    """Add a report and its document; its id."""
    last = connection.execute(
        "SELECT id, time, verdict FROM reports WHERE operator_id = ? ORDER BY id DESC LIMIT 1", (operator_id,)
    ).fetchone()
    changed = last is None or _advice(_verdict(last[2])) != _advice(verdict)
    cursor = connection.execute(
        "INSERT INTO reports (operator_id, time, changed, verdict) VALUES (?, ?, ?, ?)",
        (operator_id, time, changed, msgspec.json.encode(verdict)),
    )
    base, data = _packed(connection, None if last is None else last[0], time, text)
    report_id = cursor.lastrowid
    connection.execute("INSERT INTO documents (report_id, base, data) VALUES (?, ?, ?)", (report_id, base, data))
    return int(report_id or 0)


def document(connection: sqlite3.Connection, report_id: int) -> bytes | None:
    """The document of a report, None where there is no such report.

    Raises:
        StoreReadError: it is damaged.
    """
    found = connection.execute(
        "SELECT base, data FROM documents WHERE report_id = ? AND EXISTS (SELECT 1 FROM reports WHERE id = report_id)",
        (report_id,),
    ).fetchone()
    if found is None:
        return None
    base, data = found
    try:
        if base is None:
            return documents.unpack(data)
        (below,) = connection.execute("SELECT data FROM documents WHERE report_id = ?", (base,)).fetchone()
        return documents.unpack_against(documents.unpack(below), data)
    except (TypeError, ValueError, zlib.error) as error:
        raise StoreReadError(f"the document of report {report_id} is damaged") from error


def reports(connection: sqlite3.Connection, operator: str, between: Between) -> list[ReportRow]:
    """Reports of an operator, the newest first."""
    conditions, parameters = between.sql()
    operator_id = "(SELECT id FROM operators WHERE name = ?)"
    found = connection.execute(
        f"SELECT id, time, verdict FROM reports WHERE operator_id = {operator_id}{conditions}",  # noqa: S608 - constants
        (operator, *parameters),
    ).fetchall()
    return [ReportRow(one, operator, time, _verdict(verdict)) for one, time, verdict in found]


def report_times(connection: sqlite3.Connection, operator: str) -> list[tuple[int, float]]:
    """Id and time of each report of an operator, the newest first."""
    whose = "(SELECT id FROM operators WHERE name = ?)"
    return connection.execute(
        f"SELECT id, time FROM reports WHERE operator_id = {whose} ORDER BY id DESC",  # noqa: S608 - constants
        (operator,),
    ).fetchall()


def row(connection: sqlite3.Connection, report_id: int) -> ReportRow | None:
    """The report of an id, None where there is none, or no longer."""
    found = connection.execute(
        "SELECT name, time, verdict FROM reports JOIN operators ON operators.id = operator_id WHERE reports.id = ?",
        (report_id,),
    ).fetchone()
    if found is None:
        return None
    operator, time, verdict = found
    return ReportRow(report_id, operator, time, _verdict(verdict))


def statuses(connection: sqlite3.Connection, operator: str | None = None) -> list[OperatorStatus]:
    """How each operator stands, by name; or only one of them."""
    found = (
        connection.execute(f"{_STATUS} ORDER BY operators.name")
        if operator is None
        else connection.execute(f"{_STATUS} WHERE operators.name = ?", (operator,))
    ).fetchall()
    return [
        OperatorStatus(
            name,
            None if report_id is None else ReportRow(report_id, name, time, _verdict(verdict)),
            None if failure is None else FailureRow(name, failed, _FAILURE.decode(failure)),
        )
        for name, report_id, time, verdict, failed, failure in found
    ]


def queue_waits(connection: sqlite3.Connection, operators: Sequence[str], limit: int) -> dict[str, list[float | None]]:
    """The mean queue waits of the last reports of some operators, the oldest first; None where a report has none."""
    found = connection.execute(
        "SELECT operators.name, reports.verdict FROM operators "  # noqa: S608 - only question marks
        "JOIN reports ON reports.id IN "
        "(SELECT id FROM reports WHERE operator_id = operators.id ORDER BY id DESC LIMIT ?) "
        f"WHERE operators.name IN ({', '.join('?' * len(operators))}) ORDER BY reports.id",
        (limit, *operators),
    )
    waits: dict[str, list[float | None]] = {name: [] for name in operators}
    for name, verdict in found:
        waits[name].append(_decoded(_WAIT, verdict).queue_wait_seconds)
    return waits


def add_changes(
    connection: sqlite3.Connection,
    operator_id: int,
    time: float,
    moves: Sequence[tuple[str, float | None, float | None]],
    predicted: bytes | None,
) -> int:
    """Add changes that were seen together, the packed prediction with the first; that one's id."""
    ids: list[int] = []
    for setting, before, after in moves:
        cursor = connection.execute(
            "INSERT INTO changes (operator_id, time, setting, before, after, predicted) VALUES (?, ?, ?, ?, ?, ?)",
            (operator_id, time, setting, before, after, None if ids else predicted),
        )
        ids.append(int(cursor.lastrowid or 0))
    return ids[0]


def last_measured(connection: sqlite3.Connection) -> list[tuple[str, bytes]]:
    """Of each operator its name and the measurement after its last change that has one; a damaged one is left out."""
    found = connection.execute(
        "SELECT name, measured FROM changes JOIN operators ON operators.id = operator_id WHERE changes.id IN "
        "(SELECT max(id) FROM changes WHERE measured IS NOT NULL GROUP BY operator_id) ORDER BY name"
    ).fetchall()
    whole = []
    for name, measured in found:
        with suppress(zlib.error):
            whole.append((name, documents.unpack(measured)))
    return whole


def changes(connection: sqlite3.Connection, operator: str | None, between: Between) -> list[ChangeRow]:
    """Changes of an operator, or of all, the newest first."""
    conditions, parameters = between.sql()
    names = "(SELECT name FROM operators WHERE id = operator_id)"
    whose = "(?1 IS NULL OR operator_id = (SELECT id FROM operators WHERE name = ?1))"
    found = connection.execute(
        f"SELECT id, {names}, time, setting, before, after, predicted, measured FROM changes "  # noqa: S608 - constants
        f"WHERE {whose}{conditions}",
        (operator, *parameters),
    ).fetchall()
    return [
        ChangeRow(one, name, time, setting, before, after, _unpacked(predicted), _unpacked(measured))
        for one, name, time, setting, before, after, predicted, measured in found
    ]


def prune(connection: sqlite3.Connection, now: float, retention: Retention) -> None:
    """Thin and drop reports, failures and changes by their age, and operators of which nothing is left."""
    (thinned,) = connection.execute("SELECT coalesce(thinned, 0) FROM clock").fetchone()
    border = math.floor((now - retention.each_report_seconds) / HOUR) * HOUR
    if border > thinned:
        _thin_reports(connection, thinned, border)
        connection.execute("UPDATE clock SET thinned = ?", (border,))
    _drop(connection, "SELECT id FROM reports WHERE time < ?", (now - retention.reports_seconds,))
    _drop_documents(connection)
    connection.execute("DELETE FROM failures WHERE time < ?", (now - retention.failures_seconds,))
    connection.execute("DELETE FROM changes WHERE time < ?", (now - retention.changes_seconds,))
    connection.execute("DELETE FROM bases WHERE operator_id NOT IN (SELECT operator_id FROM reports)")
    empty = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} WHERE operator_id = operators.id)"  # noqa: S608 - constants
        for table in ("reports", "failures", "changes", "samples")
    )
    connection.execute(f"DELETE FROM operators WHERE {empty}")  # noqa: S608 - constants
    connection.execute("DELETE FROM told WHERE operator_id NOT IN (SELECT id FROM operators)")


def _thin_reports(connection: sqlite3.Connection, since: float, until: float) -> None:
    """Of each whole hour between two times keep the last report of each operator, and those where advice changed."""
    _drop(
        connection,
        """
        SELECT id FROM (
            SELECT id, changed,
                row_number() OVER (PARTITION BY operator_id, CAST(time / ?1 AS INTEGER) ORDER BY id DESC) AS place,
                row_number() OVER (PARTITION BY operator_id, CAST(time / ?1 AS INTEGER) ORDER BY changed DESC, id DESC)
                    AS place_of_changed
            FROM reports WHERE time >= ?2 AND time < ?3
        ) WHERE place > 1 AND NOT (changed AND place_of_changed <= ?4)
        """,
        (HOUR, since, until, REPORTS_AN_HOUR),
    )


def _drop_documents(connection: sqlite3.Connection) -> None:
    """Drop documents of dropped reports, but for those that others are compressed against."""
    unused = "SELECT report_id FROM dropped WHERE NOT EXISTS (SELECT 1 FROM documents WHERE base = dropped.report_id)"
    connection.execute(f"DELETE FROM documents WHERE report_id IN ({unused})")  # noqa: S608 - no input in it
    connection.execute(
        "DELETE FROM dropped WHERE NOT EXISTS (SELECT 1 FROM documents WHERE report_id = dropped.report_id)"
    )


def _drop(connection: sqlite3.Connection, ids: str, parameters: Sequence[float]) -> None:
    found = connection.execute(ids, parameters).fetchall()
    connection.executemany("DELETE FROM reports WHERE id = ?", found)
    connection.executemany("INSERT OR IGNORE INTO dropped (report_id) VALUES (?)", found)


def _packed(connection: sqlite3.Connection, last: int | None, time: float, text: bytes) -> tuple[int | None, bytes]:
    """The document compressed, and the report that it is compressed against, if any."""
    alone = documents.pack(text)
    found = connection.execute(
        "SELECT base.report_id, base.data, reports.time FROM documents AS last "
        "JOIN documents AS base ON base.report_id = coalesce(last.base, last.report_id) "
        "JOIN reports ON reports.id = base.report_id WHERE last.report_id = ?",
        (last,),
    ).fetchone()
    if found is None or abs(time - found[2]) >= _BASE_SECONDS:
        return None, alone
    try:
        against = documents.pack_against(documents.unpack(found[1]), text)
    except zlib.error:
        # A base that is damaged must not take new reports with it.
        return None, alone
    return (found[0], against) if len(against) < _WORTH * len(alone) else (None, alone)


def _verdict(data: bytes) -> FleetVerdict:
    return _decoded(_VERDICT, data)


def _decoded(decoder: "msgspec.json.Decoder[_Any]", data: bytes) -> _Any:
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise StoreReadError("a verdict is damaged, or of another version") from error


def _advice(verdict: FleetVerdict) -> tuple[str, tuple[tuple[Direction, float | None], ...]]:
    """What a report must say anew to be kept."""
    knobs = (verdict.concurrency, verdict.qps, verdict.burst)
    return verdict.finding, tuple((knob.direction, knob.value) for knob in knobs)


def _unpacked(data: bytes | None) -> bytes | None:
    try:
        return None if data is None else documents.unpack(data)
    except zlib.error as error:
        raise StoreReadError("what is kept of a change is damaged") from error
