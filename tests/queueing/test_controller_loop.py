import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import RECONCILE_BOUNDS_NS
from advisor.queueing.outcome import (
    SUCCESS,
    Failure,
    Outcome,
    Result,
)
from advisor.queueing.priorityqueue import PriorityQueue
from tests.queueing.rigs import ERROR, MILLISECOND, REQUEUE, SECOND, TERMINAL, Queue, Recorder, Rig, after, rate_limited


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
