"""What state keys are in, from watched objects and the log: ready times, Pods that are waited for, unseen specs.

Pure: times are arguments, in Unix seconds, those of the log and of the watch alike. Memory is bounded; what finds no
place is counted.
"""

from dataclasses import dataclass, field

from advisor.queueing.informer import Change
from advisor.sidecar.generationlag import GenerationLags, LagView
from advisor.sidecar.observed import Observed
from advisor.sidecar.podexpectations import BlockedKey, BlockReason, PodExpectations
from advisor.sidecar.readytimes import ReadyTimes, ReadyView
from advisor.sidecar.rules import RULES
from advisor.sidecar.views import Reconcile

__all__ = [
    "BlockReason",
    "BlockedKey",
    "KeyState",
    "KeyStateSettings",
    "KeyStateView",
    "LagView",
    "ReadyView",
]

_CONTROLLERS = {rules.kind: controller for controller, rules in RULES.items()}
_CLUSTER, _POD = "RayCluster", "Pod"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStateSettings:
    """Limits of what is taken for normal.

    Attributes:
        terminating_seconds: a Pod that takes longer to go is stuck: its grace period, 30 s by default, and as much on
            top.
        create_seconds: a created Pod that is not seen for longer is missing. KubeRay gives its own wait up after this
            time, but tries again at the next event or resync only (research: kuberay 4.5).
        forget_seconds: a missing Pod or an unmet expectation is forgotten after this time without news: two resyncs.
        lag_seconds: a spec that is not handled for longer counts as lagging.
        window_seconds: ready times are of this time.
        max_entries: places of each table; a key or Pod that finds none is not followed.
        max_blocked: blocked keys that are named, those blocked longest first.
    """

    terminating_seconds: float = 60.0
    create_seconds: float = 30.0
    forget_seconds: float = 660.0
    lag_seconds: float = 5.0
    window_seconds: float = 600.0
    max_entries: int = 20_000
    max_blocked: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStateView:
    """The state of all keys at one time.

    Attributes:
        ready: by controller that had a key become ready in the window.
        blocked_keys: RayClusters whose Pods are waited for in vain, by reason; each key under one reason. A reason that
            cannot be told from what has been seen is absent.
        blocked: the keys themselves, longest first, at most `max_blocked`.
        lags: by controller whose objects have been seen.
        untracked: how often something found no place.
    """

    ready: tuple[ReadyView, ...] = ()
    blocked_keys: dict[BlockReason, int] = field(default_factory=dict)
    blocked: tuple[BlockedKey, ...] = ()
    lags: tuple[LagView, ...] = ()
    untracked: int = 0


class KeyState:
    """Follows every RayCluster, RayJob and RayService."""

    def __init__(self, settings: KeyStateSettings | None = None) -> None:
        self._settings = settings = settings or KeyStateSettings()
        self._ready = ReadyTimes(settings.window_seconds, settings.max_entries)
        self._lags = GenerationLags(settings.lag_seconds, settings.max_entries)
        self._expectations = PodExpectations(
            terminating_seconds=settings.terminating_seconds,
            create_seconds=settings.create_seconds,
            forget_seconds=settings.forget_seconds,
            max_entries=settings.max_entries,
        )

    def update(self, now: float, change: Change[Observed]) -> None:
        """Take in a change of a cache, initial lists included; kinds that tell nothing are ignored."""
        old, new = change.old, change.new
        one = new or old
        if one is None:
            return
        if one.kind == _POD:
            self._expectations.pod(now, old, new, is_initial=change.is_initial_list)
            return
        controller = _CONTROLLERS.get(one.kind)
        if controller is None:
            return
        self._lags.update(now, controller, old, new)
        if one.kind == _CLUSTER:
            self._expectations.cluster(one.key, new)
            self._ready.cluster(now, old, new)
        else:
            self._ready.owner(now, controller, old, new)

    def created_pods(self, now: float, key: str, count: int) -> None:
        """Take in that the log tells of so many Pods created for a RayCluster; `now` is the time of the line."""
        self._expectations.created(now, key, count)

    def unsatisfied(self, now: float, key: str, group: str) -> None:
        """Take in a line of the log that a RayCluster's group is skipped since an expectation is not met."""
        self._expectations.unsatisfied(now, key, group)

    def reconciled(self, reconcile: Reconcile) -> None:
        """Take in a reconcile that has ended: what was there when it began has been handled."""
        self._lags.reconciled(reconcile)
        self._expectations.reconciled(reconcile)

    def forget_creates(self) -> None:
        """Wait for no created Pod any more, as the watch of Pods was interrupted and may have missed it."""
        self._expectations.forget_creates()

    def view(self, now: float) -> KeyStateView:
        """The state at `now`."""
        blocked = self._expectations.blocked(now)
        counts = dict.fromkeys(self._expectations.known_reasons, 0)
        for one in blocked:
            counts[one.reason] = counts.get(one.reason, 0) + 1
        return KeyStateView(
            ready=self._ready.view(now),
            blocked_keys=counts,
            blocked=tuple(blocked[: self._settings.max_blocked]),
            lags=self._lags.view(now),
            untracked=self._ready.untracked + self._lags.untracked + self._expectations.untracked,
        )
