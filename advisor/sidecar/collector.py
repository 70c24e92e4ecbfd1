"""All series of the sidecar for Prometheus, each scrape from one consistent view (series: `families`).

A value that is not known is an absent series. The answer never has more than a number of series: where it would, keys
go first, the lightest before the others, then the buckets of histograms, then whole families.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from advisor.runtime import families as runtime
from advisor.runtime.collector import OTHER, add_standard
from advisor.runtime.families import Families
from advisor.runtime.histogram import HistogramSnapshot
from advisor.runtime.limiter import LimiterSnapshot
from advisor.runtime.snapshot import ControllerSnapshot
from advisor.sidecar import families as sidecar
from advisor.sidecar.families import ALL, EXPOSED, Section
from advisor.sidecar.keystate import KeyStateView
from advisor.sidecar.selfview import SelfView
from advisor.sidecar.views import HotKey, KeysView, KeyTotal, PeaksView, PriorityView, ShadowView

if TYPE_CHECKING:
    # Without watches there is no client, and nothing of it is imported.
    from advisor.sidecar.kube.client import RequestCounts

__all__ = ["MAX_SERIES", "SidecarCollector", "SidecarView", "exposed"]

MAX_SERIES = 500
_MAX_HOT_KEYS = 10
_KEY_FAMILIES = (runtime.KEY_BUSY, runtime.KEY_RECONCILES, runtime.KEY_ERRORS, sidecar.KEY_CONFLICTS)
_SECOND_NS = 1_000_000_000
# Of controller-runtime's bounds, as the real ones: 12 and 40 of them for each controller would be most of the answer.
_QUEUE_BOUNDS_NS = (_SECOND_NS,)
_RECONCILE_BOUNDS_NS = (_SECOND_NS // 10,)
# Never dropped: what tells that something is missing.
_DROPPABLE = tuple(one.family for one in reversed(EXPOSED) if one.section is not Section.SELF)


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarView:
    """All that the sidecar knows at one time.

    Attributes:
        shadows: the KubeRay operator's controllers.
        peaks: of the scrapes of the last minute.
        keys: load by key; None where no log is read.
        hot_keys: keys that are hot now.
        key_state: what state keys are in.
        requests: of its own client; None where nothing is watched.
        limiter: the limiter of that client.
        controllers: its own controllers.
        own: the process itself; None leaves it out.
    """

    shadows: Sequence[ShadowView] = ()
    peaks: PeaksView = field(default_factory=PeaksView)
    keys: KeysView | None = None
    hot_keys: Sequence[HotKey] = ()
    key_state: KeyStateView = field(default_factory=KeyStateView)
    requests: "RequestCounts | None" = None
    limiter: LimiterSnapshot | None = None
    controllers: Sequence[ControllerSnapshot] = ()
    own: SelfView | None = None


class SidecarCollector(Collector):
    """Exposes what it is given at each scrape.

    Args:
        take: copies everything as of one time.
        max_series: at most so many.
    """

    def __init__(self, take: Callable[[], SidecarView], max_series: int = MAX_SERIES) -> None:
        self._take = take
        self._max_series = max_series

    def describe(self) -> Iterator[Metric]:
        """Every family without samples, so that registering another collector of the same names fails."""
        return (family.empty() for family in ALL)

    def collect(self) -> Iterator[Metric]:
        """Every family that has samples."""
        return iter(exposed(self._take(), self._max_series))


def exposed(view: SidecarView, max_series: int = MAX_SERIES) -> Families:
    """The series of a view, at most so many, as far as those of the sidecar itself allow."""
    families = _all_of(view)
    # The series that tells how many are missing is one of them.
    wanted, room = families.series, max_series - 1
    if wanted > room:
        _fit_keys(families, view.keys, room)
    if families.series > room:
        families.drop_buckets()
        _fit_keys(families, view.keys, room)
    for family in _DROPPABLE:
        if families.series <= room:
            break
        families.drop(family)
    families.add(sidecar.DROPPED, (), wanted - families.series)
    return families


def _fit_keys(families: Families, keys: KeysView | None, room: int) -> None:
    """Leave series to the heaviest keys only, as many as there is room for."""
    if keys is None:
        return
    for family in _KEY_FAMILIES:
        families.drop(family)
    _add_rest(families, keys)
    _add_keys(families, _heaviest(keys)[: max(0, (room - families.series) // len(_KEY_FAMILIES))])


def _all_of(view: SidecarView) -> Families:
    families = Families(ALL)
    for shadow in view.shadows:
        for priority, one in shadow.by_priority.items():
            _add_priority(families, shadow, priority, one)
        if shadow.unattributed_seconds is not None:
            families.add(sidecar.UNATTRIBUTED, (shadow.controller,), shadow.unattributed_seconds)
    _add_peaks(families, view.peaks)
    if view.keys is not None:
        _add_keys(families, _heaviest(view.keys))
        _add_rest(families, view.keys)
        for label, seconds in view.keys.error_seconds.items():
            families.add(runtime.KEY_BUSY_ERROR, (label,), seconds)
    for hot in sorted(view.hot_keys, key=lambda one: -one.busy_share)[:_MAX_HOT_KEYS]:
        families.add(sidecar.HOT_KEY, (hot.controller, *_object(hot.key), hot.writer), 1)
    _add_key_state(families, view.key_state)
    _add_requests(families, view.requests, view.limiter)
    if view.own is not None:
        _add_self(families, view.own, view.key_state)
    for controller in view.controllers:
        add_standard(families, _coarse(controller))
    return families


def _add_priority(families: Families, shadow: ShadowView, priority: str, one: PriorityView) -> None:
    """Add one priority; without objects that are watched, what its queue does is not known."""
    if one.depth_error is not None:
        families.add(sidecar.DEPTH_ERROR, (shadow.controller, priority), one.depth_error)
    if not (one.depth or one.adds or one.active_workers or any(one.results.values())):
        # It has never had a key.
        return
    timed = (shadow.controller, priority, shadow.time_quality.value)
    families.add(runtime.ACTIVE_BY_PRIORITY, timed, one.active_workers)
    families.observe(sidecar.RECONCILE_TIME, timed, one.time)
    for result, count in one.results.items():
        labels = (shadow.controller, priority, result, shadow.time_quality.value)
        families.add(sidecar.RECONCILES, labels, count)
    if one.depth is None:
        return
    queued = (shadow.controller, priority, shadow.queue_quality.value)
    families.add(sidecar.DEPTH, queued, one.depth)
    families.add(runtime.ADDS_BY_PRIORITY, queued, one.adds)
    families.observe(runtime.QUEUE_DURATION_BY_PRIORITY, queued, one.wait)
    families.add(runtime.OLDEST_READY_AGE, queued, one.oldest_ready_seconds or 0.0)
    families.add(runtime.BLOCKED_KEYS, queued, one.blocked_keys)


def _add_peaks(families: Families, peaks: PeaksView) -> None:
    for family, values in (
        (sidecar.PEAK_DEPTH, peaks.depth),
        (sidecar.PEAK_ACTIVE, peaks.active_workers),
        (sidecar.PEAK_LONGEST, peaks.longest_running_seconds),
    ):
        for controller, value in values.items():
            families.add(family, (controller,), value)


def _heaviest(keys: KeysView) -> list[KeyTotal]:
    return sorted(keys.totals, key=lambda one: (-one.busy_seconds, one.controller, one.key))


def _add_keys(families: Families, totals: Sequence[KeyTotal]) -> None:
    for one in totals:
        _add_total(families, one, _object(one.key))


def _add_rest(families: Families, keys: KeysView) -> None:
    """Add what all other keys of a controller had, as one object.

    A key that has lost its series is not added to it: it would fall when the key comes back, which reads as a restart.
    """
    for one in keys.rest:
        _add_total(families, one, ("", OTHER))


def _add_total(families: Families, one: KeyTotal, identity: tuple[str, str]) -> None:
    values = (one.busy_seconds, one.reconciles, one.errors, one.conflicts)
    for family, value in zip(_KEY_FAMILIES, values, strict=True):
        families.add(family, (one.controller, *identity), value)


def _add_key_state(families: Families, state: KeyStateView) -> None:
    for ready in state.ready:
        families.add(sidecar.READY, (ready.controller,), ready.mean_seconds_per_pod)
    for reason, count in state.blocked_keys.items():
        families.add(sidecar.EXPECTATION_BLOCKED, ("raycluster", reason.value), count)
    for lag in state.lags:
        families.add(sidecar.LAG, (lag.controller,), lag.oldest_seconds)


def _add_requests(families: Families, requests: "RequestCounts | None", limiter: LimiterSnapshot | None) -> None:
    if requests is not None:
        for identity, count in requests.requests.items():
            families.add(sidecar.API_REQUESTS, identity, count)
        for identity, seconds in requests.seconds.items():
            families.add(sidecar.API_SECONDS, identity, seconds)
    if limiter is not None:
        for identity, waited_ns in limiter.wait_ns.items():
            families.add(runtime.LIMITER_WAIT, identity, waited_ns / _SECOND_NS)


def _add_self(families: Families, own: SelfView, state: KeyStateView) -> None:
    families.add(sidecar.CPU, (), own.cpu_seconds)
    families.add(sidecar.MEMORY, (), own.resident_bytes)
    families.add(sidecar.MEMORY_SHARE, (), own.memory_share)
    families.add(sidecar.CLOCK_JUMPS, (), own.clock_jumps)
    for component, count in own.component_failures.items():
        families.add(sidecar.FAILURES, (component,), count)
    if own.log_lag_seconds is not None:
        families.add(sidecar.LOG_LAG, (), own.log_lag_seconds)
    if own.log_lines:
        families.add(sidecar.THROTTLED, (), own.throttled_seconds)
    for outcome, count in own.log_lines.items():
        families.add(sidecar.LOG_LINES, (outcome,), count)
    if own.scrape_interval_seconds is not None:
        families.add(sidecar.SCRAPE_INTERVAL, (), own.scrape_interval_seconds)
        families.add(sidecar.SCRAPE_SECONDS, (), own.scrape_seconds)
    for outcome, count in own.scrapes.items():
        families.add(sidecar.SCRAPES, (outcome,), count)
    if state.lags:
        families.add(sidecar.UNTRACKED, (), state.untracked)


def _object(key: str) -> tuple[str, str]:
    namespace, _, name = key.rpartition("/")
    return namespace, name


def _coarse(snapshot: ControllerSnapshot) -> ControllerSnapshot:
    """The same controller with few buckets."""
    return replace(
        snapshot,
        queue_duration=_folded(snapshot.queue_duration, _QUEUE_BOUNDS_NS),
        work_duration=_folded(snapshot.work_duration, ()),
        reconcile_time=_folded(snapshot.reconcile_time, _RECONCILE_BOUNDS_NS),
    )


def _folded(histogram: HistogramSnapshot, bounds_ns: tuple[int, ...]) -> HistogramSnapshot:
    """The same observations in the buckets of these of its bounds."""
    counts = dict.fromkeys(bounds_ns, 0)
    above = 0
    for index, count in enumerate(histogram.buckets):
        bound_ns = histogram.bounds_ns[index] if index < len(histogram.bounds_ns) else None
        fitting = next((each for each in bounds_ns if bound_ns is not None and bound_ns <= each), None)
        if fitting is None:
            above += count
        else:
            counts[fitting] += count
    return HistogramSnapshot(bounds_ns, (*counts.values(), above), histogram.sum_ns)
