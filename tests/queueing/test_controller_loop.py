from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import RECONCILE_BOUNDS_NS, ControllerLoop, Work
from advisor.queueing.controlleroptions import StartupError
from advisor.queueing.election import Elector, Lease, Role
from advisor.queueing.metrics import MAX_PRIORITIES, QueueMetrics
from advisor.queueing.outcome import (
    SUCCESS,
    Failure,
    Outcome,
    ReconcileError,
    Result,
    TerminalError,
    is_terminal,
    outcome_of_error,
)
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.sources import Sources
from advisor.queueing.types import AddOptions, Handoff

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
ERROR = Outcome(failure=Failure.RETRIABLE)
TERMINAL = Outcome(failure=Failure.TERMINAL)
REQUEUE = Outcome(requeue=True)

Queue = PriorityQueue | ClassicQueue


class Recorder:
    """A queue that notes what the loop asks of it."""

    def __init__(self, queue: Queue) -> None:
        self.inner = queue
        self.calls: list[str | AddOptions] = []

    @property
    def handoffs(self) -> deque[Handoff]:
        """Those of the queue."""
        return self.inner.handoffs

    @handoffs.setter
    def handoffs(self, value: deque[Handoff]) -> None:
        self.inner.handoffs = value

    @property
    def metrics(self) -> QueueMetrics:
        """Those of the queue."""
        return self.inner.metrics

    @metrics.setter
    def metrics(self, value: QueueMetrics) -> None:
        self.inner.metrics = value

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Note and pass on."""
        self.calls.append(options)
        self.inner.add(now_ns, options, *keys)

    def get(self, now_ns: int, waiter: Hashable) -> None:
        """Note and pass on."""
        self.calls.append("get")
        self.inner.get(now_ns, waiter)

    def done(self, now_ns: int, key: str) -> None:
        """Note and pass on."""
        self.calls.append("done")
        self.inner.done(now_ns, key)

    def forget(self, key: str) -> None:
        """Note and pass on."""
        self.calls.append("forget")
        self.inner.forget(key)

    def num_requeues(self, key: str) -> int:
        """Pass on."""
        return self.inner.num_requeues(key)

    def tick(self, now_ns: int) -> None:
        """Pass on."""
        self.inner.tick(now_ns)

    def next_deadline_ns(self) -> int | None:
        """Pass on."""
        return self.inner.next_deadline_ns()

    def shut_down(self, now_ns: int) -> None:
        """Pass on."""
        self.inner.shut_down(now_ns)

    def __len__(self) -> int:
        return len(self.inner)


@dataclass
class Rig:
    """A loop in virtual time."""

    queue: Recorder
    workers: int = 1
    now_ns: int = 0
    home: list[Hashable] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = ControllerLoop("raycluster", self.queue, self.workers)

    def start(self) -> None:
        """Let the workers line up."""
        self.loop.start_workers(self.now_ns)

    def add(self, *keys: str, priority: int | None = None) -> None:
        """Add from outside, which is not among the noted calls."""
        self.queue.inner.add(self.now_ns, AddOptions(priority=priority), *keys)

    def begin_all(self) -> list[Work]:
        """Begin every hand-off there is."""
        begun = []
        while self.queue.handoffs:
            handoff = self.queue.handoffs.popleft()
            work = self.loop.begin(self.now_ns, handoff)
            if work is None:
                self.home.append(handoff.waiter)
            else:
                begun.append(work)
        return begun

    def begin(self) -> Work:
        """Begin the only hand-off there is."""
        (work,) = self.begin_all()
        return work

    def end(self, work: Work, outcome: Outcome, *, took_ns: int = 0) -> list[str | AddOptions]:
        """End a reconcile; what the loop asked of the queue meanwhile."""
        self.now_ns += took_ns
        self.queue.calls.clear()
        self.loop.finish(self.now_ns, work, outcome)
        return list(self.queue.calls)

    def run(self, outcome: Outcome) -> list[str | AddOptions]:
        """Take the only hand-off through a reconcile."""
        return self.end(self.begin(), outcome)

    def wait(self) -> int:
        """Go on to the next deadline; how long that took."""
        deadline_ns = self.queue.next_deadline_ns()
        assert deadline_ns is not None
        waited_ns, self.now_ns = deadline_ns - self.now_ns, deadline_ns
        self.queue.tick(self.now_ns)
        return waited_ns

    @property
    def counted(self) -> dict[str, int]:
        """Ended reconciles by result, without zeros."""
        return {result.value: count for result, count in self.loop.metrics.reconciles.items() if count}


@pytest.fixture(params=[PriorityQueue, ClassicQueue], ids=["priority", "classic"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """A loop with one worker that has lined up, on either queue."""
    made = Rig(Recorder(request.param()))
    made.start()
    return made


@pytest.fixture
def urgent() -> Rig:
    """A loop on the priority queue, with a key at priority 10."""
    made = Rig(Recorder(PriorityQueue()))
    made.start()
    made.add("k", priority=10)
    return made


def rate_limited(priority: int = 0) -> AddOptions:
    """The add after an error or a requeue."""
    return AddOptions(rate_limited=True, priority=priority)


def after(nanoseconds: int, priority: int = 0) -> AddOptions:
    """The add after a requeue with a duration."""
    return AddOptions(after_ns=nanoseconds, priority=priority)


class TestWorkLoop:
    """What becomes of a reconcile (research: controller-runtime 2.3)."""

    def test_ct_35_success(self, rig: Rig) -> None:
        """The reconciler gets the key that was queued; afterwards nothing is pending and no failure counted."""
        rig.add("k")
        work = rig.begin()
        assert (work.key, work.worker) == ("k", 0)
        assert rig.end(work, SUCCESS) == ["forget", "done", "get"]
        assert (len(rig.queue), rig.queue.num_requeues("k"), rig.queue.next_deadline_ns()) == (0, 0, None)

    def test_ct_36_error_then_success(self, rig: Rig) -> None:
        """After one failure there is one rate-limited add and a second run, and then nothing is left."""
        rig.add("k")
        assert rig.run(ERROR) == [rate_limited(), "done", "get"]
        assert rig.queue.num_requeues("k") == 1
        assert rig.wait() == 5 * MILLISECOND
        assert rig.run(SUCCESS) == ["forget", "done", "get"]
        assert (len(rig.queue), rig.queue.num_requeues("k"), rig.queue.next_deadline_ns()) == (0, 0, None)

    def test_ct_37_terminal_error(self, rig: Rig) -> None:
        """A terminal error adds nothing."""
        rig.add("k")
        assert rig.run(TERMINAL) == ["done", "get"]
        assert (len(rig.queue), rig.queue.next_deadline_ns()) == (0, None)
        assert (rig.loop.metrics.errors, rig.loop.metrics.terminal_errors) == (1, 1)

    def test_ct_38_forget_only_on_success(self, rig: Rig) -> None:
        """Two failures make two rate-limited adds with a growing delay; only the success forgets them."""
        rig.add("k")
        assert rig.run(ERROR) == [rate_limited(), "done", "get"]
        assert rig.wait() == 5 * MILLISECOND
        assert rig.run(ERROR) == [rate_limited(), "done", "get"]
        assert rig.queue.num_requeues("k") == 2
        assert rig.wait() == 10 * MILLISECOND
        assert rig.run(SUCCESS) == ["forget", "done", "get"]
        assert rig.queue.num_requeues("k") == 0

    def test_ct_39_requeue(self, rig: Rig) -> None:
        """A wish to run again makes one rate-limited add; failures are forgotten by the first run without it."""
        rig.add("k")
        assert rig.run(REQUEUE) == [rate_limited(), "done", "get"]
        assert rig.queue.num_requeues("k") == 1
        assert rig.wait() == 5 * MILLISECOND
        assert rig.run(SUCCESS) == ["forget", "done", "get"]
        assert rig.queue.num_requeues("k") == 0

    def test_ct_40_requeue_keeps_priority(self, urgent: Rig) -> None:
        """A requeue keeps the priority of the run."""
        assert urgent.run(REQUEUE) == [rate_limited(10), "done", "get"]
        urgent.wait()
        assert urgent.begin().priority == 10

    def test_ct_41_requeue_with_priority(self, urgent: Rig) -> None:
        """A priority in the result beats that of the run."""
        assert urgent.run(Outcome(requeue=True, priority=99)) == [rate_limited(99), "done", "get"]
        urgent.wait()
        assert urgent.begin().priority == 99

    @pytest.mark.parametrize("flag", [True, False])
    def test_ct_42_duration_beats_flag(self, rig: Rig, flag: bool) -> None:
        """With a duration the add is delayed, not rate limited, and failures are forgotten before it."""
        rig.add("k")
        outcome = Outcome(requeue=flag, requeue_after_ns=100 * MILLISECOND)
        assert rig.run(outcome) == ["forget", after(100 * MILLISECOND), "done", "get"]
        assert rig.queue.num_requeues("k") == 0
        assert rig.wait() == 100 * MILLISECOND
        assert rig.begin().key == "k"

    def test_ct_43_duration_keeps_priority(self, urgent: Rig) -> None:
        """A requeue after a duration keeps the priority of the run."""
        assert urgent.run(Outcome(requeue_after_ns=100 * MILLISECOND))[1] == after(100 * MILLISECOND, 10)
        assert urgent.wait() == 100 * MILLISECOND
        assert urgent.begin().priority == 10

    def test_ct_44_duration_with_priority(self, urgent: Rig) -> None:
        """A priority in the result beats that of the run, also with a duration."""
        outcome = Outcome(requeue_after_ns=100 * MILLISECOND, priority=99)
        assert urgent.run(outcome)[1] == after(100 * MILLISECOND, 99)
        urgent.wait()
        assert urgent.begin().priority == 99

    def test_ct_45_error_beats_duration(self, rig: Rig) -> None:
        """A duration beside an error is ignored; a later one without error counts."""
        rig.add("k")
        outcome = Outcome(failure=Failure.RETRIABLE, requeue_after_ns=SECOND, requeue=True)
        assert rig.run(outcome) == [rate_limited(), "done", "get"]
        assert rig.wait() == 5 * MILLISECOND
        assert rig.run(Outcome(requeue_after_ns=SECOND)) == ["forget", after(SECOND), "done", "get"]
        assert rig.wait() == SECOND

    def test_ct_46_error_keeps_priority(self, urgent: Rig) -> None:
        """The retry of an error keeps the priority of the run."""
        assert urgent.run(ERROR)[0] == rate_limited(10)
        urgent.wait()
        assert urgent.begin().priority == 10

    def test_ct_47_error_with_priority(self, urgent: Rig) -> None:
        """A priority beside an error beats that of the run."""
        assert urgent.run(Outcome(failure=Failure.RETRIABLE, priority=99))[0] == rate_limited(99)
        urgent.wait()
        assert urgent.begin().priority == 99

    @pytest.mark.parametrize(
        ("outcome", "result"),
        [
            pytest.param(SUCCESS, "success", id="ct_51"),
            pytest.param(ERROR, "error", id="ct_52"),
            pytest.param(REQUEUE, "requeue", id="ct_53"),
            pytest.param(Outcome(requeue_after_ns=1), "requeue_after", id="ct_54"),
        ],
    )
    def test_ct_51_to_54_result(self, rig: Rig, outcome: Outcome, result: str) -> None:
        """Each reconcile counts under exactly one result."""
        assert rig.counted == {}
        rig.add("k")
        rig.run(outcome)
        assert rig.counted == {result: 1}

    def test_ct_55_errors(self, rig: Rig) -> None:
        """An error counts as one, and as neither terminal nor panic."""
        rig.add("k")
        rig.run(ERROR)
        metrics = rig.loop.metrics
        assert (metrics.errors, metrics.terminal_errors, metrics.panics, metrics.timeouts) == (1, 0, 0, 0)

    def test_ct_56_reconcile_time(self, rig: Rig) -> None:
        """Every reconcile puts its duration into the histogram, bounds included in their bucket."""
        rig.add("k")
        rig.end(rig.begin(), SUCCESS, took_ns=250 * MILLISECOND)
        time = rig.loop.metrics.reconcile_time
        assert (time.count, time.sum_ns) == (1, 250 * MILLISECOND)
        assert time.buckets[RECONCILE_BOUNDS_NS.index(250 * MILLISECOND)] == 1
        assert len(RECONCILE_BOUNDS_NS) == 40


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


class TestOwnRules:
    """True in the code, asserted by no upstream test (research: controller-runtime 2.6)."""

    def test_xt_11_terminal_error_forgets_nothing(self, rig: Rig) -> None:
        """After a terminal error the next ordinary one goes on with the old exponent."""
        rig.add("k")
        rig.run(ERROR)
        assert rig.wait() == 5 * MILLISECOND
        rig.run(TERMINAL)
        assert rig.queue.num_requeues("k") == 1
        rig.add("k")
        rig.run(ERROR)
        assert rig.wait() == 10 * MILLISECOND

    def test_xt_12_panic(self, rig: Rig) -> None:
        """A recovered panic counts as a panic and as an error, and is retried with backoff."""
        rig.add("k")
        assert rig.run(Outcome(failure=Failure.PANIC)) == [rate_limited(), "done", "get"]
        metrics = rig.loop.metrics
        assert (metrics.panics, metrics.errors, metrics.terminal_errors, rig.counted) == (1, 1, 0, {"error": 1})

    def test_xt_12_panic_that_is_not_recovered(self, rig: Rig) -> None:
        """It counts as a panic alone, is not retried, and its worker takes no other key."""
        rig.add("a")
        work = rig.begin()
        rig.add("b")
        rig.queue.calls.clear()
        rig.loop.abandon(SECOND, work)
        assert rig.queue.calls == ["done"]
        metrics = rig.loop.metrics
        assert (metrics.panics, metrics.errors, rig.counted, metrics.active_workers) == (1, 0, {}, 0)
        assert (rig.loop.in_work, rig.begin_all(), len(rig.queue)) == ({}, [], 1)

    @pytest.mark.parametrize("outcome", [SUCCESS, ERROR, REQUEUE, Outcome(requeue_after_ns=1)])
    def test_xt_13_timeout(self, rig: Rig, outcome: Outcome) -> None:
        """A reconcile that ended after its deadline counts as timed out, whatever it returned."""
        rig.add("k")
        late = Outcome(outcome.failure, outcome.requeue_after_ns, outcome.requeue, timed_out=True)
        rig.run(late)
        assert rig.loop.metrics.timeouts == 1
        assert rig.counted == {outcome.result.value: 1}

    def test_xt_14_negative_duration(self, rig: Rig) -> None:
        """A duration below zero is none: without a flag it is a success, and failures are forgotten."""
        rig.add("k")
        rig.run(ERROR)
        rig.wait()
        assert rig.run(Outcome(requeue_after_ns=-1)) == ["forget", "done", "get"]
        assert rig.counted == {"error": 1, "success": 1}
        assert rig.queue.num_requeues("k") == 0

    def test_xt_14_negative_duration_with_flag(self, rig: Rig) -> None:
        """With a flag it is a rate-limited requeue."""
        rig.add("k")
        assert rig.run(Outcome(requeue_after_ns=-1, requeue=True)) == [rate_limited(), "done", "get"]

    def test_event_in_a_failing_run_cancels_its_backoff(self, rig: Rig) -> None:
        """A key added while it is in work runs again at once; only the classic queue keeps the retry beside it."""
        rig.add("k")
        work = rig.begin()
        rig.add("k")
        rig.end(work, ERROR)
        assert rig.begin().key == "k"
        kept = 5 * MILLISECOND if isinstance(rig.queue.inner, ClassicQueue) else None
        assert rig.queue.next_deadline_ns() == kept


class TestErrors:
    """How an exception is read (research: controller-runtime 3.3)."""

    def test_reported_error_is_retried(self) -> None:
        """A reconcile that says that it failed is retried."""
        assert outcome_of_error(ReconcileError("x")) == ERROR
        assert outcome_of_error(ReconcileError("x"), priority=5).priority == 5

    def test_anything_else_is_a_panic(self) -> None:
        """An exception that nobody meant to raise is a breakdown, also joined with reported ones."""
        assert outcome_of_error(KeyError("x")).failure is Failure.PANIC
        joined = ExceptionGroup("both", [ReconcileError("x"), KeyError("y")])
        assert outcome_of_error(joined).failure is Failure.PANIC

    def test_joined_reported_errors_are_retried(self) -> None:
        """Several reported errors are one."""
        joined = ExceptionGroup("both", [ReconcileError("x"), ExceptionGroup("inner", [ReconcileError("y")])])
        assert outcome_of_error(joined, priority=3) == Outcome(failure=Failure.RETRIABLE, priority=3)

    def test_terminal_error_is_found_in_the_chain(self) -> None:
        """Wrapped in another error, a terminal one still is."""
        error = ReconcileError("outer")
        error.__cause__ = RuntimeError("middle")
        error.__cause__.__cause__ = TerminalError("inner")
        assert is_terminal(error)
        assert outcome_of_error(error, priority=7) == Outcome(failure=Failure.TERMINAL, priority=7)

    def test_terminal_error_is_found_among_joined(self) -> None:
        """One terminal error joined with retriable ones suppresses the retry of all."""
        wrapped = ReconcileError("y")
        wrapped.__cause__ = ExceptionGroup("more", [TerminalError("z")])
        assert is_terminal(ExceptionGroup("all", [ReconcileError("x"), wrapped]))

    def test_error_raised_while_handling_a_terminal_one_is_not_terminal(self) -> None:
        """Only what was wrapped on purpose counts, not what happened to be handled."""
        error = ReconcileError("new")
        error.__context__ = TerminalError("handled")
        assert not is_terminal(error)

    def test_circular_chain_ends(self) -> None:
        """A chain that leads back to itself is read once."""
        one, two = ReconcileError("1"), ReconcileError("2")
        one.__cause__, two.__cause__ = two, one
        assert not is_terminal(one)


OUTCOMES = st.sampled_from(
    [SUCCESS, ERROR, TERMINAL, REQUEUE, Outcome(failure=Failure.PANIC), Outcome(requeue_after_ns=7 * MILLISECOND)]
)


@pytest.mark.parametrize("kind", [PriorityQueue, ClassicQueue])
@given(
    workers=st.integers(1, 4),
    steps=st.lists(st.tuples(st.sampled_from("aeet"), st.integers(0, 4), OUTCOMES), max_size=60),
)
def test_loop_invariants(kind: type[Queue], workers: int, steps: list[tuple[str, int, Outcome]]) -> None:
    """Whatever happens, no key is with two workers, none is lost, and the counters agree with each other."""
    rig = Rig(Recorder(kind()), workers=workers)
    rig.start()
    for what, number, outcome in steps:
        rig.now_ns += MILLISECOND
        in_work = sorted(rig.loop.in_work.values(), key=lambda work: work.worker)
        if what == "a":
            rig.add(f"k{number}")
        elif what == "t":
            rig.queue.tick(rig.now_ns)
        elif in_work:
            rig.end(in_work[number % len(in_work)], outcome)
        rig.begin_all()
        metrics, queue = rig.loop.metrics, rig.queue.inner
        keys = [work.key for work in rig.loop.in_work.values()]
        assert len(keys) == len(set(keys)) == metrics.active_workers <= workers
        assert set(keys) == set(queue.started_ns)
        assert queue.waiters == workers - metrics.active_workers
        # At rest no idle worker stands beside a key that could go out.
        assert not queue.waiters or len(queue) - (queue.blocked if kind is PriorityQueue else 0) == 0
        assert sum(metrics.active_by_priority.values()) == metrics.active_workers
        assert metrics.reconcile_time.count == sum(metrics.reconciles.values()) == queue.metrics.work_duration.count
        assert metrics.reconciles[Result.ERROR] == metrics.errors >= metrics.terminal_errors + metrics.panics
        assert queue.metrics.adds - queue.metrics.gets == sum(queue.metrics.depth.values())
        assert metrics.handoff_lag.count == queue.metrics.gets
