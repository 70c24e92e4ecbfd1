"""Source to report, the same for every source that delivers samples."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import Protocol

from advisor.analysis.figures import figures_of
from advisor.analysis.options import Options
from advisor.diagnosis.case import Case
from advisor.diagnosis.engine import Diagnosis, diagnose, verdict_index
from advisor.errors import NothingToAnalyseError
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.model.report import EpisodeReport, Report, SourceInfo
from advisor.model.signal import Window
from advisor.model.text import format_value
from advisor.recommend.advise import advise
from advisor.recommend.predictions import predict
from advisor.signals.logdigest import LogDigest
from advisor.signals.names import SELECTION
from advisor.signals.objecttimeline import ObjectTimeline
from advisor.signals.observations import Observations

__all__ = ["Progress", "Source", "analyse"]

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


def _ignore(_: str) -> None:
    """Progress that nobody looks at."""


def analyse(source: Source, options: Options, progress: Progress = _ignore) -> Report:
    """One analysis.

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
    return _report(observed, whole, setup, info, options)


def _gaps(scrapes: Sequence[float], origin: str) -> Iterator[ReadNote]:
    """A note for each pause between scrapes that is several times the usual one."""
    pauses = [later - earlier for earlier, later in pairwise(scrapes)]
    usual = median(pauses)
    for start, pause in zip(scrapes, pauses, strict=False):
        if pause > _GAP_INTERVALS * usual:
            yield ReadNote(
                where=origin, message=f"no samples for {pause:.0f} s after {start:.0f}; nothing is assumed there"
            )


def _report(observed: Observations, whole: Window, setup: Setup, info: SourceInfo, options: Options) -> Report:
    everything = observed.signals(whole)
    diagnoses = [
        diagnose(
            Case(
                signals=observed.signals(episode.window),
                whole=everything,
                episode=episode,
                scrapes=len(observed.scrapes),
                thresholds=options.thresholds,
            )
        )
        for episode in observed.episodes(options.cut_rules)
    ]
    chosen = verdict_index(diagnoses)
    verdict = diagnoses[chosen]
    advice, basis = advise(diagnoses, verdict, options.policy, setup.args)
    signals = verdict.case.signals
    figures, absent = figures_of(signals, options.policy)
    return Report(
        operator=_OPERATOR,
        verdict=_sentence(verdict, whole),
        source=info,
        findings=verdict.findings,
        advice=advice,
        predictions=predict(basis, advice),
        figures=figures,
        missing=absent,
        episodes=tuple(
            EpisodeReport(
                episode=one.case.episode,
                findings=one.findings,
                lost_seconds=one.case.lost_seconds,
                is_verdict=index == chosen,
            )
            for index, one in enumerate(diagnoses)
        ),
        settings=signals.settings,
        keys=signals.keys,
        namespaces=signals.namespaces,
    )


def _sentence(verdict: Diagnosis, whole: Window) -> str:
    """The verdict in one sentence, with the episode that it is for."""
    episode = verdict.case.episode
    start, length = episode.window.start - whole.start, episode.window.seconds
    when = f"{episode.kind.value} episode, {format_value(start, 'seconds')} in, {format_value(length, 'seconds')} long"
    return f"{verdict.primary.title} ({when})."
