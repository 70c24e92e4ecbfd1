import gzip
import itertools
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from advisor.analysis import Options, load_source, report_of
from advisor.errors import InputNotFoundError, OutputError
from advisor.model.report import Report
from advisor.signals.names import SELECTION
from advisor.sources import openmetricswriter
from advisor.sources.endpoint import Access
from advisor.sources.openmetrics import read_openmetrics
from advisor.sources.pseudonyms import Pseudonyms
from advisor.sources.recorder import Beside, Recorder
from advisor.sources.recording import RecordingSource
from advisor.sources.scrape import ScrapeSource
from advisor.sources.scraping import Outcome, Plan, Scraping, Silent, distinct
from tests.sources.servers import EXAMPLE, FastClock, Server, answer, sequence, serving, snapshots

PLAN = Plan(36.0, 2.0)
ARGS = ("ray-operator", "--reconcile-concurrency", "1", "--watch-namespace=team-a,team-b", "--qps=100.0", "--burst=200")
BESIDE = Beside(EXAMPLE / "operator.log.gz", EXAMPLE / "objects.jsonl.gz", "1.7.0", ARGS)
OTHERS = (
    "errors-quota-refused",
    "hot-key-big-scale-up",
    "expectation-blocked",
    "verbose-log",
)
UP = b"workqueue_depth 1\n"


def record(
    folder: Path,
    *servers: Server,
    beside: Beside = BESIDE,
    pseudonyms: Pseudonyms | None = None,
    plan: Plan = PLAN,
    all_series: bool = False,
) -> tuple[Recorder, Outcome]:
    """A recording of some servers, without waiting."""
    recorder = Recorder(folder, beside, pseudonyms)
    endpoints = distinct([server.endpoint for server in servers])
    selection = None if all_series else SELECTION
    scraping = Scraping(endpoints, Access(), plan, selection, reporter=Silent(), clock=FastClock())
    return recorder, recorder.record(scraping, plan)


def analysed(folder: Path) -> Report:
    """The report on a recording."""
    return report_of(load_source(RecordingSource(folder)), Options())


def numbers(report: Report) -> dict[str, float]:
    """Every figure of a report."""
    return {name: figure.value for name, figure in report.figures.items()}


def test_a_recording_gives_the_same_figures_as_the_live_scrape(tmp_path: Path) -> None:
    """Whether an operator is analysed at once or from a recording of the same scrapes makes no difference."""
    bodies = snapshots()
    with serving(sequence(bodies)) as first, serving(sequence(bodies)) as second:
        record(tmp_path / "out", first, beside=Beside())
        # One address, so that all but the port is the same.
        source = ScrapeSource([second.endpoint], Access(), PLAN, clock=FastClock())
        live = report_of(load_source(source), Options())
    recorded = analysed(tmp_path / "out")
    assert numbers(recorded) == numbers(live)
    assert [one.code for one in recorded.findings] == [one.code for one in live.findings]
    assert recorded.advice == live.advice
    assert recorded.source.notes == live.source.notes == ()
    assert recorded.source.samples == live.source.samples


def test_everything_is_in_the_folder(tmp_path: Path) -> None:
    """Metrics, log, objects and setup, as the format says."""
    with serving(sequence(snapshots())) as server:
        recorder, outcome = record(tmp_path / "new" / "out", server)
    folder = tmp_path / "new" / "out"
    names = ["metrics.om.gz", "objects.jsonl.gz", "operator.log.gz", "setup.json"]
    assert sorted(one.name for one in folder.iterdir()) == names
    assert json.loads((folder / "setup.json").read_text(encoding="utf-8")) == {
        "version": "1.7.0",
        "args": list(ARGS),
        "start": outcome.start,
        "end": outcome.end,
        "scrape_interval_seconds": 2.0,
    }
    assert (outcome.end - outcome.start, outcome.ok, recorder.problems) == (36.0, 19, [])
    for name in ("operator.log.gz", "objects.jsonl.gz"):
        assert gzip.decompress((folder / name).read_bytes()) == gzip.decompress((EXAMPLE / name).read_bytes())
    report = analysed(folder)
    assert report.findings[0].code == "workers-saturated"
    assert report.settings.qps.value == 100.0


def test_only_what_is_read_is_kept_unless_asked(tmp_path: Path) -> None:
    """Other series are left out, and objects are counted; --all-series keeps each as it is."""
    body = UP + b'go_goroutines 5\nkuberay_cluster_info{name="a"} 1\nkuberay_cluster_info{name="b"} 1\n'
    with serving(answer(body)) as server:
        record(tmp_path / "few", server, beside=Beside(), plan=Plan(2.0, 2.0))
        record(tmp_path / "all", server, beside=Beside(), plan=Plan(2.0, 2.0), all_series=True)
    few, every = (gzip.decompress((tmp_path / name / "metrics.om.gz").read_bytes()) for name in ("few", "all"))
    assert b"go_goroutines" not in few
    assert b'name="a"' not in few
    assert b"go_goroutines" in every
    assert b'name="a"' in every
    stores = [read_openmetrics(tmp_path / name / "metrics.om.gz", SELECTION)[0] for name in ("few", "all")]
    counts = [list(store.get("kuberay_cluster_info")[0].values) for store in stores]
    assert counts == [[2.0, 2.0], [2.0, 2.0]]


class TestPseudonyms:
    def names(self, folder: Path) -> set[str]:
        """Every name that the example's log and objects hold."""
        found: set[str] = set()
        for line in gzip.decompress((folder / "objects.jsonl.gz").read_bytes()).splitlines():
            change = json.loads(line)
            found.update((change["namespace"], change["name"], change.get("cluster") or ""))
        text = gzip.decompress((folder / "operator.log.gz").read_bytes()).decode()
        found.update(re.findall(r'"(?:name|namespace|podName)":"([^"]+)"', text))
        return found - {""}

    @pytest.mark.parametrize("all_series", [False, True])
    def test_no_name_survives_and_findings_stay(self, tmp_path: Path, *, all_series: bool) -> None:
        """No name of the original is anywhere in the folder, and the report differs in names alone."""
        names = self.names(EXAMPLE)
        assert {"team-a", "rc-000"} <= names
        pseudonyms = Pseudonyms()
        bodies = [body + b'kuberay_cluster_info{name="rc-secret",namespace="team-a"} 1\n' for body in snapshots()]
        with serving(sequence(bodies)) as first, serving(sequence(bodies)) as second:
            record(tmp_path / "plain", first, all_series=all_series)
            record(tmp_path / "clean", second, pseudonyms=pseudonyms, all_series=all_series)
        text = everything(tmp_path / "clean")
        survivors = [name for name in (*names, "rc-secret", "127.0.0.1", "10.0.0.", "/var/") if name in text]
        assert survivors == []
        plain, clean = analysed(tmp_path / "plain"), analysed(tmp_path / "clean")
        assert numbers(clean) == numbers(plain)
        for part in ("advice", "findings", "verdict"):
            shown = json.loads(msgspec.json.encode(getattr(clean, part)))
            assert without_names(getattr(plain, part), names, pseudonyms) == shown
        assert {(one.namespace, one.name, one.busy_seconds) for one in clean.keys if one.busy_share > 0.012} == {
            (pseudonyms.of(one.namespace), pseudonyms.of(one.name), one.busy_seconds)
            for one in plain.keys
            if one.busy_share > 0.012
        }

    @pytest.mark.parametrize(
        "name",
        ["errors-quota-refused", "hot-key-big-scale-up", "expectation-blocked", "verbose-log"],
    )
    def test_log_and_objects_of_other_operators(self, shared: Path, tmp_path: Path, name: str) -> None:
        """Also where the log is full of errors, the findings, their order and their figures stay."""
        folder = shared / "recordings" / name
        log = next(one for one in (folder / "operator.stdout.log.gz", folder / "operator.log.gz") if one.exists())
        beside = Beside(log, folder / "objects.jsonl.gz", "1.7.0", ())
        with serving(answer(UP)) as server:
            for target, pseudonyms in (("plain", None), ("clean", Pseudonyms())):
                record(tmp_path / target, server, beside=beside, pseudonyms=pseudonyms, plan=Plan(2.0, 2.0))
        for target in ("plain", "clean"):
            # The samples of the operator itself, which hold no name of an object.
            shutil.copy(folder / "metrics.om.gz", tmp_path / target / "metrics.om.gz")
            (tmp_path / target / "setup.json").unlink()
        text = everything(tmp_path / "clean", ("operator.log.gz", "objects.jsonl.gz"))
        assert re.findall(r"rc-0|team-[a-z]|g0-worker|job-0|quota-", text) == []
        plain, clean = analysed(tmp_path / "plain"), analysed(tmp_path / "clean")
        assert numbers(clean) == numbers(plain)
        ranked = [[(one.code, one.severity) for one in report.findings] for report in (plain, clean)]
        assert ranked[0] == ranked[1]
        knobs = [[(name, one.direction, one.value) for name, one in report.advice.knobs()] for report in (plain, clean)]
        assert knobs[0] == knobs[1]

    def test_unreadable_lines_are_dropped(self, tmp_path: Path) -> None:
        """What cannot be understood cannot be cleaned, so it is left out."""
        log, objects = tmp_path / "log", tmp_path / "objects"
        log.write_text("team-a is down\n{}\n", encoding="utf-8")
        objects.write_text("team-a\n[]\n", encoding="utf-8")
        with serving(answer(UP)) as server:
            record(tmp_path / "out", server, beside=Beside(log, objects, "team-a", ()), pseudonyms=Pseudonyms())
        assert "team-a" not in everything(tmp_path / "out")

    def test_a_version_stays_where_it_is_one(self, tmp_path: Path) -> None:
        """A number of a version tells nothing of anybody."""
        with serving(answer(UP)) as server:
            record(tmp_path / "out", server, beside=Beside(version="v1.7.0-rc.1"), pseudonyms=Pseudonyms())
        assert json.loads((tmp_path / "out" / "setup.json").read_bytes())["version"] == "v1.7.0-rc.1"


def everything(folder: Path, names: Sequence[str] = ()) -> str:
    """The text of all files of a folder, or of some."""
    paths = [folder / name for name in names] or sorted(folder.iterdir())
    data = [path.read_bytes() for path in paths]
    return "\n".join((gzip.decompress(one) if one.startswith(b"\x1f\x8b") else one).decode() for one in data)


def without_names(part: object, names: set[str], pseudonyms: Pseudonyms) -> object:
    """A part of a report with all names replaced."""
    text = msgspec.json.encode(part).decode()
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", pseudonyms.of(name), text)
    return json.loads(text)


class TestTrouble:
    def test_a_folder_that_holds_something_is_refused(self, tmp_path: Path) -> None:
        """Nothing of another recording is touched."""
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="not empty"):
            Recorder(tmp_path, Beside(), None)
        assert [one.name for one in tmp_path.iterdir()] == ["file"]

    def test_a_place_that_cannot_be_a_folder(self, tmp_path: Path) -> None:
        """A file in its place is said to be one."""
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="cannot be written"):
            Recorder(tmp_path / "file", Beside(), None)

    @pytest.mark.parametrize("exists", [False, True])
    def test_when_no_scrape_succeeds_nothing_stays(self, tmp_path: Path, *, exists: bool) -> None:
        """The next attempt can use the same name, and a folder that was there remains."""
        folder = tmp_path / "out"
        if exists:
            folder.mkdir()
        with serving(answer(b"", 500)) as server, pytest.raises(InputNotFoundError):
            record(folder, server)
        assert folder.exists() == exists
        assert list(tmp_path.rglob("*")) == ([folder] if exists else [])

    def test_files_that_go_away_meanwhile(self, tmp_path: Path) -> None:
        """The samples are kept, and what is missing is said."""
        with serving(answer(UP)) as server:
            recorder, _ = record(tmp_path / "out", server, beside=Beside(log=tmp_path / "gone"))
        assert recorder.problems == [f"{tmp_path / 'gone'}: cannot be opened: No such file or directory"]
        assert RecordingSource(tmp_path / "out").series(SELECTION).sample_count() == 19

    def test_a_damaged_log(self, tmp_path: Path) -> None:
        """What can be read of it is copied, and the rest is said."""
        log = tmp_path / "log.gz"
        log.write_bytes(gzip.compress(b"a\nb\n")[:-8])
        with serving(answer(UP)) as server:
            recorder, _ = record(tmp_path / "out", server, beside=Beside(log=log))
        assert gzip.decompress((tmp_path / "out" / "operator.log.gz").read_bytes()) == b"a\nb\n"
        assert "the compressed data has no end" in recorder.problems[0]

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is an error with the place, and what was written stays."""
        count = itertools.count()

        def full(*_: object) -> None:
            if next(count) == 3:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(openmetricswriter.GzipLines, "flush", full)
        with serving(answer(UP)) as server, pytest.raises(OutputError, match="No space left") as failed:
            record(tmp_path / "out", server)
        assert failed.value.where == str(tmp_path / "out")
        assert (tmp_path / "out" / "metrics.om.gz").exists()

    def test_too_many_series(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was left out is said."""
        monkeypatch.setattr(openmetricswriter, "_MOST_SERIES", 1)
        with serving(answer(UP + b'workqueue_depth{x="1"} 1\n')) as server:
            recorder, _ = record(tmp_path / "out", server, beside=Beside())
        assert recorder.problems == ["samples of too many series were left out: 19"]
