"""Recordings of a real operator, played in order of time: the hot key is named soon, and none where there is none."""

import heapq
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from advisor.model.raw import Selection
from advisor.queueing.informer import Change, ChangeType
from advisor.sidecar.gauges import GAUGE_NAMES
from advisor.sidecar.hotkeys import HotKeys, Running
from advisor.sidecar.joined import Joined
from advisor.sidecar.observed import Observed
from advisor.sidecar.reconciles import Ended
from advisor.sidecar.rules import RULES
from advisor.sidecar.views import HotKey, Reconcile
from advisor.sources.recording import RecordingSource
from tests.sidecar.replay import changes, scrapes

SOON_SECONDS = 15.0
AFTER_SECONDS = 60.0
KINDS = {kind for rules in RULES.values() for kind, _ in rules.watches}


@dataclass
class Player:
    """The parts that a hot key's verdict needs, joined as in the sidecar."""

    keys: HotKeys = field(default_factory=lambda: HotKeys(KINDS))

    def __post_init__(self) -> None:
        self.joined = Joined(self.ended, KINDS)

    def ended(self, event: Ended, priority: str) -> None:
        """Pass on a reconcile that has ended."""
        if event.late:
            return
        began = event.began
        self.keys.add(
            Reconcile(
                controller=began.controller,
                key=began.key,
                priority=priority,
                began=began.time,
                ended=event.time,
                exact=event.exact,
            )
        )

    def change(self, time: float, change: Change[Observed]) -> None:
        """Take in a change of an object."""
        self.joined.change(time, change)
        if change.type is ChangeType.UPDATE and change.new is not None:
            self.keys.observe_update(time, change.new)

    def look(self, now: float) -> tuple[HotKey, ...]:
        """The verdict."""
        running = [
            Running(one.controller, one.key, one.time, now if one.exact else last)
            for one, last in self.joined.tracker.in_progress()
        ]
        controllers = self.joined.controllers.items()
        waiting = {name: one.waiting(now) for name, one in controllers if self.joined.knows_queue(name)}
        return self.keys.view(now, running, waiting)


@cache
def verdicts(folder: Path) -> tuple[tuple[float, tuple[HotKey, ...]], ...]:
    """What is said at each second of a recording, and of the minute after it."""
    return tuple(_played(folder))


def _played(folder: Path) -> Iterator[tuple[float, tuple[HotKey, ...]]]:
    source = RecordingSource(folder)
    player = Player()
    store = source.series(Selection(GAUGE_NAMES, {}))
    told = list(changes(source))
    records = list(source.log())
    listed = max((time for time, change in told if change.is_initial_list), default=float("-inf"))
    times = [*(time for time, _ in told), *(one.time for one in records)]
    begin, end = min(times), max(times) + AFTER_SECONDS

    def acting(action: Callable[..., None], *arguments: object) -> Callable[[], None]:
        return lambda: action(*arguments)

    streams: list[list[tuple[float, Callable[[], object]]]] = [
        [(one.time, acting(player.joined.record, one)) for one in records],
        [(time, acting(player.change, time, change)) for time, change in told],
        [(listed, acting(player.joined.listed, kind)) for kind in sorted(KINDS)],
        [(time, acting(player.joined.scraped, time, gauges)) for time, gauges in scrapes(store)],
        [(second, lambda second=second: player.look(second)) for second in _seconds(begin, end)],  # type: ignore[misc]
    ]
    numbers = count()
    ranked = [[(time, rank, next(numbers), action) for time, action in one] for rank, one in enumerate(streams)]
    for time, rank, _, action in heapq.merge(*ranked):
        if time > float("-inf"):
            player.joined.tick(time)
        answer = action()
        if rank == len(streams) - 1:
            assert isinstance(answer, tuple)
            yield time, answer


def _seconds(begin: float, end: float) -> Iterator[float]:
    while begin <= end:
        yield begin
        begin += 1.0


def recordings(shared: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """All folders and what is right of them."""
    for folder in sorted(shared.joinpath("recordings").iterdir()):
        if folder.is_dir():
            yield folder, json.loads(folder.joinpath("expected.json").read_text())


def is_hot(expected: dict[str, Any]) -> bool:
    """Whether a hot key is the verdict, or would be right as well."""
    return "hot-key" in (expected.get("primary"), *expected.get("also_accept", ()))


@pytest.mark.timeout(400)
def test_the_hot_key_is_named_first_and_soon(shared: Path) -> None:
    """Within 15 s of the load's start, and never another one."""
    found = 0
    for folder, expected in recordings(shared):
        if expected.get("primary") != "hot-key":
            continue
        found += 1
        measured = expected["measured"]
        told = verdicts(folder)
        named = [(time, one) for time, hot in told for one in hot]
        assert named, folder.name
        first_time, first = named[0]
        assert (first.controller, first.key) == ("raycluster", measured["hot_key"]), folder.name
        assert 0.0 <= first_time - measured["load_start"] <= SOON_SECONDS, folder.name
        assert {one.key for _, one in named} == {measured["hot_key"]}, folder.name
        assert len({one.since for _, one in named}) == 1, f"{folder.name}: it went and came again"
        assert named[-1][0] < told[-1][0], f"{folder.name}: it is still hot a minute after the end"
    assert found >= 2


@pytest.mark.timeout(400)
def test_none_is_named_elsewhere(shared: Path) -> None:
    """However busy the operator is: where many keys share the work, no one is hot."""
    wrong = {
        f"{folder.name}: {one.controller} {one.key}"
        for folder, expected in recordings(shared)
        if not is_hot(expected)
        for _, hot in verdicts(folder)
        for one in hot
    }
    assert not wrong


@pytest.mark.parametrize(
    ("name", "least_updates"), [("hot-key-annotation-writer", 20.0), ("hot-key-big-scale-up", 0.0)]
)
def test_what_is_told_of_a_hot_key(shared: Path, name: str, least_updates: float) -> None:
    """Its share, how often it came in a row, and how often its object was written to; who wrote is not recorded."""
    hot = [one for _, found in verdicts(shared / "recordings" / name) for one in found]
    assert all(one.busy_share > 0.4 for one in hot)
    assert max(one.busy_share for one in hot) > 0.9
    assert max(one.updates_per_second or 0.0 for one in hot) >= least_updates
    assert all(one.writer == "" and one.updates_per_second is not None for one in hot)
    assert max(one.consecutive for one in hot) >= (100 if least_updates else 1)
