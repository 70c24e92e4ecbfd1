import threading
from queue import SimpleQueue

import pytest

from advisor.queueing.outcome import SUCCESS, Outcome, ReconcileError, Result
from advisor.queueing.types import AddOptions
from advisor.runtime.candidacy import Candidacy, SharedLease
from advisor.runtime.context import ReconcileContext, ReconcileRequest
from advisor.runtime.driver import Driver
from tests.runtime.acting import LONG, MILLISECOND, SECOND, Held, Script, elector, options, working


class TestReconciles:
    def test_keys_are_reconciled(self, either: bool) -> None:
        """What is added from any thread is reconciled, and counted."""
        script = Script()
        with working(Driver(options(use_priority_queue=either), script)) as driver:
            adders = [threading.Thread(target=driver.add, args=(f"ns/k{number}",)) for number in range(20)]
            for adder in adders:
                adder.start()
            assert {script.next_key() for _ in adders} == {f"ns/k{number}" for number in range(20)}
            for adder in adders:
                adder.join()
        snapshot = driver.snapshot()
        assert snapshot.reconciles[Result.SUCCESS] == 20
        assert snapshot.reconcile_time.buckets.count(0) < len(snapshot.reconcile_time.buckets)
        assert (snapshot.active_workers, snapshot.keys.total_count) == (0, 20)
        assert sum(one.depth for one in snapshot.by_priority.values()) == 0

    def test_priority_is_passed_on(self) -> None:
        """The reconciler is told the priority that its key was handed out with."""
        script = Script()
        with working(Driver(options(), script)) as driver:
            driver.add("k", options=AddOptions(priority=7))
            assert script.calls.get(timeout=LONG) == ReconcileRequest("k", 7)

    def test_retry_with_backoff(self, either: bool, caplog: pytest.LogCaptureFixture) -> None:
        """An error is retried after its delay, which real time brings about; the success forgets it."""
        script = Script(ReconcileError("no"), ReconcileError("no"), SUCCESS)
        with working(Driver(options(use_priority_queue=either), script)) as driver:
            driver.add("k")
            assert [script.next_key() for _ in range(3)] == ["k"] * 3
        snapshot = driver.snapshot()
        assert (snapshot.errors, snapshot.reconciles[Result.SUCCESS], snapshot.retries) == (2, 1, 2)
        assert sum("reconcile of k failed" in line for line in caplog.messages) == 2

    def test_requeue_after(self, either: bool) -> None:
        """A wish to run again after a while is fulfilled, and not before."""
        script = Script(Outcome(requeue_after_ns=20 * MILLISECOND))
        with working(Driver(options(use_priority_queue=either), script)) as driver:
            driver.add("k")
            script.next_key()
            script.next_key()
        snapshot = driver.snapshot()
        assert snapshot.reconciles[Result.REQUEUE_AFTER] == 1
        assert sum(one.adds for one in snapshot.by_priority.values()) == 2

    def test_earlier_delay_wakes_the_timer(self) -> None:
        """A delay that ends before the one that the timer sleeps for is not late."""
        script = Script()
        with working(Driver(options(), script)) as driver:
            driver.add("late", options=AddOptions(after_ns=3600 * SECOND))
            driver.add("soon", options=AddOptions(after_ns=5 * MILLISECOND))
            assert script.next_key() == "soon"
            assert driver.snapshot().pending.waiting["delayed_add"].count == 1

    def test_panic_is_recovered(self, caplog: pytest.LogCaptureFixture) -> None:
        """CT-03, XT-12: a breakdown counts as panic and error, is retried, and the driver goes on."""
        script = Script(KeyError("x"))
        with working(Driver(options(), script)) as driver:
            driver.add("k")
            assert [script.next_key(), script.next_key()] == ["k", "k"]
        snapshot = driver.snapshot()
        assert (snapshot.panics, snapshot.errors) == (1, 1)
        assert "x: reconcile of k broke down: KeyError: 'x'" in caplog.text

    @pytest.mark.parametrize("error", [KeyError("x"), SystemExit(3)])
    def test_panic_that_is_not_recovered_ends_the_driver(self, error: BaseException) -> None:
        """CT-02: with recovery off it ends the driver, and comes out of join and stop."""
        script = Script(error)
        driver = Driver(options(recover_panic=False), script)
        driver.start()
        driver.add("k")
        for end in (driver.join, driver.stop, driver.wait_until_working):
            with pytest.raises(type(error)) as found:
                end(LONG)
            assert found.value is error
        snapshot = driver.snapshot()
        assert (driver.error, snapshot.panics, snapshot.errors, snapshot.active_workers) == (error, 1, 0, 0)

    def test_timeout(self, either: bool) -> None:
        """CT-05, CT-06: a reconcile that waits for its context is released at its deadline, and counts."""

        def wait(context: ReconcileContext) -> Outcome:
            assert context.remaining_seconds() is not None
            assert context.wait(LONG)
            context.check()
            return SUCCESS

        script = Script(wait)
        own = options(reconciliation_timeout_ns=10 * MILLISECOND, use_priority_queue=either)
        with working(Driver(own, script)) as driver:
            driver.add("k")
            assert [script.next_key(), script.next_key()] == ["k", "k"]
        snapshot = driver.snapshot()
        assert (snapshot.timeouts, snapshot.errors) == (1, 1)

    def test_workers_run_side_by_side(self, either: bool) -> None:
        """CT-50: as many reconciles run at a time as there are workers."""
        meeting = threading.Barrier(4)

        def meet(context: ReconcileContext) -> Outcome:
            meeting.wait(LONG)
            return SUCCESS

        script = Script(meet, meet, meet)
        with working(Driver(options(max_concurrent_reconciles=3, use_priority_queue=either), script)) as driver:
            driver.add("a", "b", "c")
            meeting.wait(LONG)
        assert driver.snapshot().reconciles[Result.SUCCESS] == 3

    def test_a_key_is_with_one_worker_at_a_time(self, either: bool) -> None:
        """However often a key is added, it is never reconciled twice at a time, and the last add is not lost."""
        inside: set[str] = set()
        runs: SimpleQueue[str] = SimpleQueue()

        def reconciler(request: ReconcileRequest, context: ReconcileContext) -> Outcome:
            assert request.key not in inside
            inside.add(request.key)
            runs.put(request.key)
            inside.remove(request.key)
            return SUCCESS

        driver = Driver(
            options(max_concurrent_reconciles=4, use_priority_queue=either, recover_panic=False), reconciler
        )

        def add() -> None:
            for number in range(200):
                driver.add(f"k{number % 3}")

        with working(driver):
            adders = [threading.Thread(target=add) for _ in range(4)]
            for adder in adders:
                adder.start()
            for adder in adders:
                adder.join()
            driver.add("last")
            while runs.get(timeout=LONG) != "last":
                pass
        snapshot = driver.snapshot()
        handled = sum(one.adds for one in snapshot.by_priority.values()) + snapshot.deduplicated_adds
        assert handled == 801

    def test_unfinished_work_is_refreshed(self) -> None:
        """The gauges of unfinished work are refreshed by the timer while a reconcile lasts."""
        held = Held()
        with working(Driver(options(), Script(held))) as driver:
            driver.add("k")
            assert held.entered.wait(LONG)
            deadline = threading.Event()
            while not driver.snapshot().unfinished_work_ns:
                deadline.wait(0.02)
            snapshot = driver.snapshot()
            assert (snapshot.longest_running_ns, snapshot.active_workers) == (snapshot.unfinished_work_ns, 1)
            held.released.set()


def test_clock_is_the_driver_s_only_time() -> None:
    """All durations are those of the clock that is given."""
    now_ns = [SECOND]

    def take(context: ReconcileContext) -> Outcome:
        now_ns[0] += 5 * SECOND
        return SUCCESS

    script = Script(take)
    with working(Driver(options(), script, clock=lambda: now_ns[0])) as driver:
        driver.add("k")
        script.next_key()
    snapshot = driver.snapshot()
    assert (snapshot.now_ns, snapshot.reconcile_time.sum_ns) == (6 * SECOND, 5 * SECOND)
    assert snapshot.keys.total_ns == 5 * SECOND


class TestDefects:
    """What should never happen ends the driver and is told; nobody waits for ever."""

    def test_in_a_worker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A worker that cannot go on is not lost without a word."""
        driver = Driver(options(), Script())

        def fail(work: object, outcome: object) -> None:
            raise AssertionError("broken")

        monkeypatch.setattr(driver._machine, "finish", fail)
        driver.add("k")
        driver.start()
        with pytest.raises(AssertionError, match="broken"):
            driver.join(LONG)
        assert [work.key for work in driver._machine.loop.in_work.values()] == ["k"]

    def test_in_the_timer(self) -> None:
        """A lease that cannot be given up does not keep the driver from ending."""
        shared = SharedLease()

        class Stuck(Candidacy):
            def release(self) -> None:
                raise OSError("no route")

        driver = Driver(options(), Script(), candidacy=Stuck(elector("one"), shared))
        driver.start()
        assert driver.wait_until_working(LONG)
        with pytest.raises(OSError, match="no route"):
            driver.stop(LONG)
