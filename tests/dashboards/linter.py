"""The rules of grafana/dashboard-linter, each as a function from a dashboard to its complaints.

The two rules about LogQL are of a data source that no dashboard here has: they complain of any query for it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from tests.dashboards.parsed import selected, tree

__all__ = ["RULES", "Json"]

Json = dict[str, Any]
_SOURCES: Final = ("$datasource", "${datasource}")
_LABEL_VALUES: Final = re.compile(r"label_values\((.+), [a-z_]+\)")
_UNITS: Final = frozenset(
    {"none", "short", "percent", "percentunit", "bytes", "decbytes", "Bps", "binBps", "s", "ms", "ops", "reqps", "rps"}
)
"""Of Grafana's units, those that figures of an operator can have."""
_WITH_UNIT: Final = frozenset(
    {"stat", "timeseries", "gauge", "graph", "singlestat", "table", "heatmap", "state-timeline"}
)
_WITHOUT_QUERY: Final = frozenset({"row", "text"})


def _variables(dashboard: Json, kind: str) -> list[Json]:
    return [one for one in dashboard["templating"]["list"] if one["type"] == kind]


def _panels(dashboard: Json) -> Iterator[Json]:
    return (one for one in dashboard["panels"] if one["type"] not in _WITHOUT_QUERY)


def _targets(dashboard: Json) -> Iterator[tuple[Json, Json]]:
    return ((panel, target) for panel in _panels(dashboard) for target in panel.get("targets", ()))


def _template_datasource(dashboard: Json) -> Iterator[str]:
    sources = [(one["name"], one["label"], one["query"]) for one in _variables(dashboard, "datasource")]
    if sources != [("datasource", "Data source", "prometheus")]:
        yield f"data source variables: {sources}"


def _template(name: str) -> Callable[[Json], Iterator[str]]:
    def rule(dashboard: Json) -> Iterator[str]:
        found = [one for one in dashboard["templating"]["list"] if one["name"] == name]
        if len(found) != 1:
            yield f"no variable {name}"
            return
        wanted = {"type": "query", "label": name.title(), "multi": True, "includeAll": True, "allValue": ".+"}
        yield from (f"{name}: {key} is not {value}" for key, value in wanted.items() if found[0][key] != value)
        if found[0]["datasource"]["uid"] not in _SOURCES:
            yield f"{name}: {found[0]['datasource']}"

    return rule


def _template_label_promql(dashboard: Json) -> Iterator[str]:
    for one in _variables(dashboard, "query"):
        call = _LABEL_VALUES.fullmatch(one["query"])
        try:
            tree(call[1] if call else "")
        except ValueError as error:
            yield f"{one['name']}: {one['query']}: {error}"


def _template_on_time_change(dashboard: Json) -> Iterator[str]:
    return (one["name"] for one in _variables(dashboard, "query") if one["refresh"] != 2)


def _panel_datasource(dashboard: Json) -> Iterator[str]:
    for panel in _panels(dashboard):
        for one in (panel, *panel.get("targets", ())):
            if one.get("datasource", {}).get("uid") not in _SOURCES:
                yield f"{panel['title']}: {one.get('datasource')}"


def _panel_title_description(dashboard: Json) -> Iterator[str]:
    for panel in dashboard["panels"]:
        if panel["type"] != "row" and not (panel.get("title") and panel.get("description")):
            yield f"{panel['id']}: {panel.get('title')}"


def _panel_units(dashboard: Json) -> Iterator[str]:
    for panel in _panels(dashboard):
        if panel["type"] in _WITH_UNIT and panel["fieldConfig"]["defaults"].get("unit") not in _UNITS:
            yield f"{panel['title']}: {panel['fieldConfig']['defaults'].get('unit')}"


def _panel_no_targets(dashboard: Json) -> Iterator[str]:
    return (panel["title"] for panel in _panels(dashboard) if not panel.get("targets"))


def _target_logql(dashboard: Json) -> Iterator[str]:
    for panel, target in _targets(dashboard):
        if target["datasource"]["type"] == "loki":
            yield f"{panel['title']}: {target['expr']}"


def _target_promql(dashboard: Json) -> Iterator[str]:
    for panel, target in _targets(dashboard):
        try:
            tree(target["expr"])
        except ValueError as error:
            yield f"{panel['title']}: {error}"


def _target_rate_interval(dashboard: Json) -> Iterator[str]:
    for panel, target in _targets(dashboard):
        for one in selected(target["expr"]):
            if one.function in {"rate", "irate"} and one.range != "$__rate_interval":
                yield f"{panel['title']}: {one}"


def _target_matcher(name: str) -> Callable[[Json], Iterator[str]]:
    def rule(dashboard: Json) -> Iterator[str]:
        for panel, target in _targets(dashboard):
            for one in selected(target["expr"]):
                if f'{name}=~"${name}"' not in one.matchers:
                    yield f"{panel['title']} [{ord(target['refId']) - ord('A')}]: {one.name}"

    return rule


def _target_counter_agg(dashboard: Json) -> Iterator[str]:
    for panel, target in _targets(dashboard):
        for one in selected(target["expr"]):
            if one.name.endswith("_total") and one.function not in {"rate", "irate", "increase"}:
                yield f"{panel['title']}: {one}"


def _uneditable(dashboard: Json) -> Iterator[str]:
    if dashboard.get("editable") is not False:
        yield "editable"


RULES: Final[dict[str, Callable[[Json], Iterable[str]]]] = {
    "template-datasource-rule": _template_datasource,
    "template-job-rule": _template("job"),
    "template-instance-rule": _template("instance"),
    "template-label-promql-rule": _template_label_promql,
    "template-on-time-change-reload-rule": _template_on_time_change,
    "panel-datasource-rule": _panel_datasource,
    "panel-title-description-rule": _panel_title_description,
    "panel-units-rule": _panel_units,
    "panel-no-targets-rule": _panel_no_targets,
    "target-logql-rule": _target_logql,
    "target-logql-auto-rule": _target_logql,
    "target-promql-rule": _target_promql,
    "target-rate-interval-rule": _target_rate_interval,
    "target-job-rule": _target_matcher("job"),
    "target-instance-rule": _target_matcher("instance"),
    "target-counter-agg-rule": _target_counter_agg,
    "uneditable-dashboard": _uneditable,
}
"""The 17 rules by their names."""
