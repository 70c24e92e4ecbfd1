"""Value types that describe what a reconcile does; the data is in ``programs`` (research: kuberay 4)."""

from typing import Literal, TypeAlias

import msgspec

__all__ = ["ExternalCall", "FirstPassRequests", "ReconcileProgram", "RequestCost", "Verb"]

Verb: TypeAlias = Literal["POST", "PUT", "PATCH", "DELETE"]


class RequestCost(msgspec.Struct, frozen=True, kw_only=True):
    """Writes of one sort that a reconcile makes in one phase.

    Args:
        phase: when they occur.
        verb: HTTP verb.
        kind: kind of the object, with "/status" for the status subresource.
        bucket: the token bucket that they pass through.
        count: how many, whatever the size of the cluster.
        count_per_worker_pod: how many more for each worker Pod concerned.
        holds_worker: whether the worker waits for them; event writes have a goroutine of their own.
        only_when: the condition under which they occur; "" means always.
    """

    phase: str
    verb: Verb
    kind: str
    bucket: str
    count: int = 0
    count_per_worker_pod: int = 0
    holds_worker: bool = True
    only_when: str = ""

    def requests(self, worker_pods: int) -> int:
        """How many requests one occurrence makes when it concerns ``worker_pods`` worker Pods."""
        return self.count + self.count_per_worker_pod * worker_pods


class ExternalCall(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP call to a Ray head that holds the worker and is in no ``rest_client_*`` series.

    Args:
        phase: when it occurs; "every-pass" is the polling that the requeue repeats.
        method: HTTP method.
        target: what is asked.
        count: how many per occurrence.
        per_live_cluster: whether ``count`` is per live RayCluster (two during an upgrade of a RayService).
        only_when: the condition under which it occurs; "" means always.
    """

    phase: str
    method: Literal["GET", "POST", "PUT"]
    target: str
    count: int = 1
    per_live_cluster: bool = False
    only_when: str = ""


class ReconcileProgram(msgspec.Struct, frozen=True, kw_only=True):
    """What one controller does.

    Args:
        controller: the controller, as in the label from KubeRay 1.1 on.
        kind: kind of its key.
        requeue_seconds: timer after a pass that changed nothing; None: it waits for events.
        settle_requeue_seconds: timer after a pass that wrote or still waits; None: the same as the other.
        requests: its writes.
        external_calls: its calls to Ray heads.
        feature_gate: the gate it needs; "" when it always runs.
        since: first KubeRay release that has it.
        note: what else matters.
    """

    controller: str
    kind: str
    requeue_seconds: float | None
    settle_requeue_seconds: float | None = None
    requests: tuple[RequestCost, ...]
    external_calls: tuple[ExternalCall, ...] = ()
    feature_gate: str = ""
    since: str = "1.0"
    note: str = ""

    @property
    def makes_external_calls(self) -> bool:
        """Whether a worker may be held by something other than the API server and CPU."""
        return bool(self.external_calls)

    @property
    def polling_calls(self) -> tuple[ExternalCall, ...]:
        """The calls that every pass repeats."""
        return tuple(call for call in self.external_calls if call.phase == "every-pass")

    def requests_in(self, phase: str) -> tuple[RequestCost, ...]:
        """The writes of one phase, conditional ones included."""
        return tuple(request for request in self.requests if request.phase == phase)


class FirstPassRequests(msgspec.Struct, frozen=True, kw_only=True):
    """Writes of a RayCluster's first pass: those that hold the worker, by bucket, and event writes aside."""

    by_bucket: tuple[tuple[str, int], ...]
    event_writes: int

    @property
    def held(self) -> int:
        """All requests that the worker waits for, one after another."""
        return sum(count for _, count in self.by_bucket)

    def in_bucket(self, bucket: str) -> int:
        """Requests through one bucket; 0 when there are none."""
        return dict(self.by_bucket).get(bucket, 0)
