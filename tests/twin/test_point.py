from advisor.model.trace import ClusterTrace, DemandTrace, PodTimes
from advisor.twin.parameters import QueueKind
from advisor.twin.point import operating_point, settings_of, workload_of
from advisor.twin.workload import Arrival, Deletion, Existing, Scaling
from tests.diagnosis.builders import client, controller, settings, signals

PODS = PodTimes(pods=10, bound_seconds_mean=0.01, running_seconds_mean=0.02, pending_ratio=0.0, interval_seconds=0.05)


def trace(*clusters: ClusterTrace, jobs: tuple[tuple[float, str], ...] = ()) -> DemandTrace:
    """A load of a hundred seconds."""
    return DemandTrace(start=1000.0, seconds=100.0, clusters=clusters, pods=PODS, jobs=jobs)


class TestWorkload:
    def test_the_load_is_run_again_as_it_was(self) -> None:
        """What existed exists, what came comes, what was scaled or deleted is again, and the end is as long after."""
        found = workload_of(
            trace(
                ClusterTrace("a/old", None, 2, None, scaled=((30.0, 5),), settled_seconds=(31.0,)),
                ClusterTrace("a/new", 10.0, 4, 60.0, deleted_seconds=90.0),
            )
        )
        assert found.existing == (Existing("a/old", 2),)
        assert found.arrivals == (Arrival(10.0, "a/new", 4),)
        assert found.scalings == (Scaling(30.0, "a/old", 5),)
        assert found.deletions == (Deletion(90.0, "a/new"),)
        assert (found.duration_seconds, found.tail_seconds) == (None, 40.0)

    def test_an_unknown_size_is_the_usual_one(self) -> None:
        """A cluster whose status never came is as large as most."""
        sizes = [ClusterTrace(f"a/{index}", 0.0, size, None) for index, size in enumerate((1, 4, 4, 9))]
        found = workload_of(trace(*sizes, ClusterTrace("a/unknown", 1.0, None, None)))
        assert found.arrivals[-1].workers == 4

    def test_a_load_that_did_not_end_has_the_length_of_its_trace(self) -> None:
        """Where one cluster was never ready there is no last ready one to count from."""
        assert workload_of(trace(ClusterTrace("a/b", 1.0, 1, None))).duration_seconds == 100.0

    def test_jobs_bring_their_clusters(self) -> None:
        """The cluster of a RayJob arrives with it and not a second time."""
        found = workload_of(trace(ClusterTrace("a/j-x1", 6.0, 3, 9.0), jobs=((5.0, "a/j"),)))
        assert [(one.kind, one.key, one.workers) for one in found.arrivals] == [("RayJob", "a/j", 3)]


class TestSettings:
    def test_settings_in_force(self) -> None:
        """Concurrency, limits and the generation of the queue."""
        found = settings_of(signals(controller(), settings(concurrency=4.0, qps=20.0, burst=40.0), queue="classic"))
        assert (found.concurrency, found.qps, found.burst, found.queue) == (4, 20.0, 40, QueueKind.CLASSIC)
        assert not found.events_as_series

    def test_unknown_limits_are_none(self) -> None:
        """An operator whose QPS is not known is run without a limiter."""
        found = settings_of(signals(controller(), settings(concurrency=None, qps=None, burst=None)))
        assert (found.concurrency, found.qps, found.burst) == (1, -1.0, 1)


class TestMeasured:
    def test_figures_come_from_signals_and_trace(self) -> None:
        """Waits and work from the metrics, ready times and Pods from the objects."""
        seen = signals(
            controller(queue_wait_seconds_mean=3.0, busy_worker_seconds=50.0, reconciles=80.0),
            client(limiter_wait_seconds_mean=0.01, write_api_seconds_mean=0.04),
        )
        found = operating_point("p", seen, trace(ClusterTrace("a/b", 10.0, 4, 30.0))).measured
        assert (found.queue_wait_seconds_mean, found.busy_worker_seconds, found.reconciles) == (3.0, 50.0, 80.0)
        assert (found.limiter_wait_seconds_mean, found.write_seconds) == (0.01, 0.04)
        assert (found.makespan_seconds, found.ready_seconds_mean) == (30.0, 20.0)
        assert (found.pod_bound_seconds, found.pod_running_seconds) == (0.01, 0.02)

    def test_the_pace_of_pods_stands_in_for_request_times(self) -> None:
        """Where no series has the time of a write, two Pods in a row of one cluster are one write apart."""
        found = operating_point("p", signals(controller(), client(write_api_seconds_mean=None)), trace())
        assert found.measured.write_seconds == 0.05
        assert found.measured.ready_seconds_mean is None
