"""Writing a recording's metrics: first as they come, so that a kill loses little, then as strict OpenMetrics.

While the scraping lasts, each scrape is flushed into a gzip file in its own order, which this program reads as it is.
At the end the samples are sorted by family, series and time, as OpenMetrics asks, into a second file that takes the
place of the first. Buckets, sums and counts become families of their own and of unknown type: the parser of
prometheus_client loses samples of a histogram that has several times.
"""

import zlib
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from advisor.model.raw import Series
from advisor.sources.exposition import Exposition, Sample
from advisor.sources.textstream import LineReader

__all__ = ["GzipLines", "SampleSpool", "series_key", "series_lines", "write_series"]

_GZIP = zlib.MAX_WBITS | 16
_LARGEST_EXACT = 2.0**53
_SAMPLES_AT_ONCE = 8_000_000
_MOST_SERIES = 500_000
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class GzipLines:
    """Writes lines into a gzip file, which may exist only when ``replace`` says so."""

    def __init__(self, path: Path, *, replace: bool = False) -> None:
        self._file: BinaryIO = path.open("wb" if replace else "xb")
        self._packer = zlib.compressobj(wbits=_GZIP)

    def write(self, lines: Iterable[str]) -> None:
        """Write lines, each without its end."""
        for line in lines:
            self._file.write(self._packer.compress(f"{line}\n".encode()))

    def flush(self) -> None:
        """Let a reader of the file see everything so far."""
        self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """End the file; more than once does no harm."""
        if not self._file.closed:
            with self._file:
                self._file.write(self._packer.flush())


def series_key(name: str, labels: Iterable[tuple[str, str]]) -> str:
    """Name and labels as OpenMetrics writes them."""
    text = ",".join(f'{label}="{value.translate(_ESCAPES)}"' for label, value in labels)
    return f"{name}{{{text}}}" if text else name


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < _LARGEST_EXACT else repr(value)


@dataclass(slots=True)
class _Column:
    """All samples of one series."""

    name: str
    key: str
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))


class SampleSpool:
    """The metrics file of a recording that is being made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = GzipLines(path)
        self._types: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._series: set[str] = set()
        self.refused = 0

    def take(self, time: float, exposition: Exposition) -> None:
        """Write the samples of one scrape."""
        self._types.update(exposition.types)
        self._lines.write(self._texts(f"{time:.3f}", exposition.samples))
        self._lines.flush()

    def _texts(self, time: str, samples: Sequence[Sample]) -> Iterator[str]:
        for sample in samples:
            key = series_key(sample.name, sample.labels)
            if key not in self._series:
                if len(self._series) >= _MOST_SERIES:
                    self.refused += 1
                    continue
                self._series.add(key)
            self._counts[sample.name] += 1
            yield f"{key} {_number(sample.value)} {time}"

    def close(self) -> None:
        """End the file as it is."""
        self._lines.close()

    def sort(self) -> None:
        """Replace the file by the same samples in OpenMetrics' order, with types and the end marker."""
        self.close()
        part = self._path.with_name(self._path.name + ".part")
        lines = GzipLines(part, replace=True)
        try:
            for names in self._batches():
                for family in self._families(names):
                    lines.write(family)
            lines.write(["# EOF"])
            lines.close()
            part.replace(self._path)
        finally:
            lines.close()
            part.unlink(missing_ok=True)

    def _batches(self) -> Iterator[list[str]]:
        """Sample names in order, as many at once as have not too many samples together."""
        batch: list[str] = []
        held = 0
        for name, count in sorted(self._counts.items()):
            if batch and held + count > _SAMPLES_AT_ONCE:
                yield batch
                batch, held = [], 0
            batch.append(name)
            held += count
        yield batch

    def _families(self, names: list[str]) -> Iterator[Iterator[str]]:
        """Lines of the family that each name is."""
        columns: dict[str, list[_Column]] = {name: [] for name in names}
        for column in self._columns(names):
            columns[column.name].append(column)
        for name, members in columns.items():
            yield _lines(*_typed(name, members, self._types, self._counts), members)

    def _columns(self, names: list[str]) -> Iterable[_Column]:
        """The samples of some names, from the file."""
        columns: dict[bytes, _Column] = {}
        wanted = {name.encode() for name in names}
        for line in LineReader(self._path).whole_lines():
            name = line.partition(b"{")[0].partition(b" ")[0]
            if name in wanted:
                key, value, time = line.rsplit(b" ", 2)
                column = columns.get(key)
                if column is None:
                    column = columns[key] = _Column(name.decode(), key.decode())
                column.times.append(float(time))
                column.values.append(float(value))
        return columns.values()


def write_series(path: Path, series: Iterable[Series]) -> None:
    """Write series into a new OpenMetrics file; types follow from names, since stores forget them."""
    lines = GzipLines(path)
    try:
        lines.write(series_lines(series))
    finally:
        lines.close()


def series_lines(series: Iterable[Series]) -> Iterator[str]:
    """The lines of such a file, the end marker included."""
    columns: dict[str, list[_Column]] = {}
    for one in series:
        column = _Column(one.name, series_key(one.name, sorted(one.labels.items())), one.times, one.values)
        columns.setdefault(one.name, []).append(column)
    types = {name: "counter" for name in columns if name.endswith("_total")}
    types |= {name: "gauge" for name in columns if not name.endswith(("_total", "_bucket", "_sum", "_count"))}
    for name, members in sorted(columns.items()):
        yield from _lines(*_typed(name, members, types, columns), members)
    yield "# EOF"


def _typed(name: str, members: list[_Column], types: Mapping[str, str], names: Container[str]) -> tuple[str, str]:
    """Family and type of a sample name.

    The text format types a counter by the name with ``_total``, OpenMetrics by that without. Where something else
    has a name that the counter's family takes, or a value is negative, it is of unknown type.
    """
    base = name.removesuffix("_total")
    if base != name and "counter" in (types.get(name), types.get(base)):
        alone = base not in names and f"{base}_created" not in names
        if alone and all(value >= 0.0 for column in members for value in column.values):
            return base, "counter"
    return name, "gauge" if types.get(name) == "gauge" else "unknown"


def _lines(family: str, kind: str, members: list[_Column]) -> Iterator[str]:
    """One family, series by series, each in order of time."""
    yield f"# TYPE {family} {kind}"
    for column in sorted(members, key=lambda one: one.key):
        for time, value in zip(column.times, column.values, strict=True):
            yield f"{column.key} {_number(value)} {time:.3f}"
