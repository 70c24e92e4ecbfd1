"""What an onlooker of a run is told: reconciles, requests, and changes of objects, as they happen in virtual time.

An onlooker changes nothing, and a run without one pays for nothing but the question whether there is one.
"""

from typing import NamedTuple, Protocol

from advisor.queueing.controller import Work
from advisor.queueing.outcome import Outcome

__all__ = ["ClusterLook", "Observer", "PodLook"]


class ClusterLook(NamedTuple):
    """A RayCluster as the API server has it.

    Attributes:
        key: "namespace/name".
        generation: counts changes of the spec.
        observed: the generation that the status is about; None before the first status.
        desired: workers asked for, as the status says; None before the first status.
        ready_workers: running ones, as the status says.
        was_ready: whether it has been ready once.
        owner_kind: RayJob or RayService; "None" where somebody made it, as KubeRay writes it.
    """

    key: str
    generation: int
    observed: int | None
    desired: int | None
    ready_workers: int
    was_ready: bool
    owner_kind: str = "None"


class PodLook(NamedTuple):
    """A Pod as the API server has it.

    Attributes:
        pod: what tells it from all others.
        cluster: key of its RayCluster.
        is_head: whether it is the head.
        is_running: whether it runs and is ready.
    """

    pod: object
    cluster: str
    is_head: bool
    is_running: bool


class Observer(Protocol):
    """Somebody who looks on. All times are nanoseconds since the start of the run."""

    def began(self, now_ns: int, controller: str, work: Work) -> None:
        """A worker begins a reconcile."""
        ...

    def ended(self, now_ns: int, controller: str, work: Work, outcome: Outcome) -> None:
        """A reconcile is over."""
        ...

    def sent(self, now_ns: int, controller: str, work: Work, request: tuple[str, str]) -> None:
        """A reconcile sends a request, given by verb and kind."""
        ...

    def answered(self, now_ns: int, controller: str, work: Work, request: tuple[str, str], status: int) -> None:
        """A reconcile has the answer to its request."""
        ...

    def asked(self, now_ns: int, call: object) -> None:
        """The client takes a request, of a reconcile or of anybody else, to its bucket; a repeated one once more."""
        ...

    def passed(self, now_ns: int, call: object, verb: str, *, is_limited: bool) -> None:
        """A request leaves for the API server."""
        ...

    def replied(self, now_ns: int, call: object, verb: str, status: int, *, is_final: bool) -> None:
        """The API server has answered a request; the client tries again unless it is final."""
        ...

    def conflicted(self, now_ns: int, kind: str, key: str, controller: str | None = None) -> None:
        """The write of an object that has just been answered was refused, because the object had changed.

        The controller is that of the kind unless another one is named.
        """
        ...

    def exists_already(self, now_ns: int) -> None:
        """The POST that has just been answered was refused, because there is such an object."""
        ...

    def fails(self, now_ns: int, controller: str, key: str, error: str) -> None:
        """The reconcile of a key is going to fail although all its requests were answered well."""
        ...

    def held_back(self, now_ns: int, key: str) -> None:
        """A reconcile leaves a worker group as it is, until what was created before is seen."""
        ...

    def cluster_changed(self, now_ns: int, event: str, cluster: ClusterLook) -> None:
        """A RayCluster is EXISTING at the start, ADDED, MODIFIED or DELETED."""
        ...

    def pod_changed(self, now_ns: int, event: str, pod: PodLook) -> None:
        """A Pod is EXISTING at the start, ADDED, MODIFIED or DELETED."""
        ...

    def owner_changed(self, now_ns: int, event: str, kind: str, key: str, state: str | None) -> None:
        """A RayJob or RayService is EXISTING at the start, ADDED, MODIFIED or DELETED."""
        ...

    def restarted(self, now_ns: int) -> None:
        """Another process of the operator has taken over; all it counts begins at zero."""
        ...
