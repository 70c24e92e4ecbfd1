"""The settings of getting into a store: what goes together, and what a store then sees."""

import base64
from pathlib import Path
from typing import Any

import pytest

from advisor.errors import SettingsError, StoreAccessError
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.secret import Secret
from tests.sources.prometheus.stores import AT, OK, UP, ask, message, reply, serving

PATH = Path("/nowhere/file")
KEEP = " exclude each other (keep the one that the store wants)"
HEADER = "a header has a name that none can have, or a value that is not plain ASCII"


def basic(user: str, password: str) -> str:
    """The header of basic authentication."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "text"),
        [
            (
                {"bearer_token": Secret("abc"), "user": "u", "password": Secret("p")},
                "a bearer token and a user" + KEEP,
            ),
            (
                {"bearer_token_file": PATH, "token_command": ("a",), "sigv4_region": "eu-west-1"},
                "a bearer token file and a token command and an AWS region to sign for" + KEEP,
            ),
            (
                {"bearer_token": Secret("abc"), "headers": {"authorization": "Bearer x"}},
                "a bearer token and a header Authorization" + KEEP,
            ),
            (
                {"user": "u", "password": Secret("p"), "password_file": PATH},
                "a password and a password file exclude each other",
            ),
            ({"password_file": PATH}, "a password needs a user"),
            ({"user": "u"}, "a user needs a password or a password file"),
            (
                {"user": "a:b", "password": Secret("p")},
                "a user of basic authentication has no colon and no control character",
            ),
            ({"client_key": PATH}, "a client key needs a client certificate"),
            ({"ca_file": PATH, "insecure": True}, "a CA file says nothing where certificates are not checked"),
            ({"sigv4_profile": "p"}, "an AWS profile needs a region to sign for"),
            ({"sigv4_region": "eu west"}, "an AWS region has a form such as eu-west-1"),
            ({"headers": {"X": "a\r\nb"}}, HEADER),
            ({"header_files": {"X y": PATH}}, HEADER),
            ({"tenant": "a\nb"}, HEADER),
            ({"tenant": "a", "headers": {"x-scope-orgid": "b"}}, "the header x-scope-orgid is given twice"),
            ({"headers": {"X-A": "b"}, "header_files": {"x-a": PATH}}, "the header x-a is given twice"),
            ({"headers": {"Content-Type": "text/plain"}}, "the header Content-Type is set by the client itself"),
        ],
    )  # fmt: skip
    def test_contradictions(self, settings: dict[str, Any], text: str) -> None:
        """Each has its words, before anything is sent; exit code 2 as for other wrong use."""
        with pytest.raises(SettingsError) as caught:
            Access(**settings)
        assert str(caught.value) == text
        assert caught.value.exit_code == 2

    @pytest.mark.parametrize(
        ("access", "text"),
        [
            (
                Access(user="u", password=Secret("p")),
                "the URL names a user, and the settings name one too (name it once)",
            ),
            (
                Access(bearer_token=Secret("t")),
                "a bearer token and a user" + KEEP,
            ),
        ],
    )
    def test_a_user_in_the_url_is_a_way_too(self, access: Access, text: str) -> None:
        """It excludes the others, and the password of the URL is not shown."""
        with pytest.raises(SettingsError) as caught:
            PrometheusClient("http://u:hidden@127.0.0.1:1", access)
        assert str(caught.value) == text

    def test_headers_are_taken_apart(self) -> None:
        """As they are written on a command line."""
        assert Access.header("X-Team:  ray ") == ("X-Team", "ray")
        with pytest.raises(ValueError, match="expected 'Name: value'"):
            Access.header("X-Team")

    def test_nothing_secret_in_its_repr(self) -> None:
        """Neither secrets nor headers nor arguments of a command."""
        shown = repr(Access(user="me", password=Secret("pass-1"), headers={"X-Key": "key-1"}))
        assert "user='me'" in shown
        assert "pass-1" not in shown
        assert "key-1" not in shown
        assert "arg-1" not in repr(Access(token_command=("program", "arg-1")))


class TestWhatIsSent:
    def test_nothing(self) -> None:
        """Without settings nobody says who asks."""
        with serving(OK) as store:
            ask(store)
        headers = store.requests[0].headers
        assert "authorization" not in headers
        assert "cookie" not in headers
        assert headers["user-agent"] == "kuberay-advisor"
        assert headers["accept"] == "application/json"

    def test_a_token(self, tmp_path: Path) -> None:
        """From the settings or from a file, without the line end."""
        file = tmp_path / "token"
        file.write_text("from-file\n", encoding="utf-8")
        with serving(OK) as store:
            ask(store, Access(bearer_token=Secret("given")))
            ask(store, Access(bearer_token_file=file))
        assert [one.headers["authorization"] for one in store.requests] == ["Bearer given", "Bearer from-file"]

    def test_a_user(self, tmp_path: Path) -> None:
        """Basic authentication, in UTF-8, from settings, a file or the URL."""
        file = tmp_path / "password"
        file.write_text("naïve pass\r\n", encoding="utf-8")
        with serving(OK) as store:
            ask(store, Access(user="me", password=Secret("p:w")))
            ask(store, Access(user="me", password_file=file))
            with PrometheusClient(store.url.replace("//", "//me%40x:p%2Fw@")) as client:
                client.instant(UP, AT)
                assert client.name == store.url
        assert [one.headers["authorization"] for one in store.requests] == [
            basic("me", "p:w"),
            basic("me", "naïve pass"),
            basic("me@x", "p/w"),
        ]

    def test_headers_and_tenant(self, tmp_path: Path) -> None:
        """They go with any way in, and their values may be in files."""
        file = tmp_path / "key"
        file.write_text("k e y\n", encoding="utf-8")
        access = Access(headers={"X-Team": "ray"}, header_files={"X-Key": file}, tenant="team-a")
        with serving(OK) as store:
            ask(store, access)
        headers = store.requests[0].headers
        assert (headers["x-team"], headers["x-key"], headers["x-scope-orgid"]) == ("ray", "k e y", "team-a")

    def test_no_netrc_and_no_cookies(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing is sent that nobody asked for: no password of a .netrc, no cookie of an earlier answer."""
        netrc = tmp_path / ".netrc"
        netrc.write_text("machine 127.0.0.1 login a password b\n", encoding="utf-8")
        netrc.chmod(0o600)
        monkeypatch.setenv("NETRC", str(netrc))
        cookie = reply('{"status":"success","data":{"resultType":"vector","result":[]}}', Set_Cookie="a=b; Path=/")
        with serving(cookie) as store, PrometheusClient(store.url) as client:
            for _ in range(2):
                client.instant(UP, AT)
        assert not any({"authorization", "cookie"} & set(one.headers) for one in store.requests)


class TestRefused:
    def test_nobody_said_who_asks(self) -> None:
        """401 without credentials says what is missing."""
        with serving(reply("denied", 401, "text/plain")) as store:
            assert message(store) == (
                "STORE/api/v1/query: status 401 Unauthorized: who asks has to be said, and was not: denied "
                "(give a token, a user with a password, a client certificate, or the tenant that a Mimir wants)"
            )
        assert len(store.requests) == 1

    def test_the_same_secret_again(self, tmp_path: Path) -> None:
        """A file that still holds what was refused: the error says where it is from; nothing is sent twice."""
        file = tmp_path / "token"
        file.write_text("stale-token", encoding="utf-8")
        with serving(reply("token stale-token has expired", 401, "text/plain")) as store:
            text = message(store, Access(bearer_token_file=file))
        assert text == (
            f"STORE/api/v1/query: status 401 Unauthorized: the bearer token from the file {file} was refused: "
            "token *** has expired (has it expired)"
        )
        assert len(store.requests) == 1

    def test_a_user(self) -> None:
        """The name of the user is shown, the password is not, in whatever form a server repeats it."""
        access = Access(user="me", password=Secret("hidden"))
        with serving(reply(f"who is {basic('me', 'hidden')} or hidden", 401, "text/plain")) as store:
            text = message(store, access)
        assert text == (
            "STORE/api/v1/query: status 401 Unauthorized: the password of me of the settings was refused: "
            "who is Basic *** or *** (has it expired)"
        )

    def test_forbidden(self) -> None:
        """403 is about rights: nothing is read anew, and the text says which account."""
        access = Access(bearer_token=Secret("abcdef"), tenant="a")
        with serving(reply('{"message": "no"}', 403)) as store:
            text = message(store, access)
        assert text == (
            "STORE/api/v1/query: status 403 Forbidden: the bearer token of the settings may not read here: "
            '{"message": "no"} (its account lacks the right)'
        )
        assert len(store.requests) == 1

    def test_of_pages_nothing_is_repeated(self) -> None:
        """A login page that comes with 401 is no text for an error."""
        with serving(reply("<html>log in</html>", 401, "text/html")) as store:
            assert "log in" not in message(store)

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            (None, "cannot be read: No such file or directory (check the path and its permissions)"),
            ("", "holds no token of one line (the file has to hold nothing else)"),
            ("a\nb", "holds no token of one line (the file has to hold nothing else)"),
            ("a b", "holds no token of one line (the file has to hold nothing else)"),
            ("ä", "holds no token of one line (the file has to hold nothing else)"),
        ],
    )
    def test_a_file_that_holds_no_token(self, content: str | None, text: str, tmp_path: Path) -> None:
        """Nothing is sent, and the error names the file."""
        file = tmp_path / "token"
        if content is not None:
            file.write_text(content, encoding="utf-8")
        with serving(OK) as store, pytest.raises(StoreAccessError) as caught:
            ask(store, Access(bearer_token_file=file))
        assert str(caught.value) == f"{file}: {text}"
        assert store.requests == []
