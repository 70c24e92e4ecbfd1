"""Laws that hold in every run of the twin, whatever happens in it: what flows in flows out, or is still there.

`check_laws(simulation)` may be called at any time of a run. With `watch_depth(simulation)` before its start, Little's
law is checked to the nanosecond; without, as far as samples of the depth tell.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_BLOCKED, PLACE_READY
from advisor.twin.client import MAX_ATTEMPTS, RequestCounts
from advisor.twin.engine import Engine
from advisor.twin.operatorprocess import Controlled
from advisor.twin.result import DepthSample, RunResult
from advisor.twin.simulation import Simulation
from advisor.twin.workers import TwinController

__all__ = ["check_laws", "watch_depth"]

_CFS_PERIOD_NS = 100_000_000
# Of requests that no worker waits for.
_BACKGROUND = frozenset({"Event", "Lease"})


class _WatchedMetrics(QueueMetrics):
    """Metrics that integrate the depth over time by themselves."""

    __slots__ = ("_area_ns", "_changed_ns", "_engine", "_keys")

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine
        self._changed_ns = engine.now_ns
        self._keys = 0
        self._area_ns = 0

    def became_ready(self, label: int | str) -> None:
        self._change(1)
        super().became_ready(label)

    def handed_out(self, label: int | str, waited_ns: int) -> None:
        self._change(-1)
        super().handed_out(label, waited_ns)

    def area_ns(self) -> int:
        """Integral of the depth until now, in key nanoseconds."""
        self._change(0)
        return self._area_ns

    def _change(self, by: int) -> None:
        now_ns = self._engine.now_ns
        self._area_ns += self._keys * (now_ns - self._changed_ns)
        self._changed_ns = now_ns
        self._keys += by


def watch_depth(simulation: Simulation) -> None:
    """Let the depth of all queues be integrated; before the run starts."""
    kinds = simulation.operator._kinds
    assert isinstance(kinds, dict)
    for name, kind in kinds.items():
        kinds[name] = replace(kind, connect=_Connect(kind, simulation.engine))


class _Connect:
    """Connects a new controller, whose queue gets metrics that watch the depth."""

    def __init__(self, kind: Controlled, engine: Engine) -> None:
        self._kind = kind
        self._engine = engine

    def __call__(self, controller: TwinController) -> None:
        controller.queue.metrics = _WatchedMetrics(self._engine)
        self._kind.connect(controller)


def check_laws(simulation: Simulation) -> None:
    """Fail where a law does not hold now."""
    now_ns = simulation.engine.now_ns
    result = simulation.result()
    if simulation.operator.is_up:
        for controller in simulation.controllers.values():
            _check_queue(controller)
            _check_workers(controller, now_ns)
            _check_depth(controller, now_ns)
            if not simulation.workload.restarts:
                samples = [one for one in result.depth_samples if one.controller == controller.name]
                _check_samples(controller, samples, now_ns)
    _check_requests(simulation)
    if not simulation.workload.restarts:
        _check_buckets(simulation)
        _check_waiting_for_requests(simulation)
        _check_pods(simulation)
    _check_server(simulation, now_ns)
    _check_cpu(simulation, now_ns)
    _check_result(result)


def _check_queue(controller: TwinController) -> None:
    """Keys that became ready have been handed out or are ready, and none has waited for less than nothing."""
    metrics = controller.queue.metrics
    depth = sum(metrics.depth.values())
    assert metrics.adds - metrics.gets == depth == len(_ready_since_ns(controller))
    assert all(depth >= 0 for depth in metrics.depth.values())
    assert sum(one.queue_ns for one in metrics.by_priority.values()) == metrics.queue_duration.sum_ns
    assert metrics.queue_duration.count == metrics.gets
    assert all(one.queue_ns >= 0 for one in metrics.by_priority.values())


def _check_workers(controller: TwinController, now_ns: int) -> None:
    """Hand-offs are reconciles that have ended or are in progress, and worker time is all of its parts."""
    loop, queue = controller.loop, controller.queue
    metrics = loop.metrics
    in_work_ns = [now_ns - work.began_ns for work in loop.in_work.values()]
    assert metrics.active_workers == len(in_work_ns) <= metrics.max_concurrent_reconciles
    assert sum(metrics.reconciles.values()) == metrics.reconcile_time.count
    assert queue.metrics.gets == metrics.reconcile_time.count + len(in_work_ns)
    assert len({work.key for work in loop.in_work.values()}) == len(in_work_ns)
    if len(_ready_since_ns(controller)) > queue.blocked:
        assert metrics.active_workers == metrics.max_concurrent_reconciles, "a worker rests though keys are ready"
    parts = (controller.api_ns, controller.limiter_ns, controller.external_ns, controller.cpu_ns)
    assert min(parts) >= 0
    done_ns = metrics.reconcile_time.sum_ns
    assert done_ns <= sum(parts)
    if not controller.external_ns:
        assert sum(parts) <= done_ns + sum(in_work_ns)
    if not in_work_ns:
        assert sum(parts) == done_ns
    assert done_ns + sum(in_work_ns) <= now_ns * metrics.max_concurrent_reconciles


def _check_depth(controller: TwinController, now_ns: int) -> None:
    """Little's law: depth over time is the wait of all keys together, that of those who still wait included."""
    metrics = controller.queue.metrics
    if isinstance(metrics, _WatchedMetrics):
        assert metrics.area_ns() == _waits_ns(controller, now_ns)


def _check_samples(controller: TwinController, samples: list[DepthSample], now_ns: int) -> None:
    """The same from samples: each change of the depth is seen at most one sample late."""
    if len(samples) > 1:
        metrics = controller.queue.metrics
        pace_ns = round((samples[1].at_seconds - samples[0].at_seconds) * 1e9)
        sampled_ns = pace_ns * sum(sum(one.depth_by_priority.values()) for one in samples)
        # The last sample may reach beyond now.
        tolerance_ns = pace_ns * (metrics.adds + metrics.gets + sum(metrics.depth.values()) + 1)
        assert abs(sampled_ns - _waits_ns(controller, now_ns)) <= tolerance_ns


def _check_requests(simulation: Simulation) -> None:
    """Every time that a request was sent it is on the way, was answered for good, or was answered with 429."""
    counts = [request.counts for request in simulation.client.requests]
    to_arrive, to_be_answered, to_be_sent_again = _under_way(simulation)
    throttled = _sum_of(counts, "attempts") - to_arrive - to_be_answered - _sum_of(counts, "requests")
    if not simulation.workload.restarts:
        assert throttled >= to_be_sent_again
        if not simulation.world.faults.throttled_ratio:
            assert throttled == 0
        under_way = to_arrive + to_be_answered + to_be_sent_again
        assert all(one.attempts <= MAX_ATTEMPTS * (one.requests + under_way) for one in counts)
    assert all(one.requests <= one.attempts for one in counts)
    assert all(one.limiter_ns >= 0 for one in counts)
    assert all(one.api_ns >= 0 for one in counts)


def _check_buckets(simulation: Simulation) -> None:
    """A bucket's waits are those of its requests, and it lets no more of them pass than burst and rate allow."""
    requests = simulation.client.requests
    assert not any(one.counts.limiter_ns for one in requests if one.bucket is None)
    now_ns = simulation.engine.now_ns
    for bucket in {id(one.bucket): one.bucket for one in requests if one.bucket is not None}.values():
        counts = [one.counts for one in requests if one.bucket is bucket]
        assert bucket.waits == _sum_of(counts, "attempts")
        assert bucket.wait_sum_ns == _sum_of(counts, "limiter_ns")
        assert bucket.waits - bucket.waiting(now_ns) <= bucket.burst + bucket.qps * now_ns / 1e9 + 1e-6


def _check_waiting_for_requests(simulation: Simulation) -> None:
    """Where no reconcile is in progress, workers waited for their requests as long as these took."""
    controllers = simulation.controllers.values()
    if any(one.loop.in_work for one in controllers):
        return
    counts = [one.counts for one in simulation.client.requests if one.kind not in _BACKGROUND]
    assert sum(one.limiter_ns for one in controllers) == _sum_of(counts, "limiter_ns")
    api_ns = sum(one.api_ns for one in controllers)
    assert api_ns <= _sum_of(counts, "api_ns")
    if not simulation.client.cpu_ns:
        assert api_ns == _sum_of(counts, "api_ns")


def _check_server(simulation: Simulation, now_ns: int) -> None:
    """The API server takes each request of the operator once, besides those of others, and works on one at a time."""
    attempts = sum(one.counts.attempts for one in simulation.client.requests)
    others = simulation.line.served - (attempts - _under_way(simulation)[0])
    writes = simulation.clusters.pods.writes
    if not simulation.workload.restarts:
        assert others >= writes
        if _is_plain(simulation):
            assert others == writes
    assert simulation.line.busy_ns <= now_ns + max(0, simulation.line.free_ns - now_ns)


def _check_cpu(simulation: Simulation, now_ns: int) -> None:
    """CPU time is at least that of the reconciles, and never more than the quota grants."""
    cpu, cores = simulation.cpu, simulation.settings.cpu_limit_cores
    begun = sum(one.queue.metrics.gets for one in simulation.controllers.values())
    assert cpu.used_ns >= begun * round(simulation.world.reconcile_seconds * 1e9)
    assert cpu.throttled_ns >= 0
    if cores is None:
        assert cpu.throttled_ns == 0
    else:
        assert cpu.spent_ns(now_ns) <= round(cores * _CFS_PERIOD_NS) * (now_ns // _CFS_PERIOD_NS + 1)


def _check_pods(simulation: Simulation) -> None:
    """Each Pod was asked for once, and no group has more of them than it should."""
    faults = simulation.world.faults
    if not _is_plain(simulation):
        return
    groups = [group for cluster in simulation.clusters.by_key.values() for group in cluster.groups]
    assert all(len(group.pods) <= group.desired for group in groups)
    assert all(len(group.seen) <= len(group.pods) for group in groups)
    if not faults.throttled_ratio and not faults.pod_refused_ratio:
        posts = [one.counts for one in simulation.client.requests if (one.verb, one.kind) == ("POST", "Pod")]
        assert _sum_of(posts, "requests") == sum(len(group.pods) for group in groups)
    assert simulation.clusters.pods.started * 2 <= simulation.clusters.pods.writes


def _check_result(result: RunResult) -> None:
    """Nothing in a result is negative or longer than the run."""
    times = [*result.ready_seconds, *result.scaled_seconds]
    assert all(0.0 <= one <= result.run_seconds for one in times)
    if result.makespan_seconds is not None:
        assert max(result.ready_seconds) <= result.makespan_seconds + 1e-9 <= result.run_seconds + 2e-9
    for one in result.controllers:
        assert 0.0 <= one.utilisation <= 1.0 + 1e-9
        assert all(seconds >= 0.0 for seconds in one.budget_seconds.values())
        assert all(0.0 <= seconds <= result.run_seconds for seconds in one.queue_wait_seconds_by_priority.values())
    assert all(one.limiter_seconds >= 0.0 and one.api_seconds >= 0.0 for one in result.requests)


def _is_plain(simulation: Simulation) -> bool:
    """Whether nothing but new RayClusters happens in a run, and only one operator looks on."""
    workload = simulation.workload
    more = (workload.existing, workload.scalings, workload.deletions, workload.writers, workload.restarts)
    only_clusters = all(one.kind == "RayCluster" for one in workload.arrivals)
    return not any(more) and only_clusters and simulation.settings.replicas == 1


def _under_way(simulation: Simulation) -> tuple[int, int, int]:
    """Requests of the operator that are to arrive, to be answered, and to be sent again."""
    found: Counter[str] = Counter()
    for _, _, callback, _ in simulation.engine._heap:
        if getattr(callback, "__self__", None) is simulation.client:
            found[callback.__name__] += 1
    answers = sum(number for name, number in found.items() if name not in ("_arrive", "send"))
    return found["_arrive"], answers, found["send"]


def _waits_ns(controller: TwinController, now_ns: int) -> int:
    return controller.queue.metrics.queue_duration.sum_ns + sum(now_ns - one for one in _ready_since_ns(controller))


def _ready_since_ns(controller: TwinController) -> list[int]:
    """Since when each ready key is, those behind their own run included."""
    queue = controller.queue
    if isinstance(queue, ClassicQueue):
        return list(queue._ready_since_ns.values())
    assert isinstance(queue, PriorityQueue)
    places = (PLACE_READY, PLACE_BLOCKED)
    return [record.ready_since_ns for record in queue._pending.values() if record.place in places]


def _sum_of(counts: Iterable[RequestCounts], name: str) -> int:
    return sum(int(getattr(one, name)) for one in counts)
