import dataclasses
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from advisor.model.comparison import Outcome, PredictionCheck, PredictionResult
from tests.lab.binaries import Toolbox
from tests.lab.cgroup import NoContainer
from tests.lab.controlplane import ControlPlane
from tests.lab.laboratory import Laboratory
from tests.lab.processes import LabError
from tests.lab.reporting import rewrite, tables
from tests.lab.scenario import Expected, Scenario, load_scenario, names
from tests.lab.suite import ADVISED, SUITE, Loop, Run, closed_loop, judge, read_runs, spreads
from tests.support import ROOT

EXAMPLE: Final = ROOT / "advisor" / "examples" / "saturated-one-worker"
RECORDINGS: Final = ROOT / "tests" / "data" / "recordings"
START: Final = 1795980691.555
CHECK: Final = PredictionCheck(
    quantity="queue_wait_seconds_mean",
    unit="seconds",
    low=1.5,
    high=3.0,
    then=2.0,
    measured=2.25,
    result=PredictionResult.INSIDE,
)
LOOP: Final = Loop(
    workers_before=1, workers_after=4, wait_before=8.0, wait_after=2.5, check=CHECK, outcome=Outcome.BETTER
)


@pytest.fixture(scope="module")
def throttled() -> Run:
    """A run of an operator whose client is throttled, judged as its scenario says."""
    name = "throttled-one-worker"
    return judge(name, load_scenario(name), RECORDINGS / name, {"raycluster": {"queue_wait_seconds_mean": 1.5}})


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a suite of two scenarios, run twice, and one closed loop left."""
    out = tmp_path_factory.mktemp("out")
    _left(out / "run-1" / "throttled-one-worker", RECORDINGS / "throttled-one-worker", 30.0, 2.0)
    _left(out / "run-2" / "throttled-one-worker", RECORDINGS / "throttled-one-worker", 33.0, 2.5)
    _left(out / "run-1" / "standby-replica", RECORDINGS / "standby-replica", None, None)
    _left(out / "run-1" / "saturated-one-worker", EXAMPLE, 27.0, 8.25)
    _left(out / "run-1" / ADVISED, RECORDINGS / "after-ten-workers", 17.0, 1.75)
    (out / "run-2" / "broken-off").mkdir()
    return out


@pytest.fixture(scope="module")
def runs(out: Path) -> list[Run]:
    """These, read."""
    return read_runs(out)


def _left(folder: Path, recording: Path, makespan: float | None, wait: float | None) -> None:
    shutil.copytree(recording, folder)
    measured: dict[str, Any] = {"load_start": START}
    if makespan is not None:
        measured["makespan_seconds"] = makespan
    if wait is not None:
        measured["raycluster"] = {"queue_wait_seconds_mean": wait}
    (folder / "expected.json").write_text(json.dumps({"measured": measured}), encoding="utf-8")


def measuring(run: Run, scenario: str, measured: Mapping[str, Any]) -> Run:
    """The same run with another name and other figures."""
    return dataclasses.replace(run, scenario=scenario, measured=dict(measured))


def expecting(**expected: Any) -> Scenario:  # noqa: ANN401 - as a scenario's file has it
    """A scenario with this verdict."""
    scenario = load_scenario("throttled-one-worker")
    return msgspec.structs.replace(scenario, expected=msgspec.convert(expected, Expected))


class TestRun:
    def test_a_recording_is_judged_by_its_scenario(self, throttled: Run) -> None:
        """What the product says of it is in the run, and nothing is wrong where that is expected."""
        assert throttled.faults == ()
        assert throttled.finding == "client-throttled"
        assert throttled.advice == "concurrency keep, qps raise, burst raise"
        assert throttled.workers == 1
        assert throttled.wait == 1.5

    def test_what_is_wrong_is_told(self) -> None:
        """Another finding first, a warning that must not be, and other advice, each in words."""
        scenario = expecting(primary="hot-key", must_not=["client-throttled"], advice={"qps": "keep", "burst": "any"})
        run = judge("x", scenario, RECORDINGS / "throttled-one-worker", {})
        assert run.faults == (
            "says client-throttled first, not hot-key",
            "warns of client-throttled",
            "advises qps raise, not keep",
        )

    def test_as_defensible_is_right_too(self) -> None:
        """A finding that is accepted beside the first choice."""
        scenario = expecting(primary="hot-key", also_accept=["client-throttled"])
        assert judge("x", scenario, RECORDINGS / "throttled-one-worker", {}).faults == ()

    def test_where_nothing_is_expected_nothing_is_wrong(self) -> None:
        """As in a run that only shows that the lab works."""
        assert load_scenario("smoke").expected is None
        assert judge("smoke", load_scenario("smoke"), RECORDINGS / "standby-replica", {}).faults == ()

    def test_the_suite_is_of_scenarios(self) -> None:
        """Each exists and has a verdict, and the load of the closed loop comes before it."""
        assert set(SUITE) <= set(names())
        assert [name for name in SUITE if load_scenario(name).expected is None] == []
        assert ADVISED.removesuffix("-advised") in SUITE
        assert ADVISED not in names()


class TestSpreads:
    def test_equal_runs_are_compared(self, throttled: Run) -> None:
        """In makespan and mean wait, from the least to the greatest as a share of the mean."""
        equal = [
            measuring(throttled, "a", {"makespan_seconds": makespan, "raycluster": {"queue_wait_seconds_mean": wait}})
            for makespan, wait in ((10.0, 2.0), (14.0, 2.0), (12.0, 2.0))
        ]
        makespan, wait = spreads(equal)
        assert (makespan.scenario, makespan.quantity, makespan.values) == ("a", "makespan", (10.0, 14.0, 12.0))
        assert makespan.mean == 12.0
        assert makespan.relative == pytest.approx(1 / 3)
        assert (wait.quantity, wait.values, wait.relative) == ("mean queue wait", (2.0, 2.0, 2.0), 0.0)

    def test_scenarios_are_kept_apart(self, throttled: Run) -> None:
        """In the order of their first runs; a single run has no spread."""
        found = spreads(
            [
                measuring(throttled, name, {"makespan_seconds": makespan})
                for name, makespan in (("b", 1.0), ("a", 5.0), ("b", 3.0), ("c", 7.0), ("a", 6.0))
            ]
        )
        assert [(one.scenario, one.values) for one in found] == [("b", (1.0, 3.0)), ("a", (5.0, 6.0))]

    def test_what_was_not_measured_is_left_out(self, throttled: Run) -> None:
        """A run that never became ready has no makespan, and one without reconciles no wait."""
        measured: list[dict[str, Any]] = [
            {"raycluster": {"queue_wait_seconds_mean": 1.0}},
            {"makespan_seconds": 5.0, "raycluster": {"queue_wait_seconds_mean": None}},
            {"raycluster": {"queue_wait_seconds_mean": 3.0}},
        ]
        (only,) = spreads([measuring(throttled, "a", one) for one in measured])
        assert (only.quantity, only.values, only.relative) == ("mean queue wait", (1.0, 3.0), 1.0)

    def test_no_wait_at_all_agrees(self, throttled: Run) -> None:
        """A mean of zero has no share."""
        idle = {"raycluster": {"queue_wait_seconds_mean": 0.0}}
        (only,) = spreads([measuring(throttled, "a", idle)] * 2)
        assert only.relative == 0.0

    def test_of_no_runs(self) -> None:
        """There is none."""
        assert spreads([]) == []


class TestLoop:
    def test_its_text(self) -> None:
        """What was changed, what came of it, and whether it was predicted, in one line."""
        assert LOOP.text == (
            "1 -> 4 workers: better; mean wait 8.00 -> 2.50 s in the load; "
            "predicted 2.00 (1.50 to 3.00) s, measured 2.25 s: inside"
        )
        assert LOOP.faults == []

    def test_a_change_that_did_not_help(self) -> None:
        """The comparison's own outcome counts."""
        loop = dataclasses.replace(LOOP, outcome=Outcome.NO_CLEAR_CHANGE)
        assert loop.faults == ["the comparison says no clear change, not better"]

    @pytest.mark.parametrize("result", [PredictionResult.ABOVE, PredictionResult.BELOW, PredictionResult.NOT_CHECKED])
    def test_a_prediction_that_did_not_come_true(self, result: PredictionResult) -> None:
        """Above, below or not to be told: in each case the interval and what came are told."""
        loop = dataclasses.replace(LOOP, check=msgspec.structs.replace(CHECK, measured=None, result=result))
        (fault,) = loop.faults
        assert fault == f"the wait was predicted as 1.50 to 3.00 s; {loop.text}"
        assert f"measured None s: {result.value}" in fault

    @pytest.mark.parametrize("after", [8.0, 9.5])
    def test_a_wait_that_did_not_fall(self, after: float) -> None:
        """Whatever the comparison says."""
        loop = dataclasses.replace(LOOP, wait_after=after)
        assert loop.faults == [f"the wait did not fall; {loop.text}"]

    def test_from_two_runs(self, runs: list[Run]) -> None:
        """Workers and waits are those of the runs, outcome and prediction those of the product's comparison."""
        before, after = (next(run for run in runs if run.scenario == name) for name in (ADVISED[:-8], ADVISED))
        loop = Loop.of(before, after)
        assert (loop.workers_before, loop.workers_after) == (1, 10)
        assert (loop.wait_before, loop.wait_after) == (8.25, 1.75)
        assert loop.outcome is Outcome.BETTER
        # Four were advised, and ten were taken.
        assert loop.check.quantity == "queue_wait_seconds_mean"
        assert loop.check.result is PredictionResult.NOT_CHECKED
        assert len(loop.faults) == 1


class TestClosedLoop:
    @pytest.fixture
    def lab(self, tmp_path: Path) -> Laboratory:
        """A laboratory in which nothing runs: these loops end before it would."""
        plane = ControlPlane(Toolbox({}), tmp_path)
        plane.cluster.close()
        return Laboratory(Toolbox({}), tmp_path, plane, NoContainer(), print)

    def test_without_advice_there_is_nothing_to_take(self, lab: Laboratory, tmp_path: Path) -> None:
        """The reason that the product gives is told."""
        _left(tmp_path / "saturated-one-worker", RECORDINGS / "standby-replica", 1.0, 1.0)
        said: list[str] = []
        (fault,) = closed_loop(lab, tmp_path, said.append)
        start = "no concurrency is advised; "
        assert fault.startswith(start)
        assert len(fault) > len(start)
        assert said == []

    def test_without_a_run_there_is_nothing_to_advise_on(self, lab: Laboratory, tmp_path: Path) -> None:
        """Where the run before failed, that is told, and further scenarios can run."""
        with pytest.raises(LabError, match="saturated-one-worker left no recording"):
            closed_loop(lab, tmp_path, print)


class TestReports:
    def test_runs_are_read_again(self, runs: list[Run], out: Path) -> None:
        """Each folder with an ``expected.json``, run by run; the one under advice has no verdict."""
        assert [str(run.folder.relative_to(out)) for run in runs] == [
            "run-1/saturated-one-worker",
            f"run-1/{ADVISED}",
            "run-1/standby-replica",
            "run-1/throttled-one-worker",
            "run-2/throttled-one-worker",
        ]
        assert [run.scenario for run in runs] == [run.folder.name for run in runs]
        assert [run.faults for run in runs] == [()] * 5
        assert runs[-1].measured["makespan_seconds"] == 33.0

    def test_of_nothing(self, tmp_path: Path) -> None:
        """A folder that is empty or not there holds no runs."""
        assert read_runs(tmp_path) == []
        assert read_runs(tmp_path / "missing") == []

    @pytest.fixture
    def text(self, runs: list[Run], tmp_path: Path) -> str:
        """All tables, with a shared recording of one of the scenarios beside them."""
        shutil.copytree(RECORDINGS / "throttled-one-worker", tmp_path / "shared" / "throttled-one-worker")
        key = {"primary": "hot-key", "also_accept": [], "must_not": [], "advice": {}}
        path = tmp_path / "shared" / "throttled-one-worker" / "expected.json"
        path.write_text(json.dumps(key), encoding="utf-8")
        return tables(runs, tmp_path / "shared")

    def test_tables_are_whole(self, text: str) -> None:
        """Each follows an empty line, and each of its rows has as many cells as its head."""
        found = []
        for block in text.split("\n\n"):
            lines = block.splitlines()
            if lines and lines[0].startswith("|"):
                found.append(len(lines) - 2)
                assert len({line.count("|") for line in lines}) == 1
                assert set(lines[1]) <= set("| -")
                assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
        # Three scenarios, one loop, two quantities of the one that ran twice.
        assert found == [3, 1, 2]
        assert [line for line in text.splitlines() if line.startswith("#")] == [
            "### Verdicts, beside those on KubeRay's own release",
            "### The advice taken",
            "### How far equal runs agree",
        ]
        assert text.endswith("\n")

    def test_what_they_say(self, text: str) -> None:
        """When, where and with what it ran; verdicts here and of the shared recordings; the loop; the spread."""
        lines = text.splitlines()
        assert lines[0] == "Runs of 2026-11-29: 5."
        assert lines[2].startswith("Machine: ")
        assert "Kubernetes v1." in lines[3]
        throttled = "client-throttled: concurrency keep, qps raise, burst raise"
        wrong = "says client-throttled first, not hot-key"
        assert f"| throttled-one-worker | 2 | {throttled} | 2 of 2 | {throttled} | {wrong} |" in lines
        standby = "not-leader: concurrency no-number, qps no-number, burst no-number"
        assert f"| standby-replica | 1 | {standby} | 1 of 1 | no such recording |  |" in lines
        assert any(line.startswith("| run-1 | 1 -> 10 | 8.25 -> 1.75 | ") for line in lines)
        assert "| throttled-one-worker | makespan | 30, 33 | 10% |" in lines
        assert "| throttled-one-worker | mean queue wait | 2, 2.5 | 22% |" in lines

    def test_they_stand_between_the_marks(self, tmp_path: Path) -> None:
        """The text around stays as it is, and a second time replaces the first."""
        path = tmp_path / "lab.md"
        before, after = "# The lab\n\n<!-- runs: begin -->\n", "<!-- runs: end -->\n\nMore — of it.\n"
        path.write_text(f"{before}old\n{after}", encoding="utf-8")
        for text in ("### New\n\n| a |\n", "### Newer\n", ""):
            rewrite(path, text)
            assert path.read_text(encoding="utf-8") == f"{before}{text}{after}"

    def test_the_document_has_the_marks(self) -> None:
        """Once each, in order, so that tables have a place."""
        text = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
        assert text.count("<!-- runs: begin -->\n") == text.count("<!-- runs: end -->\n") == 1
        assert text.index("<!-- runs: begin -->") < text.index("<!-- runs: end -->")
