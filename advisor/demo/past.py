"""What was before the demo began, played as fast as this machine can, with its scrapes and analyses at their times."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from advisor.demo.actor import Actor
from advisor.signals.names import SELECTION
from advisor.sources.exposition import Exposition

__all__ = ["Observer", "Past", "Rhythm"]


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How operators are watched.

    Attributes:
        scrape_seconds: from one scrape to the next.
        analysis_seconds: from one analysis to the next; a multiple of that.
        last_seconds: how far back an analysis looks. Less than two periods: the second analysis of what has just begun
            is to see little of what was before.
    """

    scrape_seconds: float = 3.0
    analysis_seconds: float = 15.0
    last_seconds: float = 24.0


class Observer(Protocol):
    """Keeps scrapes and analyses them, as the service does."""

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Take one scrape at a Unix time."""
        ...

    def analyse(self, actor: Actor, time: float) -> None:
        """Analyse an operator at a Unix time."""
        ...


class Past:
    """Plays an operator up to the present.

    Args:
        actor: at the beginning of its run.
        observer: looks at it.
        rhythm: how often.
        start: Unix time at which its run begins.
    """

    def __init__(self, actor: Actor, observer: Observer, rhythm: Rhythm, start: float) -> None:
        self._actor = actor
        self._observer = observer
        self._rhythm = rhythm
        self._start = start
        self._steps = 0

    def play(self, until: Callable[[], float], stop: threading.Event) -> None:
        """Play until a Unix time, which may move on meanwhile, or until it is time to stop."""
        rhythm = self._rhythm
        each = round(rhythm.analysis_seconds / rhythm.scrape_seconds)
        while not stop.is_set() and (time := self._start + self._steps * rhythm.scrape_seconds) <= until():
            self._actor.play(time - self._start)
            answer = self._actor.answer(SELECTION, self._actor.instance)
            if answer is not None:
                self._observer.keep(self._actor.name, time, answer)
            # In the middle between two of those times at which chapters begin.
            if self._steps > each and self._steps % each == each // 2:
                self._observer.analyse(self._actor, time)
            self._steps += 1
