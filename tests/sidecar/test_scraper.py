import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest

from advisor.model.raw import Selection
from advisor.sidecar.pacing import PacingRules, WideReading
from advisor.sidecar.scraper import RestartWatch, Scraper
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
        """An operator that takes a fifth of a second to answer is asked once in twenty."""

        def slow(handler: Handler) -> None:
            handler.server.released.wait(0.2)
            send(handler, process(1.0, 1.0))

        listening = Listening(1)
        with serving(slow) as server:
            scraper = Scraper(server.endpoint, SELECTION, on_scrape=[listening.take])
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
        assert wide[0]
        assert not wide[1]
        assert 1 < sum(wide) < 40
        assert all("workqueue_depth" in names for names in listening.names())
        counts = {s.value for _, told in listening.scrapes for s in told.samples if s.name == "kuberay_cluster_info"}
        assert counts == {9000.0}

    def test_what_reading_them_takes_is_not_the_operators(self) -> None:
        """A wide scrape of a quick operator is followed as soon as any other, once that has been seen to be quick."""
        objects = b"".join(b'kuberay_cluster_info{name="rc-%d"} 1\n' % number for number in range(9000))
        clock = Clock()
        listening = Listening(1)
        rules = PacingRules(cpu_limit_cores=1.0)
        with serving(answer(process(1.0, 1.0) + objects)) as server:
            scraper = Scraper(server.endpoint, SELECTION, rules=rules, on_scrape=[listening.take], clock=clock)
            scraper.once()
            scraper.once()
            narrow = scraper.figures
            scraper._reading = WideReading()
            scraper.once()
        wide = scraper.figures
        assert "kuberay_cluster_info" in listening.names()[2]
        took = wide.seconds - narrow.seconds
        assert wide.interval_seconds < max(rules.default_seconds, 0.9 * took / 0.02)

    def test_few_objects_are_read_each_time(self) -> None:
        """They cost next to nothing."""
        listening, _ = scraped(answer(b'kuberay_cluster_info{name="rc"} 1\n'), 10)
        assert listening.names() == [{"kuberay_cluster_info"}] * 10


class TestFailures:
    @pytest.mark.parametrize(
        ("behave", "error"),
        [
            (answer(b"no", status=503), "status 503 Service Unavailable"),
            (answer(b"<html>", kind="text/html"), "the content type is text/html, which is not metrics as text"),
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
