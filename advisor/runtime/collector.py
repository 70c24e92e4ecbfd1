"""Metrics of our own controllers for Prometheus, each scrape from one consistent snapshot of each controller.

Names, types, labels, help and bounds of `workqueue_*`, `controller_runtime_*` and `rest_client_*` are those of the real
ones; `kuberay_advisor_*` adds what these lack. See `families` for each.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from advisor.runtime import families as all_families
from advisor.runtime.families import Families
from advisor.runtime.histogram import HistogramSnapshot
from advisor.runtime.limiter import LimiterSnapshot
from advisor.runtime.snapshot import ControllerSnapshot, KeysSnapshot

__all__ = [
    "OTHER",
    "LimiterLike",
    "RuntimeCollector",
    "Watched",
    "add_controller",
    "add_limiter",
    "add_standard",
]

OTHER = "other"
"""Value of the label `object_name` for all objects that have no series of their own."""
_QUALITY = "exact"


class Watched(Protocol):
    """A controller that can be looked at, such as a driver."""

    def snapshot(self) -> ControllerSnapshot:
        """What it stands at, all as of one time."""
        ...


class LimiterLike(Protocol):
    """A client's limiter that can be looked at."""

    def snapshot(self) -> LimiterSnapshot:
        """What it stands at, all as of one time."""
        ...


class RuntimeCollector(Collector):
    """Exposes any number of controllers and limiters.

    Args:
        controllers: their names have to differ.
        limiters: two of them may not have a bucket of the same client and kind, nor the same host.
    """

    def __init__(self, controllers: Iterable[Watched], limiters: Iterable[LimiterLike] = ()) -> None:
        self._controllers = tuple(controllers)
        self._limiters = tuple(limiters)

    def describe(self) -> Iterator[Metric]:
        """Every family without samples, so that registering another collector of the same names fails."""
        return (family.empty() for family in all_families.ALL)

    def collect(self) -> Iterator[Metric]:
        """Every family that has samples."""
        families = Families()
        for snapshot in [controller.snapshot() for controller in self._controllers]:
            add_controller(families, snapshot)
        for limiter in self._limiters:
            add_limiter(families, limiter.snapshot())
        return iter(families)


def add_controller(families: Families, snapshot: ControllerSnapshot) -> None:
    """Add all samples of one controller."""
    add_standard(families, snapshot)
    _add_by_priority(families, snapshot)
    _add_waiting(families, snapshot)
    _add_keys(families, snapshot.name, snapshot.keys)


def add_standard(families: Families, snapshot: ControllerSnapshot) -> None:
    """Add the samples of one controller that controller-runtime exposes too."""
    _add_queue(families, snapshot)
    _add_reconciles(families, snapshot)


def add_limiter(families: Families, snapshot: LimiterSnapshot) -> None:
    """Add all samples of one client's limiter."""
    for bucket in snapshot.buckets:
        labels = (bucket.client, bucket.kind)
        families.add(all_families.LIMITER_TOKENS, labels, bucket.tokens)
        families.add(all_families.LIMITER_WAITING, labels, bucket.waiting)
    for verb, histogram in snapshot.wait_by_verb.items():
        families.observe(all_families.RATE_LIMITER_DURATION, (verb, snapshot.host), histogram)
    for identity, waited_ns in snapshot.wait_ns.items():
        families.add(all_families.LIMITER_WAIT, identity, waited_ns / 1e9)


def _add_queue(families: Families, snapshot: ControllerSnapshot) -> None:
    name = snapshot.name
    labels = (name, name)
    for priority, one in snapshot.by_priority.items():
        families.add(all_families.DEPTH, (*labels, priority), one.depth)
    families.add(all_families.ADDS, labels, sum(one.adds for one in snapshot.by_priority.values()))
    families.add(all_families.RETRIES, labels, snapshot.retries)
    families.observe(all_families.QUEUE_DURATION, labels, snapshot.queue_duration)
    families.observe(all_families.WORK_DURATION, labels, snapshot.work_duration)
    families.add(all_families.UNFINISHED_WORK, labels, snapshot.unfinished_work_ns / 1e9)
    families.add(all_families.LONGEST_RUNNING, labels, snapshot.longest_running_ns / 1e9)


def _add_reconciles(families: Families, snapshot: ControllerSnapshot) -> None:
    labels = (snapshot.name,)
    for result, count in snapshot.reconciles.items():
        families.add(all_families.RECONCILES, (snapshot.name, result.value), count)
    families.add(all_families.RECONCILE_ERRORS, labels, snapshot.errors)
    families.add(all_families.TERMINAL_RECONCILE_ERRORS, labels, snapshot.terminal_errors)
    families.add(all_families.RECONCILE_PANICS, labels, snapshot.panics)
    families.add(all_families.RECONCILE_TIMEOUTS, labels, snapshot.timeouts)
    families.observe(all_families.RECONCILE_TIME, labels, snapshot.reconcile_time)
    families.add(all_families.MAX_CONCURRENT_RECONCILES, labels, snapshot.max_concurrent_reconciles)
    families.add(all_families.ACTIVE_WORKERS, labels, snapshot.active_workers)


def _add_by_priority(families: Families, snapshot: ControllerSnapshot) -> None:
    def labels(priority: str) -> tuple[str, str, str]:
        return snapshot.name, priority, _QUALITY

    for priority, one in snapshot.by_priority.items():
        families.add(all_families.ADDS_BY_PRIORITY, labels(priority), one.adds)
        # The queue sums the time of a priority, but sorts it into buckets over all of them only.
        totals = HistogramSnapshot.of_totals(one.gets, one.queue_ns)
        families.observe(all_families.QUEUE_DURATION_BY_PRIORITY, labels(priority), totals)
    for priority, count in snapshot.active_by_priority.items():
        families.add(all_families.ACTIVE_BY_PRIORITY, labels(priority), count)
    pending = snapshot.pending
    for priority, since_ns in pending.oldest_ready_ns.items():
        age_ns = 0 if since_ns is None else snapshot.now_ns - since_ns
        families.add(all_families.OLDEST_READY_AGE, labels(priority), age_ns / 1e9)
    for priority, count in pending.blocked.items():
        families.add(all_families.BLOCKED_KEYS, labels(priority), count)


def _add_waiting(families: Families, snapshot: ControllerSnapshot) -> None:
    for reason, waiting in snapshot.pending.waiting.items():
        labels = (snapshot.name, reason, _QUALITY)
        families.add(all_families.WAITING_KEYS, labels, waiting.count)
        if waiting.next_due_ns is not None:
            families.add(all_families.NEXT_EXPIRY, labels, max(0, waiting.next_due_ns - snapshot.now_ns) / 1e9)
    labels_of_all = (snapshot.name, _QUALITY)
    families.add(all_families.DEDUPLICATED_ADDS, labels_of_all, snapshot.deduplicated_adds)
    families.add(all_families.DISCARDED_DELAYS, labels_of_all, snapshot.discarded_delays)
    families.observe(all_families.HANDOFF_LAG, labels_of_all, snapshot.handoff_lag)


def _add_keys(families: Families, name: str, keys: KeysSnapshot) -> None:
    """Add the keys with a place, and the rest as one object: what a key had before its place counts there.

    So each value is never too high, `other` never falls, and both together are the total.
    """
    rest = (keys.total_ns, keys.total_count, keys.total_failures)
    by_object = {("", OTHER): rest}
    for load in keys.loads:
        namespace, _, object_name = load.key.rpartition("/")
        had = (load.weight, load.count, load.failures)
        # An object that happens to have this name stays in the rest.
        if (namespace, object_name) not in by_object:
            by_object[namespace, object_name] = had
            by_object["", OTHER] = rest = (rest[0] - had[0], rest[1] - had[1], rest[2] - had[2])
    for identity, (busy_ns, count, failures) in by_object.items():
        labels = (name, *identity)
        families.add(all_families.KEY_BUSY, labels, busy_ns / 1e9)
        families.add(all_families.KEY_RECONCILES, labels, count)
        families.add(all_families.KEY_ERRORS, labels, failures)
    families.add(all_families.KEY_BUSY_ERROR, (name,), keys.error_ns / 1e9)
