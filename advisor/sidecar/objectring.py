"""The last changes of watched objects, for an advisor that asks: as a recording has them (formats, section 3)."""

import threading
from collections import deque

from advisor.model.raw import ObjectChange
from advisor.queueing.informer import Change, ChangeType
from advisor.sidecar.observed import Observed

__all__ = ["ObjectRing", "as_object_change"]

_RAY_KINDS = frozenset({"RayCluster", "RayJob", "RayService"})
_POD = "Pod"
_CLUSTER_LABEL = "ray.io/cluster"
_NODE_TYPE_LABEL = "ray.io/node-type"


class ObjectRing:
    """Keeps the last changes; safe to use from several threads.

    Args:
        most: changes kept at most.
    """

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._kept: deque[tuple[float, Change[Observed]]] = deque(maxlen=most)
        self._lock = threading.Lock()

    def resize(self, share: float) -> None:
        """Hold that share of the usual number from now on."""
        with self._lock:
            self._kept = deque(self._kept, maxlen=max(1, round(self._most * share)))

    def add(self, time: float, change: Change[Observed]) -> None:
        """Take one in, with the Unix seconds at which it was seen; kinds that tell an advisor nothing are left out."""
        one = change.new or change.old
        if one is not None and (one.kind in _RAY_KINDS or one.kind == _POD):
            with self._lock:
                self._kept.append((time, change))

    def changes(self) -> list[ObjectChange]:
        """What is kept, in the order in which it was seen."""
        with self._lock:
            kept = list(self._kept)
        return [found for time, change in kept if (found := as_object_change(time, change)) is not None]


def as_object_change(time: float, change: Change[Observed]) -> ObjectChange | None:
    """A change of a cache as a line of a recording; None where there is no object in it."""
    one = change.new or change.old
    if one is None:
        return None
    is_pod = one.kind == _POD
    return ObjectChange(
        t=round(time, 3),
        event=_event(change),
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        state=one.state,
        desired=one.desired_workers,
        ready_workers=one.ready_workers,
        generation=one.generation or None,
        observed=one.observed_generation,
        phase=one.phase,
        ready=one.ready,
        cluster=one.labels.get(_CLUSTER_LABEL) if is_pod else None,
        node_type=one.labels.get(_NODE_TYPE_LABEL) if is_pod else None,
    )


def _event(change: Change[Observed]) -> str:
    match change.type:
        case ChangeType.CREATE:
            return "EXISTING" if change.is_initial_list else "ADDED"
        case ChangeType.DELETE:
            return "DELETED"
        case _:
            return "MODIFIED"
