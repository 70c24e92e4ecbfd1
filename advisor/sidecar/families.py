"""Every series that the sidecar exposes: its family, how far it can be trusted, what it takes to know it, how many.

What controller-runtime and the runtime's own collector expose under the same name is the same family here.
"""

import enum
from dataclasses import dataclass

from advisor.runtime import families as runtime
from advisor.runtime.families import Family

__all__ = [
    "ALL",
    "EXPOSED",
    "Exposed",
    "Section",
]


class Section(enum.StrEnum):
    """Groups of series, in the order in which they are exposed."""

    QUEUE = "The KubeRay operator's queues and workers"
    PEAKS = "Peaks between two scrapes of yours"
    KEYS = "Load by key"
    STATE = "What state keys are in"
    CLIENT = "The sidecar's own client"
    SELF = "The sidecar itself"
    OWN = "The embedded operator's controllers"


_PRIORITY = ("controller", "priority")
_BY_PRIORITY = (*_PRIORITY, "quality")
_CONTROLLER = ("controller",)
_OBJECT = ("controller", "object_namespace", "object_name")

DEPTH = Family(
    "kuberay_advisor_workqueue_depth",
    "gauge",
    "Keys that are ready and not yet in work, by priority; those held back by their own reconcile included.",
    _BY_PRIORITY,
)
RECONCILE_TIME = Family(
    "kuberay_advisor_reconcile_time_seconds",
    "histogram",
    "Length of reconciles that have ended, by priority of their key.",
    _BY_PRIORITY,
)
RECONCILES = Family(
    "kuberay_advisor_reconcile_total",
    "counter",
    "Reconciles that have ended, by priority of their key and result.",
    (*_PRIORITY, "result", "quality"),
)
DEPTH_ERROR = Family(
    "kuberay_advisor_shadow_depth_error",
    "gauge",
    "Depth as told here less the operator's own workqueue_depth, at the last scrape of it.",
    _PRIORITY,
)
UNATTRIBUTED = Family(
    "kuberay_advisor_unattributed_reconcile_seconds",
    "gauge",
    "Reconcile time by the operator's own counter that no reconcile in its log covers; any one key may have had it.",
    _CONTROLLER,
)
PEAK_DEPTH = Family(
    "kuberay_advisor_peak_depth", "gauge", "Largest workqueue_depth of the last minute, all priorities.", _CONTROLLER
)
PEAK_ACTIVE = Family(
    "kuberay_advisor_peak_active_workers", "gauge", "Most active workers of the last minute.", _CONTROLLER
)
PEAK_LONGEST = Family(
    "kuberay_advisor_peak_longest_running_seconds",
    "gauge",
    "Age of the longest running reconcile of the last minute.",
    _CONTROLLER,
)
KEY_CONFLICTS = Family(
    "kuberay_advisor_key_conflicts_total",
    "counter",
    "Reconciles by object that failed with a write conflict, for those that take most time.",
    _OBJECT,
)
HOT_KEY = Family(
    "kuberay_advisor_hot_key",
    "gauge",
    "1 while one object keeps a worker busy; writer is the field manager that writes to it most.",
    (*_OBJECT, "writer"),
)
READY = Family(
    "kuberay_advisor_ready_seconds_per_pod",
    "gauge",
    "Mean time from creation or scale-up to ready by Pod waited for, of keys that became ready in ten minutes.",
    _CONTROLLER,
)
EXPECTATION_BLOCKED = Family(
    "kuberay_advisor_expectation_blocked_keys",
    "gauge",
    "RayClusters that are not scaled since the operator waits in vain for Pods to come or go, by what it waits for.",
    ("controller", "reason"),
)
LAG = Family(
    "kuberay_advisor_generation_lag_seconds",
    "gauge",
    "How long the oldest spec has waited to be handled; 0 where none has for longer than 5 s.",
    _CONTROLLER,
)
API_SECONDS = Family(
    "kuberay_advisor_api_request_seconds_total",
    "counter",
    "Time of requests to the API server after the limiter: to the end of the answer, or the start of what is streamed.",
    ("kind", "verb"),
)
API_REQUESTS = Family("kuberay_advisor_requests_total", "counter", "Requests to the API server.", ("kind", "verb"))
CPU = Family("kuberay_advisor_sidecar_cpu_seconds_total", "counter", "CPU time.", ())
MEMORY = Family("kuberay_advisor_sidecar_resident_memory_bytes", "gauge", "Resident memory.", ())
MEMORY_SHARE = Family(
    "kuberay_advisor_sidecar_memory_share",
    "gauge",
    "Share of their usual bounds that rings and digests may hold; below 1 at the memory limit.",
    (),
)
LOG_LAG = Family(
    "kuberay_advisor_sidecar_log_lag_seconds",
    "gauge",
    "How far behind the log is read: from the time in the last line read until now, 0 where all is read.",
    (),
)
LOG_LINES = Family(
    "kuberay_advisor_sidecar_log_lines_total", "counter", "Lines of log, by what became of them.", ("outcome",)
)
SCRAPE_INTERVAL = Family(
    "kuberay_advisor_sidecar_scrape_interval_seconds",
    "gauge",
    "From one scrape of the operator to the next, just now.",
    (),
)
SCRAPE_SECONDS = Family(
    "kuberay_advisor_sidecar_scrape_seconds_total", "counter", "Time of all scrapes of the operator.", ()
)
SCRAPES = Family(
    "kuberay_advisor_sidecar_scrapes_total", "counter", "Scrapes of the operator, by outcome.", ("outcome",)
)
FAILURES = Family(
    "kuberay_advisor_sidecar_component_failures_total",
    "counter",
    "How often a part failed and was started again.",
    ("component",),
)
THROTTLED = Family(
    "kuberay_advisor_sidecar_throttled_seconds_total",
    "counter",
    "Pauses of the log's reader that kept the CPU budget.",
    (),
)
CLOCK_JUMPS = Family("kuberay_advisor_sidecar_clock_jumps_total", "counter", "How often the wall clock was set.", ())
UNTRACKED = Family(
    "kuberay_advisor_sidecar_untracked_total",
    "counter",
    "How often a key or Pod found no place in the tables of what state keys are in.",
    (),
)
DROPPED = Family(
    "kuberay_advisor_sidecar_series_dropped",
    "gauge",
    "Series that this answer lacks since it would pass the limit.",
    (),
)


@dataclass(frozen=True, slots=True)
class Exposed:
    """One family as it is documented.

    Attributes:
        section: where it belongs.
        family: the family.
        quality: exact, or under which circumstances it is not; "label" where it has the label.
        needs: what it is made of: log, scrape, watches; "" for the sidecar's own.
        count: how many series, with c controllers, p priorities of each, k keys, and so on.
        note: what its help does not say, as a sentence; "" where it says all.
    """

    section: Section
    family: Family
    quality: str
    needs: str
    count: str
    note: str = ""


_EXACT, _LABEL = "exact", "label"
_LOG, _SCRAPE, _WATCHES, _BOTH = "log", "scrape", "watches", "log and watches"
_QUEUE, _PEAKS, _KEYS, _STATE = Section.QUEUE, Section.PEAKS, Section.KEYS, Section.STATE
_CLIENT, _SELF, _OWN = Section.CLIENT, Section.SELF, Section.OWN
_SAMPLED = "lower bound from a sampled log"
_SHADOW_NOTE = "Only as good as `kuberay_advisor_shadow_depth_error` is small."

EXPOSED = (
    Exposed(_QUEUE, runtime.ACTIVE_BY_PRIORITY, _LABEL, _LOG, "c p"),
    Exposed(_QUEUE, DEPTH, _LABEL, _BOTH, "c p", _SHADOW_NOTE),
    Exposed(_QUEUE, runtime.ADDS_BY_PRIORITY, _LABEL, _BOTH, "c p"),
    Exposed(_QUEUE, runtime.QUEUE_DURATION_BY_PRIORITY, _LABEL, _BOTH, "15 c p", _SHADOW_NOTE),
    Exposed(
        _QUEUE, runtime.OLDEST_READY_AGE, _LABEL, _BOTH, "c p", "Sees what the histogram cannot: keys that starve."
    ),
    Exposed(_QUEUE, runtime.BLOCKED_KEYS, _LABEL, _BOTH, "c p", "More workers do not help these."),
    Exposed(_QUEUE, RECONCILE_TIME, _LABEL, _LOG, "15 c p", "At info level from the first line to the last."),
    Exposed(_QUEUE, RECONCILES, _LABEL, _LOG, "4 c p", "At info level without reconciles that write no line."),
    Exposed(_QUEUE, DEPTH_ERROR, _EXACT, "log, scrape and watches", "c p", "Taken before any correction by the gauge."),
    Exposed(_QUEUE, UNATTRIBUTED, _EXACT, "log and scrape", "c"),
    Exposed(_PEAKS, PEAK_DEPTH, _EXACT, _SCRAPE, "c"),
    Exposed(_PEAKS, PEAK_ACTIVE, _EXACT, _SCRAPE, "c"),
    Exposed(_PEAKS, PEAK_LONGEST, _EXACT, _SCRAPE, "c"),
    Exposed(_KEYS, runtime.KEY_BUSY, "lower bound", _LOG, "k + c"),
    Exposed(_KEYS, runtime.KEY_RECONCILES, _SAMPLED, _LOG, "k + c"),
    Exposed(_KEYS, runtime.KEY_ERRORS, _SAMPLED, _LOG, "k + c"),
    Exposed(_KEYS, KEY_CONFLICTS, _SAMPLED, _LOG, "k + c", "Is part of the errors."),
    Exposed(_KEYS, runtime.KEY_BUSY_ERROR, "upper bound", _LOG, "c"),
    Exposed(_KEYS, HOT_KEY, "estimated", _LOG, "at most 10", "The writer is known with watches only, else empty."),
    Exposed(_STATE, READY, "to a second", _WATCHES, "c", "Absent while none became ready."),
    Exposed(
        _STATE,
        EXPECTATION_BLOCKED,
        "estimated",
        _BOTH,
        "3",
        "`stuck_terminating`: a Pod takes more than a minute to go; needs watches. `create_not_seen`: a Pod of the log "
        "has not appeared for 30 s; needs both. `not_satisfied`: the log says so, of another cause; needs the log.",
    ),
    Exposed(
        _STATE,
        LAG,
        "estimated",
        _BOTH,
        "c",
        "A reconcile that began after the change ends it too, as KubeRay does not always write what it observed.",
    ),
    Exposed(_CLIENT, API_SECONDS, _EXACT, _WATCHES, "kinds x verbs"),
    Exposed(_CLIENT, runtime.LIMITER_WAIT, _EXACT, _WATCHES, "kinds x verbs", "Watches do not go through the limiter."),
    Exposed(_CLIENT, API_REQUESTS, _EXACT, _WATCHES, "kinds x verbs"),
    Exposed(_SELF, LOG_LAG, _EXACT, _LOG, "1"),
    Exposed(_SELF, LOG_LINES, _EXACT, _LOG, "3"),
    Exposed(_SELF, CPU, _EXACT, "", "1"),
    Exposed(_SELF, MEMORY, _EXACT, "", "1"),
    Exposed(_SELF, MEMORY_SHARE, _EXACT, "", "1"),
    Exposed(_SELF, THROTTLED, _EXACT, _LOG, "1"),
    Exposed(_SELF, SCRAPE_INTERVAL, _EXACT, _SCRAPE, "1"),
    Exposed(_SELF, SCRAPE_SECONDS, _EXACT, _SCRAPE, "1"),
    Exposed(_SELF, SCRAPES, _EXACT, _SCRAPE, "2"),
    Exposed(_SELF, FAILURES, _EXACT, "", "parts"),
    Exposed(_SELF, CLOCK_JUMPS, _EXACT, "", "1"),
    Exposed(_SELF, UNTRACKED, _EXACT, _WATCHES, "1"),
    Exposed(_SELF, DROPPED, _EXACT, "", "1"),
    Exposed(_OWN, runtime.DEPTH, _EXACT, _WATCHES, "e p"),
    Exposed(_OWN, runtime.ADDS, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.RETRIES, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.QUEUE_DURATION, _EXACT, _WATCHES, "4 e", "Coarse buckets."),
    Exposed(_OWN, runtime.WORK_DURATION, _EXACT, _WATCHES, "3 e", "One bucket."),
    Exposed(_OWN, runtime.UNFINISHED_WORK, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.LONGEST_RUNNING, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.RECONCILES, _EXACT, _WATCHES, "4 e"),
    Exposed(_OWN, runtime.RECONCILE_ERRORS, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.TERMINAL_RECONCILE_ERRORS, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.RECONCILE_PANICS, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.RECONCILE_TIMEOUTS, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.RECONCILE_TIME, _EXACT, _WATCHES, "4 e", "Coarse buckets."),
    Exposed(_OWN, runtime.MAX_CONCURRENT_RECONCILES, _EXACT, _WATCHES, "e"),
    Exposed(_OWN, runtime.ACTIVE_WORKERS, _EXACT, _WATCHES, "e"),
)
"""In the order in which they are exposed."""

ALL = tuple(one.family for one in EXPOSED)
