"""What the settings say about getting into a store: checked, frozen, and with no secret in any text of it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from advisor.errors import SettingsError
from advisor.sources.endpoint import Access as ScrapeAccess
from advisor.sources.prometheus.address import Address
from advisor.sources.prometheus.secret import Secret

__all__ = ["TENANT_HEADER", "Access"]

TENANT_HEADER = "X-Scope-OrgID"
_AUTHORIZATION = "authorization"
_OURS = frozenset({"accept-encoding", "connection", "content-length", "content-type", "transfer-encoding"})
_REGION = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How to get into a store; at most one way to say who asks, beside a client certificate.

    Secrets in files are read when they are needed, and again when the file changes.

    Args:
        bearer_token: sent as ``Authorization: Bearer``.
        bearer_token_file: the same, in a file.
        token_command: the same, printed by a program (its arguments too); a bare token or an ExecCredential.
        user: of basic authentication, with ``password`` or ``password_file``.
        password: of the user.
        password_file: the same, in a file.
        headers: further headers.
        header_files: further headers whose values are in files.
        tenant: of Mimir or Cortex, sent as ``X-Scope-OrgID``.
        client_cert: PEM file of a client certificate, which may hold the key as well.
        client_key: PEM file of its key.
        ca_file: PEM file of the authorities to trust in place of the machine's.
        insecure: certificates are not checked.
        sigv4_region: sign requests for AWS in this region; needs the extra ``[aws]``.
        sigv4_service: the AWS service.
        sigv4_profile: the profile in AWS's own files.

    Raises:
        SettingsError: settings contradict each other, or a header cannot be sent.
    """

    bearer_token: Secret | None = None
    bearer_token_file: Path | None = None
    token_command: tuple[str, ...] = field(default=(), repr=False)
    user: str | None = None
    password: Secret | None = None
    password_file: Path | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    header_files: dict[str, Path] = field(default_factory=dict)
    tenant: str | None = None
    client_cert: Path | None = None
    client_key: Path | None = None
    ca_file: Path | None = None
    insecure: bool | None = False
    sigv4_region: str | None = None
    sigv4_service: str = "aps"
    sigv4_profile: str | None = None

    def __post_init__(self) -> None:
        self._check_ways()
        self._check_pairs()
        self._check_headers()

    @staticmethod
    def header(text: str) -> tuple[str, str]:
        """Name and value of ``Name: value``.

        Raises:
            ValueError: it is no header.
        """
        return ScrapeAccess.header(text)

    def with_user_of(self, address: Address) -> "Access":
        """The same, with the user that the address names, if it names one.

        Raises:
            SettingsError: there is another way to say who asks.
        """
        if address.user is None:
            return self
        if self.user is not None:
            raise SettingsError("the URL names a user, and the settings name one too", hint="name it once")
        return replace(self, user=address.user, password=address.password)

    def ways(self) -> Iterator[str]:
        """Names of the ways to say who asks, as far as they are set."""
        if self.bearer_token is not None:
            yield "a bearer token"
        if self.bearer_token_file is not None:
            yield "a bearer token file"
        if self.token_command:
            yield "a token command"
        if self.user is not None:
            yield "a user"
        if self.sigv4_region is not None:
            yield "an AWS region to sign for"
        if any(name.lower() == _AUTHORIZATION for name in (*self.headers, *self.header_files)):
            yield "a header Authorization"

    def _check_ways(self) -> None:
        ways = list(self.ways())
        if len(ways) > 1:
            raise SettingsError(f"{' and '.join(ways)} exclude each other", hint="keep the one that the store wants")

    def _check_pairs(self) -> None:
        problem = ""
        if self.password is not None and self.password_file is not None:
            problem = "a password and a password file exclude each other"
        elif self.user is None and not (self.password is None and self.password_file is None):
            problem = "a password needs a user"
        elif self.user is not None and self.password is None and self.password_file is None:
            problem = "a user needs a password or a password file"
        elif self.user is not None and (":" in self.user or not self.user.isprintable()):
            problem = "a user of basic authentication has no colon and no control character"
        elif self.client_key is not None and self.client_cert is None:
            problem = "a client key needs a client certificate"
        elif self.ca_file is not None and self.insecure:
            problem = "a CA file says nothing where certificates are not checked"
        elif self.sigv4_region is None and self.sigv4_profile is not None:
            problem = "an AWS profile needs a region to sign for"
        elif self.sigv4_region is not None and not _REGION.fullmatch(self.sigv4_region):
            problem = "an AWS region has a form such as eu-west-1"
        if problem:
            raise SettingsError(problem)

    def _check_headers(self) -> None:
        tenant = {} if self.tenant is None else {TENANT_HEADER: self.tenant}
        seen: set[str] = set()
        for headers in (tenant, self.headers, dict.fromkeys(self.header_files, "in a file")):
            for name, value in headers.items():
                try:
                    ScrapeAccess.header(f"{name}: {value}")
                except ValueError:
                    # Not what was given: it may be a secret.
                    raise SettingsError(
                        "a header has a name that none can have, or a value that is not plain ASCII"
                    ) from None
                if name.lower() in seen:
                    raise SettingsError(f"the header {name} is given twice")
                if name.lower() in _OURS:
                    raise SettingsError(f"the header {name} is set by the client itself")
                seen.add(name.lower())
