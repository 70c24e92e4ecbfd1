"""What one reconcile came to, and how an exception is read as such (research: controller-runtime 3.3)."""

from dataclasses import dataclass
from enum import Enum

__all__ = [
    "SUCCESS",
    "Failure",
    "Outcome",
    "ReconcileError",
    "Result",
    "TerminalError",
    "is_terminal",
    "outcome_of_error",
]


class Result(Enum):
    """Values of the `result` label of `controller_runtime_reconcile_total`."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE = "requeue"
    REQUEUE_AFTER = "requeue_after"


class Failure(Enum):
    """How a reconcile failed."""

    RETRIABLE = "retriable"
    TERMINAL = "terminal"
    # Counted as a panic as well; recovered, it is retried like any other error.
    PANIC = "panic"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of a reconciler. An error beats everything else in it.

    Attributes:
        failure: how it failed; None if it did not.
        requeue_after_ns: run again after this long; zero or less means no such wish.
        requeue: run again with backoff; a duration beats it.
        priority: priority of the run to come; None keeps the one this run had.
        timed_out: the deadline of the reconcile had passed when it returned, whatever it returned.
    """

    failure: Failure | None = None
    requeue_after_ns: int = 0
    requeue: bool = False
    priority: int | None = None
    timed_out: bool = False

    @property
    def result(self) -> Result:
        """The first that matches, as the controller counts it."""
        if self.failure is not None:
            return Result.ERROR
        if self.requeue_after_ns > 0:
            return Result.REQUEUE_AFTER
        return Result.REQUEUE if self.requeue else Result.SUCCESS


SUCCESS = Outcome()


class ReconcileError(Exception):
    """A reconcile that failed and says so; any other exception is a breakdown, counted as a panic."""


class TerminalError(ReconcileError):
    """An error that a retry cannot cure."""


def is_terminal(error: BaseException) -> bool:
    """Whether a terminal error is in the chain of causes, or among errors joined in a group.

    One terminal error joined with retriable ones suppresses the retry of all.
    """
    seen: set[int] = set()
    todo: list[BaseException] = [error]
    while todo:
        one = todo.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, TerminalError):
            return True
        if isinstance(one, BaseExceptionGroup):
            todo.extend(one.exceptions)
        if one.__cause__ is not None:
            todo.append(one.__cause__)
    return False


def outcome_of_error(error: BaseException, *, priority: int | None = None) -> Outcome:
    """The outcome of a reconcile that raised.

    Args:
        error: what it raised.
        priority: what the result beside the error asks for.
    """
    if is_terminal(error):
        return Outcome(failure=Failure.TERMINAL, priority=priority)
    return Outcome(failure=Failure.RETRIABLE if _is_reported(error) else Failure.PANIC, priority=priority)


def _is_reported(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_reported(one) for one in error.exceptions)
    return isinstance(error, ReconcileError)
