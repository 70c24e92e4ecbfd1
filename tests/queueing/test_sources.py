"""How a controller's sources start, as far as it is behaviour and no matter of Go's threads.

Not here: CT-15 and CT-30 (what a cancelled context returns), CT-20 and CT-22 (errors of a source's own start) and CT-33
(a second caller blocks) need threads, and are with the driver in tests/runtime; CT-24 is about Go's type parameters.
"""

import pytest

from advisor.queueing.controller import ControllerLoop
from advisor.queueing.controlleroptions import CACHE_SYNC_TIMEOUT_NS, StartupError
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.sources import Sources
from advisor.queueing.types import IMMEDIATE

SECOND = 1_000_000_000


class Started(list[str]):
    """Names of the sources whose start was called."""

    def by(self, name: str, sources: Sources) -> None:
        """Have the start of a source noted here."""
        sources.watch(name, lambda: self.append(name))


@pytest.fixture
def sources() -> Sources:
    """Of a controller that gives each 10 s."""
    return Sources("raycluster", 10 * SECOND)


@pytest.fixture
def started(sources: Sources) -> Started:
    """Two sources."""
    made = Started()
    made.by("RayCluster", sources)
    made.by("Pod", sources)
    return made


def test_ct_13_a_cache_that_never_syncs(sources: Sources, started: Started) -> None:
    """The start fails when the time is over, and says whose cache it was."""
    sources.start(SECOND)
    sources.synced("RayCluster")
    sources.started("Pod")
    assert sources.next_deadline_ns() == 11 * SECOND
    sources.tick(11 * SECOND - 1)
    with pytest.raises(StartupError, match=r"^raycluster: source Pod: timed out waiting for its cache to sync$"):
        sources.tick(11 * SECOND)
    assert (sources.is_synced, sources.next_deadline_ns()) == (False, None)


@pytest.mark.parametrize("id_", ["ct_14", "ct_16", "ct_31"])
def test_ct_14_16_31_a_start_that_blocks(sources: Sources, started: Started, id_: str) -> None:
    """A source whose own start call does not return in time fails the start, which says that it must not block."""
    sources.start(0)
    with pytest.raises(StartupError, match=r"^raycluster: source RayCluster: timed out: its start must not block$"):
        sources.tick(10 * SECOND)


def test_ct_15_a_wait_that_is_cancelled(sources: Sources, started: Started) -> None:
    """If the process ends during the wait, that is no error."""
    sources.start(0)
    sources.cancel()
    sources.tick(100 * SECOND)
    assert (sources.is_synced, sources.next_deadline_ns()) == (False, None)


def test_ct_17_29_sources_that_sync_in_time(sources: Sources, started: Started) -> None:
    """Once every source has synced nothing is waited for, however long it takes from there."""
    sources.start(0)
    for name in ("RayCluster", "Pod"):
        assert not sources.is_synced
        sources.started(name)
        sources.synced(name)
    assert (sources.is_synced, sources.next_deadline_ns()) == (True, None)
    sources.tick(1000 * SECOND)


def test_ct_18_the_initial_list_goes_first(sources: Sources) -> None:
    """No reconcile runs until all 20 objects have passed a handler that is slow."""
    queue = PriorityQueue()
    loop = ControllerLoop("raycluster", queue)
    sources.watch("RayCluster", lambda: None)
    sources.start(0)
    sources.started("RayCluster")
    for number in range(20):
        assert not sources.is_synced
        queue.add(number, IMMEDIATE, f"k{number}")
    assert not queue.handoffs
    sources.synced("RayCluster")
    assert sources.is_synced
    loop.start_workers(20)
    assert (len(queue), len(queue.handoffs)) == (19, 1)


def test_ct_23_started_more_than_once(sources: Sources, started: Started) -> None:
    """A second and a third start fail, and start nothing again."""
    sources.start(0)
    for _ in range(2):
        with pytest.raises(StartupError, match=r"^raycluster: started more than once$"):
            sources.start(SECOND)
    assert started == ["RayCluster", "Pod"]


def test_ct_25_no_sources(sources: Sources) -> None:
    """Without sources there is nothing to wait for, but the start has to be asked for."""
    assert not sources.is_synced
    sources.start(0)
    assert (sources.is_synced, sources.next_deadline_ns()) == (True, None)


@pytest.mark.parametrize("id_", ["ct_22", "ct_27"])
def test_ct_22_27_an_error_in_a_start(sources: Sources, started: Started, id_: str) -> None:
    """Just that error comes out of the start, and nothing is waited for any more."""

    def fail() -> None:
        raise OSError("no such kind")

    sources.watch("Broken", fail)
    with pytest.raises(OSError, match=r"^no such kind$"):
        sources.start(0)
    assert sources.next_deadline_ns() is None
    sources.tick(100 * SECOND)


def test_ct_28_an_error_in_a_sync(sources: Sources, started: Started) -> None:
    """An error while a source syncs names the controller and the source, and ends the wait for all others."""
    sources.start(0)
    with pytest.raises(StartupError, match=r"^raycluster: source Pod: connection refused$"):
        sources.failed("Pod", "connection refused")
    assert sources.next_deadline_ns() is None


@pytest.mark.parametrize("id_", ["ct_32", "wu_16"])
def test_ct_32_wu_16_each_source_starts_once(sources: Sources, started: Started, id_: str) -> None:
    """Whoever asks, and however often: each source is started once, and nobody gets an error."""
    for _ in range(5):
        sources.warm_up(0)
    sources.start(5 * SECOND)
    assert started == ["RayCluster", "Pod"]
    # The time counts from when they were started.
    assert sources.next_deadline_ns() == 10 * SECOND


@pytest.mark.parametrize("id_", ["ct_34", "wu_17"])
def test_ct_34_wu_17_later_watches_start_at_once(sources: Sources, started: Started, id_: str) -> None:
    """After the start nothing is held back; a source added then starts at once and holds nobody up."""
    assert sources.held == 2
    sources.warm_up(0)
    assert sources.held == 0
    sources.synced("RayCluster")
    sources.synced("Pod")
    started.by("Service", sources)
    assert started == ["RayCluster", "Pod", "Service"]
    assert (sources.is_synced, sources.next_deadline_ns(), sources.held) == (True, None, 0)
    sources.started("Service")
    sources.synced("Service")
    assert sources.is_synced
    with pytest.raises(StartupError, match="raycluster: source Service: gone"):
        sources.failed("Service", "gone")


@pytest.mark.parametrize("when", ["before", "at the start", "after"])
def test_names_differ(sources: Sources, started: Started, when: str) -> None:
    """A second source of a name is refused, whenever it comes."""
    name = "Pod"
    if when != "before":
        sources.start(0)
    if when == "after":
        name = "Service"
        started.by(name, sources)
    with pytest.raises(StartupError, match=f"raycluster: a source named {name} exists already"):
        started.by(name, sources)


def test_a_source_that_has_synced_does_not_fall_back(sources: Sources, started: Started) -> None:
    """A start call that returns after its source has synced changes nothing."""
    sources.start(0)
    sources.synced("RayCluster")
    sources.started("RayCluster")
    sources.synced("Pod")
    assert sources.is_synced


def test_default_timeout() -> None:
    """Each source has two minutes unless the options say otherwise."""
    sources = Sources("raycluster")
    sources.watch("Pod", lambda: None)
    sources.start(0)
    assert sources.next_deadline_ns() == CACHE_SYNC_TIMEOUT_NS
