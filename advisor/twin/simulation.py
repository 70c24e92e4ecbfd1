"""One run: an operator, a world and a load put together, and driven as far as wanted."""

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.tokenbucket import ClientBuckets
from advisor.queueing.types import WorkQueue
from advisor.twin.client import Client, Random
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.lease import Lease
from advisor.twin.measure import measure
from advisor.twin.parameters import OperatorSettings, QueueKind, WorldParameters
from advisor.twin.rayclusters import Cluster, RayClusters
from advisor.twin.result import DepthSample, RunResult
from advisor.twin.workers import Program, TwinController
from advisor.twin.workload import Workload
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["Simulation", "simulate"]

_SECOND_NS = 1_000_000_000


def simulate(
    workload: Workload,
    settings: OperatorSettings,
    world: WorldParameters,
    random: Random,
    *,
    sample_seconds: float | None = None,
) -> RunResult:
    """Run a workload to its end. The same arguments and random numbers give the same result, bit for bit.

    Args:
        workload: what happens.
        settings: of the operator.
        world: times around it.
        random: uniform numbers.
        sample_seconds: take the depth at this pace; None for never.
    """
    simulation = Simulation(workload, settings, world, random, sample_seconds=sample_seconds)
    simulation.advance(None)
    return simulation.result()


class Simulation:
    """A run in progress.

    Attributes:
        engine: virtual time.
        client: of the operator.
        controllers: by label.
        clusters: the RayClusters.
        line: the API server's work.
        cpu: the operator's CPU.
    """

    def __init__(
        self,
        workload: Workload,
        settings: OperatorSettings,
        world: WorldParameters,
        random: Random,
        *,
        sample_seconds: float | None = None,
    ) -> None:
        self.workload = workload
        self.settings = settings
        self.world = world
        self.engine = engine = Engine()
        self.line = ServiceLine()
        self.cpu = CpuQuota(settings.cpu_limit_cores)
        buckets = ClientBuckets(settings.qps, settings.burst)
        self.client = Client(engine, self.line, self.cpu, world, buckets, random)
        self.lease = Lease(engine, self.client)
        events = EventRecorder(self.client, as_series=settings.events_as_series)
        self.clusters = RayClusters(engine, self.line, self.client, world, events, self._cluster_ready)
        self.clusters.controller = self._controller("raycluster", self.clusters.reconcile)
        self.controllers = {"raycluster": self.clusters.controller}
        self.ready_seconds: list[float] = []
        self.last_ready_ns: int | None = None
        self.depth_samples: list[DepthSample] = []
        self._waited_for = {arrival.key for arrival in workload.arrivals}
        self._sample_ns = round((sample_seconds or 0.0) * _SECOND_NS)
        self._end_ns = round(workload.duration_seconds * _SECOND_NS) if workload.duration_seconds is not None else None
        self._is_started = False

    def advance(self, to_seconds: float | None) -> None:
        """Go on to a time, or to the end of the workload."""
        if not self._is_started:
            self._start()
        until = self.workload.limit_seconds if to_seconds is None else to_seconds
        until_ns = round(until * _SECOND_NS)
        self.engine.run(until_ns if self._end_ns is None else min(until_ns, self._end_ns))

    def result(self) -> RunResult:
        """What the run has come to so far."""
        return measure(self)

    @property
    def first_arrival_ns(self) -> int:
        """When the first arrival is created; 0 where none is."""
        return round(min((one.at_seconds for one in self.workload.arrivals), default=0.0) * _SECOND_NS)

    @property
    def is_complete(self) -> bool:
        """Whether every arrival has got ready."""
        return not self._waited_for

    def _controller(self, name: str, program: Program) -> TwinController:
        queue: WorkQueue = PriorityQueue() if self.settings.queue is QueueKind.PRIORITY else ClassicQueue()
        return TwinController(
            name,
            self.engine,
            queue,
            self.settings.concurrency,
            self.client,
            self.cpu,
            program,
            round(self.world.reconcile_seconds * _SECOND_NS),
        )

    def _start(self) -> None:
        self._is_started = True
        engine = self.engine
        for arrival in self.workload.arrivals:
            at_ns = round(arrival.at_seconds * _SECOND_NS)
            engine.at(at_ns, self.clusters.create, Cluster(arrival.key, arrival.workers, at_ns))
        for controller in self.controllers.values():
            controller.start()
        self.lease.start()
        if self._sample_ns:
            engine.at(0, self._sample)

    def _cluster_ready(self, cluster: Cluster) -> None:
        if cluster.key not in self._waited_for:
            return
        self._waited_for.remove(cluster.key)
        now_ns = self.engine.now_ns
        self.ready_seconds.append((now_ns - cluster.created_ns) / _SECOND_NS)
        self.last_ready_ns = now_ns
        if not self._waited_for and self._end_ns is None:
            self._end_ns = now_ns + round(self.workload.tail_seconds * _SECOND_NS)
            self.engine.at(self._end_ns, self._stop)

    def _stop(self, _: object) -> None:
        self.engine.stop()

    def _sample(self, _: object) -> None:
        now_ns = self.engine.now_ns
        for name, controller in self.controllers.items():
            depth = {str(label): depth for label, depth in controller.queue.metrics.depth.items()}
            active = controller.loop.metrics.active_workers
            self.depth_samples.append(DepthSample(now_ns / _SECOND_NS, name, depth, active))
        self.engine.at(now_ns + self._sample_ns, self._sample)
