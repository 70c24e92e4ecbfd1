"""From a source to what was observed of one operator, ready to be asked for episodes and signals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import msgspec

from advisor.errors import NothingToAnalyseError
from advisor.knowledge.profile import Profile
from advisor.knowledge.profiles import GENERIC, built_in
from advisor.knowledge.recognise import Choice
from advisor.model.facts import Facts
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, SeriesStore, Setup
from advisor.model.report import SourceInfo
from advisor.model.signal import Window
from advisor.model.signals import Episode, OperatorSignals
from advisor.model.timeline import Timeline
from advisor.model.trace import DemandTrace
from advisor.signals.curves import LONGEST_PAUSE
from advisor.signals.episodes import CutRules
from advisor.signals.fromfacts import FactsObservation
from advisor.signals.names import SELECTION
from advisor.sources.profiles import chosen_profile

if TYPE_CHECKING:
    from advisor.signals.observations import Observations

__all__ = ["Loaded", "Observed", "Progress", "Source", "ignore_progress", "load_facts", "load_source"]

Progress = Callable[[str], None]
"""Called with the name of each step as it begins."""


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
    def choice(self) -> Choice:
        """What kind of operator it is, and why."""
        ...

    @property
    def scrapes(self) -> Sequence[float] | None:
        """Times at which the operator was looked at; None where somebody told the figures."""
        ...

    def episodes(self, rules: CutRules) -> tuple[Episode, ...]:
        """Episodes of the whole observation."""
        ...

    @property
    def ended(self) -> float | None:
        """Unix time at which the observation ended, if that is known apart from its last scrape."""
        ...

    @property
    def usual_pause_seconds(self) -> float:
        """From one look to the next, usually."""
        ...

    def signals(self, window: Window) -> OperatorSignals:
        """All signals of one window."""
        ...

    def trace(self, window: Window) -> DemandTrace | None:
        """The load of one window; None where object changes were not seen."""
        ...

    def first_demand(self, window: Window) -> float | None:
        """Unix time at which an object was first created or scaled in a window; None where none was seen."""
        ...


@dataclass(frozen=True, slots=True)
class Loaded:
    """One input, read: the operator's name, what was observed, its command line, and what was read."""

    operator: str
    observed: Observed
    args: tuple[str, ...]
    info: SourceInfo
    timeline: Timeline | None = None


def ignore_progress(_: str) -> None:
    """Progress that nobody looks at."""


def load_source(source: Source, progress: Progress = ignore_progress, told: Setup | None = None) -> Loaded:
    """Read a source of samples to its end.

    Args:
        source: where samples come from.
        progress: is told each step.
        told: the version, arguments and profile that somebody states; they go before what the source says.

    Raises:
        InputError: the source or the file of a profile cannot be read.
        UnknownNameError: there is no profile of that name.
        NothingToAnalyseError: it has fewer than two scrapes of any operator series.
    """
    # Imported here: what was told needs none of it, and answers sooner without.
    from advisor.signals.demandtrace import TraceBuilder  # noqa: PLC0415
    from advisor.signals.logdigest import LogDigest  # noqa: PLC0415
    from advisor.signals.objecttimeline import ObjectTimeline  # noqa: PLC0415
    from advisor.signals.observations import Observations  # noqa: PLC0415

    chosen = None if told is None else chosen_profile(told.profile)
    progress("reading metrics")
    store = source.series(SELECTION)
    progress("reading the log")
    digest = LogDigest()
    for record in source.log():
        digest.add(record)
    progress("reading object changes")
    timeline, traces = ObjectTimeline(), TraceBuilder()
    for change in source.changes():
        timeline.add(change)
        traces.add(change)
    progress("computing signals")
    setup = _setup(source, told)
    chosen = chosen or _said("the recording says so", setup.profile)
    observed = Observations(store, digest, timeline, setup, traces if timeline.changes else None, chosen=chosen)
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
        notes=(*source.notes, *_left_out(observed, store.origin), *_gaps(observed, store.origin)),
    )
    return Loaded(_called(observed.choice.profile), observed, setup.args, info, observed.timeline())


def load_facts(facts: Facts, profile: str | None = None) -> Loaded:
    """What somebody knows, as an observation of one nominal hour.

    Args:
        facts: what is known.
        profile: name or file of the profile, if somebody chose one.

    Raises:
        InputError: the file of the profile cannot be read.
        UnknownNameError: there is no profile of that name.
    """
    observed = FactsObservation(facts, chosen_profile(profile) or _said("the facts say so", facts.operator.profile))
    info = SourceInfo(kind="facts", samples=0, log_lines=0, object_changes=0, window=observed.window)
    return Loaded(facts.operator.name or "unnamed", observed, (), info)


def _setup(source: Source, told: Setup | None) -> Setup:
    """What the source knows beside the samples, and before it what somebody states."""
    setup = source.setup()
    if told is None:
        return setup
    return msgspec.structs.replace(setup, version=told.version or setup.version, args=told.args or setup.args)


def _said(why: str, name: str | None) -> Choice | None:
    """The profile that an input names, of those that come with the advisor: an input names no file to be read."""
    profile = None if name is None else built_in(name)
    return None if profile is None else Choice(profile=profile, why=why)


def _called(profile: Profile) -> str:
    """What a report calls an operator that nobody named."""
    return profile.title if profile == GENERIC else profile.name


def _left_out(observed: "Observations", origin: str) -> Iterator[ReadNote]:
    """A note where there were more controllers than an operator has."""
    if observed.controllers_left_out:
        message = f"controllers left out, those with the fewest samples: {observed.controllers_left_out}"
        yield ReadNote(where=origin, message=message)


def _gaps(observed: "Observations", origin: str) -> Iterator[ReadNote]:
    """A note for each pause between scrapes that is several times the usual one of a process."""
    longest = LONGEST_PAUSE * observed.usual_pause_seconds
    for start, end in pairwise(observed.scrapes):
        if (pause := end - start) > longest:
            yield ReadNote(
                where=origin, message=f"no samples for {pause:.0f} s after {start:.0f}; nothing is assumed there"
            )
