"""Running one scenario: from an empty cluster to a recording, made by the product's own ``record``."""

import contextlib
import gzip
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.lab.binaries import versions
from tests.lab.laboratory import Laboratory
from tests.lab.load import make_existing, take_step
from tests.lab.measured import measure
from tests.lab.objectlog import ObjectLog
from tests.lab.operator import VERSIONS, Operator
from tests.lab.processes import LabError, wait_until
from tests.lab.scenario import Faults, OperatorSettings, Scenario

__all__ = ["run_scenario"]

PROGRAM: Final = (sys.executable, "-c", "from advisor.cli import main; main()")
_MAKER: Final = OperatorSettings(concurrency=16, qps=-1.0, burst=1)
"""The operator that makes what exists before."""
_LONGEST_SECONDS: Final = 3600


@dataclass(slots=True)
class _Phases:
    """Named spans of the run, each from its start to the next one's."""

    started: list[tuple[str, float]] = field(default_factory=list)

    def begin(self, name: str) -> float:
        """Begin a phase now."""
        now = time.time()
        self.started.append((name, now))
        return now

    def spans(self, end: float) -> list[dict[str, Any]]:
        """All phases."""
        ends = [start for _, start in self.started[1:]] + [end]
        return [
            {"name": name, "start": round(start, 3), "end": round(till, 3)}
            for (name, start), till in zip(self.started, ends, strict=True)
        ]


def run_scenario(lab: Laboratory, scenario: Scenario, out: Path) -> dict[str, Any]:
    """Run a scenario and leave a recording in ``out``, with the measured figures and the verdict to be expected.

    Returns:
        What was measured.

    Raises:
        LabError: a part of the lab fails; the cluster is emptied all the same.
        ScenarioError: this machine cannot run it.
    """
    if out.exists():
        shutil.rmtree(out)
    try:
        with _paused(lab, scenario):
            return _run(lab, scenario, out)
    finally:
        # The next scenario needs an empty cluster, whatever else fails.
        with contextlib.ExitStack() as afterwards:
            afterwards.callback(lab.cluster.wipe)
            afterwards.callback(lab.plane.set_faults, Faults())
            lab.stop_operators()


@contextlib.contextmanager
def _paused(lab: Laboratory, scenario: Scenario) -> Iterator[None]:
    for part in scenario.paused:
        lab.plane.processes.do(part, "pause")
    try:
        yield
    finally:
        for part in scenario.paused:
            lab.plane.processes.do(part, "resume")


def _run(lab: Laboratory, scenario: Scenario, out: Path) -> dict[str, Any]:
    if scenario.existing is not None:
        lab.start_operator(_MAKER)
        make_existing(lab, scenario.existing)
        lab.stop_operators()
    lab.plane.set_faults(scenario.faults)
    operator = lab.start_operator(scenario.operator)
    phases = _Phases()
    with _recorded(lab, scenario, operator, out):
        phases.begin("before")
        time.sleep(scenario.before_seconds)
        load_start = phases.begin("load")
        for step in scenario.load:
            take_step(lab, step)
        phases.begin("after")
        time.sleep(scenario.after_seconds)
    return _complete(lab, scenario, phases, load_start, out)


@contextlib.contextmanager
def _recorded(lab: Laboratory, scenario: Scenario, operator: Operator, out: Path) -> Iterator[None]:
    """While this lasts, the product records, and the lab follows the objects."""
    objects_path = lab.folder / "objects.jsonl"
    objects = ObjectLog(lab.cluster, objects_path)
    command = [
        *(*PROGRAM, "record", "--out", str(out)),
        *("--scrape", operator.metrics, "--scrape", lab.container_address()),
        *("--interval", f"{scenario.interval_seconds:g}s", "--for", f"{_LONGEST_SECONDS}s"),
        *("--log", str(operator.log), "--objects", str(objects_path)),
        *("--version", VERSIONS[scenario.operator.build], "--args", shlex.join(operator.args)),
    ]
    recorder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until("the recorder", (out / "setup.json").is_file, 30.0, pause=0.05)
        yield
        recorder.send_signal(signal.SIGINT)
        said, _ = recorder.communicate(timeout=120.0)
        if recorder.returncode:
            raise LabError(f"record ended with {recorder.returncode}: {said.strip()}")
    finally:
        objects.stop()
        recorder.kill()
        recorder.communicate()


def _complete(lab: Laboratory, scenario: Scenario, phases: _Phases, load_start: float, out: Path) -> dict[str, Any]:
    """Add to the recording what the product does not know: the verbose log, what was done, what is right."""
    setup = json.loads((out / "setup.json").read_text(encoding="utf-8"))
    measured = measure(out, load_start, setup["end"])
    if scenario.operator.log_level is not None:
        printed = lab.plane.processes.get("operator").log
        with printed.open("rb") as source, gzip.open(out / "operator.stdout.log.gz", "wb") as target:
            shutil.copyfileobj(source, target)
    setup |= {
        "operator": "kuberay",
        "control_plane": ", ".join(f"{name} {version}" for name, version in versions()),
        "description": scenario.description,
        "injected": scenario.injected,
        "phases": phases.spans(setup["end"]),
    }
    expected = {} if scenario.expected is None else msgspec.to_builtins(scenario.expected)
    _write(out / "setup.json", setup)
    _write(out / "expected.json", {"measured": measured, **expected})
    return measured


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
