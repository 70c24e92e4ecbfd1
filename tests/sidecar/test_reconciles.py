"""Reconciles begun and ended as the log tells."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.knowledge.logs import CONFLICT_TEXT
from advisor.model.raw import LogRecord, Subject
from advisor.sidecar.reconciles import Began, Ended, ReconcileTracker
from advisor.sources.operatorlog import BACKOFF

CLUSTERS = "raycluster"


def line(
    time: float,
    name: str,
    identity: str,
    subject: Subject = Subject.LINE,
    *,
    delay: float | None = None,
    detail: str = "",
    exact: bool = False,
    controller: str = CLUSTERS,
) -> LogRecord:
    """One line of a reconcile of ns/NAME."""
    return LogRecord(
        time=time,
        subject=subject,
        controller=controller,
        namespace="ns",
        name=name,
        reconcile_id=identity,
        delay_seconds=delay,
        detail=detail,
        exact=exact,
    )


@dataclass
class World:
    """A tracker and what it gave."""

    tracker: ReconcileTracker = field(default_factory=ReconcileTracker)
    began: list[Began] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)

    def take(self, *records: LogRecord) -> list[Ended]:
        """Feed it records; what they ended."""
        number = len(self.ended)
        for record in records:
            for event in self.tracker.take(record):
                if isinstance(event, Began):
                    self.began.append(event)
                else:
                    self.ended.append(event)
        return self.ended[number:]

    def active(self, controller: str) -> int:
        """How many reconciles of a controller are in progress."""
        return sum(began.controller == controller for began, _ in self.tracker.in_progress())

    def scraped(self, time: float, active: float, controller: str = CLUSTERS) -> list[Ended]:
        """Show it how many workers are busy; what that ended."""
        found = list(self.tracker.scraped(time, controller, active))
        self.ended += found
        return found

    def tick(self, now: float) -> list[Ended]:
        """Let time pass; what that ended."""
        found = list(self.tracker.tick(now))
        self.ended += found
        return found


@pytest.fixture
def world() -> World:
    """An empty one."""
    return World()


def start(time: float, name: str, identity: str) -> LogRecord:
    """A verbose start."""
    return line(time, name, identity, Subject.START, exact=True)


def end(time: float, name: str, identity: str, *, delay: float | None = None, detail: str = "") -> LogRecord:
    """A verbose end."""
    return line(time, name, identity, Subject.END, delay=delay, detail=detail, exact=True)


def last_line(time: float, name: str, identity: str, delay: float | None = 2.0) -> LogRecord:
    """The line that usually is the last at info level."""
    return line(time, name, identity, Subject.LAST_LINE, delay=delay)


class TestVerboseMarkers:
    def test_begin_and_end_are_exact(self, world: World) -> None:
        """All lines between count for nothing but their Pods."""
        (found,) = world.take(
            start(1.0, "a", "1"),
            line(1.5, "a", "1"),
            line(1.6, "a", "1", Subject.POD_CREATED),
            line(1.7, "a", "1", Subject.POD_CREATED),
            end(2.0, "a", "1"),
        )
        began = Began(1.0, CLUSTERS, "ns/a", exact=True)
        assert world.began == [began]
        assert found == Ended(began, 2.0, 2.0, exact=True, pods_created=2)
        assert found.result == "success"

    @pytest.mark.parametrize(
        ("last", "result", "requeue", "backoff"),
        [
            (end(2.0, "a", "1"), "success", None, False),
            (end(2.0, "a", "1", delay=300.0), "requeue_after", 300.0, False),
            (end(2.0, "a", "1", detail=BACKOFF), "requeue", None, True),
            (line(2.0, "a", "1", Subject.ERROR, detail="no"), "error", None, True),
            (line(2.0, "a", "1", Subject.CONFLICT, detail=CONFLICT_TEXT), "error", None, True),
        ],
    )
    def test_how_its_key_comes_again(
        self, world: World, last: LogRecord, result: str, requeue: float | None, *, backoff: bool
    ) -> None:
        """As the verbose line says, which counts for more than what was written before."""
        (found,) = world.take(start(1.0, "a", "1"), last_line(1.9, "a", "1"), last)
        assert (found.result, found.requeue_seconds, found.backoff) == (result, requeue, backoff)
        assert found.failed is (result == "error")
        assert found.conflict is (last.subject is Subject.CONFLICT)
        assert not found.control_flow

    def test_the_last_line_of_the_file_does_not_end_it(self, world: World) -> None:
        """Its verbose end is still to come."""
        assert world.take(start(1.0, "a", "1"), line(1.5, "a", "1", Subject.END, delay=300.0)) == []
        (found,) = world.take(end(1.6, "a", "1", delay=300.0))
        assert found.time == 1.6

    def test_begun_before_the_log_was_read(self, world: World) -> None:
        """Without its start only the end is certain, so the time is a lower bound."""
        (found,) = world.take(line(1.5, "a", "1"), end(2.0, "a", "1"))
        assert not found.exact
        assert found.began.time == 1.5

    def test_neither_silence_nor_more_lines_of_others_end_it(self, world: World) -> None:
        """Its end will be told."""
        world.take(start(1.0, "a", "1"), last_line(1.1, "a", "1"))
        assert world.tick(500.0) == []
        assert world.tracker.is_exact(CLUSTERS)

    def test_a_lost_end_is_given_up(self, world: World) -> None:
        """A scrape that shows fewer busy ends what has been silent for long, but nothing that spoke of late."""
        world.take(start(1.0, "a", "1"), start(30.0, "b", "2"))
        assert world.scraped(30.5, 1.0) == []
        (found,) = world.scraped(32.0, 1.0)
        assert (found.began.key, found.time) == ("ns/a", 1.0)
        assert world.active(CLUSTERS) == 1


class TestInfoLevel:
    def test_a_requeue_ends_it(self, world: World) -> None:
        """Nothing is written after it."""
        (found,) = world.take(line(1.0, "a", "1"), line(1.4, "a", "1", Subject.END, delay=300.0))
        assert found == Ended(Began(1.0, CLUSTERS, "ns/a", exact=False), 1.4, 1.4, exact=False, requeue_seconds=300.0)
        assert not world.tracker.is_exact(CLUSTERS)

    @pytest.mark.parametrize(
        ("text", "subject", "is_control_flow"),
        [
            ("found 0 head. cluster name a", Subject.ERROR, True),
            ("cannot", Subject.ERROR, False),
            (CONFLICT_TEXT, Subject.CONFLICT, False),
        ],
    )
    def test_an_error_ends_it(self, world: World, text: str, subject: Subject, *, is_control_flow: bool) -> None:
        """Which KubeRay may have returned on purpose; its key comes again with back-off, whatever else was said."""
        (found,) = world.take(last_line(1.0, "a", "1"), line(1.2, "a", "1", subject, detail=text))
        assert (found.failed, found.control_flow, found.backoff) == (True, is_control_flow, True)
        assert found.requeue_seconds is None
        assert found.time == 1.2

    def test_a_usual_last_line_and_a_second_of_silence_end_it(self, world: World) -> None:
        """It ended with that line, and its key comes again as that line tells."""
        world.take(line(1.0, "a", "1"), last_line(1.2, "a", "1"))
        assert world.tick(2.1) == []
        (found,) = world.tick(2.3)
        assert (found.time, found.likely_time, found.requeue_seconds) == (1.2, 1.2, 2.0)
        assert world.tick(100.0) == []

    def test_a_usual_last_line_that_was_not_the_last(self, world: World) -> None:
        """Another line that matters shows that it goes on; one that does not matter shows nothing."""
        world.take(last_line(1.0, "a", "1"), line(1.1, "a", "1", Subject.POD_CREATED), last_line(1.0, "b", "2"))
        world.take(line(1.1, "b", "2"))
        assert [one.began.key for one in world.tick(3.0)] == ["ns/b"]

    def test_half_a_minute_of_silence_ends_any(self, world: World) -> None:
        """A reconcile that has no usual last line is waited for that long."""
        world.take(line(1.0, "a", "1"))
        assert world.tick(31.0) == []
        assert [one.time for one in world.tick(31.1)] == [1.0]

    def test_the_next_of_its_key_ends_it(self, world: World) -> None:
        """A key is with one worker at a time."""
        (found,) = world.take(line(1.0, "a", "1"), line(1.5, "a", "1"), line(3.0, "a", "2"))
        assert (found.time, found.likely_time) == (1.5, 1.5)
        assert [one.time for one in world.began] == [1.0, 3.0]

    @pytest.mark.parametrize(("controller", "seconds"), [("rayjob", 3.0), ("rayservice", 2.0), (CLUSTERS, None)])
    def test_kinds_that_are_polled(self, world: World, controller: str, seconds: float | None) -> None:
        """Their keys come again without a word of it."""
        world.take(line(1.0, "a", "1", controller=controller))
        (found,) = world.take(line(5.0, "a", "2", controller=controller))
        assert found.requeue_seconds == seconds

    def test_lines_that_go_back_a_little(self, world: World) -> None:
        """A reconcile never ends before a line that it has had."""
        (found,) = world.take(line(1.2, "a", "1"), line(1.1, "a", "1"), line(2.0, "a", "2"))
        assert found.time == 1.2

    def test_lines_of_no_reconcile(self, world: World) -> None:
        """A line without a key, or of none, tells nothing; it neither begins one nor ends another."""
        world.take(line(1.0, "a", "1"))
        assert world.take(line(1.1, "", "2"), line(1.2, "a", "")) == []
        assert len(world.began) == 1
        assert world.active(CLUSTERS) == 1


class TestWorkers:
    def test_no_more_than_there_are_workers(self, world: World) -> None:
        """The one that had its usual last line has made room, and ended when the next began."""
        world.tracker.set_workers(CLUSTERS, 2)
        world.take(line(1.0, "a", "1"), last_line(1.1, "b", "2"))
        (found,) = world.take(line(4.0, "c", "3"))
        assert (found.began.key, found.time, found.likely_time) == ("ns/b", 1.1, 4.0)
        assert [(one.key, last) for one, last in world.tracker.in_progress()] == [("ns/a", 1.0), ("ns/c", 4.0)]

    def test_without_a_last_line_the_one_silent_longest(self, world: World) -> None:
        """It is the likeliest."""
        world.tracker.set_workers(CLUSTERS, 2)
        world.take(line(1.0, "a", "1"), line(1.1, "b", "2"), line(1.2, "a", "1"))
        (found,) = world.take(line(1.5, "c", "3"))
        assert found.began.key == "ns/b"

    def test_workers_of_others_do_not_count(self, world: World) -> None:
        """Each controller has its own."""
        world.tracker.set_workers("rayjob", 1)
        assert world.take(line(1.0, "a", "1"), line(1.0, "b", "2"), line(1.0, "a", "3", controller="rayjob")) == []

    def test_a_scrape_shows_fewer_busy(self, world: World) -> None:
        """Those silent longest have ended, as many as are too many."""
        world.take(line(1.0, "a", "1"), line(1.1, "b", "2"), line(1.2, "c", "3"))
        found = world.scraped(1.3, 1.0)
        assert [one.began.key for one in found] == ["ns/a", "ns/b"]
        assert world.active(CLUSTERS) == 1

    def test_a_scrape_says_nothing_of_what_came_after_it(self, world: World) -> None:
        """A reconcile with a line after the scrape goes on."""
        world.take(line(1.0, "a", "1"), line(1.4, "a", "1"))
        assert world.scraped(1.3, 0.0) == []

    def test_a_scrape_does_not_end_exact_ones(self, world: World) -> None:
        """The surplus is taken from those whose end nobody will tell."""
        world.take(start(1.0, "a", "1"), line(1.1, "b", "2"))
        assert [one.began.key for one in world.scraped(2.0, 0.0)] == ["ns/b"]

    def test_busy_workers_are_not_taken_for_silent(self, world: World) -> None:
        """As long as a scrape of late shows as many busy as are known, none of them has ended."""
        world.take(line(1.0, "a", "1"), last_line(1.0, "b", "2"))
        world.scraped(30.0, 2.0)
        assert world.tick(44.0) == []
        assert {one.began.key for one in world.tick(45.1)} == {"ns/a", "ns/b"}

    def test_a_scrape_of_a_controller_that_has_done_nothing(self, world: World) -> None:
        """It is no news."""
        assert world.scraped(1.0, 0.0, "rayservice") == []
        assert world.active("rayservice") == 0
        assert not world.tracker.is_exact("rayservice")


class TestLateWords:
    def test_a_late_error(self, world: World) -> None:
        """It is told of the same reconcile once more, with all that is known now."""
        world.take(line(1.0, "a", "1"), last_line(1.2, "a", "1"))
        (first,) = world.tick(2.5)
        (late,) = world.take(line(3.0, "a", "1", Subject.ERROR, detail="no"))
        assert not first.late
        assert late == Ended(first.began, 3.0, 3.0, exact=False, failed=True, backoff=True, late=True)
        assert world.active(CLUSTERS) == 0

    def test_other_late_lines(self, world: World) -> None:
        """They begin no other reconcile and change nothing."""
        world.take(last_line(1.0, "a", "1"))
        world.tick(2.5)
        assert world.take(line(3.0, "a", "1"), line(3.1, "a", "1", Subject.END, delay=300.0)) == []
        assert len(world.began) == 1

    def test_after_the_next_of_its_key_no_word_is_waited_for(self, world: World) -> None:
        """What comes then is a reconcile like any other."""
        world.take(last_line(1.0, "a", "1"))
        world.tick(2.5)
        world.take(line(3.0, "a", "2"), line(3.1, "a", "2", Subject.END, delay=1.0), line(4.0, "a", "3"))
        assert [one.time for one in world.began] == [1.0, 3.0, 4.0]

    def test_it_is_not_waited_for_without_end(self, world: World) -> None:
        """Keys that come and go leave nothing behind."""
        for number in range(100):
            world.take(last_line(float(number), f"k{number}", f"{number}"))
            world.tick(number + 50.0)
        assert world.tracker._controllers[CLUSTERS].closed
        world.tick(1000.0)
        assert not world.tracker._controllers[CLUSTERS].closed


class TestRestart:
    def test_what_was_open_will_not_end(self, world: World) -> None:
        """Neither does anything of before hold for what comes then: not the number of workers, not the last scrape."""
        world.tracker.set_workers(CLUSTERS, 1)
        world.take(line(1.0, "a", "1"), line(1.0, "a", "2", controller="rayjob"))
        world.tracker.restart(CLUSTERS)
        assert [one.controller for one, _ in world.tracker.in_progress()] == ["rayjob"]
        assert world.take(line(2.0, "a", "3"), line(2.0, "b", "4")) == []

    def test_of_all(self, world: World) -> None:
        """Without a name every controller starts anew."""
        world.take(line(1.0, "a", "1"), line(1.0, "a", "2", controller="rayjob"))
        world.tracker.restart()
        assert list(world.tracker.in_progress()) == []
        world.tracker.restart("never heard of")


STEPS = st.lists(
    st.tuples(
        st.sampled_from("abcd"),
        st.sampled_from(
            (Subject.LINE, Subject.LINE, Subject.POD_CREATED, Subject.LAST_LINE, Subject.END, Subject.ERROR, None)
        ),
        st.booleans(),
        st.sampled_from((0.0, 0.01, 0.5, 2.0, 20.0)),
    ),
    max_size=60,
)


class TestAlways:
    @given(steps=STEPS, workers=st.sampled_from((None, 1, 2, 3)))
    def test_whatever_is_told(self, steps: list[tuple[str, Subject | None, bool, float]], workers: int | None) -> None:
        """No key begins twice without an end, none ends that has not begun, none before it began; there are never more
        than workers; each is counted once.
        """
        world, now, current, in_work = World(), 0.0, dict.fromkeys("abcd", 0), dict[str, Began]()
        if workers is not None:
            world.tracker.set_workers(CLUSTERS, workers)
        for number, (key, subject, is_new, pause) in enumerate(steps):
            now += pause
            events: list[Began | Ended] = list(world.tracker.tick(now))
            if subject is None:
                events += world.tracker.scraped(now, CLUSTERS, float(number % 3))
            else:
                current[key] = number if is_new else current[key]
                events += world.tracker.take(line(now, key, f"{key}{current[key]}", subject, delay=1.0, detail="x"))
            for event in events:
                if isinstance(event, Began):
                    assert event.key not in in_work
                    in_work[event.key] = event
                    continue
                assert event.began.time <= event.time <= event.likely_time <= now
                if not event.late:
                    assert in_work.pop(event.began.key) == event.began
            assert {one.key for one, _ in world.tracker.in_progress()} == in_work.keys()
            assert world.active(CLUSTERS) == len(in_work) <= (workers or 4)
