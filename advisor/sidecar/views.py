"""What the sidecar knows at one time, copied for whoever shows it: plain values, no clock and no lock."""

from dataclasses import dataclass, field

from advisor.model.signal import Quality
from advisor.runtime.histogram import HistogramSnapshot

__all__ = [
    "DURATION_BOUNDS_NS",
    "HotKey",
    "KeyTotal",
    "KeysView",
    "PeaksView",
    "PriorityView",
    "Reconcile",
    "ShadowView",
]

DURATION_BOUNDS_NS = tuple(
    round(seconds * 1e9) for seconds in (0.001, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)
)
"""Buckets of the sidecar's own durations, 1 ms to 600 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconcile:
    """One reconcile of the KubeRay operator that has ended, as the log tells it.

    Attributes:
        controller: label of its controller, such as raycluster.
        key: ``namespace/name``.
        priority: at which its key was handed out; "" where the queue has none or it is not known.
        began: Unix seconds of its start, or of its first line.
        ended: Unix seconds of its end, or of its last line.
        exact: whether both come from the verbose markers; else the time between them is a lower bound.
        failed: whether it ended in an error.
        conflict: whether that error was a write conflict.
        control_flow: whether KubeRay returned that error on purpose.
        pods_created: Pods that it created.
        result: success, error, requeue or requeue_after.
    """

    controller: str
    key: str
    priority: str = ""
    began: float
    ended: float
    exact: bool
    failed: bool = False
    conflict: bool = False
    control_flow: bool = False
    pods_created: int = 0
    result: str = "success"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityView:
    """One priority of one controller's queue.

    Attributes:
        depth: ready keys, those blocked by their own reconcile included; None where no objects are watched.
        adds: keys that became ready.
        active_workers: reconciles in progress.
        oldest_ready_seconds: how long the oldest ready key has been ready; None where none is.
        blocked_keys: ready keys whose own reconcile is in progress.
        wait: from ready to the start of the reconcile.
        time: of reconciles that have ended.
        results: how many ended as success, error, requeue, requeue_after.
        depth_error: `depth` less the operator's own gauge at the last scrape, before any correction; None where the
            operator did not tell.
    """

    depth: int | None
    adds: int
    active_workers: int
    oldest_ready_seconds: float | None
    blocked_keys: int
    wait: HistogramSnapshot
    time: HistogramSnapshot
    results: dict[str, int]
    depth_error: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowView:
    """One controller of the KubeRay operator.

    Attributes:
        controller: its label.
        by_priority: by label of the priority, highest first; one "" for the classic queue.
        queue_quality: of depth, adds, waits, blocked keys and ages.
        time_quality: of reconcile times, active workers and results.
        unattributed_seconds: reconcile time by the operator's own counter that the log's spans do not cover, so that
            any one key may have had that much more; None where it is not known.
    """

    controller: str
    by_priority: dict[str, PriorityView]
    queue_quality: Quality
    time_quality: Quality
    unattributed_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTotal:
    """One key's totals since it has had its place: busy seconds, reconciles, errors, conflicts, Pods created."""

    controller: str
    key: str
    busy_seconds: float
    reconciles: int
    errors: int
    conflicts: int
    pods_created: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysView:
    """The heaviest keys, and what all others had together by controller; `error_seconds` bounds any other key's."""

    totals: tuple[KeyTotal, ...]
    rest: tuple[KeyTotal, ...]
    error_seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HotKey:
    """A key that is hot now.

    Attributes:
        controller: its controller.
        key: ``namespace/name``.
        writer: the field manager that writes to it most, "" where it is not known.
        busy_share: its share of the busy worker time in the window.
        consecutive: re-runs of it in a row, or within the window where runs overlap.
        updates_per_second: writes to the object, by watch events; None where it is not watched.
        since: Unix seconds since when it is hot.
    """

    controller: str
    key: str
    writer: str
    busy_share: float
    consecutive: int
    updates_per_second: float | None
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PeaksView:
    """Largest values of the scrapes of the last minute, by controller; a controller without samples is absent."""

    depth: dict[str, float] = field(default_factory=dict)
    active_workers: dict[str, float] = field(default_factory=dict)
    longest_running_seconds: dict[str, float] = field(default_factory=dict)
