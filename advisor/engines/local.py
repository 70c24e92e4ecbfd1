"""Tasks on the cores of this machine.

Workers are plain interpreters of their own that read from a pipe and write to one. They import what the tasks need and
nothing else, need nothing of the program that starts them (no ``__main__`` to be imported again, no copy of its threads
and locks), and end as soon as the pipe does: by being closed, by the end of this process, or by its death.
"""

import json
import os
import pickle
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO, Any, Final

from advisor.engines.base import (
    Outcome,
    Result,
    Task,
    TaskTimeoutError,
    Tell,
    equal_weight,
    ignore_finished,
)
from advisor.engines.worker import READY
from advisor.errors import AdvisorError

__all__ = ["LocalEngine", "cores"]

WORTH_SECONDS: Final = 0.6
"""Of work that is left; with less, this process is through before workers have started and helped."""
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from advisor.engines.worker import main; main()"
)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalEngine:
    """Runs tasks in worker processes, or in this one where others would not be worth their start.

    Args:
        workers: how many processes; as many as there are cores where None.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = cores() if workers is None else max(1, workers)

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Tell = ignore_finished,
        *,
        weigh: Callable[[Task], float] = equal_weight,
    ) -> Iterator[tuple[int, Result]]:
        """See `Engine.run`: the first tasks here, the others in workers once it shows that there is enough to do."""
        with closing(self._found(function, tasks, [weigh(task) for task in tasks])) as found:
            for finished, pair in enumerate(found, start=1):
                tell(finished, len(tasks))
                yield pair

    def _found(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], weights: Sequence[float]
    ) -> Generator[tuple[int, Result]]:
        places = range(len(tasks))
        started, weight_done = time.monotonic(), 0.0
        for place in places:
            rest = places[place:]
            left = sum(weights[place:]) * (time.monotonic() - started) / weight_done if weight_done else 0.0
            if left > WORTH_SECONDS and self._workers > 1 and len(rest) > 1 and sys.executable:
                with closing(_in_workers(_Work.of(function, tasks), rest, self._workers)) as found:
                    for one, outcome in found:
                        yield one, outcome.get()
                return
            yield place, function(tasks[place])
            weight_done += weights[place]

    def attempt(
        self, function: Callable[[Task], Result], tasks: Sequence[Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[Result]]]:
        """See `Engine.attempt`: always in workers, which alone can be ended in the middle of a task."""
        return _in_workers(_Work.of(function, tasks, tuple(seconds)), range(len(tasks)), self._workers)


@dataclass(frozen=True, slots=True)
class _Work:
    """What workers are given: function and tasks, pickled, and how long each task may take; as it likes where empty."""

    material: bytes
    seconds: tuple[float, ...] = ()

    @classmethod
    def of(cls, function: Callable[[Any], object], tasks: Sequence[object], seconds: tuple[float, ...] = ()) -> "_Work":
        # What tasks share is written once: forecasts have mostly the same load and calibration.
        return cls(pickle.dumps((function, list(tasks)), pickle.HIGHEST_PROTOCOL), seconds)


def _in_workers(work: _Work, rest: Sequence[int], workers: int) -> Generator[tuple[int, Outcome[Any]]]:
    answers: SimpleQueue[tuple[int, Outcome[Any]]] = SimpleQueue()
    places = iter(rest)
    crew: list[_Worker] = []
    try:
        # One after the other, so that an interruption meanwhile leaves none that is not in the list.
        crew.extend(_Worker(work) for _ in range(min(workers, len(rest))))
        for worker in crew:
            worker.begin(places, answers)
        for _ in rest:
            yield answers.get()
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """One process after the other, and the thread of this one that feeds it.

    A process ends where it is killed, breaks, or takes too long; then another takes its place.
    """

    def __init__(self, work: _Work) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._is_ended = False
        self._is_ready = False
        self._process = _started()
        self._thread: threading.Thread | None = None

    def begin(self, places: Iterator[int], answers: "SimpleQueue[tuple[int, Outcome[Any]]]") -> None:
        """Work off tasks until none is left."""
        self._thread = threading.Thread(target=self._feed, args=(places, answers), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        with self._lock:
            self._is_ended = True
            self._process.kill()
        if self._thread is not None:
            self._thread.join()
        _dispose(self._process)

    def _feed(self, places: Iterator[int], answers: "SimpleQueue[tuple[int, Outcome[Any]]]") -> None:
        # The next of a plain range is one step of the interpreter: no place is taken twice.
        for place in places:
            answers.put((place, self._outcome(place)))
            if self._is_ended:
                return

    def _outcome(self, place: int) -> Outcome[Any]:
        """What a task comes to; another process is there afterwards if this one is not."""
        to, back = _pipes(self._process)
        seconds = self._work.seconds[place] if self._work.seconds else None
        try:
            if not self._is_ready:
                to.write(self._work.material)
                to.flush()
                self._is_ready = back.read(len(READY)) == READY
            pickle.dump(place, to)
            to.flush()
            if seconds is not None and not _answers_within(back, seconds):
                self._renew()
                return Outcome(error=TaskTimeoutError.after(seconds))
            outcome: Outcome[Any] = pickle.load(back)  # noqa: S301 - written by our own worker
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            code = self._process.wait()
            self._renew()
            return Outcome(error=_death(code))
        return outcome

    def _renew(self) -> None:
        """Another process in place of this one, unless all is to end."""
        with self._lock:
            if self._is_ended:
                return
            _dispose(self._process)
            self._process = _started()
            self._is_ready = False


def _started() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - this interpreter with a fixed program
        [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # A Ctrl-C goes to the foreground's group only: this process gets it and ends the workers.
        process_group=0,
    )


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None  # noqa: S101 - asked for above
    assert process.stdout is not None  # noqa: S101 - asked for above
    return process.stdin, process.stdout


def _dispose(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    to, back = _pipes(process)
    back.close()
    try:
        to.close()
    except BrokenPipeError:  # what was not read yet goes nowhere
        return


def _answers_within(back: IO[bytes], seconds: float) -> bool:
    """Whether an answer begins in time; nothing of it has been read yet, so the pipe itself tells."""
    pipe = select.poll()
    pipe.register(back, select.POLLIN | select.POLLHUP)
    return bool(pipe.poll(seconds * 1000.0))


def _death(code: int) -> AdvisorError:
    end = f"signal {-code}" if code < 0 else f"exit code {code}"
    return AdvisorError(
        f"a worker process ended with {end}",
        where="engine local",
        hint="was it killed, or is there too little memory? give it less to do, or run fewer at a time",
    )
