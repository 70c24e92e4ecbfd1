import threading

import pytest

from advisor.runtime.candidacy import Candidacy, SharedLease
from advisor.runtime.driver import Driver, LeaseLostError
from tests.runtime.acting import LONG, ListSource, Script, elector, options, working


class TestElection:
    def test_replicas_add_no_throughput(self, either: bool) -> None:
        """Of two replicas only the leader works; when it stops, the other takes over and works off what it has."""
        shared = SharedLease()
        scripts = [Script(), Script()]
        own = options(use_priority_queue=either)
        first = Driver(own, scripts[0], candidacy=Candidacy(elector("one"), shared))
        second = Driver(own, scripts[1], candidacy=Candidacy(elector("two"), shared))
        with working(first):
            with second:
                for driver in (first, second):
                    driver.add("a", "b")
                assert {scripts[0].next_key(), scripts[0].next_key()} == {"a", "b"}
                assert not second.wait_until_working(0.02)
                assert scripts[1].is_idle
                assert not first.stop(LONG)
                assert second.wait_until_working(LONG)
                assert {scripts[1].next_key(), scripts[1].next_key()} == {"a", "b"}
                assert scripts[0].is_idle
            assert shared.lease.transitions == 1
        assert shared.lease.holder == ""

    def test_a_lost_lease_ends_the_driver(self) -> None:
        """A leader that cannot renew ends with an error, so that another may take over."""
        reachable = threading.Event()
        reachable.set()
        candidacy = Candidacy(elector("one"), SharedLease(), reachable.is_set)
        driver = Driver(options(), Script(), candidacy=candidacy)
        driver.start()
        assert driver.wait_until_working(LONG)
        reachable.clear()
        with pytest.raises(LeaseLostError, match="x: the lease is lost"):
            driver.join(LONG)

    def test_an_error_of_the_election_ends_the_driver(self) -> None:
        """A replica that cannot tell whether it leads does not go on."""

        def fail() -> bool:
            raise OSError("no route")

        driver = Driver(options(), Script(), candidacy=Candidacy(elector("one"), SharedLease(), fail))
        driver.start()
        with pytest.raises(OSError, match="no route"):
            driver.join(LONG)

    @pytest.mark.parametrize("warmup", [True, False])
    def test_wu_14_warmup(self, warmup: bool) -> None:
        """With warmup a standby's sources start before the election, else after it; workers only after it."""
        shared = SharedLease()
        shared.lease.holder, shared.lease.renewed_ns = "another", 0
        candidacy = Candidacy(elector("one"), shared)
        source, script = ListSource("Pod", "k"), Script()
        with Driver(options(enable_warmup=warmup), script, sources=[source], candidacy=candidacy) as driver:
            assert source.listed.wait(LONG if warmup else 0.02) is warmup
            assert not driver.wait_until_working(0.02)
            assert script.is_idle
            with shared.lock:
                shared.lease.holder = ""
            assert driver.wait_until_working(LONG)
            assert script.next_key() == "k"
        assert source.runs == 1

    def test_a_controller_that_needs_no_leader_works_at_once(self) -> None:
        """Without the need for a leader the election is not asked."""
        shared = SharedLease()
        shared.lease.holder = "another"
        own = options(needs_leader_election=False)
        with working(Driver(own, Script(), candidacy=Candidacy(elector("one"), shared))):
            pass
        assert shared.lease.holder == "another"
