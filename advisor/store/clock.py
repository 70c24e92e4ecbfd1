"""What time it is, for what is dropped because of its age."""

import sqlite3
from typing import Final

from advisor.store.retention import DAY, HOUR

__all__ = ["believed_time"]

_LEAP_SECONDS: Final = DAY
_BELIEVED_AFTER_SECONDS: Final = HOUR


def believed_time(connection: sqlite3.Connection, now: float) -> float:
    """The time to prune by, in a transaction of the caller.

    It is ``now``, unless that lies more than a day after the time of last. That is a program that did not run for long,
    or a clock that is wrong; what it says is believed once it has gone on for an hour.
    """
    row = connection.execute("SELECT believed, leapt FROM clock").fetchone()
    believed, leapt = row or (now, None)
    if now <= believed + _LEAP_SECONDS:
        believed, leapt = now, None
    elif leapt is None or not 0.0 <= now - leapt <= _LEAP_SECONDS:
        leapt = now
    elif now - leapt >= _BELIEVED_AFTER_SECONDS:
        believed, leapt = now, None
    connection.execute(
        "INSERT INTO clock (id, believed, leapt) VALUES (1, ?1, ?2) "
        "ON CONFLICT (id) DO UPDATE SET believed = ?1, leapt = ?2",
        (believed, leapt),
    )
    return float(believed)
