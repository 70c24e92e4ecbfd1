"""What a workload waits for: arrivals that get ready, and scalings that get what they asked for."""

from advisor.twin.cluster import Cluster
from advisor.twin.workload import Workload

__all__ = ["Progress"]


class Progress:
    """How far a workload has come.

    Attributes:
        ready_seconds: from arrival to ready, in order of getting there.
        scaled_seconds: from scaling to all workers running, likewise. A scaling that another one overtakes counts once,
            with the later one.
    """

    def __init__(self, workload: Workload) -> None:
        self.ready_seconds: list[float] = []
        self.scaled_seconds: list[float] = []
        self._arriving = {(one.kind, one.key) for one in workload.arrivals}
        asked = [one.at_seconds for one in workload.arrivals] + [one.at_seconds for one in workload.scalings]
        self._first_seconds = min(asked, default=0.0)
        self._last_done_ns: int | None = None
        self._is_one_missing = False
        # When the last scaling of each cluster is asked for.
        self._scaling_ns: dict[str, int] = {}
        for one in workload.scalings:
            self._scaling_ns[one.key] = max(self._scaling_ns.get(one.key, 0), round(one.at_seconds * 1e9))

    @property
    def is_complete(self) -> bool:
        """Whether nothing is waited for any more."""
        return not self._arriving and not self._scaling_ns

    @property
    def makespan_seconds(self) -> float | None:
        """From the first arrival or scaling until all are done; None if one is not, or there was none."""
        if self._last_done_ns is None or not self.is_complete or self._is_one_missing:
            return None
        return self._last_done_ns / 1e9 - self._first_seconds

    def give_up(self, kind: str, key: str) -> None:
        """Somebody has deleted an object: it is not waited for any more."""
        if (kind, key) in self._arriving:
            self._arriving.remove((kind, key))
            self._is_one_missing = True
        if kind == "RayCluster":
            self._scaling_ns.pop(key, None)

    def ready(self, cluster: Cluster, now_ns: int) -> None:
        """A cluster's status says that it is ready, with as many workers as the operator has seen to be asked for."""
        if cluster.origin in self._arriving:
            self._arriving.remove(cluster.origin)
            self.ready_seconds.append((now_ns - cluster.since_ns) / 1e9)
            self._last_done_ns = now_ns
        if cluster.asked_ns is not None and cluster.status.desired == cluster.workers:
            self.scaled_seconds.append((now_ns - cluster.asked_ns) / 1e9)
            self._last_done_ns = now_ns
            if cluster.asked_ns >= self._scaling_ns.get(cluster.key, cluster.asked_ns + 1):
                del self._scaling_ns[cluster.key]
            cluster.asked_ns = None
