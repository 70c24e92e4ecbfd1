"""From a source to what was observed of one operator, ready to be asked for episodes and signals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Protocol

from advisor.errors import NothingToAnalyseError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.model.report import SourceInfo
from advisor.model.signal import Window
from advisor.model.signals import Episode, OperatorSignals
from advisor.signals.episodes import CutRules
from advisor.signals.logdigest import LogDigest
from advisor.signals.names import SELECTION
from advisor.signals.objecttimeline import ObjectTimeline
from advisor.signals.observations import Observations

__all__ = ["Loaded", "Observed", "Progress", "Source", "ignore_progress", "load_source"]

Progress = Callable[[str], None]
"""Called with the name of each step as it begins."""

_OPERATOR = "kuberay"
_GAP_INTERVALS = 3.0


class Source(Protocol):
    """Anything that delivers samples, and log records and object changes where it has them.

    The counts and ``notes`` are complete once everything has been read.
    """

    @property
    def kind(self) -> str:
        """What kind of source it is, for the report."""
        ...

    @property
    def notes(self) -> Sequence[ReadNote]:
        """What was skipped while reading."""
        ...

    @property
    def log_lines(self) -> int:
        """Lines of log read."""
        ...

    def series(self, selection: Selection) -> SeriesStore:
        """The samples that are selected."""
        ...

    def log(self) -> Iterable[LogRecord]:
        """Log records in order."""
        ...

    def changes(self) -> Iterable[ObjectChange]:
        """Object changes in order of time."""
        ...

    def setup(self) -> Setup:
        """What is known beside the samples."""
        ...


class Observed(Protocol):
    """What was observed of one operator, whatever it was learnt from."""

    @property
    def scrapes(self) -> Sequence[float]:
        """Times at which the operator was looked at."""
        ...

    def episodes(self, rules: CutRules) -> tuple[Episode, ...]:
        """Episodes of the whole observation."""
        ...

    def signals(self, window: Window) -> OperatorSignals:
        """All signals of one window."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """One input, read: the operator's name, what was observed, its command line, and what was read."""

    operator: str
    observed: Observed
    args: tuple[str, ...]
    info: SourceInfo


def ignore_progress(_: str) -> None:
    """Progress that nobody looks at."""


def load_source(source: Source, progress: Progress = ignore_progress) -> Loaded:
    """Read a source of samples to its end.

    Raises:
        InputError: the source cannot be read.
        NothingToAnalyseError: it has fewer than two scrapes of any operator series.
    """
    progress("reading metrics")
    store = source.series(SELECTION)
    progress("reading the log")
    digest = LogDigest()
    for record in source.log():
        digest.add(record)
    progress("reading object changes")
    timeline = ObjectTimeline()
    for change in source.changes():
        timeline.add(change)
    progress("computing signals")
    setup = source.setup()
    observed = Observations(store, digest, timeline, setup)
    whole = observed.whole()
    if whole is None:
        raise NothingToAnalyseError(
            "fewer than two scrapes of an operator's series were found",
            where=store.origin,
            hint="record the operator's own /metrics over some minutes",
        )
    info = SourceInfo(
        kind=source.kind,
        samples=store.sample_count(),
        log_lines=source.log_lines,
        object_changes=timeline.changes,
        window=whole,
        notes=(*source.notes, *_gaps(observed.scrapes, store.origin)),
    )
    return Loaded(_OPERATOR, observed, setup.args, info)


def _gaps(scrapes: Sequence[float], origin: str) -> Iterator[ReadNote]:
    """A note for each pause between scrapes that is several times the usual one."""
    pauses = [later - earlier for earlier, later in pairwise(scrapes)]
    usual = median(pauses)
    for start, pause in zip(scrapes, pauses, strict=False):
        if pause > _GAP_INTERVALS * usual:
            yield ReadNote(
                where=origin, message=f"no samples for {pause:.0f} s after {start:.0f}; nothing is assumed there"
            )
