"""What a sidecar holds of the last minutes, as a source: the files of a recording, served over HTTP.

They are fetched into a folder of their own and read there by what reads recordings; only the log differs, since a
sidecar keeps records and no lines.
"""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import msgspec

from advisor.errors import InputNotFoundError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.sources.endpoint import OPENMETRICS, Access, Endpoint, ScrapeFailedError, fetch
from advisor.sources.recording import RecordingSource
from advisor.sources.textstream import LineReader

__all__ = [
    "JSON_LINES",
    "JSON_OBJECT",
    "LOG",
    "METRICS",
    "OBJECTS",
    "RECORDING",
    "SETUP",
    "SidecarSource",
    "address",
    "metrics_address",
]

RECORDING: Final = "/v1/recording/"
"""The folder in a sidecar's URL; it holds the next four."""
METRICS: Final = "metrics.om"
LOG: Final = "log.jsonl"
OBJECTS: Final = "objects.jsonl"
SETUP: Final = "setup.json"
JSON_LINES: Final = "application/x-ndjson"
JSON_OBJECT: Final = "application/json"
_BESIDE: Final = {LOG: JSON_LINES, OBJECTS: JSON_LINES, SETUP: JSON_OBJECT}
_TIMEOUT_SECONDS: Final = 35.0
"""Of each file: a little more than a sidecar takes at most."""


def address(url: str) -> Endpoint:
    """Where a sidecar is, by its URL with or without a path before its own, or by that of its ``/metrics``.

    Raises:
        ValueError: it is no such URL.
    """
    endpoint = Endpoint.parse(url)
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise ValueError("the URL of a sidecar has no query")
    return replace(endpoint, path=parts.path.removesuffix("/metrics").rstrip("/"))


def metrics_address(sidecar: Endpoint) -> Endpoint:
    """Where a sidecar tells its own series, from where it is."""
    return replace(sidecar, path=f"{sidecar.path}/metrics")


class SidecarSource:
    """Fetches when it is asked for samples, into a folder that is there while the source is entered.

    ``notes`` grows while it is read. What a sidecar has beside the samples may be missing; a note says so.

    Args:
        sidecar: where it is, as :func:`address` tells.
        access: what to send along.
    """

    kind = "sidecar"

    def __init__(self, sidecar: Endpoint, access: Access) -> None:
        self._sidecar = sidecar
        self._access = access
        self._cleaning = ExitStack()
        self._folder: Path | None = None
        self._recording: RecordingSource | None = None
        self._notes: list[ReadNote] = []
        self.log_lines = 0

    def __enter__(self) -> Self:
        """Make the folder."""
        self._folder = Path(self._cleaning.enter_context(TemporaryDirectory(prefix="kuberay-advisor-")))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove it."""
        self._folder = None
        self._cleaning.close()

    @property
    def notes(self) -> list[ReadNote]:
        """What was skipped or missing so far."""
        return [*self._notes, *(self._recording.notes if self._recording is not None else ())]

    def series(self, selection: Selection) -> SeriesStore:
        """The selected samples; with them all the rest is fetched, so that it is about the same time.

        Raises:
            InputNotFoundError: the sidecar gives none.
            InputFormatError: it has none yet.
        """
        assert self._folder is not None  # noqa: S101 - it has been entered
        try:
            self._fetch(METRICS, OPENMETRICS)
        except ScrapeFailedError as error:
            raise InputNotFoundError(
                str(error),
                where=self._url(METRICS),
                hint=error.hint or f"check the address; curl -v {self._url(METRICS)} shows what it answers",
            ) from error
        for name, kind in _BESIDE.items():
            try:
                self._fetch(name, kind)
            except ScrapeFailedError as error:
                (self._folder / name).unlink(missing_ok=True)
                self._note(name, str(error))
        self._recording = RecordingSource(self._folder)
        store = self._recording.series(selection)
        return SeriesStore(store, origin=f"sidecar {self._sidecar.instance}")

    def log(self) -> Iterator[LogRecord]:
        """Records of the log, as far as the sidecar has kept them."""
        path = None if self._folder is None else self._folder / LOG
        if path is None or not path.is_file():
            return
        decoder = msgspec.json.Decoder(LogRecord)
        unreadable = 0
        for line in LineReader(path):
            self.log_lines += 1
            try:
                record = decoder.decode(line)
            except (msgspec.DecodeError, RecursionError):
                unreadable += 1
                continue
            yield record
        if unreadable:
            self._note(LOG, f"{unreadable} of {self.log_lines} lines skipped: not JSON of the expected form")

    def changes(self) -> Iterable[ObjectChange]:
        """Object changes, as far as the sidecar has kept them."""
        return () if self._recording is None else self._recording.changes()

    def setup(self) -> Setup:
        """Version, arguments and time range, as far as the sidecar knows them."""
        return Setup() if self._recording is None else self._recording.setup()

    def _url(self, name: str) -> str:
        return replace(self._sidecar, path=f"{self._sidecar.path}{RECORDING}{name}").url

    def _fetch(self, name: str, kind: str) -> None:
        """Write one file.

        Raises:
            ScrapeFailedError: there is no whole answer.
        """
        assert self._folder is not None  # noqa: S101 - it has been entered
        endpoint = replace(self._sidecar, path=f"{self._sidecar.path}{RECORDING}{name}")
        with (self._folder / name).open("wb") as file:
            fetch(endpoint, self._access, _TIMEOUT_SECONDS, file.write, (kind,))

    def _note(self, name: str, message: str) -> None:
        self._notes.append(ReadNote(where=name, message=message))
