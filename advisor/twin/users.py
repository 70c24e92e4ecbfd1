"""Everybody but the operator: who creates, scales, deletes and labels objects, in virtual time."""

from collections.abc import Callable

from advisor.twin.cluster import Cluster
from advisor.twin.engine import Engine
from advisor.twin.rayclusters import RayClusters
from advisor.twin.rayjobs import RayJobs
from advisor.twin.rayservices import RayServices
from advisor.twin.workload import Arrival, Deletion, Existing, Scaling, Workload, Writer
from advisor.twin.world import ServiceLine

__all__ = ["Users"]

_SECOND_NS = 1_000_000_000


class Users:
    """Carries a workload out. What concerns an object that is not there is left alone, as the API server would.

    An arrival is there at its time: the time that its own write takes is not in the run. Other writes stand in the API
    server's line.

    Args:
        engine: virtual time.
        line: the API server's.
        write_ns: time of one write in it.
        clusters: the RayClusters.
        jobs: the RayJobs.
        services: the RayServices.

    Attributes:
        on_deleted: called with kind and key of what somebody deletes.
    """

    def __init__(
        self,
        engine: Engine,
        line: ServiceLine,
        write_ns: int,
        clusters: RayClusters,
        jobs: RayJobs,
        services: RayServices,
    ) -> None:
        self.on_deleted: Callable[[str, str], None] = lambda _kind, _key: None
        self._engine = engine
        self._line = line
        self._write_ns = write_ns
        self._clusters = clusters
        self._jobs = jobs
        self._services = services

    def start(self, workload: Workload) -> None:
        """Plan all that is to come; existing objects are there at once."""
        for existing in workload.existing:
            self._exist(existing)
        for arrival in workload.arrivals:
            self._at(arrival.at_seconds, self._arrive, arrival)
        for scaling in workload.scalings:
            self._at(scaling.at_seconds, self._scale, scaling)
        for deletion in workload.deletions:
            self._at(deletion.at_seconds, self._delete, deletion)
        for writer in workload.writers:
            self._write(writer, 0)

    def _at(self, seconds: float, callback: Callable[..., None], argument: object) -> None:
        self._engine.at(round(seconds * _SECOND_NS), callback, argument)

    def _exist(self, existing: Existing) -> None:
        if existing.kind == "RayJob":
            self._jobs.exist(existing)
        elif existing.kind == "RayService":
            self._services.exist(existing)
        else:
            self._clusters.add_ready(_cluster(existing, 0))

    def _arrive(self, arrival: Arrival) -> None:
        if arrival.kind == "RayJob":
            self._jobs.arrive(arrival)
        elif arrival.kind == "RayService":
            self._services.arrive(arrival)
        else:
            self._clusters.create(_cluster(arrival, self._engine.now_ns))

    def _delete(self, deletion: Deletion) -> None:
        self._after_line(self._delete_now, deletion)

    def _delete_now(self, deletion: Deletion) -> None:
        self.on_deleted(deletion.kind, deletion.key)
        if deletion.kind == "RayJob":
            self._jobs.delete(deletion.key)
        elif deletion.kind == "RayService":
            self._services.delete(deletion.key)
        elif (cluster := self._clusters.by_key.get(deletion.key)) is not None:
            self._clusters.delete(cluster)

    def _scale(self, scaling: Scaling) -> None:
        cluster = self._clusters.by_key.get(scaling.key)
        if cluster is not None and not cluster.is_deleted:
            cluster.asked_ns = self._engine.now_ns
            self._after_line(self._scale_now, (cluster, scaling.workers))

    def _scale_now(self, asked: tuple[Cluster, int]) -> None:
        self._clusters.scale(*asked)

    def _write(self, writer: Writer, number: int) -> None:
        seconds = writer.from_seconds + number / writer.writes_per_second
        if seconds < writer.to_seconds and writer.keys:
            self._at(seconds, self._write_next, (writer, number))

    def _write_next(self, turn: tuple[Writer, int]) -> None:
        writer, number = turn
        cluster = self._clusters.by_key.get(writer.keys[number % len(writer.keys)])
        if cluster is not None:
            self._after_line(self._clusters.touch, cluster)
        self._write(writer, number + 1)

    def _after_line(self, callback: Callable[..., None], argument: object) -> None:
        engine = self._engine
        engine.at(self._line.finish_ns(engine.now_ns, self._write_ns), callback, argument)


def _cluster(asked: Arrival | Existing, now_ns: int) -> Cluster:
    return Cluster(asked.key, asked.workers, asked.groups, now_ns, (asked.kind, asked.key))
