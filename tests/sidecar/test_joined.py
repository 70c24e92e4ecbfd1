"""Log, objects and metrics joined: which controller's shadow gets what."""

from dataclasses import dataclass, field

import pytest

from advisor.model.raw import LogRecord, Subject
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.sidecar.gauges import Gauges
from advisor.sidecar.joined import Joined
from advisor.sidecar.observed import Observed
from advisor.sidecar.queueitems import QueueContent, QueueItem
from advisor.sidecar.reconciles import Ended
from advisor.sidecar.rules import RULES

CLUSTERS = "raycluster"
KINDS = ("RayCluster", "Pod", "Service")


def cluster(name: str = "a", *, version: int = 1, generation: int = 1) -> Observed:
    """A RayCluster."""
    return Observed(kind="RayCluster", namespace="ns", name=name, resource_version=version, generation=generation)


def owned(kind: str = "Pod", name: str = "p", *, owner: str = "a", owner_kind: str = "RayCluster") -> Observed:
    """What a RayCluster, or another, owns."""
    return Observed(
        kind=kind, namespace="ns", name=name, owners=(OwnerReference(owner_kind, owner, "uid"),), resource_version=1
    )


@dataclass
class World:
    """The core, and what it told."""

    joined: Joined
    ended: list[tuple[Ended, str]] = field(default_factory=list)

    def depths(self) -> dict[str, dict[str, int]]:
        """Depths that are not zero, by controller."""
        found = {
            name: {label: depth for label, depth in one.depth().items() if depth}
            for name, one in self.joined.controllers.items()
        }
        return {name: depths for name, depths in found.items() if depths}

    def has(self, time: float, *objects: Observed, is_initial_list: bool = False) -> None:
        """Let objects appear."""
        for one in objects:
            self.joined.change(time, Change(ChangeType.CREATE, None, one, is_initial_list=is_initial_list))

    def log(
        self, time: float, subject: Subject = Subject.LINE, *, key: str = "a", identity: str = "1", name: str = CLUSTERS
    ) -> None:
        """Let a reconcile write a line."""
        self.joined.record(
            LogRecord(
                time=time,
                subject=subject,
                controller=name,
                namespace="ns" if key else "",
                name=key,
                reconcile_id=identity,
                exact=subject in (Subject.START, Subject.END),
            )
        )

    def starts(self, time: float, name: str = CLUSTERS) -> None:
        """Let a controller start one of its sources."""
        self.log(time, Subject.SOURCE_STARTED, key="", identity="", name=name)

    def scrape(self, time: float, depths: dict[str, float], name: str = CLUSTERS, **gauges: float) -> None:
        """Let one controller be scraped."""
        self.joined.scraped(time, {name: Gauges(depths=depths, **{"max_workers": 1.0} | gauges)})

    def active(self, name: str = CLUSTERS) -> int:
        """Workers in progress, by the shadow."""
        return sum(one.active_workers for one in self.joined.controller(name).views(0.0).values())


def made(*, awaited: tuple[str, ...] = ()) -> World:
    """An empty one."""
    ended: list[tuple[Ended, str]] = []
    return World(Joined(lambda event, priority: ended.append((event, priority)), awaited), ended)


@pytest.fixture
def world() -> World:
    """One that waits for no list."""
    return made()


class TestChanges:
    def test_a_change_wakes_those_who_watch_it(self, world: World) -> None:
        """A new RayCluster of a RayJob: its own controller and its owner's, and no other."""
        world.has(1.0, owned("RayCluster", "c", owner="job", owner_kind="RayJob"))
        assert world.depths() == {"raycluster": {"0": 1}, "rayjob": {"0": 1}}

    def test_an_owned_object_wakes_its_owner(self, world: World) -> None:
        """Its creation, its change and its end."""
        world.has(1.0, owned())
        newer = owned()
        world.joined.change(2.0, Change(ChangeType.DELETE, newer, None))
        assert world.depths() == {"raycluster": {"0": 1}}
        assert world.joined.controller(CLUSTERS)._queue.metrics.deduplicated_adds == 1

    def test_a_status_write_does_not(self, world: World) -> None:
        """The predicates of the real controllers hold."""
        world.joined.change(1.0, Change(ChangeType.UPDATE, cluster(version=1), cluster(version=2)))
        assert world.depths() == {}
        world.joined.change(1.0, Change(ChangeType.UPDATE, cluster(version=2), cluster(version=3, generation=2)))
        assert world.depths() == {"raycluster": {"0": 1}}

    def test_a_list_that_was_made_anew_here(self, world: World) -> None:
        """The operator has its own watch: an update with equal versions is none of its events."""
        world.joined.change(1.0, Change(ChangeType.UPDATE, owned(), owned()))
        assert world.depths() == {}

    def test_the_initial_list_of_an_operator_that_runs_for_long(self, world: World) -> None:
        """It says what there is, not that anything has just been made ready."""
        world.has(1.0, cluster("a"), owned(), is_initial_list=True)
        assert world.depths() == {}

    def test_a_kind_that_nobody_watches(self, world: World) -> None:
        """It wakes none."""
        world.has(1.0, owned("Secret"))
        world.joined.change(1.0, Change(ChangeType.GENERIC, None, None))
        assert world.joined.controllers == {}


class TestStart:
    def test_what_is_known_already_enters(self, world: World) -> None:
        """All objects of the kinds that the controller watches, at the low priority and as of the start."""
        world.has(1.0, cluster("a"), cluster("b"), owned(owner="c"), is_initial_list=True)
        world.starts(5.0)
        assert world.depths() == {"raycluster": {"-100": 3}}
        world.log(7.0, Subject.START)
        assert world.joined.controller(CLUSTERS).views(7.0)["-100"].wait.sum_ns == 2_000_000_000

    def test_what_is_listed_later_enters_too(self, world: World) -> None:
        """It was there when the controller started."""
        world.starts(5.0)
        world.has(5.5, cluster("a"), is_initial_list=True)
        assert world.depths() == {"raycluster": {"-100": 1}}

    def test_what_is_gone_by_then_does_not(self, world: World) -> None:
        """A deleted object is forgotten."""
        world.has(1.0, cluster("a"), cluster("b"), is_initial_list=True)
        world.joined.change(2.0, Change(ChangeType.DELETE, cluster("a"), None))
        world.joined.change(2.0, Change(ChangeType.DELETE, cluster("never seen"), None))
        world.starts(5.0)
        assert [one.key for one in world.joined.controller(CLUSTERS)._queue.ready()] == ["ns/b"]

    def test_one_start_has_many_sources(self, world: World) -> None:
        """Each kind's source writes a line; ten seconds later it is another start."""
        world.has(1.0, cluster("a"), is_initial_list=True)
        world.starts(5.0)
        world.log(5.1, Subject.START)
        world.starts(5.2)
        assert world.active() == 1
        world.starts(15.0)
        assert world.active() == 0
        assert world.depths() == {"raycluster": {"-100": 1}}

    def test_a_start_is_that_of_one_controller(self, world: World) -> None:
        """The others go on with what they have."""
        world.has(1.0, cluster("a"))
        world.starts(5.0, "rayjob")
        assert world.depths() == {"raycluster": {"0": 1}}

    def test_a_controller_whose_objects_nobody_watches(self, world: World) -> None:
        """Its reconciles are followed all the same; its keys count as ready since its start."""
        world.starts(5.0, "networkpolicy")
        world.log(6.0, Subject.START, name="networkpolicy")
        assert world.active("networkpolicy") == 1
        assert not world.joined.knows_queue("networkpolicy")


class TestRestarted:
    def test_what_the_process_had_is_no_more(self, world: World) -> None:
        """Neither ready nor in work, until the new one's controllers start."""
        world.has(1.0, cluster("a"), cluster("b"))
        world.log(2.0, Subject.START)
        world.joined.restarted(10.0)
        assert world.depths() == {}
        assert world.active() == 0
        assert list(world.joined.tracker.in_progress()) == []
        world.starts(12.0)
        assert world.depths() == {"raycluster": {"-100": 2}}

    def test_it_is_known_late(self, world: World) -> None:
        """Controllers that started since then go on: they are the new process's."""
        world.has(1.0, cluster("a"), cluster("b"))
        world.starts(12.0)
        world.log(13.0, Subject.START)
        world.joined.restarted(10.0)
        assert world.active() == 1
        assert world.depths() == {"raycluster": {"-100": 1}}

    def test_a_start_right_after_another(self, world: World) -> None:
        """A new process's start is never taken for one more source of the old one's."""
        world.starts(5.0)
        world.log(6.0, Subject.START)
        world.joined.restarted(7.0)
        world.starts(8.0)
        world.has(8.1, cluster("a"), is_initial_list=True)
        assert world.depths() == {"raycluster": {"-100": 1}}
        assert world.active() == 0


class TestLog:
    def test_a_reconcile_that_ends_is_told(self, world: World) -> None:
        """With the label of its priority."""
        world.has(1.0, cluster("a"))
        world.log(2.0, Subject.START)
        assert world.ended == []
        world.log(3.0, Subject.END)
        ((event, priority),) = world.ended
        assert (event.began.key, event.began.time, event.time, priority) == ("ns/a", 2.0, 3.0, "0")

    def test_each_controller_has_its_keys(self, world: World) -> None:
        """A RayJob and a RayCluster may have the same name."""
        world.log(2.0, Subject.START)
        world.log(2.0, Subject.START, name="rayjob", identity="2")
        assert (world.active(), world.active("rayjob")) == (1, 1)

    def test_lines_of_no_key(self, world: World) -> None:
        """They are of no reconcile."""
        world.log(2.0, Subject.LEADER_ACQUIRED, key="", name="")
        assert world.joined.controllers == {}

    def test_silence_ends_some(self, world: World) -> None:
        """As time passes; delays end as well."""
        world.has(1.0, cluster("a"))
        world.log(2.0, Subject.LAST_LINE)
        world.joined.tick(2.5)
        assert world.ended == []
        world.joined.tick(3.5)
        assert [priority for _, priority in world.ended] == ["0"]


class TestScraped:
    def test_busy_workers(self, world: World) -> None:
        """Fewer than are known to be at work: one of them has ended."""
        world.log(2.0)
        world.scrape(3.0, {"0": 0.0}, active_workers=0.0)
        assert len(world.ended) == 1

    def test_the_number_of_workers(self, world: World) -> None:
        """No more than these are at work at a time."""
        world.scrape(1.0, {"0": 0.0}, max_workers=1.0)
        world.log(2.0)
        world.log(3.0, key="b", identity="2")
        assert [event.began.key for event, _ in world.ended] == ["ns/a"]

    @pytest.mark.parametrize("workers", [0.0, -1.0, 0.4])
    def test_a_number_that_cannot_be(self, world: World, workers: float) -> None:
        """It bounds nothing."""
        world.scrape(1.0, {"0": 0.0}, max_workers=workers)
        world.log(2.0)
        world.log(2.0, key="b", identity="2")
        assert world.active() == 2

    def test_before_its_workers_start_nothing_is_compared(self, world: World) -> None:
        """A queue that nobody empties yet has no gauge of workers."""
        world.has(1.0, cluster("a"))
        world.joined.scraped(10.0, {CLUSTERS: Gauges(depths={"0": 0.0})})
        assert world.depths() == {"raycluster": {"0": 1}}
        assert world.joined.controller(CLUSTERS).depth_errors == {}
        world.scrape(10.0, {"0": 0.0})
        assert world.joined.controller(CLUSTERS).depth_errors == {"0": 1.0}
        assert world.depths() == {}


class TestLists:
    @pytest.mark.parametrize("missing", KINDS)
    def test_a_queue_is_known_once_all_that_feeds_it_is_listed(self, missing: str) -> None:
        """Until then it is not compared with the operator's own."""
        world = made(awaited=("RayCluster", "Pod", "Service", "Job"))
        for kind in KINDS:
            if kind != missing:
                world.joined.listed(kind)
        assert not world.joined.knows_queue(CLUSTERS)
        world.scrape(1.0, {"0": 30.0})
        assert world.joined.controller(CLUSTERS).depth_errors == {}
        world.joined.listed(missing)
        assert world.joined.knows_queue(CLUSTERS)
        world.scrape(2.0, {"0": 30.0})
        assert world.joined.controller(CLUSTERS).depth_errors == {"0": -30.0}

    def test_each_controller_waits_for_its_own(self) -> None:
        """Jobs are no matter of RayClusters and RayServices."""
        joined = made(awaited=("Job",)).joined
        assert {name: joined.knows_queue(name) for name in RULES} == {
            "raycluster": True,
            "rayjob": False,
            "rayservice": True,
        }

    def test_without_awaiting_any_all_is_known(self, world: World) -> None:
        """Whoever lists before he begins need not say so."""
        assert world.joined.knows_queue(CLUSTERS)
        world.joined.listed("RayCluster")
        assert world.joined.knows_queue(CLUSTERS)


class TestKindOfQueue:
    def test_the_gauge_tells_a_classic_queue(self, world: World) -> None:
        """Its depth has no label of a priority; all shadows are of that kind from then on."""
        world.scrape(1.0, {"": 0.0})
        world.has(2.0, cluster("a"), owned("Job", "j", owner="a", owner_kind="RayJob"))
        assert world.depths() == {"raycluster": {"": 1}, "rayjob": {"": 1}}

    def test_what_is_still_the_case_is_kept(self, world: World) -> None:
        """The initial list that is being drained, who has had his turn, and who is at work."""
        world.has(1.0, *(cluster(name) for name in "abcd"), is_initial_list=True)
        world.starts(2.0)
        world.log(3.0, Subject.START, key="a")
        world.log(4.0, Subject.END, key="a")
        world.log(5.0, Subject.START, key="b", identity="2")
        world.scrape(5.5, {"": 2.0})
        assert world.depths() == {"raycluster": {"": 2}}
        assert world.active() == 1
        world.log(6.0, Subject.END, key="b", identity="2")
        assert [(event.began.key, priority) for event, priority in world.ended] == [("ns/a", "-100"), ("ns/b", "")]
        assert world.joined.controller(CLUSTERS).depth_errors == {"": 0.0}

    def test_what_is_drained_begins_empty(self, world: World) -> None:
        """Nothing tells what an operator that runs for long has in its queue."""
        world.has(1.0, cluster("a"), is_initial_list=True)
        world.scrape(5.5, {"": 2.0})
        assert world.depths() == {}

    def test_an_operator_that_was_upgraded(self, world: World) -> None:
        """It has priorities again; a scrape without any depth says nothing."""
        world.scrape(1.0, {"": 0.0})
        world.scrape(2.0, {})
        world.has(3.0, cluster("a"))
        assert world.depths() == {"raycluster": {"": 1}}
        world.scrape(4.0, {"0": 0.0, "-100": 3.0})
        world.has(5.0, cluster("b"))
        assert world.depths() == {"raycluster": {"0": 1}}


def test_the_content_of_a_queue(world: World) -> None:
    """It goes to the shadow of its controller."""
    world.joined.content(QueueContent(5.0, "rayjob", (QueueItem("ns/a", -100, None),)))
    assert world.depths() == {"rayjob": {"-100": 1}}
