"""A streaming reader of OpenMetrics text with a timestamp on each sample (formats, section 3).

It keeps what the signals need and nothing else, one pair of arrays a series, and loses nothing of a damaged file that
could still be read.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path

from advisor.errors import InputFormatError
from advisor.model.raw import ReadNote, Selection, Series, SeriesStore
from advisor.sources.textstream import LineReader

__all__ = ["parse_series_key", "read_openmetrics"]

_KEY = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\Z", re.DOTALL)
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPES = {"\\n": "\n", '\\"': '"', "\\\\": "\\"}
_ESCAPE = re.compile(r'\\[n"\\]')
_EXEMPLAR = b" # "
_MILLISECONDS_FROM = 1e11
"""Timestamps above this are milliseconds (the older Prometheus text format); as seconds it is the year 5138."""


def parse_series_key(key: str) -> tuple[str, dict[str, str]] | None:
    """Name and labels of ``name{label="value",...}``, or None where it is malformed."""
    match = _KEY.match(key)
    if match is None:
        return None
    name, text = match.group(1), match.group(2) or ""
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        label = _LABEL.match(text, position)
        if label is None:
            return None
        labels[label.group(1)] = _ESCAPE.sub(lambda found: _ESCAPES[found.group()], label.group(2))
        position = label.end()
    return name, labels


class _Collector:
    """Sorts parsed samples into series; one object a file."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], Series] = {}
        self._sums: dict[tuple[str, tuple[tuple[str, str], ...]], dict[float, float]] = {}
        self.malformed: list[int] = []

    def open(self, key: bytes) -> Series | dict[float, float] | None:
        """Where samples of a series go: a series, a sum by time, or None for what nobody needs.

        Raises:
            ValueError: the key is malformed.
        """
        name = key.partition(b"{")[0].decode("utf-8", "replace")
        kept_labels = self._selection.aggregated.get(name)
        if kept_labels is None and name not in self._selection.names:
            return None
        parsed = parse_series_key(key.decode("utf-8", "replace"))
        if parsed is None:
            raise ValueError(key)
        labels = parsed[1]
        if kept_labels is None:
            identity = (name, tuple(sorted(labels.items())))
            return self._series.setdefault(identity, Series(name, labels))
        kept = tuple((label, labels.get(label, "")) for label in kept_labels)
        return self._sums.setdefault((name, kept), {})

    def store(self, origin: str) -> SeriesStore:
        """All series, each in ascending order of time."""
        result = [_in_order(series) for series in self._series.values()]
        for (name, labels), sums in self._sums.items():
            total = Series(name, dict(labels))
            for time in sorted(sums):
                total.times.append(time)
                total.values.append(sums[time])
            result.append(total)
        return SeriesStore(result, origin=origin)


def _in_order(series: Series) -> Series:
    """The series sorted by time, the last of several samples of one time kept."""
    times = series.times
    if all(times[index] < times[index + 1] for index in range(len(times) - 1)):
        return series
    ordered = Series(series.name, series.labels)
    for time, value in sorted(dict(zip(times, series.values, strict=True)).items()):
        ordered.times.append(time)
        ordered.values.append(value)
    return ordered


def _samples(reader: LineReader, collector: _Collector) -> Iterator[tuple[bytes, float, float]]:
    """Key, value and time in seconds of each sample line; malformed lines are noted by number."""
    number = 0
    for line in reader:
        number += 1
        if not line or line.startswith(b"#"):
            if line == b"# EOF":
                return
            continue
        if reader.ended_within_line:
            return
        if _EXEMPLAR in line:
            line = line.partition(_EXEMPLAR)[0]  # noqa: PLW2901 - the exemplar is no part of the sample
        try:
            key, value, time = line.rsplit(b" ", 2)
            yield key, float(value), float(time)
        except ValueError:
            collector.malformed.append(number)


def read_openmetrics(path: Path, selection: Selection) -> tuple[SeriesStore, tuple[ReadNote, ...]]:
    """The selected series of one ``.om`` or ``.om.gz`` file, and what was skipped.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: the file holds lines, but no sample with a timestamp.
    """
    reader = LineReader(path)
    collector = _Collector(selection)
    targets: dict[bytes, Series | dict[float, float] | None] = {}
    found = 0
    for key, value, raw_time in _samples(reader, collector):
        found += 1
        try:
            target = targets[key]
        except KeyError:
            try:
                target = targets[key] = collector.open(key)
            except ValueError:
                collector.malformed.append(found)
                target = targets[key] = None
        if target is None or not math.isfinite(value):
            continue
        time = raw_time / 1000.0 if raw_time > _MILLISECONDS_FROM else raw_time
        if isinstance(target, Series):
            target.times.append(time)
            target.values.append(value)
        else:
            target[time] = target.get(time, 0.0) + value
    if not found:
        raise InputFormatError(
            "holds no sample with a timestamp",
            where=path.name,
            hint="expected OpenMetrics text with a Unix timestamp on each sample, as in a recording's metrics.om.gz",
        )
    return collector.store(path.name), tuple(_notes(path.name, reader, collector))


def _notes(where: str, reader: LineReader, collector: _Collector) -> Iterator[ReadNote]:
    if reader.problem is not None:
        yield ReadNote(where=where, message=f"{reader.problem}; everything before was kept")
    elif reader.ended_within_line:
        yield ReadNote(where=where, message=f"cut off within line {reader.lines}; everything before was kept")
    if collector.malformed:
        count, first = len(collector.malformed), collector.malformed[0]
        yield ReadNote(where=where, message=f"{count} malformed lines skipped, the first is line {first}")
