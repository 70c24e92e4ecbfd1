"""Fleets whose operators are told, so that an analysis is over in no time, and engines that run them here."""

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from advisor.analysis import Options
from advisor.analysis.fleet import FleetPlan
from advisor.engines.base import Outcome, Tell, equal_weight, ignore_finished
from advisor.engines.trying import tried
from advisor.sources.fleetspec import FleetEntry

__all__ = ["CALM", "SATURATED", "SLOWER", "Here", "facts", "fleet_of", "plan_of"]

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

SATURATED: Final = """
operator: {version: "1.7.0"}
controllers:
  raycluster: {max_concurrent_reconciles: 1, utilisation: 1, depth_mean: 25, queue_wait_seconds_mean: 6,
    reconciles_per_second: 4, reconcile_seconds_mean: 0.25, distinct_keys: 100, hottest_key_share: 0.02}
client: {qps: 100, burst: 200, limiter_wait_seconds_mean: 0, request_seconds_mean: 0.02}
"""
SLOWER: Final = SATURATED.replace("depth_mean: 25", "depth_mean: 99").replace("_mean: 6", "_mean: 24")
CALM: Final = """
operator: {version: "1.7.0"}
controllers:
  raycluster: {max_concurrent_reconciles: 4, utilisation: 0.1, depth_mean: 0, queue_wait_seconds_mean: 0.01,
    reconciles_per_second: 1, reconcile_seconds_mean: 0.1}
client: {qps: -1, request_seconds_mean: 0.02}
"""


def facts(folder: Path, name: str, text: str) -> FleetEntry:
    """An operator with these facts, which are written into the folder."""
    path = folder / f"{name}.facts.yaml"
    path.write_text(text, encoding="utf-8")
    return FleetEntry(name=name, facts=str(path))


def fleet_of(folder: Path) -> tuple[FleetEntry, ...]:
    """One of each kind: calm, in need, in greater need, and one whose file is not there."""
    return (
        facts(folder, "calm", CALM),
        facts(folder, "needy", SATURATED),
        FleetEntry(name="gone", facts=str(folder / "gone.yaml")),
        facts(folder, "needier", SLOWER),
    )


def plan_of(entries: Sequence[FleetEntry], folder: Path, **other: object) -> FleetPlan:
    """A plan without anything special but what is given."""
    return FleetPlan(entries, folder, **{"options": Options(), **other})  # type: ignore[arg-type]


class Here:
    """An engine that runs tasks in this process, one after the other.

    Args:
        after: how many tasks until somebody presses Ctrl-C.
        between: called before each task.
    """

    def __init__(self, after: int | None = None, between: Callable[[], None] = lambda: None) -> None:
        self.after = after
        self.between = between
        self.asked: list[object] = []
        self.seconds: list[float] = []

    def run(
        self,
        function: Callable[[_Task], _Result],
        tasks: Sequence[_Task],
        tell: Tell = ignore_finished,
        *,
        weigh: Callable[[_Task], float] = equal_weight,
    ) -> Iterator[tuple[int, _Result]]:
        """Not what a fleet asks for."""
        raise NotImplementedError

    def attempt(
        self, function: Callable[[_Task], _Result], tasks: Sequence[_Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[_Result]]]:
        """Each task, the last one first."""
        self.asked = list(tasks)
        self.seconds = list(seconds)
        for count, place in enumerate(reversed(range(len(tasks)))):
            if count == self.after:
                raise KeyboardInterrupt
            self.between()
            yield place, tried(function, tasks[place])
