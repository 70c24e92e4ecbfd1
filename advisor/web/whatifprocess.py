"""The process of one what-if: it reads a task from standard input, and writes what it comes to, one JSON value a line.

It has the lowest priority but one, so that pages stay quick, imports nothing of the pages, and ends with its parent.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from advisor.analysis.basis import Basis, situation_of
from advisor.analysis.whatif import Question, what_if
from advisor.diagnosis.thresholds import Thresholds
from advisor.engines.bounded import BoundedEngine
from advisor.engines.local import LocalEngine
from advisor.engines.worker import end_with
from advisor.errors import AdvisorError
from advisor.model.whatif import WhatIf
from advisor.twin.grid import GridAxes
from advisor.web.whatifasked import Asked

__all__ = ["Failed", "Found", "Process", "Step", "Task", "Told", "main", "run"]

_NICE: Final = 10
_SEED: Final = 1
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from advisor.web.whatifprocess import main; main()"
)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One question.

    Attributes:
        basis: what it rests on.
        asked: the settings.
        around: combinations to show beside.
        draws: runs for the intervals of what is asked.
        draws_around: runs for those of the combinations beside.
        seconds: after so many no more combinations are tried; what is finished is shown.
    """

    basis: Basis
    asked: Asked
    around: GridAxes
    draws: int
    draws_around: int
    seconds: float


class Step(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """What is being done."""

    text: str


class Found(msgspec.Struct, frozen=True, kw_only=True, tag="found"):
    """The settings in force and those that are asked; with ``is_around``, the combinations beside."""

    result: WhatIf
    is_around: bool = False


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """Why there is no result."""

    error: str


Told = Step | Found | Failed
_TASK: Final = msgspec.json.Decoder(Task)
_TOLD: Final[msgspec.json.Decoder[Told]] = msgspec.json.Decoder(Told)


def main() -> None:
    """Do the task of standard input; the program of the process."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    os.nice(_NICE)
    answers = sys.stdout.buffer
    # Whatever else is printed must not get between the answers.
    sys.stdout = sys.stderr

    def tell(told: Told) -> None:
        answers.write(msgspec.json.encode(told) + b"\n")
        answers.flush()

    try:
        run(_TASK.decode(sys.stdin.buffer.readline()), tell)
    except BrokenPipeError:
        return


def run(task: Task, tell: Callable[[Told], None], clock: Callable[[], float] = time.monotonic) -> None:
    """Do a task.

    Args:
        task: what is asked.
        tell: is told each step, and what is found.
        clock: seconds that never go back.
    """
    end = clock() + task.seconds
    here, target = LocalEngine(1), Thresholds().wait_target_seconds
    try:
        situation = situation_of(task.basis, lambda text: tell(Step(text=text)))
        question = Question(task.asked.axes(), task.draws, _SEED, target)
        tell(Found(result=what_if(situation, question, here, lambda text: tell(Step(text=text)))))
        question = Question(task.around, task.draws_around, _SEED, target)
        bounded = BoundedEngine(here, lambda: clock() >= end)
        around = what_if(situation, question, bounded, lambda text: tell(Step(text=f"map: {text}")))
        tell(Found(result=around, is_around=True))
    except (AdvisorError, ValueError) as error:
        tell(Failed(error=str(error)))


class Process:
    """The process of one task, from outside.

    Raises:
        OSError: none can be started.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter with a fixed program
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A Ctrl-C goes to the foreground's group only: this process gets it and ends the other.
            process_group=0,
        )

    def told(self) -> Iterator[Told]:
        """What it tells, until it has ended; nothing of it is left then."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None  # noqa: S101 - asked for above
        assert back is not None  # noqa: S101 - asked for above
        try:
            try:
                to.write(msgspec.json.encode(self._task) + b"\n")
                to.flush()
                for line in back:
                    yield _TOLD.decode(line)
            except (OSError, msgspec.MsgspecError):
                # It was killed in the middle of a word; what matters was told before.
                return
        finally:
            self._process.kill()
            self._process.wait()
            back.close()
            # What it had not read goes with it.
            with suppress(OSError):
                to.close()

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
