"""The controller ``raycronjob`` in the twin (gate RayCronJob, KubeRay 1.6).

Each time that its schedule says, a RayCronJob creates a RayJob and writes that into its status; its timer is the time
to the next run (knowledge: programs). It is woken by its own events, its status writes included, and by nothing of the
RayJobs; runs that were missed while no operator was up are made up for one after another; a RayJob is named by its run,
so that none comes twice (KubeRay 1.7.0).

The plain reading is that a schedule is a period, and that a RayCronJob is there from the start and stays.
"""

from collections.abc import Sequence

from advisor.queueing.outcome import Outcome
from advisor.twin.client import Client, Status
from advisor.twin.engine import Engine
from advisor.twin.rayjobs import RayJobs
from advisor.twin.watch import Watch
from advisor.twin.workers import FAILED, GONE, Reconcile, TwinController
from advisor.twin.workload import Arrival, CronJob

__all__ = ["RayCronJobs"]

_SECOND_NS = 1_000_000_000


class _Known:
    """One RayCronJob.

    Attributes:
        spec: what it says.
        runs: RayJobs created.
        recorded: runs that its status counts.
        seen: the same, as the operator's cache has it.
    """

    __slots__ = ("recorded", "runs", "seen", "spec")

    def __init__(self, spec: CronJob) -> None:
        self.spec = spec
        self.runs = 0
        self.recorded = 0
        self.seen = 0

    def due_ns(self, number: int) -> int:
        """When a run is due."""
        return round((self.spec.from_seconds + number * self.spec.period_seconds) * _SECOND_NS)


class RayCronJobs:
    """All RayCronJobs; they are there from the start."""

    def __init__(self, engine: Engine, client: Client, watch: Watch, jobs: RayJobs, specs: Sequence[CronJob]) -> None:
        self._engine = engine
        self._watch = watch
        self._jobs = jobs
        self._by_key = {one.key: _Known(one) for one in specs}
        self._post_job = client.request("POST", "RayJob")
        self._put_status = client.request("PUT", "RayCronJob")

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        self._controller = controller

    def settle(self) -> None:
        """All wait for their first run."""
        for key, known in self._by_key.items():
            self._controller.add_after(known.due_ns(0), key)

    def list_all(self) -> list[str]:
        """A new process reads all of them as they are; returns the keys."""
        for known in self._by_key.values():
            known.seen = known.recorded
        return list(self._by_key)

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of a RayCronJob."""
        known = self._by_key[key]
        engine, number = self._engine, known.seen
        if (wait_ns := known.due_ns(number) - engine.now_ns) > 0:
            return Outcome(requeue_after_ns=wait_ns)
        if (yield self._post_job) != Status.OK:
            return FAILED
        if number < known.runs:
            if engine.observer is not None:
                engine.observer.exists_already(engine.now_ns)
        else:
            known.runs += 1
            self._jobs.arrive(self._job(known.spec, number))
        if (yield self._put_status) != Status.OK:
            return FAILED
        known.recorded = max(known.recorded, number + 1)
        self._watch.deliver(self._see, (known, number + 1))
        wait_ns = known.due_ns(number + 1) - engine.now_ns
        return Outcome(requeue_after_ns=wait_ns) if wait_ns > 0 else GONE

    def _job(self, spec: CronJob, number: int) -> Arrival:
        return Arrival(
            at_seconds=self._engine.now_ns / _SECOND_NS,
            key=f"{spec.key}-{number}",
            workers=spec.workers,
            groups=spec.groups,
            kind="RayJob",
            run_seconds=spec.run_seconds,
            makes_job=spec.makes_job,
            is_shut_down=spec.is_shut_down,
        )

    def _see(self, seen: tuple[_Known, int]) -> None:
        known, number = seen
        if number > known.seen:
            known.seen = number
            self._controller.wake(known.spec.key)
