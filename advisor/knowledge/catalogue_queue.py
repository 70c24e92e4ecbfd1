"""Series of the work queue (research: kuberay 2.2, controller-runtime 1.6, 4.1, 8)."""

from typing import Final

from advisor.knowledge.metric import Metric

__all__ = ["QUEUE_BUCKETS_SECONDS", "QUEUE_METRICS"]

QUEUE_BUCKETS_SECONDS: Final = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
"""Bounds from KubeRay 1.2 on; before that the last two are missing. Two print as 9.999...: compare as numbers."""

_NAME_AND_CONTROLLER: Final = ("name", "controller")

QUEUE_METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="workqueue_depth",
        kind="gauge",
        labels=("name", "controller", "priority"),
        unit="keys",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Keys that are ready to be reconciled and not yet handed to a worker.",
        not_meaning="Not the number of objects, and 0 is not health: keys in back-off or waiting for a timer are in no "
        "gauge. A key that waits behind its own run counts, so depth with idle workers means hot keys.",
        note="Label controller since 1.3.1, priority since 1.4 (empty up to 1.6, 0 and -100 from 1.7): sum over "
        "priority. From 1.7 a priority has no series before its first ready key.",
    ),
    Metric(
        name="workqueue_adds_total",
        kind="counter",
        labels=_NAME_AND_CONTROLLER,
        unit="keys",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Keys that became ready, counted after merging.",
        not_meaning="Not the number of events: what was merged into a pending key is in no series.",
        note="A delayed key counts when its time comes.",
    ),
    Metric(
        name="workqueue_retries_total",
        kind="counter",
        labels=_NAME_AND_CONTROLLER,
        unit="keys",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Adds with a delay: back-off after an error, and every requeue-after.",
        not_meaning="Not a count of failures: a healthy operator requeues by timer at about its reconcile rate. Use "
        'controller_runtime_reconcile_total{result="error"}.',
        note="Counts even when a merge then drops the delay.",
    ),
    Metric(
        name="workqueue_queue_duration_seconds",
        kind="histogram",
        labels=_NAME_AND_CONTROLLER,
        unit="seconds",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Queue wait: from the moment a key became ready until a worker got it.",
        not_meaning="High is no proof that workers are missing: it contains the wait behind the key's own run, the "
        "cache sync after a start, standby time and starved low priority. A quantile between two decades is a guess.",
        note="Only keys already handed out are in it: it lags while a backlog grows. Up to 1.1 the last finite bound "
        "is 10 s. Native histogram too since 1.4.",
        buckets=QUEUE_BUCKETS_SECONDS,
    ),
    Metric(
        name="workqueue_work_duration_seconds",
        kind="histogram",
        labels=_NAME_AND_CONTROLLER,
        unit="seconds",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Time a worker held a key, observed when it gave it back.",
        not_meaning="The sum alone is not busy time of a window: runs still in progress are in "
        "workqueue_unfinished_work_seconds.",
        note="Slightly above the reconcile time. Busy worker time = increase of the sum + unfinished at the end - "
        "unfinished at the start.",
        buckets=QUEUE_BUCKETS_SECONDS,
    ),
    Metric(
        name="workqueue_unfinished_work_seconds",
        kind="gauge",
        labels=_NAME_AND_CONTROLLER,
        unit="seconds",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Sum of the ages of all runs in progress.",
        not_meaning="Not the age of waiting keys, and not one run's age when several workers are busy.",
        note="Refreshed every 0.5 s.",
    ),
    Metric(
        name="workqueue_longest_running_processor_seconds",
        kind="gauge",
        labels=_NAME_AND_CONTROLLER,
        unit="seconds",
        family="queue",
        exposed_by="controller-runtime",
        meaning="Age of the oldest run in progress; the best sign of one long key without logs.",
        not_meaning="Not the longest run of the scrape interval: a run that ended between scrapes leaves no trace. A "
        "straight line upwards is a stuck worker, not load.",
        note="Refreshed every 0.5 s.",
    ),
)
