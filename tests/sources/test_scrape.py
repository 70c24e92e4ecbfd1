import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest

from advisor.analysis import Options, load_source, report_of
from advisor.errors import InputNotFoundError
from advisor.model.raw import SeriesStore
from advisor.signals.names import SELECTION
from advisor.sources import scrape as scrape_module
from advisor.sources import scraping as scraping_module
from advisor.sources.endpoint import Access, Endpoint
from advisor.sources.recording import RecordingSource
from advisor.sources.scrape import ScrapeSource
from advisor.sources.scraping import Clock, Plan, distinct
from tests.sources.servers import (
    EXAMPLE,
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

UP = b"workqueue_depth 1\n"
QUICK = Plan(0.2, 0.05)


def interrupt_at(update: int, number: signal.Signals = signal.SIGINT) -> Callable[["Told"], None]:
    """Send this process a signal when so many updates were told."""

    def act(told: "Told") -> None:
        if len(told.updates) == update:
            signal.raise_signal(number)

    return act


class Told:
    """Remembers what was told, and does something each time."""

    def __init__(self, on_update: Callable[["Told"], object] = lambda _: None) -> None:
        self.said: list[str] = []
        self.updates: list[str] = []
        self._on_update = on_update

    def say(self, text: str) -> None:
        """Remember a line."""
        self.said.append(text)

    def update(self, text: str) -> None:
        """Remember a state."""
        self.updates.append(text)
        self._on_update(self)


def source_of(
    *servers: Server, plan: Plan = QUICK, clock: Clock | None = None, told: Told | None = None
) -> ScrapeSource:
    """A source on some servers."""
    endpoints = distinct([server.endpoint for server in servers])
    return ScrapeSource(endpoints, Access(), plan, reporter=told, clock=clock)


def times_of(store: SeriesStore) -> dict[str, list[float]]:
    """Times of the queue's depth, by instance."""
    return {series.labels["instance"]: list(series.times) for series in store.get("workqueue_depth")}


def notes_of(source: ScrapeSource) -> list[str]:
    """What the report will say of the scraping."""
    return [note.message for note in source.notes]


class TestSchedule:
    def test_ticks(self) -> None:
        """One scrape at the start and one each interval, whatever floats make of it."""
        assert Plan(0.3, 0.1).ticks == 4
        assert Plan(300.0, 2.0).ticks == 151

    def test_a_time_out_is_shorter_than_the_interval(self) -> None:
        """And never longer than ten seconds."""
        assert Plan(10.0, 2.0).timeout == pytest.approx(1.8)
        assert Plan(600.0, 60.0).timeout == 10.0

    @pytest.mark.parametrize(("seconds", "interval", "error"), [(1.0, 2.0, "two scrapes"), (1e6, 1.0, "at most 50000")])
    def test_impossible_plans(self, seconds: float, interval: float, error: str) -> None:
        """Too few and too many scrapes are refused."""
        with pytest.raises(ValueError, match=error):
            Plan(seconds, interval)

    def test_it_does_not_drift(self) -> None:
        """What a scrape takes is taken off the pause that follows."""

        class Slow(FastClock):
            def monotonic(self) -> float:
                """Each look takes its time."""
                self.move(0.01)
                return self.now

        clock = Slow()
        with serving(answer(UP)) as server:
            store = source_of(server, plan=Plan(20.0, 2.0), clock=clock).series(SELECTION)
        (times,) = times_of(store).values()
        assert [round(time - times[0], 3) for time in times] == [2.0 * tick for tick in range(11)]
        assert 19.0 < sum(clock.pauses) < 20.0

    def test_a_jump_of_the_wall_clock_changes_no_order(self) -> None:
        """Times follow the first wall time by the monotonic clock."""
        with serving(answer(UP)) as server:
            clock = FastClock(jumps={2: -3600.0, 4: 7200.0})
            store = source_of(server, plan=Plan(10.0, 2.0), clock=clock).series(SELECTION)
        (times,) = times_of(store).values()
        assert [round(time - times[0], 3) for time in times] == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]

    def test_what_comes_too_late_is_left_out(self) -> None:
        """After something that took longer than its time-out, missed scrapes are gaps, not shifted."""

        class Stalled(FastClock):
            def pause(self, stop: threading.Event, seconds: float) -> bool:
                """The third pause takes much longer."""
                stopped = super().pause(stop, seconds)
                if len(self.pauses) == 3:
                    self.move(5.0)
                return stopped

        with serving(answer(UP)) as server:
            source = source_of(server, plan=Plan(12.0, 2.0), clock=Stalled())
            (times,) = times_of(source.series(SELECTION)).values()
        assert [round(time - times[0]) for time in times] == [0, 2, 10, 12]
        assert notes_of(source) == ["3 of 7 scrapes failed, the last one: it could not begin in time"]


class TestReplicas:
    def test_instances_are_told_apart(self) -> None:
        """Each address is an instance, and all share the times."""
        with serving(answer(UP)) as one, serving(answer(UP)) as other:
            source = source_of(one, other, clock=FastClock(), plan=Plan(6.0, 2.0))
            found = times_of(source.series(SELECTION))
        assert found.keys() == {one.endpoint.instance, other.endpoint.instance}
        assert len({tuple(times) for times in found.values()}) == 1

    def test_one_that_hangs_delays_no_other(self) -> None:
        """The schedule of one endpoint holds whatever another does."""
        with serving(answer(UP)) as good, serving(hang) as bad:
            begin = time.monotonic()
            source = source_of(good, bad, plan=Plan(0.8, 0.2))
            (times,) = times_of(source.series(SELECTION)).values()
            assert time.monotonic() - begin < 3.0
        assert len(times) >= 4
        assert notes_of(source)[-1] == "5 of 5 scrapes failed, the last one: no whole answer within 0.18 s"

    def test_two_paths_of_one_address(self) -> None:
        """The path tells apart what the address does not; the same twice is refused."""
        urls = ("http://a/x", "http://a/y", "http://b")
        assert [one.instance for one in distinct([Endpoint.parse(url) for url in urls])] == ["a:80/x", "a:80/y", "b:80"]
        with pytest.raises(ValueError, match="given twice"):
            distinct([Endpoint.parse("http://a"), Endpoint.parse("http://a:80/metrics")])

    def test_several_processes_behind_one_address(self) -> None:
        """A Service that answers for all replicas by turns is noticed."""
        bodies = [UP + b"process_start_time_seconds %d\n" % start for start in (5, 7, 5, 7)]
        with serving(sequence(bodies)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(6.0, 2.0))
            source.series(SELECTION)
        assert notes_of(source) == ["several processes answered by turns; give each Pod's own address instead"]

    def test_a_restart_is_no_second_process(self) -> None:
        """A start that changes once is a restart."""
        bodies = [UP + b"process_start_time_seconds %d\n" % start for start in (5, 5, 7, 7)]
        with serving(sequence(bodies)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(6.0, 2.0))
            source.series(SELECTION)
        assert notes_of(source) == []


class TestFailures:
    def test_failed_scrapes_are_gaps(self) -> None:
        """A failure leaves a gap and a note with its number and the last reason."""

        def behave(handler: Handler) -> None:
            failing = len(handler.server.requests) in (2, 3)
            send(handler, UP, 503 if failing else 200)

        with serving(behave) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(8.0, 2.0))
            (times,) = times_of(source.series(SELECTION)).values()
        assert [round(time - times[0]) for time in times] == [0, 6, 8]
        assert notes_of(source) == ["2 of 5 scrapes failed, the last one: status 503 Service Unavailable"]

    def test_no_partial_answer_is_used(self) -> None:
        """OpenMetrics without its end marker is cut off, and nothing of it counts."""
        whole = answer(UP + b"# EOF\n", kind="application/openmetrics-text")
        cut = answer(UP, kind="application/openmetrics-text")
        with serving(lambda handler: (cut if len(handler.server.requests) == 2 else whole)(handler)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(6.0, 2.0))
            (times,) = times_of(source.series(SELECTION)).values()
        assert len(times) == 3
        assert "does not end with # EOF" in notes_of(source)[0]

    def test_malformed_lines_are_counted(self) -> None:
        """Lines that cannot be read are said once, with their number."""
        with serving(answer(UP + b"workqueue_depth x\n")) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(4.0, 2.0))
            source.series(SELECTION)
        assert notes_of(source) == ["malformed lines skipped: 3"]

    def test_when_all_fail_it_is_an_error(self) -> None:
        """It ends after a few attempts, without waiting for the whole time, with address and last reason."""
        with serving(answer(b"", 404)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(3000.0, 2.0))
            with pytest.raises(InputNotFoundError, match="status 404 Not Found") as failed:
                source.series(SELECTION)
        assert failed.value.where == server.url
        assert "the last one" in failed.value.message

    def test_a_few_failures_are_an_error_too(self) -> None:
        """Also where the time was over before."""
        with serving(answer(b"<html>", kind="")) as server, pytest.raises(InputNotFoundError, match="of 2, the last"):
            source_of(server, clock=FastClock(), plan=Plan(2.0, 2.0)).series(SELECTION)

    def test_a_fault_of_this_program_is_not_hidden(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What nobody expected in a thread comes up where it is seen."""

        def broken(*_: object) -> None:
            raise RuntimeError("bug")

        monkeypatch.setattr(scraping_module, "fetch", broken)
        with pytest.raises(RuntimeError, match="bug"):
            ScrapeSource(distinct([Endpoint.parse("http://a")]), Access(), QUICK).series(SELECTION)

    def test_a_thread_that_never_ends_is_left_behind(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where even the time-out fails, as for a name server that hangs, the whole still ends."""
        released = threading.Event()

        def stuck(*_: object) -> str:
            released.wait(20.0)
            return ""

        monkeypatch.setattr(scraping_module, "fetch", stuck)
        monkeypatch.setattr(scraping_module, "_GRACE_SECONDS", 0.05)
        source = ScrapeSource(distinct([Endpoint.parse("http://a")]), Access(), QUICK)
        begin = time.monotonic()
        with pytest.raises(InputNotFoundError, match="no answer came at all"):
            source.series(SELECTION)
        assert time.monotonic() - begin < 2.0
        released.set()

    def test_invented_series_do_not_fill_the_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond a number of series, new ones are skipped and counted."""
        monkeypatch.setattr(scrape_module, "_MOST_SERIES", 3)
        bodies = [b'workqueue_depth{x="%d"} 1\nworkqueue_depth 1\n' % number for number in range(5)]
        with serving(sequence(bodies)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(8.0, 2.0))
            store = source.series(SELECTION)
        assert len(store.get("workqueue_depth")) == 3
        assert notes_of(source) == ["samples of more than 3 series skipped: 3"]


class TestEndingEarly:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_and_keeps_what_is_there(self, number: signal.Signals) -> None:
        """What was collected until the signal is delivered, with a note; afterwards signals do what they did."""
        before = signal.getsignal(number)
        told = Told(interrupt_at(3, number))
        with serving(answer(UP)) as server:
            source = source_of(server, plan=Plan(60.0, 0.02), told=told)
            begin = time.monotonic()
            (times,) = times_of(source.series(SELECTION)).values()
        assert time.monotonic() - begin < 5.0
        assert len(times) >= 3
        assert notes_of(source)[0] == "ended early after 0 s of 60 s"
        assert told.said[-1].startswith("ended early after 0 s of 60 s; scrapes that succeeded: ")
        assert signal.getsignal(number) is before

    def test_the_second_signal_is_as_usual(self) -> None:
        """A second Ctrl-C, while answers are awaited, interrupts."""
        told = Told(lambda _: signal.raise_signal(signal.SIGINT))
        with serving(answer(UP)) as server, pytest.raises(KeyboardInterrupt):
            source_of(server, plan=Plan(60.0, 0.02), told=told).series(SELECTION)

    def test_before_the_first_answer(self) -> None:
        """Nothing came, and that is said."""
        told = Told(interrupt_at(1))
        with serving(hang) as server, pytest.raises(InputNotFoundError, match="no scrape succeeded of 0"):
            load_source(source_of(server, plan=Plan(600.0, 60.0), told=told))

    def test_outside_the_main_thread_signals_are_left_alone(self) -> None:
        """Another thread can scrape too; it cannot be ended by a signal."""
        found: list[SeriesStore] = []
        with serving(answer(UP)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(4.0, 2.0))
            thread = threading.Thread(target=lambda: found.append(source.series(SELECTION)))
            thread.start()
            thread.join()
        assert len(found[0].get("workqueue_depth")[0]) == 3


class TestWhole:
    def test_it_tells_how_it_goes(self) -> None:
        """A line at the start and one at the end; in between what holds now."""
        told = Told()
        with serving(answer(UP)) as server:
            source_of(server, clock=FastClock(), plan=Plan(8.0, 2.0), told=told).series(SELECTION)
        assert told.said == [
            f"scraping {server.url} every 2 s for 8 s; Ctrl-C ends it early",
            "scrapes that succeeded: 5, that failed: 0",
        ]
        assert any("succeeded: 3, failed: 0" in text for text in told.updates)

    def test_the_same_operator_gives_the_same_figures_as_its_recording(self) -> None:
        """What a recorded operator served, scraped again, gives the recording's own figures."""
        with serving(sequence(snapshots())) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(36.0, 2.0))
            live = report_of(load_source(source), Options())
        recording = report_of(load_source(MetricsOnly()), Options())
        assert live.source.kind == "scrape"
        assert live.findings[0].code == recording.findings[0].code == "workers-saturated"
        assert live.figures.keys() <= recording.figures.keys()
        name = "controllers.raycluster.reconcile_seconds_mean"
        assert live.figures[name].value == pytest.approx(recording.figures[name].value, rel=0.05)

    def test_a_standby_is_told_from_the_leader(self) -> None:
        """A replica that does not lead takes nothing from what the leader shows."""
        standby = b'leader_election_master_status 0\nprocess_start_time_seconds 1\nworkqueue_depth{controller="x"} 0\n'
        with ExitStack() as stack:
            leader, other = (stack.enter_context(serving(each)) for each in (sequence(snapshots()), answer(standby)))
            source = source_of(leader, other, clock=FastClock(), plan=Plan(36.0, 2.0))
            assert report_of(load_source(source), Options()).findings[0].code == "workers-saturated"

    def test_a_standby_alone_is_found(self) -> None:
        """Scraping only the replica that waits is said to be that."""
        body = b"leader_election_master_status 0\nprocess_start_time_seconds 1\nprocess_cpu_seconds_total 1\n"
        with serving(answer(body)) as server:
            source = source_of(server, clock=FastClock(), plan=Plan(60.0, 2.0))
            report = report_of(load_source(source), Options())
        assert report.findings[0].code == "not-leader"
        assert (source.log(), source.changes(), source.log_lines) == ((), (), 0)


class MetricsOnly(RecordingSource):
    """The example without its log and objects."""

    def __init__(self) -> None:
        super().__init__(EXAMPLE / "metrics.om.gz")
