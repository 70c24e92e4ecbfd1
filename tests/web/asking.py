"""A service that what-ifs can be asked of, with the load of a real recording, and processes that tests play."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import SimpleQueue

from flask import Flask

from advisor.analysis.basis import Basis, basis_of, write_basis
from advisor.analysis.loading import load_source
from advisor.model.whatif import WhatIf
from advisor.sources.recording import RecordingSource
from advisor.sources.scraping import Clock
from advisor.web.app import create_app
from advisor.web.state import Service
from advisor.web.whatifasked import axes_around, read_asked
from advisor.web.whatifline import LineRules
from advisor.web.whatifprocess import Found, Task, Told, run
from advisor.web.whatifs import Effort, WhatIfs
from tests.support import ROOT
from tests.web.serving import NOW, World

__all__ = ["TINY", "Asking", "Clocked", "Played", "basis", "children", "command", "played", "results"]

TINY = Effort(seconds=120.0, draws=1, draws_around=0, workers=2, paces=1)
"""Real runs of the twin, as few as there can be."""


@cache
def basis(name: str = "one") -> Basis:
    """What an analysis of a real recording takes down."""
    return basis_of(name, load_source(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker")))


@cache
def results() -> tuple[WhatIf, WhatIf]:
    """What a real question comes to: four workers in place of one."""
    asked = read_asked({"concurrency": "4"}, basis().settings)
    around = axes_around(basis().settings, asked, (None, None), workers=2, paces=1)
    told: list[Told] = []
    run(Task(basis=basis(), asked=asked, around=around, draws=1, draws_around=0, seconds=60.0), told.append)
    answer, beside = (one.result for one in told if isinstance(one, Found))
    return answer, beside


def children(word: str = "") -> set[int]:
    """Processes that this one has started and that are not gone, those with a word in their command line."""
    found = {int(one) for path in Path("/proc/self/task").glob("*/children") for one in path.read_text().split()}
    return {one for one in found if word in command(one)}


def command(process: int) -> str:
    """The command line of a process; "" where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


@dataclass
class Clocked(Clock):
    """A clock that goes when a test says so; whoever waits looks at it often."""

    now: float = 1000.0

    def monotonic(self) -> float:
        """The test's time."""
        return self.now

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        """Look again soon."""
        return stop.wait(0.002)


@dataclass
class Played:
    """A process that tells what a test has it tell."""

    task: Task
    words: "SimpleQueue[Told | None]" = field(default_factory=SimpleQueue)
    is_ended: bool = False

    def told(self) -> Iterator[Told]:
        """What the test says, until it is ended."""
        while (word := self.words.get()) is not None:
            yield word

    def end(self) -> None:
        """End it."""
        self.is_ended = True
        self.words.put(None)

    def finish(self) -> None:
        """Tell a whole result, and end."""
        answer, around = results()
        self.words.put(Found(result=answer))
        self.words.put(Found(result=around, is_around=True))
        self.words.put(None)


@dataclass
class Asking(World):
    """A store and an application that what-ifs may be asked of."""

    whatifs: WhatIfs | None = None

    def watched(self, name: str = "one") -> None:
        """Keep a report of an operator and what a what-if can rest on."""
        self.analysed(name)
        self.store.set_basis(name, NOW - 60.0, write_basis(basis(name)))

    def app(self) -> Flask:
        """The application before the store."""
        service = Service(self.store, lambda: self.targets, lambda: self.now, whatifs=self.whatifs)
        return create_app(service, self.access)


def played(rules: LineRules, clock: Clock, per_minute: int = 100) -> tuple[WhatIfs, list[Played]]:
    """What-ifs whose processes a test plays, in the order in which they began."""
    begun: list[Played] = []

    def begin(task: Task) -> Played:
        begun.append(Played(task))
        return begun[-1]

    return WhatIfs(rules, TINY, per_minute=per_minute, clock=clock, begin=begin), begun
