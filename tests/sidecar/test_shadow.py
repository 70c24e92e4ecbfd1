"""The shadow of one controller's queue, from events, log and gauges."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.handlers import LOW_PRIORITY
from advisor.queueing.types import IMMEDIATE, AddOptions
from advisor.sidecar.queueitems import QueueItem
from advisor.sidecar.reconciles import Began, Ended
from advisor.sidecar.shadow import NO_PRIORITIES, ShadowController, as_ns
from advisor.sidecar.views import PriorityView

LOW = AddOptions(priority=LOW_PRIORITY)


@dataclass
class World:
    """A shadow, told in seconds."""

    shadow: ShadowController = field(default_factory=lambda: ShadowController("raycluster"))
    running: dict[str, Began] = field(default_factory=dict)

    def add(self, time: float, *keys: str, options: AddOptions = IMMEDIATE) -> None:
        """Let events add keys."""
        self.shadow.add(as_ns(time), options, *keys)

    def begin(self, time: float, *keys: str) -> None:
        """Let reconciles begin."""
        for key in keys:
            self.running[key] = Began(time, "raycluster", key, exact=True)
            self.shadow.began(self.running[key])

    def end(self, time: float, key: str, *, requeue: float | None = None, failed: bool = False) -> str:
        """Let a reconcile end; the label of its priority."""
        began = self.running.pop(key)
        ended = Ended(began, time, time, exact=True, failed=failed, backoff=failed, requeue_seconds=requeue)
        return self.shadow.ended(ended)

    def is_draining(self) -> bool:
        """Whether the initial list is not known to have been worked off."""
        return self.shadow.is_draining

    def view(self, now: float, label: str = "0") -> PriorityView:
        """What is known of one priority."""
        return self.shadow.views(now)[label]

    def wait(self, now: float, label: str = "0") -> tuple[int, float]:
        """Number of waits and their sum in seconds."""
        found = self.view(now, label).wait
        return sum(found.buckets), found.sum_ns / 1e9


@pytest.fixture
def world() -> World:
    """A priority queue."""
    return World()


@pytest.fixture
def classic() -> World:
    """A classic queue."""
    return World(ShadowController("raycluster", has_priorities=False))


class TestReconciles:
    def test_a_key_from_event_to_end(self, world: World) -> None:
        """It waits from the event to the start and is in work from there to the end."""
        world.add(10.0, "a")
        assert world.shadow.depth() == {"0": 1}
        world.begin(12.0, "a")
        assert world.wait(12.0) == (1, 2.0)
        assert (world.view(12.0).depth, world.view(12.0).active_workers) == (0, 1)
        assert world.end(12.5, "a") == "0"
        found = world.view(13.0)
        assert (found.active_workers, found.adds) == (0, 1)
        assert found.results == {"success": 1, "error": 0, "requeue": 0, "requeue_after": 0}
        assert found.time.sum_ns == as_ns(0.5)
        assert (world.shadow.unseen, world.shadow.unexplained) == (0, 0)

    def test_a_requeue_keeps_the_priority(self, world: World) -> None:
        """After its delay the key is ready again, and waits from then on."""
        world.add(0.0, "a", options=LOW)
        world.begin(1.0, "a")
        assert world.end(2.0, "a", requeue=5.0) == "-100"
        world.shadow.tick(6.9)
        assert world.shadow.depth() == {"-100": 0}
        world.shadow.tick(7.0)
        assert world.shadow.depth() == {"-100": 1}
        world.begin(8.0, "a")
        assert world.wait(8.0, "-100") == (2, 2.0)
        assert world.view(8.0, "-100").results["requeue_after"] == 1

    def test_errors_come_again_with_backoff(self, world: World) -> None:
        """5 ms, then twice as long each time; a success begins anew."""
        for time, is_failed in ((0.0, True), (1.0, True), (2.0, True), (3.0, False), (4.0, True)):
            world.add(time, "a", options=LOW)
            world.begin(time, "a")
            assert world.end(time, "a", failed=is_failed) == "-100"
            delay = {0.0: 0.005, 1.0: 0.01, 2.0: 0.02, 3.0: None, 4.0: 0.005}[time]
            due = world.shadow._queue.waits_until_ns("a")
            assert due == (None if delay is None else as_ns(time + delay))
        assert world.view(5.0, "-100").results == {"success": 1, "error": 4, "requeue": 0, "requeue_after": 0}

    def test_an_event_while_it_is_in_work(self, world: World) -> None:
        """The key is ready and blocked by its own reconcile, and counts in the depth."""
        world.add(0.0, "a")
        world.begin(0.0, "a")
        world.add(1.0, "a")
        found = world.view(3.0)
        assert (found.depth, found.blocked_keys, found.oldest_ready_seconds) == (1, 1, 2.0)
        assert world.shadow.waiting(3.0) == 0
        world.end(4.0, "a")
        assert (world.view(4.0).depth, world.view(4.0).blocked_keys) == (1, 0)
        assert world.shadow.waiting(4.0) == 1

    def test_the_end_of_one_that_is_not_in_work(self, world: World) -> None:
        """Of before a restart, say: it counts nowhere and its key does not come again."""
        world.add(0.0, "a")
        world.begin(0.0, "a")
        world.shadow.start(5.0)
        assert world.end(6.0, "a", requeue=1.0) == NO_PRIORITIES
        assert world.shadow.depth() == {"0": 0}
        world.shadow.tick(10.0)
        assert world.shadow.depth() == {"0": 0}
        assert world.view(10.0).results["requeue_after"] == 0

    def test_a_late_error(self, world: World) -> None:
        """Its key comes again with back-off, at the priority at which it waits already; nothing is counted twice."""
        world.add(0.0, "a", options=LOW)
        world.begin(0.0, "a")
        began = world.running["a"]
        world.end(1.0, "a", requeue=2.0)
        late = Ended(began, 1.5, 1.5, exact=False, failed=True, backoff=True, late=True)
        assert world.shadow.ended(late) == NO_PRIORITIES
        assert world.shadow._queue.waits_until_ns("a") == as_ns(1.505)
        world.shadow.tick(2.0)
        assert world.shadow.depth() == {"-100": 1}
        assert sum(world.view(2.0, "-100").results.values()) == 1

    def test_a_late_error_of_a_key_that_would_not_have_come_again(self, world: World) -> None:
        """It comes at the usual priority, as nothing tells another."""
        world.add(0.0, "a")
        world.begin(0.0, "a")
        began = world.running["a"]
        world.end(1.0, "a")
        world.shadow.ended(Ended(began, 1.5, 1.5, exact=False, failed=True, backoff=True, late=True))
        world.shadow.tick(2.0)
        assert world.shadow.depth() == {"0": 1}

    def test_times_that_go_back_a_little(self, world: World) -> None:
        """A reconcile that began before its event was seen has not waited."""
        world.add(10.0, "a")
        world.begin(9.99, "a")
        assert world.wait(10.0) == (1, 0.0)
        assert world.shadow.unexplained == 0


class TestUnexplained:
    def test_a_key_that_was_not_ready(self, world: World) -> None:
        """Something that is not watched made it ready: it counts as ready at its start, at the usual priority."""
        world.begin(5.0, "a")
        assert world.wait(5.0) == (1, 0.0)
        assert world.shadow.unexplained == 1
        assert world.end(6.0, "a") == "0"

    def test_a_key_that_still_waits_for_long(self, world: World) -> None:
        """A change came before its requeue was due, and raised it to the usual priority."""
        world.add(0.0, "a", options=LOW)
        world.begin(0.0, "a")
        world.end(1.0, "a", requeue=300.0)
        world.begin(20.0, "a")
        assert world.wait(20.0) == (1, 0.0)
        assert world.shadow.unexplained == 1
        world.shadow.tick(400.0)
        assert world.shadow.depth() == {"-100": 0, "0": 0}

    def test_a_key_that_is_due_at_once(self, world: World) -> None:
        """It is its requeue, a moment early by the log's clock: no change of priority, no wait."""
        world.add(0.0, "a", options=LOW)
        world.begin(0.0, "a")
        world.end(1.0, "a", requeue=2.0)
        world.begin(2.5, "a")
        assert world.wait(2.5, "-100") == (2, 0.0)
        assert world.shadow.unexplained == 0

    def test_the_event_that_it_was_for_comes_late(self, world: World) -> None:
        """It does not make the key ready once more; the next one does."""
        world.begin(5.0, "a")
        world.add(5.04, "a")
        assert world.shadow.depth() == {"0": 0}
        world.add(5.045, "a")
        assert world.shadow.depth() == {"0": 1}

    @pytest.mark.parametrize("time", [4.99, 5.06])
    def test_an_event_of_another_time_is_another(self, world: World, time: float) -> None:
        """Of before the start, or well after it."""
        world.begin(5.0, "a")
        world.add(time, "a")
        assert world.shadow.depth() == {"0": 1}

    def test_an_event_for_an_explained_one(self, world: World) -> None:
        """Right after the start of a reconcile whose event was seen, the key is ready once more."""
        world.begin(4.99, "a")
        world.end(4.995, "a")
        world.add(4.996, "b")
        world.add(4.996, "a")
        world.begin(5.0, "b")
        world.add(5.01, "b")
        assert world.shadow.depth() == {"0": 1}

    def test_causes_are_not_waited_for_without_end(self, world: World) -> None:
        """Keys that come and go leave nothing behind."""
        for number in range(50):
            world.begin(float(number), f"k{number}")
        assert world.shadow._early_ns
        world.shadow.tick(60.0)
        assert not world.shadow._early_ns


class TestStart:
    def test_what_exists_enters_at_the_low_priority(self, world: World) -> None:
        """As of the start, however late it is known here."""
        world.shadow.start(10.0)
        assert world.is_draining()
        world.shadow.existed("a")
        world.begin(13.0, "a")
        assert world.wait(13.0, "-100") == (1, 3.0)

    def test_a_key_that_has_had_its_turn(self, world: World) -> None:
        """An object that is listed late is not ready once more; that its key was ready is taken for granted."""
        world.shadow.start(10.0)
        world.begin(12.0, "a")
        world.shadow.existed("a")
        assert world.shadow.depth() == {"-100": 0}
        assert world.wait(12.0, "-100") == (1, 2.0)
        assert world.shadow.unexplained == 0
        assert set(world.shadow.had) == {"a"}

    def test_keys_that_had_their_turn_before_this_was_known(self, world: World) -> None:
        """Whoever starts a shadow late can say so."""
        world.shadow.start(10.0, ["a"])
        world.shadow.existed("a")
        world.shadow.existed("b")
        assert world.shadow.depth() == {"-100": 1}

    def test_a_change_raises_a_key_of_the_list(self, world: World) -> None:
        """It has waited since the start all the same."""
        world.shadow.start(10.0)
        world.shadow.existed("a")
        world.add(11.0, "a")
        assert world.shadow.depth() == {"-100": 0, "0": 1}
        world.begin(13.0, "a")
        assert world.wait(13.0) == (1, 3.0)

    def test_nothing_of_before_is_left_but_the_counters(self, world: World) -> None:
        """What was ready, waited or was in work is gone; failures are forgotten."""
        world.add(0.0, "a", "b")
        world.begin(0.0, "a", "b")
        world.end(1.0, "b", failed=True)
        world.add(1.0, "c")
        world.shadow.start(5.0)
        found = world.view(5.0)
        assert (found.depth, found.active_workers, found.blocked_keys, found.adds) == (0, 0, 0, 3)
        assert found.oldest_ready_seconds is None
        assert world.shadow._queue.num_requeues("b") == 0

    def test_it_has_drained_once_the_gauge_says_so(self, world: World) -> None:
        """But not right after the start, when nothing had been listed yet."""
        world.shadow.start(10.0)
        world.shadow.scraped(10.5, {})
        assert world.is_draining()
        world.shadow.scraped(12.0, {"-100": 5.0})
        assert world.is_draining()
        world.shadow.scraped(14.0, {"-100": 0.0})
        assert not world.is_draining()
        world.shadow.existed("late")
        assert world.shadow.depth() == {}
        assert not world.shadow.had

    def test_a_process_that_ended(self, world: World) -> None:
        """Nothing is ready or in work, and no initial list is drained."""
        world.shadow.start(0.0)
        world.shadow.existed("a")
        world.begin(1.0, "b")
        world.shadow.scraped(1.0, {"-100": 3.0})
        world.shadow.stop()
        assert not world.is_draining()
        found = world.view(2.0, "-100")
        assert (found.depth, found.active_workers, found.depth_error) == (0, 0, None)


class TestScraped:
    def test_the_error_is_told_before_it_is_mended(self, world: World) -> None:
        """By priority, also where only one of both has any; the view shows it."""
        world.add(0.0, "a", "b")
        world.shadow.scraped(10.0, {"0": 1.0, "-100": 3.0})
        assert world.shadow.depth_errors == {"0": 1.0, "-100": -3.0}
        assert world.view(10.0).depth_error == 1.0
        world.shadow.scraped(12.0, {"0": 2.0})
        assert world.shadow.depth_errors == {"0": 0.0}

    def test_where_objects_are_not_known(self, world: World) -> None:
        """The difference says nothing of the shadow, so none is told."""
        world.add(0.0, "a")
        world.shadow.scraped(0.5, {"0": 30.0})
        world.shadow.scraped(1.0, {"0": 30.0}, is_known=False)
        assert world.shadow.depth_errors == {}
        assert world.view(1.0).depth_error is None

    def test_an_empty_queue_there_is_empty_here(self, world: World) -> None:
        """What was ready well before went out without a trace; what came just now may be on its way."""
        world.add(0.0, "old", "older")
        world.add(9.5, "new")
        world.shadow.scraped(10.0, {"0": 0.0})
        assert [one.key for one in world.shadow._queue.ready()] == ["new"]
        assert world.shadow.unseen == 2

    def test_a_priority_without_a_series_is_empty(self, world: World) -> None:
        """The operator has a series only from the first key on."""
        world.add(0.0, "a", options=LOW)
        world.shadow.scraped(10.0, {"0": 5.0})
        assert world.shadow.depth() == {"-100": 0}

    def test_a_blocked_key_of_an_empty_queue(self, world: World) -> None:
        """It is counted there as well, so where nothing is counted it is not there."""
        world.add(0.0, "a")
        world.begin(0.0, "a")
        world.add(1.0, "a")
        world.shadow.scraped(10.0, {"0": 0.0})
        assert world.shadow.depth() == {"0": 0}

    def test_an_overtaken_key_has_gone(self, world: World) -> None:
        """A key that came before one that went out, went before it; the surplus is taken from those."""
        world.add(0.0, "silent")
        world.add(5.0, "next", "after")
        world.begin(6.0, "next")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert [one.key for one in world.shadow._queue.ready()] == ["after"]
        assert world.shadow.unseen == 1

    def test_no_more_than_the_surplus_goes(self, world: World) -> None:
        """The oldest first."""
        world.add(0.0, "a")
        world.add(1.0, "b")
        world.add(5.0, "next")
        world.begin(6.0, "next")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert [one.key for one in world.shadow._queue.ready()] == ["b"]

    def test_what_was_not_overtaken_stays(self, world: World) -> None:
        """A surplus alone may be that of another moment."""
        world.add(0.0, "first")
        world.add(0.5, "second", "third")
        world.begin(6.0, "first")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert {one.key for one in world.shadow._queue.ready()} == {"second", "third"}

    def test_times_of_two_sources_are_not_compared_to_the_second(self, world: World) -> None:
        """A key that came at nearly the time of the one that went out may have come behind it."""
        world.add(4.5, "near")
        world.add(5.0, "next", "after")
        world.begin(6.0, "next")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert {one.key for one in world.shadow._queue.ready()} == {"near", "after"}

    def test_a_key_that_was_not_seen_to_wait_overtakes_none(self, world: World) -> None:
        """Since when it had really been ready is not known: it may have stood before all others."""
        world.add(0.0, "first", "second")
        world.begin(6.0, "unexplained")
        world.add(6.0, "due", options=AddOptions(after_ns=as_ns(0.5)))
        world.begin(6.2, "due")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert {one.key for one in world.shadow._queue.ready()} == {"first", "second"}

    def test_a_higher_priority_is_overtaken_by_a_lower_one(self, world: World) -> None:
        """As long as a key of priority 0 is ready, none of -100 goes out: all that was there has gone."""
        world.add(0.0, "low", options=LOW)
        world.add(3.0, "high", "higher")
        world.add(6.5, "newest")
        world.begin(7.0, "low")
        world.shadow.tick(9.0)
        world.shadow.scraped(9.0, {"0": 1.0})
        assert [one.key for one in world.shadow._queue.ready()] == ["newest"]

    def test_a_lower_priority_is_not_overtaken_by_a_higher_one(self, world: World) -> None:
        """It is where it was, however long it waits."""
        world.add(0.0, "low", "lower", options=LOW)
        world.add(3.0, "high")
        world.begin(7.0, "high")
        world.shadow.tick(9.0)
        world.shadow.scraped(9.0, {"0": 0.0, "-100": 1.0})
        assert world.shadow.depth() == {"0": 0, "-100": 2}

    def test_a_raised_key_ranks_by_when_it_was_raised(self, world: World) -> None:
        """It came behind those that had that priority before, so their going first says nothing of it."""
        world.add(0.0, "raised", options=LOW)
        world.add(3.0, "next")
        world.add(5.0, "raised")
        world.add(5.5, "other")
        world.begin(7.0, "next")
        world.shadow.tick(9.0)
        world.shadow.scraped(9.0, {"0": 1.0})
        assert {one.key for one in world.shadow._queue.ready()} == {"raised", "other"}

    def test_a_raise_counts_for_one_turn_only(self, world: World) -> None:
        """When it is ready again, the key ranks by that time."""
        world.add(0.0, "a", options=LOW)
        world.add(1.0, "a")
        world.begin(1.0, "a")
        world.end(2.0, "a")
        assert not world.shadow._raised_ns
        world.add(5.0, "a", options=LOW)
        world.add(6.0, "a")
        world.begin(5.9, "a")
        assert not world.shadow._raised_ns

    def test_a_blocked_key_is_not_overtaken(self, world: World) -> None:
        """Its own reconcile holds it back, while later ones go."""
        world.add(0.0, "busy")
        world.begin(0.0, "busy")
        world.add(1.0, "busy")
        world.add(5.0, "next", "after")
        world.begin(6.0, "next")
        world.shadow.tick(8.0)
        world.shadow.scraped(8.0, {"0": 1.0})
        assert {one.key for one in world.shadow._queue.ready()} == {"busy", "after"}


class TestContent:
    def test_what_is_the_same_stays_as_it_is(self, world: World) -> None:
        """Waits and delays go on."""
        world.add(0.0, "ready")
        world.add(0.0, "waits", options=AddOptions(after_ns=as_ns(100.0)))
        world.shadow.content(10.0, [QueueItem("ready", 0, None), QueueItem("waits", 0, 100.001)])
        assert (world.shadow.unseen, world.shadow.unexplained) == (0, 0)
        assert world.shadow._queue.waits_until_ns("waits") == as_ns(100.0)
        world.begin(12.0, "ready")
        assert world.wait(12.0) == (1, 12.0)

    def test_what_is_not_there_is_dropped(self, world: World) -> None:
        """Whether it was ready, which is then gone unseen, or waited."""
        world.add(0.0, "ready")
        world.add(0.0, "waits", options=AddOptions(after_ns=as_ns(100.0)))
        world.shadow.content(10.0, [])
        assert world.shadow._queue.pending() == ()
        assert world.shadow.unseen == 1

    def test_what_is_there_is_added(self, world: World) -> None:
        """A ready key counts as ready from now on, as nothing tells since when; a waiting one until its time."""
        world.shadow.content(10.0, [QueueItem("ready", -100, None), QueueItem("waits", 5, 20.0)])
        assert world.shadow.depth() == {"-100": 1}
        assert world.shadow.unexplained == 1
        world.shadow.tick(20.0)
        assert world.shadow.depth() == {"5": 1, "-100": 1}

    def test_a_time_that_is_over(self, world: World) -> None:
        """A key that was due before the line was written, and not moved yet, is ready next."""
        world.shadow.content(10.0, [QueueItem("a", 0, 9.5)])
        assert world.shadow.depth() == {}
        world.shadow.tick(10.001)
        assert world.shadow.depth() == {"0": 1}

    @pytest.mark.parametrize(("mine", "theirs"), [(0, -100), (-100, 0)])
    def test_another_priority(self, world: World, mine: int, theirs: int) -> None:
        """It is taken over, and the key has waited as long as before; it ranks as of now."""
        world.add(0.0, "a", options=AddOptions(priority=mine))
        world.shadow.content(10.0, [QueueItem("a", theirs, None)])
        assert world.shadow.depth() == {str(mine): 0, str(theirs): 1}
        assert (world.shadow.unseen, world.shadow.unexplained) == (0, 0)
        assert world.shadow._raised_ns == {"a": as_ns(10.0)}
        world.begin(12.0, "a")
        assert world.wait(12.0, str(theirs)) == (1, 12.0)

    def test_ready_here_and_waiting_there(self, world: World) -> None:
        """It went out unseen, and is due again."""
        world.add(0.0, "a")
        world.shadow.content(10.0, [QueueItem("a", 0, 15.0)])
        assert world.shadow.depth() == {"0": 0}
        assert world.shadow.unseen == 1
        assert world.shadow._queue.waits_until_ns("a") == as_ns(15.0)

    @pytest.mark.parametrize("due", [None, 40.0, 200.0])
    def test_waiting_here_for_another_time(self, world: World, due: float | None) -> None:
        """The time there holds, be it earlier or later, or now."""
        world.add(0.0, "a", options=AddOptions(after_ns=as_ns(100.0)))
        world.shadow.content(10.0, [QueueItem("a", 0, due)])
        assert world.shadow._queue.waits_until_ns("a") == (None if due is None else as_ns(due))
        assert world.shadow.depth() == ({"0": 1} if due is None else {})

    @given(
        mine=st.dictionaries(st.sampled_from("abcdef"), st.tuples(st.sampled_from((-100, 0, 5)), st.integers(0, 60))),
        busy=st.sets(st.sampled_from("abcdef")),
        theirs=st.dictionaries(
            st.sampled_from("abcdef"), st.tuples(st.sampled_from((-100, 0, 5)), st.none() | st.integers(21, 60))
        ),
    )
    def test_whatever_both_hold(
        self, mine: dict[str, tuple[int, int]], busy: set[str], theirs: dict[str, tuple[int, int | None]]
    ) -> None:
        """Afterwards the shadow holds just what was told, with the depths that go with it."""
        world = World()
        world.begin(0.0, *sorted(busy))
        for key, (priority, after) in mine.items():
            world.add(1.0, key, options=AddOptions(after_ns=as_ns(after), priority=priority))
        items = [QueueItem(key, priority, due) for key, (priority, due) in theirs.items()]
        world.shadow.content(20.0, items)
        queue = world.shadow._queue
        found = {one.key: (one.priority, queue.waits_until_ns(one.key)) for one in queue.pending()}
        assert found.keys() == theirs.keys()
        for key, (priority, due) in theirs.items():
            assert found[key][0] == priority
            assert (found[key][1] is None) is (due is None)
            assert due is None or abs((found[key][1] or 0) - as_ns(due)) <= as_ns(1.0)
        for label, depth in world.shadow.depth().items():
            assert depth == sum(1 for priority, due in theirs.values() if due is None and str(priority) == label)


class TestClassicQueue:
    def test_there_is_one_priority(self, classic: World) -> None:
        """Its label is empty, and what exists at the start enters like all else."""
        classic.shadow.start(0.0)
        classic.shadow.existed("a")
        classic.add(1.0, "b")
        classic.begin(2.0, "a", "c")
        assert classic.shadow.depth() == {NO_PRIORITIES: 1}
        assert list(classic.shadow.views(3.0)) == [NO_PRIORITIES]
        assert classic.wait(3.0, NO_PRIORITIES) == (2, 4.0)
        assert classic.end(3.0, "a", requeue=1.0) == NO_PRIORITIES
        classic.shadow.tick(5.0)
        assert classic.shadow.depth() == {NO_PRIORITIES: 2}

    def test_it_drains_and_drops_like_the_other(self, classic: World) -> None:
        """By the gauge without a label."""
        classic.shadow.start(0.0)
        classic.shadow.existed("a")
        classic.shadow.scraped(5.0, {NO_PRIORITIES: 1.0})
        assert classic.is_draining()
        classic.shadow.scraped(7.0, {NO_PRIORITIES: 0.0})
        assert not classic.is_draining()
        assert classic.shadow.depth() == {NO_PRIORITIES: 0}
        assert classic.shadow.unseen == 1

    def test_many_errors_share_a_bucket(self, classic: World) -> None:
        """Beyond a hundred at once, the next waits for a token of ten a second."""
        for number in range(102):
            classic.begin(0.0, f"k{number}")
            classic.end(0.0, f"k{number}", failed=True)
        assert classic.shadow._queue.waits_until_ns("k99") == as_ns(0.005)
        assert classic.shadow._queue.waits_until_ns("k101") == as_ns(0.2)


class TestViews:
    def test_highest_priority_first(self, world: World) -> None:
        """With what is oldest, blocked and waiting by each."""
        world.add(0.0, "low", options=LOW)
        world.add(1.0, "a")
        world.add(3.0, "b")
        found = world.shadow.views(5.0)
        assert list(found) == ["0", "-100"]
        assert [one.oldest_ready_seconds for one in found.values()] == [4.0, 5.0]
        assert [one.depth for one in found.values()] == [2, 1]

    def test_a_priority_that_nothing_went_out_at(self, world: World) -> None:
        """It is shown, with empty histograms."""
        world.add(0.0, "a")
        found = world.view(1.0)
        assert (found.active_workers, sum(found.wait.buckets), sum(found.time.buckets)) == (0, 0, 0)

    def test_ages_are_never_negative(self, world: World) -> None:
        """A view may be as of a time before the last event."""
        world.add(5.0, "a")
        assert world.view(4.0).oldest_ready_seconds == 0.0

    def test_how_many_wait_for_a_worker(self, world: World) -> None:
        """Those ready for more than a second that nothing holds back."""
        world.add(0.0, "old", "busy")
        world.begin(0.0, "busy")
        world.add(0.5, "busy")
        world.add(4.5, "new")
        assert world.shadow.waiting(5.0) == 1


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(("add", "low", "begin", "end", "fail", "requeue", "tick", "scrape", "start", "stop")),
        st.sampled_from("abcde"),
        st.sampled_from((-0.2, 0.0, 0.01, 0.5, 3.0)),
        st.integers(0, 4),
    ),
    max_size=60,
)


class TestAlways:
    @given(operations=OPERATIONS, has_priorities=st.booleans())
    def test_whatever_happens(self, operations: list[tuple[str, str, float, int]], *, has_priorities: bool) -> None:
        """Depths are what is ready, workers what is in work, each start has one wait, each end one time and result;
        nothing is ever negative.
        """
        world, now, begun, ended = World(ShadowController("x", has_priorities=has_priorities)), 100.0, 0, 0
        for what, key, pause, number in operations:
            now += pause
            match what:
                case "add":
                    world.add(now, key)
                case "low":
                    world.add(now, key, options=LOW if has_priorities else IMMEDIATE)
                case "begin" if key not in world.running:
                    world.begin(now, key)
                    begun += 1
                case "end" | "fail" | "requeue" if key in world.running:
                    world.end(now, key, failed=what == "fail", requeue=1.0 if what == "requeue" else None)
                    ended += 1
                case "scrape":
                    world.shadow.scraped(now, {"0" if has_priorities else NO_PRIORITIES: float(number)})
                case "start":
                    world.running.clear()
                    world.shadow.start(now)
                    world.shadow.existed(key)
                case "stop":
                    world.running.clear()
                    world.shadow.stop()
                case _:
                    world.shadow.tick(now)
            views = world.shadow.views(now).values()
            assert sum(one.depth or 0 for one in views) == len(list(world.shadow._queue.ready()))
            assert all((one.depth or 0) >= one.blocked_keys >= 0 for one in views)
            assert all(one.active_workers >= 0 for one in views)
            assert sum(one.active_workers for one in views) == len(world.running)
            assert sum(sum(one.wait.buckets) for one in views) == begun
            assert sum(sum(one.time.buckets) for one in views) == ended
            assert sum(sum(one.results.values()) for one in views) == ended
