"""What ``analyze --fleet`` does: its options, its output, its exit codes, and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from advisor.analysis import Options
from advisor.analysis.fleettask import REPORT_FORMS
from advisor.cli import fleetoptions
from advisor.cli.fleetcommand import FleetRequest, run_fleet
from advisor.cli.fleetoptions import FleetOptions, fleet_options
from advisor.cli.output import ReportOutput, output_options
from advisor.engines.base import ENGINES
from advisor.sources.fleetspec import FleetEntry
from tests.analysis.fleetmade import CALM, SATURATED, Here, facts, fleet_of
from tests.cli.test_output import everything, on_a_terminal
from tests.support import ROOT, run


@pytest.fixture(autouse=True)
def engines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None, Here]]:
    """Operators are analysed in this process; which engine was asked for."""
    made: list[tuple[str, int | None, Here]] = []

    def named(name: str, *, workers: int | None = None) -> Here:
        made.append((name, workers, Here()))
        return made[-1][2]

    monkeypatch.setattr("advisor.cli.fleetcommand.engine_named", named)
    return made


def request(entries: tuple[FleetEntry, ...], folder: Path | None, form: str = "text", **other: Any) -> FleetRequest:  # noqa: ANN401
    """A request with nothing special but what is given."""
    how = FleetOptions(Path("fleet.yaml"), **{key: other.pop(key) for key in ("jobs", "fresh") if key in other})
    return FleetRequest(entries, folder, form, Options(), how, **other)


def parsed(*args: str) -> tuple[FleetOptions | None, ReportOutput]:
    """What the options make of a command line."""
    found: list[tuple[FleetOptions | None, ReportOutput]] = []

    @click.command()
    @fleet_options
    @output_options
    def command(fleet: FleetOptions | None, output: ReportOutput) -> None:
        found.append((fleet, output))

    command.main(list(args), standalone_mode=False)
    return found[0]


def test_options_become_one_argument(tmp_path: Path) -> None:
    """Each option has its place; without any there is no fleet; a folder may be there already."""
    assert parsed()[0] is None
    assert parsed("--fleet", "f.yaml")[0] == FleetOptions(Path("f.yaml"), None, 120.0, False, None, "local")  # noqa: FBT003
    given = ("--jobs", "8", "--timeout", "5m", "--fresh", "--report-form", "html", "--engine", "ray")
    fleet, output = parsed("--all", *given, "--out", str(tmp_path))
    assert fleet == FleetOptions(None, 8, 300.0, True, "html", "ray")  # noqa: FBT003
    assert output.file == tmp_path


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--fleet", "a", "--all"), "--fleet and --all exclude each other."),
        (("--jobs", "2"), "--jobs belongs to --fleet FILE or --all."),
        (("--timeout", "2m"), "--timeout belongs to"),
        (("--fresh",), "--fresh belongs to"),
        (("--report-form", "html"), "--report-form belongs to"),
        (("--engine", "ray"), "--engine belongs to"),
        (("--fleet", "a", "--jobs", "0"), "0 is not in the range"),
        (("--fleet", "a", "--timeout", "long"), "'long' is no duration"),
        (("--fleet", "a", "--out", "/no/such/folder/out"), "there is no folder /no/such/folder."),
    ],
)
def test_wrong_use(args: tuple[str, ...], message: str) -> None:
    """What contradicts itself is refused."""
    with pytest.raises(click.UsageError) as error:
        parsed(*args)
    assert message in error.value.message


def test_options_have_the_names_that_there_are() -> None:
    """Without importing what knows them."""
    assert fleetoptions._ENGINES == ENGINES
    assert set(fleetoptions._FORMS) == set(REPORT_FORMS)


@pytest.mark.parametrize(
    ("folder", "form", "message"), [(None, "text", "--out DIR"), (Path(), "html", "The summary is")]
)
def test_what_a_fleet_needs(folder: Path | None, form: str, message: str) -> None:
    """A folder for the reports, and a form that a summary has."""
    with pytest.raises(click.UsageError, match=message):
        run_fleet(request((), folder, form))


def test_the_whole_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fleet file, its reports in a folder, settings for all of them, and the exit code asked for."""
    file = tmp_path / "fleet.yaml"
    lines = "".join(f"- {{name: {one.name}, facts: {one.facts}}}\n" for one in fleet_of(tmp_path))
    file.write_text(f"operators:\n{lines}", encoding="utf-8")
    given = ("--fleet", str(file), "--out", str(tmp_path / "out"), "--fail-on", "critical", "--output", "json")
    assert run("analyze", *given, "--set", "policy.target_utilisation=0.3") == 1
    document = json.loads(capsys.readouterr().out)
    needy = next(one["verdict"] for one in document["operators"] if one["name"] == "needy")
    assert needy["concurrency"]["value"] > 2
    assert (tmp_path / "out" / "needy.json").is_file()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("--fleet", "f.yaml", "--recording", "a"), 2, "--fleet FILE goes without an input."),
        (("--fleet", "f.yaml", "--version", "1.7.0"), 2, "--fleet FILE goes without an input."),
        (("--all",), 2, "--all belongs to --prometheus URL."),
        (("--fleet", "/no/such/fleet.yaml", "--out", "out"), 3, "/no/such/fleet.yaml: cannot be read"),
    ],
)
def test_a_fleet_is_an_input_of_its_own(
    args: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes with no other."""
    assert run("analyze", *args) == code
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_the_summary_is_printed(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the form asked for, on standard output and with nothing beside it; JSON is what stands in the folder."""
    assert run_fleet(request(fleet_of(tmp_path), tmp_path / "out", form)) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.index("needier") < printed.out.index("needy") < printed.out.index("calm")
    assert (printed.out == (tmp_path / "out" / "fleet.json").read_text(encoding="utf-8")) == (form == "json")


def test_a_terminal_gets_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal the table is coloured."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert run_fleet(request(fleet_of(tmp_path), tmp_path / "out")) == 0
    assert "\x1b[1;31mcritical" in capsys.readouterr().out


def test_what_was_finished_before_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engines: list[tuple[str, int | None, Here]]
) -> None:
    """Nobody takes yesterday's lines for today's: standard error says so, and how to have them anew."""
    entries = fleet_of(tmp_path)[:2]
    assert run_fleet(request(entries, tmp_path / "out", jobs=3)) == 0
    first = capsys.readouterr()
    assert run_fleet(request(entries, tmp_path / "out", jobs=3)) == 0
    again = capsys.readouterr()
    assert again.out.splitlines()[1:] == first.out.splitlines()[1:]
    assert again.err.startswith("2 of 2 operators were analysed before, as of 20")
    assert again.err.endswith(" UTC; --fresh analyses them again\n")
    assert run_fleet(request(entries, tmp_path / "out", fresh=True)) == 0
    assert capsys.readouterr().err == ""
    assert [(name, jobs, len(engine.asked)) for name, jobs, engine in engines] == [
        ("local", 3, 2),
        ("local", 3, 0),
        ("local", None, 2),
    ]


@pytest.mark.parametrize(
    ("texts", "fail_on", "code"),
    [
        ((CALM,), None, 0),
        ((CALM, SATURATED), None, 0),
        ((CALM, SATURATED), "warning", 1),
        ((CALM, SATURATED), "critical", 1),
        ((CALM,), "warning", 0),
        ((CALM, "facts: none"), "critical", 0),
        (("facts: none", "facts: none"), None, 3),
        (("facts: none",), "critical", 3),
    ],
)
def test_exit_codes(texts: tuple[str, ...], fail_on: str | None, code: int, tmp_path: Path) -> None:
    """A failed operator is no reason to fail as long as one was analysed; --fail-on looks at all of them."""
    entries = tuple(facts(tmp_path, f"op-{index}", text) for index, text in enumerate(texts))
    assert run_fleet(request(entries, tmp_path / "out", fail_on=fail_on)) == code


def test_ctrl_c_shows_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The summary so far, how to go on, and the exit code of an interruption."""
    monkeypatch.setattr("advisor.cli.fleetcommand.engine_named", lambda *_, **__: Here(after=1))
    assert run_fleet(request(fleet_of(tmp_path), tmp_path / "out")) == 130
    printed = capsys.readouterr()
    assert printed.err == "interrupted: 1 of 4 operators are finished; the same command goes on from there\n"
    assert "Interrupted: 1 of 4 operators are finished" in printed.out
    assert "needier" in printed.out
    assert "calm" not in printed.out


_PROGRAM = """
import sys
from pathlib import Path
from advisor.analysis import Options
from advisor.cli.fleetcommand import FleetRequest, run_fleet
from advisor.cli.fleetoptions import FleetOptions
from advisor.cli import progress
from advisor.sources.fleetfile import read_fleet
progress._PATIENCE_SECONDS = 0.0
file, folder = Path(sys.argv[1]), Path(sys.argv[2])
sys.exit(run_fleet(FleetRequest(read_fleet(file), folder, "text", Options(), FleetOptions(file, jobs=2))))
"""


def hanging_fleet(folder: Path) -> Path:
    """A fleet file whose second and third operator wait for somebody to write into a pipe."""
    facts(folder, "calm", CALM)
    for name in ("two", "three"):
        os.mkfifo(folder / f"{name}.facts.yaml")
    path = folder / "fleet.yaml"
    lines = "".join(f"- {{name: {name}, facts: {name}.facts.yaml}}\n" for name in ("calm", "two", "three"))
    path.write_text(f"operators:\n{lines}", encoding="utf-8")
    return path


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait some seconds for something to hold."""
    deadline = time.monotonic() + 40.0
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_that_is_interrupted_goes_on(tmp_path: Path) -> None:
    """Ctrl-C in the middle: workers end, what is finished stays; the same command does the rest and nothing else."""
    file, out = hanging_fleet(tmp_path), tmp_path / "out"
    command = [sys.executable, "-c", _PROGRAM, str(file), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen(command, **pipes) as process:
        wait_until((out / "calm.json").is_file)
        # Its line is in memory shortly after its report is on disk.
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "interrupted: 1 of 3 operators are finished; the same command goes on from there\n"
    assert "calm" in printed
    report = (out / "calm.json").stat().st_mtime_ns
    assert json.loads((out / "fleet.json").read_text(encoding="utf-8"))["left"] == ["two", "three"]
    for name in ("two", "three"):
        (tmp_path / f"{name}.facts.yaml").unlink()
        facts(tmp_path, name, SATURATED)
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr.startswith("1 of 3 operators were analysed before, as of ")
    assert done.stdout.splitlines()[0].endswith(": 2 critical, 1 info")
    assert (out / "calm.json").stat().st_mtime_ns == report


def test_a_terminal_shows_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Done, failed and left, while it takes a while; one line is left of it after Ctrl-C."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    file, out = hanging_fleet(tmp_path), tmp_path / "out"
    script = f"import sys; sys.argv = ['-c', {str(file)!r}, {str(out)!r}]{_PROGRAM}"
    with on_a_terminal(script) as (process, terminal):
        shown = b""
        while b"operators: 1 done, 0 failed, 2 left" not in shown:
            shown += os.read(terminal, 65536)
        process.send_signal(signal.SIGINT)
        rest = everything(terminal)
        assert process.wait() == 130
    assert "interrupted: 1 of 3 operators are finished" in rest
    assert "Traceback" not in rest
