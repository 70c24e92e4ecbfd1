"""From object changes to a load that can be repeated: who was created when, of which size, and how Pods went on."""

from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, median, quantiles

from advisor.model.raw import ObjectChange
from advisor.model.signal import Window
from advisor.model.trace import ClusterTrace, DemandTrace, PodTimes

__all__ = ["TraceBuilder"]

# A longer pause between two Pods of a cluster is not one worker going from one request to the next.
_LONGEST_INTERVAL_SECONDS = 30.0
_QUANTILES = 16


@dataclass(slots=True)
class _Cluster:
    created: float | None
    seen: float
    first_workers: int | None = None
    workers: int | None = None
    ready: float | None = None
    deleted: float | None = None
    scaled: list[tuple[float, int]] = field(default_factory=list)
    settled: list[float] = field(default_factory=list)
    generation: int | None = None
    spec_changed: float | None = None


@dataclass(slots=True)
class _Pod:
    cluster: tuple[str, str]
    created: float | None
    seen: float
    bound: float | None = None
    ready: float | None = None


class TraceBuilder:
    """Feed it changes in order of time with :meth:`add`, then ask for windows."""

    def __init__(self) -> None:
        self._clusters: dict[tuple[str, str], _Cluster] = {}
        self._gone: list[tuple[tuple[str, str], _Cluster]] = []
        self._pods: dict[tuple[str, str], _Pod] = {}
        self._others: dict[str, list[tuple[float, str]]] = {"RayJob": [], "RayService": []}

    def add(self, change: ObjectChange) -> None:
        """Take in one change."""
        name = (change.namespace, change.name)
        if change.kind == "RayCluster":
            self._add_cluster(name, change)
        elif change.kind == "Pod":
            self._add_pod(name, change)
        elif change.event == "ADDED" and change.kind in self._others:
            self._others[change.kind].append((change.t, "/".join(name)))

    def trace(self, window: Window) -> DemandTrace:
        """The load of one window; what was there before counts as existing."""
        clusters = [
            _traced(name, one, window)
            for name, one in (*self._gone, *self._clusters.items())
            if one.seen <= window.end and (one.deleted is None or one.deleted >= window.start)
        ]
        clusters.sort(key=lambda one: (-1.0 if one.created_seconds is None else one.created_seconds, one.key))
        jobs, services = (
            tuple((time - window.start, key) for time, key in self._others[kind] if time in window)
            for kind in ("RayJob", "RayService")
        )
        return DemandTrace(
            start=window.start,
            seconds=window.seconds,
            clusters=tuple(clusters),
            pods=self._pod_times(window),
            jobs=jobs,
            services=services,
        )

    def first_demand(self, window: Window) -> float | None:
        """Unix time at which an object was first created or scaled in a window; None where none was."""
        clusters = [
            time
            for one in (*(gone for _, gone in self._gone), *self._clusters.values())
            for time in (one.created, *(asked for asked, _ in one.scaled))
            if time is not None
        ]
        others = [time for group in self._others.values() for time, _ in group]
        return min((time for time in (*clusters, *others) if time in window), default=None)

    def _add_cluster(self, name: tuple[str, str], change: ObjectChange) -> None:
        cluster = self._clusters.get(name)
        if cluster is None or change.event == "ADDED":
            if cluster is not None:
                self._gone.append((name, cluster))
            created = change.t if change.event == "ADDED" else None
            cluster = self._clusters[name] = _Cluster(created=created, seen=change.t)
        if change.event == "DELETED":
            cluster.deleted = change.t
            self._gone.append((name, self._clusters.pop(name)))
            return
        if change.generation is not None and cluster.generation not in (None, change.generation):
            cluster.spec_changed = change.t
        cluster.generation = change.generation
        if change.desired is not None and change.desired != cluster.workers:
            if cluster.workers is None:
                cluster.first_workers = change.desired
            else:
                # The status tells the new size only after the operator has acted on it.
                cluster.scaled.append((cluster.spec_changed or change.t, change.desired))
            cluster.workers = change.desired
        is_whole = change.state == "ready" and (change.ready_workers or 0) >= (change.desired or 0)
        is_current = (change.observed or 0) >= (change.generation or 0)
        if is_whole and is_current and cluster.spec_changed is not None:
            cluster.settled.append(change.t)
            cluster.spec_changed = None
        if is_whole and cluster.ready is None:
            cluster.ready = change.t

    def _add_pod(self, name: tuple[str, str], change: ObjectChange) -> None:
        pod = self._pods.get(name)
        if pod is None or change.event == "ADDED":
            created = change.t if change.event == "ADDED" else None
            cluster = (change.namespace, change.cluster or "")
            pod = self._pods[name] = _Pod(cluster=cluster, created=created, seen=change.t)
        elif change.event == "MODIFIED" and pod.bound is None:
            pod.bound = change.t
        if change.ready and pod.ready is None:
            pod.ready = change.t

    def _pod_times(self, window: Window) -> PodTimes:
        pods = [pod for pod in self._pods.values() if pod.created is not None and pod.created in window]
        bound = [pod.bound - pod.created for pod in pods if pod.bound is not None and pod.created is not None]
        running = [pod.ready - pod.bound for pod in pods if pod.ready is not None and pod.bound is not None]
        by_cluster: dict[tuple[str, str], list[float]] = {}
        for pod in pods:
            by_cluster.setdefault(pod.cluster, []).append(pod.created or 0.0)
        intervals = [
            later - earlier
            for times in map(sorted, by_cluster.values())
            for earlier, later in pairwise(times)
            if later - earlier <= _LONGEST_INTERVAL_SECONDS
        ]
        return PodTimes(
            pods=len(pods),
            bound_seconds_mean=fmean(bound) if bound else None,
            running_seconds_mean=fmean(running) if running else None,
            pending_ratio=sum(pod.ready is None for pod in pods) / len(pods) if pods else 0.0,
            interval_seconds=median(intervals) if intervals else None,
            interval_quantiles=_quantiles(intervals),
            running_quantiles=_quantiles(running),
        )


def _quantiles(values: list[float]) -> tuple[float, ...]:
    """Values at evenly spaced shares, without the largest and smallest, which chance makes too large or too small."""
    if len(values) < 2 * _QUANTILES:
        return ()
    return tuple(quantiles(values, n=_QUANTILES + 1, method="inclusive"))


def _traced(name: tuple[str, str], cluster: _Cluster, window: Window) -> ClusterTrace:
    created = cluster.created if cluster.created is not None and cluster.created >= window.start else None
    return ClusterTrace(
        key="/".join(name),
        created_seconds=None if created is None else created - window.start,
        workers=cluster.first_workers,
        ready_seconds=_since(cluster.ready, window),
        scaled=tuple((time - window.start, workers) for time, workers in cluster.scaled if time in window),
        settled_seconds=tuple(time - window.start for time in cluster.settled if time in window),
        deleted_seconds=_since(cluster.deleted, window),
    )


def _since(time: float | None, window: Window) -> float | None:
    return time - window.start if time is not None and time in window else None
