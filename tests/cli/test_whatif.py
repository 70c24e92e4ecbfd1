"""The command ``whatif``, from recordings, workload files and facts to every form of its result."""

import gzip
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

from advisor.cli.whatif import _ENGINES
from advisor.engines.base import ENGINES, Result, Task, Tell, equal_weight
from tests.cli.served import serving
from tests.support import ROOT, run

RECORDINGS: Final = ROOT / "tests" / "data" / "recordings"
ONE, SIXTEEN = (str(RECORDINGS / f"grid-{name}-q100") for name in ("c1", "c16"))
WORKLOADS: Final = ROOT / "advisor" / "examples" / "workloads"
BURST: Final = str(WORKLOADS / "burst.yaml")
FEW: Final = ("--concurrency", "1,4", "--qps", "100,off", "--draws", "0")
BATCH: Final = """
operator: {version: "1.6.1", queue: classic}
controllers: {raycluster: {max_concurrent_reconciles: 1}}
client: {qps: 20, burst: 30, request_seconds_mean: 0.03, limiter_wait_seconds_mean: 0.01}
demand: {items_in_burst: 10, drain_seconds: 4, api_calls_per_item: 12}
"""
RATES: Final = """
controllers:
  raycluster:
    max_concurrent_reconciles: 2
    reconciles_per_second: 2
    reconcile_seconds_mean: 0.2
    api_calls_per_reconcile: 4
client: {qps: -1, request_seconds_mean: 0.03}
demand: {objects: {raycluster: 30}}
"""

Printed = Callable[..., dict[str, Any]]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """Runs the command and gives its JSON."""

    def result(*args: str) -> dict[str, Any]:
        assert run("whatif", *args, "--output", "json") == 0
        captured = capsys.readouterr()
        assert ("--scrape" in args) == (captured.err != "")
        document = json.loads(captured.out)
        assert isinstance(document, dict)
        return document

    return result


def estimate(cell: dict[str, Any], quantity: str) -> float:
    """One predicted value."""
    (found,) = (one["value"] for one in cell["estimates"] if one["quantity"] == quantity)
    assert isinstance(found, float | int)
    return found


def test_two_recordings_say_what_more_workers_would_do(printed: Printed) -> None:
    """The load of the first is tried in the world of both; the settings in force are among the cells, and measured."""
    found = printed("--recording", ONE, "--recording", SIXTEEN, *FEW)
    schema = json.loads((ROOT / "advisor" / "schemas" / "whatif-v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(found, schema)
    assert [(one["concurrency"], one["qps"]) for one in found["cells"]] == [(1, 100), (1, -1), (4, 100), (4, -1)]
    assert [one["name"] for one in found["points"]] == ["grid-c1-q100", "grid-c16-q100"]
    assert (found["load"]["created"], found["cells_wanted"]) == (50, 4)
    now, more = found["cells"][0], found["cells"][2]
    assert now["is_now"]
    measured = {one["quantity"]: one["value"] for one in found["measured"]}
    for quantity in ("makespan_seconds", "ready_seconds_mean", "queue_wait_seconds_mean"):
        assert estimate(now, quantity) == pytest.approx(measured[quantity], rel=0.25)
        assert estimate(more, quantity) < 0.5 * measured[quantity]
    assert estimate(now, "cpu_cores") == pytest.approx(measured["cpu_cores"])
    assert {"utilisation", "cpu_cores", "requests_per_second"} < set(measured)
    assert found["cells"][1]["no_gain"] == ["qps"]


def test_far_more_workers_are_a_guess(printed: Printed) -> None:
    """Beyond four times the calibrated workers a cell is marked; so is one that needs more CPU than its limit."""
    found = printed("--recording", ONE, "--concurrency", "2,64", "--qps", "100", "--draws", "0")
    assert [one["is_beyond"] for one in found["cells"]] == [False, False, True]
    assert "shows nothing of how the API server slows down" in found["notes"][0]
    tight = printed("--recording", ONE, "--concurrency", "1", "--qps", "100", "--cpu", "0.001,off", "--draws", "0")
    assert [(one["cpu_limit_cores"], one["is_beyond"]) for one in tight["cells"]] == [(0.001, True), (None, False)]


def test_a_workload_needs_no_recording(printed: Printed) -> None:
    """The world is as stated, nothing was measured and nothing is beyond; draws give intervals."""
    found = printed("--workload", BURST, "--concurrency", "1,100", "--qps", "off", "--draws", "2")
    assert (found["measured"], found["points"]) == ([], [])
    assert not any(one["is_beyond"] for one in found["cells"])
    wait = next(one for one in found["cells"][0]["estimates"] if one["quantity"] == "queue_wait_seconds_mean")
    assert wait["low"] < wait["value"] < wait["high"]
    assert any("stated in the workload file" in note for note in found["notes"])


def test_a_workload_can_be_tried_on_a_recorded_operator(printed: Printed) -> None:
    """Times and settings are those of the recording, the load is another; so nothing measured stands beside it."""
    found = printed("--workload", BURST, "--recording", ONE, *FEW)
    assert (found["load"]["name"], found["load"]["created"]) == ("burst.yaml", 100)
    assert (found["measured"], [one["name"] for one in found["points"]]) == ([], ["grid-c1-q100"])
    told = ("--version", "1.7.0", "--args", "--qps=100 --burst=200")
    alone = printed("--workload", BURST, "--recording", f"{ONE}/metrics.om.gz", *told, *FEW)
    assert (alone["load"], [one["name"] for one in alone["points"]]) == (found["load"], ["metrics.om.gz"])
    assert estimate(alone["cells"][0], "makespan_seconds") == pytest.approx(
        estimate(found["cells"][0], "makespan_seconds"), rel=0.1
    )


@pytest.mark.parametrize(("facts", "created"), [(BATCH, 10), (RATES, 191)])
def test_facts_may_carry_a_load(facts: str, created: int, printed: Printed, tmp_path: Path) -> None:
    """A batch is run as told; rates become clusters at an even pace."""
    path = tmp_path / "some.facts.yaml"
    path.write_text(facts, encoding="utf-8")
    found = printed("--facts", str(path), *FEW)
    assert found["load"]["created"] == created
    assert any("facts file's rates and means" in note for note in found["notes"])


def test_a_model_that_misses_the_present_says_so(printed: Printed, tmp_path: Path) -> None:
    """What was measured and is not repeated is named, with both figures."""
    path = tmp_path / "some.facts.yaml"
    path.write_text(BATCH.replace("drain_seconds: 4", "drain_seconds: 400"), encoding="utf-8")
    notes = printed("--facts", str(path), *FEW)["notes"]
    assert any("the model's makespan under the settings in force is " in note for note in notes)
    assert any("measured was 6.7 min: trust it with care" in note for note in notes)


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        ("{}", "missing controllers.raycluster.max_concurrent_reconciles, client.qps or operator.version, client.req"),
        (BATCH.replace(", api_calls_per_item: 12", ""), "missing demand.api_calls_per_item\n"),
        (RATES.replace("reconciles_per_second: 2", ""), "missing controllers.raycluster.reconciles_per_second (or dem"),
        (BATCH.replace(", limiter_wait_seconds_mean: 0.01", ""), "with client.limiter_wait_seconds_mean below it\n"),
    ],
)
def test_facts_that_carry_no_load_say_what_is_missing(
    facts: str, missing: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is made up; the keys that are needed are named."""
    path = tmp_path / "some.facts.yaml"
    path.write_text(facts, encoding="utf-8")
    assert run("whatif", "--facts", str(path)) == 4
    assert missing in capsys.readouterr().err


def test_samples_alone_carry_a_load(printed: Printed) -> None:
    """Number and size of clusters follow from the counters, and the settings are those that are told."""
    found = printed("--recording", f"{ONE}/metrics.om.gz", "--version", "1.7.0", "--args", "--qps=100", *FEW)
    assert (found["load"]["created"], found["load"]["pods"]) == (50, 450)
    assert "rates and means of the load episode 4 s in, 46 s long" in found["notes"][-1]
    measured = {one["quantity"]: one["value"] for one in found["measured"]}
    now = found["cells"][0]
    assert now["is_now"]
    for quantity in ("queue_wait_seconds_mean", "utilisation", "cpu_cores"):
        assert estimate(now, quantity) == pytest.approx(measured[quantity], rel=0.2)
    assert "makespan_seconds" not in measured


def test_a_recording_with_objects_but_no_load_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where objects were watched and none was created, rates do not stand in for it."""
    folder = shutil.copytree(ONE, tmp_path / "watched")
    changes = gzip.decompress((folder / "objects.jsonl.gz").read_bytes()).splitlines(keepends=True)
    pods = b"".join(line for line in changes if json.loads(line)["kind"] == "Pod")
    (folder / "objects.jsonl.gz").write_bytes(gzip.compress(pods))
    assert run("whatif", "--recording", str(folder)) == 4
    assert "record with --objects" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (f"{ONE}/metrics.om.gz", "metrics.om.gz: the samples carry no load that could be run: missing QPS (in no seri"),
        (f"{RECORDINGS}/standby-replica/metrics.om.gz", "the operator was idle while it was observed"),
    ],
)
def test_samples_that_carry_no_load_say_why(path: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is named, and how to tell it."""
    assert run("whatif", "--recording", path) == 4
    printed = " ".join(capsys.readouterr().err.split())
    assert message in printed
    assert ("--version and --args" in printed) == ("QPS" in message)


def test_an_operator_that_is_scraped(printed: Printed, tmp_path: Path) -> None:
    """Its load is run again under its own settings."""
    load = tmp_path / "burst.yaml"
    load.write_text("clusters: {rc: {count: 400, workers: 4, over_seconds: 1}}\n", encoding="utf-8")
    options = ("--for", "8s", "--interval", "0.8s", "--version", "1.7.0", "--args", "--qps=100 --burst=200")
    with serving(str(load), "--serve", "127.0.0.1:0", "--pace", "2") as (_, port):
        found = printed("--scrape", f"http://127.0.0.1:{port}", *options, *FEW)
    assert found["load"]["name"] == f"http://127.0.0.1:{port}/metrics"
    assert found["load"]["created"] > 10
    assert [one["is_now"] for one in found["cells"]] == [True, False, False, False]


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_a_result_goes_to_a_file(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--out writes what would have been printed, and prints nothing."""
    args = ("whatif", "--workload", BURST, *FEW, "--output", form)
    assert run(*args) == 0
    shown = capsys.readouterr().out
    assert "4" in shown
    assert run(*args, "--out", str(tmp_path / "result")) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "result").read_text(encoding="utf-8") == shown


def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs agree, and another seed gives other intervals."""
    args = ("whatif", "--workload", BURST, "--concurrency", "1", "--qps", "off", "--draws", "3", "--output", "json")
    shown = []
    for seed in ("5", "5", "6"):
        assert run(*args, "--seed", seed) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != shown[2]


def test_a_terminal_is_printed_to(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal the result is coloured; -v adds what the model rests on."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert run("whatif", "--workload", BURST, *FEW, "-v") == 0
    printed = capsys.readouterr().out
    assert "\x1b[1m" in printed
    assert "What the model rests on" in printed


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Give --recording PATH, --scrape URL or --facts FILE; or --workload FILE, alone or with one of the first"),
        (("--facts", "a", "--workload", "b"), "Give --recording PATH"),
        (("--scrape", "http://a", "--recording", "b"), "Give --recording PATH"),
        (("--scrape", "http://a", "--facts", "b"), "Give --recording PATH"),
        (("--interval", "2s", "--workload", BURST), "--interval belongs to --scrape URL."),
        (("--version", "1.7.0", "--workload", BURST), "--version and --args belong to --scrape or to a single --reco"),
        (("--args", "--qps=1", "--recording", "a", "--recording", "b"), "to a single --recording."),
        (("--workload", BURST, "--concurrency", "1,x"), "'1,x' is no list of whole numbers such as 1,2,4"),
        (("--workload", BURST, "--qps", "20,,off"), "is no list of rates"),
        (("--workload", BURST, "--qps", "nan"), "is no list of rates"),
        (("--workload", BURST, "--cpu", "-1"), "is no list of cores"),
        (("--workload", BURST, "--concurrency", "0"), "concurrency 0 is less than one worker."),
        (("--workload", BURST, "--burst", "0"), "burst 0 is less than one request."),
        (("--workload", BURST, "--out", "/no/such/folder/file"), "there is no folder /no/such/folder."),
        (("--workload", BURST, "--engine", "slide-rule"), "'slide-rule' is not one of 'local', 'ray'"),
    ],
)
def test_wrong_use(args: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 with what is wrong."""
    assert run("whatif", *args) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_every_engine_can_be_asked_for() -> None:
    """The command has the names that there are, without importing what knows them."""
    assert _ENGINES == ENGINES


def test_ray_that_is_absent_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is read, with the line for pip."""
    monkeypatch.setitem(sys.modules, "ray", None)
    assert run("whatif", "--workload", "/no/such/file.yaml", "--engine", "ray") == 2
    assert "pip install 'kuberay-advisor[ray]'" in capsys.readouterr().err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """An input that is not there cannot be read."""
    assert run("whatif", "--workload", "/no/such/file.yaml") == 3
    assert "/no/such/file.yaml: cannot be read" in capsys.readouterr().err


class Interrupted:
    """An engine that somebody interrupts after some tasks."""

    def __init__(self, after: int) -> None:
        self.after = after

    def run(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        tell: Tell,
        *,
        weigh: Callable[[Task], float] = equal_weight,
    ) -> Iterator[tuple[int, Result]]:
        """The first tasks, then Ctrl-C."""
        for place, task in enumerate(tasks[: self.after]):
            tell(place + 1, len(tasks))
            yield place, function(task)
        raise KeyboardInterrupt


@pytest.mark.parametrize("after", [0, 2])
def test_ctrl_c_shows_what_is_finished(
    after: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of an interruption; the finished part is printed where there is one."""
    monkeypatch.setattr("advisor.engines.base.engine_named", lambda *_, **__: Interrupted(after))
    assert run("whatif", "--workload", BURST, *FEW) == 130
    printed = capsys.readouterr()
    assert printed.err.strip() == "interrupted"
    assert ("Interrupted: 2 of 4 combinations are finished." in printed.out) == (after == 2)
    assert after or printed.out == ""
