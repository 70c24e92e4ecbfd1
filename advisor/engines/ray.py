"""Forecasts on Ray, for sweeps that need more cores than one machine has: ``pip install 'kuberay-advisor[ray]'``.

An address in ``RAY_ADDRESS`` is where they run; without one, Ray is started on this machine and stopped afterwards. The
nodes need this package and the same Python.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from advisor.engines.base import EngineUnavailableError, Tell, ignore_finished, run_one
from advisor.twin.predict import Forecast, ForecastTask

__all__ = ["RayEngine"]


class RayEngine:
    """Runs each forecast as a task of Ray.

    Args:
        workers: how many CPUs a Ray that is started here may use; all where None.

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

    def run(self, tasks: Sequence[ForecastTask], tell: Tell = ignore_finished) -> Iterator[tuple[int, Forecast]]:
        """See `Engine.run`; a Ray that is running already is used and left running."""
        ray = self._ray
        starts = not ray.is_initialized()
        if starts:
            ray.init(num_cpus=self._workers, include_dashboard=False, log_to_driver=False, logging_level="error")
        waiting: dict[Any, int] = {}
        try:
            # Put once: tasks are mostly the same load and calibration.
            shared = ray.put(list(tasks))
            remote = ray.remote(num_cpus=1, max_retries=3)(_one)
            waiting = {remote.remote(shared, index): index for index in range(len(tasks))}
            while waiting:
                (done, *_), _ = ray.wait(list(waiting), num_returns=1)
                found = ray.get(done)
                index = waiting.pop(done)
                tell(len(tasks) - len(waiting), len(tasks))
                yield index, found
        finally:
            for one in waiting:
                ray.cancel(one, force=True)
            if starts:
                ray.shutdown()


def _one(tasks: list[ForecastTask], index: int) -> Forecast:
    return run_one(tasks[index])
