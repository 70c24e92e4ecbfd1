"""Every query of every panel, asked of a real Prometheus that holds a recording of a real operator.

With ADVISOR_DASHBOARDS=all every recording is played and docs/dashboards-data.md is written from it.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import pytest

from tests.dashboards.advisorseries import write_history
from tests.dashboards.panels import FOLDER, filled, panels, queries
from tests.dashboards.ranges import INTERVAL, LOOKBACK, RANGE, ranged
from tests.prometheusserver.fixtures import PrometheusOf
from tests.prometheusserver.server import served
from tests.prometheusserver.tools import system_tool
from tests.support import ROOT

NATIVE: Final = "operator-overview: Queue wait [2]"
WITHOUT_DATA: Final = {
    NATIVE: "native histograms are in no recording: OpenMetrics text does not hold them",
    "operator-overview: Memory [2]": "no recorded operator had a memory limit",
}
"""Queries that no recording can answer, and why."""
WITH_SIDECAR: Final = ("after-ten-workers", "hot-key-big-scale-up", "restart-resync")
OPERATOR_ALONE: Final = ("api-server-overloaded-429", "cpu-limited", "saturated-classic-queue", "standby-replica")


class Answer(NamedTuple):
    """How many curves a query has, what the store complains of, and the largest value of all."""

    curves: int
    complaint: str
    highest: float


Answers = Mapping[str, Answer]
"""By the name of the query."""
SINCE_17: Final = "KubeRay exposes this from 1.7 on."


def answers(address: str, recording: Path) -> Answers:
    """What a store says to every query over a recording."""
    setup = json.loads((recording / "setup.json").read_text(encoding="utf-8"))
    found = {}
    with httpx.Client(base_url=address, trust_env=False, timeout=30.0) as client:
        for query in queries():
            asked = filled(query.expr, INTERVAL, RANGE)
            curves, complaint = ranged(client, asked, setup["start"], setup["end"])
            highest = max((value for one in curves for _, value in one["values"]), default=0.0)
            found[str(query)] = Answer(len(curves), complaint, highest)
    return found


class Played:
    """Recordings in servers, each with what the advisor's own targets tell beside it where there is a log."""

    def __init__(self, prometheus_of: PrometheusOf, recordings: Path, folder: Path) -> None:
        self._prometheus_of = prometheus_of
        self._recordings = recordings
        self._folder = folder
        self.of = cache(self._of)

    def _of(self, name: str) -> Answers:
        recording = self._recordings / name
        if name not in WITH_SIDECAR:
            return answers(self._prometheus_of(recording, flags=LOOKBACK), recording)
        path = self._folder / f"{name}.om"
        write_history(recording, path)
        return answers(self._prometheus_of(path, flags=LOOKBACK), recording)


@pytest.fixture(scope="module")
def played(system_prometheus_of: PrometheusOf, shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """What the store answers for a recording; each is played once."""
    return Played(system_prometheus_of, shared / "recordings", tmp_path_factory.mktemp("histories"))


@pytest.mark.parametrize("name", [*WITH_SIDECAR, *OPERATOR_ALONE])
def test_no_query_fails(played: Played, name: str) -> None:
    """No error and no warning, whatever the operator exposes."""
    assert {query: one.complaint for query, one in played.of(name).items() if one.complaint} == {}


def test_each_query_has_data_somewhere(played: Played) -> None:
    """On one of a few recordings at least, but for what no recording has."""
    seen = {query for name in (*WITH_SIDECAR, *OPERATOR_ALONE) for query, one in played.of(name).items() if one.curves}
    assert {str(query) for query in queries()} - seen == set(WITHOUT_DATA)


def test_a_panel_without_data_says_why_on_the_classic_queue(played: Played) -> None:
    """KubeRay 1.6 has no limiter and no request times; of what is empty there, each panel names its reason."""
    empty = empty_panels(played.of("saturated-classic-queue"))
    told = {str(panel): panel.json["fieldConfig"]["defaults"]["noValue"] for panel in panels() if panel.type != "text"}
    for panel in empty:
        reasons = (SINCE_17, "sidecar", "service", "No RayCluster", "was busy", "were busy", "no CPU limit")
        assert any(reason in told[panel] for reason in reasons), panel
    since = {panel for panel, text in told.items() if SINCE_17 in text}
    assert since <= empty
    assert {"operator-overview: Utilisation of the workers", "operator-overview: Queue wait"} & empty == set()


def test_a_standby_replica_is_seen(played: Played) -> None:
    """Who leads is told where nothing else is; no controller has a curve."""
    found = played.of("standby-replica")
    assert found["operator-overview: Leader [0]"].curves == 1
    assert found["operator-overview: Utilisation of the workers [0]"].curves == 0
    assert found["operator-overview: CPU [0]"].curves == 0


def test_what_is_shown_is_what_happened(played: Played) -> None:
    """The figures of a saturated, a limited and a refused operator, and of one with a hot key."""
    saturated = played.of("saturated-classic-queue")
    assert 0.95 <= saturated["operator-overview: Utilisation of the workers [0]"].highest <= 1.15
    assert saturated["operator-overview: Backlog [0]"].highest == 100.0
    assert saturated["operator-overview: Backlog [1]"].highest == 99.0
    assert saturated["operator-overview: Queue wait [0]"].highest > 10.0
    limited = played.of("cpu-limited")
    assert limited["operator-overview: Throttled periods [0]"].highest > 0.5
    assert limited["operator-overview: CPU [0]"].highest < 1.5 * limited["operator-overview: CPU [2]"].highest
    refused = played.of("api-server-overloaded-429")
    assert refused["client-and-api: Answers 429 [0]"].highest > 0.05
    assert refused["client-and-api: Retries inside the client [0]"].highest > 1.0
    hot = played.of("hot-key-big-scale-up")
    assert hot["keys: Hot keys [0]"].highest == 1.0
    assert hot["keys: Workers taken by each key [0]"].highest > 0.5
    resync = played.of("restart-resync")
    assert 2.0 < resync["queue-and-priorities: Wait by priority [0]"].highest < 4.0
    assert resync["queue-and-priorities: Starving priorities [0]"].highest == 0.0


def _replicas() -> str:
    """Two replicas for a minute, one of which leads; only the leader has controllers. Both have a memory limit."""
    lines = []
    for step in range(31):
        time = 1_796_000_000 + 2 * step
        for replica, leads in (("a", 1), ("b", 0)):
            own = f'instance="{replica}:8080",job="kuberay-operator",namespace="kuberay",pod="{replica}"'
            box = f'container="kuberay-operator",namespace="kuberay",pod="{replica}"'
            lines += [
                f'leader_election_master_status{{name="ray-operator-leader",{own}}} {leads} {time}',
                f"process_cpu_seconds_total{{{own}}} {step} {time}",
                f'kube_pod_container_resource_limits{{resource="memory",unit="byte",{box}}} 1000 {time}',
                f"container_cpu_cfs_periods_total{{{box}}} 0 {time}",
                f"container_cpu_cfs_throttled_periods_total{{{box}}} 0 {time}",
            ]
        lead = 'controller="raycluster",instance="a:8080",job="kuberay-operator",namespace="kuberay",pod="a"'
        lines += [
            f"controller_runtime_max_concurrent_reconciles{{{lead}}} 2 {time}",
            f"controller_runtime_active_workers{{{lead}}} 1 {time}",
            f'workqueue_depth{{priority="0",{lead}}} 1 {time}',
            f'workqueue_depth{{priority="-100",{lead}}} 0 {time}',
            f"workqueue_work_duration_seconds_sum{{{lead}}} {step} {time}",
            f"workqueue_unfinished_work_seconds{{{lead}}} {2 * step} {time}",
        ]
    return "\n".join([*lines, "# EOF", ""])


def test_replicas_and_limits(system_prometheus_of: PrometheusOf, tmp_path: Path) -> None:
    """Only the leader's CPU counts; long runs count while they run; nothing is divided by zero; depth is of all
    priorities, and with an idle worker it waits behind its own run.
    """
    path = tmp_path / "replicas.om"
    path.write_text(_replicas(), encoding="utf-8")
    found = {}
    with httpx.Client(base_url=system_prometheus_of(path, flags=LOOKBACK), trust_env=False) as client:
        for query in queries():
            curves, complaint = ranged(client, filled(query.expr, INTERVAL, RANGE), 1_796_000_030, 1_796_000_050)
            assert complaint == ""
            found[str(query)] = [(one["metric"], one["values"][-1][1]) for one in curves]
    assert [labels["instance"] for labels, _ in found["operator-overview: CPU [0]"]] == ["a:8080"]
    assert [value for _, value in found["operator-overview: Memory [2]"]] == [1000.0]
    # Half a worker in finished runs, one in a run that goes on for ever: of two.
    assert [value for _, value in found["operator-overview: Utilisation of the workers [0]"]] == [pytest.approx(0.75)]
    assert found["operator-overview: Throttled periods [0]"] == []
    assert [value for _, value in found["operator-overview: Backlog [0]"]] == [1.0]
    assert [value for _, value in found["queue-and-priorities: Keys that wait behind their own run [0]"]] == [1.0]


def empty_panels(found: Answers) -> set[str]:
    """Panels none of whose queries has a curve."""
    full = {_panel(query) for query, one in found.items() if one.curves}
    return {_panel(query) for query in found} - full


def _panel(query: str) -> str:
    return query.rpartition(" [")[0]


@pytest.mark.skipif(
    os.environ.get("ADVISOR_DASHBOARDS") != "all", reason="ADVISOR_DASHBOARDS=all plays every recording"
)
@pytest.mark.timeout(1800)
def test_every_recording(shared: Path, tmp_path: Path) -> None:
    """No error on any; docs/dashboards-data.md tells which panel has data on which."""
    tool = system_tool()
    found: dict[str, Answers] = {}
    with_log = set()
    for recording in sorted(path for path in (shared / "recordings").iterdir() if path.is_dir()):
        source = recording
        if (recording / "operator.log.gz").exists():
            with_log.add(recording.name)
            source = tmp_path / "history.om"
            write_history(recording, source)
        with served(tool, source, flags=LOOKBACK) as address:
            found[recording.name] = answers(address, recording)
    said = {
        f"{name}: {query}": one.complaint
        for name, all_of in found.items()
        for query, one in all_of.items()
        if one.complaint
    }
    assert said == {}
    (ROOT / "docs" / "dashboards-data.md").write_text(_page(found, with_log), encoding="utf-8")


def _page(found: Mapping[str, Answers], with_log: set[str]) -> str:
    rows = []
    for query in queries():
        have = [name for name, all_of in found.items() if all_of[str(query)].curves]
        lack = [name for name in found if name not in have]
        if have == sorted(with_log):
            where = "those with a log"
        elif not lack:
            where = "all"
        elif not have:
            where = f"none: {WITHOUT_DATA.get(str(query), '')}"
        elif len(have) <= len(lack):
            where = ", ".join(f"`{name}`" for name in have[:4]) + (
                f" and {len(have) - 4} more" if len(have) > 4 else ""
            )
        else:
            where = "all but " + ", ".join(f"`{name}`" for name in lack[:4])
            where += f" and {len(lack) - 4} more" if len(lack) > 4 else ""
        title = f"{query.panel.title} ({chr(ord('A') + query.index)})"
        rows.append(f"| {query.panel.dashboard} | {title} | {len(have)} | {where} |")
    head = (
        "# What the panels show of recorded operators\n\n"
        "Every query of every [dashboard](dashboards.md), asked of Prometheus "
        f"{system_tool().version} that holds one of {len(found)} recordings of real operators,\n"
        f"with {INTERVAL} for `$__rate_interval`. Beside {len(with_log)} of them, "
        "which have the operator's log, are the series that a sidecar tells\nwhile they are played to it, and those of "
        "the service. No query failed on any. Written by a run of\n"
        "`ADVISOR_DASHBOARDS=all pytest tests/dashboards/test_queries.py`.\n\n"
        "| dashboard | panel (query) | recordings with data | which |\n| --- | --- | ---: | --- |\n"
    )
    return head + "\n".join(rows) + "\n"


def test_the_folder_holds_what_is_asked() -> None:
    """The queries asked are those of the committed files."""
    assert sum(path.read_text("utf-8").count('"expr"') for path in FOLDER.glob("*.json")) == len(list(queries()))
