"""What several tests of the client need."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sources.prometheus.certificates import Authority, Pair


@dataclass(frozen=True)
class Certificates:
    """An authority's certificate, and certificates that it or somebody else has signed."""

    authority: Path
    server: Pair
    expired: Pair
    elsewhere: Pair
    client: Pair
    renewed_client: Pair
    stranger: Pair


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates for 127.0.0.1, and such as should not be taken."""
    ours = Authority(tmp_path_factory.mktemp("authority"), "authority")
    theirs = Authority(tmp_path_factory.mktemp("stranger"), "stranger")
    return Certificates(
        ours.cert,
        ours.sign("server"),
        ours.sign("expired", end="20200102000000Z"),
        ours.sign("elsewhere", kind="elsewhere"),
        ours.sign("client"),
        ours.sign("renewed-client"),
        theirs.sign("unknown"),
    )
