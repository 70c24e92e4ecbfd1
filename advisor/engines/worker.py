"""The program of a worker process: it reads function and tasks, then places of tasks, and writes what each came to."""

import gc
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from advisor.engines.trying import packed, tried

__all__ = ["READY", "end_with", "main", "serve"]

READY = b"\n"
"""Written once everything is imported and read."""
_LOOK_SECONDS = 0.5


def main() -> None:
    """Serve standard input and output until the input ends."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    answers = sys.stdout.buffer
    # Whatever else is printed must not get between the answers.
    sys.stdout = sys.stderr
    serve(sys.stdin.buffer, answers)


def end_with(parent: int) -> None:
    """End in the middle of a task when the parent is gone; between tasks the end of the questions does it."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until the questions end."""
    try:
        function, tasks = _work(questions)
        # What imports made stays: no collection needs to look at it again.
        gc.freeze()
        answers.write(READY)
        answers.flush()
        while True:
            place: int = pickle.load(questions)  # noqa: S301 - written by our own parent
            answers.write(packed(tried(function, tasks[place])))
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


def _work(questions: IO[bytes]) -> tuple[Callable[[Any], object], list[Any]]:
    """Function and tasks; reading them imports what they need, and nothing else."""
    function, tasks = pickle.load(questions)  # noqa: S301 - as above
    return function, tasks
