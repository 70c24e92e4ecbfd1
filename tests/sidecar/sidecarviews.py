"""Views of a sidecar, as tests and benchmarks show them."""

from advisor.model.signal import Quality
from advisor.queueing.controller import ControllerLoop
from advisor.queueing.metrics import DurationHistogram
from advisor.queueing.outcome import SUCCESS
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.topkeys import TopKeys
from advisor.queueing.types import AddOptions
from advisor.runtime.histogram import HistogramSnapshot
from advisor.runtime.limiter import LimiterSnapshot
from advisor.runtime.snapshot import ControllerSnapshot
from advisor.sidecar.collector import SidecarView
from advisor.sidecar.keystate import BlockedKey, BlockReason, KeyStateView, LagView, ReadyView
from advisor.sidecar.kube.client import RequestCounts
from advisor.sidecar.selfview import SelfView
from advisor.sidecar.views import (
    DURATION_BOUNDS_NS,
    HotKey,
    KeysView,
    KeyTotal,
    PeaksView,
    PriorityView,
    ShadowView,
)

__all__ = ["KUBERAY", "PRIORITIES", "durations", "full", "key_total", "own_controller", "priority", "worst_case"]

KUBERAY = ("raycluster", "rayjob", "rayservice")
PRIORITIES = ("0", "-100")
_MILLISECOND = 1_000_000


def durations(*milliseconds: int) -> HistogramSnapshot:
    """A histogram of these."""
    histogram = DurationHistogram(DURATION_BOUNDS_NS)
    for each in milliseconds:
        histogram.observe(each * _MILLISECOND)
    return HistogramSnapshot.of(histogram)


def priority(number: int = 1, *, is_watched: bool = True, depth_error: float | None = None) -> PriorityView:
    """A priority that has had keys; its figures grow with `number`."""
    return PriorityView(
        depth=3 * number if is_watched else None,
        adds=20 * number if is_watched else 0,
        active_workers=number,
        oldest_ready_seconds=1.5 * number if is_watched else None,
        blocked_keys=number if is_watched else 0,
        wait=durations(*(4, 40, 400, 4000) * number) if is_watched else durations(),
        time=durations(*(2, 70, 700, 7000, 70_000) * number),
        results={"success": number, "error": 2 * number, "requeue": 0, "requeue_after": 4 * number},
        depth_error=depth_error,
    )


def key_total(controller: str, key: str, number: int) -> KeyTotal:
    """A key's totals, which grow with `number`."""
    return KeyTotal(
        controller=controller,
        key=key,
        busy_seconds=number / 2,
        reconciles=10 * number,
        errors=number,
        conflicts=number // 2,
        pods_created=number,
    )


def own_controller(name: str, priorities: tuple[str, ...] = PRIORITIES) -> ControllerSnapshot:
    """One of the embedded operator's controllers, with a reconcile at each priority behind it."""
    queue, top, now_ns = PriorityQueue(), TopKeys(2), 0
    loop = ControllerLoop(name, queue, 1)
    loop.start_workers(now_ns)
    for number, label in enumerate(priorities):
        queue.add(now_ns, AddOptions(priority=int(label)), f"team-a/rc-{number}")
        work = loop.begin(now_ns, queue.handoffs.popleft(), handed_out_ns=now_ns)
        assert work is not None
        now_ns += 3 * _MILLISECOND
        top.add(work.key, 3 * _MILLISECOND)
        loop.finish(now_ns, work, SUCCESS)
    return ControllerSnapshot.take(now_ns, loop, top)


def own_figures() -> SelfView:
    """The process, with a log and scrapes."""
    return SelfView(
        cpu_seconds=12.5,
        resident_bytes=41_943_040,
        log_lag_seconds=0.25,
        log_lines={"parsed": 1200, "unreadable": 1, "dropped": 0},
        scrape_interval_seconds=5.0,
        scrape_seconds=1.75,
        scrapes={"ok": 240, "failed": 2},
        component_failures={"scraper": 0, "follower": 1, "watches": 0},
        throttled_seconds=0.5,
    )


def key_state() -> KeyStateView:
    """Something of all that it can tell."""
    since = 1_795_982_471.0
    return KeyStateView(
        ready=(
            ReadyView(
                controller="raycluster",
                keys=2,
                mean_seconds_per_pod=0.75,
                worst_seconds_per_pod=1.25,
                worst_key="team-a/rc-001",
            ),
        ),
        blocked_keys={BlockReason.STUCK_TERMINATING: 1, BlockReason.CREATE_NOT_SEEN: 0, BlockReason.NOT_SATISFIED: 0},
        blocked=(
            BlockedKey(
                controller="raycluster",
                key="team-a/rc-000",
                reason=BlockReason.STUCK_TERMINATING,
                since=since,
                pods=3,
            ),
        ),
        lags=(
            LagView(controller="raycluster", keys=1, oldest_seconds=7.5, oldest_key="team-a/rc-002"),
            LagView(controller="rayjob"),
        ),
    )


def full() -> SidecarView:
    """Log, scrapes and watches, of an operator with the priority queue."""
    return SidecarView(
        shadows=(
            ShadowView(
                controller="raycluster",
                by_priority={"0": priority(2, depth_error=-1.0), "-100": priority(1, depth_error=0.0)},
                queue_quality=Quality.ESTIMATED,
                time_quality=Quality.EXACT,
                unattributed_seconds=0.125,
            ),
            ShadowView(
                controller="rayjob",
                by_priority={"0": priority(1)},
                queue_quality=Quality.ESTIMATED,
                time_quality=Quality.LOWER_BOUND,
            ),
        ),
        peaks=PeaksView(
            depth={"raycluster": 41.0, "rayjob": 0.0},
            active_workers={"raycluster": 1.0, "rayjob": 0.0},
            longest_running_seconds={"raycluster": 7.25},
        ),
        keys=KeysView(
            totals=(
                key_total("raycluster", "team-a/rc-000", 8),
                key_total("raycluster", 'team-b/odd"na\\me', 3),
                key_total("rayjob", "team-a/job-1", 4),
            ),
            rest=(key_total("raycluster", "", 5), key_total("rayjob", "", 0)),
            error_seconds={"raycluster": 0.5, "rayjob": 0.0},
        ),
        hot_keys=(
            HotKey(
                controller="raycluster",
                key="team-a/rc-000",
                writer="annotator",
                busy_share=0.9,
                consecutive=12,
                updates_per_second=4.0,
                since=1_795_982_460.0,
            ),
        ),
        key_state=key_state(),
        requests=RequestCounts(
            {("RayCluster", "list"): 3, ("RayCluster", "watch"): 1},
            {("RayCluster", "list"): 0.375, ("RayCluster", "watch"): 0.0625},
        ),
        limiter=LimiterSnapshot("10.0.0.1:443", (), {}, {("RayCluster", "list"): 250_000_000}),
        controllers=(own_controller("advisor-raycluster"),),
        own=own_figures(),
    )


def worst_case(controllers: tuple[str, ...] = KUBERAY, keys: int = 20) -> SidecarView:
    """As many series as there can be: everything is known, of each controller and at each priority."""
    by_priority = {label: priority(number, depth_error=1.0) for number, label in enumerate(PRIORITIES, 1)}
    peaks = dict.fromkeys(controllers, 3.0)
    kinds = ("RayCluster", "RayJob", "RayService", "Pod", "Service", "Job")
    asked = [(kind, verb) for kind in kinds for verb in ("list", "watch")]
    some = key_state()
    return SidecarView(
        shadows=tuple(
            ShadowView(
                controller=controller,
                by_priority=by_priority,
                queue_quality=Quality.ESTIMATED,
                time_quality=Quality.LOWER_BOUND,
                unattributed_seconds=1.0,
            )
            for controller in controllers
        ),
        peaks=PeaksView(depth=peaks, active_workers=peaks, longest_running_seconds=peaks),
        keys=KeysView(
            totals=tuple(
                key_total(controllers[number % len(controllers)], f"team-{number % 7}/key-{number}", number + 1)
                for number in range(keys)
            ),
            rest=tuple(key_total(controller, "", 9980) for controller in controllers),
            error_seconds=dict.fromkeys(controllers, 0.5),
        ),
        hot_keys=tuple(
            HotKey(
                controller=controller,
                key="team-0/key-0",
                writer="annotator",
                busy_share=0.6,
                consecutive=9,
                updates_per_second=None,
                since=0.0,
            )
            for controller in controllers
        ),
        key_state=KeyStateView(
            ready=tuple(
                ReadyView(
                    controller=controller, keys=9, mean_seconds_per_pod=1.0, worst_seconds_per_pod=2.0, worst_key=""
                )
                for controller in controllers
            ),
            blocked_keys=some.blocked_keys,
            blocked=some.blocked,
            lags=tuple(LagView(controller=controller, keys=1, oldest_seconds=9.0) for controller in controllers),
        ),
        requests=RequestCounts(dict.fromkeys(asked, 7), dict.fromkeys(asked, 0.5)),
        limiter=LimiterSnapshot("10.0.0.1:443", (), {}, {(kind, "list"): 250_000_000 for kind in kinds}),
        controllers=tuple(own_controller(f"advisor-{controller}") for controller in KUBERAY),
        own=own_figures(),
    )
