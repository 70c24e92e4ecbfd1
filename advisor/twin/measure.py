"""Reading a run: from counters to a result."""

from typing import TYPE_CHECKING

from advisor.twin.client import Client
from advisor.twin.result import ControllerResult, RequestResult, RunResult
from advisor.twin.workers import TwinController

if TYPE_CHECKING:
    from advisor.twin.simulation import Simulation

__all__ = ["measure"]


def measure(simulation: "Simulation") -> RunResult:
    """The result of a run so far."""
    now_ns = simulation.engine.now_ns
    last_ns = simulation.last_ready_ns
    makespan_ns = None if last_ns is None or not simulation.is_complete else last_ns - simulation.first_arrival_ns
    return RunResult(
        settings=simulation.settings,
        run_seconds=now_ns / 1e9,
        makespan_seconds=None if makespan_ns is None else makespan_ns / 1e9,
        ready_seconds=tuple(simulation.ready_seconds),
        controllers=tuple(_controller(one, now_ns) for one in simulation.controllers.values()),
        requests=_requests(simulation.client),
        server_requests=simulation.line.served,
        pod_running_seconds_mean=_pod_running_seconds(simulation),
        conflicts=simulation.clusters.conflicts,
        cpu_seconds=simulation.cpu.used_ns / 1e9,
        cpu_throttled_seconds=simulation.cpu.throttled_ns / 1e9,
        depth_samples=tuple(simulation.depth_samples),
        events=simulation.engine.events,
    )


def _pod_running_seconds(simulation: "Simulation") -> float | None:
    clusters = simulation.clusters
    return clusters.pod_running_ns / clusters.pods_running / 1e9 if clusters.pods_running else None


def _controller(controller: TwinController, now_ns: int) -> ControllerResult:
    queue, loop = controller.queue.metrics, controller.loop.metrics
    in_work_ns = sum(now_ns - work.began_ns for work in controller.loop.in_work.values())
    worker_ns = now_ns * loop.max_concurrent_reconciles
    waits = {
        str(label): counters.queue_ns / counters.gets / 1e9
        for label, counters in queue.by_priority.items()
        if counters.gets
    }
    return ControllerResult(
        controller=controller.name,
        reconciles={result.value: count for result, count in loop.reconciles.items()},
        queue_wait_seconds_mean=queue.queue_duration.mean_seconds(),
        queue_wait_seconds_by_priority=waits,
        queue_wait_buckets=tuple(queue.queue_duration.cumulative()),
        reconcile_seconds_mean=loop.reconcile_time.mean_seconds(),
        utilisation=(loop.reconcile_time.sum_ns + in_work_ns) / worker_ns if worker_ns else 0.0,
        budget_seconds={
            "api_server": controller.api_ns / 1e9,
            "client_limiter": controller.limiter_ns / 1e9,
            "cpu": controller.cpu_ns / 1e9,
            "external": controller.external_ns / 1e9,
        },
        adds=queue.adds,
        deduplicated_adds=queue.deduplicated_adds,
    )


def _requests(client: Client) -> tuple[RequestResult, ...]:
    return tuple(
        RequestResult(
            verb=request.verb,
            kind=request.kind,
            requests=request.counts.requests,
            attempts=request.counts.attempts,
            limiter_seconds=request.counts.limiter_ns / 1e9,
            api_seconds=request.counts.api_ns / 1e9,
        )
        for request in client.requests
        if request.counts.attempts
    )
