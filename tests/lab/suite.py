"""Suites of scenarios: each run analysed with the product and held against the verdict that is to be expected."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from advisor.analysis import Options, analyse
from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Outcome, PredictionCheck, PredictionResult
from advisor.model.report import Report
from advisor.sources.recording import RecordingSource
from tests.lab.laboratory import Laboratory
from tests.lab.processes import LabError
from tests.lab.runner import run_scenario
from tests.lab.scenario import Scenario, load_scenario
from tests.verdicts import Answer

__all__ = [
    "ADVISED",
    "LOOP",
    "SUITE",
    "Loop",
    "Run",
    "Spread",
    "closed_loop",
    "held_against",
    "read_runs",
    "run_one",
    "spreads",
]

SUITE: Final = (
    "saturated-one-worker",
    "throttled-client",
    "hot-key-annotation-writer",
    "api-server-slow",
    "errors-quota-refused",
    "restart-resync",
)
"""What ``make lab-test`` runs beside the closed loop. A part of the product that needs another adds it here."""
ADVISED: Final = "saturated-one-worker-advised"
"""The load of ``LOOP`` again, under the concurrency advised on it."""
LOOP: Final = "saturated-one-worker"


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a scenario, and what the product says about it."""

    scenario: str
    folder: Path
    measured: dict[str, Any]
    report: Report
    faults: tuple[str, ...]
    """What is wrong about the report; empty where it is right or where nothing is expected."""

    @property
    def workers(self) -> int:
        """The concurrency that it ran with."""
        return round(self.report.settings.concurrency.value or 0)

    @property
    def wait(self) -> float:
        """Seconds that a key waited, in the mean of the load."""
        return float(self.measured["raycluster"]["queue_wait_seconds_mean"])

    @property
    def finding(self) -> str:
        """The code that comes first."""
        return self.report.findings[0].code.value

    @property
    def advice(self) -> str:
        """The directions of concurrency, QPS and burst."""
        return ", ".join(f"{name} {knob.direction.value}" for name, knob in self.report.advice.knobs()[:3])


@dataclass(frozen=True, slots=True)
class Spread:
    """How far equal runs agree in one quantity (seconds)."""

    scenario: str
    quantity: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the runs."""
        return statistics.fmean(self.values)

    @property
    def relative(self) -> float:
        """From the least to the greatest, as a share of the mean."""
        return (max(self.values) - min(self.values)) / self.mean if self.mean else 0.0


def run_one(
    lab: Laboratory, name: str, out: Path, say: Callable[[str], None], *, concurrency: int | None = None
) -> Run:
    """Run a scenario, with another concurrency if one is given, and analyse it."""
    scenario = load_scenario(name)
    if concurrency is not None:
        scenario = _with_concurrency(scenario, concurrency)
    say(f"{name}: {scenario.description}")
    measured = run_scenario(lab, scenario, out)
    run = judge(name, scenario, out, measured)
    say(f"{name}: {run.finding}; {run.advice}; {'; '.join(run.faults) or 'right'}")
    return run


def _with_concurrency(scenario: Scenario, concurrency: int) -> Scenario:
    operator = msgspec.structs.replace(scenario.operator, concurrency=concurrency)
    return msgspec.structs.replace(scenario, operator=operator, expected=None)


def judge(name: str, scenario: Scenario, folder: Path, measured: dict[str, Any]) -> Run:
    """What the product says about a recording, against what is expected of the scenario."""
    return held_against(None if scenario.expected is None else scenario.expected.answer(), name, folder, measured)


def held_against(answer: Answer | None, name: str, folder: Path, measured: dict[str, Any]) -> Run:
    """What the product says about a recording, against the right answer if there is one."""
    report = analyse(RecordingSource(folder), Options())
    return Run(name, folder, measured, report, () if answer is None else tuple(answer.faults(report)))


def spreads(runs: Sequence[Run]) -> list[Spread]:
    """Of each scenario with several runs, how far they agree."""
    found = []
    for name in dict.fromkeys(run.scenario for run in runs):
        equal = [run.measured for run in runs if run.scenario == name]
        for quantity, given in (
            ("makespan", [one.get("makespan_seconds") for one in equal]),
            ("mean queue wait", [one.get("raycluster", {}).get("queue_wait_seconds_mean") for one in equal]),
        ):
            values = tuple(value for value in given if value is not None)
            if len(values) > 1:
                found.append(Spread(name, quantity, values))
    return found


def closed_loop(lab: Laboratory, out: Path, say: Callable[[str], None]) -> list[str]:
    """Set the concurrency that is advised on a saturated operator, run the same load again, and compare.

    Returns:
        What did not come as it should; empty where the wait fell, into the interval that was predicted.

    Raises:
        LabError: there is no run to begin with, or a part of the lab fails.
    """
    if not _is_whole(out / LOOP):
        raise LabError(f"{LOOP} left no recording in {out}")
    before = _read_run(out / LOOP)
    advised = before.report.advice.concurrency.value
    if advised is None:
        return [f"no concurrency is advised; {before.report.advice.concurrency.reason}"]
    after = run_one(lab, LOOP, out / ADVISED, say, concurrency=round(advised))
    loop = Loop.of(before, after)
    say(f"{ADVISED}: {loop.text}")
    return loop.faults


@dataclass(frozen=True, slots=True)
class Loop:
    """A change that was advised, and what came of it (seconds)."""

    workers_before: int
    workers_after: int
    wait_before: float
    wait_after: float
    check: PredictionCheck
    outcome: Outcome

    @classmethod
    def of(cls, before: Run, after: Run) -> "Loop":
        """From both runs."""
        comparison = compare(before.report, after.report, ComparisonRules())
        check = next(one for one in comparison.predictions if one.quantity == "queue_wait_seconds_mean")
        return cls(before.workers, after.workers, before.wait, after.wait, check, comparison.outcome)

    @property
    def text(self) -> str:
        """One line."""
        return (
            f"{self.workers_before} -> {self.workers_after} workers: {self.outcome.value}; mean wait "
            f"{self.wait_before:.2f} -> {self.wait_after:.2f} s in the load; predicted {self.check.then:.2f} "
            f"({self.check.low:.2f} to {self.check.high:.2f}) s, "
            f"measured {self.check.measured} s: {self.check.result.value}"
        )

    @property
    def faults(self) -> list[str]:
        """What did not come as it should."""
        found = []
        if self.outcome is not Outcome.BETTER:
            found.append(f"the comparison says {self.outcome.value}, not better")
        if self.check.result is not PredictionResult.INSIDE:
            found.append(f"the wait was predicted as {self.check.low:.2f} to {self.check.high:.2f} s; {self.text}")
        if self.wait_after >= self.wait_before:
            found.append(f"the wait did not fall; {self.text}")
        return found


def read_runs(out: Path) -> list[Run]:
    """All runs of earlier calls, analysed anew: ``out/run-N/SCENARIO`` each."""
    return [_read_run(folder) for folder in sorted(out.glob("run-*/*")) if _is_whole(folder)]


def _is_whole(folder: Path) -> bool:
    """Whether a run came to its end: what was measured is written last."""
    return (folder / "expected.json").is_file()


def _read_run(folder: Path) -> Run:
    """A run of an earlier call; of that under the advised settings no verdict is expected."""
    measured = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["measured"]
    if folder.name == ADVISED:
        return held_against(None, ADVISED, folder, measured)
    return judge(folder.name, load_scenario(folder.name), folder, measured)
