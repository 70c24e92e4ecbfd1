"""Forecasts on the cores of this machine.

Workers are plain interpreters of their own that read from a pipe and write to one. They import the twin and nothing
else, need nothing of the program that starts them (no ``__main__`` to be imported again, no copy of its threads and
locks), and end as soon as the pipe does: by being closed, by the end of this process, or by its death.
"""

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Final

from advisor.engines.base import Tell, ignore_finished, run_one
from advisor.errors import AdvisorError
from advisor.twin.predict import Forecast, ForecastTask

__all__ = ["LocalEngine", "cores"]

WORTH_SECONDS: Final = 0.6
"""Of work that is left; with less, this process is through before workers have started and helped."""
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from advisor.engines.worker import main; main()"
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a task came to: its forecast, or what was raised; the place is below zero where a worker is gone."""

    place: int
    forecast: Forecast | None
    error: BaseException | None


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine:
    """Runs forecasts in worker processes, or in this one where others would not be worth their start.

    Args:
        workers: how many processes; as many as there are cores where None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = cores() if workers is None else max(1, workers)

    def run(self, tasks: Sequence[ForecastTask], tell: Tell = ignore_finished) -> Iterator[tuple[int, Forecast]]:
        """See `Engine.run`."""
        for finished, pair in enumerate(self._found(tasks), start=1):
            tell(finished, len(tasks))
            yield pair

    def _found(self, tasks: Sequence[ForecastTask]) -> Iterator[tuple[int, Forecast]]:
        """The first forecasts here, and the others in workers once it shows that there is enough to do."""
        places = range(len(tasks))
        runs = [1 + task.draws for task in tasks]
        started, runs_done = time.monotonic(), 0
        for place in places:
            rest = places[place:]
            left = sum(runs[place:]) * (time.monotonic() - started) / runs_done if runs_done else 0.0
            if left > WORTH_SECONDS and self._workers > 1 and len(rest) > 1 and sys.executable:
                yield from _in_workers(tasks, rest, min(self._workers, len(rest)))
                return
            yield place, run_one(tasks[place])
            runs_done += runs[place]


def _in_workers(tasks: Sequence[ForecastTask], rest: Sequence[int], workers: int) -> Iterator[tuple[int, Forecast]]:
    answers: SimpleQueue[_Answer] = SimpleQueue()
    # What tasks share is written once: they are mostly the same load and calibration.
    material = pickle.dumps(list(tasks), pickle.HIGHEST_PROTOCOL)
    places = iter(rest)
    crew: list[_Worker] = []
    try:
        # One after the other, so that an interruption meanwhile leaves none that is not in the list.
        crew.extend(_Worker() for _ in range(workers))
        for worker in crew:
            worker.begin(material, places, answers)
        for _ in rest:
            answer = answers.get()
            if answer.error is not None:
                raise answer.error
            assert answer.forecast is not None  # noqa: S101 - it is that or an error
            yield answer.place, answer.forecast
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """One process, and the thread of this one that feeds it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter with a fixed program
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A Ctrl-C goes to the foreground's group only: this process gets it and ends the workers.
            process_group=0,
        )
        self._thread: threading.Thread | None = None

    def begin(self, material: bytes, places: Iterator[int], answers: "SimpleQueue[_Answer]") -> None:
        """Work off tasks until none is left."""
        self._thread = threading.Thread(target=self._feed, args=(material, places, answers), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        if self._thread is not None:
            self._thread.join()
        for pipe in self._pipes():
            pipe.close()

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        process = self._process
        assert process.stdin is not None  # noqa: S101 - asked for above
        assert process.stdout is not None  # noqa: S101 - asked for above
        return process.stdin, process.stdout

    def _feed(self, material: bytes, places: Iterator[int], answers: "SimpleQueue[_Answer]") -> None:
        to, back = self._pipes()
        try:
            to.write(material)
            # The next of a plain range is one step of the interpreter: no place is taken twice.
            for place in places:
                pickle.dump(place, to)
                to.flush()
                answers.put(_Answer(place, *pickle.load(back)))  # noqa: S301 - written by our own worker
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            code = self._process.wait()
            error = AdvisorError(
                f"a worker process ended with {_end_of(code)}",
                where="engine local",
                hint="was it killed, or is there too little memory? try fewer cells or draws",
            )
            answers.put(_Answer(-1, None, error))


def _end_of(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
