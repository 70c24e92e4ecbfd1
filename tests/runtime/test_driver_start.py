import logging

import pytest

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controlleroptions import (
    StartupError,
)
from advisor.runtime.driver import Driver
from advisor.runtime.source import SourceHandle
from tests.runtime.acting import (
    LONG,
    MILLISECOND,
    SECOND,
    BlockingSource,
    FailingSource,
    ListSource,
    Script,
    options,
    threads,
    working,
)


class TestStart:
    def test_cf_02_a_reconciler_is_needed(self) -> None:
        """A controller without a reconciler is refused."""
        with pytest.raises(StartupError, match="x: a controller needs a reconciler"):
            Driver(options(), None)  # type: ignore[arg-type]

    def test_cf_09_never_starting_creates_no_thread(self) -> None:
        """A driver that is only made costs no thread."""
        Driver(options(), Script(), sources=[ListSource("Pod")])
        assert threads() == set()

    def test_ct_23_started_more_than_once(self) -> None:
        """A second and a third start fail, and no lock stays held."""
        with working(Driver(options(), Script())) as driver:
            for _ in range(2):
                with pytest.raises(StartupError, match="x: started more than once"):
                    driver.start()

    @pytest.mark.parametrize("id_", ["ct_18", "ct_49"])
    def test_ct_18_49_workers_wait_for_every_initial_list(self, id_: str, either: bool) -> None:
        """No reconcile runs before all sources have passed on their initial lists."""
        pods = ListSource("Pod", *(f"k{number}" for number in range(20)), held=True)
        clusters = ListSource("RayCluster", "c")
        script = Script()
        with Driver(options(use_priority_queue=either), script, sources=[pods, clusters]) as driver:
            assert pods.listed.wait(LONG)
            assert clusters.listed.wait(LONG)
            assert not driver.wait_until_working(0.02)
            assert script.is_idle
            assert sum(one.depth for one in driver.snapshot().by_priority.values()) == 21
            pods.go_on.set()
            assert driver.wait_until_working(LONG)
            assert {script.next_key() for _ in range(21)} >= {"c", "k0", "k19"}
        assert (pods.runs, clusters.runs) == (1, 1)

    @pytest.mark.parametrize("id_", ["ct_19", "ct_21"])
    def test_ct_19_21_events_of_a_source_are_reconciled(self, id_: str) -> None:
        """What a source takes from a channel goes to the controller's own queue."""
        source, script = ListSource("Pod"), Script()
        with working(Driver(options(), script, sources=[source])):
            source.events.put("ns/k")
            assert script.next_key() == "ns/k"

    @pytest.mark.parametrize("id_", ["ct_20", "ct_22", "ct_27"])
    def test_ct_20_22_27_an_error_in_a_source_s_start(self, id_: str) -> None:
        """A source that cannot start ends the driver with just its error."""
        error = OSError("there is no channel")
        driver = Driver(options(), Script(), sources=[FailingSource(error)])
        driver.start()
        with pytest.raises(OSError, match="there is no channel") as found:
            driver.wait_until_working(LONG)
        assert found.value is error
        with pytest.raises(OSError, match="there is no channel"):
            driver.stop(LONG)

    def test_ct_28_an_error_in_a_source_s_sync(self) -> None:
        """A source that fails while it syncs ends the driver, and the error names the controller."""
        error = OSError("refused")
        driver = Driver(options(), Script(), sources=[FailingSource(error, after_start=True)])
        driver.start()
        with pytest.raises(StartupError, match=r"^x: source Pod: refused$") as found:
            driver.join(LONG)
        assert found.value.__cause__ is error

    @pytest.mark.parametrize("id_", ["ct_13", "ct_14"])
    def test_ct_13_14_a_cache_that_does_not_sync(self, id_: str) -> None:
        """The cache sync timeout ends the start with an error that names controller and source."""
        now_ns = [0]
        source = ListSource("Pod", held=True)
        own = options(cache_sync_timeout_ns=3600 * SECOND)
        driver = Driver(own, Script(), sources=[source], clock=lambda: now_ns[0])
        driver.start()
        assert source.listed.wait(LONG)
        now_ns[0] = 3600 * SECOND
        with pytest.raises(StartupError, match="x: source Pod: timed out waiting for its cache to sync"):
            driver.join(LONG)

    @pytest.mark.parametrize("id_", ["ct_16", "ct_31"])
    def test_ct_16_31_a_source_whose_start_blocks(self, id_: str) -> None:
        """It ends the start with an error that says so."""
        source = BlockingSource()
        driver = Driver(options(cache_sync_timeout_ns=20 * MILLISECOND), Script(), sources=[source])
        driver.start()
        with pytest.raises(StartupError, match="x: source Blocked: timed out: its start must not block"):
            driver.join(LONG)
        source.released.set()

    def test_ct_15_a_stop_during_the_sync_is_no_error(self) -> None:
        """A driver that is stopped while it waits for its sources ends without an error."""
        source = ListSource("Pod", held=True)
        with Driver(options(), Script(), sources=[source]) as driver:
            assert source.listed.wait(LONG)
            assert not driver.stop(LONG)
        assert driver.error is None

    def test_ct_25_26_without_sources(self) -> None:
        """Without sources workers start at once, on a queue that exists."""
        with working(Driver(options(), Script())) as driver:
            assert driver.snapshot().max_concurrent_reconciles == 1

    def test_ct_34_a_later_source_starts_at_once(self) -> None:
        """After the start a source begins when it is added, and workers do not wait for it."""
        script = Script()
        with working(Driver(options(), script)) as driver:
            driver.watch(ListSource("Pod", "k", held=True))
            assert script.next_key() == "k"
            with pytest.raises(StartupError, match="x: a source named Pod exists already"):
                driver.watch(ListSource("Pod"))

    def test_a_source_that_fails_later_ends_the_driver(self) -> None:
        """An exception of a source is never lost."""
        source, error = ListSource("Pod"), ValueError("bad object")
        driver = Driver(options(), Script(), sources=[source])
        driver.start()
        assert driver.wait_until_working(LONG)
        source.events.put(error)
        with pytest.raises(ValueError, match="bad object"):
            driver.join(LONG)

    def test_a_source_that_fails_at_the_stop_does_not(self, caplog: pytest.LogCaptureFixture) -> None:
        """What goes wrong because of the stop is logged and no error."""

        class Torn:
            name = "Pod"

            def run(self, handle: SourceHandle) -> None:
                handle.synced()
                assert handle.wait(LONG)
                raise OSError("connection closed")

        with working(Driver(options(), Script(), sources=[Torn()])) as driver:
            pass
        assert driver.error is None
        assert "x: source Pod at the stop: OSError: connection closed" in caplog.text

    def test_given_queue_is_used(self) -> None:
        """A queue that is given beats the options."""
        with working(Driver(options(), Script(), queue=ClassicQueue())) as driver:
            assert list(driver.snapshot().by_priority) == [""]

    def test_log(self, caplog: pytest.LogCaptureFixture) -> None:
        """The start of the workers is said once."""
        caplog.set_level(logging.INFO, "advisor.runtime")
        with working(Driver(options(max_concurrent_reconciles=2), Script())) as driver:
            pass
        assert caplog.messages == ["x: workers started: 2"]
        assert driver.name == "x"
