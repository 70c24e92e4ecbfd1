"""The shadow against what real operators said of themselves: their gauges, their counters, their verbose log."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Final

import pytest

from advisor.model.raw import LogRecord
from advisor.sidecar.joined import Joined
from advisor.sidecar.queueitems import QueueContent, is_queue_content, queue_content
from advisor.sources.operatorlog import LogParser
from tests.sidecar.replay import DepthRow, Replay, WaitRow, replay
from tests.support import ROOT

ISSUE: Final = ("restart-resync", "saturated-one-worker", "verbose-log")
"""Recordings for which the bars are promised."""
OTHERS: Final = (
    "after-ten-workers",
    "api-server-overloaded-429",
    "api-server-slow",
    "cpu-limited",
    "cpu-limited-classic-queue",
    "errors-quota-refused",
    "expectation-blocked",
    "healthy-steady",
    "hot-key-annotation-writer",
    "hot-key-big-scale-up",
    "over-provisioned",
    "pods-stay-pending",
    "retry-bucket-classic-queue",
    "saturated-classic-queue",
    "services-polling",
    "slow-dashboard",
    "throttled-classic-queue",
    "throttled-client",
    "throttled-one-worker",
    "write-conflicts",
)
SMALL: Final = (
    ROOT / "advisor" / "examples" / "saturated-one-worker",
    ROOT / "tests" / "data" / "recordings" / "throttled-one-worker",
    ROOT / "tests" / "data" / "recordings" / "hot-key-big-scale-up",
    ROOT / "tests" / "data" / "recordings" / "verbose-log",
)
"""Recordings that come with the tests."""
COUNT_BAR: Final = 0.05
DEPTH_BAR: Final = 0.1
WAIT_BAR: Final = 0.1
OTHERS_WAIT_BAR: Final = 0.15
QUEUE: Final = 10
"""Ready keys from which on there is a queue whose depth is worth a comparison."""
WAIT_SECONDS: Final = 0.5
"""The mean wait from which on it is worth one."""
NEAR_SECONDS: Final = 0.05
"""How far apart two tell the same thing, each with its own delay."""
TICK_SECONDS: Final = 0.001
"""The log's times are cut to milliseconds."""

replayed: Final = cache(replay)


def depth_errors(seen: Replay) -> dict[tuple[str, str], tuple[float, float]]:
    """By controller and priority with a queue: the largest depth, and the mean of how far the shadow is off."""
    rows: defaultdict[tuple[str, str], list[DepthRow]] = defaultdict(list)
    for row in seen.depths:
        rows[row.controller, row.priority].append(row)
    found = {
        which: (max(one.own for one in each), sum(abs(one.own - one.shadow) for one in each) / len(each))
        for which, each in rows.items()
    }
    return {which: (peak, error) for which, (peak, error) in found.items() if peak >= QUEUE}


def wait_totals(seen: Replay) -> dict[str, WaitRow]:
    """What was counted between the first and the last scrape, by controller that did anything."""
    rows: defaultdict[str, list[WaitRow]] = defaultdict(list)
    for row in seen.waits:
        rows[row.controller].append(row)
    totals = {
        name: WaitRow(
            last.time,
            name,
            last.own_reconciles - first.own_reconciles,
            last.own_seconds - first.own_seconds,
            last.reconciles - first.reconciles,
            last.seconds - first.seconds,
        )
        for name, (first, *_, last) in rows.items()
    }
    return {name: row for name, row in totals.items() if row.own_reconciles or row.reconciles}


def check_counts(seen: Replay) -> None:
    """The shadow has seen as many reconciles begin as the operator has counted."""
    totals = wait_totals(seen)
    assert totals
    for name, row in totals.items():
        assert row.reconciles == pytest.approx(row.own_reconciles, rel=COUNT_BAR), name


def check_depths(seen: Replay, *, has_queue: bool) -> None:
    """The shadow's depth at scrapes is that of the gauge, by priority."""
    found = depth_errors(seen)
    assert bool(found) is has_queue
    for which, (peak, error) in found.items():
        assert error <= DEPTH_BAR * peak, which


def check_waits(seen: Replay, bar: float) -> None:
    """Waits of all priorities together give the operator's own mean, where it is worth a comparison."""
    for name, row in wait_totals(seen).items():
        own = row.own_seconds / max(row.own_reconciles, 1)
        if own > WAIT_SECONDS:
            assert row.seconds / row.reconciles == pytest.approx(own, rel=bar), name


QUEUELESS: Final = frozenset(
    {"healthy-steady", "hot-key-annotation-writer", "hot-key-big-scale-up", "over-provisioned", "pods-stay-pending"}
    | {"expectation-blocked"}
)
"""Recordings without ten ready keys of one priority at any scrape after the objects were listed."""


class TestRecordings:
    """All recordings with a log."""

    def test_each_with_a_log_is_played(self, shared: Path) -> None:
        """None is left out."""
        logs = (shared / "recordings").glob("*/operator.log.gz")
        assert sorted(path.parent.name for path in logs) == sorted({*ISSUE, *OTHERS})

    @pytest.mark.parametrize("name", ISSUE + OTHERS)
    def test_as_many_reconciles_as_the_operator_counts(self, shared: Path, name: str) -> None:
        """Reconciles begun between two scrapes are those of workqueue_queue_duration_seconds_count."""
        check_counts(replayed(shared / "recordings" / name))

    @pytest.mark.parametrize("name", ISSUE + OTHERS)
    def test_depth_by_priority(self, shared: Path, name: str) -> None:
        """Off by a tenth of the peak at most, on the mean of all scrapes since the objects were listed."""
        check_depths(replayed(shared / "recordings" / name), has_queue=name not in QUEUELESS)

    @pytest.mark.parametrize("name", ISSUE)
    def test_waits_where_they_are_promised(self, shared: Path, name: str) -> None:
        """The waits of all priorities give the operator's own mean within a tenth."""
        seen = replayed(shared / "recordings" / name)
        (row,) = wait_totals(seen).values()
        assert row.own_seconds / row.own_reconciles > WAIT_SECONDS
        check_waits(seen, WAIT_BAR)

    @pytest.mark.parametrize("name", OTHERS)
    def test_waits_elsewhere(self, shared: Path, name: str) -> None:
        """Where keys wait long enough to tell, the mean is right within 15 %."""
        check_waits(replayed(shared / "recordings" / name), OTHERS_WAIT_BAR)


class TestSmallRecordings:
    """The same where nothing but the repository is there."""

    @pytest.mark.parametrize("folder", SMALL, ids=lambda path: path.name)
    def test_all_of_it(self, folder: Path) -> None:
        """Counts, depths and waits hold their bars."""
        seen = replayed(folder)
        check_counts(seen)
        check_depths(seen, has_queue=folder.name not in QUEUELESS)
        check_waits(seen, WAIT_BAR)

    def test_a_depth_that_nobody_knows_yet_is_not_compared(self) -> None:
        """At the first scrape of an operator that was just restarted, the objects have not been listed."""
        seen = replayed(ROOT / "tests" / "data" / "recordings" / "hot-key-big-scale-up")
        first = min(row.time for row in seen.waits)
        assert first not in {row.time for row in seen.depths}
        assert first + 5 > min(row.time for row in seen.depths)


def verbose_lines(folder: Path) -> list[bytes]:
    """Lines of the verbose stream."""
    with gzip.open(folder / "operator.stdout.log.gz") as file:
        return file.read().splitlines()


def info_records(folder: Path) -> list[LogRecord]:
    """Records of the log file, or of what it would hold: the verbose stream's lines of the usual levels."""
    path = folder / "operator.log.gz"
    if path.is_file():
        with gzip.open(path) as file:
            lines = file.read().splitlines()
    else:
        lines = [one for one in verbose_lines(folder) if not one.startswith((b'{"level":"Level(', b'{"level":"debug"'))]
    return list(LogParser().records(lines))


def by_key(seen: Replay) -> tuple[Counter[str], Counter[str]]:
    """Reconciles of RayClusters, and milliseconds that they took, by key."""
    counts, milliseconds = Counter[str](), Counter[str]()
    for event, _ in seen.ended:
        assert event.began.controller == "raycluster"
        counts[event.began.key] += 1
        milliseconds[event.began.key] += round((event.time - event.began.time) * 1000)
    return counts, milliseconds


@pytest.fixture(params=["small", "shared"])
def verbose(request: pytest.FixtureRequest, data: Path) -> Path:
    """The recording with a verbose log: what comes with the tests of it, and the whole."""
    root: Path = data if request.param == "small" else request.getfixturevalue("shared")
    return root / "recordings" / "verbose-log"


@pytest.fixture
def exact(verbose: Path) -> Replay:
    """The verbose stream, played."""
    return replayed(verbose)


@pytest.fixture
def bounded(verbose: Path) -> Replay:
    """The log file, played."""
    return replay(verbose, log=info_records(verbose))


class TestInfoLevel:
    """What the log file tells of each key, against the exact markers of the verbose stream."""

    def test_the_verbose_stream_is_exact_and_the_file_is_not(self, exact: Replay, bounded: Replay) -> None:
        """So that the one can judge the other."""
        assert {event.exact for event, _ in exact.ended} == {True}
        assert {event.exact for event, _ in bounded.ended} == {False}
        assert len(exact.ended) > 100

    def test_reconciles_by_key(self, exact: Replay, bounded: Replay) -> None:
        """As many of each key, within 5 %."""
        (wanted, _), (found, _) = by_key(exact), by_key(bounded)
        assert found.keys() == wanted.keys()
        for key, number in wanted.items():
            assert found[key] == pytest.approx(number, rel=COUNT_BAR), key

    def test_busy_time_by_key_is_within_its_bounds(self, exact: Replay, bounded: Replay) -> None:
        """Each key had at least what its lines span, and at most that and all that the controller is short of."""
        (counts, wanted), (_, found) = by_key(exact), by_key(bounded)
        unattributed = bounded.accounting["raycluster"].unattributed_seconds
        assert unattributed is not None
        assert unattributed > 0.0
        for key, milliseconds in wanted.items():
            rounding = counts[key] * TICK_SECONDS
            lower, real = found[key] / 1000, milliseconds / 1000
            assert lower <= real + rounding, key
            assert real <= lower + unattributed + rounding, key
        assert sum(found.values()) < sum(wanted.values())

    def test_nothing_is_short_where_times_are_exact(self, exact: Replay) -> None:
        """The operator's own sum of reconcile times is that of the verbose markers, but for rounding."""
        (counts, _), unattributed = by_key(exact), exact.accounting["raycluster"].unattributed_seconds
        assert unattributed is not None
        assert unattributed <= sum(counts.values()) * TICK_SECONDS

    def test_depths_and_waits_hold_their_bars_as_well(self, bounded: Replay) -> None:
        """The file is enough for the queue."""
        check_counts(bounded)
        check_depths(bounded, has_queue=True)
        check_waits(bounded, WAIT_BAR)


Ready = dict[str, int]


def ready_keys(joined: Joined, controller: str) -> Ready:
    """Ready keys and their priorities."""
    return {record.key: record.priority for record in joined.controller(controller)._queue.ready()}


def contents(folder: Path) -> Iterator[QueueContent]:
    """What the verbose stream says that queues hold."""
    for line in verbose_lines(folder):
        if is_queue_content(line):
            found = queue_content(line)
            assert found is not None
            yield found


class TestQueueContent:
    """The shadow's ready keys against those that the operator wrote into its verbose log."""

    def test_ready_keys_and_priorities(self, verbose: Path) -> None:
        """What is ready is what the line says, but for what changes within 50 ms of it."""
        told = list(contents(verbose))
        around: defaultdict[int, list[Ready]] = defaultdict(list)

        def look(number: int, joined: Joined) -> None:
            around[number].append(ready_keys(joined, told[number].controller))

        offsets = (-NEAR_SECONDS, 0.0, NEAR_SECONDS)
        looks = [(one.time + offset, partial(look, number)) for offset in offsets for number, one in enumerate(told)]
        replay(verbose, looks=sorted(looks, key=itemgetter(0)))
        assert [len(each) for each in around.values()] == [3] * len(told)
        assert max(sum(item.ready_at is None for item in one.items) for one in told) > 50
        for number, one in enumerate(told):
            wanted = {item.key: item.priority for item in one.items if item.ready_at is None}
            for key in {key for ready in around[number] for key in ready} | wanted.keys():
                assert wanted.get(key) in [ready.get(key) for ready in around[number]], key

    def test_waiting_keys(self, verbose: Path) -> None:
        """What waits there waits here, at the same priority and until the same time but for 5 ms."""
        told = list(contents(verbose))
        found = 0

        def look(one: QueueContent, joined: Joined) -> None:
            nonlocal found
            queue = joined.controller(one.controller)._queue
            for item in one.items:
                if item.ready_at is not None:
                    found += 1
                    due_ns = queue.waits_until_ns(item.key)
                    assert due_ns is not None
                    assert due_ns / 1e9 == pytest.approx(item.ready_at, abs=0.005)
                    assert queue.pending_priority(item.key) == item.priority

        replay(verbose, looks=[(one.time, partial(look, one)) for one in told])
        assert found == 8

    def test_taken_over_it_is_the_same(self, verbose: Path) -> None:
        """Told what a queue holds, the shadow has just that."""
        found: list[tuple[Ready, Ready]] = []

        def take_over(one: QueueContent, joined: Joined) -> None:
            joined.content(one)
            wanted = {item.key: item.priority for item in one.items if item.ready_at is None}
            found.append((ready_keys(joined, one.controller), wanted))

        replay(verbose, looks=[(one.time, partial(take_over, one)) for one in contents(verbose)])
        assert found
        assert all(mine == wanted for mine, wanted in found)
