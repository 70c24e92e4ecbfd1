"""RayServices in the twin: the reconcile program of research: kuberay 4.3.

Each one is looked at every two seconds for as long as it lives, with two calls for each live cluster.
"""

from collections.abc import Generator
from typing import NamedTuple

from advisor.queueing.outcome import Outcome
from advisor.twin.client import Request, Status
from advisor.twin.cluster import Cluster
from advisor.twin.owners import Owner, Owners, OwnersWorld
from advisor.twin.workers import FAILED, GONE, Reconcile
from advisor.twin.workload import Arrival, Existing

__all__ = ["RayServices", "ServiceState"]

_AGAIN = Outcome(requeue_after_ns=2_000_000_000)


class ServiceState(NamedTuple):
    """What is written in a RayService.

    Attributes:
        has_finalizer: whether the operator has put its finalizer on it.
        is_deleting: whether somebody has asked for its end.
        is_named: whether the cluster that is to be made has a name.
        is_serving: whether its applications run.
    """

    has_finalizer: bool = False
    is_deleting: bool = False
    is_named: bool = False
    is_serving: bool = False

    @property
    def shown(self) -> str | None:
        """Nothing: a RayService has no deployment status."""
        return None


_Service = Owner[ServiceState]


class RayServices(Owners[ServiceState]):
    """All RayServices."""

    kind = "RayService"

    def __init__(self, world: OwnersWorld) -> None:
        super().__init__(world)
        self._put_pod = world.client.request("PUT", "Pod")
        # Keys of services whose head Pod carries the label that lets traffic in.
        self._labelled: dict[str, bool] = {}

    def arrive(self, arrival: Arrival) -> None:
        """Somebody creates a RayService."""
        self.create(Owner(arrival.key, arrival.workers, arrival.groups, self._engine.now_ns, ServiceState()))

    def exist(self, existing: Existing) -> None:
        """A RayService serves since long."""
        state = ServiceState(has_finalizer=True, is_named=True, is_serving=True)
        service: _Service = Owner(existing.key, existing.workers, existing.groups, 0, state)
        self._labelled[service.key] = True
        cluster = self.owned_cluster(service)
        self.clusters.add_ready(cluster)
        self.add_existing(service, cluster)

    def delete(self, key: str) -> None:
        """Somebody deletes a RayService; it stays until the operator lets it go."""
        service = self.by_key.get(key)
        if service is not None and not service.is_gone:
            self.change(service, service.state._replace(is_deleting=True))

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of a RayService."""
        service = self.by_key.get(key)
        if service is None or service.seen_state is None:
            return GONE
        state, version = service.seen_state, service.seen_version
        if state.is_deleting:
            return (yield from self._let_go(service, version))
        if not state.has_finalizer:
            wanted: ServiceState | None = state._replace(has_finalizer=True)
        elif not state.is_named:
            wanted = state._replace(is_named=True)
        else:
            wanted = yield from self._serve(service, state)
        if wanted is None or (wanted != state and not (yield from self.write(service, version, wanted))):
            return FAILED
        return _AGAIN

    def _serve(self, service: _Service, state: ServiceState) -> Generator[Request | int, int, ServiceState | None]:
        """See to cluster, head and applications; None where something failed."""
        cluster = service.seen_cluster
        if cluster is None:
            # The pass that creates the cluster goes on to its head Pod, which cannot be there yet, and fails.
            yield from self.create_cluster(service)
            return None
        if not cluster.groups[0].seen or not (yield from self._check_health(service, cluster)):
            return None
        if not cluster.seen_status.head_running:
            return state
        nanoseconds, is_answered = self.dashboard.call()
        yield nanoseconds
        if not is_answered:
            return None
        if not service.service_created and not (
            (yield from self.create_service(service)) and (yield from self.create_service(service))
        ):
            return None
        return state._replace(is_serving=True)

    def _check_health(self, service: _Service, cluster: Cluster) -> Generator[Request | int, int, bool]:
        """Ask the head whether it serves and label its Pod when that has changed; False where the label failed."""
        nanoseconds, is_answered = self.dashboard.call()
        yield nanoseconds
        is_healthy = is_answered and cluster.seen_head_running
        if self._labelled.get(service.key, False) != is_healthy:
            if (yield self._put_pod) != Status.OK:
                return False
            self._labelled[service.key] = is_healthy
            self.clusters.wake(cluster.key)
        return True

    def _let_go(self, service: _Service, version: int) -> Reconcile:
        """Delete the cluster, wait until it is gone, and take the finalizer off."""
        if service.seen_cluster is not None:
            return _AGAIN if (yield from self.delete_cluster(service)) else FAILED
        return GONE if (yield from self.release(service, version)) else FAILED
