"""A streaming reader of OpenMetrics text with a timestamp on each sample (formats, section 3).

It keeps what the signals need and nothing else, one pair of arrays a series, and loses nothing of a damaged file that
could still be read. Of the older text format it takes timestamps in milliseconds and any number of blanks.
"""

import math
import re
from collections.abc import Callable, Iterable
from itertools import islice
from operator import lt
from pathlib import Path

from advisor.errors import InputFormatError
from advisor.model.raw import ReadNote, Selection, Series, SeriesStore
from advisor.sources.textstream import LineReader

__all__ = ["SAMPLE", "parse_series_key", "read_openmetrics"]

_KEY = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\Z", re.DOTALL)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*+)"\s*(?:,\s*|\Z)', re.DOTALL)
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r'\\[n"\\]')
SAMPLE = re.compile(
    rb"(?P<key>(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*+)"
    rb'(?:\s*+\{(?:[^"}]++|"(?:[^"\\]++|\\.)*+")*+\})?)'
    rb"(?:(?<=\})\s*+|\s++)(?P<value>[^\s#]++)(?:\s++(?P<time>[^\s#]++))?(?P<exemplar>\s++#.*)?\Z",
    re.DOTALL,
)
"""A sample with all that may follow it. Possessive, so that no line takes more than one pass."""
_END_MARKER = b"# EOF"
_KEPT = "; everything before was kept"
_REMEMBERED_TIMES = 1 << 15
MOST_SERIES = 200_000
"""Series that are kept at most: twenty times what ten thousand objects and every code of every client make."""
_MILLISECONDS_FROM = 1e11
"""Timestamps above this are milliseconds (the older Prometheus text format); as seconds it is the year 5138."""

_Identity = tuple[str, tuple[tuple[str, str], ...]]
_Take = Callable[[float, float], None]
"""Takes time in seconds and value of one sample."""


def parse_series_key(key: str) -> tuple[str, dict[str, str]] | None:
    """Name and labels of ``name{label="value",...}``, or None where it is malformed."""
    match = _KEY.match(key)
    if match is None:
        return None
    name, text = match.group(1), (match.group(2) or "").strip()
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        label = _LABEL.match(text, position)
        if label is None or label.group(1) in labels:
            return None
        labels[label.group(1)] = _ESCAPE.sub(lambda found: _ESCAPES[found.group()], label.group(2))
        position = label.end()
    return name, labels


class _Times(dict[bytes, float]):
    """Seconds by the text of a timestamp, since all series of a scrape share it.

    Raises:
        ValueError: the text is no finite number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.in_milliseconds = False

    def __missing__(self, text: bytes) -> float:
        time = float(text)
        if not math.isfinite(time):
            raise ValueError(text)
        if time >= _MILLISECONDS_FROM:
            self.in_milliseconds = True
            time /= 1000.0
        if len(self) >= _REMEMBERED_TIMES:
            self.clear()
        self[text] = time
        return time


def _appender(series: Series) -> _Take:
    """What takes the samples of a series that is kept as it is."""
    append_time, append_value = series.times.append, series.values.append

    def append(time: float, value: float) -> None:
        append_time(time)
        append_value(value)

    return append


class _Sum:
    """Values of one name by time, summed over all series that agree in the labels to keep."""

    def __init__(self) -> None:
        self.values: dict[float, float] = {}
        self._places: dict[float, int] = {}

    def addend(self) -> _Take:
        """What takes the samples of one of the series; of several of one time the first counts.

        A byte a sample tells which were given, so that a repeated part of a file does not count twice.
        """
        values, places, given = self.values, self._places, bytearray()

        def add(time: float, value: float) -> None:
            place = places.setdefault(time, len(places))
            if place >= len(given):
                given.extend(bytes(place + 1 - len(given)))
            if not given[place]:
                given[place] = 1
                values[time] = values.get(time, 0.0) + value

        return add

    def series(self, name: str, labels: dict[str, str]) -> Series:
        """The sum as a series in order of time."""
        total = Series(name, labels)
        for time in sorted(self.values):
            total.times.append(time)
            total.values.append(self.values[time])
        return total


class _Skipped:
    """Lines that were skipped for one reason."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def add(self, number: int) -> None:
        """Count one, given its line number."""
        self.count += 1
        self.first = self.first or number


class _Collector:
    """Sorts the samples of one file into series."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._series: dict[_Identity, Series] = {}
        self._sums: dict[_Identity, _Sum] = {}
        self._takes: dict[bytes, _Take] = {}
        self._unneeded: set[bytes] = set()
        self._lines_beside = 0
        self._data_lines = 0
        self._data_lines_at_end = -1
        self.times = _Times()
        self.malformed = _Skipped()
        self.untimed = _Skipped()
        self.surplus = _Skipped()

    @property
    def samples(self) -> int:
        """Samples with a timestamp, of whatever series."""
        return self._data_lines - self.malformed.count - self.untimed.count

    @property
    def ended(self) -> bool:
        """Whether the end marker stood behind all samples."""
        return self._data_lines == self._data_lines_at_end

    def collect(self, lines: Iterable[bytes]) -> None:
        """Take in all lines; those of series met before, and those that nobody needs, go the short way."""
        takes, times, unneeded, finite = self._takes, self.times, self._unneeded, math.isfinite
        number = 0
        for number, line in enumerate(lines, 1):
            try:
                key, value_text, time_text = line.rsplit(None, 2)
                take = takes.get(key)
                if take is not None:
                    value, time = float(value_text), times[time_text]
                    if finite(value):
                        take(time, value)
                elif key.partition(b"{")[0] not in unneeded:
                    self._other(line, number)
            except ValueError:
                self._other(line, number)
        self._data_lines = number - self._lines_beside

    def _other(self, line: bytes, number: int) -> None:
        """A line that is no sample, is the first of its series, has an exemplar, or is malformed."""
        line = line.strip()
        if not line or line.startswith(b"#"):
            self._lines_beside += 1
            if line == _END_MARKER:
                self._data_lines_at_end = number - self._lines_beside
            return
        try:
            self._sample(line, number)
        except ValueError:
            self.malformed.add(number)

    def _sample(self, line: bytes, number: int) -> None:
        """One sample, looked at in full.

        Raises:
            ValueError: it is malformed.
        """
        match = SAMPLE.match(line)
        if match is None:
            raise ValueError(line)
        key, name, value = match["key"], match["name"].decode(), float(match["value"])
        if match["time"] is None:
            self.untimed.add(number)
            return
        time = self.times[match["time"]]
        if name not in self._selection.names and name not in self._selection.aggregated:
            self._unneeded.add(match["name"])
            return
        if key not in self._takes:
            if len(self._takes) >= MOST_SERIES:
                self.surplus.add(number)
                return
            self._takes[key] = self._open(key.decode("utf-8", "replace"))
        if math.isfinite(value):
            self._takes[key](time, value)

    def _open(self, key: str) -> _Take:
        """What takes the samples of a series.

        Raises:
            ValueError: the labels are malformed.
        """
        parsed = parse_series_key(key)
        if parsed is None:
            raise ValueError(key)
        name, labels = parsed
        kept = self._selection.aggregated.get(name)
        if kept is not None:
            identity = (name, tuple((label, labels.get(label, "")) for label in kept))
            return self._sums.setdefault(identity, _Sum()).addend()
        identity = (name, tuple(sorted(labels.items())))
        return _appender(self._series.setdefault(identity, Series(name, labels)))

    def store(self, origin: str) -> SeriesStore:
        """All series, each in ascending order of time."""
        plain = [_in_order(series) for series in self._series.values()]
        sums = [one.series(name, dict(labels)) for (name, labels), one in self._sums.items()]
        return SeriesStore((series for series in (*plain, *sums) if len(series)), origin=origin)


def _in_order(series: Series) -> Series:
    """The series sorted by time, the last of several samples of one time kept."""
    times = series.times
    if all(map(lt, times, islice(times, 1, None))):
        return series
    ordered = Series(series.name, series.labels)
    for time, value in sorted(dict(zip(times, series.values, strict=True)).items()):
        ordered.times.append(time)
        ordered.values.append(value)
    return ordered


def read_openmetrics(path: Path, selection: Selection) -> tuple[SeriesStore, tuple[ReadNote, ...]]:
    """The selected series of one ``.om`` or ``.om.gz`` file, and what was skipped.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: the file holds no sample with a timestamp.
    """
    reader = LineReader(path)
    collector = _Collector(selection)
    collector.collect(reader.whole_lines())
    messages = _messages(reader, collector)
    if not collector.samples:
        raise InputFormatError(
            "; ".join(("holds no sample with a timestamp", *(message.removesuffix(_KEPT) for message in messages))),
            where=path.name,
            hint="expected OpenMetrics text with a Unix timestamp on each sample, as in a recording's metrics.om.gz",
        )
    return collector.store(path.name), tuple(ReadNote(where=path.name, message=message) for message in messages)


def _messages(reader: LineReader, collector: _Collector) -> list[str]:
    """What was wrong with the file."""
    marked = collector.ended or reader.rest.strip() == _END_MARKER
    messages = []
    if reader.problem is not None:
        messages.append(f"{reader.problem}{_KEPT}")
    elif reader.rest.strip() not in (b"", _END_MARKER):
        messages.append(f"cut off within line {reader.lines + 1}{_KEPT}")
    for skipped, what in (
        (collector.malformed, "malformed lines"),
        (collector.untimed, "samples without a timestamp"),
        (collector.surplus, f"samples of series beyond the first {MOST_SERIES:,}"),
    ):
        if skipped.count:
            messages.append(f"{what} skipped: {skipped.count}, the first is line {skipped.first}")
    # The older text format has no end marker; its timestamps are milliseconds.
    if not messages and not marked and not collector.times.in_milliseconds:
        messages.append("the end marker # EOF is missing, so the file may be cut off; everything in it was kept")
    return messages
