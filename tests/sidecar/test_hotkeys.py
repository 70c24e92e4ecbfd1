from collections.abc import Iterable, Mapping
from itertools import pairwise

from advisor.sidecar.hotkeys import HotKeys, Running
from advisor.sidecar.observed import Observed, Writer
from advisor.sidecar.views import HotKey, Reconcile

START = 1_800_000_000.0
NOBODY: Mapping[str, int] = {"raycluster": 0}


def ran(keys: HotKeys, key: str, began: float, seconds: float, controller: str = "raycluster") -> None:
    """A reconcile, with its time from the start on."""
    keys.add(Reconcile(controller=controller, key=key, began=START + began, ended=START + began + seconds, exact=True))


def look(
    keys: HotKeys, at: float, running: Iterable[Running] = (), waiting: Mapping[str, int] | None = NOBODY
) -> list[str]:
    """The hot keys at a time."""
    return [one.key for one in keys.view(START + at, running, waiting)]


def only(keys: HotKeys, at: float, running: Iterable[Running] = ()) -> HotKey:
    """The one hot key."""
    (found,) = keys.view(START + at, running, NOBODY)
    return found


def in_work(key: str, began: float, seen: float) -> Running:
    """A reconcile in progress."""
    return Running("raycluster", key, START + began, START + seen)


def written(keys: HotKeys, at: float, *writers: Writer, kind: str = "RayCluster", name: str = "hot") -> None:
    """An update of an object."""
    keys.observe_update(START + at, Observed(kind=kind, namespace="a", name=name, writers=writers))


class TestComesOften:
    def test_a_key_that_is_written_to_all_the_time(self) -> None:
        """Forty short reconciles a second are more than any timer or chain of its own writes."""
        keys = HotKeys()
        named = {}
        for number in range(40 * 15):
            ran(keys, "a/hot", number / 40, 0.0025)
            if number % 40 == 0:
                named[number // 40] = look(keys, number / 40)
        assert named[14] == ["a/hot"]
        assert named[3] == []

    def test_a_cluster_that_starts(self) -> None:
        """It comes often, and for a few seconds only."""
        keys = HotKeys()
        for number in range(60):
            ran(keys, "a/new", number / 15, 0.03)
        assert [look(keys, float(second)) for second in range(4, 60)] == [[]] * 56

    def test_the_only_key_of_a_quiet_operator(self) -> None:
        """All of next to nothing is next to nothing, and a poll in two seconds is usual."""
        keys = HotKeys()
        for number in range(60):
            ran(keys, "a/service", 2.0 * number, 0.02)
        assert look(keys, 120.0) == []

    def test_slower_but_costly(self) -> None:
        """Two a second of a tenth of a second each are no poll, and a fifth of a worker."""
        keys = HotKeys()
        for number in range(60):
            ran(keys, "a/hot", number / 2, 0.1)
        assert look(keys, 30.0) == ["a/hot"]

    def test_many_keys_that_come_often(self) -> None:
        """Where each has its part, none is hot."""
        keys = HotKeys()
        for number in range(6000):
            ran(keys, f"a/rc-{number % 24}", number / 120, 0.007)
        assert look(keys, 50.0) == []


class TestTakesLong:
    def test_a_long_reconcile_counts_while_it_runs(self) -> None:
        """Its end may be far, and its own next events wait for it."""
        keys = HotKeys()
        assert look(keys, 3.0, [in_work("a/large", 0.0, 3.0)]) == []
        assert look(keys, 8.0, [in_work("a/large", 0.0, 8.0)]) == ["a/large"]

    def test_it_counts_as_far_as_it_is_known_to_run(self) -> None:
        """At info level a reconcile may have ended after its last line."""
        keys = HotKeys()
        assert look(keys, 30.0, [in_work("a/silent", 0.0, 0.1)]) == []

    def test_one_of_several_long_ones(self) -> None:
        """When all take long, no one key does."""
        keys = HotKeys()
        running = [in_work(f"a/rc-{number}", 0.0, 20.0) for number in range(4)]
        assert look(keys, 20.0, running) == []

    def test_the_first_of_many_that_wait(self) -> None:
        """With one worker the first long reconcile has all the time so far; the others may take as long."""
        keys = HotKeys()
        running = [in_work("a/first", 0.0, 12.0)]
        assert look(keys, 12.0, running, {"raycluster": 9}) == []
        assert look(keys, 12.0, running, {}) == []
        assert look(keys, 12.0, running, None) == []
        assert look(keys, 12.0, running, {"raycluster": 0}) == ["a/first"]

    def test_more_than_all_others_while_they_wait(self) -> None:
        """A key that comes again and again between others, each time for longer than they take together."""
        keys = HotKeys()
        for turn in range(8):
            ran(keys, "a/hot", 5.0 * turn, 4.0)
            ran(keys, f"a/rc-{turn}", 5.0 * turn + 4.0, 1.0)
        assert look(keys, 40.0, waiting={"raycluster": 5}) == ["a/hot"]

    def test_the_last_of_a_busy_minute(self) -> None:
        """A tail that runs alone for a while did not make the minute busy."""
        keys = HotKeys()
        for number in range(40):
            ran(keys, f"a/rc-{number}", float(number), 1.0)
        ran(keys, "a/last", 40.0, 12.0)
        assert look(keys, 52.0) == []


class TestHysteresis:
    def test_a_pause_does_not_make_it_cold(self) -> None:
        """A writer that rests for ten seconds is the same hot key."""
        keys = HotKeys()
        seen = []
        for second in range(120):
            if second < 20 or 30 <= second < 50:
                for number in range(20):
                    ran(keys, "a/hot", second + number / 20, 0.005)
            seen.append(look(keys, second + 1.0))
        first = seen.index(["a/hot"])
        changes = sum(before != after for before, after in pairwise(seen))
        assert first < 15
        assert changes == 2
        assert seen[-1] == []

    def test_it_is_hot_since_it_was_first_named(self) -> None:
        """The time does not move while it stays."""
        keys = HotKeys()
        since = set()
        for number in range(40 * 40):
            ran(keys, "a/hot", number / 40, 0.0025)
            if number % 40 == 39:
                since |= {one.since for one in keys.view(START + (number + 1) / 40, (), NOBODY)}
        assert len(since) == 1
        assert 5.0 <= since.pop() - START <= 12.0


class TestWhatIsTold:
    def test_share_is_of_its_controller(self) -> None:
        """Workers of one controller do nothing for another's keys."""
        keys = HotKeys()
        for number in range(200):
            ran(keys, "a/hot", number / 10, 0.09)
            ran(keys, f"a/job-{number % 50}", number / 10, 0.09, controller="rayjob")
        found = keys.view(START + 20.0, (), {"raycluster": 0, "rayjob": 0})
        assert [(one.controller, one.key, one.busy_share) for one in found] == [("raycluster", "a/hot", 1.0)]

    def test_runs_in_a_row(self) -> None:
        """Another key's run between two of them ends the row; one beside it does not."""
        keys = HotKeys()
        for number in range(100):
            ran(keys, "a/hot", 0.1 * number, 0.09)
        ran(keys, "a/between", 10.0, 0.05)
        for number in range(100):
            ran(keys, "a/hot", 10.1 + 0.1 * number, 0.09)
            if number == 50:
                ran(keys, "a/beside", 10.1 + 0.1 * number - 0.15, 0.2)
        assert only(keys, 21.0).consecutive == 100

    def test_the_run_in_progress_is_one_of_them(self) -> None:
        """It counts before it has ended."""
        assert only(HotKeys(), 8.0, [in_work("a/large", 0.0, 8.0)]).consecutive == 1


def hot_and_written(keys: HotKeys) -> None:
    """A key that is hot for twenty seconds."""
    for number in range(400):
        ran(keys, "a/hot", number / 20, 0.01)


class TestWriters:
    def test_the_manager_whose_time_moves_most(self) -> None:
        """The operator writes its status once, another client an annotation each second."""
        keys = HotKeys()
        hot_and_written(keys)
        status = Writer("manager", START)
        for second in range(20):
            written(keys, float(second), Writer("annotator", START + second), status)
        found = only(keys, 20.0)
        assert found.writer == "annotator"
        assert found.updates_per_second == 1.0

    def test_updates_within_a_second(self) -> None:
        """The times have a grain of a second: an update that moves none is by those that wrote last."""
        keys = HotKeys()
        hot_and_written(keys)
        for number in range(400):
            second = START + number // 20
            managers = [Writer("annotator", second)]
            if number % 20 == 19:
                managers.append(Writer("manager", second))
            else:
                managers.append(Writer("manager", second - 1.0))
            written(keys, number / 20, *managers)
        found = only(keys, 20.0)
        assert found.writer == "annotator"
        assert found.updates_per_second == 20.0

    def test_without_managers_the_rate_is_known(self) -> None:
        """Managed fields may be left out; watch events count all the same."""
        keys = HotKeys()
        hot_and_written(keys)
        for number in range(100):
            written(keys, number / 5)
        found = only(keys, 20.0)
        assert (found.writer, found.updates_per_second) == ("", 5.0)

    def test_what_is_not_watched_is_not_known(self) -> None:
        """Zero is told of watched kinds alone."""
        keys = HotKeys()
        hot_and_written(keys)
        assert only(keys, 20.0).updates_per_second is None
        keys = HotKeys(["RayCluster"])
        hot_and_written(keys)
        assert only(keys, 20.0).updates_per_second == 0.0

    def test_other_objects_do_not_count(self) -> None:
        """Neither those of another name nor Pods of the same."""
        keys = HotKeys(["RayCluster"])
        hot_and_written(keys)
        written(keys, 1.0, Writer("x", START), name="hotter")
        written(keys, 1.0, Writer("x", START), kind="Pod")
        found = only(keys, 20.0)
        assert (found.writer, found.updates_per_second) == ("", 0.0)

    def test_very_many_objects(self) -> None:
        """What is remembered of each is bounded, and the heaviest writer is still found."""
        keys = HotKeys()
        hot_and_written(keys)
        for number in range(5000):
            written(keys, number / 250, Writer("other", START + number // 250), name=f"rc-{number}")
            if number % 10 == 0:
                written(keys, number / 250, Writer("annotator", START + number // 250))
        found = only(keys, 20.0)
        assert found.writer == "annotator"
        assert found.updates_per_second is not None
        assert 20.0 < found.updates_per_second <= 25.0
        assert len(keys._writers._last) <= 1024
