import gzip
import heapq
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Quality
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.sidecar.condensing import condensed
from advisor.sidecar.logreader import LogBatch
from advisor.sidecar.observed import Observed
from advisor.sidecar.observer import ObservedOperator, Observer, ObserverSettings
from advisor.sidecar.queueitems import QueueContent, QueueItem
from advisor.sidecar.rules import RULES
from advisor.sources.exposition import Exposition, Sample
from advisor.sources.recording import RecordingSource
from tests.sidecar.replay import changes
from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"
NOW = 1_000_000.0
ALL_KINDS = {kind for rules in RULES.values() for kind, _ in rules.watches}


def record(
    time: float, subject: Subject = Subject.LINE, name: str = "one", identity: str = "a", **more: object
) -> LogRecord:
    """A record of a RayCluster's reconcile, ``time`` seconds after the test's begin."""
    fields = {"controller": "raycluster", "namespace": "ns", "name": name, "reconcile_id": identity} | more
    return LogRecord(time=NOW + time, subject=subject, **fields)  # type: ignore[arg-type]


def cluster(name: str = "one", version: int = 1, generation: int = 1) -> Observed:
    """A RayCluster."""
    return Observed(kind="RayCluster", namespace="ns", name=name, resource_version=version, generation=generation)


def created(name: str = "one") -> Change[Observed]:
    """It has just been created."""
    return Change(ChangeType.CREATE, None, cluster(name))


def scrape(active: float = 0.0, depth: float = 0.0, seconds: float = 0.0, priority: str = "0") -> Exposition:
    """A scrape of the operator."""
    labels = (("controller", "raycluster"),)
    samples = [
        Sample("workqueue_depth", (*labels, ("name", "raycluster"), ("priority", priority)), depth),
        Sample("controller_runtime_active_workers", labels, active),
        Sample("controller_runtime_max_concurrent_reconciles", labels, 1.0),
        Sample("controller_runtime_reconcile_time_seconds_sum", labels, seconds),
    ]
    return Exposition(samples, {}, 0, ended=True)


def observer(*, has_watches: bool = True, has_log: bool = True, synced: set[str] | None = None) -> Observer:
    """An observer whose kinds are listed, if not said otherwise."""
    found = ALL_KINDS if synced is None else synced
    one = Observer(ObserverSettings(has_watches=has_watches, has_log=has_log), synced=lambda: found)
    one.advance(NOW - 10.0)
    return one


def seen(one: Observer, after: float) -> ObservedOperator:
    """What it shows so many seconds after the test's begin."""
    return one.look(NOW + after)


class TestOrder:
    def test_what_is_late_is_put_in_its_place(self) -> None:
        """The event that made a key ready comes after the log line of its reconcile, and still explains it."""
        one = observer()
        one.logged(LogBatch([record(1.0)]))
        one.changed(NOW + 0.4, created())
        view = seen(one, 4.0).shadows[0].by_priority["0"]
        assert (view.active_workers, view.depth) == (1, 0)
        assert view.wait.sum_ns == pytest.approx(0.6e9, abs=1e6)

    def test_nothing_is_joined_before_it_can_be(self) -> None:
        """What has just come waits for what may be older."""
        one = observer()
        one.logged(LogBatch([record(1.0)]))
        assert seen(one, 1.1).shadows == ()
        assert len(seen(one, 3.0).shadows) == 1

    def test_a_log_that_is_behind_is_waited_for(self) -> None:
        """Scrapes are not compared with a shadow that lacks the lines of that time."""
        one = observer()
        one.changed(NOW + 1.0, created())
        one.logged(LogBatch([record(0.5, name="other")], is_behind=True))
        one.scraped(NOW + 5.0, scrape())
        assert "0" in seen(one, 20.0).shadows[0].by_priority
        assert all(view.depth_error is None for view in seen(one, 20.0).shadows[0].by_priority.values())
        one.logged(LogBatch([record(4.0)]))
        assert seen(one, 21.0).shadows[0].by_priority["0"].depth_error == 0.0


class TestWhatIsKnown:
    def test_without_watches_queues_are_not(self) -> None:
        """Reconciles and keys are told, under no priority; depth and waits are absent, not zero."""
        one = observer(has_watches=False)
        one.logged(LogBatch([record(0.0), record(2.0, Subject.END, delay_seconds=300.0)]))
        found = seen(one, 10.0)
        assert list(found.shadows[0].by_priority) == [""]
        view = found.shadows[0].by_priority[""]
        assert (view.depth, view.depth_error, view.oldest_ready_seconds) == (None, None, None)
        assert view.results["requeue_after"] == 1
        assert view.time.sum_ns == pytest.approx(2e9, abs=1e6)
        assert found.keys is not None
        assert [(total.key, total.reconciles) for total in found.keys.totals] == [("ns/one", 1)]

    def test_priorities_are_summed_without_watches(self) -> None:
        """What went out at different priorities is one there."""
        one = observer(has_watches=False)
        source = record(0.0, Subject.SOURCE_STARTED, name="", identity="")
        one.logged(LogBatch([source, record(1.0), record(2.0, Subject.END, delay_seconds=1.0)]))
        one.scraped(NOW + 3.0, scrape())
        one.scraped(NOW + 5.0, scrape())
        one.logged(LogBatch([record(6.0, name="two", identity="b"), record(6.5, Subject.END, "two", "b")]))
        view = seen(one, 20.0).shadows[0].by_priority[""]
        assert sum(view.results.values()) == 2
        assert sum(view.time.buckets) == 2

    def test_before_the_first_list_queues_are_not(self) -> None:
        """Until every kind that matters is listed, what the queue holds is not known, but its reconciles are."""
        synced: set[str] = set()
        one = observer(synced=synced)
        one.logged(LogBatch([record(0.0), record(0.5, Subject.END)]))
        assert seen(one, 5.0).shadows[0].by_priority["0"].depth is None
        synced |= ALL_KINDS
        one.advance(NOW + 6.0)
        assert seen(one, 9.0).shadows[0].by_priority["0"].depth == 0

    def test_without_a_log_only_objects_are(self) -> None:
        """Nothing is said of reconciles, keys and queues."""
        one = observer(has_log=False)
        one.changed(NOW, created())
        found = seen(one, 5.0)
        assert (found.shadows, found.keys, found.hot_keys) == ((), None, ())
        assert [lag.controller for lag in found.key_state.lags] == ["raycluster"]

    def test_quality(self) -> None:
        """Times are lower bounds at info level and exact with verbose markers; so is a queue whose content is told."""
        one = observer()
        one.logged(LogBatch([record(0.0), record(0.1, Subject.END)]))
        plain = seen(one, 5.0).shadows[0]
        assert (plain.time_quality, plain.queue_quality) == (Quality.LOWER_BOUND, Quality.ESTIMATED)
        content = QueueContent(NOW + 6.0, "raycluster", (QueueItem("ns/two", -100, None),))
        marked = [
            record(5.0, Subject.START, identity="b", exact=True),
            record(5.5, Subject.END, identity="b", exact=True),
        ]
        one.logged(LogBatch(marked, [content]))
        verbose = seen(one, 10.0).shadows[0]
        assert (verbose.time_quality, verbose.queue_quality) == (Quality.EXACT, Quality.EXACT)
        assert verbose.by_priority["-100"].depth == 1
        assert seen(one, 100.0).shadows[0].queue_quality is Quality.ESTIMATED

    def test_time_that_no_line_shows(self) -> None:
        """What the operator's own counter has beyond the log's spans is told."""
        one = observer()
        one.scraped(NOW, scrape(seconds=100.0))
        one.logged(LogBatch([record(1.0), record(1.25, Subject.END)]))
        one.scraped(NOW + 5.0, scrape(seconds=101.0))
        assert seen(one, 10.0).shadows[0].unattributed_seconds == pytest.approx(0.75, abs=1e-3)

    def test_a_controller_that_no_rule_knows(self) -> None:
        """Its reconciles are told; what makes its keys ready is not known."""
        one = observer()
        one.logged(
            LogBatch([record(0.0, controller="networkpolicy"), record(0.1, Subject.END, controller="networkpolicy")])
        )
        view = seen(one, 5.0).shadows[0].by_priority["0"]
        assert (view.depth, view.results["success"]) == (None, 1)


class TestRestart:
    def test_the_shadow_starts_over(self) -> None:
        """After a restart all objects that exist enter at -100, and what was in work is not any more."""
        one = observer()
        for number in range(3):
            one.changed(NOW, Change(ChangeType.CREATE, None, cluster(f"c{number}"), is_initial_list=True))
        one.logged(LogBatch([record(1.0, name="c0")]))
        assert seen(one, 5.0).shadows[0].by_priority["0"].active_workers == 1
        one.restarted(NOW + 6.0)
        one.logged(LogBatch([record(7.0, Subject.SOURCE_STARTED, name="", identity="")]))
        by_priority = seen(one, 12.0).shadows[0].by_priority
        assert by_priority["-100"].depth == 3
        assert by_priority["0"].active_workers == 0
        assert by_priority["-100"].oldest_ready_seconds == pytest.approx(3.5, abs=0.1)


class TestClock:
    @pytest.mark.parametrize("jump", [-3600.0, 3600.0])
    def test_a_clock_that_is_set(self, jump: float) -> None:
        """Nothing waits for the old time to come again, no age spans the jump, and counters go on."""
        one = observer()
        one.changed(NOW, created())
        one.logged(LogBatch([record(0.5), record(0.8, Subject.END, delay_seconds=300.0)]))
        one.changed(NOW + 1.0, Change(ChangeType.UPDATE, cluster(), cluster(version=2, generation=2)))
        assert seen(one, 5.0).shadows[0].by_priority["0"].depth == 1
        one.clock_set(jump)
        one.changed(NOW + jump + 6.0, Change(ChangeType.UPDATE, cluster(), cluster(version=3, generation=3)))
        lines = [record(jump + 7.0, identity="b"), record(jump + 7.5, Subject.END, identity="b")]
        one.logged(LogBatch(lines))
        view = seen(one, jump + 12.0).shadows[0].by_priority["0"]
        assert (view.depth, view.active_workers, sum(view.results.values())) == (0, 0, 2)
        assert view.wait.sum_ns == pytest.approx(1.5e9, abs=1e7)


class TestKeyState:
    def test_created_pods_that_nobody_sees(self) -> None:
        """The log tells of a created Pod; the watch, which shows others, does not show it within half a minute."""
        one = observer()
        one.changed(NOW, created())
        one.changed(NOW, Change(ChangeType.CREATE, None, Observed(kind="Pod", namespace="ns", name="other")))
        one.logged(LogBatch([record(1.0), record(1.1, Subject.POD_CREATED), record(1.2, Subject.END)]))
        assert seen(one, 20.0).key_state.blocked == ()
        assert [blocked.key for blocked in seen(one, 40.0).key_state.blocked] == ["ns/one"]

    def test_after_a_new_list_nothing_is_missing(self) -> None:
        """What came and went while the watch was interrupted was not seen, so it is not waited for."""
        one = observer()
        one.changed(NOW, created())
        one.logged(LogBatch([record(1.0), record(1.1, Subject.POD_CREATED), record(1.2, Subject.END)]))
        one.changed(NOW + 5.0, Change(ChangeType.UPDATE, cluster(), cluster()))
        assert seen(one, 40.0).key_state.blocked == ()

    def test_a_group_that_is_skipped(self) -> None:
        """Lines that tell of an unmet expectation for half a minute make a blocked key."""
        one = observer()
        one.changed(NOW, created())
        for second in range(0, 60, 5):
            lines = [
                record(second, identity=str(second)),
                record(second + 0.1, Subject.EXPECTATION, identity=str(second), detail="g0"),
                record(second + 0.2, Subject.END, identity=str(second)),
            ]
            one.logged(LogBatch(lines))
        assert [blocked.key for blocked in seen(one, 62.0).key_state.blocked] == ["ns/one"]


class TestHotKeys:
    def test_a_key_that_another_client_writes_to(self) -> None:
        """It comes again and again, holds the worker, and the writer is named."""
        one = observer()
        one.changed(NOW, created())
        for number in range(1, 300):
            time = number / 5
            old, new = cluster(version=number), cluster(version=number + 1)
            one.changed(NOW + time, Change(ChangeType.UPDATE, old, new))
            lines = [record(time + 0.01, identity=str(number)), record(time + 0.15, Subject.END, identity=str(number))]
            one.logged(LogBatch(lines))
        (hot,) = seen(one, 62.0).hot_keys
        assert (hot.controller, hot.key) == ("raycluster", "ns/one")
        assert hot.busy_share == pytest.approx(1.0)
        assert hot.updates_per_second == pytest.approx(5.0, rel=0.1)

    def test_one_long_reconcile_while_others_wait(self) -> None:
        """A reconcile that does not end holds the only worker; it is not hot by itself when others merely wait once."""
        one = observer()
        one.changed(NOW, created())
        one.logged(LogBatch([record(0.5)]))
        assert seen(one, 5.0).hot_keys == ()


def pieces(folder: Path) -> Iterator[tuple[float, int, object]]:
    """What a recording has, in the order of time."""
    source = RecordingSource(folder)
    records = ((one.time, number, one) for number, one in enumerate(source.log()))
    events = ((time, number, change) for number, (time, change) in enumerate(changes(source)))
    yield from heapq.merge(records, events, key=lambda one: one[:1])


class TestRecording:
    def test_the_example_shows_what_its_operator_counted(self) -> None:
        """Played in pieces of a quarter of a second, the example's reconciles are as many as its operator counted."""
        one, batch, until = observer(), list[LogRecord](), 0.0
        last = 0.0
        for time, _, item in pieces(EXAMPLE):
            last = time
            if isinstance(item, LogRecord):
                batch.append(item)
            else:
                assert isinstance(item, Change)
                one.changed(time, item)
            if time > until:
                one.logged(LogBatch(batch))
                one.advance(time)
                batch, until = [], time + 0.25
        one.logged(LogBatch(batch))
        found = one.look(last + 10.0)
        results = [sum(view.results.values()) for shadow in found.shadows for view in shadow.by_priority.values()]
        with gzip.open(EXAMPLE / "metrics.om.gz", "rt") as file:
            own = [text for text in file if text.startswith("workqueue_work_duration_seconds_count")]
        assert sum(results) == max(float(text.split()[-2]) for text in own)
        assert found.keys is not None
        everything = (*found.keys.totals, *found.keys.rest)
        assert sum(total.reconciles for total in everything) == sum(results)


def test_an_owned_pod_wakes_its_cluster() -> None:
    """An event of a Pod makes the RayCluster's key ready, by the operator's own rule."""
    one = observer()
    owner = OwnerReference("RayCluster", "one", "uid")
    pod = Observed(kind="Pod", namespace="ns", name="p", resource_version=1, owners=(owner,))
    one.logged(LogBatch([record(0.0), record(0.1, Subject.END)]))
    one.changed(NOW + 2.0, Change(ChangeType.CREATE, None, pod))
    view = seen(one, 10.0).shadows[0].by_priority["0"]
    assert view.depth == 1
    assert view.oldest_ready_seconds == pytest.approx(6.5, abs=0.1)


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("name", "key"), [("hot-key-annotation-writer", "team-b/rc-001"), ("hot-key-big-scale-up", "team-a/rc-000")]
)
def test_hot_keys_of_recordings(shared: Path, name: str, key: str) -> None:
    """Played as it came, the hot key is named within 15 s of the load's begin, alone, and nothing was before."""
    folder = shared / "recordings" / name
    begin = json.loads((folder / "expected.json").read_text())["measured"]["load_start"]
    one, batch = observer(), list[LogRecord]()
    until, named = 0.0, dict[str, float]()
    for time, _, item in pieces(folder):
        if isinstance(item, LogRecord):
            batch.append(item)
        else:
            assert isinstance(item, Change)
            one.changed(time, item)
        if time > until:
            one.logged(LogBatch(condensed(batch)))
            for hot in one.look(time).hot_keys:
                named.setdefault(hot.key, time - begin)
            batch, until = [], time + 1.0
    assert list(named) == [key]
    assert 0.0 < named[key] <= 15.0
