"""The controller ``networkpolicy`` in the twin (gate RayClusterNetworkPolicy, KubeRay 1.7).

It is keyed by RayCluster and creates first: of what exists already it learns by 409 on POST, which is no error
(research: kuberay 2.3). There is one policy for the head and one for the workers (knowledge: programs). It is woken by
RayClusters that come, change their spec or go, and by the policies that it owns, and has no timer (KubeRay 1.7.0).

The plain reading is that every RayCluster asks for isolation. What a policy says does not hinge on the number of
workers, which is all of a spec that changes in a run: so the PUT that follows a difference is never needed.
"""

from advisor.twin.client import Client, Status
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.watch import Watch
from advisor.twin.watchedclusters import WatchedRayClusters
from advisor.twin.workers import FAILED, GONE, Reconcile, TwinController

__all__ = ["NetworkPolicies"]

_ROLES = ("head", "workers")


class NetworkPolicies:
    """All NetworkPolicies that the operator makes.

    Attributes:
        existing: of which cluster and role there are some.
    """

    def __init__(
        self, engine: Engine, client: Client, watch: Watch, clusters: WatchedRayClusters, events: EventRecorder
    ) -> None:
        self.existing: set[tuple[str, str]] = set()
        self._engine = engine
        self._watch = watch
        self._clusters = clusters
        self._events = events
        self._post = client.request("POST", "NetworkPolicy")

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        self._controller = controller
        self._clusters.on_generation = controller.wake

    def settle(self) -> None:
        """What stands at the start of a run has its policies since long."""
        self.existing.update((key, role) for key in self._clusters.by_key for role in _ROLES)

    def list_all(self) -> list[str]:
        """The keys of all clusters that are there."""
        return [key for key, cluster in self._clusters.by_key.items() if not cluster.is_deleted]

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of the policies of a cluster."""
        cluster = self._clusters.by_key.get(key)
        if cluster is None or not cluster.seen:
            self._collect(key)
            return GONE
        for role in _ROLES:
            if (yield self._post) != Status.OK:
                return FAILED
            if (key, role) in self.existing:
                if self._engine.observer is not None:
                    self._engine.observer.exists_already(self._engine.now_ns)
            else:
                self.existing.add((key, role))
                self._events.record(key, f"policy-{role}")
                self._watch.deliver(self._see, key)
        return GONE

    def _collect(self, key: str) -> None:
        """The policies go with their cluster."""
        self.existing.difference_update((key, role) for role in _ROLES)

    def _see(self, key: str) -> None:
        self._controller.wake(key)
