"""Texts of the operator's log and what they tell (research: kuberay 3, controller-runtime 5.2)."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from advisor.knowledge.defaults import RAYCLUSTER_SETTLE_SECONDS, RAYJOB_POLL_SECONDS

__all__ = [
    "ALREADY_EXISTS_TEXT",
    "CONFLICT_TEXT",
    "CONTROL_FLOW_ERRORS",
    "ERROR_MESSAGE",
    "EXPECTATION_FIELD",
    "GROUP_EXPECTATION_TEXT",
    "HEAD_EXPECTATION_TEXT",
    "IGNORED_REQUEUE_PREFIX",
    "LAST_MESSAGES",
    "LEADER_LOST_TEXT",
    "LEASE_ACQUIRED_MESSAGE",
    "LEASE_RENEW_FAILED_TEXT",
    "LOGGERS",
    "LOGGER_TO_CONTROLLER",
    "POD_CREATED_MESSAGES",
    "RAYCLUSTER_GONE_MESSAGE",
    "RECONCILE_ID_FIELD",
    "REQUEUE_MESSAGE",
    "REQUEUE_SECONDS_FIELD",
    "SAMPLING_FIRST_PER_SECOND",
    "SAMPLING_THEN_EVERY",
    "SOURCE_STARTED_MESSAGE",
    "STATUS_CONFLICT_MESSAGE",
    "THROTTLE_LINE_INTERVAL_SECONDS",
    "THROTTLE_LINE_MIN_WAIT_SECONDS",
    "THROTTLE_MESSAGES",
    "THROTTLE_VERBOSE_MIN_WAIT_SECONDS",
    "VERBOSE_END_PREFIXES",
    "VERBOSE_LEVEL",
    "VERBOSE_QUEUE_MESSAGE",
    "VERBOSE_REQUEUE_AFTER_PREFIX",
    "VERBOSE_REQUEUE_MESSAGE",
    "VERBOSE_START_MESSAGE",
    "WORKERS_STARTED_COUNT_FIELD",
    "WORKERS_STARTED_MESSAGE",
    "ErrorPattern",
    "LoggerSpec",
    "ThrottleMessage",
    "control_flow_error",
    "is_conflict",
    "is_control_flow_error",
]


class LoggerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One controller's logger.

    Args:
        logger: value of the field ``logger``.
        key_field: the field that holds the key; keep its first occurrence, duplicates happen.
        controller: value of the label ``controller`` in the metrics from KubeRay 1.1 on.
        first_messages: messages with which a reconcile begins at info level; empty where none is constant.
        last_messages: messages with which it ends at info level, but for the write of a status and its error, and after
            how many seconds the key then comes again (None: it does not); empty where none is constant.
    """

    logger: str
    key_field: str
    controller: str
    first_messages: tuple[str, ...] = ()
    last_messages: Mapping[str, float | None] = MappingProxyType({})


class ErrorPattern(msgspec.Struct, frozen=True, kw_only=True):
    """The text of an error that a healthy operator returns on purpose, as a regular expression to search for."""

    name: str
    pattern: str
    meaning: str


class ThrottleMessage(msgspec.Struct, frozen=True, kw_only=True):
    """How client-go reports a wait in the client's limiter.

    Args:
        prefix: start of the message.
        since: first KubeRay release with this form.
        until: first release without it; None: still in use.
        fields: fields of the record that hold delay, reason, verb and address; empty where all is in the text.
        pattern: regular expression with the groups delay, verb and url; empty where the fields hold them.
        has_key: whether the record carries logger, key and reconcileID.
    """

    prefix: str
    since: str
    until: str | None
    fields: tuple[str, ...]
    pattern: str
    has_key: bool


RECONCILE_ID_FIELD: Final = "reconcileID"

LOGGERS: Final[tuple[LoggerSpec, ...]] = (
    LoggerSpec(
        logger="controllers.RayCluster",
        key_field="RayCluster",
        controller="raycluster",
        first_messages=("Reconciling Ingress", "reconciling RayCluster"),
        last_messages=MappingProxyType(
            {
                "updateRayClusterStatus": RAYCLUSTER_SETTLE_SECONDS,
                "RayCluster is being deleted, just ignore": None,
            }
        ),
    ),
    LoggerSpec(
        logger="controllers.RayJob",
        key_field="RayJob",
        controller="rayjob",
        first_messages=("RayJob",),
        last_messages=MappingProxyType({"updateRayJobStatus": RAYJOB_POLL_SECONDS, "RayJob resource not found.": None}),
    ),
    LoggerSpec(logger="controllers.RayService", key_field="RayService", controller="rayservice"),
    LoggerSpec(logger="controllers.RayCronJob", key_field="RayCronJob", controller="raycronjob"),
    LoggerSpec(
        logger="controllers.NetworkPolicy",
        key_field="RayCluster",
        controller="networkpolicy",
        first_messages=("Reconciling NetworkPolicies for RayCluster",),
        last_messages=MappingProxyType({"Successfully reconciled NetworkPolicies for RayCluster": None}),
    ),
    LoggerSpec(logger="controllers.RayClusterMTLS", key_field="RayCluster", controller="raycluster-mtls"),
)

LOGGER_TO_CONTROLLER: Final[Mapping[str, LoggerSpec]] = MappingProxyType({spec.logger: spec for spec in LOGGERS})
"""By the field ``logger``, the only safe way to tell the controller: RayJob lines carry a RayCluster field too."""

# Info level.
ERROR_MESSAGE: Final = "Reconciler error"
"""The only line to count as a failed reconcile; it ends the reconcile."""
IGNORED_REQUEUE_PREFIX: Final = "Warning: Reconciler returned both"
REQUEUE_MESSAGE: Final = "Unconditional requeue after"
REQUEUE_SECONDS_FIELD: Final = "seconds"
STATUS_CONFLICT_MESSAGE: Final = "Error updating status"
POD_CREATED_MESSAGES: Final = ("Created head Pod for RayCluster", "Created worker Pod for RayCluster")
SOURCE_STARTED_MESSAGE: Final = "Starting EventSource"
"""One for each watched kind; the initial list follows at once."""
LAST_MESSAGES: Final[Mapping[str, float | None]] = MappingProxyType(
    {message: seconds for spec in LOGGERS for message, seconds in spec.last_messages.items()}
)
"""Of all controllers."""
RAYCLUSTER_GONE_MESSAGE: Final = "Cleaned up expired RayCluster metric"
WORKERS_STARTED_MESSAGE: Final = "Starting workers"
WORKERS_STARTED_COUNT_FIELD: Final = "worker count"
EXPECTATION_FIELD: Final = "Expectation"
HEAD_EXPECTATION_TEXT: Final = "NotSatisfiedHeadExpectations"
GROUP_EXPECTATION_TEXT: Final = "NotSatisfiedGroupExpectations"
LEASE_ACQUIRED_MESSAGE: Final = "Successfully acquired lease"
LEASE_RENEW_FAILED_TEXT: Final = "Failed to renew lease"
LEADER_LOST_TEXT: Final = "leader election lost"
CONFLICT_TEXT: Final = "the object has been modified; please apply your changes to the latest version and try again"
ALREADY_EXISTS_TEXT: Final = "already exists"

# Standard output is sampled per second, level and message; the log file is not, and never holds verbose lines.
SAMPLING_FIRST_PER_SECOND: Final = 100
SAMPLING_THEN_EVERY: Final = 100

# Verbosity 5, standard output alone.
VERBOSE_LEVEL: Final = 5
VERBOSE_START_MESSAGE: Final = "Reconciling"
VERBOSE_REQUEUE_AFTER_PREFIX: Final = "Reconcile done, requeueing after "
VERBOSE_REQUEUE_MESSAGE: Final = "Reconcile done, requeueing"
VERBOSE_END_PREFIXES: Final = (VERBOSE_REQUEUE_MESSAGE, "Reconcile successful", ERROR_MESSAGE)
VERBOSE_QUEUE_MESSAGE: Final = "workqueue_items"

# Client throttling: the absence of these lines proves nothing.
THROTTLE_LINE_MIN_WAIT_SECONDS: Final = 1.0
THROTTLE_LINE_INTERVAL_SECONDS: Final = 10.0
"""At most one line in this time for the whole process."""
THROTTLE_VERBOSE_MIN_WAIT_SECONDS: Final = 0.05
"""At verbosity 3 every wait above this is written."""
THROTTLE_MESSAGES: Final[tuple[ThrottleMessage, ...]] = (
    ThrottleMessage(
        prefix="Waited for ",
        since="1.0",
        until="1.4",
        fields=(),
        pattern=r"Waited for (?P<delay>\S+) due to client-side throttling, not priority and fairness, "
        r"request: (?P<verb>[A-Z]+):(?P<url>\S+)",
        has_key=False,
    ),
    ThrottleMessage(
        prefix="Waited before sending request",
        since="1.4",
        until=None,
        fields=("delay", "reason", "verb", "URL"),
        pattern="",
        has_key=True,
    ),
)

CONTROL_FLOW_ERRORS: Final[tuple[ErrorPattern, ...]] = (
    ErrorPattern(
        name="unhealthy-workers-deleted",
        pattern=r"delete [0-9]+ unhealthy worker Pods",
        meaning="Unhealthy worker Pods were deleted; the next pass creates new ones.",
    ),
    ErrorPattern(
        name="head-pod-ended",
        pattern=r"The head Pod \S+ status is \S+ which is a terminal state",
        meaning="The head Pod ended and was deleted; the next pass creates a new one.",
    ),
    ErrorPattern(
        name="head-container-ended",
        pattern=r"The Pod status of the head Pod .* so KubeRay will delete it",
        meaning="The head Pod's Ray container ended and may not restart; the Pod was deleted.",
    ),
    ErrorPattern(
        name="scale-strategy",
        pattern=r"deleted [0-9]+ worker Pods based on ScaleStrategy, requeueing",
        meaning="The autoscaler's choice of workers was deleted.",
    ),
    ErrorPattern(
        name="incomplete-replica-group",
        pattern=r"cleaned up incomplete replica group .*, requeueing",
        meaning="Pods of an incomplete multi-host replica were removed.",
    ),
    ErrorPattern(
        name="mtls-not-ready",
        pattern=r"mTLS secrets not ready: ",
        meaning="Certificates are not issued yet.",
    ),
    ErrorPattern(
        name="no-head-yet",
        pattern=r"found 0 head\. cluster name ",
        meaning="The head Pod is not in the cache yet; normal shortly after a RayCluster was created.",
    ),
)

_CONTROL_FLOW: Final = tuple((error, re.compile(error.pattern, re.DOTALL)) for error in CONTROL_FLOW_ERRORS)


def control_flow_error(text: str) -> ErrorPattern | None:
    """Which control-flow error a reconcile's error text is, or None for a real failure."""
    return next((error for error, pattern in _CONTROL_FLOW if pattern.search(text)), None)


def is_control_flow_error(text: str) -> bool:
    """Whether an error text is one that a healthy operator returns on purpose."""
    return control_flow_error(text) is not None


def is_conflict(text: str) -> bool:
    """Whether an error text tells of a write with an old resourceVersion."""
    return CONFLICT_TEXT in text
