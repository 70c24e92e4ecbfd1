"""Signing for AWS: against botocore's own signature, and without botocore."""

import hashlib
import hmac
import importlib
import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest

from advisor.errors import SettingsError, StoreAccessError
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.sigv4 import Signer
from tests.sources.prometheus.stores import OK, ask, message, reply, serving

NOW = datetime(2026, 11, 30, 1, 2, 3, tzinfo=UTC)
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"


@pytest.fixture(autouse=True)
def _own_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Keys of AWS's own examples, and no files or machine roles of whoever runs the tests."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    before = logging.getLogger("botocore").level
    yield
    logging.getLogger("botocore").setLevel(before)


@pytest.fixture
def fixed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that stands, for botocore's signatures."""
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: NOW)


@pytest.mark.usefixtures("fixed_time")
def test_a_signature_is_stable() -> None:
    """The same request, keys and time give the same signature, which covers host, date and body."""
    url, body = "https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1/api/v1/query", b"query=up&time=1"
    headers = Signer("eu-west-1").headers("POST", url, body)
    assert headers == {
        "X-Amz-Date": "20261130T010203Z",
        "Authorization": (
            f"AWS4-HMAC-SHA256 Credential={KEY}/20261130/eu-west-1/aps/aws4_request, SignedHeaders=host;x-amz-date, "
            f"Signature={_by_hand(url, body)}"
        ),
    }
    again = Signer("eu-west-1")
    assert again.headers("POST", url, body) == again.headers("POST", url, body) == headers
    assert Signer("eu-west-1").headers("POST", url, b"query=down") != headers
    assert "/us-east-1/execute-api/" in Signer("us-east-1", "execute-api").headers("GET", url, None)["Authorization"]


def _by_hand(url: str, body: bytes) -> str:
    """AWS Signature Version 4 from its description, without botocore."""

    def mac(key: bytes, text: str) -> bytes:
        return hmac.new(key, text.encode(), hashlib.sha256).digest()

    parts = urlsplit(url)
    canonical = "\n".join(
        ("POST", parts.path, "", f"host:{parts.netloc}", "x-amz-date:20261130T010203Z", "", "host;x-amz-date",
         hashlib.sha256(body).hexdigest())
    )  # fmt: skip
    scope = "20261130/eu-west-1/aps/aws4_request"
    text = "\n".join(("AWS4-HMAC-SHA256", "20261130T010203Z", scope, hashlib.sha256(canonical.encode()).hexdigest()))
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = mac(key, part)
    return mac(key, text).hex()


def test_requests_are_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request carries its own signature, and the session token where there is one."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-token-1")
    with serving(OK) as store:
        ask(store, Access(sigv4_region="eu-west-1"))
    headers = store.requests[0].headers
    assert re.fullmatch(
        rf"AWS4-HMAC-SHA256 Credential={KEY}/\d{{8}}/eu-west-1/aps/aws4_request, "
        r"SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}",
        headers["authorization"],
    )
    assert headers["x-amz-security-token"] == "session-token-1"


def test_credentials_are_looked_for_again_when_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS answers 403 to what has expired; new keys are used once, and the error tells which were refused."""
    denied = reply('{"message": "The security token included in the request is expired"}', 403)

    def renew(handler: Any) -> None:  # noqa: ANN401 - any handler
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSECOND")
        denied(handler)

    with serving(renew, OK) as store:
        ask(store, Access(sigv4_region="eu-west-1"))
    assert [one.headers["authorization"].split("/")[0][-10:] for one in store.requests] == ["KIDEXAMPLE", "AKIDSECOND"]
    with serving(denied) as store:
        text = message(store, Access(sigv4_region="eu-west-1"))
    assert text == (
        "STORE/api/v1/query: status 403 Forbidden: the AWS signature of AWS's usual credentials may not read here: "
        '{"message": "The security token included in the request is expired"} (its account lacks the right)'
    )
    assert len(store.requests) == 2


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says where AWS looks."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(StoreAccessError) as caught:
        Signer("eu-west-1").headers("GET", "https://a/", None)
    assert str(caught.value) == (
        "no AWS credentials were found "
        "(set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the Pod a role)"
    )


def test_half_of_the_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What botocore calls it is told."""
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StoreAccessError, match=r"no AWS credentials were found \(PartialCredentialsError\)"):
        Signer("eu-west-1").headers("GET", "https://a/", None)


def test_no_such_profile() -> None:
    """The error names the profile."""
    with pytest.raises(SettingsError) as caught:
        Signer("eu-west-1", profile="nobody").headers("GET", "https://a/", None)
    assert str(caught.value) == "AWS has no profile nobody (aws configure list-profiles shows those there are)"


def test_without_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the line that installs it; exit code 2, and nothing is sent."""
    found = importlib.import_module

    def absent(name: str) -> ModuleType:
        if name.startswith("botocore"):
            raise ModuleNotFoundError(name)
        return found(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with serving(OK) as store, pytest.raises(SettingsError) as caught:
        ask(store, Access(sigv4_region="eu-west-1"))
    assert str(caught.value) == (
        "signing for AWS needs botocore, which is not installed (pip install 'kuberay-advisor[aws]')"
    )
    assert caught.value.exit_code == 2
    assert store.requests == []


def test_botocore_tells_no_session_tokens(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Its debug log would hold them, so it is off."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session-token-1")
    caplog.set_level(logging.DEBUG)
    Signer("eu-west-1").headers("GET", "https://a/", None)
    assert "session-token-1" not in caplog.text
