"""Series of the controllers and webhooks (research: kuberay 2.1, controller-runtime 3, 4.1, 4.2)."""

from typing import Final

from advisor.knowledge.catalogue_queue import QUEUE_BUCKETS_SECONDS
from advisor.knowledge.metric import Metric

__all__ = ["CONTROLLER_METRICS", "RECONCILE_BUCKETS_SECONDS", "RECONCILE_RESULTS"]

RECONCILE_RESULTS: Final = ("success", "error", "requeue", "requeue_after")

# fmt: off
RECONCILE_BUCKETS_SECONDS: Final = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0,
    15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
)
# fmt: on

_CONTROLLER: Final = ("controller",)

_RECONCILE: Final[tuple[Metric, ...]] = (
    Metric(
        name="controller_runtime_reconcile_total",
        kind="counter",
        labels=("controller", "result"),
        unit="reconciles",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Finished reconciles by result: success, error, requeue, requeue_after.",
        not_meaning="requeue_after is no problem but KubeRay's normal outcome. The rate is not the event rate, and it "
        "falls on the way to 1.7 because timers merge with events.",
        note="All four results start at 0 when the controller starts.",
    ),
    Metric(
        name="controller_runtime_reconcile_errors_total",
        kind="counter",
        labels=_CONTROLLER,
        unit="reconciles",
        family="controller",
        exposed_by="controller-runtime",
        meaning='Reconciles that returned an error; the same as reconcile_total with result="error".',
        not_meaning="Not failures only: KubeRay uses errors as control flow (for example after deleting unhealthy "
        "Pods), and from 1.7 the same failures retry faster than before.",
        note="Contains terminal errors, panics and time-outs.",
    ),
    Metric(
        name="controller_runtime_terminal_reconcile_errors_total",
        kind="counter",
        labels=_CONTROLLER,
        unit="reconciles",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Reconciles that returned an error which is not retried.",
        not_meaning="Absence up to 1.3.0 is no missing metric: there the series appears with the first such error.",
        since="1.1",
    ),
    Metric(
        name="controller_runtime_reconcile_panics_total",
        kind="counter",
        labels=_CONTROLLER,
        unit="reconciles",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Reconciles that panicked and were recovered.",
        not_meaning="Not in addition to the errors: each is counted there as well and retried with back-off.",
        since="1.3.1",
    ),
    Metric(
        name="controller_runtime_reconcile_timeouts_total",
        kind="counter",
        labels=_CONTROLLER,
        unit="reconciles",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Reconciles ended by the reconciliation time-out.",
        not_meaning="0 does not mean that no reconcile hangs: KubeRay sets no time-out, so it stays 0.",
        since="1.7",
    ),
    Metric(
        name="controller_runtime_reconcile_time_seconds",
        kind="histogram",
        labels=_CONTROLLER,
        unit="seconds",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Duration of a reconcile.",
        not_meaning="Not API time alone: it contains limiter wait, dashboard calls and waiting for CPU. Above 60 s a "
        "quantile is unknown.",
        note="No priority and no key. Native histogram too since 1.4.",
        buckets=RECONCILE_BUCKETS_SECONDS,
    ),
    Metric(
        name="controller_runtime_max_concurrent_reconciles",
        kind="gauge",
        labels=_CONTROLLER,
        unit="workers",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Workers of the controller: the concurrency that is really in force.",
        not_meaning="Not a budget shared by the controllers: each has that many.",
        note="Absent on a standby replica. raycluster-mtls always shows 1.",
    ),
    Metric(
        name="controller_runtime_active_workers",
        kind="gauge",
        labels=_CONTROLLER,
        unit="workers",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Workers that are in a reconcile at the moment of the scrape.",
        not_meaning="Not utilisation: a sample every 30 s misses short runs. Take the sums of the queue instead.",
        note="Absent on a standby replica.",
    ),
)

_WEBHOOK: Final[tuple[Metric, ...]] = (
    Metric(
        name="controller_runtime_webhook_latency_seconds",
        kind="histogram",
        labels=("webhook",),
        unit="seconds",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Time to answer an admission request.",
        not_meaning="Not reconcile time; it slows writers of the objects, not the workers.",
        note="These bounds are those of 1.7; 1.4 to 1.6 expose a native histogram alone, older ones the client "
        "library's default bounds.",
        buckets=QUEUE_BUCKETS_SECONDS,
    ),
    Metric(
        name="controller_runtime_webhook_requests_total",
        kind="counter",
        labels=("webhook", "code"),
        unit="requests",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Admission requests answered, by HTTP code.",
        not_meaning="Not requests to the API server.",
    ),
    Metric(
        name="controller_runtime_webhook_requests_in_flight",
        kind="gauge",
        labels=("webhook",),
        unit="requests",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Admission requests being answered.",
        not_meaning="Not busy workers.",
    ),
    Metric(
        name="controller_runtime_webhook_panics_total",
        kind="counter",
        labels=(),
        unit="requests",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Panics in admission webhooks.",
        not_meaning="Not panics of reconciles.",
        since="1.3.1",
    ),
    Metric(
        name="controller_runtime_conversion_webhook_panics_total",
        kind="counter",
        labels=(),
        unit="requests",
        family="controller",
        exposed_by="controller-runtime",
        meaning="Panics in conversion webhooks.",
        not_meaning="Not panics of reconciles.",
        since="1.5",
    ),
)

CONTROLLER_METRICS: Final[tuple[Metric, ...]] = _RECONCILE + _WEBHOOK
