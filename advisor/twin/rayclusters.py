"""RayClusters in the twin: the reconcile program, and the way from a request to the events that it causes.

Requests and their order are those of research: kuberay 4.1.
"""

from collections.abc import Callable, Generator

from advisor.queueing.outcome import Outcome
from advisor.twin.client import Client, Refusal, Request, Status
from advisor.twin.cluster import Cluster, ClusterStatus
from advisor.twin.events import EventRecorder
from advisor.twin.parameters import Faults
from advisor.twin.pods import Pods
from advisor.twin.watch import Watch
from advisor.twin.workers import FAILED, GONE, Reconcile, TwinController

__all__ = ["RayClusters"]

_SECOND_NS = 1_000_000_000
# A global name is quicker than an attribute.
_OK = Status.OK
_AFTER_STATUS_WRITE = Outcome(requeue_after_ns=2 * _SECOND_NS)


class RayClusters:
    """All RayClusters.

    Attributes:
        by_key: those in the operator's cache or on the way there.
        pods: of all of them.
        conflicts: status writes that came too late.
        wake: adds a key to the controller's queue, because something that belongs to the cluster has changed.
        on_ready: called when a status is written that says ready.
    """

    def __init__(
        self, client: Client, watch: Watch, pods: Pods, events: EventRecorder, faults: Faults, resync_seconds: float
    ) -> None:
        self.by_key: dict[str, Cluster] = {}
        self.pods = pods
        self.conflicts = 0
        self.on_ready: Callable[[Cluster], None] = lambda _: None
        self.wake: Callable[[str], None] = lambda _: None
        self._engine = pods.engine
        self._watch = watch
        self._events = events
        self._resync = Outcome(requeue_after_ns=round(resync_seconds * _SECOND_NS))
        self._post_service = client.request("POST", "Service")
        self._post_pod = self._refused_pod = client.request("POST", "Pod")
        if faults.pod_refused_ratio:
            refusal = Refusal(faults.pod_refused_ratio, faults.pod_refused_status)
            self._refused_pod = client.refused(self._post_pod, refusal)
        self._refused_namespace = faults.pod_refused_namespace
        self._delete_pod = client.request("DELETE", "Pod")
        self._put_status = client.request("PUT", "RayCluster")

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        self.wake = self.pods.wake = controller.wake
        self.pods.merges = controller.merges

    def create(self, cluster: Cluster) -> None:
        """Somebody creates a cluster."""
        self._admit(cluster)
        self._show(cluster, "ADDED")
        self._watch.deliver(self._see_created, cluster)

    def add_ready(self, cluster: Cluster) -> None:
        """A cluster that has been there and ready for long."""
        self._admit(cluster)
        cluster.service_created = True
        cluster.see_spec()
        for group in cluster.groups:
            for _ in range(group.desired):
                self.pods.add_running(group)
        cluster.seen = True
        cluster.seen_version = cluster.version
        cluster.status = cluster.seen_status = self._status(cluster, is_failed=False)
        cluster.observed = cluster.generation
        cluster.was_ready = True
        self._show(cluster, "EXISTING")

    def scale(self, cluster: Cluster, workers: int) -> None:
        """Somebody sets the number of workers."""
        cluster.spread(workers)
        cluster.generation += 1
        self._change(cluster, self._see_spec)

    def touch(self, cluster: Cluster) -> None:
        """Somebody changes a label or an annotation."""
        self._change(cluster, self._see_touched)

    def delete(self, cluster: Cluster) -> None:
        """Somebody deletes a cluster: it goes at once, and its Pods with it."""
        if cluster.is_deleted:
            return
        cluster.is_deleted = True
        self._show(cluster, "DELETED")
        self._watch.deliver(self._see_deleted, cluster)
        for group in cluster.groups:
            self.pods.collect(group)

    def list_all(self) -> list[str]:
        """A new process reads all clusters and Pods as they are; returns the keys in order of creation."""
        for key, cluster in list(self.by_key.items()):
            if cluster.is_deleted:
                del self.by_key[key]
            cluster.seen = not cluster.is_deleted
            cluster.seen_version, cluster.seen_status = cluster.version, cluster.status
            for group in cluster.groups:
                self.pods.list_group(group)
        return list(self.by_key)

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of a cluster."""
        cluster = self.by_key.get(key)
        if cluster is None or not cluster.seen:
            return GONE
        version, before = cluster.seen_version, cluster.seen_status
        is_failed = not cluster.service_created and (yield self._post_service) != _OK
        if not is_failed:
            if not cluster.service_created:
                self._service_created(cluster)
            for group in cluster.groups:
                if group.expected or len(group.seen) != group.seen_desired:
                    is_failed = yield from self._scale(cluster)
                    break
        status = self._status(cluster, is_failed=is_failed)
        if status != before:
            if (yield self._put_status) != _OK:
                return FAILED
            if cluster.version != version or cluster.is_deleted:
                self._conflicted(cluster)
                return FAILED
            self._write_status(cluster, status)
            return FAILED if is_failed else _AFTER_STATUS_WRITE
        return FAILED if is_failed else self._resync

    def _scale(self, cluster: Cluster) -> Generator[Request | int, int, bool]:
        """Make and delete Pods, group by group and one by one; returns whether one could not be."""
        pods, engine, record = self.pods, self._engine, self._events.record
        for group in cluster.groups:
            # What has not been seen yet holds its group back, not the others (research: kuberay 4.5).
            if group.expected and not group.is_settled(engine.now_ns):
                if engine.observer is not None:
                    engine.observer.held_back(engine.now_ns, cluster.key)
                continue
            reason = "head" if group.is_head else "worker"
            missing = group.seen_desired - len(group.seen)
            for _ in range(missing):
                if (yield cluster.post_pod) != _OK:
                    return True
                if not cluster.is_deleted:
                    pods.create(group)
                record(cluster.key, reason)
            if missing < 0:
                for pod in group.seen[:-missing]:
                    if (yield self._delete_pod) != _OK:
                        return True
                    pods.delete(pod)
                    record(cluster.key, "deleted")
        return False

    def _status(self, cluster: Cluster, *, is_failed: bool) -> ClusterStatus:
        desired = -1
        for group in cluster.groups:
            desired += group.seen_desired
        running = cluster.seen_running
        is_ready = not is_failed and running == cluster.seen_pods == desired + 1
        # A third of the cost of ClusterStatus(...), whose constructor is written in Python.
        return tuple.__new__(ClusterStatus, (running, cluster.seen_head_running, desired, is_ready, is_failed))

    def _write_status(self, cluster: Cluster, status: ClusterStatus) -> None:
        cluster.version += 1
        cluster.status = status
        cluster.observed = cluster.seen_generation
        if status.is_ready:
            cluster.was_ready = True
            self.on_ready(cluster)
        if self._engine.observer is not None:
            self._show(cluster, "MODIFIED")
        self._watch.deliver(self._see_status, (cluster, cluster.version, status))

    def _service_created(self, cluster: Cluster) -> None:
        cluster.service_created = True
        self._watch.deliver(self._see_service, cluster)
        self._events.record(cluster.key, "service")

    def _conflicted(self, cluster: Cluster) -> None:
        self.conflicts += 1
        engine = self._engine
        if engine.observer is not None:
            engine.observer.conflicted(engine.now_ns, "RayCluster", cluster.key)

    def _show(self, cluster: Cluster, event: str) -> None:
        engine = self._engine
        if engine.observer is not None:
            engine.observer.cluster_changed(engine.now_ns, event, cluster.look())

    def _admit(self, cluster: Cluster) -> None:
        namespace = self._refused_namespace
        cluster.post_pod = self._post_pod if namespace and namespace != cluster.namespace else self._refused_pod
        self.by_key[cluster.key] = cluster

    def _change(self, cluster: Cluster, see: Callable[[tuple[Cluster, int, ClusterStatus]], None]) -> None:
        if not cluster.is_deleted:
            cluster.version += 1
            self._show(cluster, "MODIFIED")
            self._watch.deliver(see, (cluster, cluster.version, cluster.status))

    # From here on: what comes back through watches. A status change alone wakes no cluster, only its owner.

    def _see_created(self, cluster: Cluster) -> None:
        if cluster.seen or cluster.is_deleted:
            return
        cluster.seen = True
        cluster.seen_version = max(1, cluster.seen_version)
        cluster.see_spec()
        self.wake(cluster.key)
        if cluster.wake_owner is not None:
            cluster.wake_owner()

    def _see_service(self, cluster: Cluster) -> None:
        self.wake(cluster.key)

    def _see_status(self, seen: tuple[Cluster, int, ClusterStatus]) -> None:
        cluster, version, status = seen
        if version > cluster.seen_version:
            cluster.seen_version, cluster.seen_status = version, status
            if cluster.wake_owner is not None:
                cluster.wake_owner()

    def _see_touched(self, seen: tuple[Cluster, int, ClusterStatus]) -> None:
        cluster = seen[0]
        if seen[1] > cluster.seen_version:
            self._see_status(seen)
            self.wake(cluster.key)

    def _see_spec(self, seen: tuple[Cluster, int, ClusterStatus]) -> None:
        cluster = seen[0]
        if seen[1] > cluster.seen_version:
            cluster.see_spec()
        self._see_touched(seen)

    def _see_deleted(self, cluster: Cluster) -> None:
        if not cluster.seen:
            return
        cluster.seen = False
        if self.by_key.get(cluster.key) is cluster:
            del self.by_key[cluster.key]
        self.wake(cluster.key)
        if cluster.wake_owner is not None:
            cluster.wake_owner()
