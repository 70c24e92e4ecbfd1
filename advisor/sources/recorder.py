"""Making a recording: scrapes into a folder, then the log and the objects, so that an analysis can read it later."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from advisor.errors import InputNotFoundError, OutputError
from advisor.model.raw import LogRecord, ObjectChange, Series
from advisor.sources.exposition import Exposition
from advisor.sources.openmetricswriter import GzipLines, SampleSpool, write_series
from advisor.sources.operatorlog import LogParser
from advisor.sources.pseudonyms import Pseudonyms, anonymous_args, anonymous_version
from advisor.sources.scraping import Outcome, Plan, Scraping
from advisor.sources.textstream import LineReader

__all__ = ["Beside", "Recorder"]

_METRICS, _LOG, _OBJECTS, _SETUP = "metrics.om.gz", "operator.log.gz", "objects.jsonl.gz", "setup.json"


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside the samples; files are read when the scraping is over."""

    log: Path | None = None
    objects: Path | None = None
    version: str | None = None
    args: tuple[str, ...] = ()
    profile: str | None = None
    """Name of a profile that comes with the advisor, if somebody chose one."""


@dataclass(frozen=True, slots=True)
class _Times:
    """Of a recording, in Unix seconds and seconds; None where it is not known yet, or at all."""

    start: float | None = None
    end: float | None = None
    interval: float | None = None


class Recorder:
    """Writes one recording into a folder, which is made, or is empty.

    Args:
        folder: where to.
        beside: what to put there beside the samples.
        pseudonyms: replaces all names; None keeps them.

    Raises:
        OutputError: the folder holds something, or cannot be written to.
    """

    def __init__(self, folder: Path, beside: Beside, pseudonyms: Pseudonyms | None) -> None:
        self._folder = folder
        self._beside = beside
        self._pseudonyms = pseudonyms
        self.problems: list[str] = []
        try:
            self._made = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise OutputError("the folder is not empty", where=str(folder), hint="name a new folder with --out")
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> OutputError:
        return OutputError(
            f"cannot be written: {error.strerror}", where=str(self._folder), hint="check the place and its permissions"
        )

    def record(self, scraping: Scraping, plan: Plan) -> Outcome:
        """Scrape, and write everything.

        Raises:
            InputNotFoundError: no scrape succeeded, and the folder is as it was before.
            OutputError: it cannot be written to.
        """
        names = self._pseudonyms
        try:
            spool = SampleSpool(self._folder / _METRICS)
        except OSError as error:
            raise self._unwritable(error) from error

        def take(time: float, exposition: Exposition) -> None:
            spool.take(time, names.exposition(exposition) if names else exposition)

        try:
            self._write_setup(_Times(interval=plan.interval))
            try:
                outcome = scraping.run(take)
            except InputNotFoundError:
                spool.close()
                self.withdraw()
                raise
            spool.sort()
            if spool.refused:
                self.problems.append(f"samples of too many series were left out: {spool.refused}")
            self._write_setup(_Times(outcome.start, outcome.end, plan.interval))
            self._write_objects_and_log()
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with suppress(OSError):
                spool.close()
        return outcome

    def keep(self, series: Iterable[Series], version: str | None, start: float, end: float) -> None:
        """Write series that were read elsewhere, with the version that was learnt there where none is stated.

        Raises:
            OutputError: it cannot be written to.
        """
        names = self._pseudonyms
        try:
            write_series(self._folder / _METRICS, map(names.series, series) if names else series)
            self._write_setup(_Times(start, end), version)
            self._write_objects_and_log()
        except OSError as error:
            raise self._unwritable(error) from error

    def withdraw(self) -> None:
        """Leave the folder as it was before."""
        for name in (_METRICS, _SETUP):
            (self._folder / name).unlink(missing_ok=True)
        if self._made:
            with suppress(OSError):
                self._folder.rmdir()

    def _write_setup(self, times: _Times, learnt: str | None = None) -> None:
        beside, hidden = self._beside, self._pseudonyms is not None
        version = beside.version or learnt
        setup = {
            "version": anonymous_version(version) if hidden else version,
            "args": list(anonymous_args(beside.args) if hidden else beside.args),
            "start": times.start,
            "end": times.end,
            "scrape_interval_seconds": times.interval,
            **({} if beside.profile is None else {"profile": beside.profile}),
        }
        part = self._folder / f"{_SETUP}.part"
        part.write_bytes(msgspec.json.format(msgspec.json.encode(setup), indent=1) + b"\n")
        part.replace(self._folder / _SETUP)

    def _write_objects_and_log(self) -> None:
        beside, names = self._beside, self._pseudonyms
        # Objects first: they teach the names that the log's texts may hold.
        if beside.objects is not None:
            objects = beside.objects
            self._write(_OBJECTS, objects, self._changes(objects, names) if names else self._text(objects))
        if beside.log is not None:
            log = beside.log
            self._write(_LOG, log, self._records(log, names) if names else self._text(log))

    def _write(self, name: str, source: Path, lines: Iterator[str]) -> None:
        target = GzipLines(self._folder / name)
        try:
            target.write(lines)
        except InputNotFoundError as error:
            self.problems.append(f"{source}: {error.message}")
        finally:
            target.close()

    def _text(self, path: Path) -> Iterator[str]:
        for line in self._lines(path):
            yield line.decode("utf-8", "replace")

    def _lines(self, path: Path) -> Iterator[bytes]:
        """Lines of a plain or compressed file."""
        reader = LineReader(path)
        yield from reader
        if reader.problem is not None:
            self.problems.append(f"{path}: {reader.problem}")

    def _changes(self, path: Path, names: Pseudonyms) -> Iterator[str]:
        decoder = msgspec.json.Decoder(ObjectChange)
        for line in self._lines(path):
            with suppress(msgspec.DecodeError, RecursionError):
                yield names.change(decoder.decode(line))

    def _records(self, path: Path, names: Pseudonyms) -> Iterator[str]:
        """Lines written anew; all names are learnt before the first text is cleaned."""
        for record in LogParser().records(LineReader(path)):
            names.learn(record)
        before: LogRecord | None = None
        line = ""
        for record in LogParser().records(self._lines(path)):
            # Lines that differ in nothing that matters give one record many times in a row.
            if record is not before:
                before, line = record, names.line(record)
            yield line
