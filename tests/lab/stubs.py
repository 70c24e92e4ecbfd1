"""An API server in memory, on loopback: as much of Kubernetes' own as the lab's client uses, and what tests script."""

import copy
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.lab.cluster import Cluster
from tests.lab.rayobjects import ray_object

__all__ = [
    "PODS",
    "RAYCLUSTERS",
    "TOKEN",
    "ApiServer",
    "Order",
    "Request",
    "api_server",
    "connected",
    "make_ready",
    "pod",
    "raycluster",
]

TOKEN: Final = "made-up"
PODS: Final = "api/v1/pods"
RAYCLUSTERS: Final = "apis/ray.io/v1/rayclusters"
_MERGE_PATCH: Final = "application/merge-patch+json"
_CLUSTER_SCOPED: Final = frozenset({"nodes", "namespaces", "customresourcedefinitions"})

Body = dict[str, Any]
Order = Literal["end", "break", "expire"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any


@dataclass(slots=True)
class _Refusal:
    method: str
    path: re.Pattern[str]
    status: int
    text: str
    left: int
    then: Callable[[], object]


class _Key(NamedTuple):
    collection: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class _Change:
    version: int
    event: str
    key: _Key
    body: Body


@dataclass(frozen=True, slots=True)
class _Target:
    """What a path names: a collection, in one namespace or all, or one object."""

    collection: str
    namespace: str
    name: str

    @classmethod
    def of(cls, path: str) -> "_Target":
        parts = path.strip("/").split("/")
        depth = 2 if parts[0] == "api" else 3
        prefix, rest, namespace = parts[:depth], parts[depth:], ""
        if len(rest) > 2 and rest[0] == "namespaces":
            namespace, rest = rest[1], rest[2:]
        return cls("/".join([*prefix, rest[0]]), namespace, rest[1] if len(rest) > 1 else "")

    @property
    def key(self) -> _Key:
        return _Key(self.collection, self.namespace, self.name)

    def holds(self, key: _Key) -> bool:
        return key.collection == self.collection and self.namespace in ("", key.namespace)


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for the server."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "ApiServer"  # type: ignore[mutable-override]

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""

    def _answer(self) -> None:
        url = urlsplit(self.path)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(data) if data else None
        request = Request(self.command, url.path, dict(parse_qsl(url.query)), dict(self.headers), body)
        self.server.requests.append(request)
        status, answer = self.server.answer(request)
        if answer is None:
            self._watch(request)
        else:
            self._send(status, answer)

    def _send(self, status: int, answer: Body | str) -> None:
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _watch(self, request: Request) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        order = "break"
        for order in self.server.follow(request, self._chunk):
            if order == "expire":
                status = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410}
                self._chunk({"type": "ERROR", "object": status})
        if order == "break":
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, event: Body) -> None:
        data = json.dumps(event).encode() + b"\n"
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


class ApiServer(ThreadingHTTPServer):
    """Objects with versions, and watches of them.

    Attributes:
        requests: all that came, in order.
        ready: what ``/readyz`` says.
        faults: what was last put to ``/faults``.
        admit: changes each object before it is kept, as the operator and kwok would in time.
        linger: lists during which what is deleted stays, Terminating.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []
        self.ready = True
        self.faults: Any = None
        self.admit: Callable[[Body], None] = lambda _: None
        self.linger = 0
        self.watching = 0
        self._objects: dict[_Key, Body] = {}
        self._changes: list[_Change] = []
        self._version = 100
        self._refusals: list[_Refusal] = []
        self._orders: list[Order] = []
        self._changed = threading.Condition()
        self._closing = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""

    @property
    def url(self) -> str:
        """Where it serves."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def version(self) -> str:
        """The version of the last change."""
        return str(self._version)

    # What tests do.

    def refuse(
        self,
        method: str,
        path: str,
        status: int,
        text: str,
        *,
        times: int = 1_000_000,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Answer requests whose path holds a match with an error, so many times, and do something each time."""
        with self._changed:
            self._refusals.append(_Refusal(method, re.compile(path), status, text, times, then))

    def put(self, collection: str, body: Body) -> str:
        """Create or replace an object, as another client would; its version."""
        metadata = body["metadata"]
        with self._changed:
            return self._keep(_Key(collection, metadata.get("namespace", ""), metadata["name"]), copy.deepcopy(body))

    def remove(self, collection: str, namespace: str, name: str) -> str:
        """Delete an object, as another client would; the version of its end."""
        with self._changed:
            self._drop(_Key(collection, namespace, name))
            return self.version

    def objects(self, collection: str) -> list[Body]:
        """What is there, in order of namespace and name."""
        with self._changed:
            return [copy.deepcopy(one) for key, one in sorted(self._objects.items()) if key.collection == collection]

    def order(self, order: Order) -> None:
        """Make all open watches end, break off, or say that their version has expired, after what they have to tell."""
        with self._changed:
            self._orders.append(order)
            self._changed.notify_all()

    def close(self) -> None:
        """End watches and serving."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self.shutdown()
        self.server_close()

    def sent(self, method: str, path: str = "", *, watch: bool = False) -> list[Request]:
        """Requests of a method whose path holds a text; watches, or all others."""
        return [
            one
            for one in list(self.requests)
            if one.method == method and path in one.path and (one.query.get("watch") == "true") == watch
        ]

    # What requests do.

    def answer(self, request: Request) -> tuple[int, Body | str | None]:
        """Status and body; no body is a watch."""
        with self._changed:
            for refusal in self._refusals:
                if refusal.method == request.method and refusal.left and refusal.path.search(request.path):
                    refusal.left -= 1
                    refusal.then()
                    return refusal.status, refusal.text
            if request.path == "/faults":
                # The proxy's, which asks for no token.
                self.faults = request.body
                return 200, {}
            if request.headers.get("Authorization") != f"Bearer {TOKEN}":
                return 401, _status(401, "Unauthorized")
            if request.path == "/readyz":
                return (200, "ok") if self.ready else (500, "etcd failed")
            return (200, None) if request.query.get("watch") == "true" else self._act(request)

    def _act(self, request: Request) -> tuple[int, Body]:
        act = {"GET": self._get, "POST": self._post, "PATCH": self._patch, "DELETE": self._delete}[request.method]
        status, body = act(request, _Target.of(request.path))
        return status, copy.deepcopy(body)

    def follow(self, request: Request, send: Callable[[Body], None]) -> Iterator[Order]:
        """Send changes after a version as they come; at most one order, after which the watch is over."""
        target, version = _Target.of(request.path), int(request.query["resourceVersion"])
        with self._changed:
            obeyed = len(self._orders)
            self.watching += 1
        try:
            while True:
                with self._changed:
                    fresh = [one for one in self._changes if one.version > version and target.holds(one.key)]
                    given = self._orders[obeyed : obeyed + 1]
                    if not fresh and not given:
                        if self._closing:
                            return
                        self._changed.wait(1.0)
                        continue
                for one in fresh:
                    send({"type": one.event, "object": one.body})
                    version = one.version
                if given:
                    yield given[0]
                    return
        finally:
            with self._changed:
                self.watching -= 1

    def _get(self, request: Request, target: _Target) -> tuple[int, Body]:
        if target.name:
            found = self._objects.get(target.key)
            return (404, _status(404, f'"{target.name}" not found')) if found is None else (200, found)
        self._linger(target)
        wanted = dict(pair.split("=") for pair in request.query.get("labelSelector", "").split(",") if pair)
        items = [
            one
            for key, one in sorted(self._objects.items())
            if target.holds(key) and wanted.items() <= one["metadata"].get("labels", {}).items()
        ]
        limit = int(request.query.get("limit", len(items)))
        return 200, {"kind": "List", "metadata": {"resourceVersion": self.version}, "items": items[:limit]}

    def _post(self, request: Request, target: _Target) -> tuple[int, Body]:
        key = target.key._replace(name=request.body["metadata"]["name"])
        if key in self._objects:
            return 409, _status(409, f'"{key.name}" already exists')
        namespaced = target.collection.rpartition("/")[2] not in _CLUSTER_SCOPED
        if namespaced and request.body["metadata"].get("namespace") != target.namespace:
            return 400, _status(400, "the namespace of the object does not match the namespace on the request")
        self._keep(key, request.body)
        return 201, self._objects[key]

    def _patch(self, request: Request, target: _Target) -> tuple[int, Body]:
        if request.headers.get("Content-Type") != _MERGE_PATCH:
            return 415, _status(415, "the body of the request was in an unknown format")
        if target.key not in self._objects:
            return 404, _status(404, f'"{target.name}" not found')
        body = _merged(self._objects[target.key], request.body)
        self._keep(target.key, body)
        if "deletionTimestamp" in body["metadata"] and not body["metadata"].get("finalizers") and not self.linger:
            self._drop(target.key)
        return 200, body

    def _delete(self, request: Request, target: _Target) -> tuple[int, Body]:
        keys = [key for key in self._objects if target.holds(key) and target.name in ("", key.name)]
        if target.name and not keys:
            return 404, _status(404, f'"{target.name}" not found')
        for key in keys:
            if self._objects[key]["metadata"].get("finalizers") or self.linger:
                body = _merged(self._objects[key], {"metadata": {"deletionTimestamp": _now()}})
                self._keep(key, body)
            else:
                self._drop(key)
        return 200, _status(200, "deleted")

    def _linger(self, target: _Target) -> None:
        """A list brings what is Terminating nearer to its end."""
        gone = [
            key
            for key, one in self._objects.items()
            if "deletionTimestamp" in one["metadata"] and not one["metadata"].get("finalizers") and target.holds(key)
        ]
        if gone and self.linger:
            self.linger -= 1
        elif gone:
            for key in gone:
                self._drop(key)

    def _keep(self, key: _Key, body: Body) -> str:
        old = self._objects.get(key)
        metadata: Body = body["metadata"]
        metadata.setdefault("creationTimestamp", _now())
        changed = old is None or old.get("spec") != body.get("spec")
        metadata["generation"] = (old["metadata"]["generation"] if old else 0) + changed
        self.admit(body)
        self._note("ADDED" if old is None else "MODIFIED", key, body)
        self._objects[key] = body
        return self.version

    def _drop(self, key: _Key) -> None:
        self._note("DELETED", key, self._objects.pop(key))

    def _note(self, event: str, key: _Key, body: Body) -> None:
        self._version += 1
        body["metadata"]["resourceVersion"] = self.version
        self._changes.append(_Change(self._version, event, key, copy.deepcopy(body)))
        self._changed.notify_all()


def _status(code: int, message: str) -> Body:
    return {"kind": "Status", "code": code, "message": message}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _merged(old: Any, patch: Any) -> Any:  # noqa: ANN401 - any JSON
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


@contextmanager
def api_server() -> Iterator[ApiServer]:
    """A server while the block lasts."""
    server = ApiServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.close()
        thread.join()


@contextmanager
def connected(server: ApiServer, token: str = TOKEN) -> Iterator[Cluster]:
    """The lab's client of a server."""
    cluster = Cluster(server.url, token)
    try:
        yield cluster
    finally:
        cluster.close()


def pod(namespace: str, name: str, *, ready: bool = False, **labels: str) -> Body:
    """A Pod as the API server shows it; labels are those of ``ray.io/``, with _ for -."""
    return {
        "kind": "Pod",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {f"ray.io/{key.replace('_', '-')}": value for key, value in labels.items()},
        },
        "status": {
            "phase": "Running" if ready else "Pending",
            "conditions": [{"type": "Ready", "status": str(ready)}, {"type": "Initialized", "status": "True"}],
        },
    }


def raycluster(namespace: str, name: str, workers: int = 1) -> Body:
    """A RayCluster as the lab makes it."""
    return ray_object("RayCluster", namespace, name, workers)


def make_ready(body: Body) -> None:
    """Give a RayCluster the status that the operator gives one whose Pods are all ready."""
    if body.get("kind") == "RayCluster":
        workers = sum(group["replicas"] for group in body["spec"]["workerGroupSpecs"])
        body["status"] = {
            "state": "ready",
            "desiredWorkerReplicas": workers,
            "readyWorkerReplicas": workers,
            "observedGeneration": body["metadata"]["generation"],
        }
