"""Progress on standard error, for people who wait and for nobody else."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from advisor.analysis.loading import Progress, ignore_progress

__all__ = ["late_progress"]

_PATIENCE_SECONDS = 1.0
"""What is over within this time shows nothing, so that quick runs do not flicker."""


@contextmanager
def late_progress(first: str) -> Iterator[Progress]:
    """Something to tell steps to, beginning with ``first``; shown on a terminal once it has taken a while."""
    if not sys.stderr.isatty():
        yield ignore_progress
        return
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if console.is_dumb_terminal:
        yield ignore_progress
        return
    status = console.status(first, spinner="line")
    timer = threading.Timer(_PATIENCE_SECONDS, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield status.update
    finally:
        timer.cancel()
        timer.join()  # it may be starting just now
        status.stop()
