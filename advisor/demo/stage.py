"""The simulated operators of the demo: one that goes through the story, and one at which all is quiet."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from advisor.analysis.simulated import operator_of
from advisor.demo.story import CHAPTERS, START, Chapter, Load, Story
from advisor.sources.workloadfile import WorkloadFile
from advisor.twin.exposed import Operator
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.simulation import Simulation
from advisor.twin.workload import Arrival, Deletion, Existing, Restart, Slowdown, Workload

__all__ = ["STANDING", "Advised", "quiet_operator", "staged_operator"]

STANDING: Final = 100
"""RayClusters that are there for good."""
_STANDING_WORKERS: Final = 4
_TEAMS: Final = ("team-a", "team-b", "team-c", "team-d")
_WORLD: Final = WorldParameters(
    request_seconds={"POST": 0.03, "PUT": 0.025, "PATCH": 0.025, "DELETE": 0.015},
    request_spread=(0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.5),
    watch_lag_seconds=0.001,
    reconcile_seconds=0.004,
    pod_start_seconds=1.0,
    pod_start_spread=(0.9, 1.0, 1.1),
    request_cpu_seconds=0.0005,
    event_cpu_seconds=0.0001,
)
_QUIET_STANDING: Final = 20
_QUIET_SETTINGS: Final = OperatorSettings(concurrency=2)
_QUIET_STORY: Final = Story([replace(CHAPTERS[0], settings=None)])
_LIFE_SECONDS: Final = 30.0
"""After that, whoever created a cluster deletes it again."""
_GROWN: Final = "research/grown"
_DOWN_SECONDS: Final = 2.0
_SEED: Final = 10
_SECOND_NS: Final = 1_000_000_000
_FOREVER_SECONDS: Final = 1e9


Advised = Callable[[], OperatorSettings | None]
"""What the last report about the operator advises; None where it advises nothing."""


def staged_operator(story: Story, start: float, advised: Advised) -> Operator:
    """An operator that goes through the story, again and again.

    Args:
        story: what befalls it.
        start: Unix seconds at which the run begins.
        advised: asked where somebody follows the advice.
    """
    operator = _operator(STANDING, story.chapters[0].settings or START, start)
    _Stage(story, operator.simulation, advised).start()
    return operator


def quiet_operator(start: float) -> Operator:
    """An operator with a few clusters where somebody creates one now and then, and nothing else happens.

    Args:
        start: Unix seconds at which the run begins.
    """
    operator = _operator(_QUIET_STANDING, _QUIET_SETTINGS, start)
    _Stage(_QUIET_STORY, operator.simulation, lambda: None).start()
    return operator


def _operator(standing: int, settings: OperatorSettings, start: float) -> Operator:
    existing = tuple(
        Existing(f"{_TEAMS[number % len(_TEAMS)]}/standing-{number}", _STANDING_WORKERS) for number in range(standing)
    )
    workload = Workload(existing=existing, limit_seconds=_FOREVER_SECONDS)
    return operator_of(WorkloadFile(workload, _WORLD, settings, _SEED), start, keeps_lines=False)


class _Stage:
    """Plans each chapter as it begins, and so goes on for ever.

    Args:
        story: what is to happen.
        simulation: that is at its beginning.
        advised: asked where somebody follows the advice.
    """

    def __init__(self, story: Story, simulation: Simulation, advised: Advised) -> None:
        self._story = story
        self._simulation = simulation
        self._advised = advised
        self._created = 0

    def start(self) -> None:
        """Begin with the first chapter."""
        self._simulation.engine.at(0, self._begin, 0)

    def _begin(self, number: int) -> None:
        chapter = self._story.chapters[number % len(self._story.chapters)]
        begin, end = self._story.begin_of(number), self._story.begin_of(number + 1)
        fault = begin + chapter.pause_seconds
        arrivals = self._arrivals(chapter.load, fault, end)
        deletions = [Deletion(one.at_seconds + _LIFE_SECONDS, one.key) for one in arrivals]
        if chapter.grown_workers:
            arrivals.append(Arrival(fault, f"{_GROWN}-{number}", chapter.grown_workers))
            deletions.append(Deletion(end, f"{_GROWN}-{number}"))
        settings = self._settings(chapter)
        slowdown = Slowdown(chapter.slow_factor, fault, end)
        self._simulation.plan(
            Workload(
                arrivals=tuple(arrivals),
                deletions=tuple(deletions),
                restarts=() if settings is None else (Restart(begin, _DOWN_SECONDS, settings),),
                slowdowns=() if chapter.slow_factor == 1.0 else (slowdown,),
            )
        )
        self._simulation.engine.at(round(end * _SECOND_NS), self._begin, number + 1)

    def _settings(self, chapter: Chapter) -> OperatorSettings | None:
        """What the operator is restarted with; None where it is not, as nothing would change."""
        now = self._simulation.settings
        asked = (self._advised() if chapter.follows_advice else None) or chapter.settings
        if asked is None or (asked.concurrency, asked.qps, asked.burst) == (now.concurrency, now.qps, now.burst):
            return None
        return asked

    def _arrivals(self, load: Load, begin: float, end: float) -> list[Arrival]:
        count = round((end - begin) * load.clusters_per_second)
        first, self._created = self._created, self._created + count
        return [
            Arrival(
                begin + place / load.clusters_per_second,
                f"{_TEAMS[(first + place) % len(_TEAMS)]}/class-{first + place}",
                load.workers,
            )
            for place in range(count)
        ]
