"""What is stated on the command line about the operator."""

import json
from pathlib import Path

import pytest

from tests.support import ROOT, run

SAMPLES = ROOT / "advisor" / "examples" / "saturated-one-worker" / "metrics.om.gz"


def test_stated_arguments_fill_what_no_metric_tells(capsys: pytest.CaptureFixture[str]) -> None:
    """QPS and Burst are in no series; once stated they are known, and the patches start from them."""
    told = ("--version", "1.7.0", "--args", "--qps=37 --burst '74'")
    assert run("analyze", "--recording", str(SAMPLES), "--output", "json", *told) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["qps"]["value"], settings["burst"]["value"]) == (37.0, 74.0)
    assert (settings["version"], settings["version_inferred"]) == ("1.7.0", False)


def test_what_is_stated_goes_before_what_the_recording_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever states something knows better than a file that came along; what is not stated stays."""
    assert run("analyze", "--recording", str(SAMPLES.parent), "--output", "json", "--args", "--qps=37") == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["qps"]["value"], settings["version"]) == (37.0, "1.7.0")


@pytest.mark.parametrize("option", [("--version", "1.7.0"), ("--args", "--qps=5")])
def test_facts_say_themselves_what_they_know(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a facts file the options would be ignored, so they are refused."""
    facts = tmp_path / "a.facts.yaml"
    facts.write_text("operator: {name: kuberay}\n", encoding="utf-8")
    assert run("analyze", "--facts", str(facts), *option) == 2
    assert "facts say such themselves" in capsys.readouterr().err
