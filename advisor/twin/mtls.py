"""The controller ``raycluster-mtls`` in the twin (gate RayClusterMTLS, KubeRay 1.7).

It is keyed by RayCluster and has one worker whatever the flag says (research: kuberay 2.1). Its writes and timers are
those of knowledge: programs: a finalizer, two Issuers and three Certificates at first, the removal of three Secrets in
the end. Meanwhile the RayCluster controller creates no Pod and fails with "mTLS secrets not ready" (research: kuberay
3.4, 4.6). It is woken by any event of a RayCluster, status writes included, and by those of its Issuers and
Certificates; a Secret wakes nobody, so that backoff brings the RayCluster back. The addresses of running Pods stand in
the certificates of head and workers, which are therefore asked for again when other Pods run (KubeRay 1.7.0).

The plain reading is that every RayCluster asks for TLS with certificates of its own; that other Pods are another number
of them; that cert-manager writes Secret and status of each certificate some time after it was asked to; and that a
deleted RayCluster goes at once, while its Secrets are still being removed.
"""

from collections.abc import Generator

from advisor.knowledge.defaults import MTLS_CHECK_SECONDS, MTLS_NOT_READY_SECONDS
from advisor.queueing.outcome import Outcome
from advisor.twin.client import Client, Request, Status
from advisor.twin.cluster import Cluster
from advisor.twin.engine import Engine
from advisor.twin.events import EventRecorder
from advisor.twin.parameters import WorldParameters
from advisor.twin.watch import Watch
from advisor.twin.watchedclusters import WatchedRayClusters
from advisor.twin.workers import FAILED, GONE, Reconcile, TwinController
from advisor.twin.world import ServiceLine

__all__ = ["Certificates"]

_SECOND_NS = 1_000_000_000
_AGAIN = Outcome(requeue=True)
_NOT_READY = Outcome(requeue_after_ns=round(MTLS_NOT_READY_SECONDS * _SECOND_NS))
_READY = Outcome(requeue_after_ns=round(MTLS_CHECK_SECONDS * _SECOND_NS))
_ERROR = "mTLS secrets not ready: certificate ray-head-cert-{} is not ready"
_LEAVES = ("head", "workers")
_SECRETS = 3
# Of cert-manager for each certificate: its Secret and its status.
_WRITES = 2


class _Tls:
    """What one cluster has.

    Attributes:
        key: of the cluster.
        has_finalizer: whether it has this controller's.
        made: Issuers and Certificates created, of five.
        asked: how often certificates were asked for, which tells answers to old requests.
        written: writes of cert-manager still to be seen.
        pods: running Pods in the certificates of head and workers.
    """

    __slots__ = ("asked", "has_finalizer", "key", "made", "pods", "written")

    def __init__(self, key: str) -> None:
        self.key = key
        self.has_finalizer = False
        self.made = 0
        self.asked = 0
        self.written = 0
        self.pods = (0, 0)

    @property
    def is_ready(self) -> bool:
        """Whether all is issued, as the operator has seen it."""
        return self.asked > 0 and self.written == 0


class Certificates:
    """The certificates of all RayClusters."""

    def __init__(
        self,
        engine: Engine,
        client: Client,
        watch: Watch,
        line: ServiceLine,
        clusters: WatchedRayClusters,
        events: EventRecorder,
        world: WorldParameters,
    ) -> None:
        self._engine = engine
        self._watch = watch
        self._line = line
        self._clusters = clusters
        self._events = events
        self._issue_ns = round(world.certificate_seconds * _SECOND_NS)
        self._write_ns = round(world.server_work_seconds * _SECOND_NS)
        self._by_key: dict[str, _Tls] = {}
        issuer, certificate = client.request("POST", "Issuer"), client.request("POST", "Certificate")
        self._first = (issuer, certificate, issuer, certificate, certificate)
        self._put_cluster = client.request("PUT", "RayCluster")
        self._put_certificate = client.request("PUT", "Certificate")
        self._delete_secret = client.request("DELETE", "Secret")
        clusters.unready = self._unready

    def connect(self, controller: TwinController) -> None:
        """Let events wake the keys of a controller from now on."""
        self._controller = controller
        self._clusters.on_any = controller.wake

    def settle(self) -> None:
        """What stands at the start of a run has its certificates since long; their timers are evenly spread."""
        clusters = self._clusters.by_key
        for place, (key, cluster) in enumerate(clusters.items()):
            self._by_key[key] = tls = _Tls(key)
            tls.has_finalizer, tls.made, tls.asked, tls.pods = True, len(self._first), 1, _running(cluster)
            self._controller.add_after(round((place + 0.5) / len(clusters) * MTLS_CHECK_SECONDS * _SECOND_NS), key)

    def list_all(self) -> list[str]:
        """The keys of all clusters that are there, and of those whose Secrets are still to be removed."""
        there = [key for key, cluster in self._clusters.by_key.items() if not cluster.is_deleted]
        return [*there, *(key for key in self._by_key if key not in self._clusters.by_key)]

    def reconcile(self, key: str) -> Reconcile:
        """One reconcile of the certificates of a cluster."""
        cluster = self._clusters.by_key.get(key)
        if cluster is None or not cluster.seen:
            return (yield from self._clean_up(key))
        tls = self._by_key.get(key)
        if tls is None:
            tls = self._by_key[key] = _Tls(key)
        if not tls.has_finalizer:
            return (yield from self._add_finalizer(cluster, tls))
        is_new = tls.made < len(self._first)
        if not (yield from (self._create(cluster, tls) if is_new else self._update(cluster, tls))):
            return FAILED
        self._events.record(key, "tls-ready" if tls.is_ready else "tls-waiting")
        return _READY if tls.is_ready else _NOT_READY

    def _unready(self, cluster: Cluster) -> str:
        tls = self._by_key.get(cluster.key)
        return "" if tls is not None and tls.is_ready else _ERROR.format(cluster.key.rpartition("/")[2])

    def _add_finalizer(self, cluster: Cluster, tls: _Tls) -> Reconcile:
        version = cluster.seen_version
        if (yield self._put_cluster) != Status.OK:
            return FAILED
        if cluster.version != version or cluster.is_deleted:
            self._clusters.conflicts += 1
            if self._engine.observer is not None:
                self._engine.observer.conflicted(self._engine.now_ns, "RayCluster", tls.key, self._controller.name)
            return FAILED
        tls.has_finalizer = True
        self._clusters.write_metadata(cluster)
        return _AGAIN

    def _create(self, cluster: Cluster, tls: _Tls) -> Generator[Request | int, int, bool]:
        """Issuers and Certificates that are not there yet, one after another; False where one cannot be created."""
        pods = _running(cluster)
        while tls.made < len(self._first):
            if (yield self._first[tls.made]) != Status.OK:
                return False
            tls.made += 1
            self._watch.deliver(self._see, tls)
        tls.pods = pods
        self._ask(tls, _SECRETS)
        return True

    def _update(self, cluster: Cluster, tls: _Tls) -> Generator[Request | int, int, bool]:
        """The certificates of head and workers whose Pods are others than those that it names."""
        pods = _running(cluster)
        changed = [leaf for leaf, now, then in zip(_LEAVES, pods, tls.pods, strict=True) if now != then]
        for leaf in changed:
            if (yield self._put_certificate) != Status.OK:
                return False
            self._events.record(tls.key, f"tls-{leaf}")
        if changed:
            tls.pods = pods
            self._ask(tls, len(changed))
        return True

    def _clean_up(self, key: str) -> Reconcile:
        """The cluster is going: remove its Secrets, then the finalizer."""
        if key in self._by_key:
            for request in (*[self._delete_secret] * _SECRETS, self._put_cluster):
                if (yield request) != Status.OK:
                    return FAILED
            self._by_key.pop(key, None)
            self._events.record(key, "tls-removed")
        return GONE

    # From here on: cert-manager, which is not the operator.

    def _ask(self, tls: _Tls, certificates: int) -> None:
        tls.asked += 1
        tls.written = certificates * _WRITES
        self._engine.at(self._engine.now_ns + self._issue_ns, self._issue, (tls, tls.asked, tls.written))

    def _issue(self, asked: tuple[_Tls, int, int]) -> None:
        tls, number, writes = asked
        for _ in range(writes):
            self._engine.at(self._line.finish_ns(self._engine.now_ns, self._write_ns), self._written, (tls, number))

    def _written(self, written: tuple[_Tls, int]) -> None:
        self._watch.deliver(self._see_written, written)

    def _see_written(self, written: tuple[_Tls, int]) -> None:
        tls, number = written
        if number == tls.asked:
            tls.written -= 1
        self._see(tls)

    def _see(self, tls: _Tls) -> None:
        self._controller.wake(tls.key)


def _running(cluster: Cluster) -> tuple[int, int]:
    """Running Pods that the operator sees: the head, and workers."""
    return int(cluster.seen_head_running), cluster.seen_running - cluster.seen_head_running
