from dataclasses import replace

import pytest

from advisor.twin.parameters import Faults, OperatorSettings, QueueKind
from advisor.twin.workload import Arrival, Deletion, Existing, Restart, Scaling, Workload
from tests.twin.worlds import SETTINGS, arrivals, attempts, controller, requests, run, started, world

POSTED = replace(SETTINGS, events_as_series=False, queue=QueueKind.CLASSIC)


def test_series() -> None:
    """Equal events of an object are posted once and patched once, however many there are."""
    result = run(Workload(arrivals=(Arrival(0.0, "a/x", 30),)))
    assert (requests(result, "POST", "Event"), requests(result, "PATCH", "Event")) == (3, 1)


def test_posted_each() -> None:
    """Before series each event is a write of its own, one after another, and no worker waits for them."""
    workload = Workload(arrivals=(Arrival(0.0, "a/x", 30),), tail_seconds=20.0)
    result = run(workload, POSTED)
    assert (requests(result, "POST", "Event"), requests(result, "PATCH", "Event")) == (32, 0)
    slow_events = run(workload, replace(POSTED, qps=1000.0, burst=1))
    assert slow_events.makespan_seconds == pytest.approx(result.makespan_seconds, rel=0.1)


def test_events_have_a_bucket_of_their_own() -> None:
    """Events that wait in their bucket hold nothing else up."""
    result = run(Workload(arrivals=arrivals(10, 3)), OperatorSettings(concurrency=4, qps=10.0, burst=10))
    limited = {one.kind: one.limiter_seconds for one in result.requests}
    assert limited["Event"] > 0.0
    assert limited["Service"] == limited["Lease"] == 0.0


@pytest.mark.parametrize("settings", [SETTINGS, POSTED])
def test_a_new_process_knows_no_series(settings: OperatorSettings) -> None:
    """After a restart series begin anew, and what had not been sent is lost."""
    workload = Workload(
        existing=(Existing("a/x", 1),),
        scalings=(Scaling(1.0, "a/x", 9), Scaling(10.0, "a/x", 18)),
        restarts=(Restart(5.0, 1.0),),
        duration_seconds=20.0,
    )
    assert requests(run(workload, settings), "POST", "Event") == (2 if settings.events_as_series else 17)


def test_reading_events_takes_cpu() -> None:
    """Watch events cost CPU time without holding a worker; under a quota everything is seen later."""
    workload = Workload(arrivals=arrivals(10, 5))
    free, costly = (run(workload, parameters=replace(world(), event_cpu_seconds=each)) for each in (0.0, 0.001))
    assert costly.cpu_seconds > free.cpu_seconds + 0.1
    assert controller(costly).budget_seconds["cpu"] == pytest.approx(controller(free).budget_seconds["cpu"], rel=0.2)
    limited = run(workload, replace(SETTINGS, cpu_limit_cores=0.05), replace(world(), event_cpu_seconds=0.001))
    assert limited.makespan_seconds is not None
    assert costly.makespan_seconds is not None
    assert limited.makespan_seconds > 2 * costly.makespan_seconds
    assert limited.cpu_throttled_seconds > 0.0


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService"])
@pytest.mark.parametrize("number", range(4))
def test_any_write_may_fail(kind: str, number: int) -> None:
    """Whatever kind's writes are given up after too many 429s, all goes on when the API server answers again."""
    kinds = (("RayCluster",), ("RayJob", "RayService"), ("Service", "Job"), ("Pod", "Event", "Lease"))[number]
    faults = Faults(throttled_ratio=1.0, throttled_kinds=kinds, retry_after_seconds=0.01, to_seconds=10.0)
    arrival = Arrival(0.0, "a/x", 2, kind=kind, run_seconds=15.0, makes_job=True, is_shut_down=True)
    result = run(Workload(arrivals=(arrival,), duration_seconds=60.0), parameters=world(faults=faults))
    assert len(result.ready_seconds) == 1
    assert sum(attempts(result, one.verb, one.kind) for one in result.requests) < 500


@pytest.mark.parametrize("deleted_seconds", [5.5, 7.0, 12.0])
def test_deleted_around_a_restart(deleted_seconds: float) -> None:
    """What goes while no process runs is not in the first list of the next one."""
    workload = Workload(
        existing=(Existing("a/x", 3), Existing("a/y", 3), Existing("a/j", 1, kind="RayJob")),
        scalings=(Scaling(5.45, "a/y", 1),),
        deletions=(Deletion(deleted_seconds, "a/x"), Deletion(deleted_seconds, "a/j", "RayJob")),
        restarts=(Restart(5.52, 4.0),),
        duration_seconds=30.0,
    )
    simulation = started(workload)
    simulation.advance(None)
    assert set(simulation.clusters.by_key) == {"a/y"}
    assert simulation.clusters.by_key["a/y"].seen_pods == 2
    assert simulation.clusters.by_key["a/y"].seen_running == 2
    assert simulation.jobs.by_key["a/j"].is_gone


def test_somebody_deletes_the_cluster_of_a_job() -> None:
    """A job that runs makes another one."""
    workload = Workload(
        existing=(Existing("a/j", 1, kind="RayJob"),),
        deletions=(Deletion(5.0, "a/j-raycluster"),),
        duration_seconds=20.0,
    )
    simulation = started(workload)
    simulation.advance(None)
    assert requests(simulation.result(), "POST", "RayCluster") == 1
    assert simulation.clusters.by_key["a/j-raycluster"].was_ready
