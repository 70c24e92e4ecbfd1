"""RayClusters under an operator, written once more on SimPy as such models are usually written: a process for each
worker, request and Pod, and a resource for the API server.

It follows the description of the real operator (research: kuberay 4.1, 4.5), and shares no code with the twin: time is
seconds in floating point, the work queue is a set and a store, the token bucket another algorithm.
"""

import heapq
from collections.abc import Callable, Generator
from functools import partial
from random import Random
from typing import Any

import simpy

from advisor.twin.parameters import OperatorSettings, WorldParameters
from tests.twin.oracles.simpyparts import SimpyBucket

__all__ = ["SimpyOperator"]

Steps = Generator[simpy.Event, Any, Any]

_LEASE_SECONDS = 2.0
_AFTER_STATUS_WRITE, _RESYNC = 2.0, 300.0
_FIRST_RETRY = 0.005


class _Cluster:
    def __init__(self, key: str, workers: int) -> None:
        self.key = key
        self.workers = workers
        self.service = False
        self.failures = 0
        self.created = {"head": 0, "worker": 0}
        self.seen = {"head": 0, "worker": 0}
        self.running = {"head": 0, "worker": 0}
        self.version = self.seen_version = 1
        self.seen_status: tuple[int, int, bool] | None = None
        self.ready_at: float | None = None


class Mean:
    """A sum and a count.

    Attributes:
        total: of the values.
        count: how many.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.count = 0

    def add(self, value: float) -> None:
        """One more value."""
        self.total += value
        self.count += 1

    @property
    def value(self) -> float:
        """The mean; 0 without values."""
        return self.total / self.count if self.count else 0.0


class _Queue:
    """A work queue without doubles: a key in work waits aside, and goes in at the place that it had when it came."""

    def __init__(self, env: simpy.Environment) -> None:
        self.wait = Mean()
        self._ready_at: dict[str, float] = {}
        self._env = env
        self._places = 0
        self._heap: list[tuple[int, str]] = []
        self._idle: list[simpy.Event] = []
        self._pending: set[str] = set()
        self._aside: dict[str, int] = {}
        self._delayed: dict[str, tuple[float, int]] = {}
        self._in_work: set[str] = set()

    def add(self, key: str, delay: float = 0.0) -> None:
        if key in self._pending:
            return
        self._places += 1
        if delay:
            due, place = self._env.now + delay, self._places
            if key in self._delayed:
                due, place = min(due, self._delayed[key][0]), self._delayed[key][1]
            self._delayed[key] = (due, place)
            self._env.process(self._wake(key, due))
        else:
            _, place = self._delayed.pop(key, (0.0, self._places))
            self._make_ready(key, place)

    def get(self) -> Steps:
        while not self._heap:
            turn = self._env.event()
            self._idle.append(turn)
            yield turn
        _, key = heapq.heappop(self._heap)
        self._pending.remove(key)
        self._in_work.add(key)
        self.wait.add(self._env.now - self._ready_at[key])
        return key

    def done(self, key: str) -> None:
        self._in_work.remove(key)
        if key in self._aside:
            self._insert(self._aside.pop(key), key)

    def _wake(self, key: str, due: float) -> Steps:
        yield self._env.timeout(due - self._env.now)
        if self._delayed.get(key, (None,))[0] == due:
            del self._delayed[key]
            self.add(key)

    def _make_ready(self, key: str, place: int) -> None:
        self._pending.add(key)
        self._ready_at[key] = self._env.now
        if key in self._in_work:
            self._aside[key] = place
        else:
            self._insert(place, key)

    def _insert(self, place: int, key: str) -> None:
        heapq.heappush(self._heap, (place, key))
        if self._idle:
            self._idle.pop(0).succeed()


class SimpyOperator:
    """One run: clusters that are all created at the start, until all are ready and two seconds more have passed.

    Attributes:
        reconciles: ended ones.
        conflicts: status writes refused because the object had changed.
        server_requests: what the API server has answered or is about to.
        ready_seconds: from creation to ready, by cluster, in order of getting there.
        queue_wait: of keys that a worker took.
        limiter_wait: of requests in their bucket.
        request_time: of answered requests, without the limiter.
        reconcile_time: of ended reconciles.
    """

    def __init__(
        self, clusters: int, workers: int, settings: OperatorSettings, world: WorldParameters, random: Random
    ) -> None:
        self.reconciles = 0
        self.conflicts = 0
        self.server_requests = 0
        self.ready_seconds: list[float] = []
        self.limiter_wait = Mean()
        self.request_time = Mean()
        self.reconcile_time = Mean()
        self._env = env = simpy.Environment()
        self._settings = settings
        self._world = world
        self._random = random
        self._server = simpy.Resource(env, 1)
        self._busy_until = 0.0
        self._buckets: dict[str, SimpyBucket] = {}
        self._queue = _Queue(env)
        self.queue_wait = self._queue.wait
        self._events: dict[tuple[str, str], int] = {}
        self._clusters = {f"ns/c{i}": _Cluster(f"ns/c{i}", workers) for i in range(clusters)}
        self._all_ready = env.event()

    def run(self) -> None:
        """Run to the end."""
        env = self._env
        env.process(self._lease())
        for _ in range(self._settings.concurrency):
            env.process(self._worker())
        for key in self._clusters:
            env.process(self._later(partial(self._queue.add, key)))
        env.run(until=self._all_ready)
        env.run(until=env.now + 2.0)

    def _worker(self) -> Steps:
        while True:
            key = yield from self._queue.get()
            began = self._env.now
            yield self._env.timeout(self._world.reconcile_seconds)
            after = yield from self._reconcile(self._clusters[key])
            self.reconciles += 1
            self.reconcile_time.add(self._env.now - began)
            self._queue.add(key, after)
            self._queue.done(key)

    def _reconcile(self, cluster: _Cluster) -> Steps:
        version, before = cluster.seen_version, cluster.seen_status
        if not cluster.service:
            yield from self._request("POST", "Service")
            cluster.service = True
            self._env.process(self._later(lambda: self._queue.add(cluster.key)))
            yield self._event(cluster, "service")
        if not cluster.created["head"]:
            yield from self._create_pod(cluster, "head")
        if cluster.created["worker"] == cluster.seen["worker"]:
            for _ in range(cluster.workers - cluster.seen["worker"]):
                yield from self._create_pod(cluster, "worker")
        running = dict(cluster.running)
        is_ready = running == {"head": 1, "worker": cluster.workers} == cluster.created
        status = (running["head"], running["worker"], is_ready)
        if status == before:
            cluster.failures = 0
            return _RESYNC
        yield from self._request("PUT", "RayCluster")
        if cluster.version != version:
            self.conflicts += 1
            cluster.failures += 1
            return _FIRST_RETRY * 2.0 ** (cluster.failures - 1)
        cluster.failures = 0
        cluster.version += 1
        if is_ready and cluster.ready_at is None:
            self._is_ready(cluster)
        self._env.process(self._later(self._show(cluster, cluster.version, status)))
        return _AFTER_STATUS_WRITE

    def _is_ready(self, cluster: _Cluster) -> None:
        cluster.ready_at = self._env.now
        self.ready_seconds.append(self._env.now)
        if len(self.ready_seconds) == len(self._clusters):
            self._all_ready.succeed()

    def _show(self, cluster: _Cluster, version: int, status: tuple[int, int, bool]) -> Callable[[], None]:
        def show() -> None:
            cluster.seen_version, cluster.seen_status = version, status

        return show

    def _create_pod(self, cluster: _Cluster, group: str) -> Steps:
        yield from self._request("POST", "Pod")
        cluster.created[group] += 1
        self._env.process(self._pod(cluster, group))
        yield self._event(cluster, group)

    def _pod(self, cluster: _Cluster, group: str) -> Steps:
        env, world = self._env, self._world
        yield env.timeout(self._backlog() * world.watch_share + world.watch_lag_seconds)
        cluster.seen[group] += 1
        self._queue.add(cluster.key)
        yield from self._serve(world.pod_work_seconds)
        yield env.timeout(world.watch_lag_seconds)
        self._queue.add(cluster.key)
        yield env.timeout(world.pod_start_seconds)
        yield from self._serve(world.pod_work_seconds)
        yield env.timeout(world.watch_lag_seconds)
        cluster.running[group] += 1
        self._queue.add(cluster.key)

    def _request(self, verb: str, kind: str) -> Steps:
        if kind not in self._buckets:
            self._buckets[kind] = SimpyBucket(self._env, self._settings.qps, self._settings.burst)
        self.limiter_wait.add((yield from self._buckets[kind].take()))
        sent = self._env.now
        yield from self._serve(self._world.server_work_seconds)
        yield self._env.timeout(self._world.request_seconds[verb] * self._random.choice(self._world.request_spread))
        self.request_time.add(self._env.now - sent)

    def _serve(self, work_seconds: float) -> Steps:
        self.server_requests += 1
        with self._server.request() as turn:
            yield turn
            self._busy_until = self._env.now + work_seconds
            yield self._env.timeout(work_seconds)

    def _backlog(self) -> float:
        rest = max(0.0, self._busy_until - self._env.now)
        return rest + len(self._server.queue) * self._world.server_work_seconds

    def _later(self, happens: Callable[[], None]) -> Steps:
        """What a watch brings: behind the API server's line, and a lag later."""
        yield self._env.timeout(self._backlog() * self._world.watch_share + self._world.watch_lag_seconds)
        happens()

    def _event(self, cluster: _Cluster, reason: str) -> simpy.Event:
        """Write an event beside the reconcile; it is with the API server before the reconcile's next request."""
        count = self._events[cluster.key, reason] = self._events.get((cluster.key, reason), 0) + 1
        if count <= 2:
            self._env.process(self._request("POST" if count == 1 else "PATCH", "Event"))
        return self._env.timeout(0.0)

    def _lease(self) -> Steps:
        while True:
            self._env.process(self._request("PUT", "Lease"))
            yield self._env.timeout(_LEASE_SECONDS)
