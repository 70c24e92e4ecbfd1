"""The program of a worker process: it reads all tasks, then places of tasks, and writes what each came to."""

import gc
import os
import pickle
import sys
import threading
import time
from typing import IO

from advisor.engines.base import run_one
from advisor.twin.predict import Forecast, ForecastTask

__all__ = ["main", "serve"]

_LOOK_SECONDS = 0.5

Outcome = tuple[Forecast | None, BaseException | None]


def main() -> None:
    """Serve standard input and output until the input ends."""
    # What imports made stays: no collection needs to look at it again.
    gc.freeze()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = sys.stdout.buffer
    # Whatever else is printed must not get between the answers.
    sys.stdout = sys.stderr
    serve(sys.stdin.buffer, answers)


def _end_with(parent: int) -> None:
    """End in the middle of a task when the parent is gone; between tasks the end of the questions does it."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the questions end."""
    try:
        tasks: list[ForecastTask] = pickle.load(questions)  # noqa: S301 - written by our own parent
        while True:
            index: int = pickle.load(questions)  # noqa: S301 - as above
            answers.write(_packed(_outcome(tasks[index])))
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


def _outcome(task: ForecastTask) -> Outcome:
    try:
        return run_one(task), None
    except Exception as error:  # noqa: BLE001 - raised again where the forecast is asked for
        return None, error


def _packed(outcome: Outcome) -> bytes:
    try:
        data = pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
        if outcome[1] is not None:
            pickle.loads(data)  # noqa: S301 - an exception may come apart only here
    except Exception:  # noqa: BLE001 - an error that cannot travel is told by its text
        return pickle.dumps((None, RuntimeError(repr(outcome[1]))), pickle.HIGHEST_PROTOCOL)
    return data
