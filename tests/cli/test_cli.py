import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import advisor
from advisor.cli import entry
from advisor.diagnosis.findings import RULES
from advisor.knowledge import METRICS
from advisor.report.pages import render_page
from tests.support import ROOT, Golden, run

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"


def command(args: Sequence[str]) -> list[str]:
    """The command line that starts the program as a process of its own."""
    return [sys.executable, "-c", "from advisor.cli import main; main()", *args]


def test_analyze_prints_the_report(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """In a pipe the report comes plain, whole, on standard output; standard error stays empty."""
    assert run("analyze", "--recording", str(EXAMPLE)) == 0
    printed = capsys.readouterr()
    golden.check("report/saturated-one-worker.txt", printed.out)
    assert printed.err == ""


def test_verbose_adds_origins(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """--verbose shows where each figure comes from."""
    assert run("analyze", "--recording", str(EXAMPLE), "--verbose") == 0
    golden.check("report/saturated-one-worker-verbose.txt", capsys.readouterr().out)


def test_json_output(capsys: pytest.CaptureFixture[str]) -> None:
    """--output json prints one JSON document and nothing else."""
    assert run("analyze", "--recording", str(EXAMPLE), "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "kuberay-advisor/report/v1"
    assert document["findings"][0]["code"] == "workers-saturated"


def test_settings_reach_the_analysis(capsys: pytest.CaptureFixture[str]) -> None:
    """--set changes a bound of the advice."""
    assert run("analyze", "--recording", str(EXAMPLE), "--output", "json", "--set", "policy.largest_step=3") == 0
    assert json.loads(capsys.readouterr().out)["advice"]["concurrency"]["value"] == 3


@pytest.mark.parametrize(
    ("args", "code", "error"),
    [
        (("analyze", "--recording", "/no/such/folder"), 3, "error: /no/such/folder: no such file or folder\n"),
        (("analyze",), 2, "Give one input: --prometheus URL, --scrape URL, --sidecar URL, --recording PATH or --facts"),
        (("analyze", "--recording", str(EXAMPLE), "--set", "a.b=1"), 2, "error: --set a.b=1: there is no section 'a'"),
        (("explain", "nothing"), 2, "error: explain: there is no finding 'nothing'\nhint: known are api-server-slow"),
        (("metrics", "nothing"), 2, "error: metrics: 'nothing' is not in the catalogue\n"),
        (("nothing",), 2, "No such command 'nothing'"),
    ],
)
def test_errors_say_what_where_and_what_to_do(
    args: tuple[str, ...], code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error goes to standard error with a documented exit code; standard output stays empty."""
    assert run(*args) == code
    printed = capsys.readouterr()
    assert error in printed.err
    assert printed.out == ""


def test_an_empty_recording_has_its_own_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Samples of no operator end with 4 and a hint."""
    path = tmp_path / "other.om"
    path.write_text("a 1 1\na 1 2\n# EOF\n", encoding="utf-8")
    assert run("analyze", "--recording", str(path)) == 4
    assert "hint: record the operator's own /metrics" in capsys.readouterr().err


def test_a_cut_off_file_is_analysed_as_far_as_it_goes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What could be read of a truncated file is used, and the report says what was skipped."""
    shutil.copytree(EXAMPLE, tmp_path / "cut")
    metrics = tmp_path / "cut" / "metrics.om.gz"
    metrics.write_bytes(metrics.read_bytes()[:-2000])
    assert run("analyze", "--recording", str(tmp_path / "cut")) == 0
    out = capsys.readouterr().out
    assert "workers-saturated" in out
    assert "Skipped while reading\n  - metrics.om.gz: cut off after line" in out


def test_explain_lists_all_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a code, each finding has one line with its title."""
    assert run("explain") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [[rule.code.value, rule.title] for rule in RULES]


def test_explain_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    """With a code, the page comes as Markdown in a pipe."""
    assert run("explain", "hot-key") == 0
    (rule,) = (one for one in RULES if one.code == "hot-key")
    assert capsys.readouterr().out == render_page(rule)


def test_metrics_lists_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a name, each metric has one line."""
    assert run("metrics") == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [metric.name for metric in METRICS]


def test_metrics_shows_one(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """A name, also with a histogram's suffix, shows what the metric means and does not mean."""
    assert run("metrics", "workqueue_queue_duration_seconds_bucket") == 0
    golden.check("cli/metric.txt", capsys.readouterr().out)


def test_metrics_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """--output json gives a list of metrics."""
    assert run("metrics", "workqueue_depth", "--output", "json") == 0
    (metric,) = json.loads(capsys.readouterr().out)
    assert metric["name"] == "workqueue_depth"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """--version names program and version."""
    assert run("--version") == 0
    assert capsys.readouterr().out == f"kuberay-advisor, version {advisor.__version__}\n"


def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C leaves one word and the usual exit code."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("advisor.cli.analyze.report_of", interrupted)
    assert run("analyze", "--recording", str(EXAMPLE)) == entry.INTERRUPTED == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_a_reader_that_leaves_is_no_error() -> None:
    """When the pipe's reader goes away (head), nothing is printed about it."""
    shell = " ".join(f"'{part}'" for part in command(["analyze", "--recording", str(EXAMPLE), "--output", "json"]))
    result = subprocess.run(
        ["bash", "-c", f"{shell} | true; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True, check=False
    )
    assert result.stderr == ""
    assert result.returncode in (0, entry.READER_LEFT)


def on_a_terminal(args: Sequence[str], **environment: str) -> str:
    """What the program prints when its standard output is a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        command(args), stdout=child, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(child)
    printed = b""
    # Reading fails once the program has gone and everything was read.
    with contextlib.suppress(OSError):
        while chunk := os.read(parent, 65536):
            printed += chunk
    os.close(parent)
    assert process.wait() == 0
    return printed.decode()


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_terminals_get_colour_unless_refused(*, environment: dict[str, str], coloured: bool) -> None:
    """On a terminal the report is coloured; NO_COLOR turns that off."""
    printed = on_a_terminal(["analyze", "--recording", str(EXAMPLE)], **environment)
    assert "workers-saturated" in printed
    assert ("\x1b[1;31m" in printed) == coloured


def test_explain_is_rendered_on_a_terminal() -> None:
    """On a terminal the page is laid out, not shown as Markdown source."""
    printed = on_a_terminal(["explain", "hot-key"])
    assert "hot-key" in printed
    assert "## When it is found" not in printed
