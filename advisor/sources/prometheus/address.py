"""The address of a store: where requests go, and what of it may be shown."""

import re
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from advisor.errors import SettingsError
from advisor.sources.endpoint import meant_url
from advisor.sources.prometheus.secret import Secret

__all__ = ["Address", "ForeignRedirectError", "redirected"]

_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[!-~]+")
_API = "/api/v1"
_FORM = "its form is https://HOST[:PORT][/PATH]"


class ForeignRedirectError(Exception):
    """A redirect that is not followed; the text names where it leads."""


@dataclass(frozen=True, slots=True)
class Address:
    """A store's URL up to its ``/api/v1``, without a slash at the end and without a user.

    ``user`` and ``password`` are those that the URL had, None where it had none.
    """

    url: str
    user: str | None = None
    password: Secret | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str) -> "Address":
        """The address of a URL; a path before ``/api/v1`` is kept, as Mimir's ``/prometheus`` has to be.

        Raises:
            SettingsError: it is no http or https URL, or it has a query. The text shows nothing of it: it may hold a
                password.
        """
        parts = _split(url)
        if parts is None or not _URL.fullmatch(url) or parts.scheme not in _PORTS or not parts.hostname:
            raise SettingsError("the URL of the store is none", hint=meant_url(url) or _FORM)
        if parts.query or parts.fragment:
            raise SettingsError("the URL of the store has a query or a fragment", hint="give it up to the path")
        path = parts.path.rstrip("/").removesuffix(_API).rstrip("/")
        host = _host(parts.hostname, parts.port)
        user = None if parts.username is None else unquote(parts.username)
        password = None if user is None else Secret(unquote(parts.password or ""))
        return cls(f"{parts.scheme}://{host}{path}", user, password)


def redirected(url: str, location: str) -> str:
    """Where a redirect leads, without a user.

    Raises:
        ForeignRedirectError: to another host or port, from https to http, or nowhere.
    """
    origin = urlsplit(url)
    target = _split(location, url)
    if target is None or target.scheme not in _PORTS or not target.hostname or not _URL.fullmatch(location):
        raise ForeignRedirectError("something that is no http or https URL")
    same_host = target.hostname == origin.hostname
    same = (
        same_host
        and target.scheme == origin.scheme
        and _port(target.scheme, target.port) == _port(origin.scheme, origin.port)
    )
    upgraded = same_host and (origin.scheme, target.scheme) == ("http", "https")
    host = _host(target.hostname, target.port)
    if not same and not upgraded:
        raise ForeignRedirectError(f"{target.scheme}://{host}")
    return f"{target.scheme}://{host}{target.path or '/'}" + (f"?{target.query}" if target.query else "")


def _split(url: str, base: str = "") -> SplitResult | None:
    """The parts of a URL; None where it has an impossible one. Python's own error would hold a part of it."""
    try:
        parts = urlsplit(urljoin(base, url))
        _ = parts.port
    except ValueError:
        return None
    return parts


def _host(name: str, port: int | None) -> str:
    host = f"[{name}]" if ":" in name else name
    return host if port is None else f"{host}:{port}"


def _port(scheme: str, port: int | None) -> int:
    return _PORTS[scheme] if port is None else port
