import json
from pathlib import Path

import pytest

from advisor.report.jsonreport import render_json
from tests.analysis.reportsmade import AFTER, EXAMPLE, after_ten, example
from tests.support import Golden, run

FACTS = """
operator: {version: "1.7.0"}
"""


@pytest.fixture
def written(tmp_path: Path) -> tuple[str, str]:
    """The two reports of the worked example as analyze --output json writes them."""
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text(render_json(example()), encoding="utf-8")
    after.write_text(render_json(after_ten()), encoding="utf-8")
    return str(before), str(after)


def test_recordings_are_compared(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """Two folders give the comparison, plain in a pipe, on standard output alone, with exit code 0."""
    assert run("compare", str(EXAMPLE), str(AFTER)) == 0
    printed = capsys.readouterr()
    golden.check("comparison/worked-example.txt", printed.out)
    assert printed.err == ""


def test_reports_are_compared(written: tuple[str, str], capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """Reports that were written as JSON give the same, without the recordings."""
    assert run("compare", *written) == 0
    golden.check("comparison/worked-example.txt", capsys.readouterr().out)


def test_html(written: tuple[str, str], capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """A file for a browser."""
    assert run("compare", *written, "--output", "html") == 0
    golden.check("comparison/worked-example.html", capsys.readouterr().out)


def test_inputs_may_be_of_different_kinds(
    written: tuple[str, str], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """A report before and a recording after are compared alike."""
    assert run("compare", written[0], str(AFTER), "--verbose") == 0
    golden.check("comparison/worked-example-verbose.txt", capsys.readouterr().out)


def test_a_metrics_file_alone_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """Without an object timeline, reconciles stand for the load, and ready times are not known."""
    assert run("compare", str(EXAMPLE / "metrics.om.gz"), str(AFTER / "metrics.om.gz")) == 0
    printed = capsys.readouterr().out
    assert "It got better: wait in the queue per reconcile fell from 9.1 s to 1.89 s" in printed


def test_a_facts_file_is_an_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A facts file is read as such; with hardly a fact in it, nothing can be compared."""
    facts = tmp_path / "before.yaml"
    facts.write_text(FACTS, encoding="utf-8")
    assert run("compare", str(facts), str(AFTER)) == 0
    assert "The two cannot be compared" in capsys.readouterr().out


def test_json_output(capsys: pytest.CaptureFixture[str]) -> None:
    """--output json prints one document and nothing else."""
    assert run("compare", str(EXAMPLE), str(AFTER), "--output", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["outcome"]) == ("kuberay-advisor/comparison/v1", "better")


def test_markdown_output(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    """--output markdown prints what a pull request can take."""
    assert run("compare", str(EXAMPLE), str(AFTER), "--output", "markdown") == 0
    golden.check("comparison/worked-example.md", capsys.readouterr().out)


@pytest.mark.parametrize(("swapped", "code"), [(False, 0), (True, 1)])
def test_fail_on_worse(written: tuple[str, str], *, swapped: bool, code: int) -> None:
    """--fail-on-worse gives exit code 1 for worse, and 0 for better; without it worse is 0 as well."""
    sides = written[::-1] if swapped else written
    assert run("compare", *sides, "--fail-on-worse") == code
    assert run("compare", *sides) == 0


def test_settings_reach_the_comparison(written: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """--set changes the tolerance: with a huge one nothing is a change."""
    assert run("compare", *written, "--output", "json", "--set", "comparison.tolerance=100") == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "no clear change"


@pytest.mark.parametrize(
    ("content", "code", "error"),
    [
        (None, 3, "no such file or directory\nhint: check the path"),
        ("{}", 3, "this is no report: Object missing required field"),
        ("no json", 3, "this is no report: JSON is malformed"),
        ("[" * 100_000, 3, "this is no report"),
    ],
)
def test_a_report_that_cannot_be_read(
    content: str | None, code: int, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the file and what to do; standard output stays empty."""
    path = tmp_path / "before.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    assert run("compare", str(path), str(AFTER)) == code
    printed = capsys.readouterr()
    assert f"error: {path}: " in printed.err
    assert error in printed.err
    assert printed.out == ""


def test_a_report_without_findings_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A document that fits the schema and has no finding is no report of an analysis."""
    document = json.loads(render_json(example()))
    document["findings"] = []
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert run("compare", str(path), str(AFTER)) == 3
    assert "the report has no finding" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "code"), [((), 2), ((str(EXAMPLE),), 2), ((str(EXAMPLE), "/no/such/folder"), 3)], ids=str
)
def test_wrong_use_has_its_exit_codes(args: tuple[str, ...], code: int) -> None:
    """A side left out is wrong use; an input that does not exist cannot be read."""
    assert run("compare", *args) == code


def test_a_terminal_is_printed_to(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """On a terminal the comparison is coloured."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert run("compare", str(EXAMPLE), str(AFTER)) == 0
    assert "\x1b[1;32mIt got better" in capsys.readouterr().out
