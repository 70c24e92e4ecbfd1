from dataclasses import replace

import pytest

from advisor.twin.workload import Arrival, Deletion, Workload
from tests.twin.worlds import SETTINGS, arrivals, controller, existing, requests, run, started, world

SERVICE = Workload(arrivals=(Arrival(0.0, "a/svc", 2, kind="RayService"),), duration_seconds=40.0)


def test_life_of_a_service() -> None:
    """Finalizer and name cost two seconds each; then the cluster comes, and the service is looked at for ever."""
    result = run(SERVICE)
    assert requests(result, "POST", "RayCluster") == 1
    assert requests(result, "POST", "Service") == 3
    # A pass that its own Service wakes may read the service before the last write of its status.
    assert 3 <= requests(result, "PUT", "RayService") <= 5
    assert requests(result, "PUT", "Pod") == 1
    (seconds,) = result.ready_seconds
    assert 4.0 < seconds < 6.0
    assert controller(result, "rayservice").reconciles["requeue_after"] == pytest.approx(20, abs=3)
    # The pass that creates the cluster finds no head.
    assert controller(result, "rayservice").reconciles["error"] >= 1


def test_base_load() -> None:
    """Each service is looked at every two seconds, with two calls and no write."""
    result = run(
        Workload(existing=existing(10, 1, kind="RayService"), duration_seconds=40.0),
        parameters=replace(world(), dashboard_seconds=0.01),
    )
    rayservice = controller(result, "rayservice")
    count = sum(rayservice.reconciles.values())
    assert count == pytest.approx(200, abs=10)
    assert rayservice.budget_seconds["external"] == pytest.approx(0.02 * count, rel=0.01)
    assert {request.kind for request in result.requests} == {"Lease"}


def test_slow_serve_saturates_one_worker() -> None:
    """Calls that take long make services wait for each other while nothing else is busy."""
    workload = Workload(arrivals=arrivals(20, 1, kind="RayService"), duration_seconds=60.0)
    result = run(workload, parameters=replace(world(), dashboard_seconds=0.3))
    assert controller(result, "rayservice").utilisation > 0.85
    assert controller(result).utilisation < 0.1
    assert len(result.ready_seconds) == 20


def test_serve_that_does_not_answer() -> None:
    """A details call that times out is an error, and the key backs off."""
    result = run(SERVICE, parameters=replace(world(), dashboard_seconds=3.0))
    rayservice = controller(result, "rayservice")
    assert rayservice.reconciles["error"] > 5
    assert requests(result, "PUT", "Pod") == 0


def test_deleted() -> None:
    """The cluster is deleted, and when it is gone the service is let go."""
    simulation = started(replace(SERVICE, deletions=(Deletion(20.0, "a/svc", "RayService"),)), SETTINGS)
    simulation.advance(None)
    assert simulation.services.by_key["a/svc"].is_gone
    assert simulation.clusters.by_key == {}
    assert requests(simulation.result(), "DELETE", "RayCluster") == 1
    assert not simulation.services.list_all()
