"""The client of the API server, on lightkube: its configuration, credentials and HTTP client, and GET requests only.

Answers are handed on as they came, since decoding what nobody keeps would cost most of the sidecar's budget.
"""

import importlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from advisor.errors import InputFormatError, InputNotFoundError, SettingsError
from advisor.queueing.outcome import ReconcileError
from advisor.queueing.tokenbucket import DEFAULT_CLIENT_BURST, DEFAULT_CLIENT_QPS, ClientBuckets
from advisor.runtime.context import Cancellation, ReconcileContext
from advisor.runtime.limiter import ApiRequest, ClientLimiter
from advisor.sidecar.kube.answers import AnswerStream, refusal
from advisor.sidecar.kube.kinds import Selection
from advisor.sidecar.kube.reading import ByteStream, KubeError, LogRequest

__all__ = ["ClientSettings", "KubeClient", "RequestCounts", "connect", "require"]

PAGE_OBJECTS: Final = 500
_LARGEST_ANSWER_BYTES: Final = 64 * 1024 * 1024
_CLIENT: Final = "sidecar"
_HINT: Final = "pip install 'kuberay-advisor[kubernetes]'"
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 30.0
_SILENCE_SECONDS: Final = 180.0
"""A watch gets a bookmark about every minute. One that says nothing for so long has lost its server unnoticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Which API server, and how fast.

    Attributes:
        kubeconfig: a kubeconfig; None for the Pod's service account, else $KUBECONFIG, else ~/.kube/config.
        context: its context; "" for its current one.
        qps: requests a second for each kind; below zero for no limit.
        burst: requests of one kind that may come at once.
    """

    kubeconfig: Path | None = None
    context: str = ""
    qps: float = DEFAULT_CLIENT_QPS
    burst: int = DEFAULT_CLIENT_BURST


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Requests by kind and Kubernetes verb (list, watch, get), failed ones included.

    Attributes:
        requests: their number.
        seconds: time spent on them after the limiter: to the end of the answer, or to its start for what is streamed.
    """

    requests: dict[tuple[str, str], int]
    seconds: dict[tuple[str, str], float]


class KubeClient:
    """Reads from one API server, from any threads; see `KubeReader`. Made by `connect`.

    Args:
        http: an httpx client with the server's address and credentials.
        failures: what it raises.
        limiter: what every request but a watch goes through.
        cancellation: ends waits for the limiter; `close` sets it.
    """

    def __init__(
        self,
        http: Any,  # noqa: ANN401 - the library may not be installed
        failures: tuple[type[Exception], ...],
        limiter: ClientLimiter,
        cancellation: Cancellation,
    ) -> None:
        self.limiter = limiter
        self._http = http
        self._failures = failures
        self._cancellation = cancellation
        self._context = ReconcileContext(time.monotonic_ns, cancellation)
        self._lock = threading.Lock()
        self._streams: set[AnswerStream] = set()
        self._in_flight = 0
        self._requests: dict[tuple[str, str], int] = {}
        self._seconds: dict[tuple[str, str], float] = {}
        self._is_closed = False

    def list_page(self, selection: Selection, continue_token: str = "") -> bytes:
        """One page of at most 500 objects; see `KubeReader`."""
        parameters = {"limit": str(PAGE_OBJECTS), "continue": continue_token, "labelSelector": selection.labels}
        kind = selection.kind
        return self._whole(
            ApiRequest(_CLIENT, kind.name, "list"),
            kind.path(selection.namespace),
            parameters,
            kind.accept(is_list=True),
        )

    def watch(self, selection: Selection, version: str, seconds: int) -> ByteStream:
        """The events after a version; see `KubeReader`."""
        kind = selection.kind
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
            "labelSelector": selection.labels,
        }
        accept = kind.accept(is_list=False)
        return self._stream(ApiRequest(_CLIENT, kind.name, "watch"), kind.path(selection.namespace), parameters, accept)

    def pod_log(self, request: LogRequest) -> ByteStream:
        """A Pod's log; see `KubeReader`."""
        parameters = {
            "follow": "true",
            "timestamps": "true",
            "container": request.container,
            "sinceTime": request.since_time,
            "sinceSeconds": "" if request.since_seconds is None else str(request.since_seconds),
        }
        path = f"/api/v1/namespaces/{request.namespace}/pods/{request.name}/log"
        return self._stream(ApiRequest(_CLIENT, "Pod/log", "get"), path, parameters, "*/*")

    def get(self, selection: Selection, name: str) -> bytes:
        """One object; see `KubeReader`."""
        kind = selection.kind
        accept = kind.accept(is_list=False)
        return self._whole(ApiRequest(_CLIENT, kind.name, "get"), kind.path(selection.namespace, name), {}, accept)

    def counts(self) -> RequestCounts:
        """What has been asked so far."""
        with self._lock:
            return RequestCounts(dict(self._requests), dict(self._seconds))

    def close(self) -> None:
        """End all streams and waits, whoever is in them; what is asked afterwards fails."""
        with self._lock:
            self._is_closed = True
            streams = tuple(self._streams)
        self._cancellation.cancel(time.monotonic_ns())
        for stream in streams:
            stream.close()
        self._leave(0)

    def _whole(self, request: ApiRequest, path: str, parameters: dict[str, str], accept: str) -> bytes:
        began = self._begin(request, path)
        try:
            with self._answer(path, parameters, {"Accept": accept}, _READ_SECONDS) as stream:
                parts: list[bytes] = []
                left = _LARGEST_ANSWER_BYTES
                for part in stream:
                    parts.append(part)
                    left -= len(part)
                    if left < 0:
                        raise KubeError(f"the answer is larger than {_LARGEST_ANSWER_BYTES} bytes", where=f"GET {path}")
                return b"".join(parts)
        finally:
            self._count(request, began)

    def _stream(self, request: ApiRequest, path: str, parameters: dict[str, str], accept: str) -> AnswerStream:
        began = self._begin(request, path)
        try:
            # Closed from any thread, so its connection must not serve another request afterwards.
            headers = {"Accept": accept, "Connection": "close"}
            return self._answer(path, parameters, headers, _SILENCE_SECONDS)
        finally:
            self._count(request, began)

    def _begin(self, request: ApiRequest, path: str) -> float:
        """Wait for the limiter; when the request may go."""
        if request.verb != "watch":
            try:
                self.limiter.wait(request, self._context)
            except ReconcileError as error:
                raise KubeError(f"not asked: {error}", where=f"GET {path}") from error
        return time.monotonic()

    def _count(self, request: ApiRequest, began: float) -> None:
        identity = (request.kind, request.verb)
        with self._lock:
            self._requests[identity] = self._requests.get(identity, 0) + 1
            self._seconds[identity] = self._seconds.get(identity, 0.0) + time.monotonic() - began

    def _answer(
        self, path: str, parameters: dict[str, str], headers: dict[str, str], silence_seconds: float
    ) -> AnswerStream:
        """The answer to a GET, of which the start has come.

        Raises:
            KubeError: there is none, or it is a refusal.
        """
        where = f"GET {path}"
        # Compressed answers cost both ends more CPU than they save on a cluster's own network.
        headers["Accept-Encoding"] = "identity"
        given = {name: value for name, value in parameters.items() if value}
        timeout = (_CONNECT_SECONDS, silence_seconds, _READ_SECONDS, _CONNECT_SECONDS)
        self._enter(where)
        try:
            request = self._http.build_request("GET", path, params=given, headers=headers, timeout=timeout)
            answer = self._http.send(request, stream=True)
        except self._failures as error:
            self._leave()
            raise KubeError(f"no answer: {str(error) or type(error).__name__}", where=where) from error
        stream = AnswerStream(answer, self._failures, where, self._forget)
        with self._lock:
            self._streams.add(stream)
            is_closed = self._is_closed
        if is_closed:
            stream.close()
        if not answer.is_success:
            with stream:
                raise refusal(answer, stream, where)
        return stream

    def _enter(self, where: str) -> None:
        """Count a request as under way."""
        with self._lock:
            if self._is_closed:
                raise KubeError("no answer: the client is closed", where=where)
            self._in_flight += 1

    def _forget(self, stream: AnswerStream) -> None:
        with self._lock:
            if stream not in self._streams:
                return
            self._streams.discard(stream)
        self._leave()

    def _leave(self, count: int = 1) -> None:
        """Count requests as over; the last one of a closed client closes all connections."""
        with self._lock:
            self._in_flight -= count
            is_over = self._is_closed and not self._in_flight
        if is_over:
            self._http.close()


def require(settings: ClientSettings) -> None:
    """Import what a client needs, and read its configuration: whoever starts should know at once what is missing.

    Raises:
        SettingsError: the extra `kubernetes` is not installed.
        InputNotFoundError: there is no service account and no kubeconfig, or no such context.
        InputFormatError: the kubeconfig cannot be used.
    """
    for name in (
        "lightkube.core.exceptions",
        "lightkube.config.client_adapter",
        "lightkube.config.kubeconfig",
        "httpx2",
    ):
        _module(name)
    _configuration(settings, _module("lightkube.core.exceptions"))


def connect(settings: ClientSettings, cancellation: Cancellation) -> KubeClient:
    """A client of the API server; nothing is asked yet.

    Args:
        settings: which one.
        cancellation: ends waits for the limiter; the client's `close` sets it.

    Raises:
        SettingsError: the extra `kubernetes` is not installed.
        InputNotFoundError: there is no service account and no kubeconfig, or no such context.
        InputFormatError: the kubeconfig or its credentials cannot be used.
    """
    exceptions = _module("lightkube.core.exceptions")
    config = _configuration(settings, exceptions)
    adapter, httpx = _module("lightkube.config.client_adapter"), _module("httpx2")
    try:
        http = adapter.Client(config, adapter.ConnectionParams(timeout=_READ_SECONDS))
    except (exceptions.ConfigError, AssertionError, OSError, TypeError, AttributeError, ValueError) as error:
        raise InputFormatError(f"credentials cannot be used: {error}", where=_where(settings)) from error
    failures = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, exceptions.ConfigError, OSError, RuntimeError)
    limiter = ClientLimiter(ClientBuckets(settings.qps, settings.burst), http.base_url.netloc.decode())
    return KubeClient(http, failures, limiter, cancellation)


def _configuration(settings: ClientSettings, exceptions: Any) -> Any:  # noqa: ANN401 - as above
    source = _module("lightkube.config.kubeconfig").KubeConfig
    try:
        read = source.from_env() if settings.kubeconfig is None else source.from_file(settings.kubeconfig)
        return read.get(settings.context or None)
    except exceptions.ConfigError as error:
        raise InputNotFoundError(str(error), where=_where(settings)) from error
    except (OSError, KeyError, TypeError, AttributeError, ValueError, yaml.YAMLError) as error:
        raise InputFormatError(f"cannot be used: {type(error).__name__}: {error}", where=_where(settings)) from error


def _where(settings: ClientSettings) -> str:
    return str(settings.kubeconfig or "kubeconfig")


def _module(name: str) -> Any:  # noqa: ANN401 - what is not installed has no types
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SettingsError(f"watching a cluster needs lightkube: {error}", hint=_HINT) from error
