"""Rules and dashboards that the chart installs are those of the project, as far as values do not say otherwise."""

import json
from pathlib import Path
from typing import Any

import yaml

from scripts.rules.rendering import Settings, plain
from scripts.rules.sources import ALERT_GROUPS, ALERTS, RECORDING_GROUPS
from tests.chart.helm import Helm, named
from tests.support import ROOT


def groups_of(settings: Settings) -> Any:  # noqa: ANN401 - as read
    """What the project's own script makes."""
    return yaml.safe_load(plain((*RECORDING_GROUPS, *ALERT_GROUPS), settings))["groups"]


def test_rules_are_the_projects(helm: Helm) -> None:
    """With default values, those of rules/prometheusrule.yaml."""
    rule = named(helm.rendered({"prometheusRule.enabled": True}), "PrometheusRule")
    committed = yaml.safe_load((ROOT / "rules" / "prometheusrule.yaml").read_text(encoding="utf-8"))
    assert rule["spec"] == committed["spec"]


def test_settings_of_rules(helm: Helm) -> None:
    """They go where the script puts them; alerts that are switched off are gone, one's own labels and groups there."""
    rule = named(helm.manifests("everything"), "PrometheusRule")
    settings = Settings(
        job="kuberay/.*",
        container="manager",
        advisor_job=".*advisor.*",
        runbooks="https://runbooks.example.com/ray",
        interval="30s",
    )
    wanted = groups_of(settings)
    for group in wanted:
        group["rules"] = [one for one in group["rules"] if one.get("alert") != "KubeRayAdviceOpen"]
        for one in group["rules"]:
            if "alert" in one:
                one["labels"] = {"team": "ray", **one["labels"]}
    assert rule["spec"]["groups"][:-1] == wanted
    assert rule["spec"]["groups"][-1]["name"] == "ours"
    assert rule["metadata"]["labels"]["release"] == "monitoring"


def test_no_alert_at_all(helm: Helm) -> None:
    """Groups that are empty then are left out; recording rules stay."""
    values = {"prometheusRule.enabled": True, "prometheusRule.disabledAlerts": sorted(ALERTS)}
    rule = named(helm.rendered(values), "PrometheusRule")
    assert [group["name"] for group in rule["spec"]["groups"]] == [group.name for group in RECORDING_GROUPS]


def test_rules_find_the_jobs_that_the_chart_makes(helm: Helm) -> None:
    """Whatever the release is called: a ServiceMonitor's job is its Service's name."""
    values = {"prometheusRule.enabled": True, "fullnameOverride": "tuning"}
    rule = named(helm.rendered(values), "PrometheusRule")
    assert rule["spec"]["groups"] == groups_of(Settings(advisor_job=".*tuning.*"))


def test_dashboards(helm: Helm) -> None:
    """Each in a ConfigMap of its own, byte for byte, with the label and the folder that Grafana's sidecar looks for."""
    maps = [
        one for one in helm.rendered({"dashboards.enabled": True}) if "grafana_dashboard" in one["metadata"]["labels"]
    ]
    found = {}
    for one in maps:
        ((name, text),) = one["data"].items()
        found[name.removeprefix("kuberay-advisor-")] = text
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["annotations"] == {"grafana_folder": "KubeRay"}
        assert len(json.dumps(one)) < 1_000_000
    files = sorted((ROOT / "dashboards").glob("*.json"))
    assert found == {path.name: read(path) for path in files}


def read(path: Path) -> str:
    """A file's text."""
    return path.read_text(encoding="utf-8")


def test_a_scrape_brings_the_token(helm: Helm) -> None:
    """The service asks for one where it has a login; the watcher does not."""
    monitors = [
        one
        for one in helm.rendered({"serviceMonitor.enabled": True, "serve.login.existingSecret": "login"})
        if one["kind"] == "ServiceMonitor"
    ]
    by_port = {one["spec"]["endpoints"][0]["port"]: one["spec"]["endpoints"][0] for one in monitors}
    assert by_port["http"]["authorization"] == {"type": "Bearer", "credentials": {"name": "login", "key": "token"}}
    assert "authorization" not in by_port["metrics"]


def test_the_watchers_series_are_of_the_operators_namespace(helm: Helm) -> None:
    """Alerts compare namespaces, so that of the watcher is replaced where it is another."""
    (monitor,) = [one for one in helm.manifests("watcher") if one["kind"] == "ServiceMonitor"]
    (relabeling,) = monitor["spec"]["endpoints"][0]["relabelings"]
    assert relabeling == {"targetLabel": "namespace", "replacement": "ray-system", "action": "replace"}
    same = helm.rendered({"serviceMonitor.enabled": True})
    assert all("relabelings" not in one["spec"]["endpoints"][0] for one in same if one["kind"] == "ServiceMonitor")
