"""An onlooker that keeps all that a real operator would show: what its client counts, its log, and its objects."""

from typing import TYPE_CHECKING

from advisor.knowledge.logs import (
    CONFLICT_TEXT,
    ERROR_MESSAGE,
    EXPECTATION_FIELD,
    GROUP_EXPECTATION_TEXT,
    LEASE_ACQUIRED_MESSAGE,
    POD_CREATED_MESSAGES,
    REQUEUE_MESSAGE,
    STATUS_CONFLICT_MESSAGE,
    THROTTLE_LINE_INTERVAL_SECONDS,
    THROTTLE_LINE_MIN_WAIT_SECONDS,
    THROTTLE_MESSAGES,
)
from advisor.knowledge.programs import FIXED_WORKERS
from advisor.queueing.controller import Work
from advisor.queueing.outcome import Outcome
from advisor.twin.clientseries import ClientSeries
from advisor.twin.loglines import LogLines, Stamps
from advisor.twin.objectlines import ObjectLines
from advisor.twin.observer import ClusterLook, PodLook

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["API_SERVER", "Watcher"]

API_SERVER = "10.96.0.1:443"
_MAIN = "raycluster"
_OK = 200
# A reconcile that failed by itself and took this long has waited for a dashboard, as no other call is so slow.
_TIMEOUT_NS = 1_000_000_000
_REASONS = {
    403: "{} is forbidden: exceeded quota",
    429: "the server has received too many requests and has asked us to try again later",
}
_THROTTLE_MESSAGE = THROTTLE_MESSAGES[-1].prefix
_FIRST_MESSAGES = {
    "raycluster": ("Reconciling Ingress", "Reconciling Auth"),
    "rayjob": ("RayJob",),
    "rayservice": ("Reconciling the Serve applications for active cluster",),
}
_LAST_MESSAGES = {"rayjob": "updateRayJobStatus", "rayservice": "checkIfNeedSubmitServeApplications"}
_FAILED_FUNCTION = (
    "github.com/ray-project/kuberay/ray-operator/controllers/ray.(*RayClusterReconciler).reconcilePods-fm"
)
_PATHS = {
    "Pod": "api/v1/namespaces/{}/pods",
    "Service": "api/v1/namespaces/{}/services",
    "RayCluster": "apis/ray.io/v1/namespaces/{}/rayclusters",
    "RayJob": "apis/ray.io/v1/namespaces/{}/rayjobs",
    "RayService": "apis/ray.io/v1/namespaces/{}/rayservices",
    "Job": "apis/batch/v1/namespaces/{}/jobs",
}


class _Reconcile:
    """One in progress, as its log tells of it."""

    __slots__ = ("began_ns", "controller", "failure", "is_conflict", "key", "owner", "wrote_status")

    def __init__(self, began_ns: int, controller: str, key: str, owner: str) -> None:
        self.began_ns = began_ns
        self.controller = controller
        self.key = key
        self.owner = owner
        self.failure = ""
        self.is_conflict = False
        self.wrote_status = False


class Watcher:
    """Put one on a simulation's engine before the run begins: `simulation.engine.observer = watcher`.

    Args:
        start_ms: Unix milliseconds at which the run begins.
        keeps_lines: whether there are a log and object changes; without them a run takes half the time.

    Attributes:
        client: what the client has counted since the process started.
        log: lines of the log.
        objects: lines of object changes, and what exists.
        process_started_ns: when the process started; before the run, and later after a restart.
        on_restart: called when another process takes over.
    """

    def __init__(self, start_ms: int, *, keeps_lines: bool = True) -> None:
        self.stamps = Stamps(start_ms)
        self.client = ClientSeries()
        self.log = LogLines(self.stamps, is_kept=keeps_lines)
        self.objects = ObjectLines(self.stamps, keeps_lines)
        self.process_started_ns = -30_000_000_000
        self.on_restart: Callable[[], None] = lambda: None
        self._workers: dict[str, int] = {}
        self._running: dict[tuple[str, str], _Reconcile] = {}
        self._calls: dict[object, tuple[_Reconcile, str, str]] = {}
        self._sending: tuple[_Reconcile, str, str] | None = None
        self._throttle_line_ns: int | None = None

    def leads(self, now_ns: int, workers: dict[str, int]) -> None:
        """The process holds the lease, and its controllers start with so many workers each."""
        self._workers = workers
        self.log.plain(now_ns, "", LEASE_ACQUIRED_MESSAGE, lock="kuberay/ray-operator-leader")
        for controller, count in workers.items():
            self.log.workers_started(now_ns, controller, count)

    def resized(self, concurrency: int) -> None:
        """The next process has so many workers for each controller whose number can be set."""
        self._workers = {name: FIXED_WORKERS.get(name, concurrency) for name in self._workers}

    def began(self, now_ns: int, controller: str, work: Work) -> None:
        """See `Observer`."""
        owner = self.log.owner(controller, work.key)
        self._running[controller, work.key] = _Reconcile(now_ns, controller, work.key, owner)
        for message in _FIRST_MESSAGES.get(controller, ()):
            self.log.of(now_ns, controller, owner, message)

    def ended(self, now_ns: int, controller: str, work: Work, outcome: Outcome) -> None:
        """See `Observer`."""
        one = self._running.pop((controller, work.key))
        if outcome.failure is not None:
            self._failed(now_ns, one)
        elif controller in _LAST_MESSAGES:
            self.log.of(now_ns, controller, one.owner, _LAST_MESSAGES[controller])
        elif outcome.requeue_after_ns and not one.wrote_status:
            seconds = round(outcome.requeue_after_ns / 1e9)
            self.log.of(now_ns, controller, one.owner, REQUEUE_MESSAGE, seconds=seconds)

    def sent(self, now_ns: int, controller: str, work: Work, request: tuple[str, str]) -> None:
        """See `Observer`."""
        one = self._running[controller, work.key]
        self._sending = (one, *request)
        if request == ("PUT", "RayCluster") and controller == _MAIN:
            one.wrote_status = True
            name = work.key.rpartition("/")[2]
            self.log.of(now_ns, controller, one.owner, "updateRayClusterStatus", name=name)

    def answered(self, now_ns: int, controller: str, work: Work, request: tuple[str, str], status: int) -> None:
        """See `Observer`."""
        one = self._running[controller, work.key]
        verb, kind = request
        if status != _OK:
            one.failure = _refusal(one, verb, kind, status, has_head=self.objects.has_pods(work.key))
        elif request == ("POST", "Service"):
            name = f"{work.key.rpartition('/')[2]}-head-svc"
            self.log.of(now_ns, controller, one.owner, "Created service for RayCluster", name=name)
        elif request == ("DELETE", "Pod"):
            self.log.of(now_ns, controller, one.owner, "Deleted worker Pod for RayCluster")

    def asked(self, now_ns: int, call: object) -> None:
        """See `Observer`."""
        self.client.asked(now_ns, call)
        if self._sending is not None:
            # Whoever sends from a reconcile says so just before.
            self._calls[call] = self._sending
            self._sending = None

    def passed(self, now_ns: int, call: object, verb: str, *, is_limited: bool) -> None:
        """See `Observer`."""
        waited_ns = self.client.passed(now_ns, call, verb, is_limited=is_limited)
        if waited_ns > THROTTLE_LINE_MIN_WAIT_SECONDS * 1e9 and call in self._calls:
            self._throttled(now_ns, waited_ns, *self._calls[call])

    def replied(self, now_ns: int, call: object, verb: str, status: int, *, is_final: bool) -> None:
        """See `Observer`."""
        self.client.replied(now_ns, call, verb, status, is_final=is_final)
        if is_final:
            self._calls.pop(call, None)

    def conflicted(self, now_ns: int, kind: str, key: str, controller: str | None = None) -> None:
        """See `Observer`."""
        self.client.conflicted()
        controller = controller or kind.lower()
        one = self._running[controller, key]
        name = key.rpartition("/")[2]
        one.failure = f'Operation cannot be fulfilled on {kind.lower()}s.ray.io "{name}": {CONFLICT_TEXT}'
        one.is_conflict = True
        if controller == _MAIN:
            self.log.of(now_ns, _MAIN, one.owner, STATUS_CONFLICT_MESSAGE, name=name, error=one.failure)
        elif kind == "RayJob":
            self.log.of(now_ns, controller, one.owner, "Failed to update RayJob status", error=one.failure)

    def exists_already(self, now_ns: int) -> None:  # noqa: ARG002 - as all the others have it
        """See `Observer`."""
        self.client.exists_already()

    def fails(self, now_ns: int, controller: str, key: str, error: str) -> None:  # noqa: ARG002 - likewise
        """See `Observer`."""
        self._running[controller, key].failure = error

    def held_back(self, now_ns: int, key: str) -> None:
        """See `Observer`."""
        text = f"{GROUP_EXPECTATION_TEXT}, reconcile the group later"
        fields = {"worker__group": "g0", EXPECTATION_FIELD: text}
        self.log.of(now_ns, _MAIN, self._running[_MAIN, key].owner, "reconcilePods", **fields)

    def cluster_changed(self, now_ns: int, event: str, cluster: ClusterLook) -> None:
        """See `Observer`."""
        self.objects.cluster_changed(now_ns, event, cluster)

    def pod_changed(self, now_ns: int, event: str, pod: PodLook) -> None:
        """See `Observer`."""
        self.objects.pod_changed(now_ns, event, pod)
        if event == "ADDED" and (one := self._running.get((_MAIN, pod.cluster))) is not None:
            message = POD_CREATED_MESSAGES[0 if pod.is_head else 1]
            self.log.of(now_ns, _MAIN, one.owner, message, name=self.objects.pod_name(pod.pod))

    def owner_changed(self, now_ns: int, event: str, kind: str, key: str, state: str | None) -> None:
        """See `Observer`."""
        self.objects.owner_changed(now_ns, event, kind, key, state)

    def restarted(self, now_ns: int) -> None:
        """See `Observer`."""
        self.client = ClientSeries()
        self.process_started_ns = now_ns
        self._running.clear()
        self._calls.clear()
        self._sending = None
        self._throttle_line_ns = None
        self.on_restart()
        self.leads(now_ns, self._workers)

    def _failed(self, now_ns: int, one: _Reconcile) -> None:
        one.failure = one.failure or _failure_without_request(one, now_ns)
        if not one.is_conflict and one.controller == _MAIN:
            fields = {"function__name": _FAILED_FUNCTION, "error": one.failure}
            self.log.of(now_ns, _MAIN, one.owner, "Error reconcile resources", level="error", **fields)
            self.log.of(now_ns, _MAIN, one.owner, "Reconciliation error", error=one.failure)
        self.log.of(now_ns, one.controller, one.owner, ERROR_MESSAGE, level="error", error=one.failure)

    def _throttled(self, now_ns: int, waited_ns: int, one: _Reconcile, verb: str, kind: str) -> None:
        """A wait in the bucket, of which the process writes one in a while only."""
        last_ns = self._throttle_line_ns
        if last_ns is not None and now_ns - last_ns < THROTTLE_LINE_INTERVAL_SECONDS * 1e9:
            return
        self._throttle_line_ns = now_ns
        path = _PATHS.get(kind, f"apis/namespaces/{{}}/{kind.lower()}s").format(one.key.rpartition("/")[0])
        self.log.of(
            now_ns,
            one.controller,
            one.owner,
            _THROTTLE_MESSAGE,
            delay=waited_ns / 1e9,
            reason="client-side throttling, not priority and fairness",
            verb=verb,
            URL=f"https://{API_SERVER}/{path}",
        )


def _failure_without_request(one: _Reconcile, now_ns: int) -> str:
    """The error of a reconcile whose requests were all answered well."""
    namespace, _, name = one.key.rpartition("/")
    if now_ns - one.began_ns >= _TIMEOUT_NS:
        return f'Get "http://{name}-head-svc.{namespace}.svc.cluster.local:8265": context deadline exceeded'
    return f"found 0 head. cluster name {name}, namespace {namespace}"


def _refusal(one: _Reconcile, verb: str, kind: str, status: int, *, has_head: bool) -> str:
    """The error that a request's answer becomes."""
    why = _REASONS.get(status, "Internal error occurred").format(f"{kind.lower()}s")
    if (verb, kind) == ("POST", "Pod"):
        role = "Worker" if has_head else "Head"
        return f"FailedCreate{role}Pod\n{why}"
    return f"{verb} {kind} of {one.key.rpartition('/')[2]}: {why}"
