"""What the API server needs of a kubelet to serve Pods' logs: an endpoint over TLS, which every node of the lab names.

kwok's nodes have no kubelet. Logs of containers come from files, and each line gets the time that it tells of itself,
as a real kubelet puts its own before it.
"""

import contextlib
import re
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from tests.lab.cluster import Cluster
from tests.support import ROOT

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Kubelet", "kubelet"]

_TLS: Final = ROOT / "tests" / "data" / "tls"
_TIME: Final = re.compile(r'"(?:ts|timestamp)":"([^"]+)"')
_PAUSE_SECONDS: Final = 0.05


class Kubelet:
    """The logs that are served, by the name of the container, and what has been asked for."""

    def __init__(self) -> None:
        self.logs: dict[str, Path] = {}
        self.asked: list[str] = []
        self.is_ending = threading.Event()

    def lines(self, container: str, since: datetime | None, *, follow: bool) -> Iterator[bytes]:
        """Lines with their times, from a time on; what is there, or what comes as well."""
        with self.logs[container].open("rb") as file:
            while True:
                begins_at = file.tell()
                line = file.readline()
                if not line.endswith(b"\n"):
                    # Half a line is no line yet.
                    file.seek(begins_at)
                    if not follow or self.is_ending.wait(_PAUSE_SECONDS):
                        return
                    yield b""
                    continue
                when = _told(line.decode("utf-8", "replace"))
                if since is None or when >= since:
                    yield f"{when:%Y-%m-%dT%H:%M:%S.%f}000Z ".encode() + line


def _told(line: str) -> datetime:
    match = _TIME.search(line)
    return datetime.now(UTC) if match is None else datetime.fromisoformat(match[1]).astimezone(UTC)


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"  # type: ignore[mutable-override]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer ``/containerLogs/NAMESPACE/POD/CONTAINER``."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        kubelet = self.server.kubelet
        kubelet.asked.append(self.path)
        _, what, *_, container = parts.path.split("/")
        if what != "containerLogs" or container not in kubelet.logs:
            self.send_error(404)
            return
        since = datetime.fromisoformat(query["sinceTime"]) if "sinceTime" in query else None
        if "sinceSeconds" in query:
            since = datetime.now(UTC) - timedelta(seconds=float(query["sinceSeconds"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        has_times = query.get("timestamps") == "true"
        with contextlib.suppress(OSError):
            for line in kubelet.lines(container, since, follow=query.get("follow") == "true"):
                told = line if has_times else line.partition(b" ")[2]
                if told:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(told), told))
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, kubelet: Kubelet) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kubelet = kubelet
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(_TLS / "cert.pem", _TLS / "key.pem")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""


@contextlib.contextmanager
def kubelet(cluster: Cluster) -> Iterator[Kubelet]:
    """A kubelet for all nodes of a cluster while the block lasts."""
    one = Kubelet()
    server = _Server(one)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    addresses = [{"type": kind, "address": "127.0.0.1"} for kind in ("Hostname", "InternalIP")]
    endpoint = {"kubeletEndpoint": {"Port": server.server_address[1]}}
    for node in cluster.items("/api/v1/nodes"):
        path = f"/api/v1/nodes/{node['metadata']['name']}/status"
        cluster.patch(path, {"status": {"addresses": addresses, "daemonEndpoints": endpoint}})
    try:
        yield one
    finally:
        one.is_ending.set()
        time.sleep(_PAUSE_SECONDS)
        server.shutdown()
        thread.join()
        server.server_close()
