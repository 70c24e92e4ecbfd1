"""Connections to a store: TLS as the settings say, whole answers in time, proxies of the environment."""

import ssl
import threading
from contextlib import suppress
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any, Final

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from advisor.sources.prometheus.deadline import TimedResponse
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.tls import Trust

if TYPE_CHECKING:
    from urllib3._base_connection import BaseHTTPConnection, BaseHTTPSConnection

__all__ = ["Transport"]


class _Connection(HTTPConnection):
    response_class: type[HTTPResponse] = TimedResponse


class _TlsConnection(HTTPSConnection):
    response_class: type[HTTPResponse] = TimedResponse

    def connect(self) -> None:
        super().connect()
        # Somebody who asks for no check needs no warning at each request.
        self.is_verified = True

    def request(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 - as the base class has it
        """Send a request; why the other side closed meanwhile, if it did, is read with the answer."""
        with suppress(ssl.SSLEOFError):
            super().request(*args, **more)


class _Pool(HTTPConnectionPool):
    ConnectionCls: "type[BaseHTTPConnection]" = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls: "type[BaseHTTPSConnection]" = _TlsConnection


_POOLS: Final = {"http": _Pool, "https": _TlsPool}


class _Adapter(HTTPAdapter):
    """Uses one TLS context for everything, in place of requests' own ideas of trust."""

    def __init__(self, context: ssl.SSLContext | None, connections: int) -> None:
        self._context = context
        super().__init__(pool_connections=2, pool_maxsize=connections, max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **more: Any) -> None:  # noqa: ANN401, FBT001, FBT002 - as the base class has it
        super().init_poolmanager(connections, maxsize, block, ssl_context=self._context, **more)
        self.poolmanager.pool_classes_by_scheme = dict(_POOLS)

    def proxy_manager_for(self, proxy: str, **more: Any) -> Any:  # noqa: ANN401 - as the base class has it
        manager = super().proxy_manager_for(proxy, ssl_context=self._context, **more)
        manager.pool_classes_by_scheme = dict(_POOLS)
        return manager

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:  # noqa: ANN401 - as the base class has it
        """The context knows."""

    def build_connection_pool_key_attributes(
        self,
        request: PreparedRequest,
        verify: Any,  # noqa: ANN401 - as the base class has it
        cert: Any = None,  # noqa: ANN401
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {}


class Transport:
    """Sends prepared requests; connections are kept, and made anew when a certificate has changed.

    Args:
        trust: TLS of https; asked for it at each request.
        limits: bounds of time and parallelism.
    """

    def __init__(self, trust: Trust, limits: Limits) -> None:
        self._trust = trust
        self._limits = limits
        self._lock = threading.Lock()
        self._plain = _Adapter(None, limits.in_flight)
        self._context: ssl.SSLContext | None = None
        self._secure = self._plain

    def send(self, request: PreparedRequest) -> Response:
        """The head of the answer; its body is still to be read from ``raw``.

        Raises:
            RequestException, HTTPError or OSError: there is none.
            StoreAccessError: a certificate file is not there any more.
        """
        url = request.url or ""
        adapter = self._for_tls() if url.startswith("https:") else self._plain
        timeout = (self._limits.connect_seconds, self._limits.silence_seconds)
        return adapter.send(request, stream=True, timeout=timeout, proxies=get_environ_proxies(url, no_proxy=None))

    def _for_tls(self) -> _Adapter:
        with self._lock:
            context = self._trust.context()
            if context is not self._context:
                if self._secure is not self._plain:
                    self._secure.close()
                self._context, self._secure = context, _Adapter(context, self._limits.in_flight)
            return self._secure

    def close(self) -> None:
        """Close all connections that are not in use."""
        with self._lock:
            self._plain.close()
            self._secure.close()
