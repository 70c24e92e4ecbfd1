"""What every engine does, and how one is chosen by name.

An engine only decides where a forecast runs. Each forecast has its own source of random numbers from its own seed, so
the same tasks give the same results on every engine, bit for bit and in whatever order they finish.
"""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from random import Random
from typing import ClassVar, Final, Protocol

from advisor.errors import AdvisorError, UnknownNameError
from advisor.twin.predict import Forecast, ForecastTask, forecast

__all__ = ["ENGINES", "Engine", "EngineUnavailableError", "Tell", "engine_named", "ignore_finished", "run_one"]

_MODULES: Final = {
    "local": ("advisor.engines.local", "LocalEngine"),
    "ray": ("advisor.engines.ray", "RayEngine"),
}
ENGINES: Final = tuple(_MODULES)
"""The names that `engine_named` knows."""

Tell = Callable[[int, int], None]
"""Called with the number of finished tasks and of all tasks."""


class EngineUnavailableError(AdvisorError):
    """The engine needs something that is not installed."""

    exit_code: ClassVar[int] = 2


class Engine(Protocol):
    """Runs forecasts."""

    def run(self, tasks: Sequence[ForecastTask], tell: Tell = ...) -> Iterator[tuple[int, Forecast]]:
        """Each task's place and its forecast, as they finish.

        Closing the iterator, or an exception such as Ctrl-C while it waits, ends all that still runs; what was yielded
        before stays good.

        Raises:
            AdvisorError: the engine failed; whatever a forecast raises is raised as it is.
        """
        ...


def ignore_finished(_: int, __: int) -> None:
    """Progress that nobody looks at."""


def run_one(task: ForecastTask) -> Forecast:
    """One forecast here and now."""
    return forecast(task, Random)


def engine_named(name: str, *, workers: int | None = None) -> Engine:
    """The engine of a name.

    Args:
        name: one of `ENGINES`.
        workers: how many forecasts at a time; what the machine has where None.

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
