"""What is known of one watched object: its metadata and status, nothing of its spec."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from advisor.queueing.objectstore import OwnerReference

__all__ = ["Observed", "Writer"]

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Writer:
    """One field manager of an object: its name, and when it last wrote (Unix seconds)."""

    manager: str
    time: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One object as it was at one version; what informers and event handlers ask for (`queueing.ObjectMeta`), and more.

    Attributes:
        kind: its kind, such as RayCluster or Pod.
        namespace: its namespace.
        name: its name.
        uid: tells it from another of the same name; "" where the source does not say.
        resource_version: grows with each write.
        generation: grows with its spec, and when its deletion is asked for; 0 for kinds that have none.
        labels: its labels.
        annotations: its annotations, each value by a digest, since values can be large and only changes matter.
        owners: its owners.
        created: Unix seconds of its creation.
        deleting_since: Unix seconds at which its deletion was asked for; None where it was not.
        writers: who wrote to it, by managedFields; Ray kinds only.
        phase: a Pod's phase.
        ready: whether a Pod is ready.
        state: a Ray kind's status text (state, jobDeploymentStatus or serviceStatus).
        desired_workers: workers that a RayCluster's status asks for.
        ready_workers: workers that its status counts as ready.
        observed_generation: the generation that its status is about.
    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    owners: tuple[OwnerReference, ...] = ()
    created: float | None = None
    deleting_since: float | None = None
    writers: tuple[Writer, ...] = ()
    phase: str | None = None
    ready: bool | None = None
    state: str | None = None
    desired_workers: int | None = None
    ready_workers: int | None = None
    observed_generation: int | None = None

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"
