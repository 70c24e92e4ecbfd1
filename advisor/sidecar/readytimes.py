"""How long keys took to become ready, by Pod that they waited for."""

from collections import deque
from dataclasses import dataclass

from advisor.sidecar.generationlag import first_seen
from advisor.sidecar.observed import Observed

__all__ = ["ReadyTimes", "ReadyView"]

_CLUSTER = "RayCluster"
_CLUSTER_CONTROLLER = "raycluster"
_READY = "ready"
_READY_OWNER = frozenset({"Running", "Complete"})
# Nobody tries to make these ready: waiting for a quota, for a retry, or given up.
_IDLE_OWNER = frozenset({"Suspended", "Suspending", "Waiting", "Retrying", "Failed", "ValidationFailed"})
_SUSPENDED = "suspended"
_MAX_TIMES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyView:
    """Keys of one controller that have become ready in the window.

    Attributes:
        controller: its label.
        keys: how often one has.
        mean_seconds_per_pod: mean over them of the time from creation or scale-up to ready, by Pod waited for.
        worst_seconds_per_pod: the largest.
        worst_key: whose that is.
    """

    controller: str
    keys: int
    mean_seconds_per_pod: float
    worst_seconds_per_pod: float
    worst_key: str


@dataclass(frozen=True, slots=True)
class _Rise:
    """A key on its way: since when, and how many Pods it had then; None while it has never been ready."""

    since: float
    pods_before: int | None


class ReadyTimes:
    """Takes the times.

    A RayCluster's time runs from its creation until its state is ready, or from a change of its generation until it has
    the workers that it asks for; a RayJob's and RayService's from its creation until it runs. Pods are those of the
    RayCluster, its head included, less those that it had already. Keys that were suspended or failed count no more.

    Args:
        window_seconds: how long a time counts.
        max_entries: at most so many keys are followed.

    Attributes:
        untracked: how many found no place.
    """

    __slots__ = ("_max_entries", "_owned", "_rising", "_times", "_window_seconds", "untracked")

    def __init__(self, window_seconds: float, max_entries: int) -> None:
        self._window_seconds = window_seconds
        self._max_entries = max_entries
        self._rising: dict[tuple[str, str], _Rise] = {}
        self._owned: dict[str, dict[str, int]] = {}
        self._times: deque[tuple[float, str, str, float]] = deque(maxlen=_MAX_TIMES)
        self.untracked = 0

    def cluster(self, now: float, old: Observed | None, new: Observed | None) -> None:
        """Take in a change of a RayCluster."""
        one = new or old
        if one is None:
            return
        self._keep_size(one, is_gone=new is None)
        identity = (_CLUSTER_CONTROLLER, one.key)
        if new is None or new.deleting_since is not None:
            self._rising.pop(identity, None)
            return
        if old is None:
            if new.state not in {_READY, _SUSPENDED}:
                self._begin(identity, _Rise(first_seen(now, new.created), None))
        elif new.generation > old.generation and self._is_new(identity):
            # Judged once the status has caught up: most changes are no scale-up.
            self._begin(identity, _Rise(now, _pods(old.ready_workers, old)))
        rise = self._rising.get(identity)
        if rise is None or new.generation > (new.observed_generation or 0):
            return
        wanted = _pods(new.desired_workers, new)
        pods = wanted - (rise.pods_before or 0)
        if new.state == _SUSPENDED or (rise.pods_before is not None and pods <= 0):
            del self._rising[identity]
        elif new.state == _READY and (rise.pods_before is None or _pods(new.ready_workers, new) >= wanted):
            self._end(now, identity, rise, pods)

    def owner(self, now: float, controller: str, old: Observed | None, new: Observed | None) -> None:
        """Take in a change of a RayJob or RayService."""
        one = new or old
        if one is None:
            return
        identity = (controller, one.key)
        if new is None or new.deleting_since is not None or new.state in _IDLE_OWNER:
            self._rising.pop(identity, None)
            return
        if old is None and new.state not in _READY_OWNER:
            self._begin(identity, _Rise(first_seen(now, new.created), None))
        rise = self._rising.get(identity)
        if rise is not None and new.state in _READY_OWNER:
            self._end(now, identity, rise, sum(self._owned.get(_owner_identity(new), {}).values()))

    def view(self, now: float) -> tuple[ReadyView, ...]:
        """By controller, in the order in which one first became ready."""
        times = self._times
        while times and times[0][0] < now - self._window_seconds:
            times.popleft()
        by_controller: dict[str, list[tuple[float, str]]] = {}
        for _, controller, key, seconds in times:
            by_controller.setdefault(controller, []).append((seconds, key))
        views = []
        for controller, found in by_controller.items():
            worst, key = max(found)
            mean = sum(seconds for seconds, _ in found) / len(found)
            views.append(
                ReadyView(
                    controller=controller,
                    keys=len(found),
                    mean_seconds_per_pod=mean,
                    worst_seconds_per_pod=worst,
                    worst_key=key,
                )
            )
        return tuple(views)

    def _is_new(self, identity: tuple[str, str]) -> bool:
        """Whether a change of the spec begins a time: not while the key has never been ready."""
        rise = self._rising.get(identity)
        return rise is None or rise.pods_before is not None

    def _begin(self, identity: tuple[str, str], rise: _Rise) -> None:
        if identity not in self._rising and len(self._rising) >= self._max_entries:
            self.untracked += 1
            return
        self._rising[identity] = rise

    def _end(self, now: float, identity: tuple[str, str], rise: _Rise, pods: int) -> None:
        del self._rising[identity]
        if pods > 0:
            self._times.append((now, *identity, max(0.0, now - rise.since) / pods))

    def _keep_size(self, cluster: Observed, *, is_gone: bool) -> None:
        """Remember the Pods of a RayCluster that a RayJob or RayService owns."""
        owner = next((each for each in cluster.owners if each.controller), None)
        if owner is None:
            return
        identity = f"{owner.kind}/{cluster.namespace}/{owner.name}"
        if not is_gone:
            if identity not in self._owned and len(self._owned) >= self._max_entries:
                self.untracked += 1
                return
            self._owned.setdefault(identity, {})[cluster.key] = _pods(cluster.desired_workers, None)
        elif (owned := self._owned.get(identity)) is not None:
            owned.pop(cluster.key, None)
            if not owned:
                del self._owned[identity]


def _owner_identity(one: Observed) -> str:
    return f"{one.kind}/{one.key}"


def _pods(workers: int | None, cluster: Observed | None) -> int:
    """Workers and the head; without the head while a RayCluster is suspended."""
    is_suspended = cluster is not None and cluster.state == _SUSPENDED
    return (workers or 0) + (0 if is_suspended else 1)
