import pytest

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.controlleroptions import StartupError
from advisor.queueing.election import Elector, Lease, Role
from advisor.queueing.metrics import MAX_PRIORITIES
from advisor.queueing.outcome import (
    SUCCESS,
)
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.sources import Sources
from tests.queueing.rigs import ERROR, SECOND, Queue, Recorder, Rig


class TestWorkers:
    """What upstream declares and leaves empty (research: controller-runtime 2.3)."""

    @pytest.mark.parametrize("kind", [PriorityQueue, ClassicQueue])
    def test_ct_48_workers_return_when_the_queue_is_shut_down(self, kind: type[Queue]) -> None:
        """Idle workers go home at once, those in a reconcile after it."""
        rig = Rig(Recorder(kind()), workers=3)
        rig.start()
        rig.add("k")
        work = rig.begin()
        rig.loop.stop(0)
        assert rig.begin_all() == []
        assert sorted(map(str, rig.home)) == ["1", "2"]
        rig.end(work, ERROR)
        assert rig.begin_all() == []
        assert sorted(map(str, rig.home)) == ["0", "1", "2"]
        assert (rig.loop.in_work, rig.loop.metrics.active_workers, rig.queue.next_deadline_ns()) == ({}, 0, None)

    def test_ct_48_priority_queue_drains_nothing(self) -> None:
        """What is ready when the priority queue is shut down is not run."""
        rig = Rig(Recorder(PriorityQueue()))
        rig.start()
        rig.add("a", "b")
        work = rig.begin()
        rig.loop.stop(0)
        rig.end(work, SUCCESS)
        assert rig.begin_all() == []
        assert rig.home == [0]
        assert len(rig.queue) == 1

    def test_ct_48_classic_queue_drains(self) -> None:
        """What the classic queue holds when it is shut down is run before the workers go home."""
        rig = Rig(Recorder(ClassicQueue()))
        rig.start()
        rig.add("a", "b", "c")
        rig.loop.stop(0)
        ran = []
        while not rig.home:
            for work in rig.begin_all():
                ran.append(work.key)
                rig.end(work, SUCCESS)
        assert ran == ["a", "b", "c"]

    def test_ct_49_workers_wait_for_the_initial_list(self, rig: Rig) -> None:
        """Keys of the initial list are queued and not run before every source has synced."""
        fresh = Rig(Recorder(type(rig.queue.inner)()))
        sources = Sources("raycluster")
        started: list[str] = []
        for name in ("RayCluster", "Pod"):
            sources.watch(name, lambda name=name: started.append(name))  # type: ignore[misc]
        sources.start(0)
        assert started == ["RayCluster", "Pod"]
        fresh.add(*(f"k{number}" for number in range(20)))
        sources.synced("RayCluster")
        assert (sources.is_synced, len(fresh.queue), fresh.begin_all()) == (False, 20, [])
        fresh.now_ns = SECOND
        sources.synced("Pod")
        assert sources.is_synced
        fresh.start()
        assert fresh.begin().key == "k0"
        # The time of the sync is in the queue duration of everything that waited for it.
        assert fresh.queue.metrics.queue_duration.sum_ns == SECOND

    @pytest.mark.parametrize("kind", [PriorityQueue, ClassicQueue])
    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_ct_50_one_worker_for_each_configured(self, kind: type[Queue], workers: int) -> None:
        """As many keys are in work at a time as there are workers, and not one more."""
        rig = Rig(Recorder(kind()), workers=workers)
        rig.start()
        rig.add(*(f"k{number}" for number in range(10)))
        begun = rig.begin_all()
        assert [work.key for work in begun] == [f"k{number}" for number in range(workers)]
        assert {work.worker for work in begun} == set(range(workers))
        metrics = rig.loop.metrics
        assert (metrics.active_workers, metrics.max_concurrent_reconciles) == (workers, workers)
        rig.end(begun[0], SUCCESS)
        assert rig.begin().key == f"k{workers}"

    def test_workers_start_once(self, rig: Rig) -> None:
        """Lining up a second time would have each worker twice."""
        with pytest.raises(StartupError, match="raycluster: workers started more than once"):
            rig.start()

    def test_a_loop_needs_a_worker(self) -> None:
        """No workers is an error in the set-up."""
        with pytest.raises(ValueError, match="raycluster: max_concurrent_reconciles is 0, must be at least 1"):
            ControllerLoop("raycluster", PriorityQueue(), 0)

    def test_handoff_lag_is_kept(self, rig: Rig) -> None:
        """The time from hand-off to start counts as lag, not as reconcile time."""
        rig.add("k")
        handoff = rig.queue.handoffs.popleft()
        work = rig.loop.begin(30, handoff, handed_out_ns=10)
        assert work == Work(0, "k", 0, 30)
        assert rig.loop.metrics.handoff_lag.sum_ns == 20

    def test_active_workers_by_priority(self) -> None:
        """Each worker in a reconcile counts at the priority of its key."""
        rig = Rig(Recorder(PriorityQueue()), workers=3)
        rig.start()
        rig.add("a", "b", priority=-100)
        rig.add("c")
        begun = rig.begin_all()
        metrics = rig.loop.metrics
        assert metrics.active_by_priority == {0: 1, -100: 2}
        rig.end(begun[0], SUCCESS)
        assert metrics.active_by_priority == {0: 1, -100: 1}
        assert metrics.active_workers == 2

    def test_active_workers_by_priority_are_bounded(self) -> None:
        """However many priorities there were, memory follows those in work."""
        rig = Rig(Recorder(PriorityQueue()))
        rig.start()
        for priority in range(10 * MAX_PRIORITIES):
            rig.add("k", priority=priority)
            rig.run(SUCCESS)
        assert len(rig.loop.metrics.active_by_priority) == MAX_PRIORITIES
        assert set(rig.loop.metrics.active_by_priority.values()) == {0}

    @pytest.mark.parametrize("kind", [PriorityQueue, ClassicQueue])
    def test_replicas_add_no_throughput(self, kind: type[Queue]) -> None:
        """Of two replicas that see the same keys only the leader runs them; its end lets the other take over."""
        lease = Lease()
        replicas = {name: (Elector(name), Rig(Recorder(kind()), workers=2)) for name in ("one", "two")}
        ran: dict[str, list[str]] = {"one": [], "two": []}
        working: set[str] = set()
        for second in range(40):
            for name, (elector, rig) in replicas.items():
                rig.now_ns = second * SECOND
                if elector.tick(rig.now_ns, lease, reachable=not (name == "one" and second >= 10)) is Role.LEADER:
                    if name not in working:
                        working.add(name)
                        rig.start()
                elif elector.role is Role.LOST and name in working:
                    working.remove(name)
                    rig.loop.stop(rig.now_ns)
                rig.add(f"k{second}")
                while begun := rig.begin_all():
                    for work in begun:
                        ran[name].append(work.key)
                        rig.end(work, SUCCESS)
        assert working == {"two"}
        # It renewed last at 8 s, failed from 10 s to 20 s, and 15 s after the renewal the lease is over.
        assert ran["one"] == [f"k{second}" for second in range(20)]
        # A standby without warmup would have no queue at all; here it was filled, so all keys are run late.
        assert sorted(ran["two"]) == sorted(f"k{second}" for second in range(40))
        assert lease.transitions == 1
