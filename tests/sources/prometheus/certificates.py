"""Certificates of an authority of the tests' own, good and bad, made with openssl."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CONFIG: Final = """
[ca]
default_ca = here
[here]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = policy
unique_subject = no
[policy]
commonName = supplied
[leaf]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
subjectAltName = IP:127.0.0.1
[elsewhere]
basicConstraints = critical,CA:false
keyUsage = critical,digitalSignature
subjectAltName = DNS:elsewhere.example
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""
_KEY: Final = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    cert: Path
    key: Path


class Authority:
    """Signs certificates in a folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        (folder / "ca.cnf").write_text(_CONFIG, encoding="utf-8")
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01\n", encoding="utf-8")
        self.cert = folder / "ca.pem"
        self._run("req", "-x509", *_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-subj", f"/CN={name}", "-days", "2")

    def sign(self, name: str, *, kind: str = "leaf", end: str = "20991231000000Z") -> Pair:
        """A certificate of this name, which is its subject too."""
        pair = Pair(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        self._run("req", "-new", *_KEY, "-keyout", pair.key.name, "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self._run(
            "ca", "-batch", "-notext", "-cert", "ca.pem", "-keyfile", "ca.key", "-extensions", kind,
            "-in", f"{name}.csr", "-out", pair.cert.name, "-startdate", "20200101000000Z", "-enddate", end,
        )  # fmt: skip
        return pair

    def _run(self, command: str, *args: str) -> None:
        subprocess.run(
            ["openssl", command, "-config", "ca.cnf", *args], cwd=self._folder, check=True, capture_output=True
        )


def server_context(pair: Pair, *, clients: Path | None = None) -> ssl.SSLContext:
    """TLS of a server; with ``clients`` it wants a certificate that this authority has signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.cert, pair.key)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients)
    return context
