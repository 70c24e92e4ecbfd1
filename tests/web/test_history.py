import logging
from pathlib import Path

import msgspec
import pytest

from advisor.model.finding import FindingCode, Severity
from advisor.model.raw import Selection
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.sources.exposition import Exposition, Sample
from advisor.store.errors import StoreWriteError
from advisor.store.store import Store
from advisor.web.history import KeptHistory, StoreSink, remembered
from advisor.web.notify import Notice, Notifier, NotifyRules
from tests.web.serving import NOW, failure, report

HOUR = Window(NOW - 3600.0, NOW)


def with_workers(workers: float | None) -> Report:
    """The report of an operator that has so many."""
    found = report()
    knob = msgspec.structs.replace(found.advice.concurrency, current=workers)
    return msgspec.structs.replace(found, advice=msgspec.structs.replace(found.advice, concurrency=knob))


class Run:
    """A sink on a store in memory, and what it sends."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store.open(None, now=NOW)
        self.sent: list[Notice] = []
        self.notifier = Notifier(NotifyRules(), remembered(self.store))
        self.sink = StoreSink(self.store, self.notifier, self.sent.extend)


class TestSink:
    def test_keeps_reports_and_failures(self) -> None:
        """A report comes back as it was, a failure after it is told beside it."""
        run = Run()
        run.sink.report("one", NOW - 60.0, report("one"))
        run.sink.failure("one", NOW, failure())
        (status,) = run.store.statuses()
        assert status.report is not None
        assert status.failure is not None
        document = run.store.document(status.report.id)
        assert document is not None
        assert msgspec.json.decode(document, type=Report) == report("one")

    def test_notes_changes_of_settings(self) -> None:
        """What is set otherwise than in the report before is a change; what is not known is none."""
        run = Run()
        for index, workers in enumerate((1.0, 1.0, 4.0, None, 8.0)):
            run.sink.report("one", NOW + index, with_workers(workers))
        changes = [(one.setting, one.before, one.after, one.time) for one in run.store.changes("one")]
        assert changes == [("concurrency", 1.0, 4.0, NOW + 2)]

    def test_tells_what_is_new(self) -> None:
        """A critical finding is told once, not with each report."""
        run = Run()
        for minute in range(3):
            run.sink.report("one", NOW + 60.0 * minute, report("one"))
        assert [(notice.operator, notice.code.value) for notice in run.sent] == [("one", "workers-saturated")]

    def test_a_store_that_is_full(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
        """Nothing is raised into the schedule; it is logged now and then, counted, and notices go out all the same."""
        run = Run()

        def refuse(*_: object) -> int:
            raise StoreWriteError("the disk is full")

        monkeypatch.setattr(run.store, "add_report", refuse)
        monkeypatch.setattr(run.store, "add_failure", refuse)
        with caplog.at_level(logging.WARNING):
            for _ in range(5):
                run.sink.report("one", NOW, report("one"))
                run.sink.failure("one", NOW, failure())
        assert run.sink.write_failures == 10
        assert len(caplog.records) == 4
        assert len(run.sent) == 1


class TestKept:
    def test_scrapes_are_a_source(self) -> None:
        """What was kept is given back as samples over time, as far as an analysis selects it."""
        history = KeptHistory(Store.open(None, now=NOW))
        for second in range(0, 60, 5):
            labels = (("controller", "raycluster"),)
            samples = [Sample("workqueue_adds_total", labels, float(second)), Sample("other", (), 1.0)]
            history.keep("one", NOW - 60.0 + second, Exposition(samples, {}, 0, ended=True))
        source = history.source("one", HOUR)
        store = source.series(Selection(frozenset({"workqueue_adds_total"}), {}))
        (series,) = store
        assert (series.name, series.labels, list(series.values)[-1]) == (
            "workqueue_adds_total",
            {"controller": "raycluster"},
            55.0,
        )
        assert store.origin == "history of one"
        assert (list(source.log()), list(source.changes()), source.setup().args) == ([], [], ())

    def test_of_nobody(self) -> None:
        """An operator that was never scraped has no samples."""
        source = KeptHistory(Store.open(None, now=NOW)).source("none", HOUR)
        assert source.series(Selection(frozenset({"a"}), {})).sample_count() == 0


def test_a_store_in_a_file(tmp_path: Path) -> None:
    """What the sink kept is there after the service was started anew."""
    path = tmp_path / "history.db"
    with Store.open(path, now=NOW) as store:
        Run(store).sink.report("one", NOW, report("one"))
    with Store.open(path, now=NOW + 1.0) as store:
        assert [one.operator for one in store.statuses()] == ["one"]


class TestOverARestart:
    def test_what_was_told_is_not_told_again(self, tmp_path: Path) -> None:
        """An open finding is told once, also where the service was started anew and the clock has leapt meanwhile."""
        path = tmp_path / "history.db"
        for start, sent in ((NOW, 1), (NOW + 60.0, 0), (NOW + 1e8, 0), (NOW - 1e8, 0)):
            with Store.open(path, now=NOW) as store:
                run = Run(store)
                run.sink.report("one", start, report("one"))
                run.sink.report("one", start + 60.0, report("one"))
                assert len(run.sent) == sent

    def test_a_cool_down_goes_on(self, tmp_path: Path) -> None:
        """What was told as resolved is told as new only after it."""
        path = tmp_path / "history.db"
        fine = msgspec.structs.replace(report("one").findings[0], code=FindingCode.HEALTHY, severity=Severity.INFO)
        healthy = msgspec.structs.replace(report("one"), findings=(fine,))
        with Store.open(path, now=NOW) as store:
            run = Run(store)
            run.sink.report("one", NOW, report("one"))
            run.sink.report("one", NOW + 60.0, healthy)
            assert [one.kind.value for one in run.sent] == ["new", "resolved"]
        with Store.open(path, now=NOW) as store:
            run = Run(store)
            run.sink.report("one", NOW + 120.0, report("one"))
            assert run.sent == []
            run.sink.report("one", NOW + 6 * 3600.0, report("one"))
            assert [one.kind.value for one in run.sent] == ["new"]
            run.sink.report("one", NOW + 7 * 3600.0, healthy)
            run.sink.report("one", NOW + 20 * 3600.0, healthy)
            assert store.told() == {}

    def test_what_cannot_be_read_counts_as_not_told(self, caplog: pytest.LogCaptureFixture) -> None:
        """The log says so."""
        store = Store.open(None, now=NOW)
        store.set_told("one", b"?")
        with caplog.at_level(logging.WARNING):
            run = Run(store)
        assert "may be told again" in caplog.text
        run.sink.report("one", NOW, report("one"))
        assert len(run.sent) == 1

    def test_what_was_not_kept_is_kept_with_the_next_report(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A disk that was full for a while leaves no gap in what was told."""
        run = Run()

        def refuse(*_: object) -> None:
            raise StoreWriteError("the disk is full")

        with monkeypatch.context() as full:
            full.setattr(run.store, "set_told", refuse)
            run.sink.report("one", NOW, report("one"))
        assert run.store.told() == {}
        assert run.sink.not_kept == {"one": "the disk is full"}
        run.sink.report("one", NOW + 60.0, report("one"))
        assert list(run.store.told()) == ["one"]
        run.sink.report("one", NOW + 120.0, report("one"))
        assert run.sink.not_kept == {}

    def test_operators_that_are_gone_are_forgotten(self) -> None:
        """Once nothing is kept of them."""
        run = Run()
        run.sink.report("one", NOW, report("one"))
        run.sink.forget()
        assert list(run.notifier.known) == ["one"]
        run.store.prune(NOW)
        run.store.prune(NOW + 40 * 86_400.0)
        run.store.prune(NOW + 40 * 86_400.0 + 3600.0)
        run.sink.forget()
        assert run.notifier.known == {}
