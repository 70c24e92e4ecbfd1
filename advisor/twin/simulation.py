"""One run: an operator, a world and a load put together, and driven as far as wanted."""

from dataclasses import replace

from advisor.knowledge.programs import FIXED_WORKERS
from advisor.twin.client import Client, Random
from advisor.twin.cluster import Cluster
from advisor.twin.dashboard import Dashboard
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.gated import Gated, Surroundings, gated_controllers
from advisor.twin.lease import Lease, Standby
from advisor.twin.measure import controller_result, request_results
from advisor.twin.operatorprocess import Controlled, OperatorProcess
from advisor.twin.owners import OwnersWorld
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.pods import Pods
from advisor.twin.progress import Progress
from advisor.twin.rayclusters import RayClusters
from advisor.twin.rayjobs import RayJobs
from advisor.twin.rayservices import RayServices
from advisor.twin.result import DepthSample, RunResult
from advisor.twin.users import Users
from advisor.twin.watch import Watch
from advisor.twin.watchedclusters import WatchedRayClusters
from advisor.twin.workers import TwinController, Workshop
from advisor.twin.workload import Existing, Restart, Workload
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["Simulation", "simulate"]

_SECOND_NS = 1_000_000_000
_LABELS = {"RayCluster": "raycluster", "RayJob": "rayjob", "RayService": "rayservice"}
# After how many seconds an object at rest is looked at again (research: kuberay 4.4); that of a RayCluster can be set.
_POLL_SECONDS = {"RayJob": 3.0, "RayService": 2.0}


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
        workload: what happens; `workloadcheck.check` says whether it can.
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
        settings: of the operator's process that runs, or is started next.
        engine: virtual time.
        line: the API server's work.
        cpu: the operator's CPU.
        client: of the operator.
        clusters: the RayClusters.
        jobs: the RayJobs.
        services: the RayServices.
        operator: its processes.
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
        self.client = client = Client(engine, self.line, self.cpu, world, random)
        watch = Watch(engine, self.line, self.cpu, world, random)
        events = EventRecorder(engine, client, as_series=settings.events_as_series)
        pods = Pods(engine, self.line, watch, world, random)
        dashboard = Dashboard(engine, world, random)
        clusters = WatchedRayClusters if settings.gates else RayClusters
        self.clusters = clusters(client, watch, pods, events, world.faults, settings.resync_seconds)
        self.clusters.on_ready = self._cluster_ready
        owners = OwnersWorld(engine, client, watch, self.clusters, events, dashboard)
        self.jobs = RayJobs(owners)
        self.services = RayServices(owners)
        self._gated: dict[str, Gated] = {}
        if isinstance(self.clusters, WatchedRayClusters):
            around = Surroundings(engine, self.line, client, watch, self.clusters, self.jobs, events, world)
            self._gated = gated_controllers(settings.gates, around, workload.cron_jobs)
        read_ns = None if world.read_seconds is None else round(world.read_seconds * _SECOND_NS)
        shop = Workshop(engine, client, self.cpu, settings, round(world.reconcile_seconds * _SECOND_NS), read_ns)
        self.operator = OperatorProcess(shop, events, self._controlled())
        self._progress = Progress(workload)
        self._depth_samples: list[DepthSample] = []
        self._sample_ns = round((sample_seconds or 0.0) * _SECOND_NS)
        self._end_ns = round(workload.duration_seconds * _SECOND_NS) if workload.duration_seconds is not None else None
        self._users: Users | None = None
        self._is_over = False

    @property
    def controllers(self) -> dict[str, TwinController]:
        """Controllers of the process that runs, or ran last, by label."""
        return self.operator.controllers

    @property
    def lease(self) -> Lease:
        """The leader's lease."""
        return self.operator.lease

    @property
    def end_ns(self) -> int | None:
        """When the run ends; None as long as that depends on what is still to come."""
        return self._end_ns

    @property
    def is_complete(self) -> bool:
        """Whether every arrival has got ready, and every scaling has got what it asked for."""
        return self._progress.is_complete

    def advance(self, to_seconds: float | None) -> None:
        """Go on to a time, or to the end of the workload, which is not gone beyond."""
        if self._is_over:
            return
        if self._users is None:
            self._start()
        until = self.workload.limit_seconds if to_seconds is None else to_seconds
        until_ns = round(until * _SECOND_NS)
        self.engine.run(until_ns if self._end_ns is None else min(until_ns, self._end_ns))

    def plan(self, more: Workload) -> None:
        """Let more happen in a run that has begun.

        Args:
            more: arrivals, scalings, deletions, writers, restarts and slowdowns, none of them in the past. Kinds of
                objects have their controllers from the start, and the end of the run stays what it is.
        """
        assert self._users is not None  # noqa: S101 - there are users once it has begun
        self._users.start(replace(more, existing=()))
        self._plan_outages(more)

    def result(self) -> RunResult:
        """What the run has come to so far."""
        now_ns = self.engine.now_ns
        progress, pods, operator = self._progress, self.clusters.pods, self.operator
        processes = {
            name: [*operator.ended[name], *([one] if operator.is_up else [])] or [one]
            for name, one in operator.controllers.items()
        }
        return RunResult(
            settings=self.settings,
            run_seconds=now_ns / 1e9,
            makespan_seconds=progress.makespan_seconds,
            ready_seconds=tuple(progress.ready_seconds),
            controllers=tuple(controller_result(name, their, now_ns) for name, their in processes.items()),
            requests=request_results(self.client),
            server_requests=self.line.served,
            pod_running_seconds_mean=pods.starting_ns / pods.started / 1e9 if pods.started else None,
            conflicts=self.clusters.conflicts + self.jobs.conflicts + self.services.conflicts,
            cpu_seconds=self.cpu.used_ns / 1e9,
            cpu_throttled_seconds=self.cpu.throttled_ns / 1e9,
            depth_samples=tuple(self._depth_samples),
            events=self.engine.events,
            scaled_seconds=tuple(progress.scaled_seconds),
        )

    def _controlled(self) -> dict[str, Controlled]:
        """A controller for RayClusters, for the other kinds where the workload has some, and what gates turn on."""
        kinds = {one.kind for one in self.workload.existing} | {one.kind for one in self.workload.arrivals}
        controlled = {"raycluster": _controlled(self.clusters)}
        if "RayJob" in kinds or ("raycronjob" in self._gated and self.workload.cron_jobs):
            controlled["rayjob"] = _controlled(self.jobs)
        if "RayService" in kinds:
            controlled["rayservice"] = _controlled(self.services)
        for name, one in self._gated.items():
            controlled[name] = _controlled(one, FIXED_WORKERS.get(name))
        return controlled

    def _start(self) -> None:
        work_ns = round(self.world.server_work_seconds * _SECOND_NS)
        self.operator.start(is_first=True)
        self._users = users = Users(self.engine, self.line, work_ns, self.clusters, self.jobs, self.services)
        users.on_deleted = self._deleted
        users.start(self.workload)
        for one in self._gated.values():
            one.settle()
        for kind in _LABELS:
            self._spread_timers(kind, [one for one in self.workload.existing if one.kind == kind])
        self._plan_outages(self.workload)
        for _ in range(self.settings.replicas - 1):
            Standby(self.engine, self.line, work_ns).start()
        if self._sample_ns:
            self.engine.at(0, self._sample)

    def _plan_outages(self, workload: Workload) -> None:
        for restart in workload.restarts:
            self.engine.at(round(restart.at_seconds * _SECOND_NS), self._stop_operator, restart)
        for slow in workload.slowdowns:
            self.engine.at(round(slow.from_seconds * _SECOND_NS), self.client.stretch, slow.factor)
            self.engine.at(round(slow.to_seconds * _SECOND_NS), self.client.stretch, 1.0)

    def _spread_timers(self, kind: str, existing: list[Existing]) -> None:
        """Objects at rest wait for their timers, evenly spread; so do the clusters of RayJobs and RayServices."""
        seconds = _POLL_SECONDS.get(kind, self.settings.resync_seconds)
        for place, one in enumerate(existing):
            phase = (place + 0.5) / len(existing)
            self.controllers[_LABELS[kind]].add_after(round(phase * seconds * _SECOND_NS), one.key)
            if kind in _POLL_SECONDS:
                cluster = (self.jobs if kind == "RayJob" else self.services).owned_by(one.key)
                if cluster is not None:
                    delay_ns = round(phase * self.settings.resync_seconds * _SECOND_NS)
                    self.controllers["raycluster"].add_after(delay_ns, cluster.key)

    def _stop_operator(self, restart: Restart) -> None:
        if self.operator.is_up:
            self.operator.stop()
            if restart.settings is not None:
                self._set_up(restart.settings)
            self.engine.at(self.engine.now_ns + round(restart.down_seconds * _SECOND_NS), self._start_operator)

    def _set_up(self, asked: OperatorSettings) -> None:
        self.settings = replace(self.settings, concurrency=asked.concurrency, qps=asked.qps, burst=asked.burst)
        self.operator.set_up(self.settings)

    def _start_operator(self, _: object) -> None:
        self.operator.start()

    def _cluster_ready(self, cluster: Cluster) -> None:
        was_complete = self._progress.is_complete
        self._progress.ready(cluster, self.engine.now_ns)
        self._plan_end(was_complete=was_complete)

    def _deleted(self, kind: str, key: str) -> None:
        was_complete = self._progress.is_complete
        self._progress.give_up(kind, key)
        self._plan_end(was_complete=was_complete)

    def _plan_end(self, *, was_complete: bool) -> None:
        """The run ends some time after nothing is waited for any more."""
        if self._end_ns is None and self._progress.is_complete and not was_complete:
            self._end_ns = self.engine.now_ns + round(self.workload.tail_seconds * _SECOND_NS)
            self.engine.at(self._end_ns, self._stop)

    def _stop(self, _: object) -> None:
        self._is_over = True
        self.engine.stop()

    def _sample(self, _: object) -> None:
        now_ns = self.engine.now_ns
        for name, controller in self.controllers.items():
            is_up = self.operator.is_up
            depth = {str(label): depth for label, depth in controller.queue.metrics.depth.items()} if is_up else {}
            active = controller.loop.metrics.active_workers
            self._depth_samples.append(DepthSample(now_ns / _SECOND_NS, name, depth, active))
        self.engine.at(now_ns + self._sample_ns, self._sample)


def _controlled(objects: RayClusters | RayJobs | RayServices | Gated, workers: int | None = None) -> Controlled:
    return Controlled(objects.reconcile, objects.connect, objects.list_all, workers)
