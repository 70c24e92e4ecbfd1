"""An API server on loopback: pages lists, streams watches with bookmarks, forgets versions, and cuts connections."""

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from advisor.runtime.context import Cancellation
from advisor.sidecar.kube.client import ClientSettings, KubeClient, connect
from advisor.sidecar.kube.kinds import KINDS

TOKEN: Final = "a-made-up-token"
_PLURALS: Final = {kind.plural: kind for kind in KINDS.values()}
GONE: Final = (
    b'{"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old resource version",'
    b' "reason": "Expired"}}\n'
)
Refuse = Callable[["Asked"], int | None]


class Asked(NamedTuple):
    """One request: method, path, query and header Accept; and how often streams had been cut before it."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    cuts: int


class Event(NamedTuple):
    """One change of one kind at one version."""

    version: int
    plural: str
    type: str
    body: dict[str, Any]


def raw(kind: str, name: str, *, namespace: str = "team-a", **metadata: object) -> dict[str, Any]:
    """An object with a spec, which nobody should keep."""
    labels = {"ray.io/cluster": "one"} if kind == "Pod" else {}
    if kind == "Job":
        labels["app.kubernetes.io/created-by"] = "kuberay-operator"
    own = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": labels} | metadata
    return {"apiVersion": "v1", "kind": kind, "metadata": own, "spec": {"secret": "SPEC"}, "status": {}}


def owned_by(kind: str, name: str) -> list[dict[str, Any]]:
    """The owner references of an object that a Ray object manages."""
    return [{"apiVersion": "ray.io/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


class ApiServer:
    """The state behind the API; every attribute may be changed by a test at any time.

    Attributes:
        asked: all requests so far.
        page_objects: objects in a page, whatever the client asks for, if it asks for pages.
        gone_as_event: whether a version that is no longer there is told by an event of the watch or as HTTP status.
        refuse: a status for a request that is to be refused, or None.
        refusal_headers: sent with each refusal.
        logs: lines with their times, by ``namespace/name`` of the Pod.
        cuts: how often all streams have been cut.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.asked: list[Asked] = []
        self.page_objects = 500
        self.gone_as_event = False
        self.refuse: Refuse = lambda _: None
        self.refusal_headers: dict[str, str] = {}
        self.logs: dict[str, list[tuple[str, str]]] = {}
        self.cuts = 0
        self.cut_abruptly = False
        self._objects: dict[str, dict[str, dict[str, Any]]] = {plural: {} for plural in _PLURALS}
        self._events: list[Event] = []
        self._version = 100
        self._oldest = 0
        self._bookmark = 0
        self._left: dict[str, tuple[list[dict[str, Any]], int]] = {}
        self._tokens = itertools.count(1)

    @property
    def verbs(self) -> set[str]:
        """The methods that have been used."""
        return {one.method for one in self.asked}

    def put(self, body: dict[str, Any]) -> int:
        """Create or change an object; its version."""
        plural = KINDS[body["kind"]].plural
        with self.changed:
            key = _key(body)
            is_new = key not in self._objects[plural]
            self._version += 1
            body = body | {"metadata": body["metadata"] | {"resourceVersion": str(self._version)}}
            self._objects[plural][key] = body
            self._events.append(Event(self._version, plural, "ADDED" if is_new else "MODIFIED", body))
            self.changed.notify_all()
            return self._version

    def delete(self, kind: str, key: str) -> None:
        """Delete an object, if it is there."""
        plural = KINDS[kind].plural
        with self.changed:
            body = self._objects[plural].pop(key, None)
            if body is None:
                return
            self._version += 1
            body = body | {"metadata": body["metadata"] | {"resourceVersion": str(self._version)}}
            self._events.append(Event(self._version, plural, "DELETED", body))
            self.changed.notify_all()

    def versions(self, kind: str) -> dict[str, int]:
        """Version of each object by key."""
        with self.changed:
            objects = self._objects[KINDS[kind].plural]
            return {key: int(one["metadata"]["resourceVersion"]) for key, one in objects.items()}

    def compact(self) -> None:
        """Forget all versions but the present one."""
        with self.changed:
            self._version += 1
            self._oldest = self._version
            self._events.clear()
            self._left.clear()

    def bookmark(self) -> None:
        """Send a bookmark to every watch."""
        with self.changed:
            self._version += 1
            self._bookmark = self._version
            self.changed.notify_all()

    def cut(self, *, abruptly: bool = False) -> None:
        """End all watches and logs, with or without the end of the answer."""
        with self.changed:
            self.cut_abruptly = abruptly
            self.cuts += 1
            self.changed.notify_all()

    def say(self, pod: str, stamp: str, text: str) -> None:
        """Append a line to a Pod's log."""
        with self.changed:
            self.logs.setdefault(pod, []).append((stamp, text))
            self.changed.notify_all()

    def replace_log(self, pod: str, *lines: tuple[str, str]) -> None:
        """End a Pod's log, as with a restart; what is asked for next has these lines."""
        with self.changed:
            self.logs[pod] = list(lines)
            self.changed.notify_all()

    def page(self, asked: Asked, plural: str, namespace: str) -> dict[str, Any] | None:
        """One page of a list; None where its token has expired."""
        with self.changed:
            token = asked.query.get("continue", "")
            if token and token not in self._left:
                return None
            left, version = (
                self._left.pop(token) if token else (self._selected(asked, plural, namespace), self._version)
            )
            size = self.page_objects if "limit" in asked.query else len(left)
            items, left = left[:size], left[size:]
            following = str(next(self._tokens)) if left else ""
            if left:
                self._left[following] = (left, version)
            metadata = {"resourceVersion": str(version), "continue": following}
            return {"kind": "List", "apiVersion": "v1", "metadata": metadata, "items": items}

    def is_gone(self, version: int) -> bool:
        """Whether a watch cannot begin there."""
        with self.changed:
            return version < self._oldest

    def events(self, asked: Asked, plural: str, seconds: float) -> Iterator[bytes]:
        """The lines of a watch; the iteration ends when it is cut or its time is over."""
        version = int(asked.query["resourceVersion"])
        ends_at = time.monotonic() + seconds
        while True:
            with self.changed:
                if version < self._oldest:
                    yield GONE
                    return
                told = [one for one in self._events if one.version > version and one.plural == plural]
                is_over = asked.cuts != self.cuts or time.monotonic() > ends_at
                if self._bookmark > version and not told:
                    metadata = {"resourceVersion": str(self._bookmark)}
                    told = [Event(self._bookmark, plural, "BOOKMARK", {"metadata": metadata})]
                if not told and not is_over:
                    self.changed.wait(0.05)
                    continue
            for one in told:
                version = one.version
                if one.type == "BOOKMARK" or _matches(one.body, asked.query.get("labelSelector", "")):
                    yield json.dumps({"type": one.type, "object": _shown(one.body, asked)}).encode() + b"\n"
            if is_over:
                return

    def log_lines(self, asked: Asked, pod: str) -> Iterator[bytes]:
        """The lines of a Pod's log, as they come, until it is cut or replaced."""
        since = asked.query.get("sinceTime", "")
        with self.changed:
            lines = self.logs.setdefault(pod, [])
        position = 0
        while True:
            with self.changed:
                told = lines[position:]
                position = len(lines)
                is_over = asked.cuts != self.cuts or self.logs[pod] is not lines
                if not told and not is_over:
                    self.changed.wait(0.05)
                    continue
            yield b"".join(f"{stamp} {text}\n".encode() for stamp, text in told if stamp[:19] >= since[:19])
            if is_over:
                return

    def _selected(self, asked: Asked, plural: str, namespace: str) -> list[dict[str, Any]]:
        found = []
        for body in self._objects[plural].values():
            if namespace and body["metadata"]["namespace"] != namespace:
                continue
            if _matches(body, asked.query.get("labelSelector", "")):
                # As in a real list: an item does not say its kind.
                found.append({part: value for part, value in _shown(body, asked).items() if part != "kind"})
        return found


def _key(body: dict[str, Any]) -> str:
    return f"{body['metadata']['namespace']}/{body['metadata']['name']}"


def _matches(body: dict[str, Any], selector: str) -> bool:
    name, is_equal, value = selector.partition("=")
    labels = body["metadata"].get("labels") or {}
    return not selector or (labels.get(name) == value if is_equal else name in labels)


def _shown(body: dict[str, Any], asked: Asked) -> dict[str, Any]:
    if "PartialObjectMetadata" not in asked.accept:
        return body
    return {part: value for part, value in body.items() if part not in {"spec", "status"}}


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"  # type: ignore[mutable-override]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer as an API server does."""
        asked = self._note()
        api = self.server.api
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._status(401, "Unauthorized")
        elif status := api.refuse(asked):
            self._status(status, "refused by the test", api.refusal_headers)
        else:
            *_, last = parts = asked.path.strip("/").split("/")
            namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
            if last == "log":
                self._stream(api.log_lines(asked, f"{namespace}/{parts[-2]}"), "text/plain")
            elif last in _PLURALS and asked.query.get("watch") == "true":
                self._watch(asked, last)
            elif last in _PLURALS:
                self._json(api.page(asked, last, namespace))
            else:
                self._one(asked, parts[-2], f"{namespace}/{last}")

    def _refuse_write(self) -> None:
        """Refuse: whoever sends it fails its test by the verbs that are noted."""
        self._note()
        self._status(405, "only reads are expected")

    do_POST = do_PUT = do_PATCH = do_DELETE = _refuse_write  # noqa: N815 - the names are the base class's

    def _note(self) -> Asked:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        api = self.server.api
        with api.changed:
            asked = Asked(self.command, parts.path, query, self.headers.get("Accept", ""), api.cuts)
            api.asked.append(asked)
            api.changed.notify_all()
        return asked

    def _watch(self, asked: Asked, plural: str) -> None:
        api = self.server.api
        if not api.is_gone(int(asked.query["resourceVersion"])):
            self._stream(api.events(asked, plural, float(asked.query["timeoutSeconds"])), "application/json")
        elif api.gone_as_event:
            self._stream(iter([GONE]), "application/json")
        else:
            self._status(410, "too old resource version")

    def _one(self, asked: Asked, plural: str, key: str) -> None:
        with self.server.api.changed:
            body = self.server.api._objects[plural].get(key)
        if body is None:
            self._status(404, "not found")
        else:
            self._json(_shown(body, asked))

    def _json(self, body: dict[str, Any] | None) -> None:
        if body is None:
            self._status(410, "the continue parameter is too old")
        else:
            self._whole(200, json.dumps(body).encode(), {})

    def _status(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        self._whole(status, json.dumps({"kind": "Status", "code": status, "message": message}).encode(), headers or {})

    def _whole(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, parts: Iterator[bytes], content_type: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in parts:
            if part:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if self.server.api.cut_abruptly:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, api: ApiServer, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""


@contextlib.contextmanager
def served(api: ApiServer, port: int = 0) -> Iterator[str]:
    """An API server while the block lasts; its address."""
    server = _Server(api, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        api.cut()
        server.shutdown()
        thread.join()
        server.server_close()


def write_kubeconfig(path: Path, address: str, token: str = TOKEN) -> Path:
    """A kubeconfig for an address."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": address, "insecure-skip-tls-verify": True}}],
        "users": [{"name": "test", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


@contextlib.contextmanager
def connected(
    address: str, folder: Path, *, qps: float = -1.0, burst: int = 0, token: str = TOKEN
) -> Iterator[tuple[KubeClient, Cancellation]]:
    """The product's own client of an address, and what cancels its waits."""
    cancellation = Cancellation()
    kubeconfig = write_kubeconfig(folder / "kubeconfig", address, token)
    client = connect(ClientSettings(kubeconfig=kubeconfig, qps=qps, burst=burst), cancellation)
    try:
        yield client, cancellation
    finally:
        cancellation.cancel(time.monotonic_ns())
        client.close()
