"""Stores that answer wrongly, late, or not at all: each has its own words, and none ends in a traceback or a guess."""

import gzip
import itertools
import json
import os
import socket
import struct
import threading
import tracemalloc
import zlib
from collections.abc import Iterator

import pytest
from requests.exceptions import InvalidURL

from advisor.errors import (
    AdvisorError,
    StoreAnswerError,
    StoreBudgetError,
    StoreError,
    StoreQueryError,
    StoreUnreachableError,
)
from advisor.sources.prometheus.client import PrometheusClient, Query
from advisor.sources.prometheus.deadline import Deadline
from advisor.sources.prometheus.failures import Failure, failure_of
from advisor.sources.prometheus.limits import Limits
from advisor.sources.scraping import Clock
from tests.sources.prometheus.stores import (
    AT,
    HTML,
    JSON,
    OK,
    UP,
    Behaviour,
    Handler,
    ask,
    break_off,
    failure,
    hang,
    message,
    raw,
    refuse,
    reply,
    send,
    serving,
    succeed,
    vector,
)
from tests.sources.servers import FastClock

ONE = Limits(attempts=1)
QUICK = Limits(attempts=1, silence_seconds=0.1, attempt_seconds=0.3)
BODY = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
LOGIN = "<!doctype html><html><head><title>\n Sign in &middot; SSO </title></head></html>"
HINT_API = "(check the path of the URL: it ends before /api/v1, Mimir's in /prometheus)"
HINT_LESS = "(ask for a shorter time or fewer series)"
HINT_ADDRESS = "(is that the address of a store)"
HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
QUERY = "STORE/api/v1/query: "


def page(named: str) -> str:
    """What is said of a page for people."""
    hint = "(check the URL, and how to get in without a browser)"
    return f"an HTML page{named} came in place of data, as from a login {hint}"


def other(why: str) -> str:
    """What is said of JSON of another kind."""
    hint = "(is that the address of a Prometheus, or of one of its kind)"
    return f"the answer is not that of the Prometheus API: {why} {hint}"


def refused(why: str) -> str:
    """What is said of a refusal."""
    return f"the store refuses the query for whether it is up: {why}"


def chunked(body: bytes) -> Behaviour:
    """A body that says that it comes in chunks, and the end of the connection."""
    return reply(body, Transfer_Encoding="chunked", Connection="close")


def answering(kind: str, result: object) -> Behaviour:
    """A success with a result of this type."""
    return succeed({"resultType": kind, "result": result})


def packed(body: bytes) -> Behaviour:
    """A body that says that it is packed."""
    return reply(body, Content_Encoding="gzip")


class TestWrongAnswers:
    @pytest.mark.parametrize(
        ("behave", "text"),
        [
            (reply(LOGIN, kind=HTML), page(' titled "Sign in · SSO"')),
            (reply("<html>", kind=""), page("")),
            (reply("ok", kind="text/plain"), f"the content type is text/plain, which is not JSON {HINT_API}"),
            (reply(b"", kind=JSON), "the answer is empty"),
            (reply("{", kind=JSON), "the answer is cut off: the JSON has no end"),
            (reply("[1]"), other("Expected `object`, got `array`")),
            (reply('{"status": "success", "data": []}'), other("Expected `object`, got `array`")),
            (answering("string", [1, "a"]), other("a result of type 'string' holds no series")),
            (answering("scalar", [1, "a"]), other("could not convert string to float: 'a'")),
            (answering("vector", [{"metric": {"a": 1}}]), other("Expected `str`, got `int` - at `$.metric[...]`")),
            (reply('{"status": "half"}'), other("its status is 'half'")),
            (reply("[" * 100_000), other("Expected `object`, got `array`")),
            (reply('{"message": "no page"}', 404), f"status 404 Not Found: no Prometheus API is there {HINT_API}"),
            (reply("nothing", 404, "text/plain"), f"status 404 Not Found: no Prometheus API is there {HINT_API}"),
            (reply("No plain HTTP here.\n", 400, "text/plain"), "status 400 Bad Request: No plain HTTP here."),
            (reply(LOGIN, 502, HTML), "status 502 Bad Gateway"),
            (reply("overloaded", 503, "text/plain"), "status 503 Service Unavailable: overloaded"),
            (refuse("bad_data", "1:4: parse error", 400), refused("bad_data: 1:4: parse error")),
            (refuse("execution", "many-to-many matching", 422), refused("execution: many-to-many matching")),
            (refuse("", "", 200), refused("error: no reason given")),
            (reply(BODY, Content_Encoding="br"), "the content encoding is br, not gzip"),
            (raw(b"\x00\xff garbage\r\n\r\n"), f"no HTTP answer that can be read {HINT_ADDRESS}"),
            (raw(b"HTTP/1.1 200 OK\r\nA" + b"a" * 70_000), f"no HTTP answer that can be read {HINT_ADDRESS}"),
            (break_off, "the connection was closed without an answer"),
        ],
    )
    def test_each_has_its_words(self, behave: Behaviour, text: str) -> None:
        """The whole text, with the address and, where something helps, what to do."""
        with serving(behave) as store:
            assert message(store, limits=ONE) == QUERY + text

    def test_an_error_of_the_api_has_its_type(self) -> None:
        """Code can tell errors apart without reading texts."""
        with serving(refuse("bad_data", "x", 400)) as store:
            error = failure(store)
        assert isinstance(error, StoreQueryError)
        assert (error.error_type, error.too_much, error.exit_code) == ("bad_data", False, 3)

    def test_the_other_sides_words_are_made_plain(self) -> None:
        """No text of a store can move the cursor or fill the screen."""
        with serving(refuse("bad\x1b[2Jdata", "\x1b[2J" + "x" * 10_000, 400)) as store:
            text = message(store)
        assert text.isprintable()
        assert len(text) < 500

    def test_the_page_behind_a_redirect_is_recognised(self) -> None:
        """A login on the same host is followed to its page, and called one."""
        with serving(reply("", 302, "", Location="/login?next=x"), reply(LOGIN, kind=HTML)) as store:
            assert 'an HTML page titled "Sign in · SSO"' in message(store)
            assert [one.path for one in store.requests] == ["/api/v1/query", "/login"]


class TestOverload:
    @pytest.mark.parametrize("status", [429, 502, 503, 504])
    def test_it_is_asked_again_after_the_time_that_the_store_names(self, status: int) -> None:
        """``Retry-After`` in seconds is heeded, also for a POST."""
        clock = FastClock()
        with serving(reply("busy", status, "text/plain", Retry_After="7"), OK) as store:
            assert ask(store, clock=clock).samples == 1
        assert clock.pauses == [7.0]
        assert [one.method for one in store.requests] == ["POST", "POST"]
        assert store.requests[0].body == store.requests[1].body

    def test_the_time_may_be_a_date(self) -> None:
        """``Retry-After`` as a date is heeded, by the wall clock."""
        clock = FastClock(wall=784_111_777.0 - 5.0)
        with serving(reply("", 503, "", Retry_After="Sun, 06 Nov 1994 08:49:37 GMT"), OK) as store:
            ask(store, clock=clock)
        assert clock.pauses == [5.0]

    def test_a_long_time_is_capped(self) -> None:
        """No store makes us wait longer than the limit."""
        clock = FastClock()
        with serving(reply("", 429, "", Retry_After="86400"), OK) as store:
            ask(store, clock=clock)
        assert clock.pauses == [30.0]

    @pytest.mark.parametrize("header", ["soon", "-1", "Sun, 99 Nov 1994"])
    def test_a_time_that_is_none_is_ignored(self, header: str) -> None:
        """Then the pause is our own."""
        clock = FastClock()
        with serving(reply("", 503, "", Retry_After=header), OK) as store:
            ask(store, clock=clock)
        assert 0.25 <= clock.pauses[0] <= 0.5

    def test_pauses_grow_and_attempts_end(self) -> None:
        """Four attempts, each pause about twice the one before, none longer than the schedule."""
        clock = FastClock()
        with serving(reply("busy", 503, "text/plain")) as store:
            assert message(store, clock=clock) == QUERY + "status 503 Service Unavailable: busy (after 4 attempts)"
        assert len(store.requests) == 4
        for pause, most in zip(clock.pauses, (0.5, 1.0, 2.0), strict=True):
            assert most / 2 <= pause <= most

    def test_all_attempts_together_are_bounded_in_time(self) -> None:
        """A pause that would end after the total time is not begun."""
        clock = FastClock()
        with serving(reply("", 503, "", Retry_After="20")) as store:
            message(store, limits=Limits(attempts=100, total_seconds=50.0), clock=clock)
        assert clock.pauses == [20.0, 20.0]

    def test_internal_errors_are_repeated_once(self) -> None:
        """A 500 may have been chance, two are none."""
        with serving(refuse("internal", "expanding series: boom", 500)) as store:
            assert message(store) == QUERY + refused("internal: expanding series: boom (after 2 attempts)")
        assert len(store.requests) == 2

    @pytest.mark.parametrize("status", [400, 404, 422])
    def test_refusals_are_not_repeated(self, status: int) -> None:
        """The same request would be refused again."""
        with serving(refuse("bad_data", "x", status)) as store:
            failure(store)
        assert len(store.requests) == 1

    def test_a_query_that_took_too_long_is_not_repeated(self) -> None:
        """A time-out of the store is about this query, though its status says 503."""
        with serving(refuse("timeout", "query timed out in expression evaluation", 503)) as store:
            error = failure(store)
        assert isinstance(error, StoreQueryError)
        assert error.too_much
        assert len(store.requests) == 1

    @pytest.mark.parametrize("behave", [break_off, reply(BODY, Content_Length="9999", Connection="close"), reply(b"")])
    def test_what_breaks_is_asked_for_again(self, behave: Behaviour) -> None:
        """A connection that breaks costs an attempt, and no more."""
        with serving(behave, behave, OK) as store:
            assert ask(store).samples == 1
        assert len(store.requests) == 3

    def test_a_closed_client_waits_no_longer(self) -> None:
        """Closing ends the pause between attempts."""
        clock = FastClock()
        with serving(reply("", 503, "")) as store:
            client = PrometheusClient(store.url, clock=clock)
            client.close()
            with pytest.raises(StoreUnreachableError, match="the client was closed"):
                client.instant(UP, AT)
        assert clock.pauses == []


class TestCutAndDamaged:
    @pytest.mark.parametrize(
        ("behave", "text"),
        [
            (
                reply(BODY, Content_Length="999", Connection="close"),
                f"the answer is cut off: {999 - len(BODY)} bytes are missing",
            ),
            (packed(gzip.compress(BODY)[:-9]), "the answer is cut off: the compressed data has no end"),
            (packed(b"no gzip"), "the compressed answer is damaged"),
            (chunked(b'5\r\n{"sta\r\n'), "the answer is cut off"),
            (chunked(b'5\r\n{"st'), "the answer is cut off: 1 bytes are missing"),
            (chunked(b"zz\r\n"), "the answer is cut off"),
            (raw(HEAD + BODY[:-5]), "the answer is cut off: the JSON has no end"),
        ],
    )
    def test_it_is_said_after_all_attempts(self, behave: Behaviour, text: str) -> None:
        """Nothing of half an answer is used."""
        with serving(behave) as store:
            assert message(store) == f"{QUERY}{text} (after 4 attempts)"
        assert len(store.requests) == 4

    def test_gzip_is_unpacked(self) -> None:
        """What is asked for packed is unpacked, whatever its name."""
        packed = gzip.compress(b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}')
        with serving(reply(packed, Content_Encoding="x-gzip")) as store:
            assert ask(store).series[0].values[0] == 2.0
        assert store.requests[0].headers["accept-encoding"] == "gzip"


class TestSlow:
    def test_silence(self) -> None:
        """A store that says nothing costs the silence that is allowed, and the query is called too much."""
        with serving(hang) as store:
            error = failure(store, limits=QUICK, clock=Clock())
            assert str(error) == f"{store.url}/api/v1/query: nothing came for 0.1 s {HINT_LESS}"
        assert isinstance(error, StoreUnreachableError)
        assert error.too_much
        assert len(store.requests) == 1

    @pytest.mark.parametrize("start", [b"", HEAD])
    def test_a_byte_at_a_time(self, start: bytes) -> None:
        """A store that drips, header or body, is cut off at the end of the attempt."""

        def drip(handler: Handler) -> None:
            handler.wfile.write(start)
            while not handler.server.released.wait(0.02):
                handler.wfile.write(b" " if start else b"H")

        with serving(drip) as store:
            assert message(store, limits=QUICK, clock=Clock()) == f"{QUERY}no whole answer within 0.3 s {HINT_LESS}"

    def test_closing_ends_what_is_under_way(self) -> None:
        """Another thread that waits for a store ends when the client is closed."""
        errors: list[AdvisorError] = []
        asked = threading.Event()

        def wait(handler: Handler) -> None:
            asked.set()
            hang(handler)

        with serving(wait) as store:
            client = PrometheusClient(store.url)

            def query() -> None:
                with pytest.raises(StoreError) as caught:
                    client.instant(UP, AT)
                errors.append(caught.value)

            thread = threading.Thread(target=query)
            thread.start()
            asked.wait(10.0)
            client.close()
            thread.join(20.0)
        assert [error.message for error in errors] == ["the client was closed"]


class TestHuge:
    @pytest.mark.parametrize("packed", [False, True])
    def test_it_is_not_taken_into_memory(self, *, packed: bool) -> None:
        """Of a hundred megabytes, as they are or packed into little, no more than the limit is held."""
        sent = 0

        def stream(handler: Handler) -> None:
            nonlocal sent
            handler.send_response(200)
            handler.send_header("Content-Type", JSON)
            handler.send_header("Transfer-Encoding", "chunked")
            if packed:
                handler.send_header("Content-Encoding", "gzip")
            handler.end_headers()
            for piece in _blanks() if packed else itertools.repeat(b" " * (1 << 20), 100):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                sent += len(piece)
            handler.wfile.write(b"0\r\n\r\n")

        tracemalloc.start()
        try:
            with serving(stream) as store:
                error = failure(store, limits=Limits(body_bytes=4 << 20))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert error.message == "the answer is larger than 4 MiB"
        assert isinstance(error, StoreAnswerError)
        assert error.too_much
        assert len(store.requests) == 1
        assert peak < 32 << 20

    def test_a_long_error_is_not_read_to_its_end(self) -> None:
        """What does not succeed is read as far as it may say why."""
        body = json.dumps({"error": "x" * (1 << 20)})
        with serving(reply(body, 400)) as store:
            assert message(store).startswith(QUERY + 'status 400 Bad Request: {"error": "xxx')


def _blanks() -> Iterator[bytes]:
    """A hundred megabytes of blanks in one gzip stream, piece by piece."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    for _ in range(100):
        piece = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
        yield piece
    yield packer.flush()


class TestNobodyThere:
    def test_refused(self) -> None:
        """A port where nothing listens, after all attempts."""
        with serving(OK) as store:
            pass
        assert message(store) == (
            QUERY + "the connection is refused (after 4 attempts; is the store running, and is that its port)"
        )

    def test_a_full_queue(self) -> None:
        """A host that takes no connection in time, as behind a firewall."""
        with socket.socket() as busy, socket.socket() as first, socket.socket() as second:
            busy.bind(("127.0.0.1", 0))
            busy.listen(0)
            for one in (first, second):
                one.settimeout(0.0)
                one.connect_ex(busy.getsockname())
            url = f"http://127.0.0.1:{busy.getsockname()[1]}"
            client = PrometheusClient(url, limits=Limits(attempts=1, connect_seconds=0.2))
            with client, pytest.raises(StoreUnreachableError) as caught:
                client.instant(UP, AT)
        assert str(caught.value) == f"{url}/api/v1/query: no connection within 0.2 s (is there a firewall between)"

    def test_a_reset(self) -> None:
        """A connection that is torn down, in the system's words."""

        def reset(handler: Handler) -> None:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.close_connection = True
            os.close(handler.connection.detach())

        with serving(reset) as store:
            assert message(store, limits=ONE) == QUERY + "the connection failed: Connection reset by peer"

    def test_what_nobody_thought_of(self) -> None:
        """Of an unknown error only its kind is told: its text may hold anything."""
        deadline = Deadline(FastClock(), 1.0, 1.0)
        assert failure_of(InvalidURL("http://u:hidden@a"), deadline, 1.0) == Failure("the request failed: InvalidURL")

    def test_a_name_that_does_not_exist(self) -> None:
        """A host that nobody knows."""
        with (
            PrometheusClient("http://kuberay.invalid:9090", limits=ONE, clock=FastClock()) as client,
            pytest.raises(StoreUnreachableError) as caught,
        ):
            client.instant(UP, AT)
        assert str(caught.value) == (
            "http://kuberay.invalid:9090/api/v1/query: the name of the host is not known (check the host of the URL)"
        )

    def test_the_budget_ends(self) -> None:
        """No more requests are made than allowed, repeated ones included; the error says so."""
        with (
            serving(OK, reply("", 503, ""), OK) as store,
            PrometheusClient(store.url, limits=Limits(requests=2), clock=FastClock()) as client,
        ):
            client.instant(UP, AT)
            with pytest.raises(StoreBudgetError) as caught:
                client.instant(UP, AT)
            assert client.budget == 2
        assert str(caught.value).replace(store.url, "STORE") == (
            QUERY + "the budget of 2 requests is spent (ask for a shorter time)"
        )
        assert len(store.requests) == 2


class TestRedirects:
    @pytest.mark.parametrize("status", [301, 302, 307, 308])
    def test_the_same_host_is_followed_with_the_form(self, status: int) -> None:
        """What a proxy moves to another path is asked for there, body and all."""
        with serving(reply("", status, "", Location="/prom/api/v1/query"), OK) as store:
            assert ask(store).samples == 1
        assert [(one.method, one.path, one.params["query"]) for one in store.requests] == [
            ("POST", "/api/v1/query", ["up"]),
            ("POST", "/prom/api/v1/query", ["up"]),
        ]

    def test_see_other_becomes_a_get(self) -> None:
        """303 names another thing to get."""
        with serving(reply("", 303, "", Location="/there?query=up"), OK) as store:
            ask(store)
        assert (store.requests[1].method, store.requests[1].body) == ("GET", b"")

    def test_too_many(self) -> None:
        """A circle ends."""
        with serving(reply("", 307, "", Location="/again")) as store:
            assert message(store) == QUERY + "too many redirects"
        assert len(store.requests) == 4

    @pytest.mark.parametrize(
        ("location", "where"),
        [
            ("http://127.0.0.2:9/api", "http://127.0.0.2:9"),
            ("https://sso.example/login?next=%2F", "https://sso.example"),
            ("//sso.example/login", "http://sso.example"),
            ("http://u:secret@sso.example/", "http://sso.example"),
            ("ftp://127.0.0.1/", "something that is no http or https URL"),
            ("http://[::1", "something that is no http or https URL"),
            ("http://a:port/", "something that is no http or https URL"),
        ],
    )
    def test_elsewhere_is_not_followed(self, location: str, where: str) -> None:
        """The error names the host, and nothing else of the address."""
        with serving(reply("", 302, "", Location=location)) as store:
            assert message(store) == (
                f"{QUERY}redirects to {where}, which is not followed: what lets us in is for this host alone "
                "(if that is the store, give its address)"
            )

    def test_a_redirect_without_a_place_is_no_redirect(self) -> None:
        """It is an answer like any other that is not 200."""
        with serving(reply("moved", 302, "text/plain")) as store:
            assert message(store) == QUERY + "status 302 Found: moved"


class TestDegraded:
    def test_warnings_are_kept_once(self) -> None:
        """What the store remarks is kept in order, infos as well, each once, on one line."""
        partial = "No StoreAPIs matched\nfor this query"
        info = "PromQL info: metric might not be a counter"
        first = vector(("up", "1"), warnings=[partial, partial], infos=[info])
        with serving(first, vector(("up", "1"), warnings=[partial])) as store, PrometheusClient(store.url) as client:
            for _ in range(2):
                assert client.instant(UP, AT).samples == 1
            assert client.warnings == ("No StoreAPIs matched for this query", info)

    def test_warnings_without_end_are_cut(self) -> None:
        """Fifty different ones are kept, the others counted."""
        many = vector(warnings=[f"warning {number}" for number in range(60)])
        with serving(many) as store, PrometheusClient(store.url) as client:
            client.instant(UP, AT)
            assert len(client.warnings) == 51
            assert client.warnings[-1] == "and 10 more warnings"

    def test_a_store_that_takes_no_post_is_asked_by_get(self) -> None:
        """405 is met once; from then on that path is asked by GET."""
        with serving(reply("no", 405, "text/plain"), OK) as store, PrometheusClient(store.url) as client:
            for _ in range(2):
                client.instant(UP, AT)
        assert [one.method for one in store.requests] == ["POST", "GET", "GET"]
        assert store.requests[1].params["query"] == ["up"]

    def test_a_store_that_takes_neither_says_so(self) -> None:
        """405 to a GET is the end."""
        with serving(reply("no", 405, "text/plain")) as store:
            assert message(store) == QUERY + "status 405 Method Not Allowed: no"
        assert len(store.requests) == 2


def test_a_large_query_goes_in_the_body() -> None:
    """A query of any length is a form, not a URL that proxies refuse."""
    text = f'up{{pod=~"{"|".join(f"pod-{number}" for number in range(5000))}"}}'
    with serving(OK) as store:
        ask(store, query=Query(text, "size"))
    (request,) = store.requests
    assert (request.method, request.url) == ("POST", "/api/v1/query")
    assert request.params["query"] == [text]
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"


def test_requests_share_a_connection() -> None:
    """A connection is kept from one request to the next, deadline or not."""
    ports: set[int] = set()

    def note(handler: Handler) -> None:
        ports.add(handler.client_address[1])
        send(handler, BODY)

    with serving(note) as store, PrometheusClient(store.url) as client:
        for _ in range(3):
            client.instant(UP, AT)
    assert len(ports) == 1
