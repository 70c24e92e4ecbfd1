"""The program serving a simulated operator, for tests that scrape one."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["serving"]

_PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()")


@contextmanager
def serving(*args: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The program serving in a process of its own, and its port."""
    process = subprocess.Popen([*_PROGRAM, "simulate", *args], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        match = re.fullmatch(r"serving http://127\.0\.0\.1:(\d+)/metrics; Ctrl-C ends it\n", process.stderr.readline())
        assert match is not None
        yield process, int(match[1])
    finally:
        process.kill()
        process.communicate()
