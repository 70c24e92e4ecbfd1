"""What RayJobs and RayServices have in common: an object with versions that owns RayClusters."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from advisor.twin.client import Client, Request, Status
from advisor.twin.cluster import Cluster
from advisor.twin.dashboard import Dashboard
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.rayclusters import RayClusters
from advisor.twin.watch import Watch
from advisor.twin.workers import TwinController

__all__ = ["OWNED_SUFFIX", "Owner", "Owners", "OwnersWorld", "Shown"]


class Shown(Protocol):
    """What a state has in common."""

    @property
    def shown(self) -> str | None:
        """What an onlooker sees of it; None for nothing."""
        ...


_T = TypeVar("_T", bound=Shown)

# What the name of an owned RayCluster adds to its owner's.
OWNED_SUFFIX = "-raycluster"


class Owner(Generic[_T]):
    """One RayJob or RayService.

    Attributes:
        key: its key.
        state: all of it that the operator writes or reads, as it is.
        seen_state: the same as the operator's cache has it; None before it is there and after it has gone.
        version: grows with each write.
        cluster: its RayCluster, once that has been created.
        service_created: whether its Service has been.
    """

    __slots__ = (
        "cluster",
        "created_ns",
        "groups",
        "is_gone",
        "key",
        "seen_state",
        "seen_version",
        "service_created",
        "state",
        "version",
        "workers",
    )

    def __init__(self, key: str, workers: int, groups: int, created_ns: int, state: _T) -> None:
        self.key = key
        self.workers = workers
        self.groups = groups
        self.created_ns = created_ns
        self.state = state
        self.version = 1
        self.seen_state: _T | None = None
        self.seen_version = 0
        self.is_gone = False
        self.cluster: Cluster | None = None
        self.service_created = False

    @property
    def seen_cluster(self) -> Cluster | None:
        """Its RayCluster, if the operator's cache has it."""
        return self.cluster if self.cluster is not None and self.cluster.seen else None


@dataclass(frozen=True, slots=True)
class OwnersWorld:
    """What objects that own RayClusters stand in.

    Attributes:
        engine: virtual time.
        client: where requests go.
        watch: how changes come back.
        clusters: where the owned clusters are.
        events: where reports go.
        dashboard: of the clusters.
    """

    engine: Engine
    client: Client
    watch: Watch
    clusters: RayClusters
    events: EventRecorder
    dashboard: Dashboard


class Owners(Generic[_T]):
    """All objects of one such kind."""

    kind = ""
    # Whether a change of anything but spec, labels and annotations wakes the key (research: kuberay 4.2, 4.3).
    wakes_on_status = False

    def __init__(self, world: OwnersWorld) -> None:
        self.by_key: dict[str, Owner[_T]] = {}
        self.clusters = world.clusters
        self.events = world.events
        self.dashboard = world.dashboard
        self.conflicts = 0
        self._engine = world.engine
        self._watch = world.watch
        client = world.client
        self._put = client.request("PUT", self.kind)
        self._post_cluster = client.request("POST", "RayCluster")
        self._delete_cluster = client.request("DELETE", "RayCluster")
        self._post_service = client.request("POST", "Service")

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        self._controller = controller

    def create(self, owner: Owner[_T]) -> None:
        """Somebody creates an object."""
        self.by_key[owner.key] = owner
        self._show(owner, "ADDED")
        self._watch.deliver(self._see_created, owner)

    def add_existing(self, owner: Owner[_T], cluster: Cluster) -> None:
        """An object that has been there for long, with a cluster that has, too."""
        self.by_key[owner.key] = owner
        owner.seen_state, owner.seen_version = owner.state, owner.version
        owner.service_created = True
        self._show(owner, "EXISTING")
        self._adopt(owner, cluster)

    def owned_cluster(self, owner: Owner[_T]) -> Cluster:
        """The cluster that an object brings."""
        key = f"{owner.key}{OWNED_SUFFIX}"
        return Cluster(key, owner.workers, owner.groups, owner.created_ns, (self.kind, owner.key))

    def owned_by(self, key: str) -> Cluster | None:
        """The RayCluster of an object."""
        return self.by_key[key].cluster

    def list_all(self) -> list[str]:
        """A new process reads all objects as they are; returns the keys in order of creation."""
        for owner in self.by_key.values():
            owner.seen_state, owner.seen_version = (None if owner.is_gone else owner.state), owner.version
        return [key for key, owner in self.by_key.items() if not owner.is_gone]

    def change(self, owner: Owner[_T], state: _T) -> None:
        """Somebody else than the operator writes an object."""
        owner.version += 1
        owner.state = state
        self._show(owner, "MODIFIED")
        self._watch.deliver(self._see_changed, (owner, owner.version, state))

    def write(self, owner: Owner[_T], read_version: int, state: _T) -> Generator[Request | int, int, bool]:
        """The operator writes what it has made of the version that it read; False where that is not the last one."""
        if (yield self._put) != Status.OK:
            return False
        if owner.version != read_version or owner.is_gone:
            self.conflicts += 1
            engine = self._engine
            if engine.observer is not None:
                engine.observer.conflicted(engine.now_ns, self.kind, owner.key)
            return False
        owner.version += 1
        owner.state = state
        self._show(owner, "MODIFIED")
        see = self._see_changed if self.wakes_on_status else self._see_silently
        self._watch.deliver(see, (owner, owner.version, state))
        return True

    def create_cluster(self, owner: Owner[_T]) -> Generator[Request | int, int, bool]:
        """The operator creates the RayCluster; False where it fails, also because there is one not seen yet."""
        former = owner.cluster
        if (yield self._post_cluster) != Status.OK or (former is not None and not former.is_deleted):
            return False
        cluster = self.owned_cluster(owner)
        self._adopt(owner, cluster)
        self.clusters.create(cluster)
        self.events.record(owner.key, "cluster")
        return True

    def delete_cluster(self, owner: Owner[_T]) -> Generator[Request | int, int, bool]:
        """The operator deletes the RayCluster."""
        if (yield self._delete_cluster) != Status.OK:
            return False
        if owner.cluster is not None:
            self.clusters.delete(owner.cluster)
        return True

    def create_service(self, owner: Owner[_T]) -> Generator[Request | int, int, bool]:
        """The operator creates the Service."""
        if (yield self._post_service) != Status.OK:
            return False
        owner.service_created = True
        self._watch.deliver(self.wake, owner)
        return True

    def release(self, owner: Owner[_T], read_version: int) -> Generator[Request | int, int, bool]:
        """The operator takes its finalizer off an object that is being deleted, which ends it."""
        if not (yield from self.write(owner, read_version, owner.state)):
            return False
        owner.is_gone = True
        self._show(owner, "DELETED")
        self._watch.deliver(self._see_gone, owner)
        if owner.cluster is not None:
            self.clusters.delete(owner.cluster)
        return True

    def wake(self, owner: Owner[_T]) -> None:
        """Something that belongs to an object has changed."""
        self._controller.wake(owner.key)

    def _show(self, owner: Owner[_T], event: str) -> None:
        engine = self._engine
        if engine.observer is not None:
            engine.observer.owner_changed(engine.now_ns, event, self.kind, owner.key, owner.state.shown)

    def _adopt(self, owner: Owner[_T], cluster: Cluster) -> None:
        owner.cluster = cluster
        cluster.wake_owner = partial(self.wake, owner)

    def _see_created(self, owner: Owner[_T]) -> None:
        if owner.seen_state is None and not owner.is_gone:
            owner.seen_state, owner.seen_version = owner.state, owner.version
            self.wake(owner)

    def _see_silently(self, seen: tuple[Owner[_T], int, _T]) -> None:
        owner, version, state = seen
        if version > owner.seen_version and owner.seen_state is not None:
            owner.seen_version, owner.seen_state = version, state

    def _see_changed(self, seen: tuple[Owner[_T], int, _T]) -> None:
        owner, version, _ = seen
        if version > owner.seen_version:
            self._see_silently(seen)
            self.wake(owner)

    def _see_gone(self, owner: Owner[_T]) -> None:
        if owner.seen_state is not None:
            owner.seen_state = None
            self.wake(owner)
