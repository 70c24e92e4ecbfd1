"""An operator in a real Prometheus gets the report that it gets from the recording that the Prometheus was made from."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse, load_source, override, report_of
from advisor.model.report import Report
from advisor.signals.names import SELECTION
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operator
from advisor.sources.prometheus.plan import Span
from advisor.sources.prometheus.source import PrometheusSource
from advisor.sources.recording import RecordingSource
from tests.prometheusserver.server import served
from tests.prometheusserver.tools import TOOLS, Tool, find_or_leave_out

LOOK_BACK = "--query.lookback-delta=2100ms"
"""Imported blocks have no mark where a series ends, as a scrape would have left; one interval stands in for it."""
UNSIMULATED = override(Options(), ("policy.most_simulated_pods=0",))
TOLERANCE = 0.02
AT_SCRAPES_ONLY = ("demand.unready_cluster_seconds", "demand.unready_clusters_peak")
"""A cluster is counted twice in the one interval in which its old condition still answers."""


@pytest.fixture(params=sorted(TOOLS), scope="module")
def tool(request: pytest.FixtureRequest) -> Tool:
    """Each Prometheus that this machine has."""
    return find_or_leave_out(request.param)


@contextmanager
def source_of(tool: Tool, recording: Path, margin: float = 5.0) -> Iterator[PrometheusSource]:
    """The recording's operator in a Prometheus of its own."""
    setup = json.loads((recording / "setup.json").read_text(encoding="utf-8"))
    span = Span(setup["start"] - margin, setup["end"] + margin)
    with served(tool, recording, flags=[LOOK_BACK]) as address, PrometheusClient(address) as client:
        yield PrometheusSource(client, find_operator(client, Where(), span), span)


def metrics_only(recording: Path, folder: Path) -> Path:
    """The recording without what a Prometheus does not have."""
    folder.mkdir()
    for name in ("metrics.om.gz", "setup.json"):
        shutil.copy(recording / name, folder)
    return folder


def differences(found: Report, wanted: Report) -> list[str]:
    """What is said differently."""
    wrong = []
    if [one.code for one in found.findings] != [one.code for one in wanted.findings]:
        wrong.append(f"findings {[one.code.value for one in found.findings]}")
    wrong += [
        f"{name}: {knob.direction} {knob.value}"
        for (name, knob), (_, other) in zip(found.advice.knobs(), wanted.advice.knobs(), strict=True)
        if (knob.direction, knob.value) != (other.direction, other.value)
    ]
    wrong += [f"only one has {name}" for name in sorted(found.figures.keys() ^ wanted.figures.keys())]
    for name in found.figures.keys() & wanted.figures.keys():
        value, other_value = found.figures[name].value, wanted.figures[name].value
        if abs(value - other_value) > TOLERANCE * abs(other_value) + 1e-9 and name not in AT_SCRAPES_ONLY:
            wrong.append(f"{name}: {value} instead of {other_value}")
    return wrong


def compared(tool: Tool, recording: Path, folder: Path) -> list[str]:
    """What is said differently of a recording once it is in a Prometheus."""
    told = RecordingSource(recording).setup()
    with source_of(tool, recording) as source:
        found = report_of(load_source(source, told=told), UNSIMULATED)
    wanted = analyse(RecordingSource(metrics_only(recording, folder / recording.name)), UNSIMULATED)
    return [f"{recording.name}: {one}" for one in differences(found, wanted)]


@pytest.mark.parametrize("name", ["throttled-one-worker", "standby-replica", "hot-key-big-scale-up"])
def test_findings_and_figures_are_those_of_the_recording(tool: Tool, data: Path, tmp_path: Path, name: str) -> None:
    """Findings in order, advice with its numbers, and every figure within two per cent."""
    assert compared(tool, data / "recordings" / name, tmp_path) == []


@pytest.mark.timeout(400)
def test_they_are_for_every_recording(tool: Tool, shared: Path, tmp_path: Path) -> None:
    """All recordings of a real operator, each in a Prometheus of its own."""
    folders = sorted(path.parent for path in (shared / "recordings").glob("*/metrics.om.gz"))
    wrong = [one for folder in folders for one in compared(tool, folder, tmp_path)]
    assert wrong == []


def test_little_is_asked(tool: Tool, data: Path) -> None:
    """One operator costs at most a dozen requests, none of which fails."""
    setup = json.loads((data / "recordings" / "throttled-one-worker" / "setup.json").read_text(encoding="utf-8"))
    span = Span(setup["start"], setup["end"])
    with served(tool, data / "recordings" / "throttled-one-worker") as address, PrometheusClient(address) as client:
        PrometheusSource(client, find_operator(client, Where(), span), span).series(SELECTION)
        assert len(client.costs) <= 12
        assert client.warnings == ()
