"""What goes along with each request so that a store lets it in, kept up to date, and kept out of every text."""

import base64
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from advisor.sources.prometheus.auth import TENANT_HEADER, Access
from advisor.sources.prometheus.secret import (
    HEADER_VALUE,
    PASSWORD,
    TOKEN,
    CommandSource,
    FileSource,
    FixedSource,
    Secret,
    Source,
)
from advisor.sources.prometheus.sigv4 import Signer
from advisor.sources.scraping import Clock

__all__ = ["Credentials", "Sent"]

_SHORTEST_SECRET = 4
_SHORTEST_HEADER = 8
"""Shorter texts are part of other words, and nobody guards anything with them; most headers hold no secret at all."""
_REMEMBERED = 64
_AUTHORIZATION = "Authorization"
_SETTINGS = "of the settings"


@dataclass(frozen=True, slots=True)
class Sent:
    """What went along with one request: the headers, and the secrets in them."""

    headers: dict[str, str] = field(repr=False)
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """One header that is made of a secret."""

    header: str
    what: str
    source: Source
    make: Callable[[str], str]

    @property
    def description(self) -> str:
        return f"{self.what} {self.source.origin}"


class Credentials:
    """Makes the headers of each request.

    Args:
        access: the settings.
        clock: both clocks.
        signer: signs for AWS; made from the settings where None.
    """

    def __init__(self, access: Access, clock: Clock, signer: Signer | None = None) -> None:
        self._fixed = dict(access.headers)
        if access.tenant is not None:
            self._fixed[TENANT_HEADER] = access.tenant
        self._parts = _parts(access, clock)
        self._signer = signer
        if signer is None and access.sigv4_region is not None:
            self._signer = Signer(access.sigv4_region, access.sigv4_service, access.sigv4_profile)
        self._client_cert = access.client_cert
        self._lock = threading.Lock()
        # Headers may be tokens under another name.
        texts = {text for value in access.headers.values() for text in (value, value.rpartition(" ")[2])}
        self._given = tuple(Secret(text) for text in texts if len(text) >= _SHORTEST_HEADER)
        self._seen: deque[Secret] = deque(maxlen=_REMEMBERED)

    def prepare(self) -> None:
        """Have every secret at hand: a program that prints one takes its time, which is none of the store's.

        Raises:
            StoreAccessError: a secret cannot be had.
        """
        for part in self._parts:
            part.source.current()

    def headers(self, method: str, url: str, body: bytes | None) -> Sent:
        """What goes along with this request, which has to be sent exactly so where it is signed.

        Raises:
            StoreAccessError: a secret cannot be had.
            SettingsError: signing is not possible.
        """
        headers = dict(self._fixed)
        secrets = []
        for part in self._parts:
            secret = part.source.current()
            secrets.append(secret)
            headers[part.header] = part.make(secret.reveal())
            self._guard((secret.reveal(), headers[part.header].rpartition(" ")[2]))
        if self._signer is not None:
            signed = self._signer.headers(method, url, body)
            headers |= signed
            self._guard((signed.get(_AUTHORIZATION, "").rpartition("=")[2], signed.get("X-Amz-Security-Token", "")))
        return Sent(headers, tuple(secrets))

    def renewed(self, sent: Sent) -> bool:
        """After a refusal: whether another try has something else to show.

        Raises:
            StoreAccessError: a secret cannot be had any more.
        """
        if self._signer is not None:
            self._signer.renew()
            return True
        now = [part.source.renewed(refused) for part, refused in zip(self._parts, sent.secrets, strict=True)]
        return tuple(now) != sent.secrets

    @property
    def signs(self) -> bool:
        """Whether requests are signed; AWS then answers 403 to what has expired."""
        return self._signer is not None

    @property
    def description(self) -> str:
        """What is sent and where it is from, without showing it; "" where nothing is."""
        parts = [part.description for part in self._parts]
        if self._signer is not None:
            parts.append(f"the AWS signature {self._signer.origin}")
        parts += [f"the header {name} {_SETTINGS}" for name in self._fixed if name != TENANT_HEADER]
        if self._client_cert is not None:
            parts.append(f"the client certificate from the file {self._client_cert}")
        return " and ".join(parts)

    def redacted(self, text: str) -> str:
        """The text with every secret that was sent of late replaced: a server may repeat what it was sent."""
        with self._lock:
            hidden = sorted((secret.reveal() for secret in (*self._given, *self._seen)), key=len, reverse=True)
        for one in hidden:
            text = text.replace(one, "***")
        return text

    def _guard(self, texts: Iterable[str]) -> None:
        with self._lock:
            for secret in (Secret(text) for text in texts if len(text) >= _SHORTEST_SECRET):
                if secret not in self._seen:
                    self._seen.append(secret)


def _parts(access: Access, clock: Clock) -> tuple[_Part, ...]:
    parts = []
    token = _token_source(access, clock)
    if token is not None:
        parts.append(_Part(_AUTHORIZATION, "the bearer token", token, lambda text: f"Bearer {text}"))
    if access.user is not None:
        password = _password_source(access)
        parts.append(_Part(_AUTHORIZATION, f"the password of {access.user}", password, _basic(access.user)))
    for name, path in access.header_files.items():
        source = FileSource(path, "value of a header", HEADER_VALUE)
        parts.append(_Part(name, f"the header {name}", source, lambda text: text))
    return tuple(parts)


def _token_source(access: Access, clock: Clock) -> Source | None:
    if access.bearer_token is not None:
        return FixedSource(access.bearer_token, _SETTINGS)
    if access.bearer_token_file is not None:
        return FileSource(access.bearer_token_file, "token", TOKEN)
    return CommandSource(access.token_command, clock) if access.token_command else None


def _password_source(access: Access) -> Source:
    if access.password_file is not None:
        return FileSource(access.password_file, "password", PASSWORD)
    return FixedSource(access.password or Secret(""), _SETTINGS)


def _basic(user: str) -> Callable[[str], str]:
    return lambda password: "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
