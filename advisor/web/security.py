"""What every request has to pass, and what every answer says to the browser that gets it.

Pages hold no script and no style in themselves, only links to files of this service: whatever a name or an error text
may be, a browser runs nothing of it.
"""

import hmac
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Final

from flask import Flask, Response, g, request

from advisor.web.problems import problem

__all__ = ["Access", "protect"]

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # With "no-referrer" browsers would not say either that a form is one of ours.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Asked by the kubelet, which has no token; they tell nothing."""
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_READ: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask.

    Attributes:
        hosts: names and addresses that the service is reached by, beside those of this machine, "*." before one for all
            below it; a page of another site that had its name point here is refused by it.
        token: gives the token that has to come as a bearer or as a password, or None where none is asked for. Called
            for each request, so that a renewed file is seen.
        user_header: a header by which a proxy before this service says who it is; "" where there is none.
        proxies: addresses or networks of such proxies; from others the header counts for nothing.
    """

    hosts: Collection[str] = ()
    token: Callable[[], str | None] = lambda: None
    user_header: str = ""
    proxies: Collection[str] = ()


def protect(app: Flask, access: Callable[[], Access]) -> None:
    """Check every request, and mark every answer; ``access`` is asked for each, as it may change."""

    @app.before_request
    def check() -> Response | None:
        allowed = access()
        g.reader = _reader(allowed)
        hosts = {*(host.strip("[]").lower() for host in allowed.hosts), *_LOOPBACK}
        if not _is_known(_host(request.host).lower(), hosts):
            return problem(HTTPStatus.MISDIRECTED_REQUEST, f"this service has no name {request.host!r}")
        if request.method not in _READ and not _is_own(request.headers.get("Origin"), hosts):
            return problem(HTTPStatus.FORBIDDEN, "asked for by a page of another site")
        if request.path in _OPEN or _may(allowed):
            return None
        answer = problem(HTTPStatus.UNAUTHORIZED, "this service asks for its token, as a bearer or as a password")
        answer.headers["WWW-Authenticate"] = 'Basic realm="kuberay-advisor"'
        return answer

    @app.after_request
    def mark(response: Response) -> Response:
        for name, value in _HEADERS.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


def _host(text: str) -> str:
    """A host without its port, and an address without its brackets."""
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0]


def _is_own(origin: str | None, hosts: Collection[str]) -> bool:
    """Whether a request that changes something comes from a page of this service, or from no page at all."""
    return origin is None or _is_known(_host(origin.partition("://")[2]).lower(), hosts)


def _is_known(host: str, hosts: Collection[str]) -> bool:
    return host in hosts or any(one.startswith("*.") and host.endswith(one[1:]) for one in hosts)


def _reader(access: Access) -> str:
    """Who asks: whom a trusted proxy names, or else the address that the request is from."""
    user = request.headers.get(access.user_header) if access.user_header else None
    return f"user {user}" if user and _is_proxy(request.remote_addr, access) else f"address {request.remote_addr}"


def _may(access: Access) -> bool:
    if access.user_header and request.headers.get(access.user_header) and _is_proxy(request.remote_addr, access):
        return True
    token = access.token()
    if token is None:
        return not access.user_header
    return any(hmac.compare_digest(given.encode(), token.encode()) for given in _given())


def _is_proxy(address: str | None, access: Access) -> bool:
    try:
        found = ip_address(address or "")
    except ValueError:
        return False
    return any(found in ip_network(one, strict=False) for one in access.proxies)


def _given() -> list[str]:
    """The tokens that a request brings."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return [value.strip()]
    if scheme.lower() == "basic":
        try:
            return [b64decode(value, validate=True).decode().partition(":")[2]]
        except (BadBase64, UnicodeDecodeError):
            return []
    return []
