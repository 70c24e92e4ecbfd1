"""What a queue holds, as controller-runtime writes it every ten seconds at verbosity 5 (research: kuberay 3.3).

The one place where keys and priorities meet; at ten thousand keys one line is about a megabyte, so it is decoded apart
from all others and into what is needed.
"""

from dataclasses import dataclass
from datetime import datetime

import msgspec

from advisor.knowledge.logs import VERBOSE_LEVEL, VERBOSE_QUEUE_MESSAGE
from advisor.sources.logtime import LogClock

__all__ = ["VERBOSE_FRONT", "QueueContent", "QueueItem", "is_queue_content", "queue_content"]

VERBOSE_FRONT = f'{{"level":"Level({-VERBOSE_LEVEL})"'.encode()
"""With which such a line begins."""
_MARK = f'"msg":"{VERBOSE_QUEUE_MESSAGE}"'.encode()
_FRONT_BYTES = 200
"""Level, time and message stand at the front of a line."""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One pending key, `namespace/name`; `ready_at` is Unix seconds, None where it is ready."""

    key: str
    priority: int
    ready_at: float | None


@dataclass(frozen=True, slots=True)
class QueueContent:
    """All pending keys of one controller at one time (Unix seconds)."""

    time: float
    controller: str
    items: tuple[QueueItem, ...]


class _Key(msgspec.Struct):
    Namespace: str = ""
    Name: str = ""


class _Item(msgspec.Struct):
    key: _Key
    priority: int = 0
    readyAt: datetime | None = None  # noqa: N815 - the log's name


class _Line(msgspec.Struct):
    ts: str
    controller: str
    items: list[_Item]


_DECODER = msgspec.json.Decoder(_Line)


def is_queue_content(line: bytes) -> bool:
    """Whether a line is one of these."""
    return _MARK in line[:_FRONT_BYTES]


def queue_content(line: bytes) -> QueueContent | None:
    """What such a line holds; None where it cannot be read."""
    try:
        found = _DECODER.decode(line)
        time = LogClock().seconds(found.ts)
    except (msgspec.DecodeError, ValueError):
        return None
    items = (
        QueueItem(
            f"{one.key.Namespace}/{one.key.Name}",
            one.priority,
            None if one.readyAt is None else one.readyAt.timestamp(),
        )
        for one in found.items
    )
    return QueueContent(time, found.controller, tuple(items))
