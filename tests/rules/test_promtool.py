"""Each alert at its production ``for``, by promtool: fires in time, resolves, is silent without its series."""

import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from scripts.rules.rendering import seconds
from scripts.rules.sources import ALERTS
from tests.prometheusserver.tools import Tool, find_or_leave_out
from tests.rules.cases import BAD, CASES, END, Case, labelled, values, without
from tests.support import ROOT

RULES: Final = ROOT / "rules"
APART: Final = {"KubeRayNoOperatorScraped", "KubeRayAdviceOpen"}


@pytest.fixture(scope="module")
def tool() -> Tool:
    """The machine's own."""
    return find_or_leave_out("system")


def run(tool: Tool, folder: Path, tests: list[dict[str, Any]], interval: str = "1m") -> None:
    """Run promtool once; its own words where a test fails."""
    for name in ("recording.yaml", "alerts.yaml"):
        shutil.copy(RULES / name, folder / name)
    file = folder / "tests.yaml"
    file.write_text(
        yaml.safe_dump(
            {"rule_files": ["recording.yaml", "alerts.yaml"], "evaluation_interval": interval, "tests": tests}
        )
    )
    done = subprocess.run([tool.promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]


def asked(alert: str, namespace: str, minute: int, *, fires: bool) -> dict[str, Any]:
    """Whether an alert fires in a minute."""
    place = f',cluster="{namespace}"' if "cluster" in ALERTS[alert].labels else ""
    return {
        "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"{place}}})',
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
    }


def series_of(case: Case, namespace: str) -> list[dict[str, str]]:
    """As promtool takes them."""
    return [{"series": labelled(name, namespace), "values": values(name, told)} for name, told in case.series.items()]


def test_each_alert_has_a_case() -> None:
    """None is forgotten, none is made up."""
    assert set(CASES) | APART == set(ALERTS)


def test_alerts_fire_in_time_and_resolve(tool: Tool, tmp_path: Path) -> None:
    """Quiet before; not before its ``for`` is over; fires soon after; quiet once all is well; and has its labels."""
    series, tests = [], []
    for name, case in CASES.items():
        namespace = name.lower()
        series += series_of(case, namespace)
        hold = round(seconds(ALERTS[name].hold) / 60)
        tests += [
            asked(name, namespace, BAD - 1, fires=False),
            asked(name, namespace, BAD + hold - 1, fires=False),
            asked(name, namespace, BAD + case.fires, fires=True),
            asked(name, namespace, case.resolves, fires=False),
        ]
        labels = ALERTS[name].labels
        # Each label is there and not empty: one series, counted by all of them.
        own = [f'{label}!=""' for label in labels if label != "cluster"]
        matchers = ",".join([f'alertname="{name}",alertstate="firing",cluster="{namespace}"', *own])
        tests.append(
            {
                "expr": f"count(ALERTS{{{matchers}}})",
                "eval_time": f"{BAD + case.fires}m",
                "exp_samples": [{"labels": "{}", "value": 1}],
            }
        )
    run(tool, tmp_path, [{"interval": "1m", "input_series": series, "promql_expr_test": tests}])


def test_alerts_are_silent_without_their_series(tool: Tool, tmp_path: Path) -> None:
    """With any one of the series missing an alert does not fire, and an operator that has none but up fires nothing."""
    series, tests = [], []
    for name, case in CASES.items():
        for number, (_, left) in enumerate(without(case)):
            namespace = f"{name.lower()}-{number}"
            series += series_of(left, namespace)
            tests.append(
                {
                    "expr": f'count(ALERTS{{alertname="{name}",cluster="{namespace}"}})',
                    "eval_time": f"{BAD + case.fires}m",
                    "exp_samples": [],
                }
            )
    series.append({"series": labelled("up", "nothing"), "values": f"1+0x{END}"})
    tests.append({"expr": 'ALERTS{cluster="nothing"}', "eval_time": f"{BAD + 30}m", "exp_samples": []})
    run(tool, tmp_path, [{"interval": "1m", "input_series": series, "promql_expr_test": tests}])


def test_no_operator_at_all(tool: Tool, tmp_path: Path) -> None:
    """Without any target it fires after ten minutes, and ends when one comes."""
    name = "KubeRayNoOperatorScraped"
    run(
        tool,
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": [{"series": labelled("up", "one"), "values": "_x30 1+0x30"}],
                "promql_expr_test": [
                    asked(name, "", minute, fires=fires) for minute, fires in ((9, False), (11, True), (40, False))
                ],
            }
        ],
    )


def test_advice_that_stays_open(tool: Tool, tmp_path: Path) -> None:
    """Three days of the same advice fire; advice to keep a setting never does; it ends when the advice does."""
    direction = 'kuberay_advisor_recommended_direction{operator="one",setting="%s"}'
    series = [
        {"series": labelled(direction % "concurrency", "kuberayadviceopen"), "values": "0+0x9 1+0x99 0+0x20"},
        {"series": labelled(direction % "qps", "kuberayadviceopen"), "values": "0+0x130"},
    ]
    hours = ((9, False), (10 + 71, False), (10 + 73, True), (120, False))
    asks = [asked("KubeRayAdviceOpen", "kuberayadviceopen", 60 * hour, fires=fires) for hour, fires in hours]
    run(tool, tmp_path, [{"interval": "1h", "input_series": series, "promql_expr_test": asks}], "1h")


def test_what_people_read(tool: Tool, tmp_path: Path) -> None:
    """Templates become text: labels, values, and a link to the page of what was found."""
    finding = 'kuberay_advisor_finding{operator="one",code="contention",severity="warning"}'
    saturated = CASES["KubeRayOperatorMemoryNearLimit"]
    base = "https://kuberay-advisor.example/docs/findings"
    memory, advisor = ALERTS["KubeRayOperatorMemoryNearLimit"], ALERTS["KubeRayAdvisorFinding"]
    run(
        tool,
        tmp_path,
        [
            {
                "interval": "1m",
                "input_series": [
                    *series_of(saturated, "ns"),
                    {"series": labelled(finding, "ns"), "values": "1+0x200"},
                ],
                "alert_rule_test": [
                    {
                        "eval_time": "90m",
                        "alertname": memory.name,
                        "exp_alerts": [
                            {
                                "exp_labels": {
                                    "severity": "warning",
                                    "cluster": "ns",
                                    "namespace": "ns",
                                    "pod": "operator-0",
                                    "container": "kuberay-operator",
                                },
                                "exp_annotations": {
                                    "summary": memory.summary,
                                    "description": (
                                        "operator-0 in ns: its working set is 92% of the memory limit; the next burst "
                                        "may kill it, and everything is listed and reconciled again after that."
                                    ),
                                    "runbook_url": f"{base}/memory-limited.md",
                                },
                            }
                        ],
                    },
                    {
                        "eval_time": "90m",
                        "alertname": advisor.name,
                        "exp_alerts": [
                            {
                                "exp_labels": {
                                    "severity": "warning",
                                    "cluster": "ns",
                                    "namespace": "ns",
                                    "job": "kuberay-advisor",
                                    "operator": "one",
                                    "code": "contention",
                                },
                                "exp_annotations": {
                                    "summary": advisor.summary,
                                    "description": (
                                        "one: contention. `kuberay-advisor explain contention` and the operator's page "
                                        "say what it means and what to do."
                                    ),
                                    "runbook_url": f"{base}/contention.md",
                                },
                            }
                        ],
                    },
                ],
            }
        ],
    )
