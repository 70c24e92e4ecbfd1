from dataclasses import replace
from random import Random

import pytest

from advisor.queueing.expectations import ScaleExpectations
from advisor.twin.parameters import Faults, OperatorSettings
from advisor.twin.pods import Group, Pod, PodsOf
from advisor.twin.workload import Arrival, Deletion, Existing, Scaling, Workload, Writer
from tests.twin.worlds import SETTINGS, arrivals, controller, existing, requests, run, started, world


class TestCreation:
    def test_writes_of_a_new_cluster(self) -> None:
        """A service, a head, each worker, and a status for each change that a reconcile sees."""
        result = run(Workload(arrivals=(Arrival(0.0, "a/x", 3),)))
        assert (requests(result, "POST", "Service"), requests(result, "POST", "Pod")) == (1, 4)
        assert 2 <= requests(result, "PUT", "RayCluster") <= 4
        assert requests(result, "POST", "Event") == 3
        assert len(result.ready_seconds) == 1

    def test_pods_are_created_one_after_another(self) -> None:
        """A big cluster takes its worker as long as all its Pods take, however many workers there are."""
        workload = Workload(arrivals=(Arrival(0.0, "a/x", 100),))
        one, many = (run(workload, replace(SETTINGS, concurrency=number)).makespan_seconds for number in (1, 16))
        assert one is not None
        assert one == many
        assert one > 102 * 0.01

    def test_groups_share_the_workers(self) -> None:
        """Workers are spread evenly over the groups, the first ones getting what is left over."""
        simulation = started(Workload(arrivals=(Arrival(0.0, "a/x", 7, groups=3),)))
        simulation.advance(None)
        assert [len(group.seen) for group in simulation.clusters.by_key["a/x"].groups] == [1, 3, 2, 2]

    def test_no_workers(self) -> None:
        """A cluster of a head alone gets ready."""
        assert len(run(Workload(arrivals=(Arrival(0.0, "a/x", 0),))).ready_seconds) == 1

    def test_second_passes_wait_for_first_ones(self) -> None:
        """With one worker all clusters of a burst get ready near its end."""
        result = run(Workload(arrivals=arrivals(20, 4)))
        assert result.makespan_seconds is not None
        assert min(result.ready_seconds) > 0.7 * result.makespan_seconds

    def test_pods_that_stay_pending(self) -> None:
        """Clusters whose Pods are never scheduled never get ready and cost almost nothing."""
        faults = Faults(pod_pending_ratio=1.0)
        result = run(Workload(arrivals=arrivals(5, 2), duration_seconds=120.0), parameters=world(faults=faults))
        assert result.ready_seconds == ()
        assert result.makespan_seconds is None
        assert controller(result).utilisation < 0.01

    def test_some_pods_stay_pending(self) -> None:
        """With a share of Pods pending some clusters get ready and others do not."""
        faults = Faults(pod_pending_ratio=0.2)
        result = run(Workload(arrivals=arrivals(30, 2), duration_seconds=30.0), parameters=world(faults=faults))
        assert 0 < len(result.ready_seconds) < 30


class TestRest:
    def test_resync_of_existing_clusters(self) -> None:
        """Clusters at rest are looked at once in 300 s each, at different times, and cost no write."""
        result = run(Workload(existing=existing(30, 2), duration_seconds=300.0))
        assert controller(result).reconciles == {"success": 0, "error": 0, "requeue": 0, "requeue_after": 30}
        assert {request.kind for request in result.requests} == {"Lease"}
        assert controller(result).queue_wait_seconds_mean == 0.0

    def test_resync_can_be_set(self) -> None:
        """A shorter period is a higher base load."""
        result = run(Workload(existing=existing(30, 2), duration_seconds=300.0), replace(SETTINGS, resync_seconds=60.0))
        assert sum(controller(result).reconciles.values()) == 150


class TestScaling:
    def test_up(self) -> None:
        """More workers are created, and the time until all run is measured."""
        workload = Workload(existing=existing(3, 2), scalings=(Scaling(1.0, "old/000", 12),))
        result = run(workload)
        assert requests(result, "POST", "Pod") == 10
        (seconds,) = result.scaled_seconds
        assert 10 * 0.01 < seconds < 3.0
        assert result.run_seconds == pytest.approx(1.0 + seconds + workload.tail_seconds)

    def test_down(self) -> None:
        """Surplus workers are deleted one after another, the oldest first."""
        simulation = started(Workload(existing=existing(1, 5), scalings=(Scaling(0.0, "old/000", 2),)))
        simulation.advance(None)
        result = simulation.result()
        assert requests(result, "DELETE", "Pod") == 3
        assert requests(result, "POST", "Pod") == 0
        assert simulation.clusters.by_key["old/000"].seen_pods == 3

    def test_stuck_pods_block_their_group(self) -> None:
        """A Pod that stays Terminating holds its group up, without an error, until it is gone; other groups go on."""
        scalings = tuple(Scaling(at, "a/x", workers) for at, workers in ((1.0, 4), (10.0, 20)))
        workload = Workload(existing=(Existing("a/x", 6, groups=2),), scalings=scalings, duration_seconds=400.0)
        stuck = world(faults=Faults(pod_stuck_ratio=1.0, to_seconds=200.0))
        simulation = started(workload, parameters=stuck)
        simulation.advance(190.0)
        assert requests(simulation.result(), "POST", "Pod") == 0
        # All errors are writes that came too late.
        assert controller(simulation.result()).reconciles["error"] == simulation.result().conflicts
        simulation.advance(None)
        assert requests(simulation.result(), "POST", "Pod") == 16
        assert simulation.is_complete

    def test_a_stuck_group_lets_others_go_on(self) -> None:
        """Only the group whose Pod hangs is left as it is."""
        scalings = (Scaling(1.0, "a/x", 3), Scaling(10.0, "a/x", 8))
        workload = Workload(existing=(Existing("a/x", 4, groups=2),), scalings=scalings, duration_seconds=100.0)
        result = run(workload, parameters=world(faults=Faults(pod_stuck_ratio=1.0)))
        # Two and two, then two and one, then four and four: the second group lost a Pod that hangs.
        assert requests(result, "DELETE", "Pod") == 1
        assert requests(result, "POST", "Pod") == 2

    def test_overtaken_scaling(self) -> None:
        """Of two scalings that overlap the later one is measured."""
        scalings = (Scaling(1.0, "old/000", 50), Scaling(1.1, "old/000", 60))
        result = run(Workload(existing=existing(1, 2), scalings=scalings))
        assert len(result.scaled_seconds) == 1
        assert requests(result, "POST", "Pod") == 58

    def test_unknown_cluster(self) -> None:
        """Scaling what is not there changes nothing."""
        result = run(Workload(existing=existing(1, 1), scalings=(Scaling(1.0, "a/b", 2),), duration_seconds=5.0))
        assert result.scaled_seconds == ()


class TestDeletion:
    def test_pods_go_with_their_cluster(self) -> None:
        """The operator does nothing for it; its queue sees an event for each Pod, and the key is gone."""
        workload = Workload(existing=existing(2, 4), deletions=(Deletion(1.0, "old/000"),), duration_seconds=10.0)
        simulation = started(workload)
        simulation.advance(None)
        assert list(simulation.clusters.by_key) == ["old/001"]
        result = simulation.result()
        assert requests(result, "DELETE", "Pod") == 0
        assert controller(result).reconciles["success"] >= 1

    def test_deleted_in_the_middle(self) -> None:
        """A cluster that goes while its Pods are created ends in a failed write, and is not waited for."""
        workload = Workload(arrivals=arrivals(2, 30), deletions=(Deletion(0.15, "team-a/000"),))
        simulation = started(workload)
        simulation.advance(None)
        result = simulation.result()
        assert len(result.ready_seconds) == 1
        assert result.makespan_seconds is None
        assert controller(result).reconciles["error"] >= 1
        assert simulation.is_complete


class TestWriters:
    def test_conflicts(self) -> None:
        """Another writer of the same objects makes status writes fail, and they are tried again."""
        keys = tuple(one.key for one in arrivals(10, 3))
        workload = Workload(arrivals=arrivals(10, 3), writers=(Writer(keys, 100.0, 0.0, 20.0),), duration_seconds=25.0)
        result = run(workload, parameters=world(put_seconds=0.1))
        assert result.conflicts > 5
        assert controller(result).reconciles["error"] == result.conflicts
        assert len(result.ready_seconds) == 10

    def test_hot_key(self) -> None:
        """A key that is written often is reconciled as often; more workers gain nothing, the others stay idle."""
        workload = Workload(
            existing=existing(5, 3), writers=(Writer(("old/001",), 50.0, 0.0, 10.0),), duration_seconds=10.0
        )
        slow = world(reconcile_seconds=0.05)
        one, many = (controller(run(workload, replace(SETTINGS, concurrency=each), slow)) for each in (1, 8))
        assert sum(many.reconciles.values()) <= sum(one.reconciles.values()) + 1
        assert many.queue_wait_seconds_mean == pytest.approx(one.queue_wait_seconds_mean, rel=0.05)
        assert many.utilisation == pytest.approx(one.utilisation / 8, rel=0.05)

    def test_a_key_that_is_gone(self) -> None:
        """Writes of what is not there do nothing."""
        workload = Workload(
            existing=existing(1, 1), writers=(Writer(("old/000", "no/no"), 4.0, 1.0, 2.0),), duration_seconds=4.0
        )
        assert sum(controller(run(workload)).reconciles.values()) == 2


class TestRefusals:
    def test_one_namespace(self) -> None:
        """Refused Pods make their keys fail with a growing backoff; other namespaces get ready."""
        faults = Faults(pod_refused_ratio=1.0, pod_refused_namespace="team-b")
        result = run(Workload(arrivals=arrivals(9, 2), duration_seconds=60.0), parameters=world(faults=faults))
        assert len(result.ready_seconds) == 6
        # 5 ms doubled until 60 s: 12 or 13 retries of each key.
        assert 3 * 12 <= controller(result).reconciles["error"] - result.conflicts <= 3 * 14

    def test_until(self) -> None:
        """When the refusals end, the clusters get ready at their next retry."""
        faults = Faults(pod_refused_ratio=1.0, pod_refused_status=500, from_seconds=0.0, to_seconds=3.0)
        result = run(Workload(arrivals=arrivals(3, 1)), parameters=world(faults=faults))
        assert len(result.ready_seconds) == 3
        assert 3.0 < min(result.ready_seconds) < 8.0

    def test_the_failure_is_written_once(self) -> None:
        """The status tells of it at the first failure, and not again."""
        faults = Faults(pod_refused_ratio=1.0)
        result = run(Workload(arrivals=arrivals(1, 1), duration_seconds=30.0), parameters=world(faults=faults))
        assert requests(result, "PUT", "RayCluster") == 1 + result.conflicts


class TestExpectations:
    def test_same_as_the_real_ones(self) -> None:
        """A group is settled exactly when KubeRay's expectations are satisfied, through any course of events."""
        random = Random(7)
        for _ in range(200):
            group = Group(PodsOf("a/x"), 0)
            real = ScaleExpectations()
            view: set[str] = set()
            pods: dict[str, Pod] = {}
            now_ns = 0
            for step in range(40):
                now_ns += random.randrange(12_000_000_000)
                name, action = f"pod-{step}", random.random()
                if action < 0.4 and group.is_settled(now_ns):
                    assert real.is_satisfied(now_ns, "a/x", "g", view)
                    pods[name] = Pod(group, now_ns)
                    group.expected.append(pods[name])
                    real.expect_create(now_ns, "a/x", "g", name)
                elif action < 0.5 and view and group.is_settled(now_ns):
                    assert real.is_satisfied(now_ns, "a/x", "g", view)
                    name = random.choice(sorted(view))
                    pods[name].is_leaving = True
                    group.expected.append(pods[name])
                    real.expect_delete(now_ns, "a/x", "g", name)
                elif pods:
                    name = random.choice(sorted(pods))
                    pods[name].is_seen = not pods[name].is_leaving
                    (view.add if pods[name].is_seen else view.discard)(name)
                assert group.is_settled(now_ns) == real.is_satisfied(now_ns, "a/x", "g", view)

    def test_a_create_that_is_not_seen_holds_back_for_thirty_seconds(self) -> None:
        """With a watch that lags far behind, a second pass creates nothing in its group before 30 s have passed."""
        late = replace(world(), watch_lag_seconds=40.0)
        simulation = started(Workload(arrivals=(Arrival(0.0, "a/x", 2),), duration_seconds=100.0), parameters=late)
        simulation.advance(69.0)
        assert requests(simulation.result(), "POST", "Pod") == 3


def test_more_workers_help_until_the_server_is_full() -> None:
    """A burst is done faster with more workers, until the API server's line sets the pace."""
    parameters = world(request_seconds=0.05, server_work_seconds=0.01)
    settings = OperatorSettings(qps=-1.0, burst=1)
    spans = [
        run(Workload(arrivals=arrivals(30, 5)), replace(settings, concurrency=each), parameters).makespan_seconds or 0.0
        for each in (1, 3, 16, 32)
    ]
    assert spans[0] > 2 * spans[1] > 2 * spans[2] * 1.2
    assert spans[3] > 0.8 * spans[2]
