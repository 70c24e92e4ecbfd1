"""Scale expectations: Pods that KubeRay created or deleted and whose change its cache may not show yet.

A group with an expectation that is not met is skipped, without an error and without a requeue of its own: the next try
is the next event or the periodic reconcile. So a create that is lost costs up to 300 s, not 30 s, and a Pod that stays
in Terminating holds its group up for as long as it does (research: kuberay 4.5). They are lost on a restart.
"""

import enum
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = ["CREATE_TIMEOUT_NS", "HEAD_GROUP", "ScaleAction", "ScaleExpectations", "UnmetExpectation"]

CREATE_TIMEOUT_NS = 30 * NANOSECONDS_PER_SECOND
HEAD_GROUP = ""


class ScaleAction(enum.StrEnum):
    """What was done to a Pod."""

    CREATE = "create"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class UnmetExpectation:
    """One expectation that holds its group up.

    Attributes:
        cluster: key of the RayCluster.
        group: worker group; `HEAD_GROUP` for the head.
        pod: key of the Pod.
        action: what the cache does not show yet.
        age_ns: time since it was recorded.
    """

    cluster: str
    group: str
    pod: str
    action: ScaleAction
    age_ns: int


class _Expected(NamedTuple):
    """What is expected of one Pod, and since when."""

    action: ScaleAction
    since_ns: int

    def is_met(self, now_ns: int, *, is_seen: bool) -> bool:
        """Whether the cache shows it, or, for a create, more than 30 s have passed."""
        if self.action is ScaleAction.DELETE:
            return not is_seen
        return is_seen or now_ns - self.since_ns > CREATE_TIMEOUT_NS


class ScaleExpectations:
    """Expectations of all RayClusters of one operator.

    Clusters and Pods are given by their ``namespace/name`` key, times in nanoseconds. A cache view is anything that
    tells by ``in`` which Pods the operator's cache has, such as an informer's cache.
    """

    __slots__ = ("_clusters", "_uids")

    def __init__(self) -> None:
        self._clusters: dict[str, dict[str, dict[str, _Expected]]] = {}
        self._uids: dict[str, str] = {}

    def expect_create(self, now_ns: int, cluster: str, group: str, pod: str) -> None:
        """Record a Pod that was just created; it replaces what was expected of it."""
        self._record(cluster, group, pod, _Expected(ScaleAction.CREATE, now_ns))

    def expect_delete(self, now_ns: int, cluster: str, group: str, pod: str) -> None:
        """Record a Pod whose deletion was just asked for; it replaces what was expected of it."""
        self._record(cluster, group, pod, _Expected(ScaleAction.DELETE, now_ns))

    def is_satisfied(self, now_ns: int, cluster: str, group: str, cache_view: Container[str]) -> bool:
        """Whether nothing is left to wait for in the group. What is met is dropped for good.

        The check goes in the order of recording and ends at the first Pod that is not met; those after it are kept.
        """
        groups = self._clusters.get(cluster)
        expected = groups.get(group) if groups is not None else None
        if groups is None or expected is None:
            return True
        met: list[str] = []
        for pod, one in expected.items():
            if not one.is_met(now_ns, is_seen=pod in cache_view):
                break
            met.append(pod)
        for pod in met:
            del expected[pod]
        if expected:
            return False
        del groups[group]
        return True

    def see_cluster(self, cluster: str, uid: str | None) -> None:
        """Tell which RayCluster of that key the cache has; None or another uid than before drops what is expected.

        KubeRay compares no uid: it forgets a cluster when a reconcile does not find it. With `forget_cluster` alone
        the behaviour is exactly that.
        """
        if uid is None:
            self.forget_cluster(cluster)
            return
        if self._uids.get(cluster, uid) != uid:
            self.forget_cluster(cluster)
        self._uids[cluster] = uid

    def forget_cluster(self, cluster: str) -> None:
        """Drop all that is expected of a cluster: it is gone, or all its Pods were deleted at once."""
        self._clusters.pop(cluster, None)
        self._uids.pop(cluster, None)

    def unmet(self, now_ns: int, cache_view: Container[str]) -> Iterator[UnmetExpectation]:
        """All that is not met now, by cluster and group; drops nothing."""
        for cluster, groups in self._clusters.items():
            for group, expected in groups.items():
                for pod, one in expected.items():
                    if not one.is_met(now_ns, is_seen=pod in cache_view):
                        yield UnmetExpectation(cluster, group, pod, one.action, now_ns - one.since_ns)

    def _record(self, cluster: str, group: str, pod: str, one: _Expected) -> None:
        self._clusters.setdefault(cluster, {}).setdefault(group, {})[pod] = one
