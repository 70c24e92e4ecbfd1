"""Many operators in one run: bounded, resumable, and none stops the others."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from advisor.analysis.fleetsources import observing_seconds
from advisor.analysis.fleetstate import load_state, save_state, settings_digest
from advisor.analysis.fleettask import (
    FleetTask,
    analyse_task,
    discard_partials,
    discard_reports,
    failure_of,
    report_name,
)
from advisor.analysis.loading import Progress, ignore_progress
from advisor.analysis.options import Options
from advisor.engines.base import Engine, Outcome, TaskTimeoutError
from advisor.errors import OutputError
from advisor.model.finding import Severity
from advisor.model.fleet import Fleet, FleetFailure, FleetOperator, FleetVerdict
from advisor.sources.fleetspec import FleetEntry

__all__ = ["FleetInterruptedError", "FleetPlan", "FleetRun", "analyse_fleet", "worst_first"]

_SAVE_SECONDS: Final = 1.0
"""From one state on disk to the next: what a kill costs, and what a thousand operators save."""


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """What to do.

    Attributes:
        entries: the operators, checked; each name makes a file name of its own.
        folder: where reports and the result go; it is made where it is not there.
        options: of each analysis.
        form: a form of the reports beside JSON.
        limit_seconds: how long one operator may take, the time of scraping apart.
        fresh: whether to analyse again what an earlier run has finished.
    """

    entries: Sequence[FleetEntry]
    folder: Path
    options: Options
    form: str | None = None
    limit_seconds: float = 120.0
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class FleetRun:
    """What came of a plan; ``kept`` is how many operators an earlier run had finished."""

    fleet: Fleet
    kept: int


class FleetInterruptedError(KeyboardInterrupt):
    """Ctrl-C while operators were analysed.

    Attributes:
        finished: the result as far as it got; it is on disk, and the same plan goes on from there.
    """

    def __init__(self, finished: FleetRun) -> None:
        super().__init__()
        self.finished = finished


def analyse_fleet(
    plan: FleetPlan, engine: Engine, progress: Progress = ignore_progress, clock: Callable[[], float] = time.time
) -> FleetRun:
    """Analyse every operator that no earlier run in the same folder has finished with the same settings.

    Args:
        plan: what to do.
        engine: where operators are analysed.
        progress: is told how many are done, failed and left.
        clock: Unix seconds.

    Raises:
        FleetInterruptedError: Ctrl-C, with what is finished.
        InputError: the result of the earlier run cannot be read.
        OutputError: the folder cannot be written to.
        AdvisorError: the engine failed.
    """
    folder = plan.folder.absolute()
    _make(folder)
    discard_partials(folder, (entry.name for entry in plan.entries))
    digests = {entry.name: settings_digest(entry, plan.options, plan.form) for entry in plan.entries}
    book = _Book.opened(folder, digests, clock, fresh=plan.fresh)
    kept = len(book.finished)
    book.save()
    left = [entry for entry in plan.entries if entry.name not in book.finished]
    tasks = [FleetTask(entry, book.began, plan.options, folder, plan.form) for entry in left]
    seconds = [plan.limit_seconds + observing_seconds(entry) for entry in left]
    try:
        progress(book.standing())
        with closing(engine.attempt(analyse_task, tasks, seconds)) as outcomes:
            for place, outcome in outcomes:
                book.enter(left[place].name, _result(outcome, folder, left[place].name))
                progress(book.standing())
    except KeyboardInterrupt:
        raise FleetInterruptedError(FleetRun(book.save(), kept)) from None
    except Exception:
        book.save()
        raise
    return FleetRun(book.save(), kept)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot be made: {error.strerror}"
        raise OutputError(message, where=str(folder), hint="--out names a folder for the reports") from error


def _result(outcome: Outcome[FleetVerdict | FleetFailure], folder: Path, name: str) -> FleetVerdict | FleetFailure:
    """What came back, or why nothing did."""
    if outcome.error is None:
        found = outcome.get()
        if isinstance(found, FleetVerdict) and not (folder / report_name(name)).is_file():
            message = f"its report is not in {folder}"
            return FleetFailure(error=message, where="", hint="all nodes have to share this folder", exit_code=3)
        return found
    discard_reports(folder, name)
    discard_partials(folder, (name,))
    failure = failure_of(outcome.error)
    if isinstance(outcome.error, TaskTimeoutError):
        return msgspec.structs.replace(failure, hint="--timeout gives it longer")
    return failure


class _Book:
    """What is finished, in memory and every now and then on disk.

    Args:
        folder: where the result is written.
        digests: of the settings of each operator, by name.
        clock: Unix seconds.
        began: when the run began, or the one that it goes on with.
        finished: what an earlier run has finished, by name.
    """

    def __init__(
        self,
        folder: Path,
        digests: Mapping[str, str],
        clock: Callable[[], float],
        began: float,
        finished: dict[str, FleetOperator],
    ) -> None:
        self._folder = folder
        self._digests = digests
        self._clock = clock
        self._saved = float("-inf")
        self.began = began
        self.finished = finished

    @classmethod
    def opened(cls, folder: Path, digests: Mapping[str, str], clock: Callable[[], float], *, fresh: bool) -> "_Book":
        """The book of an earlier run as far as it still holds, or an empty one.

        What is kept and what is added are of one moment: the run that goes on has the time of the one before.
        """
        previous = None if fresh else load_state(folder)
        if previous is None:
            return cls(folder, digests, clock, clock(), {})
        kept = {
            one.name: one
            for one in previous.operators
            if one.verdict is not None
            and one.settings == digests.get(one.name)
            and (folder / report_name(one.name)).is_file()
        }
        return cls(folder, digests, clock, previous.began if kept else clock(), kept)

    def enter(self, name: str, result: FleetVerdict | FleetFailure) -> None:
        """One operator is finished."""
        settings, finished = self._digests[name], self._clock()
        if isinstance(result, FleetVerdict):
            entry = FleetOperator(
                name=name, settings=settings, finished=finished, report=report_name(name), verdict=result
            )
        else:
            entry = FleetOperator(name=name, settings=settings, finished=finished, failure=result)
        self.finished[name] = entry
        if time.monotonic() - self._saved >= _SAVE_SECONDS:
            self.save()

    def standing(self) -> str:
        """How far it is, in a few words."""
        failed = sum(one.failure is not None for one in self.finished.values())
        left = len(self._digests) - len(self.finished)
        return f"operators: {len(self.finished) - failed} done, {failed} failed, {left} left"

    def save(self) -> Fleet:
        """Write the result so far, and give it."""
        fleet = Fleet(
            began=self.began,
            made=self._clock(),
            operators=worst_first(self.finished.values()),
            left=tuple(name for name in self._digests if name not in self.finished),
        )
        save_state(self._folder, fleet)
        self._saved = time.monotonic()
        return fleet


def worst_first(operators: Iterable[FleetOperator]) -> tuple[FleetOperator, ...]:
    """By severity, then by the time lost; those that failed last, since nothing is known of them."""

    def rank(one: FleetOperator) -> tuple[int, float, str]:
        verdict = one.verdict
        if verdict is None:
            return (len(Severity), 0.0, one.name)
        return (verdict.severity.rank, -verdict.lost_seconds, one.name)

    return tuple(sorted(operators, key=rank))
