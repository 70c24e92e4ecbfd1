"""What every engine does, and how one is chosen by name.

An engine only decides where a task runs. A task is one argument of a function that depends on nothing else, so the same
tasks give the same results on every engine, bit for bit and in whatever order they finish. Function, tasks and results
are pickled: the function is one of a module, which is imported where it runs, and nothing else is.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar, Final, Generic, Protocol, TypeVar, cast

from advisor.errors import AdvisorError, UnknownNameError

__all__ = [
    "ENGINES",
    "Engine",
    "EngineUnavailableError",
    "Outcome",
    "Result",
    "Task",
    "TaskTimeoutError",
    "Tell",
    "engine_named",
    "equal_weight",
    "ignore_finished",
]

_MODULES: Final = {
    "local": ("advisor.engines.local", "LocalEngine"),
    "ray": ("advisor.engines.ray", "RayEngine"),
}
ENGINES: Final = tuple(_MODULES)
"""The names that `engine_named` knows."""

Task = TypeVar("Task")
Result = TypeVar("Result")
Tell = Callable[[int, int], None]
"""Called with the number of finished tasks and of all tasks."""


class EngineUnavailableError(AdvisorError):
    """The engine needs something that is not installed."""

    exit_code: ClassVar[int] = 2


class TaskTimeoutError(AdvisorError):
    """A task took longer than it may."""

    exit_code: ClassVar[int] = 3

    @classmethod
    def after(cls, seconds: float) -> "TaskTimeoutError":
        """The error of a task that was ended after so many seconds."""
        return cls(f"not finished within {seconds:g} s")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """What a task came to: a value, or what was raised in its place."""

    value: Result | None = None
    error: BaseException | None = None

    def get(self) -> Result:
        """The value; what was raised is raised here."""
        if self.error is not None:
            raise self.error
        return cast("Result", self.value)


def equal_weight(_: object) -> float:
    """Every task takes as long as any other."""
    return 1.0


def ignore_finished(_: int, __: int) -> None:
    """Progress that nobody looks at."""


class Engine(Protocol):
    """Runs tasks.

    Closing an iterator, or an exception such as Ctrl-C while it waits, ends all that still runs; what was yielded
    before stays good.
    """

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Tell = ignore_finished,
        *,
        weigh: Callable[[Task], float] = equal_weight,
    ) -> Iterator[tuple[int, Result]]:
        """Each task's place and its result, as they finish; all of them are needed.

        Args:
            function: what to do with a task.
            tasks: its arguments.
            tell: is told how many are finished.
            weigh: how long a task takes, in proportion to others.

        Raises:
            AdvisorError: the engine failed; whatever the function raises is raised as it is.
        """
        ...

    def attempt(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[Result]]]:
        """Each task's place and what it came to, as they finish; one that fails stops no other.

        What is raised, takes too long, or ends the process that it runs in, is an outcome.

        Args:
            function: what to do with a task.
            tasks: its arguments.
            seconds: how long each may take.
        """
        ...


def engine_named(name: str, *, workers: int | None = None) -> Engine:
    """The engine of a name.

    Args:
        name: one of `ENGINES`.
        workers: how many tasks at a time; what the machine has where None.

    Raises:
        UnknownNameError: there is no such engine.
        EngineUnavailableError: what it needs is not installed.
    """
    if name not in _MODULES:
        raise UnknownNameError(f"{name!r} is no engine", where="engine", hint=f"one of {', '.join(ENGINES)}")
    module, kind = _MODULES[name]
    # Imported only now: most who ask need one of them.
    engine: Engine = getattr(import_module(module), kind)(workers)
    return engine
