"""A recording folder, or a metrics file alone (formats, section 3).

Nothing here opens ``expected.json``, and of ``setup.json`` only the operator's own version, arguments and time range
are read: the rest is what a test knows and an operator would not.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from advisor.errors import InputNotFoundError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.sources.openmetrics import read_openmetrics
from advisor.sources.operatorlog import LogParser
from advisor.sources.textstream import LineReader, plain_text

__all__ = ["RecordingSource"]

_METRICS = ("metrics.om.gz", "metrics.om")
_VERBOSE_LOG = ("operator.stdout.log.gz", "operator.stdout.log")
_LOG = ("operator.log.gz", "operator.log")
_OBJECTS = ("objects.jsonl.gz", "objects.jsonl")
_SETUP = ("setup.json",)

_Record_co = TypeVar("_Record_co", covariant=True)
_Record = TypeVar("_Record")


class _Parser(Protocol[_Record_co]):
    lines: int
    unreadable: int

    def records(self, lines: Iterable[bytes]) -> Iterator[_Record_co]:
        """Records of the lines that can be read; the others are counted."""
        ...


class _ChangeParser:
    """Turns lines into object changes."""

    def __init__(self) -> None:
        self.lines = 0
        self.unreadable = 0
        self._decoder = msgspec.json.Decoder(ObjectChange)

    def records(self, lines: Iterable[bytes]) -> Iterator[ObjectChange]:
        """Changes of all lines that are JSON of the expected types."""
        for line in lines:
            if not line:
                continue
            self.lines += 1
            try:
                change = self._decoder.decode(line)
            except (msgspec.DecodeError, RecursionError):
                self.unreadable += 1
                continue
            yield change


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
        try:
            exists = path.exists()
        except OSError as error:
            raise InputNotFoundError(
                f"cannot be looked at: {error.strerror}", where=str(path), hint="check the path and its permissions"
            ) from error
        if not exists:
            raise InputNotFoundError("no such file or folder", where=str(path), hint="check the path")
        metrics = self._find(_METRICS) if path.is_dir() else path
        if metrics is None:
            raise InputNotFoundError(
                "the folder holds no metrics.om.gz or metrics.om",
                where=str(path),
                hint="give a recording's folder or an OpenMetrics file",
            )
        self._metrics = metrics

    def _find(self, names: tuple[str, ...]) -> Path | None:
        """The first of the names that is a file of the folder."""
        if not self._path.is_dir():
            return None
        return next((self._path / name for name in names if (self._path / name).is_file()), None)

    def series(self, selection: Selection) -> SeriesStore:
        """The selected samples."""
        store, notes = read_openmetrics(self._metrics, selection)
        self.notes.extend(notes)
        return store

    def log(self) -> Iterator[LogRecord]:
        """Records of the verbose stream where there is one (it holds all lines of the file and more), else the file."""
        parser = LogParser()
        yield from self._records(self._find(_VERBOSE_LOG) or self._find(_LOG), parser)
        self.log_lines = parser.lines

    def changes(self) -> Iterator[ObjectChange]:
        """Object changes in the order of the file."""
        parser = _ChangeParser()
        yield from self._records(self._find(_OBJECTS), parser)
        self.object_changes = parser.lines - parser.unreadable

    def _records(self, path: Path | None, parser: _Parser[_Record]) -> Iterator[_Record]:
        """What the parser makes of one file; with what it cannot read, or without the file, the analysis goes on."""
        if path is None:
            return
        reader = LineReader(path)
        try:
            yield from parser.records(reader.whole_lines())
        except InputNotFoundError as error:
            self._note(path, error.message)
            return
        skipped = parser.unreadable
        yield from parser.records((reader.rest,))
        if reader.problem is not None:
            self._note(path, f"{reader.problem}; everything before was kept")
        elif parser.unreadable > skipped:
            self._note(path, f"cut off within line {reader.lines + 1}; everything before was kept")
        if skipped:
            self._note(path, f"{skipped} of {parser.lines} lines skipped: not JSON of the expected form")

    def setup(self) -> Setup:
        """Version, arguments and time range, as far as ``setup.json`` gives them."""
        path = self._find(_SETUP)
        if path is None:
            return Setup()
        try:
            members = msgspec.json.decode(plain_text(path.read_bytes()), type=dict[str, msgspec.Raw])
        except (OSError, msgspec.DecodeError, RecursionError) as error:
            self._note(path, f"skipped: {error}")
            return Setup()
        known: dict[str, Any] = {}
        for field in msgspec.structs.fields(Setup):
            if field.name in members:
                try:
                    known[field.name] = msgspec.json.decode(members[field.name], type=field.type)
                except msgspec.DecodeError as error:
                    self._note(path, f"{field.name} skipped: {error}")
        return Setup(**known)

    def _note(self, path: Path, message: str) -> None:
        self.notes.append(ReadNote(where=path.name, message=message))
