"""Reading a run: from counters to a result. Figures of a controller are sums over all processes of the operator."""

from collections.abc import Iterable, Sequence

from advisor.queueing.metrics import DurationHistogram
from advisor.twin.client import Client
from advisor.twin.result import ControllerResult, RequestResult
from advisor.twin.workers import TwinController

__all__ = ["controller_result", "request_results"]


def controller_result(name: str, processes: Sequence[TwinController], now_ns: int) -> ControllerResult:
    """One controller, over the processes that ran it."""
    loops = [one.loop.metrics for one in processes]
    queues = [one.queue.metrics for one in processes]
    durations = _sum(one.reconcile_time for one in loops)
    waits = _sum(one.queue_duration for one in queues)
    in_work_ns = sum(
        one.lost_ns + sum(now_ns - work.began_ns for work in one.loop.in_work.values()) for one in processes
    )
    worker_ns = now_ns * loops[-1].max_concurrent_reconciles
    return ControllerResult(
        controller=name,
        reconciles={result.value: sum(one.reconciles[result] for one in loops) for result in loops[-1].reconciles},
        queue_wait_seconds_mean=waits.mean_seconds(),
        queue_wait_seconds_by_priority=_waits_by_priority(processes),
        queue_wait_buckets=tuple(waits.cumulative()),
        reconcile_seconds_mean=durations.mean_seconds(),
        reconcile_seconds_buckets=tuple(durations.cumulative()),
        utilisation=(durations.sum_ns + in_work_ns) / worker_ns if worker_ns else 0.0,
        budget_seconds={
            "api_server": sum(one.api_ns for one in processes) / 1e9,
            "client_limiter": sum(one.limiter_ns for one in processes) / 1e9,
            "cpu": sum(one.cpu_ns for one in processes) / 1e9,
            "external": sum(one.external_ns for one in processes) / 1e9,
        },
        adds=sum(one.adds for one in queues),
        deduplicated_adds=sum(one.deduplicated_adds for one in queues),
    )


def request_results(client: Client) -> tuple[RequestResult, ...]:
    """All requests of the operator, by verb and kind in order of first use."""
    groups: dict[tuple[str, str], list[RequestResult]] = {}
    for request in client.requests:
        counts = request.counts
        if counts.attempts:
            one = RequestResult(
                verb=request.verb,
                kind=request.kind,
                requests=counts.requests,
                attempts=counts.attempts,
                limiter_seconds=counts.limiter_ns / 1e9,
                api_seconds=counts.api_ns / 1e9,
            )
            groups.setdefault((one.verb, one.kind), []).append(one)
    return tuple(
        RequestResult(
            verb=verb,
            kind=kind,
            requests=sum(one.requests for one in group),
            attempts=sum(one.attempts for one in group),
            limiter_seconds=sum(one.limiter_seconds for one in group),
            api_seconds=sum(one.api_seconds for one in group),
        )
        for (verb, kind), group in groups.items()
    )


def _sum(histograms: Iterable[DurationHistogram]) -> DurationHistogram:
    first, *others = histograms
    total = DurationHistogram(first.bounds_ns)
    for one in (first, *others):
        total.sum_ns += one.sum_ns
        total.buckets = [a + b for a, b in zip(total.buckets, one.buckets, strict=True)]
    return total


def _waits_by_priority(processes: Sequence[TwinController]) -> dict[str, float]:
    sums: dict[str, tuple[int, int]] = {}
    for one in processes:
        for label, counters in one.queue.metrics.by_priority.items():
            queue_ns, gets = sums.get(str(label), (0, 0))
            sums[str(label)] = (queue_ns + counters.queue_ns, gets + counters.gets)
    return {label: queue_ns / gets / 1e9 for label, (queue_ns, gets) in sums.items() if gets}
