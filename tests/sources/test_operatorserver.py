"""The endpoints of an operator, asked over HTTP, and the feeds behind two of them."""

import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from advisor.sources.exposition import ExpositionParser
from advisor.sources.expositiontext import exposition_text, wants_openmetrics
from advisor.sources.feed import Feed
from advisor.sources.operatorserver import OperatorServer
from advisor.twin.exposed import Family, Sample

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
FAMILIES = [
    Family("a_total", "counter", (Sample("a_total", (("x", 'q"\n'),), 2.0),)),
    Family("b", "gauge", (Sample("b", (), 0.5),)),
    Family("empty", "gauge", ()),
]


class Shown:
    """What a test shows."""

    def __init__(self) -> None:
        self.log = Feed()
        self.objects = Feed()
        self.families: Sequence[Family] = FAMILIES

    def metrics(self) -> Sequence[Family]:
        """The operator's series."""
        return self.families

    def container_metrics(self) -> Sequence[Family]:
        """Its container's."""
        return self.families[1:2]


@contextmanager
def serving(shown: Shown) -> Iterator[OperatorServer]:
    """A server while the block lasts."""
    server = OperatorServer("127.0.0.1", 0, shown)
    try:
        yield server
    finally:
        server.end()


def ask(server: OperatorServer, path: str, **headers: str) -> tuple[int, str, str]:
    """Status, type and body of one answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5.0)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        connection.close()


class TestServer:
    def test_metrics_in_both_formats(self) -> None:
        """The format that is asked for; both say the same."""
        with serving(Shown()) as server:
            text = ask(server, "/metrics")
            openmetrics = ask(server, "/metrics", Accept=OPENMETRICS)
            container = ask(server, "/metrics/cadvisor")
        assert text == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            '# TYPE a_total counter\na_total{x="q\\"\\n"} 2\n# TYPE b gauge\nb 0.5\n',
        )
        assert openmetrics[:2] == (200, OPENMETRICS)
        assert openmetrics[2] == '# TYPE a counter\na_total{x="q\\"\\n"} 2\n# TYPE b gauge\nb 0.5\n# EOF\n'
        assert container[2] == "# TYPE b gauge\nb 0.5\n"

    def test_an_operator_that_is_down(self) -> None:
        """A scrape fails as it would."""
        shown = Shown()
        shown.families = []
        with serving(shown) as server:
            assert ask(server, "/metrics")[0] == 503

    def test_lines(self) -> None:
        """All of them, or the last ones."""
        shown = Shown()
        shown.log.add(["one", "two", "three"])
        shown.objects.add(['{"t":1}'])
        with serving(shown) as server:
            assert ask(server, "/log") == (200, "text/plain; charset=utf-8", "one\ntwo\nthree\n")
            assert ask(server, "/log?tailLines=1")[2] == "three\n"
            assert ask(server, "/log?tailLines=0")[2] == ""
            assert ask(server, "/log?tailLines=9")[2] == "one\ntwo\nthree\n"
            assert ask(server, "/objects") == (200, "application/x-ndjson", '{"t":1}\n')

    def test_following(self) -> None:
        """Lines come as they are written, until the server ends."""
        shown = Shown()
        shown.log.add(["before"])
        with serving(shown) as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5.0)
            connection.request("GET", "/log?follow=true&tailLines=0")
            answer = connection.getresponse()
            shown.log.add(["after"])
            assert answer.readline() == b"after\n"
        assert answer.read() == b""
        connection.close()

    def test_a_follower_that_goes_away(self) -> None:
        """Nobody else notices."""
        shown = Shown()
        with serving(shown) as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5.0)
            connection.request("GET", "/log?follow=true")
            connection.getresponse()
            connection.close()
            for _ in range(20):
                shown.log.add(["x" * 100_000])
                time.sleep(0.01)
            assert ask(server, "/healthz")[2] == "ok"

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("/healthz", 200),
            ("/readyz", 200),
            ("/", 404),
            ("/metrics/", 404),
            ("/log?tailLines=x", 400),
            ("/log?tailLines=-1", 400),
            ("/log?tailLines=99999999999999", 400),
        ],
    )
    def test_paths(self, path: str, status: int) -> None:
        """What is there, what is not, and what cannot be meant."""
        with serving(Shown()) as server:
            assert ask(server, path)[0] == status

    def test_a_taken_address(self) -> None:
        """It is refused at once."""
        with serving(Shown()) as server, pytest.raises(OSError, match="in use"):
            OperatorServer("127.0.0.1", server.server_address[1], Shown())


class TestExpositionText:
    @pytest.mark.parametrize("openmetrics", [True, False])
    def test_a_scrape_reads_it(self, openmetrics: bool) -> None:
        """Our own parser gets the same samples back."""
        parser = ExpositionParser(None, "here")
        parser.feed(exposition_text(FAMILIES, openmetrics=openmetrics).encode())
        exposition = parser.finish()
        assert exposition.malformed == 0
        assert exposition.ended == openmetrics
        assert [(sample.name, sample.value) for sample in exposition.samples] == [("a_total", 2.0), ("b", 0.5)]
        assert dict(exposition.samples[0].labels)["x"] == 'q"\n'

    @pytest.mark.parametrize(
        ("accept", "wanted"),
        [
            ("", False),
            ("*/*", False),
            ("text/plain", False),
            ("application/openmetrics-text", True),
            ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75", True),
            ("text/plain;q=0.5, application/openmetrics-text; q=0.7", True),
            ("application/openmetrics-text; q = 0, text/plain", False),
        ],
    )
    def test_what_is_asked_for(self, accept: str, wanted: bool) -> None:
        """By the header Accept."""
        assert wants_openmetrics(accept) == wanted


class TestFeed:
    def test_a_slow_reader_loses_the_oldest(self) -> None:
        """The newest lines are kept."""
        feed = Feed(most=3)
        position = feed.tail(None)
        feed.add(str(number) for number in range(10))
        assert feed.read(position) == (["7", "8", "9"], 10)
        assert feed.read(9) == (["9"], 10)
        assert feed.read(10) == ([], 10)

    def test_waiting(self) -> None:
        """A reader that waits has the line as soon as it comes, and gives up after its time."""
        feed = Feed()
        assert feed.read(0, 0.01) == ([], 0)
        timer = threading.Timer(0.02, feed.add, [["line"]])
        timer.start()
        assert feed.read(0, 10.0) == (["line"], 1)
        timer.join()
