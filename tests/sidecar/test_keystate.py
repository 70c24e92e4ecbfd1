import heapq
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from advisor.model.raw import LogRecord, Subject
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.sidecar.keystate import BlockedKey, BlockReason, KeyState, KeyStateSettings, KeyStateView, LagView
from advisor.sidecar.observed import Observed
from advisor.sidecar.reconciles import Ended, ReconcileTracker
from advisor.sidecar.views import Reconcile
from advisor.sources.recording import RecordingSource
from tests.sidecar.replay import changes

KEY = "team-a/one"
NOTHING_BLOCKED = dict.fromkeys(BlockReason, 0)


def cluster(name: str = "one", **fields: object) -> Observed:
    """A RayCluster that is ready at generation 1 with two workers."""
    known: dict[str, object] = {
        "generation": 1,
        "observed_generation": 1,
        "state": "ready",
        "desired_workers": 2,
        "ready_workers": 2,
    }
    return Observed(kind="RayCluster", namespace="team-a", name=name, **(known | fields))  # type: ignore[arg-type]


def pod(name: str, owner: str | None = "one", **fields: object) -> Observed:
    """A Pod of that RayCluster."""
    owners = () if owner is None else (OwnerReference("RayCluster", owner, "uid"),)
    known: dict[str, object] = {"owners": owners}
    return Observed(kind="Pod", namespace="team-a", name=name, **(known | fields))  # type: ignore[arg-type]


@dataclass
class World:
    """Objects as a cache has them, and what is told of them."""

    state: KeyState = field(default_factory=KeyState)
    objects: dict[tuple[str, str], Observed] = field(default_factory=dict)

    def has(self, now: float, *objects: Observed, is_initial: bool = False) -> "World":
        """These objects are so now."""
        for one in objects:
            old = self.objects.get((one.kind, one.key))
            self.objects[one.kind, one.key] = one
            kind = ChangeType.CREATE if old is None else ChangeType.UPDATE
            self.state.update(now, Change(kind, old, one, is_initial))
        return self

    def lacks(self, now: float, *objects: Observed) -> "World":
        """These objects are gone."""
        for one in objects:
            self.objects.pop((one.kind, one.key), None)
            self.state.update(now, Change(ChangeType.DELETE, one, None))
        return self

    def reconciled(self, began: float, key: str = KEY, controller: str = "raycluster", *, failed: bool = False) -> None:
        """A reconcile of a second has ended."""
        self.state.reconciled(
            Reconcile(controller=controller, key=key, began=began, ended=began + 1, exact=True, failed=failed)
        )

    def blocked(self, now: float) -> dict[str, BlockReason]:
        """Blocked keys and why."""
        return {one.key: one.reason for one in self.state.view(now).blocked}

    def lag(self, now: float, controller: str = "raycluster") -> LagView:
        """How a controller lags."""
        return next(one for one in self.state.view(now).lags if one.controller == controller)


@pytest.fixture
def world() -> World:
    """A ready RayCluster and two Pods, since long."""
    return World().has(0.0, cluster(), pod("w1"), pod("w2"), is_initial=True)


def ready(view: KeyStateView) -> list[tuple[str, int, float, float, str]]:
    """Ready times as plain values."""
    return [
        (one.controller, one.keys, one.mean_seconds_per_pod, one.worst_seconds_per_pod, one.worst_key)
        for one in view.ready
    ]


class TestReadyTimes:
    def test_a_new_cluster(self) -> None:
        """From creation to ready by its Pods, the head among them."""
        new = cluster(created=100.0, state=None, observed_generation=None, desired_workers=None, ready_workers=None)
        world = World().has(100.25, new)
        world.has(101.0, replace(new, observed_generation=1, desired_workers=3, ready_workers=0))
        assert world.state.view(101.0).ready == ()
        done = replace(new, observed_generation=1, desired_workers=3, ready_workers=3, state="ready")
        world.has(108.25, done)
        assert ready(world.state.view(109.0)) == [("raycluster", 1, 2.0, 2.0, KEY)]
        # Once ready, further changes are no new time.
        world.has(110.0, replace(done, ready_workers=2)).has(120.0, done)
        assert ready(world.state.view(120.0)) == [("raycluster", 1, 2.0, 2.0, KEY)]

    def test_creation_has_whole_seconds(self) -> None:
        """A cluster seen long after its creation is taken to be from within that second."""
        new = cluster(created=100.0, state=None, desired_workers=0, ready_workers=0)
        world = World().has(150.0, new, is_initial=True).has(161.0, replace(new, state="ready"))
        assert ready(world.state.view(161.0)) == [("raycluster", 1, 60.0, 60.0, KEY)]

    def test_a_scale_up(self, world: World) -> None:
        """From the change of the generation, by the workers that were missing then."""
        world.has(10.0, cluster(generation=2))
        world.has(10.5, cluster(generation=2, observed_generation=2, desired_workers=6))
        world.has(18.0, cluster(generation=2, observed_generation=2, desired_workers=6, ready_workers=6))
        assert ready(world.state.view(18.0)) == [("raycluster", 1, 2.0, 2.0, KEY)]

    def test_no_scale_up(self, world: World) -> None:
        """A scale-down, and a change that is none of the workers, are no ready times."""
        world.has(10.0, cluster(generation=2))
        world.has(10.5, cluster(generation=2, observed_generation=2, desired_workers=1))
        world.has(11.0, cluster(generation=3, observed_generation=2, desired_workers=1))
        world.has(12.0, cluster(generation=3, observed_generation=3, desired_workers=1, ready_workers=1))
        assert world.state.view(12.0).ready == ()

    def test_a_second_scale_up_begins_anew(self, world: World) -> None:
        """The time is that of the last scale-up."""
        world.has(10.0, cluster(generation=2))
        world.has(10.5, cluster(generation=2, observed_generation=2, desired_workers=4, ready_workers=3))
        world.has(20.0, cluster(generation=3, observed_generation=2, desired_workers=4, ready_workers=3))
        world.has(26.0, cluster(generation=3, observed_generation=3, desired_workers=6, ready_workers=6))
        assert ready(world.state.view(26.0)) == [("raycluster", 1, 2.0, 2.0, KEY)]

    def test_a_change_before_it_was_ready_does_not_begin_anew(self) -> None:
        """An autoscaler that asks for more at once does not make a slow start look fast."""
        new = cluster(created=None, state=None, desired_workers=0, ready_workers=0)
        world = World().has(0.0, new)
        world.has(50.0, replace(new, generation=2, desired_workers=0))
        world.has(60.0, cluster(generation=2, observed_generation=2, desired_workers=5, ready_workers=5))
        assert ready(world.state.view(60.0)) == [("raycluster", 1, 10.0, 10.0, KEY)]

    def test_suspension_is_no_slowness(self, world: World) -> None:
        """Time in which a cluster is suspended counts nowhere; once resumed, all its Pods count, the head too."""
        waiting = cluster("two", state="suspended", desired_workers=0, ready_workers=0)
        world.has(0.0, cluster("two", state=None), waiting)
        world.has(500.0, replace(waiting, generation=2))
        world.has(504.0, cluster("two", generation=2, observed_generation=2, desired_workers=3, ready_workers=3))
        assert ready(world.state.view(504.0)) == [("raycluster", 1, 1.0, 1.0, "team-a/two")]

    @pytest.mark.parametrize(("kind", "controller"), [("RayJob", "rayjob"), ("RayService", "rayservice")])
    def test_owners_of_a_cluster(self, kind: str, controller: str) -> None:
        """A RayJob or RayService is ready when it runs, and has the Pods of its cluster."""
        job = Observed(kind=kind, namespace="team-a", name="j", created=9.0)
        owners = (OwnerReference(kind, "j", "uid"),)
        world = World().has(10.0, job)
        world.has(11.0, cluster("j-x", owners=owners, state=None, created=11.0, desired_workers=4))
        world.has(25.0, replace(job, state="Running"))
        assert ready(world.state.view(25.0)) == [(controller, 1, 3.0, 3.0, "team-a/j")]

    def test_owners_without_a_cluster_of_their_own(self) -> None:
        """A job on a cluster that it selects has no Pods to divide by."""
        job = Observed(kind="RayJob", namespace="team-a", name="j")
        world = World().has(10.0, job).has(25.0, replace(job, state="Running"))
        assert world.state.view(25.0).ready == ()

    def test_jobs_that_wait_for_others(self) -> None:
        """A suspended job, and one that is deleted, have no ready time."""
        owners = (OwnerReference("RayJob", "j", "uid"),)
        job = Observed(kind="RayJob", namespace="team-a", name="j")
        part = cluster("j-x", owners=owners)
        world = (
            World()
            .has(0.0, job, part)
            .has(1.0, replace(job, state="Suspended"))
            .has(900.0, replace(job, state="Running"))
        )
        assert world.state.view(900.0).ready == ()
        world.lacks(901.0, job, part).has(902.0, job)
        world.has(903.0, replace(job, state="Running"))
        assert world.state.view(903.0).ready == ()

    def test_the_window(self, world: World) -> None:
        """Times leave after ten minutes; mean and worst are of those that are left."""
        for number, seconds in enumerate((4.0, 8.0)):
            name, start = f"c{number}", 100.0 * number
            new = cluster(name, state=None, desired_workers=1, ready_workers=0)
            world.has(start, new).has(start + seconds, replace(new, state="ready"))
        assert ready(world.state.view(200.0)) == [("raycluster", 2, 3.0, 4.0, "team-a/c1")]
        assert ready(world.state.view(705.0)) == [("raycluster", 1, 4.0, 4.0, "team-a/c1")]
        assert world.state.view(800.0).ready == ()

    def test_a_cluster_that_goes_before_it_is_ready(self) -> None:
        """It leaves nothing behind; one of the same name starts anew."""
        new = cluster(state=None)
        world = World().has(0.0, new).has(5.0, replace(new, deleting_since=5.0)).lacks(6.0, new)
        world.has(100.0, new).has(103.0, cluster())
        assert ready(world.state.view(103.0)) == [("raycluster", 1, 1.0, 1.0, KEY)]


class TestStuckTerminating:
    def test_a_pod_that_does_not_go(self, world: World) -> None:
        """It blocks its cluster once its grace period and as much again are over, until it is gone."""
        world.has(100.0, pod("w1", deleting_since=100.0), pod("w2", deleting_since=105.0))
        assert world.blocked(160.0) == {}
        view = world.state.view(170.0)
        assert view.blocked == (
            BlockedKey(controller="raycluster", key=KEY, reason=BlockReason.STUCK_TERMINATING, since=100.0, pods=2),
        )
        assert view.blocked_keys[BlockReason.STUCK_TERMINATING] == 1
        world.lacks(180.0, pod("w1"), pod("w2"))
        assert world.blocked(180.0) == {}

    def test_a_timestamp_ahead(self, world: World) -> None:
        """A deletion timestamp that has the grace period in it counts from when it was seen."""
        world.has(100.0, pod("w1", deleting_since=130.0))
        assert world.blocked(159.0) == {}
        assert world.blocked(161.0) == {KEY: BlockReason.STUCK_TERMINATING}

    def test_it_was_stuck_before(self) -> None:
        """What the first list shows counts from its deletion, whichever kind is listed first."""
        world = World().has(1000.0, pod("w1", deleting_since=400.0), is_initial=True)
        assert world.blocked(1000.0) == {}
        world.has(1000.5, cluster(), is_initial=True)
        assert world.state.view(1001.0).blocked[0].since == 400.0

    def test_a_cluster_that_is_being_deleted_wants_no_pods(self, world: World) -> None:
        """Pods of a cluster that goes, or is gone, block nothing."""
        world.has(100.0, pod("w1", deleting_since=100.0), cluster(deleting_since=100.0, generation=2))
        assert world.blocked(300.0) == {}
        world.lacks(301.0, cluster())
        assert world.blocked(400.0) == {}

    def test_other_pods(self, world: World) -> None:
        """A Pod counts for the RayCluster that controls it, else for that of its label; others for none."""
        submitter = Observed(
            kind="Pod",
            namespace="team-a",
            name="submit",
            owners=(OwnerReference("Job", "j", "uid"),),
            labels={"ray.io/cluster": "one"},
            deleting_since=100.0,
        )
        world.has(100.0, submitter, pod("stray", None, deleting_since=100.0))
        assert world.blocked(300.0) == {}
        world.has(100.0, pod("labelled", None, labels={"ray.io/cluster": "one"}, deleting_since=100.0))
        assert world.blocked(300.0) == {KEY: BlockReason.STUCK_TERMINATING}

    def test_the_limit_is_a_setting(self) -> None:
        """Where Pods take long to end, the limit can be raised."""
        world = World(KeyState(KeyStateSettings(terminating_seconds=600.0)))
        world.has(0.0, cluster(), pod("w1", deleting_since=0.0))
        assert world.blocked(599.0) == {}
        assert world.blocked(601.0) == {KEY: BlockReason.STUCK_TERMINATING}


class TestCreateNotSeen:
    def test_a_created_pod_that_does_not_appear(self, world: World) -> None:
        """After 30 s its cluster is blocked, until the Pod appears."""
        world.state.created_pods(100.0, KEY, 3)
        world.has(100.1, pod("n1", created=100.0), pod("n2", created=100.0))
        assert world.blocked(130.0) == {}
        assert world.state.view(131.0).blocked == (
            BlockedKey(controller="raycluster", key=KEY, reason=BlockReason.CREATE_NOT_SEEN, since=100.0, pods=1),
        )
        world.has(140.0, pod("n3", created=139.0))
        assert world.blocked(200.0) == {}

    @pytest.mark.parametrize("read_late_seconds", [0.0, 1.0, 60.0])
    def test_the_order_of_line_and_event_does_not_matter(self, world: World, read_late_seconds: float) -> None:
        """The Pod may be seen before its line is read, also where reading is behind."""
        world.has(100.02, pod("n1", created=100.0), pod("n2", created=100.0))
        world.state.view(100.0 + read_late_seconds)
        world.state.created_pods(100.0, KEY, 1)
        world.state.created_pods(100.01, KEY, 1)
        assert world.blocked(300.0) == {}

    def test_an_earlier_pod_is_not_a_later_ones(self, world: World) -> None:
        """A Pod without a line does not stand for one that is created much later and lost."""
        world.has(50.0, pod("n1", created=50.0))
        world.state.created_pods(100.0, KEY, 1)
        assert world.blocked(131.0) == {KEY: BlockReason.CREATE_NOT_SEEN}

    def test_pods_that_were_there_before(self, world: World) -> None:
        """Pods that a list shows long after their creation are nobody's new ones."""
        world.has(100.0, pod("n1", created=10.0))
        world.state.created_pods(100.0, KEY, 1)
        assert world.blocked(131.0) == {KEY: BlockReason.CREATE_NOT_SEEN}

    def test_lines_from_before_the_watch(self) -> None:
        """Lines that are older than the watch tell of Pods that the first list has."""
        world = World()
        world.state.created_pods(90.0, KEY, 1)
        world.has(100.0, cluster(), pod("n1", created=89.0), is_initial=True)
        world.state.created_pods(95.0, KEY, 1)
        assert world.blocked(200.0) == {}

    def test_an_interrupted_watch(self, world: World) -> None:
        """What the watch may have missed is not waited for."""
        world.state.created_pods(100.0, KEY, 1)
        world.state.forget_creates()
        world.state.created_pods(101.0, KEY, 1)
        assert world.blocked(200.0) == {}
        world.has(201.0, pod("n1", created=101.0))
        world.state.created_pods(202.0, KEY, 1)
        assert world.blocked(300.0) == {KEY: BlockReason.CREATE_NOT_SEEN}

    def test_it_is_forgotten(self, world: World) -> None:
        """After two resyncs KubeRay has long tried again."""
        world.state.created_pods(100.0, KEY, 1)
        assert world.blocked(759.0) == {KEY: BlockReason.CREATE_NOT_SEEN}
        assert world.blocked(761.0) == {}


class TestNotSatisfied:
    def test_a_group_that_stays_skipped(self, world: World) -> None:
        """A group that the log says is skipped for 30 s blocks its key, until a reconcile does not skip it."""
        world.state.unsatisfied(100.0, KEY, "g0")
        world.reconciled(99.5)
        assert world.blocked(130.0) == {}
        assert world.blocked(131.0) == {KEY: BlockReason.NOT_SATISFIED}
        world.state.unsatisfied(150.0, KEY, "g0")
        world.reconciled(149.5)
        assert world.state.view(151.0).blocked[0].since == 100.0
        world.reconciled(160.0)
        assert world.blocked(161.0) == {}

    def test_a_pod_of_the_group_comes_or_goes(self, world: World) -> None:
        """Then what was waited for has happened, for the head's group as well, which the log names in its own way."""
        world.state.unsatisfied(100.0, KEY, "g0")
        world.state.unsatisfied(100.0, KEY, "head")
        world.lacks(110.0, pod("w1", labels={"ray.io/group": "g0", "ray.io/node-type": "worker"}))
        assert world.blocked(131.0) == {KEY: BlockReason.NOT_SATISFIED}
        world.has(132.0, pod("h", labels={"ray.io/group": "headgroup", "ray.io/node-type": "head"}))
        assert world.blocked(133.0) == {}

    def test_a_failed_reconcile_proves_nothing(self, world: World) -> None:
        """It may have ended before it came to the group; so may one of another key or controller."""
        world.state.unsatisfied(100.0, KEY, "g0")
        world.reconciled(110.0, failed=True)
        world.reconciled(110.0, key="team-a/two")
        world.reconciled(110.0, controller="rayjob")
        assert world.blocked(131.0) == {KEY: BlockReason.NOT_SATISFIED}

    def test_each_group_counts_for_itself(self, world: World) -> None:
        """A group that goes on does not hide another that does not; the key counts once."""
        for second in range(100, 140, 5):
            world.state.unsatisfied(float(second), KEY, "g0")
            world.state.unsatisfied(float(second), KEY, "g1")
            world.reconciled(second - 0.5)
            world.has(second + 1.0, pod(f"n{second}", labels={"ray.io/group": "g1"}))
        view = world.state.view(140.0)
        assert [(one.key, one.since) for one in view.blocked] == [(KEY, 100.0)]

    def test_the_cause_comes_first(self, world: World) -> None:
        """A key is counted once, by its cause where that is known."""
        world.state.unsatisfied(90.0, KEY, "g0")
        world.has(90.0, pod("w1", deleting_since=90.0))
        world.state.created_pods(100.0, KEY, 1)
        assert world.blocked(140.0) == {KEY: BlockReason.CREATE_NOT_SEEN}
        view = world.state.view(200.0)
        assert view.blocked_keys == NOTHING_BLOCKED | {BlockReason.STUCK_TERMINATING: 1}
        assert world.blocked(200.0) == {KEY: BlockReason.STUCK_TERMINATING}

    def test_it_is_forgotten(self, world: World) -> None:
        """Without news for two resyncs, the log is not what it was."""
        world.state.unsatisfied(100.0, KEY, "g0")
        assert world.blocked(761.0) == {}

    def test_a_cluster_that_is_gone(self, world: World) -> None:
        """Nothing of it stays."""
        world.state.unsatisfied(100.0, KEY, "g0")
        world.state.created_pods(100.0, KEY, 1)
        world.lacks(110.0, cluster()).has(111.0, cluster())
        assert world.blocked(200.0) == {}


class TestKnownReasons:
    def test_nothing(self) -> None:
        """Where nothing has been seen, nothing is told, not even zero."""
        assert KeyState().view(0.0) == KeyStateView()

    def test_watches_alone(self, world: World) -> None:
        """They tell of Pods that do not go."""
        assert world.state.view(0.0).blocked_keys == {BlockReason.STUCK_TERMINATING: 0}

    def test_log_alone(self) -> None:
        """It tells of groups that are skipped; of created Pods it cannot tell whether they appeared."""
        world = World()
        world.reconciled(99.0)
        world.state.unsatisfied(100.0, KEY, "g0")
        world.state.created_pods(100.0, KEY, 1)
        view = world.state.view(140.0)
        assert view.blocked_keys == {BlockReason.NOT_SATISFIED: 1}
        assert view.lags == ()

    def test_both(self, world: World) -> None:
        """Together they tell all."""
        world.reconciled(99.0)
        assert world.state.view(100.0).blocked_keys == NOTHING_BLOCKED


class TestGenerationLag:
    def test_a_spec_that_is_not_handled(self, world: World) -> None:
        """It counts after 5 s, until the status has caught up."""
        world.has(100.0, cluster(generation=2))
        assert world.lag(104.0) == LagView(controller="raycluster")
        assert world.lag(107.0) == LagView(controller="raycluster", keys=1, oldest_seconds=7.0, oldest_key=KEY)
        world.has(108.0, cluster(generation=3))
        assert world.lag(110.0).oldest_seconds == 10.0
        world.has(112.0, cluster(generation=3, observed_generation=3))
        assert world.lag(120.0).keys == 0

    def test_a_status_that_never_catches_up(self, world: World) -> None:
        """A reconcile that began after the change ends the lag: KubeRay writes no status where nothing else changes."""
        world.has(100.0, cluster(generation=2))
        world.reconciled(98.0)
        assert world.lag(106.0).keys == 1
        world.reconciled(106.0)
        assert world.lag(110.0).keys == 0

    def test_a_new_cluster_that_nobody_looks_at(self) -> None:
        """It lags since its creation."""
        world = World().has(500.0, cluster(created=100.0, state=None, observed_generation=None), is_initial=True)
        assert world.lag(500.0).oldest_seconds == 399.0

    def test_deletion_is_no_lag(self, world: World) -> None:
        """Deletion raises the generation, and KubeRay writes no status then."""
        world.has(100.0, cluster(generation=2, deleting_since=100.0))
        assert world.lag(200.0).keys == 0
        world.has(100.0, cluster("two", generation=2)).lacks(120.0, cluster("two"))
        assert world.lag(200.0).keys == 0

    def test_jobs(self) -> None:
        """Their status names no generation: any change of it, or a reconcile, ends the lag; ended ones have none."""
        job = Observed(kind="RayJob", namespace="team-a", name="one", generation=1, created=100.0)
        world = World().has(100.5, job)
        assert world.lag(107.5, "rayjob").oldest_seconds == 7.0
        world.has(108.0, replace(job, resource_version=2))
        assert world.lag(108.0, "rayjob").keys == 1
        running = replace(job, state="Initializing")
        world.has(109.0, running)
        assert world.lag(120.0, "rayjob").keys == 0
        world.has(130.0, replace(running, generation=2))
        assert world.lag(140.0, "rayjob").keys == 1
        world.reconciled(141.0, controller="rayjob")
        assert world.lag(150.0, "rayjob").keys == 0
        world.has(160.0, replace(running, state="Complete", generation=2))
        world.has(161.0, replace(running, state="Complete", generation=3))
        assert world.lag(200.0, "rayjob").keys == 0

    def test_a_clock_that_is_set_back(self, world: World) -> None:
        """No age is negative."""
        world.has(100.0, cluster(generation=2))
        assert world.lag(50.0) == LagView(controller="raycluster")


class TestBounds:
    def test_tables_are_bounded(self) -> None:
        """What finds no place is counted, and the rest is followed on."""
        world = World(KeyState(KeyStateSettings(max_entries=3)))
        for number in range(10):
            owners = (OwnerReference("RayJob", f"j{number}", "uid"),)
            new = cluster(f"c{number}", state=None, observed_generation=None, owners=owners)
            world.has(0.0, new, pod(f"p{number}", f"c{number}", deleting_since=0.0))
            world.state.unsatisfied(0.0, new.key, "g0")
            world.state.created_pods(0.0, f"team-a/c{9 - number}", 1)
        view = world.state.view(100.0)
        assert view.untracked > 0
        assert len(view.blocked) == 3
        assert sum(view.blocked_keys.values()) == 3
        assert view.lags[0].keys == 3

    def test_named_keys_are_few(self) -> None:
        """All blocked keys are counted, twenty are named, those blocked longest."""
        world = World()
        for number in range(30):
            world.has(float(number), cluster(f"c{number:02}"), pod("p", f"c{number:02}", deleting_since=float(number)))
        view = world.state.view(1000.0)
        # One Pod of that name in the namespace was seen; each cluster has its own.
        assert view.blocked_keys[BlockReason.STUCK_TERMINATING] == 30
        assert [one.key for one in view.blocked] == [f"team-a/c{number:02}" for number in range(20)]

    def test_other_kinds_are_ignored(self) -> None:
        """Services and the like tell nothing."""
        world = World().has(0.0, Observed(kind="Service", namespace="team-a", name="s"))
        world.state.update(0.0, Change(ChangeType.GENERIC, None, None))
        assert world.state.view(0.0) == KeyStateView()


def reconcile_of(ended: Ended) -> Reconcile:
    """What the log tells of one."""
    began = ended.began
    return Reconcile(
        controller=began.controller,
        key=began.key,
        began=began.time,
        ended=ended.time,
        exact=ended.exact,
        failed=ended.failed,
    )


def replayed(folder: Path, *, step_seconds: float = 1.0) -> list[tuple[float, KeyStateView]]:
    """Views over a recording's time, log and objects taken in as they came."""
    source, state, tracker = RecordingSource(folder), KeyState(), ReconcileTracker()
    streams = [
        ((record.time, 0, number, record) for number, record in enumerate(source.log())),
        ((time, 1, number, change) for number, (time, change) in enumerate(changes(source))),
    ]
    views: list[tuple[float, KeyStateView]] = []
    next_view: float | None = None
    for time, _, _, item in heapq.merge(*streams):
        next_view = time if next_view is None else next_view
        while next_view <= time:
            for event in tracker.tick(next_view):
                state.reconciled(reconcile_of(event))
            views.append((next_view, state.view(next_view)))
            next_view += step_seconds
        if not isinstance(item, LogRecord):
            state.update(time, item)  # type: ignore[arg-type] # the other stream
            continue
        key = f"{item.namespace}/{item.name}"
        if item.subject is Subject.POD_CREATED:
            state.created_pods(time, key, 1)
        elif item.subject is Subject.EXPECTATION:
            state.unsatisfied(time, key, item.detail)
        for taken in tracker.take(item) if item.name else ():
            if isinstance(taken, Ended):
                state.reconciled(reconcile_of(taken))
    return views


def test_a_real_operator_that_waits_for_pods(shared: Path) -> None:
    """The five clusters whose Pods do not go are told 30 s after the log first said so, until the Pods go.

    The recording has no deletion timestamps, so that the Pods are stuck Terminating is not known: the log's lines are
    what tells. The scale-up that waited shows as ready times of tens of seconds a Pod.
    """
    views = replayed(shared / "recordings" / "expectation-blocked")
    begin, load = views[0][0], 1795982450.939
    blocked = {time: {one.key for one in view.blocked} for time, view in views}
    five = {f"team-a/rc-00{number}" for number in range(0, 10, 2)}
    times = [time for time, keys in blocked.items() if keys]
    assert {key for keys in blocked.values() for key in keys} == five
    assert times[0] - load == pytest.approx(31, abs=1.5)
    assert all(blocked[time] == five for time in times if times[0] + 1 < time < 1795982531)
    assert times[-1] - begin < 98
    reasons = {one.reason for _, view in views for one in view.blocked}
    assert reasons == {BlockReason.NOT_SATISFIED}
    last = views[-1][1]
    assert [(one.controller, one.keys) for one in last.ready] == [("raycluster", 5)]
    assert 10 < last.ready[0].mean_seconds_per_pod < 40
    assert all(lag.keys == 0 for _, view in views for lag in view.lags)


def test_no_real_operator_is_blocked_without_cause(shared: Path) -> None:
    """Where every Pod comes and goes, no key is ever blocked, however long the queue and however many the errors."""
    folders = [
        folder
        for folder in sorted((shared / "recordings").iterdir())
        if (folder / "operator.log.gz").is_file() and (folder / "objects.jsonl.gz").is_file()
    ]
    assert len(folders) > 15
    for folder in folders:
        if folder.name != "expectation-blocked":
            blocked = [one for _, view in replayed(folder, step_seconds=5.0) for one in view.blocked]
            assert blocked == [], folder.name
