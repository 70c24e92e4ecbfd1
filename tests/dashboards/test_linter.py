"""The dashboards keep the rules of grafana/dashboard-linter, and each rule sees what breaks it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.dashboards.linter import RULES, Json
from tests.dashboards.panels import DASHBOARDS, FOLDER

MATCHERS = ("target-job-rule", "target-instance-rule")
FOREIGN = ("kuberay_advisor_", "container_", "kube_pod_")
"""Series of other targets than the operator: the sidecar, the service, the kubelet, kube-state-metrics."""


def variable(dashboard: Json, name: str) -> Json:
    """One variable."""
    return next(one for one in dashboard["templating"]["list"] if one["name"] == name)


def panel(dashboard: Json) -> Json:
    """A panel with a query of a counter of the operator."""
    return next(one for one in dashboard["panels"] if one["title"] == "Reconciles by result")


def target(dashboard: Json) -> Json:
    """Its query."""
    found: Json = panel(dashboard)["targets"][0]
    return found


def put(place: Callable[[Json], Json], key: str, value: Any) -> Callable[[Json], None]:  # noqa: ANN401 - JSON
    """A change of one value somewhere in a dashboard."""
    return lambda dashboard: place(dashboard).__setitem__(key, value)


COUNTER = 'controller_runtime_reconcile_total{job=~"$job", instance=~"$instance"}'
BREAKS = {
    "template-datasource-rule": put(lambda one: variable(one, "datasource"), "label", "Prometheus"),
    "template-job-rule": put(lambda one: variable(one, "job"), "multi", 0),
    "template-instance-rule": put(lambda one: variable(one, "instance"), "allValue", ".*"),
    "template-label-promql-rule": put(lambda one: variable(one, "job"), "query", "label_values(up{, job)"),
    "template-on-time-change-reload-rule": put(lambda one: variable(one, "controller"), "refresh", 1),
    "panel-datasource-rule": put(panel, "datasource", {"type": "prometheus", "uid": "P1"}),
    "panel-title-description-rule": put(panel, "description", ""),
    "panel-units-rule": put(lambda one: panel(one)["fieldConfig"]["defaults"], "unit", "requests"),
    "panel-no-targets-rule": put(panel, "targets", []),
    "target-logql-rule": put(target, "datasource", {"type": "loki", "uid": "$datasource"}),
    "target-logql-auto-rule": put(target, "datasource", {"type": "loki", "uid": "$datasource"}),
    "target-promql-rule": put(target, "expr", "sum("),
    "target-rate-interval-rule": put(target, "expr", f"rate({COUNTER}[5m])"),
    "target-job-rule": put(target, "expr", f"rate({COUNTER.replace('=~', '=')}[$__rate_interval])"),
    "target-instance-rule": put(target, "expr", "rate(up[$__rate_interval])"),
    "target-counter-agg-rule": put(target, "expr", f"deriv({COUNTER}[$__rate_interval])"),
    "uneditable-dashboard": put(lambda one: one, "editable", None),
}


def excluded() -> dict[str, set[str]]:
    """Queries that the file for the outside linter leaves out, by rule."""
    file = yaml.safe_load((FOLDER / ".lint").read_text(encoding="utf-8"))["exclusions"]
    return {
        rule: {f"{one['dashboard']}: {one['panel']} [{one['targetIdx']}]" for one in told["entries"]}
        for rule, told in file.items()
        if told["reason"]
    }


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
@pytest.mark.parametrize("rule", [one for one in RULES if one not in MATCHERS])
def test_each_rule_holds(name: str, rule: str) -> None:
    """No dashboard breaks a rule."""
    assert list(RULES[rule](DASHBOARDS[name])) == []


@pytest.mark.parametrize("rule", MATCHERS)
def test_only_series_of_others_have_another_target(rule: str) -> None:
    """Each selector has the operator's job and instance, but of series that the operator does not expose; just the
    queries with such a one are left out for the outside linter.
    """
    complaints = [
        (f"{one['title']}: {complaint.rpartition(': ')[0]}", complaint.rpartition(": ")[2])
        for one in DASHBOARDS.values()
        for complaint in RULES[rule](one)
    ]
    objects = {name for _, name in complaints if not name.startswith(FOREIGN)}
    assert objects == set()
    assert {place for place, _ in complaints} == excluded()[rule]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_sees_what_breaks_it(rule: str) -> None:
    """A dashboard that is changed in one place has one complaint more."""
    before = DASHBOARDS["operator-overview"]
    broken = copy.deepcopy(before)
    BREAKS[rule](broken)
    assert len(list(RULES[rule](broken))) > len(list(RULES[rule](before)))
