"""TLS with real servers: whom we trust, who we are, and what is said when that fails."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from advisor.errors import InputNotFoundError, StoreAccessError, StoreUnreachableError
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.tls import Trust, explained
from tests.sources.prometheus.certificates import Pair, server_context
from tests.sources.prometheus.conftest import Certificates
from tests.sources.prometheus.stores import AT, OK, UP, Handler, ask, failure, message, raw, serving

ONE = Limits(attempts=1)
CA_HINT = "(give the certificate of its authority as the CA file)"


class TestTheStore:
    def test_an_unknown_authority(self, certificates: Certificates) -> None:
        """It is not trusted, at once, and nothing is sent."""
        with serving(OK, tls=server_context(certificates.server)) as store:
            error = failure(store)
            assert str(error).removeprefix(store.url) == (
                f"/api/v1/query: the certificate is not trusted: unable to get local issuer certificate {CA_HINT}"
            )
        assert isinstance(error, StoreUnreachableError)
        assert store.requests == []

    def test_an_authority_of_ones_own(self, certificates: Certificates) -> None:
        """With its certificate the store is trusted."""
        with serving(OK, tls=server_context(certificates.server)) as store:
            assert ask(store, Access(ca_file=certificates.authority)).samples == 1

    def test_no_check(self, certificates: Certificates) -> None:
        """Only where asked for, and then without a word."""
        with serving(OK, tls=server_context(certificates.stranger)) as store:
            assert ask(store, Access(insecure=True)).samples == 1

    def test_an_expired_certificate(self, certificates: Certificates) -> None:
        """The text says what, and who can help."""
        with serving(OK, tls=server_context(certificates.expired)) as store:
            assert message(store, Access(ca_file=certificates.authority)) == (
                "STORE/api/v1/query: the certificate is not trusted: certificate has expired "
                "(whoever runs the store has to renew it)"
            )

    def test_a_certificate_of_another_host(self, certificates: Certificates) -> None:
        """The text names the address that was used."""
        with serving(OK, tls=server_context(certificates.elsewhere)) as store:
            assert message(store, Access(ca_file=certificates.authority)) == (
                "STORE/api/v1/query: the certificate is not trusted: IP address mismatch, certificate is not valid for "
                "'127.0.0.1' (use a name or an address that the certificate is for)"
            )

    def test_no_tls_there(self) -> None:
        """A server that speaks http is not what https:// leads to."""
        with (
            serving(raw(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as store,
            PrometheusClient(store.url.replace("http", "https"), limits=ONE) as client,
            pytest.raises(StoreUnreachableError) as caught,
        ):
            client.instant(UP, AT)
        assert caught.value.message in (
            "what answers there speaks no TLS; is it http://",
            "TLS failed: record layer failure",
        )

    def test_a_file_without_certificates(self, tmp_path: Path) -> None:
        """A CA file that does not help is an error before anything is asked."""
        with pytest.raises(InputNotFoundError, match="holds no certificate that can be read"):
            PrometheusClient("https://127.0.0.1:1", Access(ca_file=_text(tmp_path / "ca.pem", "no certificate")))


class TestUs:
    def test_a_client_certificate(self, certificates: Certificates) -> None:
        """Who has one gets in; certificate and key may be in one file."""
        pair, both = certificates.client, certificates.client.cert.with_name("both.pem")
        both.write_bytes(pair.cert.read_bytes() + pair.key.read_bytes())
        tls = server_context(certificates.server, clients=certificates.authority)
        with serving(OK, tls=tls) as store:
            for access in (
                Access(ca_file=certificates.authority, client_cert=pair.cert, client_key=pair.key),
                Access(ca_file=certificates.authority, client_cert=both),
            ):
                assert ask(store, access).samples == 1

    def test_none(self, certificates: Certificates) -> None:
        """The text says that one is wanted."""
        tls = server_context(certificates.server, clients=certificates.authority)
        with serving(OK, tls=tls) as store:
            assert message(store, Access(ca_file=certificates.authority), ONE) == (
                "STORE/api/v1/query: a client certificate is asked for, and none was given"
            )
        assert store.requests == []

    def test_one_of_somebody_else(self, certificates: Certificates) -> None:
        """The text says that it is not trusted."""
        tls = server_context(certificates.server, clients=certificates.authority)
        pair = certificates.stranger
        access = Access(ca_file=certificates.authority, client_cert=pair.cert, client_key=pair.key)
        with serving(OK, tls=tls) as store:
            assert message(store, access, ONE) == (
                "STORE/api/v1/query: the client certificate is not trusted by the store"
            )

    def test_it_is_read_again(self, certificates: Certificates, tmp_path: Path) -> None:
        """A renewed certificate is used for the next request, on a new connection."""
        cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
        seen: list[object] = []
        tls = server_context(certificates.server, clients=certificates.authority)

        def use(pair: Pair) -> None:
            shutil.copy(pair.cert, cert)
            shutil.copy(pair.key, key)

        def see(handler: Handler) -> None:
            seen.append(_name(handler.connection))
            OK(handler)

        use(certificates.client)
        access = Access(ca_file=certificates.authority, client_cert=cert, client_key=key)
        with serving(see, tls=tls) as store, PrometheusClient(store.url, access) as client:
            client.instant(UP, AT)
            use(certificates.renewed_client)
            client.instant(UP, AT)
            client.instant(UP, AT)
        assert seen == ["client", "renewed-client", "renewed-client"]

    def test_half_a_renewal_changes_nothing(self, certificates: Certificates, tmp_path: Path) -> None:
        """Between a new certificate and its new key, the old ones go on; then the new ones are used."""
        cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"
        shutil.copy(certificates.client.cert, cert)
        shutil.copy(certificates.client.key, key)
        trust = Trust(Access(client_cert=cert, client_key=key))
        before = trust.context()
        shutil.copy(certificates.renewed_client.cert, cert)
        assert trust.context() is before
        shutil.copy(certificates.renewed_client.key, key)
        after = trust.context()
        assert after is not before
        assert trust.context() is after

    def test_files_that_are_gone(self, certificates: Certificates, tmp_path: Path) -> None:
        """The error names the file."""
        cert = tmp_path / "tls.crt"
        cert.write_bytes(certificates.client.cert.read_bytes() + certificates.client.key.read_bytes())
        trust = Trust(Access(client_cert=cert))
        cert.unlink()
        with pytest.raises(StoreAccessError) as caught:
            trust.context()
        assert (
            str(caught.value)
            == f"{cert}: cannot be read: No such file or directory (check the path and its permissions)"
        )

    def test_what_is_no_pair(self, certificates: Certificates, tmp_path: Path) -> None:
        """A key of another certificate, an encrypted one, or no PEM at all: said, and no password is asked for."""
        hint = "(give the certificate and its key as PEM, the key without a password)"
        locked = tmp_path / "locked.key"
        subprocess.run(
            ["openssl", "ec", "-aes256", "-passout", "pass:hidden", "-in", certificates.client.key, "-out", locked],
            check=True,
            capture_output=True,
        )
        cert = certificates.client.cert
        texts = []
        for key in (certificates.server.key, locked, _text(tmp_path / "none.key", "none")):
            with pytest.raises(StoreAccessError) as caught:
                Trust(Access(client_cert=cert, client_key=key))
            texts.append(str(caught.value))
        assert texts[0] == (
            f"{cert}: the client certificate cannot be used: the key is not that of the certificate {hint}"
        )
        assert all(text.startswith(f"{cert}: the client certificate cannot be used: ") for text in texts)


class TestWords:
    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "a client certificate is asked for, and none was given"),
            ("TLSV1_ALERT_UNKNOWN_CA", "the client certificate is not trusted by the store"),
            ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "the client certificate has expired, says the store"),
            ("WRONG_VERSION_NUMBER", "what answers there speaks no TLS; is it http://"),
            ("SOMETHING_NEW", "TLS failed: something new"),
        ],
    )
    def test_reasons(self, reason: str, words: str) -> None:
        """OpenSSL's reasons in words; one that nobody knows as it is."""
        error = ssl.SSLError(1, "text")
        error.reason = reason
        assert explained(error) == (words, "")

    def test_an_early_end(self) -> None:
        """A store may close without saying why."""
        assert explained(ssl.SSLEOFError(8, "EOF occurred in violation of protocol")) == (
            "the store closed the TLS connection",
            "it may want a client certificate, or not trust the one it got",
        )


def _text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _name(connection: object) -> object:
    """The common name in the certificate of whoever is at the other end."""
    certificate = connection.getpeercert()  # type: ignore[attr-defined]
    return dict(pair for (pair,) in certificate["subject"])["commonName"]
