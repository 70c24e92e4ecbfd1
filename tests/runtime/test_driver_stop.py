import pytest

from advisor.queueing.outcome import SUCCESS, Outcome, Result
from advisor.runtime.context import ReconcileCancelledError, ReconcileContext
from advisor.runtime.driver import Driver
from tests.runtime.acting import LONG, BlockingSource, Held, Script, options, working


class TestStop:
    def test_reconciles_in_progress_are_waited_for(self) -> None:
        """A stop lets a reconcile finish, tells it, and hands out nothing more."""
        seen: list[bool] = []

        def until_stopped(context: ReconcileContext) -> Outcome:
            seen.append(context.wait(LONG))
            with pytest.raises(ReconcileCancelledError):
                context.check()
            return SUCCESS

        script = Script(until_stopped)
        driver = Driver(options(), script)
        with working(driver):
            driver.add("a", "b")
            assert script.next_key() == "a"
            assert not driver.stop(LONG)
        assert seen == [True]
        assert script.is_idle
        snapshot = driver.snapshot()
        assert (snapshot.reconciles[Result.SUCCESS], snapshot.by_priority["0"].depth) == (1, 1)

    def test_classic_queue_is_emptied(self) -> None:
        """With the classic queue what is queued is still reconciled."""
        held = Held()
        script = Script(held)
        driver = Driver(options(use_priority_queue=False), script)
        with working(driver):
            driver.add("a", "b", "c")
            assert held.entered.wait(LONG)
            driver.request_stop()
            held.released.set()
            assert not driver.stop(LONG)
        assert [script.next_key() for _ in range(3)] == ["a", "b", "c"]

    def test_what_does_not_end_is_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """A reconcile and a source that outlast the stop are named, and can still end."""
        held, source = Held(), BlockingSource()
        driver = Driver(options(), Script(held))
        with working(driver):
            driver.watch(source)
            driver.add("ns/k")
            assert held.entered.wait(LONG)
            left = driver.stop(0.02)
            assert left
            assert [work.key for work in left.reconciles] == ["ns/k"]
            assert left.sources == ("Blocked",)
            assert not driver.join(0)
            assert "x: not ended within 0.02 s: reconcile of ns/k, Blocked" in caplog.messages
            held.released.set()
            source.released.set()
            assert driver.join(LONG)
        assert driver.snapshot().reconciles[Result.SUCCESS] == 1

    def test_adds_after_the_stop_are_ignored(self, either: bool) -> None:
        """Nobody gets an error, and nothing is queued."""
        script = Script()
        driver = Driver(options(use_priority_queue=either), script)
        with working(driver):
            pass
        driver.add("k")
        assert script.is_idle
        assert sum(one.adds for one in driver.snapshot().by_priority.values()) == 0

    def test_stop_twice_and_without_start(self) -> None:
        """A stop is harmless whenever it comes."""
        never = Driver(options(), Script())
        assert not never.stop(LONG)
        assert never.join(0)
        driver = Driver(options(), Script())
        driver.start()
        assert not driver.stop(LONG)
        assert not driver.stop(LONG)
        assert driver.join()
        assert not driver.wait_until_working()

    def test_a_reconciler_can_ask_for_the_stop(self) -> None:
        """It does not wait for itself."""
        driver: Driver

        def stop(context: ReconcileContext) -> Outcome:
            driver.request_stop()
            return SUCCESS

        driver = Driver(options(), Script(stop))
        driver.add("k")
        driver.start()
        assert driver.join(LONG)

    def test_the_block_s_own_exception_is_the_one_to_see(self) -> None:
        """An error of the driver does not hide one that is on its way."""
        driver = Driver(options(recover_panic=False), Script(KeyError("x")))

        def block() -> None:
            with driver:
                driver.add("k")
                driver._ended.wait(LONG)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            block()
        assert isinstance(driver.error, KeyError)

    def test_an_error_comes_out_of_the_block(self) -> None:
        """Where nothing else is on its way, it is raised at the end."""
        driver = Driver(options(recover_panic=False), Script(KeyError("x")))
        driver.add("k")
        with pytest.raises(KeyError), driver:
            driver._ended.wait(LONG)
