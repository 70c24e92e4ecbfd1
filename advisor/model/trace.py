"""What was asked of the operator over time, and how fast the world around it was: the load that a twin can repeat.

Times are seconds from the start of the trace.
"""

from dataclasses import dataclass

__all__ = ["ClusterTrace", "DemandTrace", "PodTimes"]


@dataclass(frozen=True, slots=True)
class ClusterTrace:
    """One RayCluster.

    Attributes:
        key: "namespace/name".
        created_seconds: when it was created; None if it was there before.
        workers: worker Pods asked for; None if that was never seen.
        ready_seconds: when it was first ready and of the wanted size; None if it was not.
        scaled: later numbers of workers, and when each was asked for.
        settled_seconds: when it was as asked for again after each change of its spec.
        deleted_seconds: when it was gone; None if it was not.
    """

    key: str
    created_seconds: float | None
    workers: int | None
    ready_seconds: float | None
    scaled: tuple[tuple[float, int], ...] = ()
    settled_seconds: tuple[float, ...] = ()
    deleted_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class PodTimes:
    """How Pods went on, over all that were seen from their creation on.

    Attributes:
        pods: how many.
        bound_seconds_mean: from creation to bound to a node; None if never seen.
        running_seconds_mean: from bound to ready; None if never seen.
        pending_ratio: share that was never ready.
        interval_seconds: median time between two Pods in a row of one cluster; a worker makes one after another.
        interval_quantiles: that time at evenly spaced shares of all, ends left out; empty where too few were seen.
        running_quantiles: the time from bound to ready, likewise.
    """

    pods: int
    bound_seconds_mean: float | None
    running_seconds_mean: float | None
    pending_ratio: float
    interval_seconds: float | None
    interval_quantiles: tuple[float, ...] = ()
    running_quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class DemandTrace:
    """The load of one stretch of time.

    Attributes:
        start: when it began, in Unix seconds.
        seconds: its length.
        clusters: in order of creation, those that existed first.
        pods: how their Pods went on.
        jobs: RayJobs created, with the time.
        services: RayServices created, with the time.
    """

    start: float
    seconds: float
    clusters: tuple[ClusterTrace, ...]
    pods: PodTimes
    jobs: tuple[tuple[float, str], ...] = ()
    services: tuple[tuple[float, str], ...] = ()

    @property
    def arrivals(self) -> tuple[ClusterTrace, ...]:
        """Clusters created in it."""
        return tuple(one for one in self.clusters if one.created_seconds is not None)

    @property
    def last_ready_seconds(self) -> float | None:
        """When everything created or scaled was as asked for; None if nothing was, or one of them was not."""
        asked = sum(1 + len(one.scaled) for one in self.arrivals)
        asked += sum(len(one.scaled) for one in self.clusters if one.created_seconds is None)
        ready = [one.ready_seconds for one in self.arrivals if one.ready_seconds is not None]
        settled = [time for one in self.clusters for time in one.settled_seconds[-len(one.scaled) :] if one.scaled]
        times = [*ready, *settled]
        return max(times) if times and len(times) >= asked else None
