import pytest

from advisor.model.raw import ObjectChange
from advisor.model.signal import Window
from advisor.model.trace import ClusterTrace, DemandTrace
from advisor.signals.demandtrace import TraceBuilder
from tests.signals.builders import cluster, pod

WINDOW = Window(10, 110)


def traced(*changes: ObjectChange, window: Window = WINDOW) -> DemandTrace:
    """The load of a window, from changes in order."""
    builder = TraceBuilder()
    for change in changes:
        builder.add(change)
    return builder.trace(window)


def other(time: float, kind: str, name: str) -> ObjectChange:
    """A RayJob or RayService that is created."""
    return ObjectChange(t=time, event="ADDED", kind=kind, namespace="team", name=name)


class TestClusters:
    def test_an_arrival_has_its_time_size_and_ready_time(self) -> None:
        """Times are seconds from the start of the window; the size is the first that the status told."""
        found = traced(
            cluster(12, "ADDED"),
            cluster(15, "MODIFIED", desired=4, ready_workers=0),
            cluster(32, "MODIFIED", state="ready", desired=4, ready_workers=4),
        )
        assert found.clusters == (ClusterTrace("team/a", 2.0, 4, 22.0),)
        assert found.last_ready_seconds == 22.0
        assert (found.start, found.seconds) == (10, 100)

    def test_what_was_there_before_is_no_arrival(self) -> None:
        """A cluster seen at the start, or created before the window, exists; it comes first."""
        found = traced(
            cluster(0, "EXISTING", "old", state="ready", desired=2, ready_workers=2),
            cluster(5, "ADDED", "early"),
            cluster(20, "ADDED", "new"),
        )
        assert [(one.key, one.created_seconds) for one in found.clusters] == [
            ("team/early", None),
            ("team/old", None),
            ("team/new", 10.0),
        ]
        assert [one.key for one in found.arrivals] == ["team/new"]

    def test_a_scaling_is_when_the_spec_changed(self) -> None:
        """The status tells the new size only after the operator acted; the generation tells when it was asked for."""
        found = traced(
            cluster(0, "EXISTING", state="ready", desired=2, ready_workers=2, generation=1, observed=1),
            cluster(20, "MODIFIED", state="ready", desired=2, ready_workers=2, generation=2, observed=1),
            cluster(40, "MODIFIED", state="ready", desired=5, ready_workers=4, generation=2, observed=2),
            cluster(41, "MODIFIED", state="ready", desired=5, ready_workers=5, generation=2, observed=2),
        )
        (one,) = found.clusters
        assert (one.workers, one.scaled, one.settled_seconds) == (2, ((10.0, 5),), (31.0,))
        assert found.last_ready_seconds == 31.0

    def test_one_that_is_never_ready_leaves_no_makespan(self) -> None:
        """As long as one arrival or scaling is not as asked for, there is no time at which all were."""
        ready = (cluster(12, "ADDED"), cluster(20, "MODIFIED", state="ready", desired=1, ready_workers=1))
        assert traced(*ready).last_ready_seconds == 10.0
        assert traced(*ready, cluster(30, "ADDED", "b")).last_ready_seconds is None
        assert traced().last_ready_seconds is None

    def test_a_deleted_cluster_may_come_back(self) -> None:
        """One name may be two clusters, one after the other."""
        found = traced(cluster(12, "ADDED"), cluster(20, "DELETED"), cluster(30, "ADDED"))
        assert [(one.created_seconds, one.deleted_seconds) for one in found.clusters] == [(2.0, 10.0), (20.0, None)]

    def test_jobs_and_services_are_listed(self) -> None:
        """They bring clusters of their own, so their creation is what was asked for."""
        found = traced(other(20, "RayJob", "j"), other(5, "RayJob", "before"), other(30, "RayService", "s"))
        assert (found.jobs, found.services) == (((10.0, "team/j"),), ((20.0, "team/s"),))


class TestDemand:
    def test_the_first_demand_is_a_creation_or_a_scaling(self) -> None:
        """Whichever comes first in the window; None where nothing was asked for."""
        builder = TraceBuilder()
        builder.add(cluster(0, "EXISTING", desired=1, generation=1))
        assert builder.first_demand(WINDOW) is None
        builder.add(cluster(30, "MODIFIED", desired=1, generation=2))
        builder.add(cluster(35, "MODIFIED", desired=3, generation=2))
        assert builder.first_demand(WINDOW) == 30
        builder.add(cluster(50, "ADDED", "b"))
        assert builder.first_demand(WINDOW) == 30
        assert builder.first_demand(Window(40, 60)) == 50
        builder.add(cluster(70, "DELETED", "b"))
        assert builder.first_demand(Window(40, 60)) == 50


class TestPods:
    def test_how_pods_went_on(self) -> None:
        """From creation to bound, from bound to ready, the share never ready, and the pace within a cluster."""
        found = traced(
            pod(20, "ADDED", "p1"),
            pod(21, "MODIFIED", "p1"),
            pod(24, "MODIFIED", "p1", ready=True),
            pod(22, "ADDED", "p2"),
            pod(25, "MODIFIED", "p2"),
            pod(5, "ADDED", "before"),
        ).pods
        assert (found.pods, found.bound_seconds_mean, found.running_seconds_mean) == (2, 2.0, 3.0)
        assert (found.pending_ratio, found.interval_seconds) == (0.5, 2.0)
        assert found.interval_quantiles == ()

    def test_a_long_pause_is_not_the_pace_of_a_worker(self) -> None:
        """Pods minutes apart were not made by one reconcile."""
        assert traced(pod(20, "ADDED", "p1"), pod(90, "ADDED", "p2")).pods.interval_seconds is None

    def test_quantiles_need_enough_pods(self) -> None:
        """With enough of them the spread is kept, without its ends."""
        changes = [pod(20 + index * 0.5, "ADDED", f"p{index}") for index in range(60)]
        found = traced(*changes).pods
        assert len(found.interval_quantiles) == 16
        assert found.interval_quantiles == pytest.approx([0.5] * 16)

    def test_no_pods(self) -> None:
        """Missing is not zero."""
        found = traced().pods
        assert (found.bound_seconds_mean, found.running_seconds_mean, found.interval_seconds) == (None, None, None)
        assert found.pending_ratio == 0.0
