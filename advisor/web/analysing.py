"""One analysis: here, or in a process of its own.

An analysis takes a core for a while and memory with it, so it has a process of its own: pages stay quick, and one that
takes too long is ended.
"""

import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from advisor.analysis import Loaded, Options, load_source, report_of
from advisor.analysis.basis import basis_of, write_basis
from advisor.analysis.fleetsources import load_entry
from advisor.engines.base import Outcome
from advisor.engines.local import LocalEngine
from advisor.errors import AdvisorError, NothingToAnalyseError
from advisor.model.raw import Setup
from advisor.model.report import Report
from advisor.sources.endpoint import Access, tls_context
from advisor.sources.fleetspec import ScrapeSpec
from advisor.sources.sidecar import SidecarSource, address
from advisor.web.configoperators import OperatorSpec, SidecarSpec

__all__ = ["Analyse", "Analysed", "Task", "access_to", "analyse_task", "analysed", "apart", "here", "told_of"]

_LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True)
class Task:
    """One analysis, fit to be sent to another process.

    Attributes:
        spec: which operator; no whole store.
        now: the Unix time at which the range ends.
        options: of the analysis.
    """

    spec: OperatorSpec
    now: float
    options: Options


@dataclass(frozen=True, slots=True)
class Analysed:
    """What an analysis comes to: its report, and what a what-if can rest on, or why there is nothing."""

    report: Report
    basis: bytes | None
    missing: str = ""


Analyse = Callable[[Task, float, threading.Event], Analysed]
"""Runs a task for at most so many seconds, or until the event is set: `here` or `apart`."""


def analyse_task(task: Task) -> Analysed:
    """Analyse one operator, to the end.

    Raises:
        InputError: its source cannot be read.
        NothingToAnalyseError: it was read and holds nothing to analyse.
        UnknownNameError: the store has several operators that fit.
    """
    return analysed(_loaded(task), task.spec.name, task.options)


def analysed(loaded: Loaded, name: str, options: Options) -> Analysed:
    """What an analysis of an operator of this name comes to."""
    # Named as in the configuration: of several operators called kuberay nobody knows which is which.
    report = report_of(replace(loaded, operator=name), options)
    try:
        return Analysed(report, write_basis(basis_of(name, loaded)))
    except NothingToAnalyseError as error:
        return Analysed(report, None, error.message)


def _loaded(task: Task) -> Loaded:
    if task.spec.sidecar is None:
        return load_entry(task.spec.entry(), task.now)
    sidecar = task.spec.sidecar
    with SidecarSource(address(sidecar.url), access_to(sidecar)) as source:
        return load_source(source, told=told_of(task.spec))


def told_of(spec: OperatorSpec) -> Setup:
    """What the configuration says of an operator beside its source."""
    assert isinstance(spec.args, tuple)  # noqa: S101 - they are words once the configuration is read
    return Setup(version=spec.version, args=spec.args, profile=spec.profile)


def access_to(spec: ScrapeSpec | SidecarSpec) -> Access:
    """What to send along.

    Raises:
        InputNotFoundError: the file of authorities cannot be read.
    """
    token_file = None if spec.bearer_token_file is None else Path(spec.bearer_token_file)
    ca_file = None if spec.ca_file is None else Path(spec.ca_file)
    return Access(spec.headers, token_file, tls_context(ca_file, insecure=spec.insecure))


def here(task: Task, _seconds: float, _stop: threading.Event) -> Analysed:
    """Run a task in this thread; it can neither be ended nor stopped, but its requests have bounds of their own."""
    return analyse_task(task)


def apart(task: Task, seconds: float, stop: threading.Event) -> Analysed:
    """Run a task in a process of its own, which is ended when it takes too long.

    Raises:
        TaskTimeoutError: it took too long.
        AdvisorError: it was stopped, or the process died; whatever the task raises is raised as it is.
    """
    outcomes: SimpleQueue[Outcome[Analysed]] = SimpleQueue()

    def attempt() -> None:
        try:
            with closing(LocalEngine(1).attempt(analyse_task, [task], [seconds])) as found:
                for _, outcome in found:
                    outcomes.put(outcome)
        except Exception as error:  # noqa: BLE001 - raised where the result is asked for
            outcomes.put(Outcome(error=error))

    # An engine cannot be stopped from outside while it waits. So it waits elsewhere; what is left behind at the
    # end of the service ends with it, and else at its time-out.
    threading.Thread(target=attempt, name=f"engine {task.spec.name}", daemon=True).start()
    while not stop.is_set():
        try:
            return outcomes.get(timeout=_LOOK_SECONDS).get()
        except Empty:
            continue
    raise AdvisorError("stopped", where=task.spec.name)
