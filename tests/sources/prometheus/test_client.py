"""The client: what it asks, in how many requests, at what cost, and which store it finds."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from advisor.errors import SettingsError, StoreAnswerError, StoreQueryError, StoreUnreachableError
from advisor.sources.prometheus.address import Address
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.buildinfo import BuildInfo, Kind
from advisor.sources.prometheus.client import PrometheusClient, Query
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.secret import Secret
from tests.sources.prometheus.certificates import server_context
from tests.sources.prometheus.conftest import Certificates
from tests.sources.prometheus.stores import (
    AT,
    OK,
    UP,
    Behaviour,
    Handler,
    Store,
    evaluate,
    message,
    refuse,
    reply,
    serving,
    succeed,
)
from tests.sources.servers import FastClock


@contextmanager
def asking(*behaviours: Behaviour, **limits: Any) -> Iterator[tuple[Store, PrometheusClient]]:  # noqa: ANN401 - as Limits has it
    """A store and its client."""
    with (
        serving(*behaviours) as store,
        PrometheusClient(store.url, None, Limits(**limits), clock=FastClock()) as client,
    ):
        yield store, client


class TestAddresses:
    @pytest.mark.parametrize(
        ("url", "base"),
        [
            ("http://a", "http://a"),
            ("http://a:9090/", "http://a:9090"),
            ("https://mimir/prometheus/", "https://mimir/prometheus"),
            ("https://mimir/prometheus/api/v1/", "https://mimir/prometheus"),
            ("http://u:p%40@[::1]:9090/x", "http://[::1]:9090/x"),
        ],
    )
    def test_what_is_asked(self, url: str, base: str) -> None:
        """The path before ``/api/v1`` is kept, and a user is not part of it."""
        assert Address.parse(url).url == base

    @pytest.mark.parametrize(
        "url",
        ["", "a:9090", "ftp://a", "http://", "http://a b", "http://ä", "http://u:hidden@a:x", "http://u:hid/den@a"],
    )
    def test_what_is_no_address(self, url: str) -> None:
        """The error shows nothing of it, in no exception that it holds: a password may be in it."""
        with pytest.raises(SettingsError) as caught:
            Address.parse(url)
        hint = "did you mean http://a:9090" if url == "a:9090" else "its form is https://HOST[:PORT][/PATH]"
        assert str(caught.value) == f"the URL of the store is none ({hint})"
        assert caught.value.__context__ is None

    def test_a_query_is_no_part(self) -> None:
        """It would be lost."""
        with pytest.raises(SettingsError, match="has a query or a fragment"):
            Address.parse("http://a/graph?g0.expr=up")

    def test_a_prefix(self) -> None:
        """Requests go below it."""
        with serving(OK) as store, PrometheusClient(f"{store.url}/prometheus/") as client:
            client.instant(UP, AT)
        assert store.requests[0].path == "/prometheus/api/v1/query"


class TestInstant:
    def test_what_is_asked(self) -> None:
        """Query and time to the millisecond, as a form; the store is told when to give up, before we do."""
        with asking(OK) as (store, client):
            result = client.instant(Query("up{a='b'}", "a test"), 1_796_000_000.1234)
        (request,) = store.requests
        assert (request.method, request.path) == ("POST", "/api/v1/query")
        assert request.params == {"query": ["up{a='b'}"], "time": ["1796000000.123"], "timeout": ["54.000"]}
        assert [one.name for one in result.series] == ["up"]

    def test_what_it_cost(self) -> None:
        """Bytes, attempts, series and samples of each request, with its purpose; failures cost too."""
        body = {
            "status": "success",
            "data": {"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}] * 3},
        }
        text = json.dumps(body)
        with asking(reply("", 503, ""), reply(text), refuse("bad_data", "no", 400)) as (_, client):
            client.instant(UP, AT)
            with pytest.raises(StoreQueryError):
                client.instant(Query("up{", "a typo"), AT)
            good, bad = client.costs
        assert (good.purpose, good.path, good.method) == ("whether it is up", "/api/v1/query", "POST")
        assert (good.attempts, good.series, good.samples) == (2, 3, 3)
        assert good.received_bytes == good.body_bytes == len(text)
        assert 0.25 <= good.pause_seconds <= 0.5
        assert (bad.purpose, bad.attempts, bad.series) == ("a typo", 1, 0)


class TestRange:
    def test_one_request(self) -> None:
        """A range that fits is one request, aligned to multiples of the step."""
        with asking(evaluate) as (store, client):
            result = client.range(Query("clock", "time"), 1_000.0, 1_200.0, 60.0)
        assert [one.params for one in store.requests] == [
            {"query": ["clock"], "start": ["1020.000"], "end": ["1200.000"], "step": ["60.000"], "timeout": ["54.000"]}
        ]
        assert list(result.series[0].values) == [1020.0, 1080.0, 1140.0, 1200.0]
        assert client.costs[0].samples == 4

    @pytest.mark.parametrize("in_flight", [1, 2])
    def test_more_than_a_store_answers(self, in_flight: int) -> None:
        """Chunks of at most so many points, joined without a gap or a sample twice."""
        with asking(evaluate, points=100, in_flight=in_flight) as (store, client):
            result = client.range(Query("clock", "time"), 0.0, 999.0, 1.0)
        (series,) = result.series
        assert list(series.times) == list(series.values) == [float(second) for second in range(1000)]
        assert len(store.requests) == 10
        for request in store.requests:
            start, end = (float(request.params[name][0]) for name in ("start", "end"))
            assert end - start <= 99.0
        assert {cost.purpose for cost in client.costs} == {"time"}

    @pytest.mark.parametrize(
        "refusal",
        [
            refuse("bad_data", "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing", 400),
            refuse("execution", "query processing would load too many samples into memory in query execution", 422),
            refuse("timeout", "query timed out in expression evaluation", 503),
            refuse("execution", "the query exceeded the maximum number of chunks (limit: 2000000 chunks)", 422),
            refuse("execution", "the query time range exceeds the limit (query length: 769h, limit: 768h)", 422),
            refuse("execution", "exceeded series limit: rpc error: code = ResourceExhausted", 422),
            refuse("422", "cannot select more than -search.maxSamplesPerQuery=1000000000 samples", 422),
            refuse("422", "too many points for the given step=1, start=0 and end=9: 9; cannot exceed -search.max", 422),
            reply("upstream timed out", 504, "text/plain"),
            reply(b" " * 2000),
        ],
    )  # fmt: skip
    def test_what_is_too_much_is_asked_in_halves(self, refusal: Behaviour) -> None:
        """Prometheus, Mimir, Thanos and VictoriaMetrics each say it their way; gateways and our own limits too."""

        def limited(handler: Handler) -> None:
            start, end = (float(handler.request_seen.params[name][0]) for name in ("start", "end"))
            (refusal if end - start > 30.0 else evaluate)(handler)

        with asking(limited, body_bytes=1800, attempts=1) as (store, client):
            result = client.range(Query("clock", "time"), 0.0, 99.0, 1.0)
        assert list(result.series[0].values) == [float(second) for second in range(100)]
        # 100, then 50, then four times 25.
        assert len(store.requests) == 6

    def test_halving_ends(self) -> None:
        """What is too much in the smallest piece is the store's own error, and not tried for ever."""
        timed_out = refuse("timeout", "query timed out in expression evaluation", 503)
        with asking(timed_out) as (store, client), pytest.raises(StoreQueryError) as caught:
            client.range(Query("clock", "a test"), 0.0, 9_999.0, 1.0)
        assert caught.value.message == (
            "the store refuses the query for a test: timeout: query timed out in expression evaluation"
        )
        assert len(store.requests) == 7

    def test_a_range_without_a_time(self) -> None:
        """No multiple of the step is in it, so nothing is asked."""
        with asking(evaluate) as (store, client):
            assert client.range(UP, 61.0, 119.0, 60.0).series == ()
        assert store.requests == []

    def test_impossible(self) -> None:
        """Said before anything is asked."""
        with asking(evaluate) as (_, client), pytest.raises(ValueError, match="the end is before the start"):
            client.range(UP, 2.0, 1.0, 1.0)

    def test_ctrl_c_ends_other_threads_too(self) -> None:
        """Whatever waits for the store would keep the program alive, so the client is closed."""

        class Impatient(FastClock):
            def pause(self, stop: threading.Event, seconds: float) -> bool:
                raise KeyboardInterrupt

        with serving(reply("", 503, "")) as store, PrometheusClient(store.url, clock=Impatient()) as client:
            with pytest.raises(KeyboardInterrupt):
                client.range(UP, 0.0, 9.0, 1.0)
            with pytest.raises(StoreUnreachableError, match="the client was closed"):
                client.instant(UP, AT)

    def test_no_more_requests_at_a_time_than_allowed(self) -> None:
        """Whoever asks, and from however many threads: a store sees two at once."""
        lock, running, most = threading.Lock(), 0, 0

        def count(handler: Handler) -> None:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            handler.server.released.wait(0.02)
            with lock:
                running -= 1
            evaluate(handler)

        with asking(count, points=10) as (store, client):
            threads = [threading.Thread(target=client.range, args=(UP, 0.0, 99.0, 1.0)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert (len(store.requests), most) == (30, 2)


class TestIndex:
    def test_label_values(self) -> None:
        """Values in a time, of series that match; a label that is not classic is escaped in the path."""
        with asking(succeed(["a", "b"]), succeed(None)) as (store, client):
            assert client.label_values("job", ["up", 'x{y="z"}'], 1.0, 2.0) == ("a", "b")
            assert client.label_values("k8s.pod", [], 1.0, 2.0) == ()
        assert [(one.method, one.path, one.params) for one in store.requests] == [
            ("GET", "/api/v1/label/job/values", {"match[]": ["up", 'x{y="z"}'], "start": ["1.000"], "end": ["2.000"]}),
            ("GET", "/api/v1/label/U__k8s_2e_pod/values", {"start": ["1.000"], "end": ["2.000"]}),
        ]

    def test_series(self) -> None:
        """Label sets, asked for by a form, with a limit that newer stores heed."""
        with asking(succeed([{"__name__": "up", "job": "a"}])) as (store, client):
            assert client.series(["up"], 1.0, 2.0) == ({"__name__": "up", "job": "a"},)
        (request,) = store.requests
        assert (request.method, request.path) == ("POST", "/api/v1/series")
        assert request.params == {"match[]": ["up"], "limit": ["10000"], "start": ["1.0"], "end": ["2.0"]}
        assert (client.costs[0].series, client.costs[0].samples) == (1, 0)

    def test_more_series_than_wanted(self) -> None:
        """A store that knows no limit is cut to it, and that is said."""
        with asking(succeed([{"a": str(number)} for number in range(7)]), series=5) as (_, client):
            assert len(client.series(["up"], 1.0, 2.0)) == 5
            assert client.warnings == ("there are more than 5 series; the others were left out",)


class TestBuildInfo:
    @pytest.mark.parametrize(
        ("data", "info"),
        [
            (
                {"version": "2.42.0+ds", "revision": "r", "branch": "b", "buildDate": "", "goVersion": "go1.19"},
                BuildInfo(Kind.PROMETHEUS, "2.42.0+ds"),
            ),
            ({"version": "0.36.1", "revision": "r", "goVersion": "go1.22"}, BuildInfo(Kind.THANOS, "0.36.1")),
            (
                {"application": "Grafana Mimir", "version": "2.14.0", "features": {"ruler_config_api": "true"}},
                BuildInfo(Kind.MIMIR, "2.14.0"),
            ),
            ({"application": "Cortex", "version": "1.16.0"}, BuildInfo(Kind.CORTEX, "1.16.0")),
            ({"version": "2.24.0"}, BuildInfo(Kind.VICTORIAMETRICS, "")),
            ({"application": "something", "version": "1"}, BuildInfo(Kind.UNKNOWN, "1")),
            ({}, BuildInfo(Kind.UNKNOWN, "")),
        ],
    )  # fmt: skip
    def test_stores_are_told_apart(self, data: dict[str, object], info: BuildInfo) -> None:
        """As far as what they say of themselves allows."""
        with asking(succeed(data)) as (store, client):
            assert client.build_info() == info
        assert [(one.method, one.url) for one in store.requests] == [("GET", "/api/v1/status/buildinfo")]

    @pytest.mark.parametrize(
        "behave", [reply("no", 404, "text/plain"), reply("<html>", 404, "text/html"), reply("", 501, "")]
    )
    def test_one_that_does_not_say(self, behave: Behaviour) -> None:
        """The endpoint may be absent."""
        with asking(behave) as (_, client):
            assert client.build_info() is None

    def test_one_that_is_none(self) -> None:
        """A page is no store that does not say."""
        with asking(reply("<html>", 200, "text/html")) as (_, client), pytest.raises(StoreAnswerError):
            client.build_info()


class TestProxies:
    def test_the_environments_is_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A proxy gets the whole address, but not what is meant for others."""
        with serving(OK) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
            with PrometheusClient("http://store.example:9090", Access(bearer_token=Secret("t"))) as client:
                client.instant(UP, AT)
        assert proxy.requests[0].url == "http://store.example:9090/api/v1/query"

    def test_one_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The error says that it is about the proxy, without its password."""
        with serving(OK) as proxy:
            pass
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//user:hidden@"))
        with (
            PrometheusClient("https://store.example", limits=Limits(attempts=1)) as client,
            pytest.raises(StoreUnreachableError) as caught,
        ):
            client.instant(UP, AT)
        assert str(caught.value) == (
            "https://store.example/api/v1/query: through the proxy of the environment: the connection is refused "
            "(check HTTP_PROXY, HTTPS_PROXY and NO_PROXY)"
        )


class TestRedirects:
    def test_to_tls(self, certificates: Certificates) -> None:
        """The same host by https is the same store; that it was asked in the clear first is among the warnings."""
        access = Access(ca_file=certificates.authority, bearer_token=Secret("token-1"))
        with serving(OK, tls=server_context(certificates.server)) as secure:
            moved = reply("", 308, "", Location=f"{secure.url}/prom/api/v1/query")
            with serving(moved) as store, PrometheusClient(store.url, access) as client:
                assert client.instant(UP, AT).samples == 1
                assert client.warnings == (
                    f"{store.url} leads to {secure.url}/prom: give that address, so that nothing is sent in the clear",
                )
        assert secure.requests[0].headers["authorization"] == "Bearer token-1"

    def test_from_tls(self, certificates: Certificates) -> None:
        """From https to http nothing is followed, also on the same host."""
        access = Access(ca_file=certificates.authority, bearer_token=Secret("token-1"))
        with serving(OK) as plain:
            moved = reply("", 307, "", Location=f"{plain.url}/api/v1/query")
            with serving(moved, tls=server_context(certificates.server)) as store:
                assert f"redirects to {plain.url}, which is not followed" in message(store, access)
        assert plain.requests == []

    def test_another_server_gets_nothing(self) -> None:
        """Another port of the same machine is another server: it sees no request."""
        with serving(OK) as other:
            with serving(reply("", 307, "", Location=f"{other.url}/api/v1/query")) as store:
                text = message(store, Access(bearer_token=Secret("token-1")))
            assert text == (
                f"STORE/api/v1/query: redirects to {other.url}, which is not followed: what lets us in is for this "
                "host alone (if that is the store, give its address)"
            )
        assert other.requests == []
