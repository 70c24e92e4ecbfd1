"""The controllers that feature gates turn on: made only where they are, so that other runs are without them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from advisor.twin.client import Client
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.mtls import Certificates
from advisor.twin.networkpolicies import NetworkPolicies
from advisor.twin.parameters import WorldParameters
from advisor.twin.raycronjobs import RayCronJobs
from advisor.twin.rayjobs import RayJobs
from advisor.twin.watch import Watch
from advisor.twin.watchedclusters import WatchedRayClusters
from advisor.twin.workers import Reconcile, TwinController
from advisor.twin.workload import CronJob
from advisor.twin.world import ServiceLine

__all__ = ["Gated", "Surroundings", "gated_controllers"]


class Gated(Protocol):
    """What such a controller is for."""

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        ...

    def settle(self) -> None:
        """What stands at the start of a run is at rest."""
        ...

    def list_all(self) -> Iterable[str]:
        """A new process reads all objects as they are and names their keys."""
        ...

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What such controllers work with."""

    engine: Engine
    line: ServiceLine
    client: Client
    watch: Watch
    clusters: WatchedRayClusters
    jobs: RayJobs
    events: EventRecorder
    world: WorldParameters


def gated_controllers(gates: frozenset[str], around: Surroundings, cron_jobs: tuple[CronJob, ...]) -> dict[str, Gated]:
    """Those that are on, by label."""
    engine, client, watch, clusters = around.engine, around.client, around.watch, around.clusters
    found: dict[str, Gated] = {}
    if "raycronjob" in gates:
        found["raycronjob"] = RayCronJobs(engine, client, watch, around.jobs, cron_jobs)
    if "networkpolicy" in gates:
        found["networkpolicy"] = NetworkPolicies(engine, client, watch, clusters, around.events)
    if "raycluster-mtls" in gates:
        found["raycluster-mtls"] = Certificates(
            engine, client, watch, around.line, clusters, around.events, around.world
        )
    return found
