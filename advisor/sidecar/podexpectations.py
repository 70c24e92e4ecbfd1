"""RayClusters whose Pods KubeRay waits for in vain (research: kuberay 4.5).

KubeRay touches no group of a RayCluster while a Pod that it created is not in its cache, or a Pod that it deleted still
is. It says so at info level, does not try again before the next event or resync, and no metric tells.
"""

import enum
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field

from advisor.sidecar.observed import Observed
from advisor.sidecar.views import Reconcile

__all__ = ["BlockReason", "BlockedKey", "PodExpectations"]

_CLUSTER = "RayCluster"
_CLUSTER_CONTROLLER = "raycluster"
_CLUSTER_LABEL, _GROUP_LABEL, _TYPE_LABEL = "ray.io/cluster", "ray.io/group", "ray.io/node-type"
# Its label names a head's group otherwise than the log.
_HEAD = "head"
# A Pod is seen about when its line is written, but the line may be read later.
_SKEW_SECONDS = 5.0
_READ_LATE_SECONDS = 120.0


class BlockReason(enum.StrEnum):
    """What is waited for; where several hold, the first.

    Attributes:
        STUCK_TERMINATING: a Pod that is being deleted does not go.
        CREATE_NOT_SEEN: a Pod that the log tells of has not appeared.
        NOT_SATISFIED: the log says that a group is skipped, of a cause that is not known.
    """

    STUCK_TERMINATING = "stuck_terminating"
    CREATE_NOT_SEEN = "create_not_seen"
    NOT_SATISFIED = "not_satisfied"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedKey:
    """A RayCluster whose Pods are waited for in vain.

    Attributes:
        controller: label of its controller.
        key: ``namespace/name``.
        reason: what is waited for.
        since: Unix seconds since when.
        pods: how many Pods are waited for; 0 where the log does not say.
    """

    controller: str
    key: str
    reason: BlockReason
    since: float
    pods: int


@dataclass(slots=True)
class _Creates:
    """Creations that the log tells of and the watch does not, and the other way round: time and number of Pods."""

    unseen: list[tuple[float, int]] = field(default_factory=list)
    untold: list[tuple[float, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Skipped:
    """A group that is skipped, by the log: since when, and when it was last."""

    since: float
    last: float


class PodExpectations:
    """Follows the Pods of every RayCluster.

    Args:
        terminating_seconds: a Pod that takes longer to go is stuck.
        create_seconds: a created Pod that is not seen for longer is missing, and a group that is skipped for longer is
            blocked.
        forget_seconds: what there is no news of for longer is forgotten.
        max_entries: at most so many Pods, keys and groups each.

    Attributes:
        untracked: how many found no place.
    """

    __slots__ = (
        "_clusters",
        "_create_seconds",
        "_creates",
        "_forget_seconds",
        "_has_clusters",
        "_has_log",
        "_has_pods",
        "_max_entries",
        "_skipped",
        "_terminating",
        "_terminating_seconds",
        "_watching_since",
        "untracked",
    )

    def __init__(
        self, *, terminating_seconds: float, create_seconds: float, forget_seconds: float, max_entries: int
    ) -> None:
        self._terminating_seconds = terminating_seconds
        self._create_seconds = create_seconds
        self._forget_seconds = forget_seconds
        self._max_entries = max_entries
        # By key; whether it is being deleted.
        self._clusters: dict[str, bool] = {}
        self._terminating: dict[tuple[str, str], float] = {}
        self._creates: dict[str, _Creates] = {}
        self._skipped: dict[tuple[str, str], _Skipped] = {}
        self._has_clusters = False
        self._has_log = False
        self._has_pods = False
        # Since when Pods are seen as they come; None while they are not.
        self._watching_since: float | None = None
        self.untracked = 0

    @property
    def known_reasons(self) -> tuple[BlockReason, ...]:
        """Those that can be told at all, by what has been seen: RayClusters and Pods, the log, or both."""
        is_watched = self._has_pods and self._has_clusters
        watched = (BlockReason.STUCK_TERMINATING, BlockReason.CREATE_NOT_SEEN) if is_watched else ()
        return (*watched, BlockReason.NOT_SATISFIED) if self._has_log else watched[:1]

    def cluster(self, key: str, new: Observed | None) -> None:
        """Take in a RayCluster; None once it is gone."""
        self._has_clusters = True
        if new is not None:
            if key in self._clusters or self._has_room(self._clusters):
                self._clusters[key] = new.deleting_since is not None
            return
        self._clusters.pop(key, None)
        self._creates.pop(key, None)
        for identity in [each for each in self._skipped if each[0] == key]:
            del self._skipped[identity]

    def pod(self, now: float, old: Observed | None, new: Observed | None, *, is_initial: bool = False) -> None:
        """Take in a change of a Pod; one of the initial list was there before."""
        self._has_pods = True
        if self._watching_since is None:
            self._watching_since = now
        one = new or old
        key = None if one is None else _cluster_of(one)
        if one is None or key is None:
            return
        identity = (key, one.name)
        if new is None or new.deleting_since is None:
            self._terminating.pop(identity, None)
        elif identity not in self._terminating and self._has_room(self._terminating):
            # A deletion timestamp has the grace period in it, so it may be ahead.
            self._terminating[identity] = min(now, new.deleting_since)
        if old is None and not is_initial and (one.created is None or now - one.created <= self._create_seconds):
            self._seen(now, key)
        if old is None or new is None:
            # Something that was waited for has come or gone.
            group = _HEAD if one.labels.get(_TYPE_LABEL) == _HEAD else one.labels.get(_GROUP_LABEL, "")
            self._skipped.pop((key, group), None)

    def created(self, now: float, key: str, count: int) -> None:
        """Take in that the log tells of so many Pods created at `now`; nothing where Pods were not watched then."""
        if self._watching_since is None or now < self._watching_since:
            return
        if key not in self._creates and not self._has_room(self._creates):
            return
        creates = self._creates.setdefault(key, _Creates())
        while creates.untold and creates.untold[0][0] < now - _SKEW_SECONDS:
            creates.untold.pop(0)
        left = _take(creates.untold, count)
        if left:
            creates.unseen.append((now, left))
        self._drop_settled(key, creates)

    def unsatisfied(self, now: float, key: str, group: str) -> None:
        """Take in that the log says that a group is skipped."""
        self._has_log = True
        identity = (key, group)
        skipped = self._skipped.get(identity)
        if skipped is not None:
            skipped.last = max(skipped.last, now)
        elif self._has_room(self._skipped):
            self._skipped[identity] = _Skipped(now, now)

    def reconciled(self, reconcile: Reconcile) -> None:
        """Take in a reconcile that has ended: a group that it did not skip is blocked no more."""
        if reconcile.controller != _CLUSTER_CONTROLLER:
            return
        self._has_log = True
        if reconcile.failed or not self._skipped:
            return
        key, began = reconcile.key, reconcile.began
        for identity in [each for each, one in self._skipped.items() if each[0] == key and one.last < began]:
            del self._skipped[identity]

    def forget_creates(self) -> None:
        """Wait for no created Pod any more, nor for those of lines until Pods are seen again."""
        self._creates.clear()
        self._watching_since = None

    def blocked(self, now: float) -> list[BlockedKey]:
        """Each blocked key once, longest first; those that are being deleted need no Pods and are not in it."""
        found: dict[str, BlockedKey] = {}
        for one in (*self._stuck(now), *self._missing(now), *self._unmet(now)):
            # Where objects are watched, a RayCluster that is not known is gone.
            if not self._clusters.get(one.key, self._has_pods or self._has_clusters):
                found.setdefault(one.key, one)
        return sorted(found.values(), key=lambda one: (one.since, one.key))

    def _stuck(self, now: float) -> Iterator[BlockedKey]:
        by_key: dict[str, list[float]] = {}
        for (key, _), since in self._terminating.items():
            if now - since > self._terminating_seconds:
                by_key.setdefault(key, []).append(since)
        for key, times in by_key.items():
            yield _blocked(key, BlockReason.STUCK_TERMINATING, min(times), len(times))

    def _missing(self, now: float) -> Iterator[BlockedKey]:
        for key, creates in list(self._creates.items()):
            self._prune(now, creates)
            self._drop_settled(key, creates)
            late = [(time, count) for time, count in creates.unseen if now - time > self._create_seconds]
            if late:
                yield _blocked(key, BlockReason.CREATE_NOT_SEEN, late[0][0], sum(count for _, count in late))

    def _unmet(self, now: float) -> Iterator[BlockedKey]:
        oldest: dict[str, float] = {}
        for identity, skipped in list(self._skipped.items()):
            if now - skipped.last > self._forget_seconds:
                del self._skipped[identity]
            elif now - skipped.since > self._create_seconds:
                oldest[identity[0]] = min(skipped.since, oldest.get(identity[0], skipped.since))
        for key, since in oldest.items():
            yield _blocked(key, BlockReason.NOT_SATISFIED, since, 0)

    def _seen(self, now: float, key: str) -> None:
        if key not in self._creates and not self._has_room(self._creates):
            return
        creates = self._creates.setdefault(key, _Creates())
        self._prune(now, creates)
        if _take(creates.unseen, 1):
            # The log's line comes later.
            if creates.untold and creates.untold[-1][0] > now - 1.0:
                time, count = creates.untold[-1]
                creates.untold[-1] = (time, count + 1)
            else:
                creates.untold.append((now, 1))
        self._drop_settled(key, creates)

    def _prune(self, now: float, creates: _Creates) -> None:
        while creates.unseen and now - creates.unseen[0][0] > self._forget_seconds:
            creates.unseen.pop(0)
        while creates.untold and now - creates.untold[0][0] > _READ_LATE_SECONDS:
            creates.untold.pop(0)

    def _drop_settled(self, key: str, creates: _Creates) -> None:
        if not creates.unseen and not creates.untold:
            self._creates.pop(key, None)

    def _has_room(self, table: Sized) -> bool:
        if len(table) < self._max_entries:
            return True
        self.untracked += 1
        return False


def _blocked(key: str, reason: BlockReason, since: float, pods: int) -> BlockedKey:
    return BlockedKey(controller=_CLUSTER_CONTROLLER, key=key, reason=reason, since=since, pods=pods)


def _take(times: list[tuple[float, int]], count: int) -> int:
    """Take so many Pods from the oldest entries; how many there were not."""
    while count and times:
        time, there = times[0]
        if there > count:
            times[0] = (time, there - count)
            return 0
        del times[0]
        count -= there
    return count


def _cluster_of(pod: Observed) -> str | None:
    """Key of the RayCluster that a Pod belongs to: its controller's, else by its label."""
    owner = next((each for each in pod.owners if each.controller), None)
    if owner is not None:
        return f"{pod.namespace}/{owner.name}" if owner.kind == _CLUSTER else None
    name = pod.labels.get(_CLUSTER_LABEL)
    return f"{pod.namespace}/{name}" if name else None
