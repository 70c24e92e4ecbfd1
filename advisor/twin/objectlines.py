"""Changes of objects as JSON lines, with the fields of a recording (docs/recording-format.md)."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.twin.loglines import Stamps
from advisor.twin.names import object_uid, suffix
from advisor.twin.observer import ClusterLook, PodLook

__all__ = ["KnownCluster", "KnownOwner", "ObjectLines"]

_GROUP = "g0"
# What is told of an object before and after these, by watches that lag, is not about one that exists.
_FIRST_EVENTS = ("ADDED", "EXISTING")


@dataclass(slots=True)
class KnownCluster:
    """A RayCluster that exists.

    Attributes:
        look: as it is now.
        uid: its uid.
        created_ns: when it was created; negative where it was there before.
        ready_after_ns: from its creation to its first being ready; None while it has not been, or was before.
    """

    look: ClusterLook
    uid: str
    created_ns: int
    ready_after_ns: int | None = None


@dataclass(slots=True)
class KnownOwner:
    """A RayJob or RayService that exists."""

    kind: str
    uid: str
    created_ns: int
    state: str | None = None


@dataclass(slots=True)
class _KnownPod:
    name: str
    created_ns: int


@dataclass(slots=True)
class ObjectLines:
    """Writes a line for each change, and knows what exists.

    Attributes:
        lines: those written and not yet taken away, each without its end.
        clusters: RayClusters by key.
        owners: RayJobs and RayServices by kind and key.
        pods: how many there are.
        is_kept: whether lines are written at all.
    """

    stamps: Stamps
    is_kept: bool = True
    lines: list[str] = field(default_factory=list)
    clusters: dict[str, KnownCluster] = field(default_factory=dict)
    owners: dict[tuple[str, str], KnownOwner] = field(default_factory=dict)
    _pods: dict[object, _KnownPod] = field(default_factory=dict)
    _pods_of: Counter[str] = field(default_factory=Counter)
    _version: int = 1000
    _objects: int = 0

    @property
    def pods(self) -> int:
        """How many Pods exist."""
        return len(self._pods)

    def has_pods(self, key: str) -> bool:
        """Whether a RayCluster has a Pod."""
        return self._pods_of[key] > 0

    def pod_name(self, pod: object) -> str:
        """The name of a Pod that exists."""
        return self._pods[pod].name

    def cluster_changed(self, now_ns: int, event: str, look: ClusterLook) -> None:
        """Write down a change of a RayCluster."""
        known = self.clusters.get(look.key)
        if known is None:
            if event not in _FIRST_EVENTS:
                return
            born_ns = now_ns if event == "ADDED" else -1
            known = self.clusters[look.key] = KnownCluster(look, self._uid(), born_ns)
        if look.was_ready and known.ready_after_ns is None and known.created_ns >= 0:
            known.ready_after_ns = now_ns - known.created_ns
        known.look = look
        if event == "DELETED":
            del self.clusters[look.key]
        fields = {
            "state": "ready" if look.was_ready else None,
            "desired": look.desired,
            "ready_workers": look.ready_workers or None,
            "generation": look.generation,
            "observed": look.observed,
        }
        self._write(now_ns, event, "RayCluster", look.key, fields, known.created_ns)

    def pod_changed(self, now_ns: int, event: str, look: PodLook) -> None:
        """Write down a change of a Pod."""
        namespace, _, cluster = look.cluster.rpartition("/")
        known = self._pods.get(look.pod)
        if known is None:
            if event not in _FIRST_EVENTS:
                return
            self._objects += 1
            role = "head" if look.is_head else f"{_GROUP}-worker"
            known = self._pods[look.pod] = _KnownPod(f"{cluster}-{role}-{suffix(self._objects)}", now_ns)
            self._pods_of[look.cluster] += 1
        if event == "DELETED":
            del self._pods[look.pod]
            self._pods_of[look.cluster] -= 1
        fields = {
            "phase": "Running" if look.is_running else "Pending",
            "ready": look.is_running,
            "cluster": cluster,
            "node_type": "head" if look.is_head else "worker",
        }
        self._write(now_ns, event, "Pod", f"{namespace}/{known.name}", fields, known.created_ns)

    def owner_changed(self, now_ns: int, event: str, kind: str, key: str, state: str | None) -> None:
        """Write down a change of a RayJob or RayService."""
        known = self.owners.get((kind, key))
        if known is None:
            if event not in _FIRST_EVENTS:
                return
            known = self.owners[kind, key] = KnownOwner(kind, self._uid(), now_ns)
        known.state = state
        if event == "DELETED":
            del self.owners[kind, key]
        self._write(now_ns, event, kind, key, {"state": state}, known.created_ns)

    def _uid(self) -> str:
        self._objects += 1
        return object_uid(self._objects)

    def _write(
        self, now_ns: int, event: str, kind: str, key: str, fields: Mapping[str, object], created_ns: int
    ) -> None:
        self._version += 1
        if not self.is_kept:
            return
        namespace, _, name = key.rpartition("/")
        line = {
            "t": self.stamps.unix_seconds(now_ns),
            "event": event,
            "kind": kind,
            "namespace": namespace,
            "name": name,
            "rv": str(self._version),
            **fields,
            "created": self.stamps.second_text(max(0, created_ns)),
        }
        self.lines.append(json.dumps(line, separators=(",", ":"), ensure_ascii=False))
