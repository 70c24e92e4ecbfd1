"""Reconcilers and sources that do as a test says, and drivers that are up."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from advisor.queueing.controlleroptions import (
    ControllerOptions,
    ManagerDefaults,
    ResolvedOptions,
    resolve,
)
from advisor.queueing.election import Elector
from advisor.queueing.outcome import SUCCESS, Outcome
from advisor.queueing.types import AddOptions
from advisor.runtime.context import ReconcileContext, ReconcileRequest
from advisor.runtime.driver import Driver
from advisor.runtime.source import SourceHandle

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
# Only ever waited for in full by a test that fails.
LONG = 30.0
Step = Outcome | BaseException | Callable[[ReconcileContext], Outcome]


def options(**own: Any) -> ResolvedOptions:  # noqa: ANN401 - each option has its own type
    """Options of a controller named x."""
    return resolve(ControllerOptions("x", **own), ManagerDefaults())


class Script:
    """A reconciler that does what it is told, one step after the other, and then succeeds."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.calls: SimpleQueue[ReconcileRequest] = SimpleQueue()

    def __call__(self, request: ReconcileRequest, context: ReconcileContext) -> Outcome:
        """Take the next step."""
        step = self.steps.pop(0) if self.steps else SUCCESS
        self.calls.put(request)
        if isinstance(step, BaseException):
            raise step
        return step if isinstance(step, Outcome) else step(context)

    def next_key(self) -> str:
        """The key of the next call, waited for."""
        return self.calls.get(timeout=LONG).key

    @property
    def is_idle(self) -> bool:
        """Whether there was no call since the last one asked for."""
        return self.calls.empty()


class Held:
    """A step that lasts until it is released, whatever the driver wants."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.released = threading.Event()

    def __call__(self, context: ReconcileContext) -> Outcome:
        """Wait."""
        self.entered.set()
        assert self.released.wait(LONG)
        return SUCCESS


class ListSource:
    """A source with an initial list, which it holds back until told, and a channel of events after it."""

    def __init__(self, name: str, *keys: str, held: bool = False) -> None:
        self.name = name
        self.keys = keys
        self.go_on = threading.Event()
        if not held:
            self.go_on.set()
        self.listed = threading.Event()
        self.events: SimpleQueue[str | BaseException] = SimpleQueue()
        self.runs = 0

    def run(self, handle: SourceHandle) -> None:
        """List, sync, and then pass events on."""
        self.runs += 1
        handle.started()
        handle.started()
        handle.add(*self.keys, options=AddOptions(priority=-100))
        self.listed.set()
        while not self.go_on.wait(0.005):
            if handle.is_cancelled():
                return
        handle.synced()
        while not handle.wait(0):
            try:
                event = self.events.get(timeout=0.005)
            except Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            handle.add(event)


class FailingSource:
    """A source that fails, before or after it says that it is up."""

    name = "Pod"

    def __init__(self, error: BaseException, *, after_start: bool = False) -> None:
        self.error = error
        self.after_start = after_start

    def run(self, handle: SourceHandle) -> None:
        """Fail."""
        if self.after_start:
            handle.started()
        raise self.error


class BlockingSource:
    """A source that never says anything, until it is released."""

    name = "Blocked"

    def __init__(self) -> None:
        self.released = threading.Event()

    def run(self, handle: SourceHandle) -> None:
        """Block."""
        assert self.released.wait(LONG)


@contextmanager
def working(driver: Driver) -> Iterator[Driver]:
    """A driver whose workers have started."""
    with driver:
        assert driver.wait_until_working(LONG)
        yield driver


def threads() -> set[str]:
    """Names of the threads of controllers named x."""
    return {thread.name for thread in threading.enumerate() if thread.name.startswith("x-")}


def elector(name: str) -> Elector:
    """A candidate that tries often, gives up soon, and takes over only what was released."""
    return Elector(name, lease_ns=3600 * SECOND, renew_ns=20 * MILLISECOND, retry_ns=10 * MILLISECOND)
