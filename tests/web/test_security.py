from base64 import b64encode
from http import HTTPStatus

import pytest

from advisor.web.security import Access
from tests.web.serving import World

PATHS = ["/", "/data", "/findings", "/api/v1/operators", "/metrics", "/nowhere", "/api/v1/nowhere"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_marked(path: str) -> None:
    """Nothing of it may run, be framed, be guessed at or be told to others; errors are no exception."""
    headers = World().client().get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8091", 200),
        ("localhost", 200),
        ("[::1]:8091", 200),
        ("Advisor.example:443", 200),
        ("a.b.ray.example", 200),
        ("[fd00::7]:8095", 200),
        ("[fd00::8]:8095", 200),
        ("[fd00::9]:8095", 421),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
    ],
)
def test_the_host_has_to_be_known(host: str, status: int) -> None:
    """A page of another site that had its name point here gets nothing."""
    client = World(access=Access(hosts=["advisor.example", "*.ray.example", "fd00::7", "[fd00::8]"])).client()
    assert client.get("/", headers={"Host": host}).status_code == status


class TestToken:
    ACCESS = Access(token=lambda: "s3cret")

    @pytest.mark.parametrize(
        ("header", "status"),
        [
            (None, 401),
            ("Bearer s3cret", 200),
            ("Bearer wrong", 401),
            (f"Basic {b64encode(b'anyone:s3cret').decode()}", 200),
            (f"Basic {b64encode(b'anyone:no').decode()}", 401),
            ("Basic %%%", 401),
            (f"Basic {b64encode(bytes([255])).decode()}", 401),
            ("Digest x", 401),
        ],
    )
    def test_it_is_asked_for(self, header: str | None, status: int) -> None:
        """As a bearer by programs, or as a password by browsers."""
        headers = {} if header is None else {"Authorization": header}
        answer = World(access=self.ACCESS).client().get("/", headers=headers)
        assert answer.status_code == status
        if status == HTTPStatus.UNAUTHORIZED:
            assert answer.headers["WWW-Authenticate"].startswith("Basic")
            assert "s3cret" not in answer.text

    @pytest.mark.parametrize("path", ["/healthz", "/readyz"])
    def test_probes_need_none(self, path: str) -> None:
        """The kubelet has none."""
        assert World(access=self.ACCESS).client().get(path).status_code in (200, 503)

    def test_a_proxy_says_who_it_is(self) -> None:
        """With a header that a proxy sets, nobody gets in without it."""
        client = World(access=Access(user_header="X-Forwarded-User", proxies=["127.0.0.0/8"])).client()
        assert client.get("/").status_code == HTTPStatus.UNAUTHORIZED
        assert client.get("/", headers={"X-Forwarded-User": "ann"}).status_code == HTTPStatus.OK

    @pytest.mark.parametrize("address", ["10.0.0.9", "no address", ""])
    def test_nobody_else_does(self, address: str) -> None:
        """From another address the header counts for nothing."""
        client = World(access=Access(user_header="X-Forwarded-User", proxies=["127.0.0.1"])).client()
        answer = client.get("/", headers={"X-Forwarded-User": "ann"}, environ_base={"REMOTE_ADDR": address})
        assert answer.status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.parametrize(
    ("origin", "status"), [(None, 405), ("http://127.0.0.1:8091", 405), ("http://evil.example", 403)]
)
def test_nothing_is_changed_by_other_sites(origin: str | None, status: int) -> None:
    """A request that would change something is refused when a page of another site makes it."""
    headers = {} if origin is None else {"Origin": origin}
    assert World().client().post("/", headers=headers).status_code == status


def test_a_page_that_fails_says_nothing_of_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The reader is told where to look; the reason is in the log alone."""
    world = World()
    client = world.client()

    def fail() -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr(type(world.store), "statuses", lambda _: fail())
    answer = client.get("/")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "a page failed" in caplog.text
