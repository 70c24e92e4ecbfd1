"""Tasks as far as there is time: an engine before another one."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from advisor.engines.base import Engine, Outcome, Result, Task, Tell, equal_weight, ignore_finished

__all__ = ["BoundedEngine"]

_Pair = TypeVar("_Pair")


class BoundedEngine:
    """Runs tasks on another engine, and no more of them once the time is over: the rest is left out.

    A task that has begun is finished.

    Args:
        engine: where tasks run.
        is_over: whether the time is over; asked before each result is waited for.
    """

    def __init__(self, engine: Engine, is_over: Callable[[], bool]) -> None:
        self._engine = engine
        self._is_over = is_over

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Tell = ignore_finished,
        *,
        weigh: Callable[[Task], float] = equal_weight,
    ) -> Iterator[tuple[int, Result]]:
        """See `Engine.run`; some may be missing."""
        return self._in_time(self._engine.run(function, tasks, tell, weigh=weigh))

    def attempt(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[Result]]]:
        """See `Engine.attempt`; some may be missing."""
        with closing(self._engine.attempt(function, tasks, seconds)) as found:
            yield from self._in_time(found)

    def _in_time(self, found: Iterator[_Pair]) -> Iterator[_Pair]:
        """Results until the time is over; the one that is waited for then still comes."""
        while not self._is_over():
            pair = next(found, None)
            if pair is None:
                return
            yield pair
