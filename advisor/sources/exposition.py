"""One answer of a ``/metrics`` endpoint, streamed: the Prometheus text format and OpenMetrics, which differ little.

The bytes are anybody's: nothing here takes more than one pass over a line, and all that is kept is bounded.
"""

import math
import re
from typing import NamedTuple

from advisor.model.raw import Selection
from advisor.sources.openmetrics import SAMPLE, parse_series_key

__all__ = ["Exposition", "ExpositionParser", "Sample", "UnusableExpositionError"]

_LONGEST_LINE_BYTES = 1 << 18
_OVERLONG = b"\0"
_MOST_SAMPLES = 500_000
"""Of one answer; an operator with ten thousand clusters exposes a tenth of it."""
_MOST_TYPES = 20_000
_TYPE = re.compile(rb"#[ \t]+TYPE[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]+([a-z]+)\Z")
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\Z")
_END_MARKER = b"# EOF"

_Identity = tuple[str, tuple[tuple[str, str], ...]]


class UnusableExpositionError(Exception):
    """The answer cannot be used, and the message says why."""


class Sample(NamedTuple):
    """One sample of one answer; labels in order of name."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


class Exposition(NamedTuple):
    """What one answer holds of what is wanted; ``types`` are families' types as written."""

    samples: list[Sample]
    types: dict[str, str]
    malformed: int
    ended: bool
    """Whether the end marker of OpenMetrics was the last line."""


class ExpositionParser:
    """Takes one answer in pieces with :meth:`feed`; :meth:`finish` gives what it held.

    Samples that are not finite are left out, since a signal is made from none of them. Times in the text are ignored:
    the time of the scrape counts.

    Args:
        selection: what is wanted; None for everything.
        instance: value of the label ``instance``; a label of that name in the text becomes ``exported_instance``.
    """

    def __init__(self, selection: Selection | None, instance: str) -> None:
        self._wanted = None if selection is None else selection.names | selection.aggregated.keys()
        self._kept_labels = {} if selection is None else selection.aggregated
        self._instance = instance
        self._rest = b""
        self._values: dict[_Identity, float] = {}
        self._seen: set[bytes] = set()
        self._types: dict[str, str] = {}
        self._malformed = 0
        self._ended = False
        self._any = False

    def feed(self, data: bytes) -> None:
        """Take in the next piece.

        Raises:
            UnusableExpositionError: it holds more samples than any operator has.
        """
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE_BYTES:
            # With this in front, the line that is too long is malformed wherever it ends.
            self._rest = _OVERLONG
        for line in lines:
            self._line(line.strip(b" \t\r"))

    def finish(self) -> Exposition:
        """What was found.

        Raises:
            UnusableExpositionError: there is no sample at all, or the last line has no end.
        """
        if self._rest.strip():
            if self._rest.strip() != _END_MARKER:
                raise UnusableExpositionError("the answer is cut off within a line")
            self._line(_END_MARKER)
        if not self._any:
            raise UnusableExpositionError("the answer holds no sample in the Prometheus text format or OpenMetrics")
        samples = [Sample(name, labels, value) for (name, labels), value in self._values.items()]
        return Exposition(samples, self._types, self._malformed, self._ended)

    def _line(self, line: bytes) -> None:
        if not line:
            return
        if line.startswith(b"#"):
            self._comment(line)
            return
        self._ended = False
        name = line.partition(b"{")[0].partition(b" ")[0].decode("ascii", "replace")
        if self._any and self._wanted is not None and name not in self._wanted:
            return
        match = SAMPLE.match(line)
        if match is None or not _is_number(match["value"]):
            self._malformed += 1
            return
        self._any = True
        self._take(match["key"], match["name"].decode(), float(match["value"]))

    def _comment(self, line: bytes) -> None:
        if line == _END_MARKER:
            self._ended = True
            return
        match = _TYPE.match(line)
        if match is not None and len(self._types) < _MOST_TYPES:
            self._types[match[1].decode()] = match[2].decode()

    def _take(self, key: bytes, name: str, value: float) -> None:
        if not math.isfinite(value) or (self._wanted is not None and name not in self._wanted) or key in self._seen:
            return
        parsed = parse_series_key(key.decode("utf-8", "replace"))
        if parsed is None or "__name__" in parsed[1]:
            self._malformed += 1
            return
        if len(self._seen) >= _MOST_SAMPLES:
            raise UnusableExpositionError(f"the answer holds more than {_MOST_SAMPLES} samples")
        self._seen.add(key)
        labels = parsed[1]
        if "instance" in labels:
            labels["exported_instance"] = labels.pop("instance")
        labels["instance"] = self._instance
        kept = self._kept_labels.get(name)
        if kept is None:
            self._values.setdefault((name, tuple(sorted(labels.items()))), value)
            return
        shown = tuple(sorted((label, labels[label]) for label in kept if labels.get(label)))
        self._values[name, shown] = self._values.get((name, shown), 0.0) + value


def _is_number(text: bytes) -> bool:
    """Whether a value is one of the formats' numbers; Python takes more than they allow."""
    return _NUMBER.match(text) is not None or text.lower().lstrip(b"+-") in (b"inf", b"nan")
