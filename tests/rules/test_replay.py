"""What fires over recordings of a real operator and over simulated hours, by a real Prometheus.

A few by default; ADVISOR_RULES_REPLAY=all plays all of them.
"""

import os
from pathlib import Path
from typing import Final

import pytest

from advisor.model.finding import Severity
from scripts.rules.sources import ALERTS
from tests.prometheusserver.tools import Tool, find_or_leave_out
from tests.rules.replayed import RECORDED_SCALE, WORKLOADS, expected, firings, has_sidecar, row, simulated
from tests.support import ROOT, find_shared

PAGE: Final = (ROOT / "docs" / "alerts.md").read_text(encoding="utf-8").splitlines()
ALL: Final = os.environ.get("ADVISOR_RULES_REPLAY") == "all"
SOME: Final = (
    "cpu-limited",
    "expectation-blocked",
    "healthy-steady",
    "hot-key-big-scale-up",
    "saturated-one-worker",
    "throttled-classic-queue",
)
NO_ALERT: Final = {
    "over-provisioned": "has none, by the table of findings",
    "restart-resync": "was recorded from the start of the new process on, so that no restart is seen",
    "verbose-log": "is loaded for less time than what holds for ten minutes needs",
}
"""Recordings with an expected finding of which no alert fires, and why."""
HOURS: Final = {
    "healthy-hour": set[str](),
    "hot-key-hour": {"KubeRayOneReconcileTakesLong"},
    "saturated-hour": {"KubeRayWorkersSaturated"},
    "starved-hour": {"KubeRayOperatorRestarted", "KubeRayLowPriorityStarved", "KubeRayLowPriorityWaits"},
    "throttled-hour": {"KubeRayClientThrottled"},
}
WITH_SIDECAR: Final = {"starved-hour"}


def recordings() -> list[str]:
    """Names of those to play."""
    if not ALL:
        return list(SOME)
    folder = find_shared(os.environ, ROOT) / "recordings"
    return sorted(one.name for one in folder.iterdir() if one.is_dir())


@pytest.fixture(scope="module")
def tool() -> Tool:
    """The machine's own."""
    return find_or_leave_out("system")


@pytest.mark.parametrize("name", recordings())
def test_a_recording_fires_what_is_the_matter(name: str, tool: Tool, shared: Path) -> None:
    """The alert of its expected finding, none of a finding that would be wrong, and what docs/alerts.md says."""
    folder = shared / "recordings" / name
    found = firings(tool, folder, RECORDED_SCALE, sidecar=has_sidecar(folder))
    answer = expected(folder)
    assert row(name, answer.get("primary", ""), found=found) in PAGE
    codes = {code.value for one in found for code in ALERTS[one.alert].findings}
    loud = {one.alert for one in found if ALERTS[one.alert].severity is not Severity.INFO}
    wrong = {alert for alert in loud for code in ALERTS[alert].findings if code.value in answer.get("must_not", ())}
    assert wrong == set()
    if name == "healthy-steady":
        assert found == []
    elif answer:
        assert bool(codes & {answer["primary"], *answer["also_accept"]}) != (name in NO_ALERT)


@pytest.mark.parametrize("name", sorted(HOURS))
def test_a_simulated_hour(name: str, tool: Tool) -> None:
    """The rules as they are, over an hour: those that are meant fire, and none that says something else."""
    with simulated(WORKLOADS / f"{name}.yaml") as folder:
        found = {one.alert for one in firings(tool, folder, 1.0, sidecar=name in WITH_SIDECAR)}
    assert found >= HOURS[name]
    # What else fires is muted by one that is meant, or is a plain consequence.
    others = {
        alert
        for alert in found - HOURS[name]
        if HOURS[name].isdisjoint(ALERTS[alert].inhibited_by) and alert != "KubeRayWorkersSaturated"
    }
    assert others == set()


def test_each_workload_is_played() -> None:
    """No file of the folder is forgotten, and each is on the page."""
    assert {path.stem for path in WORKLOADS.glob("*.yaml")} == set(HOURS)
    assert all(any(line.startswith(f"| `{name}` |") for line in PAGE) for name in HOURS)
