"""One task tried where it runs: whatever comes of it can travel back."""

import pickle
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from advisor.engines.base import Outcome, TaskTimeoutError

__all__ = ["packed", "tried", "tried_within"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_AGAIN_SECONDS = 1.0
"""A task that swallows the first alarm gets another."""


class _TooLongError(BaseException):
    """Raised in the middle of a task; not an Exception, so that nobody takes it for a fault of what he does."""


def tried(function: Callable[[_Task], _Result], task: _Task) -> Outcome[_Result]:
    """What the function comes to."""
    try:
        return Outcome(value=function(task))
    except Exception as error:  # noqa: BLE001 - raised or told where the result is asked for
        return Outcome(error=error)


def tried_within(seconds: float | None, function: Callable[[_Task], _Result], task: _Task) -> Outcome[_Result]:
    """The same, ended after so many seconds; only in a process's main thread, as signals want it."""
    if seconds is None:
        return tried(function, task)
    try:
        with _alarm(seconds):
            return tried(function, task)
    except _TooLongError:
        return Outcome(error=TaskTimeoutError.after(seconds))


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def packed(outcome: Outcome[object]) -> bytes:
    """An outcome, pickled; an error that cannot travel is told by its text."""
    try:
        data = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
        if outcome.error is not None:
            pickle.loads(data)  # noqa: S301 - an exception may come apart only here
    except Exception as error:  # noqa: BLE001 - whatever pickling runs into
        text = repr(outcome.error if outcome.error is not None else error)
        return pickle.dumps(Outcome(error=RuntimeError(text)), pickle.HIGHEST_PROTOCOL)
    return data
