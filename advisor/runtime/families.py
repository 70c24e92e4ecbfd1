"""Metric families: their names, types, labels and help, and samples collected under them.

Those of controller-runtime are word for word its own (research: controller-runtime 4.1), those of a client the ones
that KubeRay registers (4.3). The further ones tell what no metric of controller-runtime does (8.3); their `quality` is
"exact" here, as they are counted and not inferred.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from advisor.runtime.histogram import HistogramSnapshot

__all__ = [
    "ACTIVE_BY_PRIORITY",
    "ACTIVE_WORKERS",
    "ADDS",
    "ADDS_BY_PRIORITY",
    "ALL",
    "BLOCKED_KEYS",
    "DEDUPLICATED_ADDS",
    "DEPTH",
    "DISCARDED_DELAYS",
    "HANDOFF_LAG",
    "KEY_BUSY",
    "KEY_BUSY_ERROR",
    "KEY_ERRORS",
    "KEY_RECONCILES",
    "LIMITER_TOKENS",
    "LIMITER_WAIT",
    "LIMITER_WAITING",
    "LONGEST_RUNNING",
    "MAX_CONCURRENT_RECONCILES",
    "NEXT_EXPIRY",
    "OLDEST_READY_AGE",
    "QUEUE_DURATION",
    "QUEUE_DURATION_BY_PRIORITY",
    "RATE_LIMITER_DURATION",
    "RECONCILES",
    "RECONCILE_ERRORS",
    "RECONCILE_PANICS",
    "RECONCILE_TIME",
    "RECONCILE_TIMEOUTS",
    "RETRIES",
    "TERMINAL_RECONCILE_ERRORS",
    "UNFINISHED_WORK",
    "WAITING_KEYS",
    "WORK_DURATION",
    "Families",
    "Family",
]


@dataclass(frozen=True, slots=True)
class Family:
    """One family.

    Attributes:
        name: as exposed; a counter's with `_total`.
        type: as in the text format.
        help: what it counts.
        labels: names of its labels, in the order in which values are given.
    """

    name: str
    type: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...]

    def empty(self) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
        """The family without a sample."""
        if self.type == "counter":
            return CounterMetricFamily(self.name, self.help, labels=self.labels)
        if self.type == "gauge":
            return GaugeMetricFamily(self.name, self.help, labels=self.labels)
        return HistogramMetricFamily(self.name, self.help, labels=self.labels)


_QUEUE = ("name", "controller")
_CONTROLLER = ("controller",)
_EXACT = ("controller", "quality")
_BY_PRIORITY = ("controller", "priority", "quality")
_BY_REASON = ("controller", "reason", "quality")
_BY_OBJECT = ("controller", "object_namespace", "object_name")
_BUCKET = ("client", "kind")

DEPTH = Family(
    "workqueue_depth",
    "gauge",
    "Current depth of workqueue by workqueue and priority",
    ("name", "controller", "priority"),
)
ADDS = Family("workqueue_adds_total", "counter", "Total number of adds handled by workqueue", _QUEUE)
RETRIES = Family(
    "workqueue_retries_total",
    "counter",
    "Total number of items added to the workqueue with a non-zero delay "
    "(rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
    _QUEUE,
)
QUEUE_DURATION = Family(
    "workqueue_queue_duration_seconds",
    "histogram",
    "How long in seconds an item stays in workqueue before being requested",
    _QUEUE,
)
WORK_DURATION = Family(
    "workqueue_work_duration_seconds",
    "histogram",
    "How long in seconds processing an item from workqueue takes.",
    _QUEUE,
)
UNFINISHED_WORK = Family(
    "workqueue_unfinished_work_seconds",
    "gauge",
    "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. "
    "Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which "
    "this increases.",
    _QUEUE,
)
LONGEST_RUNNING = Family(
    "workqueue_longest_running_processor_seconds",
    "gauge",
    "How many seconds has the longest running processor for workqueue been running.",
    _QUEUE,
)
RECONCILES = Family(
    "controller_runtime_reconcile_total",
    "counter",
    "Total number of reconciliations per controller",
    ("controller", "result"),
)
RECONCILE_ERRORS = Family(
    "controller_runtime_reconcile_errors_total",
    "counter",
    "Total number of reconciliation errors per controller",
    _CONTROLLER,
)
TERMINAL_RECONCILE_ERRORS = Family(
    "controller_runtime_terminal_reconcile_errors_total",
    "counter",
    "Total number of terminal reconciliation errors per controller",
    _CONTROLLER,
)
RECONCILE_PANICS = Family(
    "controller_runtime_reconcile_panics_total",
    "counter",
    "Total number of reconciliation panics per controller",
    _CONTROLLER,
)
RECONCILE_TIMEOUTS = Family(
    "controller_runtime_reconcile_timeouts_total",
    "counter",
    "Total number of reconciliation timeouts per controller",
    _CONTROLLER,
)
RECONCILE_TIME = Family(
    "controller_runtime_reconcile_time_seconds",
    "histogram",
    "Length of time per reconciliation per controller",
    _CONTROLLER,
)
MAX_CONCURRENT_RECONCILES = Family(
    "controller_runtime_max_concurrent_reconciles",
    "gauge",
    "Maximum number of concurrent reconciles per controller",
    _CONTROLLER,
)
ACTIVE_WORKERS = Family(
    "controller_runtime_active_workers",
    "gauge",
    "Number of currently used workers per controller",
    _CONTROLLER,
)
RATE_LIMITER_DURATION = Family(
    "rest_client_rate_limiter_duration_seconds",
    "histogram",
    "Client side rate limiter latency in seconds. Broken down by verb, and host.",
    ("verb", "host"),
)

ACTIVE_BY_PRIORITY = Family(
    "kuberay_advisor_active_workers", "gauge", "Workers in a reconcile, by priority of its key.", _BY_PRIORITY
)
ADDS_BY_PRIORITY = Family(
    "kuberay_advisor_workqueue_adds_total", "counter", "Keys that became ready, by priority.", _BY_PRIORITY
)
QUEUE_DURATION_BY_PRIORITY = Family(
    "kuberay_advisor_workqueue_queue_duration_seconds",
    "histogram",
    "Time from ready to hand-off, by priority; its count is the keys handed out.",
    _BY_PRIORITY,
)
OLDEST_READY_AGE = Family(
    "kuberay_advisor_oldest_ready_age_seconds",
    "gauge",
    "How long the oldest ready key has been ready, by priority; 0 where none is.",
    _BY_PRIORITY,
)
BLOCKED_KEYS = Family(
    "kuberay_advisor_blocked_keys",
    "gauge",
    "Ready keys that are held back because they are in work, by priority.",
    _BY_PRIORITY,
)
WAITING_KEYS = Family(
    "kuberay_advisor_workqueue_waiting_keys",
    "gauge",
    "Keys that are not ready yet, by reason: delayed_add, backoff or requeue; empty where it is not known.",
    _BY_REASON,
)
NEXT_EXPIRY = Family(
    "kuberay_advisor_workqueue_next_expiry_seconds",
    "gauge",
    "Time until the first of the keys that are not ready yet becomes so, by reason; absent where none waits.",
    _BY_REASON,
)
DEDUPLICATED_ADDS = Family(
    "kuberay_advisor_workqueue_deduplicated_adds_total", "counter", "Adds of a key that was ready already.", _EXACT
)
DISCARDED_DELAYS = Family(
    "kuberay_advisor_workqueue_discarded_delays_total",
    "counter",
    "Delays of adds that were dropped because the key was ready already.",
    _EXACT,
)
HANDOFF_LAG = Family(
    "kuberay_advisor_handoff_lag_seconds",
    "histogram",
    "Time from the hand-off of a key to the start of its reconcile.",
    _EXACT,
)
KEY_BUSY = Family(
    "kuberay_advisor_key_busy_seconds_total",
    "counter",
    "Reconcile time by object, for those that take most; the rest is in other.",
    _BY_OBJECT,
)
KEY_RECONCILES = Family(
    "kuberay_advisor_key_reconciles_total",
    "counter",
    "Reconciles by object, for those that take most time.",
    _BY_OBJECT,
)
KEY_ERRORS = Family(
    "kuberay_advisor_key_errors_total",
    "counter",
    "Failed reconciles by object, for those that take most time.",
    _BY_OBJECT,
)
KEY_BUSY_ERROR = Family(
    "kuberay_advisor_key_busy_error_seconds",
    "gauge",
    "How much of the reconcile time in other may be of one object.",
    _CONTROLLER,
)
LIMITER_TOKENS = Family(
    "kuberay_advisor_limiter_tokens", "gauge", "Tokens in a client's bucket; below zero while requests wait.", _BUCKET
)
LIMITER_WAITING = Family(
    "kuberay_advisor_limiter_waiting", "gauge", "Requests that wait for a token of a client's bucket.", _BUCKET
)
LIMITER_WAIT = Family(
    "kuberay_advisor_limiter_wait_seconds_total",
    "counter",
    "Time that requests waited for a token.",
    ("kind", "verb"),
)

ALL = (
    *(DEPTH, ADDS, RETRIES, QUEUE_DURATION, WORK_DURATION, UNFINISHED_WORK, LONGEST_RUNNING),
    *(RECONCILES, RECONCILE_ERRORS, TERMINAL_RECONCILE_ERRORS, RECONCILE_PANICS, RECONCILE_TIMEOUTS, RECONCILE_TIME),
    *(MAX_CONCURRENT_RECONCILES, ACTIVE_WORKERS, RATE_LIMITER_DURATION),
    *(ACTIVE_BY_PRIORITY, ADDS_BY_PRIORITY, QUEUE_DURATION_BY_PRIORITY, OLDEST_READY_AGE, BLOCKED_KEYS),
    *(WAITING_KEYS, NEXT_EXPIRY, DEDUPLICATED_ADDS, DISCARDED_DELAYS, HANDOFF_LAG),
    *(KEY_BUSY, KEY_RECONCILES, KEY_ERRORS, KEY_BUSY_ERROR, LIMITER_TOKENS, LIMITER_WAITING, LIMITER_WAIT),
)
"""In the order in which they are exposed."""


class Families:
    """Samples under their families, each of which is exposed once, whoever adds to it."""

    def __init__(self, families: Iterable[Family] = ALL) -> None:
        self._metrics = {family.name: family.empty() for family in families}

    def add(self, family: Family, labels: Sequence[str], value: float) -> None:
        """Add a sample of a counter or gauge."""
        metric = self._metrics[family.name]
        if isinstance(metric, HistogramMetricFamily):
            raise TypeError(f"{family.name} is a histogram")
        metric.add_metric(labels, value)

    def observe(self, family: Family, labels: Sequence[str], histogram: HistogramSnapshot) -> None:
        """Add the samples of a histogram."""
        metric = self._metrics[family.name]
        if not isinstance(metric, HistogramMetricFamily):
            raise TypeError(f"{family.name} is no histogram")
        metric.add_metric(labels, list(histogram.cumulative()), histogram.sum_ns / 1e9)

    @property
    def series(self) -> int:
        """Number of samples."""
        return sum(len(metric.samples) for metric in self._metrics.values())

    def drop(self, family: Family) -> None:
        """Take all samples of a family out again."""
        self._metrics[family.name].samples.clear()

    def drop_buckets(self) -> None:
        """Take all buckets of all histograms out again but the last, which has no bound."""
        for metric in self._metrics.values():
            if isinstance(metric, HistogramMetricFamily):
                metric.samples[:] = [one for one in metric.samples if one.labels.get("le", "+Inf") == "+Inf"]

    def __iter__(self) -> Iterator[Metric]:
        """Families that have samples."""
        return (metric for metric in self._metrics.values() if metric.samples)
