"""A recording folder, or a metrics file alone (formats, section 3).

Nothing here opens ``expected.json``, and of ``setup.json`` only the operator's own version, arguments and time range
are read: the rest is what a test knows and an operator would not.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from advisor.errors import InputNotFoundError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.sources.openmetrics import read_openmetrics
from advisor.sources.operatorlog import LogParser
from advisor.sources.textstream import LineReader

__all__ = ["RecordingSource"]

_METRICS = ("metrics.om.gz", "metrics.om")
_VERBOSE_LOG = ("operator.stdout.log.gz", "operator.stdout.log")
_LOG = ("operator.log.gz", "operator.log")
_OBJECTS = ("objects.jsonl.gz", "objects.jsonl")
_SETUP = ("setup.json",)


class RecordingSource:
    """Reads one recording. ``notes`` grows while it is read; every file but the metrics may be absent.

    Args:
        path: the folder, or an ``.om`` or ``.om.gz`` file.

    Raises:
        InputNotFoundError: there is no such path, or no metrics file in the folder.
    """

    kind = "recording"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notes: list[ReadNote] = []
        self.log_lines = 0
        self.object_changes = 0
        if not path.exists():
            raise InputNotFoundError("no such file or folder", where=str(path), hint="check the path")
        self._metrics = self._find(_METRICS) if path.is_dir() else path
        if self._metrics is None:
            raise InputNotFoundError(
                "the folder holds no metrics.om.gz or metrics.om",
                where=str(path),
                hint="give a recording's folder or an OpenMetrics file",
            )

    def _find(self, names: tuple[str, ...]) -> Path | None:
        """The first of the names that is a file of the folder."""
        if not self._path.is_dir():
            return None
        return next((self._path / name for name in names if (self._path / name).is_file()), None)

    def series(self, selection: Selection) -> SeriesStore:
        """The selected samples."""
        assert self._metrics is not None  # noqa: S101 - checked when the source was made
        store, notes = read_openmetrics(self._metrics, selection)
        self.notes.extend(notes)
        return store

    def log(self) -> Iterator[LogRecord]:
        """Records of the verbose stream where there is one (it holds all lines of the file and more), else the file."""
        path = self._find(_VERBOSE_LOG) or self._find(_LOG)
        if path is None:
            return
        reader = LineReader(path)
        parser = LogParser()
        yield from parser.records(reader)
        self.log_lines = parser.lines
        self._note_reader(path, reader, parser.unreadable)

    def changes(self) -> Iterator[ObjectChange]:
        """Object changes in the order of the file."""
        path = self._find(_OBJECTS)
        if path is None:
            return
        reader = LineReader(path)
        decoder = msgspec.json.Decoder(ObjectChange)
        unreadable = 0
        for line in reader:
            if not line:
                continue
            try:
                change = decoder.decode(line)
            except msgspec.DecodeError:
                unreadable += 1
                continue
            self.object_changes += 1
            yield change
        self._note_reader(path, reader, unreadable)

    def setup(self) -> Setup:
        """Version, arguments and time range, as far as ``setup.json`` gives them."""
        path = self._find(_SETUP)
        if path is None:
            return Setup()
        try:
            return msgspec.json.decode(path.read_bytes(), type=Setup)
        except msgspec.DecodeError as error:
            self.notes.append(ReadNote(where=path.name, message=f"skipped: {error}"))
            return Setup()

    def _note_reader(self, path: Path, reader: LineReader, unreadable: int) -> None:
        if reader.problem is not None:
            self.notes.append(ReadNote(where=path.name, message=f"{reader.problem}; everything before was kept"))
        if unreadable:
            message = f"{unreadable} of {reader.lines} lines skipped: not JSON of the expected form"
            self.notes.append(ReadNote(where=path.name, message=message))
