"""One RayCluster in the twin: as it is, and as the operator's cache has it."""

from typing import TYPE_CHECKING, NamedTuple

from advisor.twin.client import Request
from advisor.twin.observer import ClusterLook
from advisor.twin.pods import Group, PodsOf

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NO_STATUS", "Cluster", "ClusterStatus"]


class ClusterStatus(NamedTuple):
    """What the operator writes down; it is written again only when it differs.

    Attributes:
        running: Pods that run.
        head_running: whether the head is one of them.
        desired: workers asked for; negative before the first write.
        is_ready: all Pods that should be there run.
        is_failed: the last reconcile could not make or delete a Pod.
    """

    running: int
    head_running: bool
    desired: int
    is_ready: bool
    is_failed: bool


NO_STATUS = ClusterStatus(running=0, head_running=False, desired=-1, is_ready=False, is_failed=False)


class Cluster(PodsOf):
    """One RayCluster: as it is, and as the operator's cache has it (`seen_*`).

    Attributes:
        since_ns: when somebody asked for it, or for what owns it.
        origin: kind and key of what they asked for.
        groups: all groups, the head's first.
        asked_ns: when it was last scaled, as long as it has not got there.
        wake_owner: called when what the operator sees of it changes.
        post_pod: the request that creates a Pod of it.
        version: grows with each write.
        generation: grows with each change of the spec.
        status: last one written.
        observed: the generation that it is about.
        was_ready: whether it has been ready once.
    """

    __slots__ = (
        "asked_ns",
        "generation",
        "groups",
        "is_deleted",
        "observed",
        "origin",
        "post_pod",
        "seen",
        "seen_generation",
        "seen_status",
        "seen_version",
        "service_created",
        "since_ns",
        "status",
        "version",
        "wake_owner",
        "was_ready",
    )

    post_pod: Request

    def __init__(self, key: str, workers: int, groups: int, since_ns: int, origin: tuple[str, str]) -> None:
        super().__init__(key)
        self.since_ns = since_ns
        self.origin = origin
        self.groups = (Group(self, 1, is_head=True), *(Group(self, 0) for _ in range(groups)))
        self.spread(workers)
        self.asked_ns: int | None = None
        self.wake_owner: Callable[[], None] | None = None
        self.is_deleted = False
        self.service_created = False
        self.version = 1
        self.generation = 1
        self.observed: int | None = None
        self.was_ready = False
        self.status = NO_STATUS
        self.seen = False
        self.seen_version = 0
        self.seen_generation = 0
        self.seen_status = NO_STATUS

    @property
    def namespace(self) -> str:
        """Where it is."""
        return self.key.partition("/")[0]

    @property
    def workers(self) -> int:
        """Worker Pods asked for."""
        return sum(group.desired for group in self.groups) - 1

    def spread(self, workers: int) -> None:
        """Ask for so many workers, spread evenly over the groups."""
        groups = self.groups[1:]
        for place, group in enumerate(groups):
            group.desired = workers // len(groups) + (place < workers % len(groups))

    def see_spec(self) -> None:
        """The operator sees what is asked for."""
        self.seen_generation = self.generation
        for group in self.groups:
            group.seen_desired = group.desired

    def look(self) -> ClusterLook:
        """The cluster as an onlooker sees it."""
        status = self.status
        kind = self.origin[0]
        return ClusterLook(
            key=self.key,
            generation=self.generation,
            observed=self.observed,
            desired=None if self.observed is None else status.desired,
            ready_workers=status.running - status.head_running,
            was_ready=self.was_ready,
            owner_kind="None" if kind == "RayCluster" else kind,
        )
