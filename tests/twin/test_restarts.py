from dataclasses import replace
from itertools import pairwise

import pytest

from advisor.twin.parameters import Faults, QueueKind
from advisor.twin.simulation import Simulation
from advisor.twin.workload import Existing, Restart, Scaling, Slowdown, Workload, Writer
from tests.twin.worlds import SETTINGS, arrivals, attempts, controller, existing, requests, run, started, world

CLASSIC = replace(SETTINGS, queue=QueueKind.CLASSIC)


def test_everything_comes_again_at_low_priority() -> None:
    """The new process reads all objects at -100, works through them and writes nothing."""
    workload = Workload(existing=existing(50, 3), restarts=(Restart(10.0, 4.0),), duration_seconds=20.0)
    simulation = started(workload)
    simulation.advance(12.0)
    assert sum(controller(simulation.result()).reconciles.values()) == 2
    simulation.advance(14.0)
    assert simulation.controllers["raycluster"].queue.metrics.depth == {-100: 49}
    simulation.advance(None)
    result = simulation.result()
    assert sum(controller(result).reconciles.values()) == 52
    assert set(controller(result).queue_wait_seconds_by_priority) == {"0", "-100"}
    assert {request.kind for request in result.requests} == {"Lease"}


def test_classic_queue_has_no_priorities() -> None:
    """With the classic queue the list comes like everything else."""
    workload = Workload(existing=existing(20, 3), restarts=(Restart(10.0, 4.0),), duration_seconds=20.0)
    assert set(controller(run(workload, CLASSIC)).queue_wait_seconds_by_priority) == {""}


def test_low_priority_keys_starve() -> None:
    """Under a steady load at 0 the keys of the first list are not served as long as it lasts."""
    keys = tuple(one.key for one in existing(10, 1))
    workload = Workload(
        existing=existing(200, 1),
        restarts=(Restart(0.0, 0.1),),
        writers=(Writer(keys, 60.0, 0.1, 20.0),),
        duration_seconds=30.0,
    )
    simulation = started(workload, parameters=world(reconcile_seconds=0.05))
    simulation.advance(20.0)
    assert simulation.controllers["raycluster"].queue.metrics.depth[-100] > 180
    simulation.advance(None)
    assert simulation.controllers["raycluster"].queue.metrics.depth[-100] == 0
    waits = controller(simulation.result()).queue_wait_seconds_by_priority
    assert waits["-100"] > 20 * waits["0"]


def test_work_in_progress_is_lost_and_done_again() -> None:
    """What was under way never happens, what arrives meanwhile waits, and all gets ready in the end."""
    workload = Workload(arrivals=arrivals(10, 4, every_seconds=0.2), restarts=(Restart(1.0, 3.0),))
    simulation = started(workload)
    simulation.advance(1.0)
    simulation.advance(3.9)
    before = simulation.result()
    assert controller(before).utilisation > 0.0
    simulation.advance(None)
    result = simulation.result()
    assert len(result.ready_seconds) == 10
    assert requests(result, "POST", "Pod") == 50
    assert attempts(result, "POST", "Pod") <= 51
    assert requests(before, "POST", "Pod") < 50
    assert result.makespan_seconds is not None
    assert result.makespan_seconds > 4.0


def test_counts_go_on_over_processes() -> None:
    """Figures of the run are sums over all processes, and never fall."""
    workload = Workload(
        existing=existing(20, 1), restarts=(Restart(5.0, 1.0), Restart(10.0, 1.0)), duration_seconds=15.0
    )
    simulation = started(workload)
    counts = []
    for second in range(16):
        simulation.advance(float(second))
        result = simulation.result()
        one = controller(result)
        counts.append((sum(one.reconciles.values()), one.adds, result.server_requests, one.queue_wait_buckets[-1][1]))
    assert all(a <= b for former, later in pairwise(counts) for a, b in zip(former, later, strict=True))
    assert counts[-1][0] >= 40


def test_backoff_and_buckets_are_forgotten() -> None:
    """The new process tries a failing key at once, from full buckets."""
    faults = Faults(pod_refused_ratio=1.0, to_seconds=100.0)
    workload = Workload(arrivals=arrivals(1, 1), restarts=(Restart(95.0, 6.0),))
    result = run(workload, replace(SETTINGS, qps=1.0, burst=30), world(faults=faults))
    assert result.ready_seconds[0] == pytest.approx(101.1, abs=0.3)
    assert result.limiter_wait_seconds_mean == 0.0


def test_expectations_are_forgotten() -> None:
    """A Pod that hangs in Terminating blocks its group no longer; it counts as one of the Pods that are there."""
    workload = Workload(
        existing=(Existing("a/x", 2),),
        scalings=(Scaling(1.0, "a/x", 1), Scaling(5.0, "a/x", 4)),
        restarts=(Restart(20.0, 1.0),),
        duration_seconds=60.0,
    )
    stuck = world(faults=Faults(pod_stuck_ratio=1.0))
    assert requests(run(replace(workload, restarts=()), parameters=stuck), "POST", "Pod") == 0
    assert requests(run(workload, parameters=stuck), "POST", "Pod") == 2


@pytest.mark.parametrize("kind", ["RayJob", "RayService"])
def test_owners_are_listed_too(kind: str) -> None:
    """RayJobs and RayServices come again, and their clusters with them."""
    workload = Workload(existing=existing(6, 1, kind=kind), restarts=(Restart(1.0, 1.0),), duration_seconds=12.0)
    result = run(workload)
    assert "-100" in controller(result, kind.lower()).queue_wait_seconds_by_priority
    assert "-100" in controller(result).queue_wait_seconds_by_priority
    assert requests(result, "POST", "RayCluster") == 0


def test_objects_that_arrive_while_it_is_down() -> None:
    """They are in the first list, and get ready."""
    workload = Workload(arrivals=arrivals(5, 1, kind="RayJob", every_seconds=0.5), restarts=(Restart(0.1, 5.0),))
    result = run(workload)
    assert len(result.ready_seconds) == 5
    assert min(result.ready_seconds) > 2.0


def test_a_standby_adds_nothing() -> None:
    """More replicas read the lease and change nothing else."""
    workload = Workload(arrivals=arrivals(10, 3))
    alone, with_standby = (run(workload, replace(SETTINGS, replicas=each)) for each in (1, 3))
    assert with_standby.makespan_seconds == pytest.approx(alone.makespan_seconds, rel=0.001)
    assert controller(with_standby).reconciles == controller(alone).reconciles
    assert with_standby.server_requests > alone.server_requests


def test_depth_while_it_is_down() -> None:
    """Without a process there is no queue."""
    simulation = started(Workload(existing=existing(5, 1), restarts=(Restart(1.0, 2.0),), duration_seconds=4.0))
    simulation._sample_ns = 500_000_000
    simulation.advance(None)
    down = [one for one in simulation.result().depth_samples if 1.0 < one.at_seconds < 3.0]
    assert len(down) == 3
    assert all(one.depth_by_priority == {} and one.active_workers == 0 for one in down)


def test_a_restart_with_other_settings() -> None:
    """The next process has the workers, QPS and Burst that it is started with; all else stays."""
    asked = replace(SETTINGS, concurrency=5, qps=7.0, burst=9, resync_seconds=1.0)
    workload = Workload(existing=existing(5, 1), restarts=(Restart(10.0, 4.0, asked),), duration_seconds=30.0)
    simulation = started(workload)
    simulation.advance(9.0)
    assert simulation.controllers["raycluster"].loop.metrics.max_concurrent_reconciles == SETTINGS.concurrency
    simulation.advance(20.0)
    assert simulation.settings == replace(SETTINGS, concurrency=5, qps=7.0, burst=9)
    assert simulation.controllers["raycluster"].loop.metrics.max_concurrent_reconciles == 5
    assert simulation.result().settings == simulation.settings


def test_more_is_planned_in_a_run() -> None:
    """What is planned later happens like what was planned from the start."""
    load = tuple(replace(one, at_seconds=one.at_seconds + 5.0) for one in arrivals(3, 2, every_seconds=1.0))
    later = Workload(existing=existing(9, 1), arrivals=load, restarts=(Restart(20.0, 1.0),))
    simulation = started(Workload(existing=existing(2, 1), duration_seconds=40.0))
    simulation.advance(2.0)
    simulation.plan(later)
    simulation.advance(19.0)
    assert len(simulation.clusters.by_key) == 2 + 3
    assert all(one.was_ready for one in simulation.clusters.by_key.values())
    assert simulation.operator.is_up
    simulation.advance(20.5)
    assert not simulation.operator.is_up


def test_a_slow_api_server() -> None:
    """Requests take as many times as long as it says, for as long as it says."""
    load = arrivals(60, 0, every_seconds=1.0)
    slow = Workload(arrivals=load, slowdowns=(Slowdown(10.0, 20.0, 40.0),), duration_seconds=60.0)
    simulation = started(slow, parameters=world(request_seconds=0.02))

    def mean_until(seconds: float) -> float:
        before = _posted(simulation)
        simulation.advance(seconds)
        count, spent = (now - then for now, then in zip(_posted(simulation), before, strict=True))
        return spent / count

    assert mean_until(20.0) == pytest.approx(0.02, rel=0.2)
    assert mean_until(40.0) == pytest.approx(0.2, rel=0.2)
    assert mean_until(60.0) == pytest.approx(0.02, rel=0.2)


def _posted(simulation: Simulation) -> tuple[float, float]:
    """Service requests that were answered, of whichever controller, and the seconds that they took."""
    counts = [one.counts for one in simulation.client.requests if (one.verb, one.kind) == ("POST", "Service")]
    return sum(one.requests for one in counts), sum(one.api_ns for one in counts) / 1e9
