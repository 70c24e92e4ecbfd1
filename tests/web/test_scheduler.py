"""The scheduler's threads: nobody blocks others, and it ends in time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from advisor.errors import InputNotFoundError
from advisor.model.fleet import FleetFailure
from advisor.model.report import Report
from advisor.web.due import DueRules
from advisor.web.scheduler import Scheduler, Target
from tests.analysis.reportsmade import example
from tests.support import until

QUICK = DueRules(interval_seconds=0.05, jitter_ratio=0.0, at_a_time=2, longest_pause_seconds=0.05)
PATIENCE = 10.0


@dataclass
class Made:
    """A target that does as a test says, and counts its begins."""

    name: str
    act: Callable[[threading.Event], Report]
    limit_seconds: float = 30.0
    begins: int = 0

    def analyse(self, stop: threading.Event) -> Report:
        """Do as told."""
        self.begins += 1
        return self.act(stop)


@dataclass
class Found:
    """A discovery that finds what a test says."""

    name: str
    targets: list[Target]
    limit_seconds: float = 30.0
    error: Exception | None = None
    looks: int = 0

    def find(self, stop: threading.Event) -> tuple[Target, ...]:
        """What is there now."""
        self.looks += 1
        if self.error is not None:
            raise self.error
        return tuple(self.targets)


@dataclass
class Taken:
    """A sink that keeps what it is given."""

    reports: list[tuple[str, float, Report]] = field(default_factory=list)
    failures: list[tuple[str, float, FleetFailure]] = field(default_factory=list)
    error: Exception | None = None

    def report(self, operator: str, time: float, report: Report) -> None:
        """Keep a report."""
        self.reports.append((operator, time, report))
        if self.error is not None:
            raise self.error

    def failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """Keep a failure."""
        self.failures.append((operator, time, failure))


def fine(_stop: threading.Event) -> Report:
    """A report at once."""
    return example()


def broken(_stop: threading.Event) -> Report:
    """No source."""
    raise InputNotFoundError("nobody answers", where="http://x", hint="look")


@contextmanager
def scheduling(
    *targets: Target, rules: DueRules = QUICK, sink: Taken | None = None, discoveries: tuple[Found, ...] = ()
) -> Iterator[tuple[Scheduler, Taken]]:
    """A scheduler that runs while the block lasts."""
    sink = sink or Taken()
    scheduler = Scheduler(rules, sink, lambda: 0.0)
    scheduler.replace(targets, discoveries)
    scheduler.start()
    try:
        yield scheduler, sink
    finally:
        scheduler.stop()


def test_again_and_again() -> None:
    """Each report goes to the sink with the time at which its analysis began."""
    began = time.time()
    target = Made("eu", fine)
    with scheduling(target) as (scheduler, sink):
        until(lambda: len(sink.reports) >= 3)
        (state,) = scheduler.states()
    names, times, reports = zip(*sink.reports, strict=True)
    assert set(names) == {"eu"}
    assert reports[0] is example()
    assert list(times) == sorted(times)
    assert began - 1.0 <= times[0] <= time.time()
    assert (state.failures, state.failures_total, state.last_failure) == (0, 0, None)
    assert state.last_success is not None
    assert abs(state.next_due - time.time()) < 5.0
    assert state.last_duration_seconds is not None


def test_failures_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """What an analysis raises is told, counted and shown; a fault of our own is logged with its place."""

    def faulty(_stop: threading.Event) -> Report:
        raise ZeroDivisionError("a fault")

    with scheduling(Made("eu", broken), Made("us", faulty)) as (scheduler, sink):
        until(lambda: len({name for name, _, _ in sink.failures}) == 2 and len(sink.failures) > 3)
        eu, us = scheduler.states()
    told = {name: failure for name, _, failure in sink.failures}
    assert (told["eu"].error, told["eu"].where, told["eu"].hint, told["eu"].exit_code) == (
        "nobody answers",
        "http://x",
        "look",
        3,
    )
    assert "a fault of this program: ZeroDivisionError" in told["us"].error
    assert eu.failures == eu.failures_total >= 1
    assert us.last_failure is not None
    assert "ZeroDivisionError" in caplog.text
    assert not sink.reports


def test_one_that_hangs_blocks_nobody() -> None:
    """Its time-out is told once, its place goes to others, it is not begun again, and a late result is dropped."""
    released = threading.Event()

    def hang(_stop: threading.Event) -> Report:
        released.wait(PATIENCE)
        return example()

    one_place = DueRules(interval_seconds=0.05, jitter_ratio=0.0, at_a_time=1, longest_pause_seconds=0.05)
    stuck, well = Made("a-stuck", hang, limit_seconds=0.1), Made("well", fine)
    with scheduling(stuck, well, rules=one_place) as (scheduler, sink):
        until(lambda: len(sink.reports) >= 3 and sink.failures)
        held, _ = scheduler.states()
        assert (held.hangs, held.running_since, held.failures) == (True, None, 1)
        assert [(name, failure.error) for name, _, failure in sink.failures] == [
            ("a-stuck", "not finished within 0.1 s")
        ]
        assert stuck.begins == 1
        released.set()
        until(lambda: stuck.begins >= 2)
    assert "a-stuck" not in {name for name, _, _ in sink.reports[:3]}


def test_one_that_listens_ends_at_its_time_out() -> None:
    """Its event is set; that it raises then is no further failure."""

    def patient(stop: threading.Event) -> Report:
        stop.wait(PATIENCE)
        raise InputNotFoundError("stopped")

    slow = Made("slow", patient, limit_seconds=0.05)
    with scheduling(slow) as (_, sink):
        until(lambda: slow.begins >= 3)
    assert {failure.error for _, _, failure in sink.failures} == {"not finished within 0.05 s"}


def test_no_more_than_so_many_at_a_time() -> None:
    """Twenty targets have two places."""
    lock, running, most = threading.Lock(), [0], [0]

    def counted(_stop: threading.Event) -> Report:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.005)
        with lock:
            running[0] -= 1
        return example()

    with scheduling(*(Made(f"t{number}", counted) for number in range(20))) as (_, sink):
        until(lambda: len({name for name, _, _ in sink.reports}) == 20)
    assert most[0] == 2


def test_stopping_is_quick() -> None:
    """Analyses that listen end at once and are told as nothing."""

    def patient(stop: threading.Event) -> Report:
        stop.wait(PATIENCE)
        raise InputNotFoundError("stopped")

    with scheduling(Made("eu", patient)) as (scheduler, sink):
        until(lambda: scheduler.states()[0].running_since)
        began = time.monotonic()
        assert scheduler.stop()
        assert time.monotonic() - began < 2.0
    assert (sink.reports, sink.failures) == ([], [])


def test_stopping_leaves_behind_what_hangs() -> None:
    """After its time it returns, and says that something still goes on."""
    released = threading.Event()

    def hang(_stop: threading.Event) -> Report:
        released.wait(PATIENCE)
        return example()

    with scheduling(Made("eu", hang)) as (scheduler, sink):
        until(lambda: scheduler.states()[0].running_since)
        began = time.monotonic()
        assert not scheduler.stop(0.2)
        assert time.monotonic() - began < 1.5
        released.set()
        assert scheduler.stop()
    assert sink.reports == []


def test_stopping_what_never_began() -> None:
    """Nothing goes on."""
    assert Scheduler(QUICK, Taken(), lambda: 0.0).stop()


def test_a_sink_that_fails_disturbs_nobody() -> None:
    """A full disk is counted; the watching goes on."""
    with scheduling(Made("eu", fine), sink=Taken(error=OSError("no space"))) as (scheduler, sink):
        until(lambda: len(sink.reports) >= 3)
        until(lambda: scheduler.sink_errors >= 3)


def test_reloading() -> None:
    """Who stays keeps his state; who is gone is begun no more; who is new is begun; rules may change."""
    first, second, third = Made("a", fine), Made("b", broken), Made("c", fine)
    with scheduling(first, second) as (scheduler, sink):
        until(lambda: first.begins and second.begins >= 2)
        scheduler.replace([second, third], rules=QUICK)
        until(lambda: third.begins >= 2)
        b, c = scheduler.states()
        before = first.begins
        assert (b.name, c.name) == ("b", "c")
        assert b.failures_total >= 2
        until(lambda: third.begins >= 4)
        assert first.begins <= before + 1
    assert sink.reports


def test_who_is_removed_while_analysed_is_not_told() -> None:
    """His analysis is asked to end, and what comes of it is dropped."""
    stopped = threading.Event()

    def patient(stop: threading.Event) -> Report:
        stop.wait(PATIENCE)
        stopped.set()
        return example()

    with scheduling(Made("a", patient)) as (scheduler, sink):
        until(lambda: scheduler.states()[0].running_since)
        scheduler.replace([])
        assert stopped.wait(PATIENCE)
        assert scheduler.states() == ()
    assert sink.reports == []


def test_in_a_hurry() -> None:
    """A target can be analysed at once, though it is not due for long."""
    slow = DueRules(interval_seconds=3600.0, jitter_ratio=0.0)
    target = Made("eu", fine)
    with scheduling(target, rules=slow) as (scheduler, _):
        until(lambda: target.begins == 1 and scheduler.states()[0].last_success)
        assert scheduler.hurry("eu")
        until(lambda: target.begins == 2)
        assert not scheduler.hurry("us")


def test_operators_that_come_and_go() -> None:
    """What a discovery finds is watched; what it finds no more is not; those named by hand go before."""
    named, a, b = Made("named", fine), Made("store/a", fine), Made("store/b", fine)
    imposter = Made("named", broken)
    store = Found("store", [a, imposter])
    with scheduling(named, discoveries=(store,)) as (scheduler, sink):
        until(lambda: a.begins >= 2)
        store.targets = [b]
        until(lambda: b.begins >= 2)
        assert [one.name for one in scheduler.states()] == ["named", "store", "store/b"]
        store.error = InputNotFoundError("nobody answers")
        until(lambda: sink.failures)
        before = b.begins
        until(lambda: b.begins >= before + 2)
        scheduler.replace([named], [store])
        assert "store/b" in [one.name for one in scheduler.states()]
        scheduler.replace([named])
        assert [one.name for one in scheduler.states()] == ["named"]
    assert {name for name, _, _ in sink.failures} == {"store"}
    assert imposter.begins == 0


def test_no_thread_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives none, that is a failure like any other, and is tried again."""
    start = threading.Thread.start
    refused = [0]

    def poor(self: threading.Thread) -> None:
        if self.name.startswith("analysis") and refused[0] < 2:
            refused[0] += 1
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", poor)
    with scheduling(Made("eu", fine)) as (scheduler, sink):
        until(lambda: sink.reports)
        assert scheduler.states()[0].failures_total == 2
