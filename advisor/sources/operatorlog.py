"""Lines of the operator's JSON log as records (research: kuberay 3).

Most lines of a busy operator matter only for their time, key and reconcile, which stand in a fixed order at their
front; those are taken by one pattern. The rest is decoded, keeping the first of duplicate keys, since some lines
repeat the key field with another object.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from advisor.knowledge.logs import CONFLICT_TEXT, LOGGER_TO_CONTROLLER
from advisor.model.raw import LogRecord, Subject

__all__ = ["LogParser"]

_FRONT = re.compile(
    rb'\{"level":"(?P<level>[^"]*)","ts":"(?P<ts>[^"]*)","logger":"(?P<logger>[^"]*)","msg":"(?P<msg>[^"\\]*)",'
    rb'"(?P<field>\w+)":\{"name":"(?P<name>[^"\\]*)","namespace":"(?P<namespace>[^"\\]*)"\},'
    rb'"reconcileID":"(?P<id>[^"\\]*)"'
)
_OLD_THROTTLE = re.compile(r"Waited for ([0-9.]+)(ms|s|m)\S* due to client-side throttling.*request: (\w+:\S+)")
_OLD_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}

_PLAIN_SUBJECTS = {
    b"Created worker Pod for RayCluster": Subject.POD_CREATED,
    b"Created head Pod for RayCluster": Subject.POD_CREATED,
    b"Randomly deleting Pod": Subject.POD_DELETED,
    b"Deleted worker Pod for RayCluster": Subject.POD_DELETED,
    b"Unconditional requeue after": Subject.END,
}
_LEADER_SUBJECTS = {
    "Successfully acquired lease": Subject.LEADER_ACQUIRED,
    "successfully acquired lease": Subject.LEADER_ACQUIRED,
    "Failed to renew lease": Subject.LEADER_LOST,
    "failed to renew lease": Subject.LEADER_LOST,
}
_DECODED_MESSAGES = (b"Reconciler error", b"Waited", b"Unconditional requeue after")
_VERBOSE_LEVEL = b"Level(-5)"
_VERBOSE_ENDS = (b"Reconcile done", b"Reconcile successful")


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON that keeps the first of duplicate keys."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        result.setdefault(key, value)
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_first_wins)


class LogParser:
    """Turns lines into records. ``lines`` and ``unreadable`` count what went through."""

    def __init__(self) -> None:
        self.lines = 0
        self.unreadable = 0
        self._second_text = ""
        self._second = 0.0

    def records(self, lines: Iterable[bytes]) -> Iterator[LogRecord]:
        """Records of all lines that are JSON and have a time; the others are counted as unreadable."""
        for line in lines:
            if not line:
                continue
            self.lines += 1
            try:
                record = self._record(line)
            except (ValueError, TypeError, KeyError, AttributeError):
                self.unreadable += 1
                continue
            if record is not None:
                yield record

    def _record(self, line: bytes) -> LogRecord | None:
        match = _FRONT.match(line)
        if match is None:
            return self._other(line)
        controller = LOGGER_TO_CONTROLLER.get(match["logger"].decode())
        if controller is None or controller.key_field != match["field"].decode():
            return self._other(line)
        message = match["msg"]
        subject = _PLAIN_SUBJECTS.get(message, Subject.LINE)
        delay: float | None = None
        detail = ""
        exact = False
        if match["level"] == _VERBOSE_LEVEL:
            subject, exact = _verbose_subject(message)
        elif message.startswith(_DECODED_MESSAGES):
            subject, delay, detail = _decoded(_DECODER.decode(line.decode("utf-8", "replace")), subject)
        elif message == b"reconcilePods" and b'"Expectation":' in line:
            subject = Subject.EXPECTATION
            detail = str(_DECODER.decode(line.decode("utf-8", "replace")).get("worker group", "head"))
        return LogRecord(
            time=self._time(match["ts"].decode()),
            subject=subject,
            controller=controller.controller,
            namespace=match["namespace"].decode("utf-8", "replace"),
            name=match["name"].decode("utf-8", "replace"),
            reconcile_id=match["id"].decode(),
            delay_seconds=delay,
            detail=detail,
            exact=exact,
        )

    def _other(self, line: bytes) -> LogRecord | None:
        """A line without a key at its usual place: leader election, plain throttling lines, escapes in the text."""
        fields = _DECODER.decode(line.decode("utf-8", "replace"))
        message = fields["msg"]
        subject: Subject | None = _LEADER_SUBJECTS.get(message)
        delay: float | None = None
        detail = ""
        if fields.get("error") == "leader election lost":
            subject = Subject.LEADER_LOST
        elif message.startswith("Waited") or message == "Reconciler error":
            subject, delay, detail = _decoded(fields, Subject.LINE)
        controller = LOGGER_TO_CONTROLLER.get(fields.get("logger", ""))
        key = fields.get(controller.key_field) if controller is not None else None
        named = key if isinstance(key, dict) else {}
        if subject is None and not named:
            return None
        return LogRecord(
            time=self._time(fields["ts"]),
            subject=subject or Subject.LINE,
            controller=controller.controller if controller is not None else "",
            namespace=named.get("namespace", ""),
            name=named.get("name", ""),
            reconcile_id=fields.get("reconcileID", ""),
            delay_seconds=delay,
            detail=detail,
        )

    def _time(self, text: str) -> float:
        """Unix seconds of an ISO 8601 time with milliseconds; the whole second is remembered from line to line."""
        if text[:19] != self._second_text[:19] or text[23:] != self._second_text[23:]:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            self._second = moment.replace(microsecond=0).timestamp()
            self._second_text = text
        return self._second + float("0" + text[19:23])


def _verbose_subject(message: bytes) -> tuple[Subject, bool]:
    if message == b"Reconciling":
        return Subject.START, True
    if message.startswith(_VERBOSE_ENDS):
        return Subject.END, True
    return Subject.LINE, False


def _decoded(fields: dict[str, Any], subject: Subject) -> tuple[Subject, float | None, str]:
    """Subject, delay in seconds and detail of a line whose later fields matter."""
    message = str(fields["msg"])
    if message == "Reconciler error":
        error = str(fields.get("error", ""))
        return (Subject.CONFLICT if CONFLICT_TEXT in error else Subject.ERROR), None, error
    if message == "Unconditional requeue after":
        seconds = fields.get("seconds")
        return Subject.END, float(seconds) if seconds is not None else None, ""
    if message == "Waited before sending request" and "delay" in fields:
        return Subject.THROTTLED, float(fields["delay"]), f"{fields.get('verb', '')} {fields.get('URL', '')}"
    old = _OLD_THROTTLE.match(message)
    if old is not None:
        return Subject.THROTTLED, float(old[1]) * _OLD_UNIT_SECONDS[old[2]], old[3].replace(":", " ", 1)
    return subject, None, ""
