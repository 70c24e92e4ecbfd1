"""Whom to trust and who we are, over TLS; files that are renewed are read again. What TLS says is made readable."""

import functools
import ssl
import threading
from typing import Final

from advisor.errors import StoreAccessError
from advisor.sources.endpoint import tls_context
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.secret import stamp

__all__ = ["Trust", "explained"]

_RENEW: Final = "whoever runs the store has to renew it"
_AUTHORITY: Final = "give the certificate of its authority as the CA file"
_HINTS: Final = {
    10: _RENEW,
    18: _AUTHORITY,
    19: _AUTHORITY,
    20: _AUTHORITY,
    21: _AUTHORITY,
    62: "use a name or an address that the certificate is for",
    64: "use a name or an address that the certificate is for",
}
"""What helps, by OpenSSL's number of the reason."""
_REASONS: Final = {
    "CERTIFICATE_REQUIRED": "a client certificate is asked for, and none was given",
    "UNKNOWN_CA": "the client certificate is not trusted by the store",
    "BAD_CERTIFICATE": "the client certificate is refused by the store",
    "CERTIFICATE_EXPIRED": "the client certificate has expired, says the store",
    "CERTIFICATE_REVOKED": "the client certificate was revoked, says the store",
    "HANDSHAKE_FAILURE": "the store and this program agree on no kind of TLS; it may want a client certificate",
    "WRONG_VERSION_NUMBER": "what answers there speaks no TLS; is it http://",
    "PROTOCOL_VERSION": "the store speaks an old version of TLS only",
}
"""What OpenSSL's reasons mean here; those of alerts have a prefix in OpenSSL's own words."""


class Trust:
    """The TLS context of the settings, made when it is needed, and anew when one of their files has changed.

    Raises:
        InputNotFoundError: the CA file cannot be read or holds no certificate.
        StoreAccessError: the client certificate or its key cannot be used.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        files = (access.ca_file, access.client_cert, access.client_key)
        self._files = [path for path in files if path is not None]
        self._lock = threading.Lock()
        self._stamps = self._stamped()
        # Files are looked at early, so that a mistake shows early; reading the machine's authorities takes its time.
        self._context = self._made() if self._files else None

    def context(self) -> ssl.SSLContext:
        """The context to use now; the same object as long as nothing has changed.

        Raises:
            StoreAccessError: a file is not there any more.
        """
        with self._lock:
            now = self._stamped()
            if self._context is None:
                self._context = self._made()
            elif now != self._stamps:
                try:
                    self._context = self._made()
                except StoreAccessError:
                    # A certificate and its key are not replaced at the same moment: the next request looks again.
                    return self._context
                self._stamps = now
            return self._context

    def _stamped(self) -> list[tuple[int, ...]]:
        return [stamp(path) for path in self._files]

    def _made(self) -> ssl.SSLContext:
        access = self._access
        if not self._files:
            return _without_files(insecure=bool(access.insecure))
        context = tls_context(access.ca_file, insecure=bool(access.insecure))
        if access.client_cert is None:
            return context
        try:
            # Without a password of ours, OpenSSL would ask for one on the terminal.
            context.load_cert_chain(access.client_cert, access.client_key, password=lambda: "")
        except OSError as error:
            raise StoreAccessError(
                f"the client certificate cannot be used: {_why(error)}",
                where=str(access.client_cert),
                hint="give the certificate and its key as PEM, the key without a password",
            ) from error
        return context


@functools.cache
def _without_files(*, insecure: bool) -> ssl.SSLContext:
    """Shared by all clients: reading the machine's authorities takes longer than asking about an operator."""
    return tls_context(None, insecure=insecure)


def _why(error: OSError) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the certificate"
    return f"{(reason or error.strerror or 'it is no PEM').replace('_', ' ').lower()}"


def explained(error: ssl.SSLError) -> tuple[str, str]:
    """What an error of TLS means, and what helps."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted: {error.verify_message.rstrip('.')}", _HINTS.get(
            error.verify_code, _AUTHORITY
        )
    if isinstance(error, ssl.SSLEOFError):
        return "the store closed the TLS connection", "it may want a client certificate, or not trust the one it got"
    reason = error.reason or ""
    for key, meaning in _REASONS.items():
        if reason.endswith(key):
            return meaning, ""
    return f"TLS failed: {(reason or str(error)).replace('_', ' ').lower()}", ""
