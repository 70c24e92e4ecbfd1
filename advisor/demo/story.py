"""The story as data: what befalls an operator, chapter by chapter, and which finding each should lead to."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from advisor.model.finding import FindingCode
from advisor.twin.parameters import OperatorSettings

__all__ = ["CHAPTERS", "CURTAIN", "START", "Chapter", "Load", "Place", "Story"]

START: Final = OperatorSettings(concurrency=1, qps=100.0, burst=200)
"""What the operator is set to before anybody has changed anything: KubeRay's own defaults."""


@dataclass(frozen=True, slots=True)
class Load:
    """What users ask for.

    Attributes:
        clusters_per_second: new RayClusters, evenly spread.
        workers: worker Pods of each.
    """

    clusters_per_second: float
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A time in which one thing is the case.

    Attributes:
        name: short.
        title: what happens, in a sentence.
        seconds: how long, the pause included.
        expected: code of the finding that has to be the first.
        load: what users ask for after the pause.
        pause_seconds: how long nobody creates anything at its beginning; what befalls the operator begins after it.
        settings: somebody restarts the operator with these as it begins; None leaves them.
        follows_advice: somebody restarts it with what the last report advises, and with ``settings`` where that
            advises nothing.
        slow_factor: by which requests to the API server take longer.
        grown_workers: one RayCluster of so many workers is created.
    """

    name: str
    title: str
    seconds: float
    expected: FindingCode
    load: Load
    pause_seconds: float = 0.0
    settings: OperatorSettings | None = None
    follows_advice: bool = False
    slow_factor: float = 1.0
    grown_workers: int = 0

    @property
    def is_fault(self) -> bool:
        """Whether something is wrong in it."""
        return self.expected is not FindingCode.HEALTHY


_QUIET: Final = Load(0.2, 4)
_CLASS: Final = Load(4.5, 4)
_LABS: Final = Load(3.0, 4)
_EVENING: Final = Load(2.5, 4)
_LATE: Final = Load(1.2, 4)
_PAUSE_SECONDS: Final = 12.0
"""A restart lists every cluster again: under load that list would be the first finding, and the fault a later one."""

CHAPTERS: Final = (
    Chapter(
        name="idle",
        title="A hundred RayClusters stand; now and then somebody creates one.",
        seconds=60.0,
        expected=FindingCode.HEALTHY,
        load=_QUIET,
        settings=START,
    ),
    Chapter(
        name="burst",
        title="A class begins: clusters come faster than the only worker can make them.",
        seconds=75.0,
        expected=FindingCode.WORKERS_SATURATED,
        load=_CLASS,
        pause_seconds=_PAUSE_SECONDS,
    ),
    Chapter(
        name="more workers",
        title="Somebody sets what the last report advises; the next class is two thirds as large.",
        seconds=75.0,
        expected=FindingCode.HEALTHY,
        load=_LABS,
        pause_seconds=_PAUSE_SECONDS,
        settings=OperatorSettings(concurrency=2, qps=100.0, burst=200),
        follows_advice=True,
    ),
    Chapter(
        name="throttled",
        title="Somebody wants to spare the API server: QPS 100 -> 10, Burst 200 -> 20.",
        seconds=75.0,
        expected=FindingCode.CLIENT_THROTTLED,
        load=_LABS,
        pause_seconds=_PAUSE_SECONDS,
        settings=OperatorSettings(concurrency=2, qps=10.0, burst=20),
    ),
    Chapter(
        name="limiter opened",
        title="Somebody sets what the last report advises.",
        seconds=75.0,
        expected=FindingCode.HEALTHY,
        load=_LABS,
        pause_seconds=_PAUSE_SECONDS,
        settings=OperatorSettings(concurrency=2, qps=100.0, burst=200),
        follows_advice=True,
    ),
    Chapter(
        name="hot key",
        title="One cluster of two thousand workers is created, and little else.",
        seconds=75.0,
        expected=FindingCode.HOT_KEY,
        load=_QUIET,
        pause_seconds=_PAUSE_SECONDS,
        grown_workers=2000,
    ),
    Chapter(
        name="API server slow",
        title="Each write at the API server takes ten times as long.",
        seconds=75.0,
        expected=FindingCode.API_SERVER_SLOW,
        load=_LATE,
        pause_seconds=_PAUSE_SECONDS,
        slow_factor=10.0,
    ),
    Chapter(
        name="fixed",
        title="The API server has recovered.",
        seconds=75.0,
        expected=FindingCode.HEALTHY,
        load=_EVENING,
        pause_seconds=_PAUSE_SECONDS,
    ),
)
CURTAIN: Final = "API server slow"
"""The chapter in which the demo goes live: what comes before it is history by then."""


class Place(NamedTuple):
    """Where in the story a time is.

    Attributes:
        chapter: which chapter.
        number: how many chapters came before it, also in earlier rounds.
        begin_seconds: when it began, the pause included.
    """

    chapter: Chapter
    number: int
    begin_seconds: float

    @property
    def fault_seconds(self) -> float:
        """When what it is about began, or will begin."""
        return self.begin_seconds + self.chapter.pause_seconds


class Story:
    """Chapters that follow each other, and begin anew after the last.

    Args:
        chapters: at least one.
    """

    def __init__(self, chapters: Sequence[Chapter] = CHAPTERS) -> None:
        self.chapters = tuple(chapters)
        self._ends = tuple(accumulate(one.seconds for one in chapters))

    @property
    def seconds(self) -> float:
        """How long one round takes."""
        return self._ends[-1]

    def begin_of(self, number: int) -> float:
        """When a chapter begins."""
        rounds, index = divmod(number, len(self.chapters))
        return rounds * self.seconds + (self._ends[index - 1] if index else 0.0)

    def number_of(self, name: str) -> int:
        """The number of the first chapter of a name."""
        return next(number for number, one in enumerate(self.chapters) if one.name == name)

    def at(self, seconds: float) -> Place:
        """Where a time is; before the beginning it is the first chapter."""
        rounds, within = divmod(max(0.0, seconds), self.seconds)
        index = bisect_right(self._ends, within)
        number = int(rounds) * len(self.chapters) + index
        return Place(self.chapters[index], number, self.begin_of(number))
