"""From operators of the configuration to analyses, against real servers on loopback."""

import threading
import time
from array import array
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from advisor.analysis import Options
from advisor.analysis.basis import read_basis
from advisor.engines.base import TaskTimeoutError
from advisor.errors import (
    AdvisorError,
    InputNotFoundError,
    NothingToAnalyseError,
    StoreUnreachableError,
)
from advisor.model.fleet import FleetFailure
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Selection, Series, SeriesStore, Setup
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.sources.endpoint import Access
from advisor.sources.exposition import Exposition
from advisor.store import StoreWriteError
from advisor.web.analysing import Task, apart, here
from advisor.web.config import Config, load_config
from advisor.web.due import DueRules
from advisor.web.keptscrape import KeptScrape
from advisor.web.scheduler import Scheduler
from advisor.web.targets import (
    Bases,
    History,
    KeptTarget,
    OperatorTarget,
    StoreDiscovery,
    Watched,
    rules_of,
    watched,
)
from tests.analysis.reportsmade import AFTER
from tests.sources.prometheus import stores
from tests.sources.servers import Server, answer, hang, sequence, serving, snapshots
from tests.sources.test_sidecar import files, holding, root

OPTIONS = Options()
GOING = threading.Event()


@dataclass
class Kept:
    """A history in memory."""

    scrapes: list[tuple[str, float, Exposition]] = field(default_factory=list)
    spans: list[Window] = field(default_factory=list)
    error: Exception | None = None

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Keep one scrape."""
        if self.error is not None:
            raise self.error
        self.scrapes.append((operator, time, exposition))

    def source(self, operator: str, span: Window) -> "Remembered":
        """What was kept of an operator."""
        self.spans.append(span)
        return Remembered([(time, one) for name, time, one in self.scrapes if name == operator])


@dataclass
class Remembered:
    """A source of kept scrapes."""

    scrapes: list[tuple[float, Exposition]]
    kind: str = "history"
    notes: tuple[ReadNote, ...] = ()
    log_lines: int = 0

    def series(self, selection: Selection) -> SeriesStore:
        """All samples."""
        found: dict[object, Series] = {}
        for moment, exposition in self.scrapes:
            for sample in exposition.samples:
                key = (sample.name, sample.labels)
                one = found.setdefault(key, Series(sample.name, dict(sample.labels), array("d"), array("d")))
                one.times.append(moment)
                one.values.append(sample.value)
        return SeriesStore(found.values(), origin="history")

    def log(self) -> tuple[LogRecord, ...]:
        """None."""
        return ()

    def changes(self) -> tuple[ObjectChange, ...]:
        """None."""
        return ()

    def setup(self) -> Setup:
        """Nothing."""
        return Setup()


def configured(*operators: dict[str, object]) -> Config:
    """A configuration of some operators."""
    return load_config(None, {}, {"operators": list(operators), "schedule.timeout": "30s"})


def run_of(config: Config, history: History | None = None, bases: Bases | None = None) -> Watched:
    """What runs for it, in this process."""
    return watched(config.operators, config.schedule, OPTIONS, history=history, run=here, bases=bases)


@dataclass
class Noted:
    """Keeps what what-ifs can rest on."""

    bases: list[tuple[str, bytes | None, str]] = field(default_factory=list)

    def set_basis(self, operator: str, time: float, document: bytes | None, missing: str = "") -> None:
        """Keep it; the first time there is no room."""
        self.bases.append((operator, document, missing))
        assert time > 0.0
        if len(self.bases) == 1:
            raise StoreWriteError("the disk is full")


def test_what_whatifs_rest_on() -> None:
    """Each analysis takes it down, or why there is nothing; a report is not lost where it cannot be kept."""
    noted = Noted()
    with serving(holding(files(AFTER))) as server:
        config = configured({"name": "eu", "sidecar": {"url": root(server)}, "args": ["--qps=55"]})
        (target,) = run_of(config, bases=noted).targets
        assert target.analyse(GOING).operator == "eu"
        assert target.analyse(GOING).operator == "eu"
    (_, first, _), (name, second, missing) = noted.bases
    assert (name, missing, first) == ("eu", "", second)
    assert read_basis(second or b"").settings.qps == 55.0
    history = Kept()
    with serving(sequence(snapshots())) as server:
        config = configured({"name": "us", "scrape": {"urls": [server.url]}})
        made = run_of(config, history=history, bases=noted)
        for _ in range(3):
            made.scrapes[0].once()
        made.targets[0].analyse(GOING)
    assert noted.bases[-1][:2] == ("us", None)
    assert "no load" in noted.bases[-1][2]


def test_a_sidecar() -> None:
    """What it holds is analysed, under the name of the configuration, with what is told beside."""
    with serving(holding(files(AFTER))) as server:
        config = configured({"name": "eu", "sidecar": {"url": root(server)}, "args": ["--qps=55"], "version": "1.7.0"})
        (target,) = run_of(config).targets
        report = target.analyse(GOING)
    assert (report.operator, report.source.kind, report.settings.version) == ("eu", "sidecar", "1.7.0")
    assert report.settings.qps.value == 55.0
    assert report.source.object_changes > 0
    assert target.limit_seconds == 35.0


def test_a_scrape_without_history() -> None:
    """An analysis scrapes for its own time, which comes on top of the time-out."""
    with serving(sequence(snapshots())) as server:
        config = configured({"name": "eu", "scrape": {"urls": [server.url], "for": "0.6s", "interval": "0.1s"}})
        (target,) = run_of(config).targets
        assert target.limit_seconds == pytest.approx(35.6)
        report = target.analyse(GOING)
    assert (report.operator, report.source.kind) == ("eu", "scrape")


def test_a_store_that_is_not_there() -> None:
    """An analysis raises why there is no report."""
    config = configured({"name": "eu", "prometheus": {"url": "http://127.0.0.1:1"}})
    (target,) = run_of(config).targets
    with pytest.raises(StoreUnreachableError):
        target.analyse(GOING)


def test_what_runs_for_each_kind(tmp_path: Path) -> None:
    """Stores are discoveries; with a history, a scrape is a scraper for each replica and a target, a sidecar both."""
    config = configured(
        {"name": "a", "prometheus": {"url": "http://x"}},
        {"name": "b", "scrape": {"urls": ["http://127.0.0.1:1", "http://127.0.0.1:2"], "interval": "7s"}},
        {"name": "c", "sidecar": {"url": "http://x"}},
        {"name": "d", "fleet": {"url": "http://x"}},
    )
    without = run_of(config)
    assert [one.name for one in without.targets] == ["a", "b", "c"]
    assert [one.name for one in without.discoveries] == ["d"]
    assert without.discoveries[0].limit_seconds == 30.0
    assert without.scrapes == ()
    kept = run_of(config, history=Kept())
    assert [type(one) for one in kept.targets] == [OperatorTarget, KeptTarget, OperatorTarget]
    assert [one.name for one in kept.scrapes] == ["scrape b 127.0.0.1:1", "scrape b 127.0.0.1:2", "scrape c x:80"]
    lost = configured({"name": "b", "scrape": {"urls": ["https://x"], "ca_file": str(tmp_path / "none.pem")}})
    with pytest.raises(InputNotFoundError, match="holds no certificate"):
        run_of(lost, history=Kept())


def test_own_history() -> None:
    """What is scraped at an interval is kept, and the analysis reads it back as far as the schedule says."""
    history = Kept()
    with serving(sequence(snapshots())) as server:
        config = configured({"name": "eu", "scrape": {"urls": [server.url], "interval": "0.05s"}, "version": "1.7.0"})
        made = run_of(config, history=history)
        (scrape,), (target,) = made.scrapes, made.targets
        with pytest.raises(NothingToAnalyseError):
            target.analyse(GOING)
        stop = threading.Event()
        thread = threading.Thread(target=scrape.run, args=(stop,))
        thread.start()
        end = time.monotonic() + 10.0
        while len(history.scrapes) < 5 and time.monotonic() < end:
            time.sleep(0.01)
        stop.set()
        thread.join(2.0)
        assert not thread.is_alive()
    report = target.analyse(GOING)
    assert (report.operator, report.source.kind, report.settings.version) == ("eu", "history", "1.7.0")
    assert history.spans[-1].seconds == 3600.0
    assert target.limit_seconds == 30.0
    times = [moment for _, moment, _ in history.scrapes]
    assert times == sorted(times)
    assert scrape.health() == ""
    assert scrape.counters()["scrapes_ok"] == len(history.scrapes)


def scraped(server: Server, keeper: Kept) -> KeptScrape:
    """A scraper of a server."""
    return KeptScrape("eu", server.endpoint, Access(), 1.0, keeper=keeper)


def test_scrapes_that_fail() -> None:
    """They are counted and told, and end nothing."""
    keeper = Kept()
    with serving(answer(b"oops", status=500)) as server:
        scrape = scraped(server, keeper)
        scrape.once()
        assert scrape.health().startswith("status 500")
        server.behave = answer(b"not metrics at all {\n")
        scrape.once()
        assert "no sample" in scrape.health()
        server.behave = answer(b"a 1\n", kind="application/openmetrics-text; version=1.0.0")
        scrape.once()
        assert "does not end with # EOF" in scrape.health()
        server.behave = answer(snapshots()[0] + b"oops {\n")
        scrape.once()
        assert scrape.health() == ""
        keeper.error = OSError("no space")
        scrape.once()
        assert scrape.health() == "not kept: no space"
    assert scrape.counters()["scrapes_failed"] == 3
    assert scrape.counters()["scrapes_ok"] == 2
    assert scrape.counters()["not_kept"] == 1


def test_a_process_of_its_own() -> None:
    """An analysis apart gives the same report, and the same errors."""
    with serving(holding(files(AFTER))) as server:
        (spec,) = configured({"name": "eu", "sidecar": {"url": root(server)}}).operators
        task = Task(spec, time.time(), OPTIONS)
        found = apart(task, 60.0, GOING)
        assert isinstance(found.report, Report)
        assert found == here(task, 60.0, GOING)
    with pytest.raises(InputNotFoundError):
        apart(task, 60.0, GOING)


def test_a_process_that_takes_too_long_is_ended() -> None:
    """With the error that says so."""
    with serving(hang) as server:
        (spec,) = configured({"name": "eu", "sidecar": {"url": root(server)}}).operators
        with pytest.raises(TaskTimeoutError, match=r"not finished within 0\.5 s"):
            apart(Task(spec, time.time(), OPTIONS), 0.5, GOING)


def test_a_process_is_left_behind_when_it_is_time_to_stop() -> None:
    """Nobody waits for it."""
    stop = threading.Event()
    with serving(hang) as server:
        (spec,) = configured({"name": "eu", "sidecar": {"url": root(server)}}).operators
        threading.Timer(0.2, stop.set).start()
        began = time.monotonic()
        with pytest.raises(AdvisorError, match="stopped"):
            apart(Task(spec, time.time(), OPTIONS), 3.0, stop)
        assert time.monotonic() - began < 2.0


def test_an_engine_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started that is told."""
    monkeypatch.setattr("advisor.web.analysing.LocalEngine", lambda _: 1 / 0)
    (spec,) = configured({"name": "eu", "sidecar": {"url": "http://x"}}).operators
    with pytest.raises(ZeroDivisionError):
        apart(Task(spec, time.time(), OPTIONS), 3.0, threading.Event())


@dataclass
class Taken:
    """A sink that keeps what it is given."""

    reports: list[Report] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)

    def report(self, operator: str, time: float, report: Report) -> None:
        """Keep a report."""
        self.reports.append(report)

    def failure(self, operator: str, time: float, failure: FleetFailure) -> None:
        """Keep a failure."""
        self.failures.append((operator, failure.error))


def test_one_that_works_beside_one_that_hangs() -> None:
    """As the service runs them, with processes: the one is reported though the other has the only place at first."""
    with serving(holding(files(AFTER))) as well, serving(hang) as stuck:
        config = configured(
            {"name": "a-stuck", "sidecar": {"url": root(stuck)}}, {"name": "well", "sidecar": {"url": root(well)}}
        )
        schedule = replace(config.schedule, timeout_seconds=8.0)
        running = watched(config.operators, schedule, OPTIONS)
        sink = Taken()
        rules = rules_of(replace(schedule, at_a_time=1, jitter_ratio=0.0))
        assert rules == DueRules(interval_seconds=300.0, jitter_ratio=0.0, at_a_time=1)
        scheduler = Scheduler(rules, sink, lambda: 0.5)
        scheduler.replace(running.targets, running.discoveries)
        scheduler.start()
        end = time.monotonic() + 100.0
        while not sink.reports and time.monotonic() < end:
            time.sleep(0.02)
        assert scheduler.stop()
    assert [report.operator for report in sink.reports] == ["well"]
    assert sink.failures == [("a-stuck", "not finished within 8 s")]


def mark(namespace: str, controller: str = "raycluster") -> dict[str, str]:
    """A series by which an operator is found in a store."""
    labels = {"namespace": namespace, "job": "operator", "controller": controller}
    return {"__name__": "controller_runtime_max_concurrent_reconciles", **labels}


def test_a_whole_store() -> None:
    """Each KubeRay operator there is a target, named after the store and where it is, and asked for alone."""
    marks = [mark("ray-a"), mark("ray-b"), mark("cert", "certificate")]
    with stores.serving(stores.succeed(marks)) as server:
        config = configured({"name": "dev", "fleet": {"url": server.url}, "version": "1.6.0"})
        (store,) = run_of(config).discoveries
        assert isinstance(store, StoreDiscovery)
        found = store.find(GOING)
    assert [one.name for one in found] == ["dev/ray-a/operator", "dev/ray-b/operator"]
    first = found[0]
    assert isinstance(first, OperatorTarget)
    assert first.spec.prometheus is not None
    assert (first.spec.prometheus.namespace, first.spec.version, first.spec.kind) == ("ray-a", "1.6.0", "prometheus")
    assert first.limit_seconds == 35.0


def test_a_store_of_another_profile() -> None:
    """Its operators are looked for in place of KubeRay's, and analysed with it."""
    marks = [mark("ray-a"), mark("flux-system", "kustomization")]
    with stores.serving(stores.succeed(marks)) as server:
        config = configured({"name": "dev", "fleet": {"url": server.url}, "profile": "flux"})
        (store,) = run_of(config).discoveries
        (target,) = store.find(GOING)
    assert isinstance(target, OperatorTarget)
    assert (target.name, target.spec.profile) == ("dev/flux-system/operator", "flux")


def test_a_store_without_operators() -> None:
    """It is a failure of the store's own name, and not silence."""
    with stores.serving(stores.succeed([])) as server:
        (store,) = run_of(configured({"name": "dev", "fleet": {"url": server.url}})).discoveries
        with pytest.raises(NothingToAnalyseError):
            store.find(GOING)
