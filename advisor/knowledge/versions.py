"""Look-ups over the releases: by name, by what an operator exposes, and the client limits that result.

Capabilities come from what an operator exposes; the version only refines (research: kuberay 1.6, 9).
"""

import re
from collections.abc import Collection
from typing import Final

import msgspec

from advisor.knowledge.catalogue import find
from advisor.knowledge.defaults import ZERO_BURST_MEANS, ZERO_QPS_MEANS
from advisor.knowledge.releases import RELEASES, KubeRayVersion, QueueKind, Release

__all__ = [
    "VERSIONS",
    "ClientLimits",
    "KubeRayVersion",
    "QueueKind",
    "Release",
    "controller_label",
    "controller_of",
    "effective_limits",
    "infer",
    "latest",
    "lookup",
]

VERSIONS: Final[tuple[KubeRayVersion, ...]] = RELEASES

# A tag or chart name: "1.7", "v1.6.1", "ray-operator-1.7.0", "v1.4.0-rc.0", "v1.5.1+build".
_RELEASE: Final = re.compile(
    r"(?:[a-z][a-z-]*-)?v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:[-+_].*)?", re.IGNORECASE
)
_ANY_PATCH: Final = 9999

# The absence of the first series tells that a release is older than its first one, provided the second is there.
_TELLING_ABSENCES: Final = (
    ("controller_runtime_reconcile_timeouts_total", "controller_runtime_reconcile_total"),
    ("controller_runtime_reconcile_panics_total", "controller_runtime_reconcile_total"),
    ("rest_client_request_duration_seconds", "rest_client_requests_total"),
    ("go_sched_latencies_seconds", "go_goroutines"),
)


class ClientLimits(msgspec.Struct, frozen=True, kw_only=True):
    """QPS and Burst of each of the client's buckets; ``qps`` below zero means that there is no limit."""

    qps: float
    burst: int


def lookup(text: str) -> KubeRayVersion | None:
    """Find the record of a release by its version, tag, chart name or image reference.

    A newer patch of a known series is taken as that series, and a text without patch number, such as "1.3", as its
    newest patch. A series that is not in ``VERSIONS``, older or newer, gives None: nothing is assumed about it.
    """
    release = _parse_release(text)
    if release is None:
        return None
    candidates = [
        version for version in VERSIONS if version.first_release[:2] == release[:2] and version.first_release <= release
    ]
    return candidates[-1] if candidates else None


def latest() -> KubeRayVersion:
    """The newest release known."""
    return VERSIONS[-1]


def controller_label(version: KubeRayVersion, controller: str) -> str:
    """The value that ``controller`` has in the series of this release; itself where nothing else is known."""
    return dict(version.controller_labels).get(controller, controller)


def controller_of(label: str) -> str:
    """The controller behind a value of the label ``controller`` in any release; itself where unknown."""
    return _CONTROLLER_OF_LABEL.get(label, label)


def effective_limits(version: KubeRayVersion, *, qps: float | None = None, burst: int | None = None) -> ClientLimits:
    """The client limits in force, given the flags (None: the flag is not set).

    Releases without the flags ignore them. 0 stands for client-go's own default; a negative QPS switches the limiter
    off, and Burst then has no effect and is given as 0.
    """
    chosen_qps = qps if qps is not None and version.has_qps_flags else version.default_qps
    chosen_burst = burst if burst is not None and version.has_qps_flags else version.default_burst
    if chosen_qps < 0:
        return ClientLimits(qps=-1.0, burst=0)
    return ClientLimits(qps=chosen_qps or ZERO_QPS_MEANS, burst=chosen_burst or ZERO_BURST_MEANS)


def infer(
    *,
    series: Collection[str] = (),
    depth_priorities: Collection[str] | None = None,
    queue_has_controller_label: bool | None = None,
    controllers: Collection[str] = (),
) -> tuple[KubeRayVersion, ...]:
    """The releases that are compatible with what an operator exposes.

    What is present decides. What is absent refines only where it can: a store may have dropped it, so absences are
    disregarded as soon as they contradict what is present.

    Args:
        series: names of the series or samples seen.
        depth_priorities: values of the label ``priority`` on ``workqueue_depth``; empty when the series was seen
            without that label (stores drop a label whose value is empty), None when the series was not seen.
        queue_has_controller_label: whether the queue series carry ``controller``; None when none was seen.
        controllers: values seen of the label ``controller``.

    Returns:
        The compatible releases, oldest first. Empty when no known release exposes all that was seen: another
        operator, a build of one's own, or a window across an upgrade.
    """
    names = {metric.name for metric in map(find, series) if metric is not None}
    present = tuple(
        version
        for version in VERSIONS
        if _exposes_series(version, names)
        and _exposes_priorities(version, depth_priorities or ())
        and (not queue_has_controller_label or "controller" in version.depth_labels)
        and _runs_controllers(version, controllers)
    )
    refined = tuple(
        version
        for version in present
        if not _lacks_expected_series(version, names)
        and not (depth_priorities is not None and not depth_priorities and version.has_priority_queue)
        and not (queue_has_controller_label is False and "controller" in version.depth_labels)
    )
    return refined or present


def _parse_release(text: str) -> Release | None:
    """Major, minor and patch; None when the text names no release (a digest, a branch, "latest")."""
    tag = text.strip().rpartition("/")[2].partition("@")[0].rpartition(":")[2]
    match = _RELEASE.fullmatch(tag)
    if match is None:
        return None
    major, minor, patch = match.groups()
    return (int(major), int(minor), _ANY_PATCH if patch is None else int(patch))


def _first_release(text: str) -> Release:
    """The first release that a catalogue entry such as "1.4" or "1.3.1" names."""
    major, minor, patch = (*(int(part) for part in text.split(".")), 0)[:3]
    return (major, minor, patch)


def _exposes_series(version: KubeRayVersion, names: Collection[str]) -> bool:
    for metric in filter(None, map(find, names)):
        if metric.since is not None and version.first_release < _first_release(metric.since):
            return False
        if metric.until is not None and version.first_release >= _first_release(metric.until):
            return False
    return True


def _lacks_expected_series(version: KubeRayVersion, names: Collection[str]) -> bool:
    return any(
        companion in names and absent not in names and _exposes_series(version, (absent,))
        for absent, companion in _TELLING_ABSENCES
    )


def _exposes_priorities(version: KubeRayVersion, priorities: Collection[str]) -> bool:
    for priority in priorities:
        if priority == "" and "" not in version.depth_priorities:
            return False
        if priority != "" and not version.has_priority_queue:
            return False
    return True


def _runs_controllers(version: KubeRayVersion, controllers: Collection[str]) -> bool:
    """Whether each KubeRay controller seen exists under that label, and at least one is KubeRay's."""
    if not controllers:
        return True
    known = [label for label in controllers if label in _CONTROLLER_OF_LABEL]
    labels = {label for _, label in version.controller_labels}
    return bool(known) and labels.issuperset(known)


_CONTROLLER_OF_LABEL: Final = {
    label: controller for version in VERSIONS for controller, label in version.controller_labels
}
