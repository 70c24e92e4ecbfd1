"""Lines of the operator's log as records (research: kuberay 3).

A busy operator writes most lines many times a reconcile, and they matter only for their time, key and reconcile, which
stand in a fixed order at their front. So a line that begins like the one before gives that one's record again; other
fronts are taken apart by one pattern; only what is left, and what matters for its later fields, is decoded.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from advisor.knowledge.logs import (
    ERROR_MESSAGE,
    EXPECTATION_FIELD,
    GROUP_EXPECTATION_TEXT,
    HEAD_EXPECTATION_TEXT,
    LAST_MESSAGES,
    LEADER_LOST_TEXT,
    LEASE_ACQUIRED_MESSAGE,
    LEASE_RENEW_FAILED_TEXT,
    LOGGER_TO_CONTROLLER,
    POD_CREATED_MESSAGES,
    RECONCILE_ID_FIELD,
    REQUEUE_MESSAGE,
    REQUEUE_SECONDS_FIELD,
    SOURCE_STARTED_MESSAGE,
    THROTTLE_MESSAGES,
    VERBOSE_END_PREFIXES,
    VERBOSE_LEVEL,
    VERBOSE_REQUEUE_AFTER_PREFIX,
    VERBOSE_REQUEUE_MESSAGE,
    VERBOSE_START_MESSAGE,
    WORKERS_STARTED_COUNT_FIELD,
    WORKERS_STARTED_MESSAGE,
    is_conflict,
)
from advisor.model.raw import LogRecord, Subject
from advisor.sources.logtime import LogClock, seconds_of

__all__ = ["BACKOFF", "LogParser"]

BACKOFF = "requeue"
"""Detail of an end after which the key comes again with backoff."""

_FRONT = re.compile(
    rb'\{"level":"(?P<level>[^"\\]*)","ts":"(?P<ts>[^"\\]*)","logger":"(?P<logger>[^"\\]*)","msg":"(?P<msg>[^"\\]*)",'
    rb'(?P<owner>"\w+":\{[^{}]*\},"' + RECONCILE_ID_FIELD.encode() + rb'":"[^"\\]*")'
)
_KLOG = re.compile(r"[IWEF](\d{4}) (\d\d:\d\d:\d\d\.\d+) +\d+ [^\]\s]+\] (.*)", re.DOTALL)
"""A line in klog's own format, in which client-go wrote before KubeRay 1.3."""

_EXPECTATION = f'"{EXPECTATION_FIELD}":'.encode()
_EXPECTATION_LETTER = ord(EXPECTATION_FIELD[0])
"""As a number, which is looked for several times faster than a text of one byte."""
_EXPECTATION_GROUP_FIELD = "worker group"
_HEAD_GROUP = "head"
_VERBOSE = f"Level({-VERBOSE_LEVEL})".encode()
_POD_DELETED_MESSAGES = ("Randomly deleting Pod", "Deleted worker Pod for RayCluster")
_THROTTLES = tuple((each, re.compile(each.pattern)) for each in THROTTLE_MESSAGES)
_THROTTLE_PREFIXES = tuple(each.prefix for each in THROTTLE_MESSAGES)
_SURROGATES = re.compile("[\ud800-\udfff]")
_REMEMBERED, _REMEMBERED_HEADS = 4096, 16
"""Of owners and messages, and of what stands before the time; a log has few of them at a time."""


class _Owner(NamedTuple):
    """Whose reconcile a line belongs to."""

    controller: str = ""
    namespace: str = ""
    name: str = ""
    reconcile_id: str = ""


class _Meaning(NamedTuple):
    """What a line reports."""

    subject: Subject = Subject.LINE
    delay_seconds: float | None = None
    detail: str = ""
    exact: bool = False


_PLAIN = _Meaning()
_MEANINGS = {
    **dict.fromkeys(POD_CREATED_MESSAGES, _Meaning(Subject.POD_CREATED)),
    **dict.fromkeys(_POD_DELETED_MESSAGES, _Meaning(Subject.POD_DELETED)),
    **{text: _Meaning(Subject.LAST_LINE, seconds) for text, seconds in LAST_MESSAGES.items()},
    SOURCE_STARTED_MESSAGE: _Meaning(Subject.SOURCE_STARTED),
}
# Old releases write these in lower case with the lease's name behind.
_LEASE_MEANINGS = (
    (LEASE_ACQUIRED_MESSAGE.lower(), _Meaning(Subject.LEADER_ACQUIRED)),
    (LEASE_RENEW_FAILED_TEXT.lower(), _Meaning(Subject.LEADER_LOST)),
)


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON that keeps the first of duplicate keys: some lines repeat the key with another object."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        result.setdefault(key, value)
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_first_wins)


def _decoded(line: bytes) -> dict[str, Any]:
    """The object that a line, which begins with a brace, holds."""
    fields: dict[str, Any] = _DECODER.decode(line.decode("utf-8", "replace"))
    return fields


def _text(value: object) -> str:
    """The value where it is a text that can be written again, which half a surrogate pair cannot."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else ""


def _owner(logger: object, fields: dict[str, Any]) -> _Owner:
    spec = LOGGER_TO_CONTROLLER.get(_text(logger))
    if spec is None:
        return _Owner()
    key = fields.get(spec.key_field)
    named = key if isinstance(key, dict) else {}
    return _Owner(
        spec.controller,
        _text(named.get("namespace")),
        _text(named.get("name")),
        _text(fields.get(RECONCILE_ID_FIELD)),
    )


@lru_cache(_REMEMBERED)
def _front_owner(logger: bytes, members: bytes) -> _Owner:
    """The owner by the key and the reconcile as they stand at the front of a line."""
    return _owner(logger.decode("utf-8", "replace"), _decoded(b"{" + members + b"}"))


@lru_cache(_REMEMBERED)
def _meaning_by_message(level: bytes, message: bytes) -> _Meaning | None:
    """What a line reports by level and message alone; None where its later fields tell."""
    text = message.decode("utf-8", "replace")
    if level == _VERBOSE:
        return _verbose_meaning(text)
    if text in (ERROR_MESSAGE, REQUEUE_MESSAGE, WORKERS_STARTED_MESSAGE) or text.startswith(_THROTTLE_PREFIXES):
        return None
    lowered = text.lower()
    lease = (meaning for start, meaning in _LEASE_MEANINGS if lowered.startswith(start))
    return _MEANINGS.get(text) or next(lease, _PLAIN)


def _verbose_meaning(message: str) -> _Meaning:
    """The exact start and end of every reconcile."""
    if message == VERBOSE_START_MESSAGE:
        return _Meaning(Subject.START, exact=True)
    if message.startswith(VERBOSE_REQUEUE_AFTER_PREFIX):
        return _Meaning(Subject.END, seconds_of(message.removeprefix(VERBOSE_REQUEUE_AFTER_PREFIX)), exact=True)
    if message == VERBOSE_REQUEUE_MESSAGE:
        return _Meaning(Subject.END, detail=BACKOFF, exact=True)
    return _Meaning(Subject.END, exact=True) if message.startswith(VERBOSE_END_PREFIXES) else _PLAIN


def _meaning_by_fields(message: str, fields: dict[str, Any]) -> _Meaning:
    """What a line reports by its later fields."""
    error = _text(fields.get("error"))
    if message == ERROR_MESSAGE:
        return _Meaning(Subject.CONFLICT if is_conflict(error) else Subject.ERROR, detail=error)
    if message == REQUEUE_MESSAGE:
        return _Meaning(Subject.END, seconds_of(fields.get(REQUEUE_SECONDS_FIELD)))
    if message.startswith(_THROTTLE_PREFIXES):
        return _throttle(message, fields)
    if message == WORKERS_STARTED_MESSAGE:
        return _Meaning(Subject.WORKERS_STARTED, detail=str(fields.get(WORKERS_STARTED_COUNT_FIELD, "")))
    if error == LEADER_LOST_TEXT:
        return _Meaning(Subject.LEADER_LOST)
    return _expectation(_text(fields.get(EXPECTATION_FIELD)), fields)


def _has_expectation(line: bytes) -> bool:
    return _EXPECTATION in line


def _expectation(expectation: str, fields: dict[str, Any]) -> _Meaning:
    """A group, or the head, that is left as it is until earlier changes of it are seen."""
    if expectation.startswith(HEAD_EXPECTATION_TEXT):
        return _Meaning(Subject.EXPECTATION, detail=_HEAD_GROUP)
    if expectation.startswith(GROUP_EXPECTATION_TEXT):
        return _Meaning(Subject.EXPECTATION, detail=_text(fields.get(_EXPECTATION_GROUP_FIELD)))
    return _PLAIN


def _throttle(message: str, fields: dict[str, Any]) -> _Meaning:
    """A wait in the client's limiter, its parts in the text or in fields; without a delay the line says nothing."""
    for each, pattern in _THROTTLES:
        if not message.startswith(each.prefix):
            continue
        if each.fields:
            delay, verb, url = (fields.get(each.fields[index]) for index in (0, 2, 3))
        else:
            match = pattern.match(message)
            delay, verb, url = match.group("delay", "verb", "url") if match else (None, "", "")
        seconds = seconds_of(delay)
        if seconds is not None:
            return _Meaning(Subject.THROTTLED, seconds, f"{_text(verb)} {_text(url)}")
    return _PLAIN


class _Shape(NamedTuple):
    """How the lines of one reconcile look: the same bytes but for their time, their message and what is behind.

    ``meanings`` has by message, together with what stands between it and the time, what such a line reports.
    """

    head: bytes = b""
    head_bytes: int = 0
    stamp_end: int = 0
    message_at: int = 0
    after: bytes = b""
    owner: _Owner = _Owner()
    meanings: dict[bytes, _Meaning] = {}  # noqa: RUF012 - the shape of no line, which nothing is added to


class LogParser:
    """Turns lines into records. ``lines`` and ``unreadable`` count what went through.

    Args:
        repeats: whether each plain line gives a record. Without, of several of one reconcile in a row only the first
            and the last do, which is all that its span needs.
    """

    def __init__(self, *, repeats: bool = True) -> None:
        self.lines = 0
        self.unreadable = 0
        self._repeats = repeats
        self._clock = LogClock()
        self._shape = _Shape()
        self._meanings: dict[bytes, dict[bytes, _Meaning]] = {}
        self._repeated: tuple[bytes, tuple[LogRecord]] | None = None

    def records(self, lines: Iterable[bytes]) -> Iterator[LogRecord]:
        """Records of all lines that are JSON, or a client's plain text, and have a time.

        The others are counted as unreadable.
        """
        head, head_bytes, stamp_end, message_at, after, _, meanings = self._shape
        after_bytes, last = len(after), b""
        for line in lines:
            end = line.find(b'"', message_at)
            meaning = meanings.get(line[stamp_end:end]) if line[end : end + after_bytes] == after else None
            if line[:head_bytes] != head or (_EXPECTATION_LETTER in line and _has_expectation(line)):
                meaning = None
            if not line:
                continue
            self.lines += 1
            if meaning is _PLAIN and not self._repeats:
                last = line
                continue
            if last:
                yield from self._known(last, _PLAIN)
                last = b""
            if meaning is not None:
                yield from self._known(line, meaning)
                continue
            yield from self._unknown(line)
            head, head_bytes, stamp_end, message_at, after, _, meanings = self._shape
            after_bytes = len(after)
        if last:
            yield from self._known(last, _PLAIN)

    def _known(self, line: bytes, meaning: _Meaning) -> tuple[LogRecord, ...]:
        """The record of a line of the known shape, where it has one."""
        try:
            return self._shaped(line, meaning)
        except (ValueError, OverflowError):
            # Its time is not written in the usual way.
            return self._unknown(line)

    def _shaped(self, line: bytes, meaning: _Meaning) -> tuple[LogRecord]:
        """The record of a line of the known shape, the same one for plain lines of one time in a row.

        Raises:
            ValueError: its time cannot be read.
        """
        shape = self._shape
        stamp = line[shape.head_bytes : shape.stamp_end]
        is_plain = meaning is _PLAIN
        if is_plain and self._repeated is not None and stamp == self._repeated[0]:
            return self._repeated[1]
        record = (_as_record(self._clock.seconds(stamp.decode("utf-8", "replace")), shape.owner, meaning),)
        if is_plain:
            self._repeated = stamp, record
        return record

    def _unknown(self, line: bytes) -> tuple[LogRecord, ...]:
        """The record of any line, where it has one."""
        try:
            record = self._record(line)
        except (ValueError, OverflowError, RecursionError):
            self.unreadable += 1
            return ()
        return () if record is None else (record,)

    def _record(self, line: bytes) -> LogRecord | None:
        match = _FRONT.match(line)
        if match is None:
            return self._other(line) if line.lstrip().startswith(b"{") else self._text_line(line)
        level, stamp, logger, message, members = match.groups()
        owner = _front_owner(logger, members)
        if not owner.name:
            return self._other(line)
        meaning = _meaning_by_message(level, message)
        if meaning is None or (_EXPECTATION_LETTER in line and _has_expectation(line)):
            meaning = _meaning_by_fields(message.decode("utf-8", "replace"), _decoded(line))
        elif level != _VERBOSE:
            self._remember(match, owner, meaning)
            (record,) = self._shaped(line, meaning)
            return record
        return _as_record(self._clock.seconds(stamp.decode("utf-8", "replace")), owner, meaning)

    def _remember(self, match: re.Match[bytes], owner: _Owner, meaning: _Meaning) -> None:
        """Let later lines that differ in their time, or in a message that was seen too, be known for what they are."""
        stamp_at, stamp_end = match.span("ts")
        message_at, message_end = match.span("msg")
        line = match.string
        head = line[:stamp_at]
        # The level stands in the head, and says what a message means.
        meanings = self._meanings.setdefault(head, {})
        if len(self._meanings) > _REMEMBERED_HEADS or len(meanings) > _REMEMBERED:
            self._meanings.clear()
            meanings = {}
        meanings[line[stamp_end:message_end]] = meaning
        self._shape = _Shape(head, stamp_at, stamp_end, message_at, line[message_end : match.end()], owner, meanings)
        self._repeated = None

    def _other(self, line: bytes) -> LogRecord | None:
        """A line without a key at its usual place: leader election, old throttling lines, escapes in the text."""
        fields = _decoded(line)
        message, level = fields.get("msg"), _text(fields.get("level"))
        if not isinstance(message, str):
            raise ValueError(line)  # noqa: TRY004 - the line is at fault, not the caller
        meaning = _meaning_by_message(level.encode(), _text(message).encode())
        if meaning is None or meaning is _PLAIN:
            meaning = _meaning_by_fields(message, fields)
        owner = _owner(fields.get("logger"), fields)
        time = self._clock.seconds(fields.get("ts"))
        return _as_record(time, owner, meaning) if owner.name or meaning is not _PLAIN else None

    def _text_line(self, line: bytes) -> LogRecord:
        """A line that is not JSON, of which only klog's can tell something.

        Raises:
            ValueError: it tells nothing.
        """
        text = line.decode("utf-8", "replace")
        match = _KLOG.match(text)
        if match is None:
            # In development mode lines begin with the time, which gives later lines of klog their year.
            self._clock.seconds(text.partition("\t")[0])
            raise ValueError(text)
        day, time, message = match.groups()
        meaning = _meaning_by_message(b"", message.encode())
        if meaning is None:
            meaning = _meaning_by_fields(message, {})
        if meaning is _PLAIN:
            raise ValueError(text)
        return _as_record(self._clock.seconds_without_year(day, time), _Owner(), meaning)


def _as_record(time: float, owner: _Owner, meaning: _Meaning) -> LogRecord:
    return LogRecord(
        time=time,
        subject=meaning.subject,
        controller=owner.controller,
        namespace=owner.namespace,
        name=owner.name,
        reconcile_id=owner.reconcile_id,
        delay_seconds=meaning.delay_seconds,
        detail=meaning.detail,
        exact=meaning.exact,
    )
