import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest

from advisor.model.raw import Selection
from advisor.sidecar.pacing import PacingRules
from advisor.sidecar.scraper import RestartWatch, Scraper, _Got
from advisor.signals.names import SELECTION
from advisor.sources.endpoint import Endpoint
from advisor.sources.exposition import Exposition
from advisor.sources.scraping import Clock
from tests.sources.servers import (
    Behaviour,
    FastClock,
    Handler,
    Server,
    answer,
    hang,
    send,
    sequence,
    serving,
    snapshots,
)


def process(start: float, cpu: float, depth: float = 1.0) -> bytes:
    """What an operator answers, as far as a restart goes."""
    text = f"process_start_time_seconds {start}\nprocess_cpu_seconds_total {cpu}\nworkqueue_depth {depth}\n"
    return text.encode()


def exposition() -> Exposition:
    """An answer without what is wanted."""
    return Exposition([], {}, 0, ended=True)


class Listening:
    """Remembers what it is told, and ends the scraping after a number of scrapes."""

    def __init__(self, most: int = 1) -> None:
        self.stop = threading.Event()
        self.scrapes: list[tuple[float, Exposition]] = []
        self.events: list[str] = []
        self._most = most

    def take(self, time: float, exposition: Exposition) -> None:
        """One scrape."""
        self.scrapes.append((time, exposition))
        self.events.append("scrape")
        if len(self.scrapes) == self._most:
            self.stop.set()

    def restarted(self, time: float) -> None:
        """A new process."""
        self.events.append(f"restarted {time:g}")

    def names(self) -> list[set[str]]:
        """Names of the samples of each scrape."""
        return [{sample.name for sample in exposition.samples} for _, exposition in self.scrapes]


def scraped(
    behave: Behaviour, count: int, clock: Clock | None = None, selection: Selection = SELECTION
) -> tuple[Listening, Scraper]:
    """Whoever listened, and the scraper, after so many scrapes that succeeded."""
    listening = Listening(count)
    with serving(behave) as server:
        scraper = Scraper(
            server.endpoint,
            selection,
            on_scrape=[listening.take],
            on_restart=[listening.restarted],
            clock=clock or FastClock(),
        )
        scraper.run(listening.stop)
    return listening, scraper


class TestRestartWatch:
    @pytest.mark.parametrize(
        ("start", "cpu", "is_new"),
        [
            pytest.param(1000.0, 60.0, False, id="the same process"),
            pytest.param(1000.6, 60.0, False, id="within what the clock's grain makes"),
            pytest.param(2030.0, 0.4, True, id="a new one"),
            pytest.param(2030.0, 90.0, True, id="a new one that worked more than the old one since"),
            pytest.param(4600.0 - 3000.0, 60.0, False, id="the same, after the clock was set on"),
            pytest.param(400.0, 60.0, False, id="the same, after the clock was set back"),
            pytest.param(400.0, 0.4, True, id="a new one, after the clock was set back"),
        ],
    )
    def test_what_is_a_restart(self, start: float, cpu: float, is_new: bool) -> None:
        """Seen at 2000 s a process that began at 1000 s and had used 50 s of CPU."""
        watch = RestartWatch()
        assert not watch.look(2000.0, 1000.0, 50.0)
        assert watch.look(2060.0, start, cpu) is is_new


class TestScraper:
    def test_it_tells_each_scrape(self) -> None:
        """With the wall time of its begin, to the millisecond, at the default interval."""
        listening, scraper = scraped(sequence(snapshots()), 4)
        times = [time for time, _ in listening.scrapes]
        assert [round(time - times[0], 3) for time in times] == [0.0, 5.0, 10.0, 15.0]
        assert times[0] == 1_795_980_685.564
        assert all("process_start_time_seconds" in names for names in listening.names())
        figures = scraper.figures
        assert (figures.ok, figures.failed, figures.last_time, figures.error) == (4, 0, times[-1], "")
        assert scraper.health() == ""
        assert scraper.counters()["scrapes_ok"] == 4

    def test_what_a_scrape_takes_is_no_drift(self) -> None:
        """Intervals are from begin to begin, and long answers make them longer."""

        class Slow(FastClock):
            def monotonic(self) -> float:
                """Each look takes 4 ms."""
                self.move(0.004)
                return self.now

        listening, scraper = scraped(answer(process(1.0, 1.0)), 5, Slow())
        times = [time for time, _ in listening.scrapes]
        gaps = {round(later - before, 1) for before, later in pairwise(times)}
        assert gaps <= {5.0, 6.0}
        assert scraper.figures.seconds > 0.0

    def test_dear_scrapes_are_rare(self) -> None:
        """An operator that takes a fifth of a second to answer is asked once in twenty, but for a first slow answer."""

        def slow(handler: Handler) -> None:
            handler.server.released.wait(0.2)
            send(handler, process(1.0, 1.0))

        listening = Listening(2)
        with serving(slow) as server:
            scraper = Scraper(server.endpoint, SELECTION, on_scrape=[listening.take])
            scraper.once()
            assert scraper.figures.interval_seconds == 5.0
            scraper.once()
        assert 20.0 <= scraper.figures.interval_seconds < 40.0

    def test_a_restart_is_told_before_the_scrape(self) -> None:
        """Whoever shadows the operator starts over, and then compares."""
        now = FastClock().wall()
        bodies = [process(now - 100.0, 9.0), process(now - 100.0, 9.5), process(now + 7.0, 0.1)]
        listening, _ = scraped(sequence(bodies), 4)
        assert listening.events == ["scrape", "scrape", f"restarted {now + 7.0:g}", "scrape", "scrape"]

    def test_an_operator_that_does_not_tell_its_start(self) -> None:
        """Nothing is said of restarts then."""
        listening, _ = scraped(answer(b"workqueue_depth 1\n"), 3)
        assert listening.events == ["scrape"] * 3

    def test_many_objects_are_read_seldom(self) -> None:
        """Series that exist once an object cost this process; others come each time."""
        objects = b"".join(
            b'kuberay_cluster_info{name="rc-%d",owner_kind="None"} 1\n' % number for number in range(9000)
        )
        listening, _ = scraped(answer(process(1.0, 1.0) + objects), 60)
        wide = ["kuberay_cluster_info" in names for names in listening.names()]
        assert wide[:4] == [False, False, True, False]
        assert 1 < sum(wide) < 40
        assert all("workqueue_depth" in names for names in listening.names())
        counts = {s.value for _, told in listening.scrapes for s in told.samples if s.name == "kuberay_cluster_info"}
        assert counts == {9000.0}

    @pytest.mark.parametrize(
        ("own_seconds", "charged"),
        [
            pytest.param(0.25, 0.05, id="what this process worked is taken off"),
            pytest.param(0.299, 0.02, id="but no less than a narrow scrape counts"),
            pytest.param(0.0, 0.3, id="an operator that is slow counts as slow"),
        ],
    )
    def test_what_reading_them_takes_is_not_the_operators(
        self, monkeypatch: pytest.MonkeyPatch, own_seconds: float, charged: float
    ) -> None:
        """Of a wide scrape of 0.3 s, after a narrow one of 20 ms: the interval is that of what is left."""
        narrow = _Got(exposition(), "", 0.02, 0.0, 0.0)
        got = [narrow, narrow, _Got(exposition(), "", 0.3, own_seconds, 1.0)]
        rules = PacingRules(cpu_limit_cores=0.5, default_seconds=1.0)
        scraper = Scraper(Endpoint.parse("http://a"), SELECTION, rules=rules, clock=FastClock())
        monkeypatch.setattr(scraper, "_scrape", lambda _: got.pop(0))
        for _ in range(3):
            scraper.once()
        assert scraper.figures.interval_seconds == pytest.approx(rules.cpu_seconds(charged) / 0.01)

    def test_a_narrow_scrape_that_was_slow_by_chance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A wide one that took less shows that it was, so that scrapes do not stay rare for it."""
        times = [0.01, 2.0, 0.02, 0.02]
        scraper = Scraper(Endpoint.parse("http://a"), SELECTION, clock=FastClock())
        monkeypatch.setattr(scraper, "_scrape", lambda _: _Got(exposition(), "", times.pop(0), 0.01, 0.0))
        for _ in range(4):
            scraper.once()
        assert scraper.figures.interval_seconds == pytest.approx(10.0)

    def test_few_objects_are_read_each_time(self) -> None:
        """They cost next to nothing."""
        body = b'workqueue_depth 1\nkuberay_cluster_info{name="rc"} 1\n'
        listening, _ = scraped(answer(body), 10)
        narrow, wide = {"workqueue_depth"}, {"workqueue_depth", "kuberay_cluster_info"}
        assert listening.names() == [narrow] * 2 + [wide] * 8


class TestFailures:
    @pytest.mark.parametrize(
        ("behave", "error"),
        [
            (answer(b"no", status=503), "status 503 Service Unavailable"),
            (answer(b"<html>", kind="text/html"), "an HTML page came in place of metrics as text"),
            (answer(b"a 1", Content_Length="99"), "the answer is cut off: 96 bytes are missing"),
            (answer(b"\n"), "the answer holds no sample in the Prometheus text format or OpenMetrics"),
            (
                answer(b"a 1\n", kind="application/openmetrics-text"),
                "the answer is cut off: it does not end with # EOF",
            ),
        ],
    )
    def test_answers_that_are_none(self, behave: Behaviour, error: str) -> None:
        """Nobody is told of a scrape, the failure is counted, and its reason is the health."""
        listening = Listening()
        with serving(behave) as server:
            scraper = Scraper(server.endpoint, SELECTION, on_scrape=[listening.take])
            scraper.once()
        assert listening.scrapes == []
        assert (scraper.health(), scraper.figures.failed) == (error, 1)

    def test_an_operator_that_is_not_there(self, caplog: pytest.LogCaptureFixture) -> None:
        """It is tried again at the default interval, and said once: refusing costs the operator nothing."""
        with serving(answer(process(1.0, 1.0))) as server:
            url = server.url
        clock = FastClock()
        scraper = Scraper(Endpoint.parse(url), SELECTION, clock=clock)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                scraper.once()
        assert scraper.figures.failed == 3
        assert scraper.figures.interval_seconds == 5.0
        assert [record.message for record in caplog.records] == [f"scraping {url}: Connection refused"]

    def test_it_is_said_when_it_is_there_again(self, caplog: pytest.LogCaptureFixture) -> None:
        """And the failure is no health any more."""

        def second(handler: Handler) -> None:
            send(handler, process(1.0, 1.0), status=200 if len(handler.server.requests) > 1 else 500)

        with caplog.at_level(logging.WARNING):
            listening, scraper = scraped(second, 1)
        assert len(listening.scrapes) == 1
        assert scraper.health() == ""
        assert caplog.records[-1].message.endswith(": succeeds again")

    def test_an_operator_that_hangs_is_asked_seldom(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It may be working for each scrape; what it took until the time-out counts."""
        monkeypatch.setattr("advisor.sidecar.scraper._TIMEOUT_SECONDS", 0.3)
        with serving(hang) as server:
            scraper = Scraper(server.endpoint, SELECTION)
            scraper.once()
            scraper.once()
        assert scraper.health() == "no whole answer within 0.3 s"
        assert scraper.figures.interval_seconds > 20.0

    def test_a_listener_that_fails(self) -> None:
        """All others are told, the failure comes out, and scrapes become no more frequent."""
        listening = Listening(3)
        clock = FastClock()

        def fail(*_: object) -> None:
            raise RuntimeError("no")

        with serving(answer(process(1.0, 1.0))) as server:
            scraper = Scraper(server.endpoint, SELECTION, on_scrape=[fail, listening.take], clock=clock)
            _again_until(listening.stop, lambda: scraper.run(listening.stop))
        times = [time for time, _ in listening.scrapes]
        assert [round(time - times[0], 3) for time in times] == [0.0, 5.0, 10.0]

    def test_a_listener_to_restarts_that_fails(self) -> None:
        """The scrape is told all the same."""
        listening = Listening(2)

        def fail(_: float) -> None:
            raise RuntimeError("no")

        now = FastClock().wall()
        with serving(sequence([process(now - 9.0, 5.0), process(now + 1.0, 0.0)])) as server:
            scraper = Scraper(
                server.endpoint, SELECTION, on_scrape=[listening.take], on_restart=[fail], clock=FastClock()
            )
            scraper.once()
            with pytest.raises(RuntimeError):
                scraper.once()
        assert len(listening.scrapes) == 2


def _again_until(stop: threading.Event, act: Callable[[], object]) -> None:
    """Do it again and again, as whoever supervises does."""
    while not stop.is_set():
        with suppress(RuntimeError):
            act()


def test_it_ends_at_once_between_scrapes() -> None:
    """It waits for the event and not for the clock."""
    stop = threading.Event()
    with serving(answer(process(1.0, 1.0))) as server:
        thread = threading.Thread(target=_follow, args=(server, stop))
        thread.start()
        while not server.requests:
            pass
        stop.set()
        thread.join(2.0)
        assert not thread.is_alive()


def _follow(server: Server, stop: threading.Event) -> None:
    Scraper(server.endpoint, SELECTION).run(stop)
