"""Many operators in one run: what comes out, what goes on, and what goes wrong."""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import jsonschema
import msgspec
import pytest

from advisor.analysis import Options, load_facts, override, report_of
from advisor.analysis import fleet as fleet_module
from advisor.analysis.fleet import FleetInterruptedError, FleetRun, analyse_fleet, worst_first
from advisor.analysis.fleettask import FleetTask, analyse_task, failure_of
from advisor.engines import engine_named
from advisor.engines.base import Outcome
from advisor.engines.local import LocalEngine
from advisor.engines.trying import tried
from advisor.errors import AdvisorError, InputFormatError, InputNotFoundError, OutputError
from advisor.model.advice import Direction
from advisor.model.finding import FindingCode, Severity
from advisor.model.fleet import Fleet, FleetKnob, FleetOperator, FleetVerdict
from advisor.report.jsonreport import render_json
from advisor.sources.facts import read_facts
from advisor.sources.fleetspec import FleetEntry, ScrapeSpec
from tests.analysis.fleetmade import CALM, SATURATED, Here, facts, fleet_of, plan_of
from tests.engines.test_ray import FakeRay
from tests.support import ROOT

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

RECORDINGS = ROOT / "tests" / "data" / "recordings"


def asked(engine: Here) -> list[str]:
    """Names of the operators that were analysed."""
    return [task.entry.name for task in engine.asked if isinstance(task, FleetTask)]


def on_disk(folder: Path) -> Fleet:
    """What ``fleet.json`` holds."""
    return msgspec.json.decode((folder / "fleet.json").read_bytes(), type=Fleet)


def timeless(run: FleetRun) -> Fleet:
    """The result without times of its own."""
    operators = tuple(msgspec.structs.replace(one, finished=0.0) for one in run.fleet.operators)
    return msgspec.structs.replace(run.fleet, began=0.0, made=0.0, operators=operators)


def test_each_operator_has_its_report_and_its_line(tmp_path: Path) -> None:
    """Worst first, those that failed last; a report is that of the operator alone, under its name."""
    out = tmp_path / "out"
    entries = fleet_of(tmp_path)
    run = analyse_fleet(plan_of(entries, out), Here())
    assert [one.name for one in run.fleet.operators] == ["needier", "needy", "calm", "gone"]
    alone = report_of(load_facts(read_facts(tmp_path / "needy.facts.yaml")), Options())
    alone = msgspec.structs.replace(alone, operator="needy")
    assert (out / "needy.json").read_text(encoding="utf-8") == render_json(alone)
    assert sorted(path.name for path in out.iterdir()) == ["calm.json", "fleet.json", "needier.json", "needy.json"]
    needy = run.fleet.operators[1].verdict
    assert needy is not None
    assert (needy.finding, needy.severity) == (FindingCode.WORKERS_SATURATED, Severity.CRITICAL)
    assert needy.concurrency == FleetKnob(direction=Direction.RAISE, current=1.0, value=2.0)
    assert (needy.qps.value, needy.burst.value, needy.version) == (100.0, 200.0, "1.7.0")
    assert (needy.queue_wait_seconds, needy.data_until) == (6.0, None)
    assert needy.lost_seconds > 0.0
    assert on_disk(out) == run.fleet
    assert run.kept == 0


def test_the_result_fits_its_schema(tmp_path: Path) -> None:
    """What is on disk is what the published schema describes."""
    analyse_fleet(plan_of(fleet_of(tmp_path), tmp_path / "out"), Here())
    schema = json.loads((ROOT / "advisor" / "schemas" / "fleet-v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((tmp_path / "out" / "fleet.json").read_text(encoding="utf-8")), schema)


def test_recordings_have_an_age(tmp_path: Path) -> None:
    """The last sample's time stands in the line; what is told of the operator goes before the recording."""
    path = RECORDINGS / "grid-c1-q100" / "metrics.om.gz"
    entry = FleetEntry(name="one", recording=str(path), version="1.6.1", args=("--qps=30", "--burst=40"))
    (one,) = analyse_fleet(plan_of([entry], tmp_path), Here()).fleet.operators
    assert one.verdict is not None
    assert one.verdict.data_until == pytest.approx(1795982672.0, abs=2.0)
    assert (one.verdict.version, one.verdict.qps.current, one.verdict.burst.current) == ("1.6.1", 30.0, 40.0)


def test_every_engine_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here, in processes and on Ray: the same lines and the same reports, byte for byte."""
    entries = [
        *fleet_of(tmp_path),
        FleetEntry(name="standby", recording=str(RECORDINGS / "standby-replica" / "metrics.om.gz")),
    ]
    monkeypatch.setitem(sys.modules, "ray", FakeRay(is_up=True))
    results, reports = [], []
    for name, engine in (("here", Here()), ("local", LocalEngine(2)), ("ray", engine_named("ray"))):
        out = tmp_path / name
        results.append(timeless(analyse_fleet(plan_of(entries, out), engine)))
        reports.append({one.name: one.read_bytes() for one in out.glob("*.json") if one.name != "fleet.json"})
    assert results[0] == results[1] == results[2]
    assert reports[0] == reports[1] == reports[2]
    assert len(reports[0]) == 4


@pytest.mark.parametrize(
    ("form", "ending", "begin"),
    [("markdown", "md", "## CRITICAL"), ("html", "html", "<!"), ("text", "txt", "needy operator 1.7.0")],
)
def test_reports_in_another_form(form: str, ending: str, begin: str, tmp_path: Path) -> None:
    """Each report stands beside its JSON; a later run without the form leaves none of it."""
    entries = [facts(tmp_path, "needy", SATURATED)]
    out = tmp_path / "out"
    analyse_fleet(plan_of(entries, out, form=form), Here())
    assert (out / f"needy.{ending}").read_text(encoding="utf-8").startswith(begin)
    analyse_fleet(plan_of(entries, out), Here())
    assert sorted(path.name for path in out.iterdir()) == ["fleet.json", "needy.json"]


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    """A second run looks only at what failed; lines and time of the first one stay."""
    entries = fleet_of(tmp_path)
    first = analyse_fleet(plan_of(entries, tmp_path / "out"), Here(), clock=lambda: 1000.0)
    again = Here()
    second = analyse_fleet(plan_of(entries, tmp_path / "out"), again, clock=lambda: 2000.0)
    assert asked(again) == ["gone"]
    assert second.kept == 3
    assert (second.fleet.began, second.fleet.made) == (1000.0, 2000.0)
    assert second.fleet.operators[:3] == first.fleet.operators[:3]
    assert [task.now for task in again.asked if isinstance(task, FleetTask)] == [1000.0]


@pytest.mark.parametrize("change", ["facts", "options", "form", "told", "report", "fresh"])
def test_what_has_changed_is_done_again(change: str, tmp_path: Path) -> None:
    """Input, settings of the analysis, form, entry or a missing report: no line of other settings is kept."""
    recording = RECORDINGS / "standby-replica" / "metrics.om.gz"
    entries = [facts(tmp_path, "calm", CALM), FleetEntry(name="standby", recording=str(recording))]
    out = tmp_path / "out"
    analyse_fleet(plan_of(entries, out), Here(), clock=lambda: 1000.0)
    wanted = ["calm"]
    other: dict[str, object] = {}
    options = override(Options(), ("thresholds.wait_target_seconds=7",))
    if change == "facts":
        facts(tmp_path, "calm", f"{CALM}# checked by somebody\n")
    elif change == "told":
        entries[1] = msgspec.structs.replace(entries[1], version="1.6.0")
        wanted = ["standby"]
    elif change == "report":
        (out / "calm.json").unlink()
    else:
        wanted = ["calm", "standby"]
        other[change] = {"options": options, "form": "text", "fresh": True}[change]
    engine = Here()
    run = analyse_fleet(plan_of(entries, out, **other), engine, clock=lambda: 2000.0)
    assert asked(engine) == wanted
    assert run.fleet.began == (1000.0 if len(wanted) == 1 else 2000.0)


def test_who_is_no_longer_in_the_fleet_has_no_line(tmp_path: Path) -> None:
    """Lines are of the operators that were asked for; reports of others are not touched."""
    entries = fleet_of(tmp_path)
    analyse_fleet(plan_of(entries, tmp_path / "out"), Here())
    run = analyse_fleet(plan_of(entries[:1], tmp_path / "out"), Here())
    assert [one.name for one in run.fleet.operators] == ["calm"]
    assert (tmp_path / "out" / "needy.json").is_file()


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    """What is finished is on disk with what is left, and the same plan goes on from there."""
    plan = plan_of(fleet_of(tmp_path), tmp_path / "out")
    with pytest.raises(FleetInterruptedError) as error:
        analyse_fleet(plan, Here(after=2), clock=lambda: 1000.0)
    finished = error.value.finished.fleet
    assert [one.name for one in finished.operators] == ["needier", "gone"]
    assert finished.left == ("calm", "needy")
    assert on_disk(plan.folder) == finished
    engine = Here()
    run = analyse_fleet(plan, engine, clock=lambda: 2000.0)
    assert asked(engine) == ["calm", "needy", "gone"]
    assert (run.kept, run.fleet.began, run.fleet.left) == (1, 1000.0, ())
    uninterrupted = analyse_fleet(plan_of(plan.entries, tmp_path / "other"), Here())
    assert timeless(run) == timeless(uninterrupted)


def test_the_state_is_written_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill costs about a second's work: each second what is finished is on disk, and from the start what is left."""
    monkeypatch.setattr(fleet_module, "_SAVE_SECONDS", 0.0)
    out = tmp_path / "out"
    seen: list[tuple[int, int]] = []

    def look() -> None:
        state = on_disk(out)
        seen.append((len(state.operators), len(state.left)))

    analyse_fleet(plan_of(fleet_of(tmp_path), out), Here(between=look))
    assert seen == [(0, 4), (1, 3), (2, 2), (3, 1)]


def test_a_fresh_run_that_is_interrupted_forgets_the_old_lines(tmp_path: Path) -> None:
    """Lines of the run before do not come back: their reports are being written anew."""
    plan = plan_of(fleet_of(tmp_path), tmp_path / "out")
    analyse_fleet(plan, Here())
    with pytest.raises(FleetInterruptedError):
        analyse_fleet(plan_of(plan.entries, plan.folder, fresh=True), Here(after=1))
    assert [one.name for one in on_disk(plan.folder).operators] == ["needier"]


@pytest.mark.parametrize("content", [b"{", b'{"schema": "kuberay-advisor/report/v1"}', b"\xff", b"[]"])
def test_a_state_that_cannot_be_read_is_not_overwritten(content: bytes, tmp_path: Path) -> None:
    """Somebody else's file is an error that says how to go on; --fresh does so."""
    (tmp_path / "fleet.json").write_bytes(content)
    plan = plan_of([facts(tmp_path, "calm", CALM)], tmp_path)
    with pytest.raises(InputFormatError, match=r"is no result of a fleet: .*\(--fresh analyses all operators again"):
        analyse_fleet(plan, Here())
    assert (tmp_path / "fleet.json").read_bytes() == content
    assert analyse_fleet(plan_of(plan.entries, tmp_path, fresh=True), Here()).fleet.analysed()


def test_a_state_that_cannot_be_opened(tmp_path: Path) -> None:
    """A folder in its place is named."""
    (tmp_path / "fleet.json").mkdir()
    with pytest.raises(InputNotFoundError, match=r"fleet\.json: cannot be read"):
        analyse_fleet(plan_of([], tmp_path), Here())


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in its place is an error before anything is analysed."""
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="cannot be made"):
        analyse_fleet(plan_of(fleet_of(tmp_path), tmp_path / "out"), Here())


def test_a_failure_leaves_no_old_report(tmp_path: Path) -> None:
    """Who fails has no report of an earlier run that could be taken for today's; the error is that of ``analyze``."""
    entries = [facts(tmp_path, "calm", CALM)]
    out = tmp_path / "out"
    analyse_fleet(plan_of(entries, out, form="text"), Here())
    facts(tmp_path, "calm", "facts: none")
    run = analyse_fleet(plan_of(entries, out, form="text"), Here())
    ((_, failure),) = run.fleet.failed()
    assert failure.where == str(tmp_path / "calm.facts.yaml")
    assert "there is no key `facts`" in failure.error
    assert failure.hint.startswith("docs/facts-format.md")
    assert failure.exit_code == 3
    assert [path.name for path in out.iterdir()] == ["fleet.json"]


def test_a_fault_of_this_program_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a line with its place in the program."""

    def broken(entry: FleetEntry, now: float) -> object:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("advisor.analysis.fleettask.load_entry", broken)
    ((_, failure),) = analyse_fleet(plan_of([facts(tmp_path, "a", CALM)], tmp_path), Here()).fleet.failed()
    assert failure.error == "a fault of this program: ZeroDivisionError: division by zero"
    assert failure.where.startswith("test_fleet.py:")
    assert failure.exit_code == 70
    elsewhere = failure_of(RuntimeError("ray::_one()\n  File ...\nNameError: so\n"))
    assert (elsewhere.error, elsewhere.where) == ("a fault of this program: RuntimeError: NameError: so", "")


def test_one_that_hangs_costs_its_own_time_only(tmp_path: Path) -> None:
    """It is ended, its line says how to give it longer, half a report is removed, and the others have theirs."""
    os.mkfifo(tmp_path / "pipe")
    out = tmp_path / "out"
    out.mkdir()
    partials = [out / ".hangs.json.4711.partial", out / ".hangs.html.1.partial"]
    for path in (*partials, out / ".mine.partial", out / ".other.json.1.partial"):
        path.write_text("{", encoding="utf-8")
    entries = [
        FleetEntry(name="hangs", facts=str(tmp_path / "pipe")),
        facts(tmp_path, "calm", CALM),
        facts(tmp_path, "needy", SATURATED),
    ]
    run = analyse_fleet(plan_of(entries, out, limit_seconds=4.0), LocalEngine(1))
    assert [one.name for one in run.fleet.operators] == ["needy", "calm", "hangs"]
    failure = run.fleet.operators[2].failure
    assert failure is not None
    assert (failure.error, failure.hint) == ("not finished within 4 s", "--timeout gives it longer")
    assert failure.exit_code == 3
    assert sorted(path.name for path in out.glob(".*")) == [".mine.partial", ".other.json.1.partial"]


class Breaks(Here):
    """An engine that loses a worker with its first task, and breaks after the second."""

    def attempt(
        self, function: Callable[[_Task], _Result], tasks: Sequence[_Task], seconds: Sequence[float]
    ) -> Generator[tuple[int, Outcome[_Result]]]:
        """Two of the tasks."""
        yield 0, Outcome(error=AdvisorError("a worker process ended with signal 9", where="engine local", hint="so"))
        yield 1, tried(function, tasks[1])
        raise AdvisorError("the cluster is gone", where="engine ray")


def test_a_worker_that_dies_costs_one_and_an_engine_that_breaks_loses_nothing(tmp_path: Path) -> None:
    """A dead process is a line; where nothing goes on any more, what is finished is on disk."""
    plan = plan_of(fleet_of(tmp_path), tmp_path / "out")
    with pytest.raises(AdvisorError, match="engine ray: the cluster is gone"):
        analyse_fleet(plan, Breaks())
    state = on_disk(plan.folder)
    assert [one.name for one in state.operators] == ["needy", "calm"]
    assert state.failed()[0][1].error == "a worker process ended with signal 9"
    assert state.left == ("gone", "needier")


def test_scraping_has_its_time_on_top(tmp_path: Path) -> None:
    """Five minutes of scraping are no time-out."""
    scrape = ScrapeSpec(urls=("http://127.0.0.1:1/metrics",), duration="5m")
    entries = [facts(tmp_path, "calm", CALM), FleetEntry(name="live", scrape=scrape)]
    engine = Here(after=0)
    with pytest.raises(FleetInterruptedError):
        analyse_fleet(plan_of(entries, tmp_path, limit_seconds=60.0), engine)
    assert engine.seconds == [60.0, 360.0]


def test_a_report_that_is_nowhere_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without its report would promise what is not there: on Ray the nodes have to share the folder."""
    verdict = analyse_task(FleetTask(facts(tmp_path, "calm", CALM), 0.0, Options(), tmp_path))
    monkeypatch.setattr("advisor.analysis.fleet.analyse_task", lambda _: verdict)
    (one,) = analyse_fleet(plan_of([facts(tmp_path, "calm", CALM)], tmp_path / "out"), Here()).fleet.operators
    assert one.failure is not None
    assert one.failure.hint == "all nodes have to share this folder"


def test_progress_counts(tmp_path: Path) -> None:
    """Done, failed, left; what an earlier run has finished is done."""
    plan = plan_of(fleet_of(tmp_path), tmp_path / "out")
    told: list[str] = []
    analyse_fleet(plan, Here(), told.append)
    assert told == [
        "operators: 0 done, 0 failed, 4 left",
        "operators: 1 done, 0 failed, 3 left",
        "operators: 1 done, 1 failed, 2 left",
        "operators: 2 done, 1 failed, 1 left",
        "operators: 3 done, 1 failed, 0 left",
    ]
    again: list[str] = []
    analyse_fleet(plan, Here(), again.append)
    assert again[0] == "operators: 3 done, 0 failed, 1 left"


def test_names_may_be_anything(tmp_path: Path) -> None:
    """A name with a slash, a dot in front or the name of the state's own file has a file of its own."""
    names = ("prod/eu", ".hidden", "fleet", "FLEET.x", "../up")
    entries = [msgspec.structs.replace(facts(tmp_path, "calm", CALM), name=name) for name in names]
    run = analyse_fleet(plan_of(entries, tmp_path / "out"), Here())
    assert {one.name: one.report for one in run.fleet.operators} == {
        "prod/eu": "prod+eu.json",
        ".hidden": "%2Ehidden.json",
        "fleet": "%66leet.json",
        "FLEET.x": "FLEET.x.json",
        "../up": "%2E.+up.json",
    }
    assert len(list((tmp_path / "out").iterdir())) == 6


def test_severity_goes_before_lost_time(tmp_path: Path) -> None:
    """Among those of one severity who lost more comes first, then the name decides."""
    verdict = analyse_task(FleetTask(facts(tmp_path, "a", CALM), 0.0, Options(), tmp_path))
    assert isinstance(verdict, FleetVerdict)
    made = [
        FleetOperator(
            name=name,
            settings="",
            finished=0.0,
            verdict=msgspec.structs.replace(verdict, severity=severity, lost_seconds=lost),
        )
        for name, severity, lost in (
            ("a", Severity.INFO, 900.0),
            ("b", Severity.WARNING, 5.0),
            ("c", Severity.CRITICAL, 1.0),
            ("e", Severity.WARNING, 70.0),
            ("d", Severity.WARNING, 70.0),
        )
    ]
    assert [one.name for one in worst_first(made)] == ["c", "d", "e", "b", "a"]
