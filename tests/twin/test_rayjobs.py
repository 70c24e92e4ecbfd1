from dataclasses import replace

import pytest

from advisor.twin.parameters import Faults
from advisor.twin.rayjobs import Phase
from advisor.twin.workload import Arrival, Deletion, Existing, Workload
from tests.twin.worlds import SETTINGS, arrivals, controller, existing, requests, run, started, world


def job(*, run_seconds: float = 10.0, makes_job: bool = False, is_shut_down: bool = False) -> Workload:
    """One RayJob."""
    arrival = Arrival(
        0.0, "a/job", 2, kind="RayJob", run_seconds=run_seconds, makes_job=makes_job, is_shut_down=is_shut_down
    )
    return Workload(arrivals=(arrival,), duration_seconds=60.0)


def test_life_of_a_job() -> None:
    """Finalizer, status, cluster, service, one look every three seconds, and rest when it has run."""
    simulation = started(job())
    simulation.advance(None)
    result = simulation.result()
    assert requests(result, "POST", "RayCluster") == 1
    assert (requests(result, "POST", "Service"), requests(result, "POST", "Pod")) == (2, 3)
    assert requests(result, "POST", "Job") == 0
    assert requests(result, "DELETE", "RayCluster") == 0
    assert simulation.jobs.by_key["a/job"].state.phase is Phase.COMPLETE
    # No requeue once it has ended.
    assert controller(result, "rayjob").reconciles["success"] >= 1
    assert sum(controller(result, "rayjob").reconciles.values()) < 25
    assert len(result.ready_seconds) == 1


def test_submitted_by_a_job_and_shut_down() -> None:
    """A Kubernetes Job is one more write, and a cluster that is not kept is deleted with all its Pods."""
    simulation = started(job(makes_job=True, is_shut_down=True))
    simulation.advance(None)
    result = simulation.result()
    assert requests(result, "POST", "Job") == 1
    assert requests(result, "DELETE", "RayCluster") == 1
    assert simulation.clusters.by_key == {}


def test_polling_holds_workers() -> None:
    """Running jobs with slow dashboards keep all workers busy while the API server is idle; more workers help."""
    workload = Workload(arrivals=arrivals(20, 1, kind="RayJob"), duration_seconds=60.0)
    slow = replace(world(), dashboard_seconds=1.0)
    one, four = (controller(run(workload, replace(SETTINGS, concurrency=each), slow), "rayjob") for each in (1, 4))
    assert one.utilisation > 0.95
    assert one.budget_seconds["external"] > 20 * one.budget_seconds["api_server"]
    assert four.queue_wait_seconds_mean is not None
    assert one.queue_wait_seconds_mean is not None
    assert four.queue_wait_seconds_mean < one.queue_wait_seconds_mean / 2
    assert sum(four.reconciles.values()) > 2 * sum(one.reconciles.values())


def test_base_load_of_running_jobs() -> None:
    """Each job that runs is looked at every three seconds, at times that are spread."""
    result = run(Workload(existing=existing(30, 1, kind="RayJob"), duration_seconds=30.0))
    assert sum(controller(result, "rayjob").reconciles.values()) == pytest.approx(300, abs=30)
    assert controller(result, "rayjob").queue_wait_seconds_mean == 0.0
    assert requests(result, "PUT", "RayJob") == 0


def test_existing_job_that_ends() -> None:
    """A job that runs since before comes to its end in the run."""
    simulation = started(
        Workload(existing=(Existing("a/j", 1, kind="RayJob", run_seconds=5.0),), duration_seconds=20.0)
    )
    simulation.advance(None)
    assert simulation.jobs.by_key["a/j"].state.phase is Phase.COMPLETE


def test_dashboard_that_does_not_answer() -> None:
    """A call that times out holds the worker for as long, and the job stays as it is, without an error."""
    simulation = started(job(), parameters=replace(world(), dashboard_seconds=5.0))
    simulation.advance(None)
    result = simulation.result()
    assert simulation.jobs.by_key["a/job"].state.phase is Phase.RUNNING
    assert controller(result, "rayjob").reconciles["error"] == simulation.jobs.conflicts
    assert controller(result, "rayjob").budget_seconds["external"] % 2.0 == 0.0


def test_some_calls_time_out() -> None:
    """A share of dead heads makes the mean call longer."""
    faults = Faults(dashboard_timeout_ratio=0.3, to_seconds=30.0)
    parameters = replace(world(faults=faults), dashboard_seconds=0.1)
    result = run(Workload(existing=existing(4, 1, kind="RayJob"), duration_seconds=60.0), parameters=parameters)
    external = controller(result, "rayjob").budget_seconds["external"]
    calls = sum(controller(result, "rayjob").reconciles.values())
    assert 0.1 * calls < external < 0.6 * calls


def test_deleted_while_it_runs() -> None:
    """The job is stopped by one call and let go, and its cluster goes with it."""
    simulation = started(replace(job(run_seconds=500.0), deletions=(Deletion(20.0, "a/job", "RayJob"),)))
    simulation.advance(None)
    assert simulation.jobs.by_key["a/job"].is_gone
    assert simulation.clusters.by_key == {}


def test_bucket_is_shared() -> None:
    """Writes of RayClusters by both controllers take from one bucket."""
    simulation = started(job(), replace(SETTINGS, qps=10.0, burst=5))
    simulation.advance(5.0)
    buckets = {
        (one.verb, id(one.bucket)) for one in simulation.client.requests if one.kind == "RayCluster" and one.bucket
    }
    assert {verb for verb, _ in buckets} == {"POST", "PUT", "DELETE"}
    assert len({bucket for _, bucket in buckets}) == 1
