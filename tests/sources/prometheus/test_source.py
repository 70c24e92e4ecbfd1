"""An operator in a real Prometheus gets the report that it gets from the recording that was put into it."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse, load_source, override, report_of
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.signals.names import SELECTION
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operator
from advisor.sources.prometheus.source import PrometheusSource
from advisor.sources.recording import RecordingSource
from tests.prometheusserver.server import create_tsdb, running, served
from tests.prometheusserver.synthetic import Week
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
    span = Window(setup["start"] - margin, setup["end"] + margin)
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


@pytest.mark.timeout(400)
def test_days_are_read_coarsely_and_bursts_as_scraped(tool: Tool, tmp_path: Path) -> None:
    """Two days: every burst is a load, the worst is the verdict, restarts and the gap are seen, and it is said how."""
    days = Week(days=2, step=60.0)
    create_tsdb(tool, days.texts(), tmp_path / "tsdb")
    with running(tool, tmp_path / "tsdb") as address, PrometheusClient(address) as client:
        span = Window(days.start, days.end)
        source = PrometheusSource(client, find_operator(client, Where(), span), span)
        loaded = load_source(source)
        report = report_of(loaded, UNSIMULATED)
        assert len(client.costs) <= 12
    assert report.findings[0].code == "workers-saturated"
    loads = [one.episode.window for one in report.episodes if one.episode.kind != "quiet"]
    for burst in days.bursts:
        assert any(window.start < burst.end and burst.start < window.end for window in loads), burst
    said = [note.message for note in report.source.notes]
    assert any("stretches where most happened as scraped" in message for message in said)
    assert any(message.startswith("no samples for") for message in said)
    assert "controllers.raycluster.reconcile_seconds_p99" in report.figures


def test_little_is_asked(tool: Tool, data: Path) -> None:
    """One operator costs at most a dozen requests, none of which fails."""
    setup = json.loads((data / "recordings" / "throttled-one-worker" / "setup.json").read_text(encoding="utf-8"))
    span = Window(setup["start"], setup["end"])
    with served(tool, data / "recordings" / "throttled-one-worker") as address, PrometheusClient(address) as client:
        PrometheusSource(client, find_operator(client, Where(), span), span).series(SELECTION)
        assert len(client.costs) <= 12
        assert client.warnings == ()


def test_the_api_servers_own_word_is_heard(tool: Tool, data: Path, tmp_path: Path) -> None:
    """Where the store scrapes the API server too, its time for writes of Ray's kinds and its 429 are figures."""
    recording = data / "recordings" / "throttled-one-worker"
    setup = json.loads((recording / "setup.json").read_text(encoding="utf-8"))
    start, end = setup["start"], setup["end"]
    labels = 'verb="POST",resource="pods",instance="api:6443",job="apiserver"'
    other = labels.replace("pods", "secrets")
    lines = []
    for name, of, per_second in (
        ("apiserver_request_duration_seconds_count", labels, 10.0),
        ("apiserver_request_duration_seconds_count", other, 10.0),
        ("apiserver_request_duration_seconds_sum", labels, 0.5),
        ("apiserver_request_duration_seconds_sum", other, 50.0),
        ("apiserver_request_total", 'code="429",verb="POST",instance="api:6443",job="apiserver"', 2.0),
    ):
        times = [start + 2.0 * number for number in range(int((end - start) / 2.0) + 1)]
        lines += [f"{name}{{{of}}} {per_second * (time - start)} {time}" for time in times]
    server = tmp_path / "apiserver.om"
    server.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    span = Window(start - 5.0, end + 5.0)
    with (
        served(tool, [recording, server], flags=[LOOK_BACK]) as address,
        PrometheusClient(address) as client,
    ):
        source = PrometheusSource(client, find_operator(client, Where(), span), span)
        report = report_of(load_source(source), UNSIMULATED)
    assert report.figures["api_server.write_seconds_mean"].value == pytest.approx(0.05, rel=0.02)
    assert report.figures["api_server.rejected_per_second"].value == pytest.approx(2.0, rel=0.1)


def test_another_pace_and_an_old_end_are_said(tool: Tool, tmp_path: Path) -> None:
    """A scrape interval that changed within the range, and a range that ends long after the last sample."""
    labels = '{controller="raycluster",job="op",namespace="ray",instance="a"}'
    own = '{job="op",namespace="ray",instance="a"}'
    start = 1_796_000_000.0
    times = [start + 60.0 * number for number in range(30)] + [start + 1800.0 + 15.0 * number for number in range(40)]
    lines = [f"controller_runtime_max_concurrent_reconciles{labels} 1 {time}" for time in times]
    lines += [f"process_start_time_seconds{own} {start - 100.0} {time}" for time in times]
    (tmp_path / "changed.om").write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    span = Window(start - 1.0, times[-1] + 600.0)
    with served(tool, tmp_path / "changed.om") as address, PrometheusClient(address) as client:
        source = PrometheusSource(client, find_operator(client, Where(), span), span)
        source.series(SELECTION)
    assert [note.message for note in source.notes] == [
        "the last sample is 600 s older than the end of the range",
        f"one sample in 60 s around {start:.0f}, and in 15 s at the end",
    ]
