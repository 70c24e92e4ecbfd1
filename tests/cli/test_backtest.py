import json
import shutil
from pathlib import Path

import pytest

from tests.support import ROOT, run

EXAMPLE = str(ROOT / "advisor" / "examples" / "saturated-one-worker")


def test_json_has_one_row_for_each_quantity(capsys: pytest.CaptureFixture[str]) -> None:
    """A list of rows with exactly the published keys."""
    assert run("backtest", "--calibrate", EXAMPLE, EXAMPLE, "--draws", "2", "--output", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert [one["quantity"] for one in rows] == [
        "makespan_seconds",
        "ready_seconds_mean",
        "queue_wait_seconds_mean",
        "limiter_wait_seconds_mean",
    ]
    assert {tuple(one) for one in rows} == {
        ("recording", "quantity", "predicted", "low", "high", "measured", "relative_error")
    }
    assert {one["recording"] for one in rows} == {"saturated-one-worker"}


def test_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    """A table for a page."""
    assert run("backtest", "--calibrate", EXAMPLE, EXAMPLE, "--draws", "2", "--output", "markdown") == 0
    assert capsys.readouterr().out.startswith("| recording | quantity | predicted |")


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """A table and one sentence."""
    assert run("backtest", "--calibrate", EXAMPLE, EXAMPLE, "--draws", "2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["recording", "quantity", "predicted"]
    assert lines[-1].startswith("3 figures above noise: off by ")


def test_nothing_to_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that does not say what was asked for is named, with what to do."""
    shutil.copy(Path(EXAMPLE) / "metrics.om.gz", tmp_path)
    assert run("backtest", "--calibrate", EXAMPLE, str(tmp_path)) == 4
    error = capsys.readouterr().err
    assert f"{tmp_path.name}: nothing was created or scaled" in error
    assert "describe the load in a workload file" in error


def test_a_calibration_is_needed() -> None:
    """Without --calibrate there is nothing to predict from."""
    assert run("backtest", EXAMPLE) == 2
