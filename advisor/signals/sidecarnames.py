"""Which series of a sidecar are kept over time, and what they are called (docs/sidecar.md says what each means).

Of the at most 500 that a sidecar exposes these are some 160 with three controllers, two priorities and twenty keys:
buckets, what is about the sidecar's own client and its own controllers is left out.
"""

from typing import Final

from advisor.model.raw import Selection

__all__ = [
    "ACTIVE",
    "BLOCKED",
    "DEPTH",
    "DEPTH_ERROR",
    "HOT_KEY",
    "KEY_BUSY",
    "KEY_BUSY_ERROR",
    "KEY_CONFLICTS",
    "KEY_ERRORS",
    "KEY_NAMES",
    "KEY_RECONCILES",
    "LOG_LAG",
    "OLDEST_AGE",
    "OTHER",
    "PRIORITY_NAMES",
    "SERIES_DROPPED",
    "SIDECAR_SELECTION",
    "UNATTRIBUTED",
    "WAIT_COUNT",
    "WAIT_SUM",
]

OTHER: Final = "other"
"""Name of the object that stands for all keys of a controller without series of their own; its namespace is empty."""

DEPTH: Final = "kuberay_advisor_workqueue_depth"
WAIT_SUM: Final = "kuberay_advisor_workqueue_queue_duration_seconds_sum"
WAIT_COUNT: Final = "kuberay_advisor_workqueue_queue_duration_seconds_count"
OLDEST_AGE: Final = "kuberay_advisor_oldest_ready_age_seconds"
BLOCKED: Final = "kuberay_advisor_blocked_keys"
ACTIVE: Final = "kuberay_advisor_active_workers"
DEPTH_ERROR: Final = "kuberay_advisor_shadow_depth_error"

KEY_BUSY: Final = "kuberay_advisor_key_busy_seconds_total"
KEY_RECONCILES: Final = "kuberay_advisor_key_reconciles_total"
KEY_ERRORS: Final = "kuberay_advisor_key_errors_total"
KEY_CONFLICTS: Final = "kuberay_advisor_key_conflicts_total"
KEY_BUSY_ERROR: Final = "kuberay_advisor_key_busy_error_seconds"
UNATTRIBUTED: Final = "kuberay_advisor_unattributed_reconcile_seconds"
HOT_KEY: Final = "kuberay_advisor_hot_key"

LOG_LAG: Final = "kuberay_advisor_sidecar_log_lag_seconds"
SERIES_DROPPED: Final = "kuberay_advisor_sidecar_series_dropped"

PRIORITY_NAMES: Final = frozenset({DEPTH, WAIT_SUM, WAIT_COUNT, OLDEST_AGE, BLOCKED, ACTIVE, DEPTH_ERROR})
"""What the history of priorities is made of."""
KEY_NAMES: Final = frozenset(
    {KEY_BUSY, KEY_RECONCILES, KEY_ERRORS, KEY_CONFLICTS, KEY_BUSY_ERROR, UNATTRIBUTED, HOT_KEY, LOG_LAG}
    | {SERIES_DROPPED}
)
"""What the history of keys is made of."""

SIDECAR_SELECTION: Final = Selection(names=PRIORITY_NAMES | KEY_NAMES, aggregated={})
"""What is kept of a sidecar."""
