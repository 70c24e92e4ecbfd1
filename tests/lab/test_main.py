import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.binaries import MODULES
from tests.lab.scenario import load_scenario, names
from tests.support import ROOT


def lab(cache: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The lab's command line, with programs from a folder."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "KUBERAY_LAB_CACHE": str(cache)}
    command = [sys.executable, "-m", "tests.lab", *args]
    return subprocess.run(command, cwd=cache, env=environ, capture_output=True, text=True, check=False)


def test_scenarios_are_listed(tmp_path: Path) -> None:
    """All of them, one a line, with what they are."""
    done = lab(tmp_path, "list")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
    assert lines == [[name, load_scenario(name).description] for name in names()]


def test_what_is_not_built_leaves_the_smoke_run_out(tmp_path: Path) -> None:
    """It says which programs, and that is no failure: `make test` works without them."""
    done = lab(tmp_path, "smoke")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("lab: left out, ")
    assert done.stdout.endswith(" not built; make lab-build builds everything\n")
    needed = {"faultproxy", "operator-priority", "operator-classic", "etcd", "kwok", "kube-apiserver"}
    told = {word.strip(",") for word in done.stdout.split()}
    assert needed <= told
    assert {"helm", "prometheus", "promtool"} & told == set()
    assert list(tmp_path.iterdir()) == []


def test_programs_that_no_scenario_needs_may_be_missing() -> None:
    """They are of modules of their own, so that a lab without them is whole."""
    extra = [set(module.programs) for module in MODULES if module.name in ("helm", "prometheus")]
    assert set.union(*extra) == {"helm", "prometheus", "promtool"}


def test_a_scenario_that_is_not_there(tmp_path: Path) -> None:
    """It is told before anything is started, also for others, with the names of those that are."""
    done = lab(tmp_path, "run", "smoke", "nosuch")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"lab: no scenario nosuch; there are: {', '.join(names())}\n"


def test_a_report_of_nothing(tmp_path: Path) -> None:
    """The tables of before stay."""
    document = ROOT / "docs" / "lab.md"
    before = document.read_bytes()
    done = lab(tmp_path, "report", "--out", "missing")
    assert done.returncode == 1
    assert done.stderr == "lab: no runs in missing; run: make lab-test\n"
    assert document.read_bytes() == before


def test_building_without_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is needed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    done = lab(tmp_path, "build")
    assert done.returncode == 1
    assert done.stderr.startswith("lab: there is no go on PATH; ")
    assert done.stderr.count("\n") == 1
