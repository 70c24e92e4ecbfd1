"""Objects over time: when each RayCluster was asked for and ready, when Pods were made and became ready."""

from dataclasses import dataclass, field

from advisor.model.raw import ObjectChange
from advisor.model.signal import Window

__all__ = ["ClusterHistory", "ObjectTimeline"]


@dataclass(slots=True)
class ClusterHistory:
    """One RayCluster: the times at which it was not what was asked for, and its Pods."""

    created: float | None = None
    first_ready: float | None = None
    unready_since: float | None = None
    unready: list[tuple[float, float]] = field(default_factory=list)
    deleted: float | None = None
    desired: int | None = None


@dataclass(slots=True)
class _PodHistory:
    cluster: str
    namespace: str
    node_type: str | None
    created: float | None
    seen: float
    ready_at: float | None = None
    deleted: float | None = None

    def pending_until(self, end: float) -> float:
        """When it stopped being a Pod that is not ready: ready or gone, else ``end``."""
        return next((time for time in (self.ready_at, self.deleted) if time is not None), end)


class ObjectTimeline:
    """Feed it changes with :meth:`add`, then ask for windows."""

    def __init__(self) -> None:
        self._clusters: dict[tuple[str, str], ClusterHistory] = {}
        self._every_cluster: list[tuple[tuple[str, str], ClusterHistory]] = []
        self._pods: dict[tuple[str, str], _PodHistory] = {}
        self._every_pod: list[_PodHistory] = []
        self._others: dict[str, set[tuple[str, str]]] = {}
        self._last = 0.0
        self.changes = 0

    def add(self, change: ObjectChange) -> None:
        """Take in one change; changes come in the order of time."""
        self.changes += 1
        self._last = max(self._last, change.t)
        name = (change.namespace, change.name)
        if change.kind == "RayCluster":
            self._add_cluster(name, change)
        elif change.kind == "Pod":
            self._add_pod(name, change)
        elif change.event == "DELETED":
            self._others.setdefault(change.kind, set()).discard(name)
        else:
            self._others.setdefault(change.kind, set()).add(name)

    def _add_cluster(self, name: tuple[str, str], change: ObjectChange) -> None:
        cluster = self._clusters.get(name)
        if cluster is None or (change.event == "ADDED" and cluster.deleted is not None):
            cluster = self._clusters[name] = ClusterHistory()
            self._every_cluster.append((name, cluster))
        if change.event == "ADDED":
            cluster.created = change.t
        if change.event == "DELETED":
            cluster.deleted = change.t
            self._close(cluster, change.t)
            return
        cluster.desired = change.desired if change.desired is not None else cluster.desired
        if _as_asked_for(change):
            self._close(cluster, change.t)
            if cluster.first_ready is None:
                cluster.first_ready = change.t
        elif cluster.unready_since is None:
            cluster.unready_since = change.t

    @staticmethod
    def _close(cluster: ClusterHistory, time: float) -> None:
        if cluster.unready_since is not None:
            cluster.unready.append((cluster.unready_since, time))
            cluster.unready_since = None

    def _add_pod(self, name: tuple[str, str], change: ObjectChange) -> None:
        pod = self._pods.get(name)
        if pod is None or (change.event == "ADDED" and pod.deleted is not None):
            created = change.t if change.event == "ADDED" else None
            pod = self._pods[name] = _PodHistory(
                change.cluster or "", change.namespace, change.node_type, created, change.t
            )
            self._every_pod.append(pod)
        if change.ready and pod.ready_at is None:
            pod.ready_at = change.t
        if change.event == "DELETED":
            pod.deleted = change.t

    def count(self, kind: str) -> int:
        """How many objects of a kind exist at the end."""
        if kind == "RayCluster":
            return sum(1 for one in self._clusters.values() if one.deleted is None)
        if kind == "Pod":
            return sum(1 for one in self._pods.values() if one.deleted is None)
        return len(self._others.get(kind, ()))

    def kinds(self) -> tuple[str, ...]:
        """Kinds that were seen."""
        found = set(self._others)
        if self._clusters:
            found.add("RayCluster")
        if self._pods:
            found.add("Pod")
        return tuple(sorted(found))

    def created(self, window: Window) -> int:
        """RayClusters created in the window."""
        return sum(1 for _, one in self._every_cluster if one.created is not None and one.created in window)

    def ready_seconds(self, window: Window) -> list[float]:
        """Seconds from creation to ready, of each RayCluster that became ready for the first time in the window."""
        return sorted(
            one.first_ready - one.created
            for _, one in self._every_cluster
            if one.created is not None and one.first_ready is not None and one.first_ready in window
        )

    def unready_spans(self, window: Window) -> list[tuple[tuple[str, str], float, float]]:
        """Name, start and end of each stretch in the window for which a RayCluster was not as asked for."""
        spans = []
        for name, cluster in self._every_cluster:
            open_span = () if cluster.unready_since is None else ((cluster.unready_since, window.end),)
            for start, end in (*cluster.unready, *open_span):
                if window.overlap(start, end) > 0.0:
                    spans.append((name, max(start, window.start), min(end, window.end)))
        return spans

    def unready_peak(self, window: Window) -> int:
        """The largest number of RayClusters that were not ready at the same time."""
        edges = sorted(edge for _, start, end in self.unready_spans(window) for edge in ((start, 1), (end, -1)))
        now = peak = 0
        for _, step in edges:
            now += step
            peak = max(peak, now)
        return peak

    def pods_created(self, window: Window) -> dict[tuple[str, str], list[float]]:
        """Creation times in the window of the Pods of each RayCluster, by namespace and cluster."""
        result: dict[tuple[str, str], list[float]] = {}
        for pod in self._every_pod:
            if pod.created is not None and pod.created in window:
                result.setdefault((pod.namespace, pod.cluster), []).append(pod.created)
        return result

    def pending_pod_seconds(self, window: Window) -> float:
        """Seconds in the window for which Pods existed and were not ready, summed over Pods."""
        return sum(window.overlap(pod.seen, pod.pending_until(window.end)) for pod in self._every_pod)

    def waiting_for_pods(self, window: Window) -> dict[tuple[str, str], float]:
        """Seconds for which an unready RayCluster had a Pod that was not ready, by cluster.

        While a Pod is pending the cluster waits for the scheduler, an image or a node, not for the operator.
        """
        pending: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for pod in self._every_pod:
            end = pod.pending_until(window.end)
            if window.overlap(pod.seen, end) > 0.0:
                pending.setdefault((pod.namespace, pod.cluster), []).append((pod.seen, end))
        waiting: dict[tuple[str, str], float] = {}
        for name, start, end in self.unready_spans(window):
            inside = Window(start, end)
            covered = _covered(inside, pending.get(name, []))
            if covered > 0.0:
                waiting[name] = waiting.get(name, 0.0) + covered
        return waiting


def _as_asked_for(change: ObjectChange) -> bool:
    """Whether the status says ready and of the wanted size, or suspended, about the newest spec."""
    settled = change.state == "ready" and (change.ready_workers or 0) >= (change.desired or 0)
    current = change.observed is None or change.generation is None or change.observed >= change.generation
    return current and (settled or change.state == "suspended")


def _covered(window: Window, spans: list[tuple[float, float]]) -> float:
    """Seconds of the window that at least one span covers."""
    total, reached = 0.0, window.start
    for start, end in sorted(spans):
        low, high = max(start, reached), min(end, window.end)
        if high > low:
            total += high - low
            reached = high
    return total
