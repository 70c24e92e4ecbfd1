"""Keys whose newest spec the operator has not handled yet."""

from dataclasses import dataclass

from advisor.sidecar.observed import Observed
from advisor.sidecar.views import Reconcile

__all__ = ["GenerationLags", "LagView", "first_seen"]

# The operator's watch may be ahead of this one.
_SKEW_SECONDS = 0.5
_FINAL_STATES = frozenset({"Complete", "Failed", "ValidationFailed"})
_JOB = "RayJob"


@dataclass(frozen=True, slots=True, kw_only=True)
class LagView:
    """One controller's keys with a spec that is not handled yet.

    Attributes:
        controller: its label.
        keys: how many have been lagging for longer than the limit.
        oldest_seconds: for how long the oldest has been; 0 where none is.
        oldest_key: which that is, "" where none is.
    """

    controller: str
    keys: int = 0
    oldest_seconds: float = 0.0
    oldest_key: str = ""


def first_seen(now: float, created: float | None) -> float:
    """When an object was created, to the fraction: its timestamp has whole seconds, its watch event comes at once."""
    return now if created is None else min(now, created + 1.0)


class GenerationLags:
    """Since when the newest generation of each object waits.

    A status that has caught up ends the lag, and so does a reconcile that began after the change: KubeRay does not
    write a status in which nothing but the observed generation would change, and none at all of a RayJob's generation.

    Args:
        lag_seconds: a shorter lag does not count.
        max_entries: at most so many lagging keys are followed.

    Attributes:
        untracked: how many found no place.
    """

    __slots__ = ("_controllers", "_lag_seconds", "_max_entries", "_since", "untracked")

    def __init__(self, lag_seconds: float, max_entries: int) -> None:
        self._lag_seconds = lag_seconds
        self._max_entries = max_entries
        self._since: dict[tuple[str, str], float] = {}
        self._controllers: dict[str, None] = {}
        self.untracked = 0

    def update(self, now: float, controller: str, old: Observed | None, new: Observed | None) -> None:
        """Take in a change of an object that has a controller of its own."""
        self._controllers.setdefault(controller)
        one = new or old
        if one is None:
            return
        identity = (controller, one.key)
        if new is None or new.deleting_since is not None:
            # Deletion raises the generation, and no status follows.
            self._since.pop(identity, None)
            return
        has_risen = old is not None and new.generation > old.generation
        if not self._is_behind(old, new, has_risen=has_risen, was_behind=identity in self._since):
            self._since.pop(identity, None)
        elif has_risen:
            # A newer change starts no later lag: the older one still waits.
            self._begin(identity, now)
        else:
            self._begin(identity, now if new.observed_generation else first_seen(now, new.created))

    def reconciled(self, reconcile: Reconcile) -> None:
        """Take in a reconcile that has ended."""
        identity = (reconcile.controller, reconcile.key)
        since = self._since.get(identity)
        if since is not None and reconcile.began >= since - _SKEW_SECONDS:
            del self._since[identity]

    def view(self, now: float) -> tuple[LagView, ...]:
        """By controller whose objects have been seen."""
        keys = dict.fromkeys(self._controllers, 0)
        oldest = dict.fromkeys(self._controllers, (now, ""))
        for (controller, key), since in self._since.items():
            if now - since >= self._lag_seconds:
                keys[controller] += 1
                oldest[controller] = min(oldest[controller], (since, key))
        return tuple(
            LagView(controller=controller, keys=keys[controller], oldest_seconds=max(0.0, now - since), oldest_key=key)
            for controller, (since, key) in oldest.items()
        )

    def _begin(self, identity: tuple[str, str], since: float) -> None:
        if identity in self._since:
            return
        if len(self._since) >= self._max_entries:
            self.untracked += 1
            return
        self._since[identity] = since

    @staticmethod
    def _is_behind(old: Observed | None, new: Observed, *, has_risen: bool, was_behind: bool) -> bool:
        if new.kind != _JOB:
            return new.generation > (new.observed_generation or 0)
        if new.state in _FINAL_STATES:
            return False
        if old is None:
            return not new.state
        # Its status names no generation, but one that changes was written.
        return has_risen or (was_behind and new.state == old.state)
