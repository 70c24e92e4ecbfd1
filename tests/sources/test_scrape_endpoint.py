import gzip
import time
from pathlib import Path

import pytest

from advisor.errors import InputNotFoundError
from advisor.sources import endpoint as endpoint_module
from advisor.sources.endpoint import Access, Endpoint, ScrapeFailedError, fetch, tls_context
from tests.sources.servers import TLS, Behaviour, Handler, Server, answer, hang, send, serving

BODY = b"a 1\n" * 1000


def get(server: Server, access: Access | None = None, seconds: float = 5.0) -> bytes:
    """The body that the server gives."""
    pieces: list[bytes] = []
    fetch(server.endpoint, access or Access(), seconds, pieces.append)
    return b"".join(pieces)


def failure(behave: Behaviour, seconds: float = 5.0) -> str:
    """Why fetching from a server that behaves so fails."""
    with serving(behave) as server, pytest.raises(ScrapeFailedError) as failed:
        get(server, seconds=seconds)
    return str(failed.value)


def chunked(*chunks: bytes) -> bytes:
    """A chunked body."""
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "instance", "path"),
        [
            ("http://a", "a:80", "/metrics"),
            ("https://a/", "a:443", "/metrics"),
            ("http://a:8080/x/metrics?y=1", "a:8080", "/x/metrics?y=1"),
            ("http://[::1]:8080", "[::1]:8080", "/metrics"),
        ],
    )
    def test_parts(self, url: str, instance: str, path: str) -> None:
        """The port of the scheme and the usual path are filled in."""
        endpoint = Endpoint.parse(url)
        assert (endpoint.instance, endpoint.path) == (instance, path)
        assert endpoint.url == f"{endpoint.scheme}://{instance}{path.partition('?')[0]}"

    @pytest.mark.parametrize(
        "url",
        ["", "a:8080", "ftp://a", "http://", "http://a b", "http://a\n", "http://ä", "http://u:p@a", "http://a:x",
         "http://[::1", "file:///etc/passwd"],
    )  # fmt: skip
    def test_what_is_no_url(self, url: str) -> None:
        """Other schemes, users and control characters are refused."""
        with pytest.raises(ValueError, match=r"."):
            Endpoint.parse(url)


class TestAnswers:
    @pytest.mark.parametrize("kind", ["text/plain", "application/openmetrics-text; version=1.0.0", ""])
    def test_text_is_taken(self, kind: str) -> None:
        """Text, OpenMetrics, and what says nothing of itself."""
        with serving(answer(BODY, kind=kind)) as server:
            assert get(server) == BODY
        accept = server.requests[0].headers["Accept"]
        assert "text/plain" in accept
        assert "openmetrics" in accept

    @pytest.mark.parametrize("encoding", ["gzip", "x-gzip"])
    def test_gzip_is_unpacked(self, encoding: str) -> None:
        """A compressed answer is unpacked, and what follows its end is ignored."""
        with serving(answer(gzip.compress(BODY) + b"more", Content_Encoding=encoding)) as server:
            assert get(server) == BODY

    def test_chunks_are_joined(self) -> None:
        """An answer without a length comes in chunks."""

        def behave(handler: Handler) -> None:
            handler.protocol_version = "HTTP/1.1"
            send(handler, chunked(BODY, BODY, b""), Transfer_Encoding="chunked")

        with serving(behave) as server:
            assert get(server) == 2 * BODY

    def test_an_answer_may_end_with_the_connection(self) -> None:
        """Without length and chunks, the end of the connection is the end."""

        def behave(handler: Handler) -> None:
            handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + BODY)

        with serving(behave) as server:
            assert get(server) == BODY

    @pytest.mark.parametrize(
        ("behave", "error"),
        [
            (answer(b"", 500), "status 500 Internal Server Error"),
            (answer(b"", 401), "status 401 Unauthorized"),
            (answer(b"a 1\n", kind="text/html"), "an HTML page came in place of metrics as text"),
            (answer(b"a 1\n", Content_Encoding="br"), "the content encoding is br, not gzip"),
            (answer(b"not gzip", Content_Encoding="gzip"), "the compressed answer is damaged"),
            (answer(gzip.compress(BODY)[:-9], Content_Encoding="gzip"), "the compressed data has no end"),
            (answer(b"a 1\n", Content_Length="9"), "cut off: 5 bytes are missing"),
            (answer(chunked(b"a 1\n"), Transfer_Encoding="chunked"), "no HTTP answer that can be read"),
            (answer(b"zz\r\n", Transfer_Encoding="chunked"), "no HTTP answer that can be read"),
            (lambda handler: handler.wfile.write(b"\x00\xff garbage\r\n\r\n"), "no HTTP answer that can be read"),
            (lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nA" + b"a" * 70_000), "no HTTP answer"),
            (lambda _: None, "Remote end closed connection without response"),
            (answer(b"", 302, Location="http://127.0.0.2:1/"), "redirects to 127.0.0.2:1, which is not followed"),
            (answer(b"", 302, Location="ftp://127.0.0.1/"), "redirects to something that is no http or https URL"),
            (answer(b"", 302, Location="http://[::1"), "redirects to something that is no http or https URL"),
            (answer(b"", 302, Location="/again"), "too many redirects"),
        ],
    )
    def test_what_fails(self, behave: Behaviour, error: str) -> None:
        """Each way to answer wrongly has its own words, and none ends in a traceback."""
        assert error in failure(behave)

    def test_the_other_sides_words_are_made_plain(self) -> None:
        """A reason of the other side can neither move the cursor nor fill the screen."""

        def behave(handler: Handler) -> None:
            handler.wfile.write(b"HTTP/1.1 503 \x1b[2J" + b"x" * 1000 + b"\r\n\r\n")

        text = failure(behave)
        assert text.isprintable()
        assert len(text) < 250

    def test_nobody_there(self) -> None:
        """A refused connection says so."""
        with serving(hang) as server:
            pass
        with pytest.raises(ScrapeFailedError, match="refused"):
            get(server)

    def test_a_name_that_does_not_exist(self) -> None:
        """An unknown host says so."""
        with pytest.raises(ScrapeFailedError, match=r"."):
            fetch(Endpoint.parse("http://kuberay.invalid"), Access(), 5.0, print)


class TestBounds:
    def test_no_time_left(self) -> None:
        """Nothing is begun after the end."""
        with serving(answer(BODY)) as server:
            with pytest.raises(ScrapeFailedError, match="within 0 s"):
                get(server, seconds=0.0)
            assert server.requests == []

    def test_hanging(self) -> None:
        """A server that never answers costs the time-out."""
        begin = time.monotonic()
        assert failure(hang, seconds=0.1) == "no whole answer within 0.1 s"
        assert time.monotonic() - begin < 2.0

    @pytest.mark.parametrize("start", [b"", b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"])
    def test_a_byte_at_a_time(self, start: bytes) -> None:
        """A server that dribbles, header or body, is cut off at the same time as one that hangs."""

        def behave(handler: Handler) -> None:
            handler.wfile.write(start)
            for _ in range(200):
                handler.wfile.write(b"H")
                if handler.server.released.wait(0.02):
                    return

        begin = time.monotonic()
        assert failure(behave, seconds=0.2) == "no whole answer within 0.2 s"
        assert time.monotonic() - begin < 2.0

    @pytest.mark.parametrize("packed", [False, True])
    def test_a_huge_body(self, monkeypatch: pytest.MonkeyPatch, *, packed: bool) -> None:
        """A body beyond the bound ends the scrape, also where it is small until unpacked."""
        monkeypatch.setattr(endpoint_module, "LARGEST_BODY_BYTES", 1 << 20)
        body = b"a 1\n" * (1 << 20)
        behave = answer(gzip.compress(body), Content_Encoding="gzip") if packed else answer(body)
        received = 0

        def receive(piece: bytes) -> None:
            nonlocal received
            received += len(piece)

        with serving(behave) as server, pytest.raises(ScrapeFailedError, match="larger than 1 MiB"):
            fetch(server.endpoint, Access(), 5.0, receive)
        assert received <= 1 << 20


class TestRedirects:
    def test_the_same_host_is_followed(self) -> None:
        """A redirect within the server leads to the answer, with what was sent along."""

        def behave(handler: Handler) -> None:
            if handler.path == "/metrics":
                send(handler, b"", 307, Location="/real?x=1")
            else:
                send(handler, BODY)

        with serving(behave) as server:
            assert get(server, Access({"X-Scope": "a"})) == BODY
        assert [one.path for one in server.requests] == ["/metrics", "/real?x=1"]
        assert server.requests[1].headers["X-Scope"] == "a"

    @pytest.mark.parametrize(
        ("start", "location", "followed"),
        [
            ("http://a:80", "https://a/", True),
            ("http://a:80", "https://b/", False),
            ("http://a:80", "http://a:81/", False),
            ("https://a", "http://a/", False),
            ("http://a", "//b/", False),
            ("http://a/x/y", "z", True),
        ],
    )
    def test_where_redirects_may_lead(self, start: str, location: str, *, followed: bool) -> None:
        """The same host and port, or the same host by https; nothing else gets the credentials."""
        endpoint = Endpoint.parse(start)
        if followed:
            assert endpoint.redirected(location).host == endpoint.host
        else:
            with pytest.raises(ScrapeFailedError, match="not followed"):
                endpoint.redirected(location)


class TestAccess:
    def test_headers_and_token_are_sent(self, tmp_path: Path) -> None:
        """Headers go along, and the token is read anew for each request."""
        token = tmp_path / "token"
        access = Access(dict([Access.header("X-Scope: a b")]), token)
        with serving(answer(BODY)) as server:
            for text in ("first", "second"):
                token.write_text(f"{text}\n", encoding="utf-8")
                get(server, access)
        assert [one.headers["Authorization"] for one in server.requests] == ["Bearer first", "Bearer second"]
        assert server.requests[0].headers["X-Scope"] == "a b"

    @pytest.mark.parametrize("text", ["", "a\nb", "a b", "\x00", "ä"])
    def test_what_is_no_token(self, text: str, tmp_path: Path) -> None:
        """Nothing that could break a header is taken for a token."""
        token = tmp_path / "token"
        token.write_text(text, encoding="utf-8")
        with pytest.raises(ScrapeFailedError, match="holds no token"):
            Access(token_file=token).all_headers()

    def test_a_token_file_that_is_gone(self, tmp_path: Path) -> None:
        """A missing token fails the scrape and not the program."""
        with pytest.raises(ScrapeFailedError, match="cannot be read: No such file"):
            Access(token_file=tmp_path / "token").all_headers()

    @pytest.mark.parametrize("text", ["", "a", "a b: c", ": c", "a: b\r\nc: d", "a: ä"])
    def test_what_is_no_header(self, text: str) -> None:
        """Nothing that could break a request is taken for a header."""
        with pytest.raises(ValueError, match="expected 'Name: value'"):
            Access.header(text)


class TestTls:
    def test_a_certificate_is_checked(self) -> None:
        """A certificate of an unknown authority fails."""
        access = Access(tls=tls_context(None, insecure=False))
        with serving(answer(BODY), tls=True) as server, pytest.raises(ScrapeFailedError, match="not trusted"):
            get(server, access)
        assert server.requests == []

    def test_an_authority_may_be_named(self) -> None:
        """With the authority's certificate it is trusted."""
        with serving(answer(BODY), tls=True) as server:
            assert get(server, Access(tls=tls_context(TLS / "cert.pem", insecure=False))) == BODY

    def test_the_check_may_be_left_out(self) -> None:
        """Only when asked for."""
        with serving(answer(BODY), tls=True) as server:
            assert get(server, Access(tls=tls_context(None, insecure=True))) == BODY

    @pytest.mark.parametrize("content", [None, b"", b"no certificate"])
    def test_a_file_without_a_certificate(self, content: bytes | None, tmp_path: Path) -> None:
        """A file that does not help is an error of the input."""
        path = tmp_path / "ca.pem"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputNotFoundError, match="holds no certificate"):
            tls_context(path, insecure=False)
