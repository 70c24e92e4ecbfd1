"""RayClusters in the twin: their Pods, what the operator's cache has seen of them, and the reconcile program.

Requests and their order are those of research: kuberay 4.1; when Pods count as created is 4.5.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import NamedTuple

from advisor.queueing.outcome import Failure, Outcome
from advisor.queueing.types import IMMEDIATE
from advisor.twin.client import Client, Request, Status
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.observer import ClusterLook, PodLook
from advisor.twin.parameters import WorldParameters
from advisor.twin.workers import TwinController
from advisor.twin.world import ServiceLine

__all__ = ["Cluster", "RayClusters"]

_SECOND_NS = 1_000_000_000
_AFTER_STATUS_WRITE = Outcome(requeue_after_ns=2 * _SECOND_NS)
_RESYNC = Outcome(requeue_after_ns=300 * _SECOND_NS)
_FAILED = Outcome(failure=Failure.RETRIABLE)
_GONE = Outcome()


class _Status(NamedTuple):
    """What the operator writes down; it is written again only when it differs."""

    workers_running: int
    head_running: bool
    desired: int
    ready: bool


_NO_STATUS = _Status(workers_running=0, head_running=False, desired=-1, ready=False)


class Cluster:
    """One RayCluster: as it is, and as the operator's cache has it (`seen_*`)."""

    __slots__ = (
        "created_ns",
        "desired",
        "head_created",
        "key",
        "ready_ns",
        "seen",
        "seen_desired",
        "seen_head",
        "seen_head_running",
        "seen_status",
        "seen_version",
        "seen_workers",
        "seen_workers_running",
        "service_created",
        "status",
        "version",
        "workers_created",
    )

    def __init__(self, key: str, desired: int, created_ns: int) -> None:
        self.key = key
        self.desired = desired
        self.created_ns = created_ns
        self.ready_ns: int | None = None
        self.version = 1
        self.status = _NO_STATUS
        self.service_created = False
        self.head_created = 0
        self.workers_created = 0
        self.seen = False
        self.seen_version = 0
        self.seen_desired = 0
        self.seen_status = _NO_STATUS
        self.seen_head = 0
        self.seen_head_running = 0
        self.seen_workers = 0
        self.seen_workers_running = 0

    def look(self) -> ClusterLook:
        """The cluster as an onlooker sees it."""
        status = self.status
        is_new = status is _NO_STATUS
        return ClusterLook(
            key=self.key,
            generation=1,
            observed=None if is_new else 1,
            desired=None if is_new else status.desired,
            ready_workers=status.workers_running,
            was_ready=self.ready_ns is not None,
        )


class _Pod:
    __slots__ = ("bound_ns", "cluster", "is_head")

    def __init__(self, cluster: Cluster, *, is_head: bool) -> None:
        self.cluster = cluster
        self.is_head = is_head
        self.bound_ns = 0


class RayClusters:
    """All RayClusters, and the way from a request to the events that it causes."""

    def __init__(
        self,
        engine: Engine,
        line: ServiceLine,
        client: Client,
        world: WorldParameters,
        events: EventRecorder,
        on_ready: Callable[[Cluster], None],
    ) -> None:
        self.by_key: dict[str, Cluster] = {}
        self.controller: TwinController
        self.conflicts = 0
        self.pod_writes = 0
        self.pods_running = 0
        self.pod_running_ns = 0
        self._engine = engine
        self._line = line
        self._events = events
        self._on_ready = on_ready
        self._watch_share = world.watch_share
        self._lag_ns = round(world.watch_lag_seconds * 1e9)
        self._pod_work_ns = round(world.pod_work_seconds * 1e9)
        self._pod_starts_ns = tuple(round(world.pod_start_seconds * factor * 1e9) for factor in world.pod_start_spread)
        self._random = client.random
        self._starters = world.pod_starters
        self._to_start: deque[_Pod] = deque()
        self._post_service = client.request("POST", "Service")
        self._post_pod = client.request("POST", "Pod", refused_ratio=world.faults.pod_refused_ratio)
        self._delete_pod = client.request("DELETE", "Pod")
        self._put_status = client.request("PUT", "RayCluster")

    def create(self, cluster: Cluster) -> None:
        """Somebody creates a cluster."""
        self.by_key[cluster.key] = cluster
        self._show(cluster, "ADDED")
        self._deliver(self._see_created, cluster)

    def reconcile(self, key: str) -> Generator[Request | int, int, Outcome]:
        """One reconcile of a cluster."""
        cluster = self.by_key.get(key)
        if cluster is None or not cluster.seen:
            return _GONE
        version, status_before, desired = cluster.seen_version, cluster.seen_status, cluster.seen_desired
        if not cluster.service_created:
            if (yield self._post_service) != Status.OK:
                return _FAILED
            cluster.service_created = True
            self._deliver(self._add, cluster)
            self._events.record(cluster.key, "service")
        if not cluster.head_created:
            if (yield self._post_pod) != Status.OK:
                return _FAILED
            cluster.head_created = 1
            self._pod_created(cluster, is_head=True)
        # A create that has not been seen yet holds its group back (research: kuberay 4.5).
        if cluster.workers_created == cluster.seen_workers:
            for _ in range(desired - cluster.seen_workers):
                if (yield self._post_pod) != Status.OK:
                    return _FAILED
                cluster.workers_created += 1
                self._pod_created(cluster, is_head=False)
        elif self._engine.observer is not None:
            self._engine.observer.held_back(self._engine.now_ns, key)
        running = cluster.seen_workers_running
        status = _Status(
            workers_running=running,
            head_running=bool(cluster.seen_head_running),
            desired=desired,
            ready=bool(cluster.seen_head_running) and running == cluster.workers_created == desired,
        )
        if status == status_before:
            return _RESYNC
        if (yield self._put_status) != Status.OK:
            return _FAILED
        if cluster.version != version:
            self.conflicts += 1
            if self._engine.observer is not None:
                self._engine.observer.conflicted(self._engine.now_ns, key)
            return _FAILED
        self._write_status(cluster, status)
        return _AFTER_STATUS_WRITE

    def _write_status(self, cluster: Cluster, status: _Status) -> None:
        cluster.version += 1
        cluster.status = status
        if status.ready and cluster.ready_ns is None:
            cluster.ready_ns = self._engine.now_ns
            self._on_ready(cluster)
        self._show(cluster, "MODIFIED")
        self._deliver(self._see_status, (cluster, cluster.version, status))

    def _pod_created(self, cluster: Cluster, *, is_head: bool) -> None:
        pod = _Pod(cluster, is_head=is_head)
        self._show_pod(pod, "ADDED", is_running=False)
        self._deliver(self._see_pod, pod)
        self._events.record(cluster.key, "head" if is_head else "worker")

    def _show(self, cluster: Cluster, event: str) -> None:
        engine = self._engine
        if engine.observer is not None:
            engine.observer.cluster_changed(engine.now_ns, event, cluster.look())

    def _show_pod(self, pod: _Pod, event: str, *, is_running: bool) -> None:
        engine = self._engine
        if engine.observer is not None:
            look = PodLook(pod, pod.cluster.key, is_head=pod.is_head, is_running=is_running)
            engine.observer.pod_changed(engine.now_ns, event, look)

    # From here on: what comes back through watches. A status change alone wakes nobody (research: kuberay 4.1).

    def _deliver(self, callback: Callable[..., None], argument: object) -> None:
        """Call back when the operator's cache has it: the watch stands in the API server's line like everybody."""
        engine, line = self._engine, self._line
        now_ns = engine.now_ns
        engine.at(now_ns + int(line.backlog_ns(now_ns) * self._watch_share) + self._lag_ns, callback, argument)

    def _add(self, cluster: Cluster) -> None:
        self.controller.add(IMMEDIATE, cluster.key)

    def _see_created(self, cluster: Cluster) -> None:
        cluster.seen = True
        cluster.seen_version = cluster.version
        cluster.seen_desired = cluster.desired
        self.controller.add(IMMEDIATE, cluster.key)

    def _see_status(self, seen: tuple[Cluster, int, _Status]) -> None:
        cluster, version, status = seen
        if version > cluster.seen_version:
            cluster.seen_version, cluster.seen_status = version, status

    def _see_pod(self, pod: _Pod) -> None:
        cluster = pod.cluster
        if pod.is_head:
            cluster.seen_head += 1
        else:
            cluster.seen_workers += 1
        self.controller.add(IMMEDIATE, cluster.key)
        self.pod_writes += 1
        bound_ns = self._line.finish_ns(self._engine.now_ns, self._pod_work_ns)
        self._engine.at(bound_ns + self._lag_ns, self._see_bound, pod)

    def _see_bound(self, pod: _Pod) -> None:
        pod.bound_ns = self._engine.now_ns
        self._show_pod(pod, "MODIFIED", is_running=False)
        self.controller.add(IMMEDIATE, pod.cluster.key)
        starts_ns = self._pod_starts_ns
        start_ns = starts_ns[int(self._random.random() * len(starts_ns))]
        if start_ns:
            self._engine.at(self._engine.now_ns + start_ns, self._start_pod, pod)
        else:
            self._start_pod(pod)

    def _start_pod(self, pod: _Pod) -> None:
        if self._starters:
            self._starters -= 1
            self.pod_writes += 1
            running_ns = self._line.finish_ns(self._engine.now_ns, self._pod_work_ns)
            self._engine.at(running_ns + self._lag_ns, self._see_running, pod)
        else:
            self._to_start.append(pod)

    def _see_running(self, pod: _Pod) -> None:
        self.pods_running += 1
        self.pod_running_ns += self._engine.now_ns - pod.bound_ns
        self._show_pod(pod, "MODIFIED", is_running=True)
        self._starters += 1
        if self._to_start:
            self._start_pod(self._to_start.popleft())
        cluster = pod.cluster
        if pod.is_head:
            cluster.seen_head_running += 1
        else:
            cluster.seen_workers_running += 1
        self.controller.add(IMMEDIATE, cluster.key)


