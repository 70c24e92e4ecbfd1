"""RayClusters that further controllers are keyed by: these are told of events, and may hold creation of Pods back."""

from collections.abc import Callable, Generator

from advisor.twin.client import Request
from advisor.twin.cluster import Cluster, ClusterStatus
from advisor.twin.rayclusters import RayClusters

__all__ = ["WatchedRayClusters"]

_Seen = tuple[Cluster, int, ClusterStatus]


def _nobody(_key: str) -> None:
    return


class WatchedRayClusters(RayClusters):
    """RayClusters as such, with more that depends on them; only runs with feature gates pay for it.

    Attributes:
        on_generation: called with the key when the operator sees a cluster created, its spec changed, or it gone.
        on_any: called at these and at any other change that it sees, of the status as well.
        unready: why no Pod of a cluster may be created yet; "" where nothing is against it.
    """

    on_generation: Callable[[str], None] = staticmethod(_nobody)
    on_any: Callable[[str], None] = staticmethod(_nobody)
    unready: Callable[[Cluster], str] = staticmethod(lambda _: "")

    def write_metadata(self, cluster: Cluster) -> None:
        """The operator has written what is neither spec nor label nor annotation, such as a finalizer."""
        self._change(cluster, self._see_status)

    def _scale(self, cluster: Cluster) -> Generator[Request | int, int, bool]:
        if any(len(group.seen) < group.seen_desired for group in cluster.groups):
            error = self.unready(cluster)
            if error:
                engine = self._engine
                if engine.observer is not None:
                    engine.observer.fails(engine.now_ns, "raycluster", cluster.key, error)
                return True
        return (yield from super()._scale(cluster))

    def _see_created(self, cluster: Cluster) -> None:
        was_seen = cluster.seen
        super()._see_created(cluster)
        if cluster.seen and not was_seen:
            self._tell(cluster)

    def _see_deleted(self, cluster: Cluster) -> None:
        was_seen = cluster.seen
        super()._see_deleted(cluster)
        if was_seen:
            self._tell(cluster)

    def _see_spec(self, seen: _Seen) -> None:
        cluster = seen[0]
        generation = cluster.seen_generation
        super()._see_spec(seen)
        if cluster.seen_generation != generation:
            self.on_generation(cluster.key)

    def _see_status(self, seen: _Seen) -> None:
        cluster = seen[0]
        version = cluster.seen_version
        super()._see_status(seen)
        if cluster.seen_version != version:
            self.on_any(cluster.key)

    def _tell(self, cluster: Cluster) -> None:
        self.on_generation(cluster.key)
        self.on_any(cluster.key)
