"""Lines as the operator writes them at info level: JSON with the keys in KubeRay's order (research: kuberay 3.1)."""

import json
from datetime import UTC, datetime

from advisor.knowledge.logs import LOGGERS, RECONCILE_ID_FIELD
from advisor.twin.names import reconcile_id

__all__ = ["LogLines", "Stamps"]

_SPECS = {spec.controller: spec for spec in LOGGERS}


class Stamps:
    """Unix time of a run's virtual one.

    Args:
        start_ms: Unix milliseconds at which the run begins.
    """

    def __init__(self, start_ms: int) -> None:
        self._start_ms = start_ms
        self._second = -1
        self._text = ""

    def unix_seconds(self, now_ns: int) -> float:
        """Seconds since 1970, cut to the millisecond."""
        return (self._start_ms + now_ns // 1_000_000) / 1000.0

    def text(self, now_ns: int) -> str:
        """As the operator's logger writes it: ISO 8601 with milliseconds."""
        second, millisecond = divmod(self._start_ms + now_ns // 1_000_000, 1000)
        return f"{self._of_second(second)}.{millisecond:03}Z"

    def second_text(self, now_ns: int) -> str:
        """As Kubernetes writes it: whole seconds."""
        return f"{self._of_second((self._start_ms + now_ns // 1_000_000) // 1000)}Z"

    def _of_second(self, second: int) -> str:
        if second != self._second:
            self._second = second
            self._text = datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return self._text


class LogLines:
    """Writes lines, those of a reconcile with its key and id.

    Args:
        stamps: for times.
        is_kept: whether lines are written at all; half of a run's time goes into them.

    Attributes:
        lines: those written and not yet taken away, each without its end.
    """

    def __init__(self, stamps: Stamps, *, is_kept: bool = True) -> None:
        self.lines: list[str] = []
        self._is_kept = is_kept
        self._stamps = stamps
        self._reconciles = 0

    def owner(self, controller: str, key: str) -> str:
        """What each line of one new reconcile has behind its message."""
        self._reconciles += 1
        if not self._is_kept:
            return ""
        namespace, _, name = key.rpartition("/")
        shown = _json({"name": name, "namespace": namespace})
        field = _SPECS[controller].key_field
        return f'"{field}":{shown},"{RECONCILE_ID_FIELD}":"{reconcile_id(self._reconciles)}"'

    def of(
        self, now_ns: int, controller: str, owner: str, message: str, *, level: str = "info", **fields: object
    ) -> None:
        """A line of a reconcile; in names of fields a double underscore is a space, a single one stays."""
        if not self._is_kept:
            return
        logger = _SPECS[controller].logger
        self._write(now_ns, level, logger, message, f",{owner}" + _tail(fields))

    def plain(self, now_ns: int, logger: str, message: str, **fields: object) -> None:
        """A line of no reconcile; an empty logger is left out."""
        if self._is_kept:
            self._write(now_ns, "info", logger, message, _tail(fields))

    def workers_started(self, now_ns: int, controller: str, count: int) -> None:
        """What each controller writes once it leads."""
        logger = _SPECS[controller].logger
        self.plain(now_ns, logger, "Starting Controller")
        self.plain(now_ns, logger, "Starting workers", worker__count=count)

    def _write(self, now_ns: int, level: str, logger: str, message: str, tail: str) -> None:
        named = f'"logger":"{logger}",' if logger else ""
        stamp = self._stamps.text(now_ns)
        self.lines.append(f'{{"level":"{level}","ts":"{stamp}",{named}"msg":{_json(message)}{tail}}}')


def _tail(fields: dict[str, object]) -> str:
    return "".join(f",{_json(name.replace('__', ' '))}:{_json(value)}" for name, value in fields.items())


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
