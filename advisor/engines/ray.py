"""Tasks on Ray, for those who need more cores than one machine has: ``pip install 'kuberay-advisor[ray]'``.

An address in ``RAY_ADDRESS`` is where they run; without one, Ray is started on this machine and stopped afterwards. The
nodes need this package and the same Python.
"""

import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from importlib import import_module
from itertools import islice
from typing import Any

from advisor.engines.base import EngineUnavailableError, Outcome, Result, Task, Tell, equal_weight, ignore_finished
from advisor.engines.trying import packed, tried_within

__all__ = ["RayEngine"]

_RETRIES = 3
"""For a node that goes away."""


class RayEngine:
    """Runs each task as one of Ray.

    Args:
        workers: how many tasks at a time, and how many CPUs a Ray that is started here may use; all there are where
            None.

    Raises:
        EngineUnavailableError: Ray is not installed.
    """

    def __init__(self, workers: int | None = None) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise EngineUnavailableError(
                f"Ray cannot be imported: {error}",
                where="engine ray",
                hint="pip install 'kuberay-advisor[ray]', or use the engine local",
            ) from error
        self._workers = workers

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Tell = ignore_finished,
        *,
        weigh: Callable[[Task], float] = equal_weight,  # noqa: ARG002 - Ray spreads tasks by itself
    ) -> Iterator[tuple[int, Result]]:
        """See `Engine.run`."""
        with closing(self._outcomes(function, tasks, ())) as outcomes:
            for finished, (place, outcome) in enumerate(outcomes, start=1):
                result: Result = outcome.get()
                tell(finished, len(tasks))
                yield place, result

    def attempt(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[Result]]]:
        """See `Engine.attempt`; a task's time counts from its start, however long it waited for a CPU."""
        return self._outcomes(function, tasks, seconds)

    def _outcomes(
        self, function: Callable[[Any], object], tasks: Sequence[object], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[Any]]]:
        """What each task came to; a Ray that is running already is used and left running."""
        ray = self._ray
        starts = not ray.is_initialized()
        if starts:
            ray.init(num_cpus=self._workers, include_dashboard=False, log_to_driver=False, logging_level="error")
        waiting: dict[Any, int] = {}
        try:
            # Put once: tasks may share much.
            shared = ray.put((function, list(tasks)))
            remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_one)
            places = iter(range(len(tasks)))

            def ask(most: int | None) -> None:
                for place in islice(places, most):
                    waiting[remote.remote(shared, place, seconds[place] if seconds else None)] = place

            ask(self._workers)
            while waiting:
                (done, *_), _ = ray.wait(list(waiting), num_returns=1)
                outcome = self._outcome(done)
                finished = waiting.pop(done)
                ask(1)
                yield finished, outcome
        finally:
            for one in waiting:
                ray.cancel(one, force=True)
            if starts:
                ray.shutdown()

    def _outcome(self, done: object) -> Outcome[Any]:
        try:
            outcome: Outcome[Any] = pickle.loads(self._ray.get(done))  # noqa: S301 - written by our own task
        except Exception as error:  # noqa: BLE001 - whatever Ray says of a task that died
            return Outcome(error=error)
        return outcome


def _one(work: tuple[Callable[[Any], object], list[Any]], place: int, seconds: float | None) -> bytes:
    function, tasks = work
    return packed(tried_within(seconds, function, tasks[place]))
