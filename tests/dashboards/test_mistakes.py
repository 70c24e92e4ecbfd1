"""What dashboards of others get wrong, and what ours promise of each panel."""

import re
from collections import Counter
from typing import Any

import promql_parser
import pytest

from advisor.diagnosis.thresholds import Thresholds
from advisor.knowledge.catalogue import METRICS
from advisor.sidecar.families import EXPOSED
from advisor.signals.starving import STARVED_SECONDS
from tests.dashboards.panels import DASHBOARDS, FOLDER, Panel, Query, panels, queries
from tests.dashboards.parsed import calls, divisions, selected
from tests.support import ROOT

KINDS = {one.name: one.kind for one in METRICS} | {one.family.name: one.family.type for one in EXPOSED}
SERVICE = re.compile(r"`(kuberay_advisor_\w+)`")
PART = re.compile(r"_(bucket|sum|count)$")
DECADES = {one.name for one in METRICS if one.buckets and one.buckets[1] / one.buckets[0] > 5 and len(one.buckets) < 15}
"""Histograms whose bounds are a factor of ten apart."""
PANELS = [one for one in panels() if one.type != "text"]
QUERIES = list(queries())
each_panel = pytest.mark.parametrize("panel", PANELS, ids=str)
each_query = pytest.mark.parametrize("query", QUERIES, ids=str)


def kind_of(name: str) -> str:
    """The type of a series, by the catalogue and the sidecar's families; what is in neither is the service's."""
    if name in KINDS:
        return KINDS[name]
    return "counter" if PART.search(name) and PART.sub("", name) in KINDS else "service"


@each_query
def test_each_series_is_known(query: Query) -> None:
    """Every series is catalogued, or one that the sidecar or the service exposes."""
    service = set(SERVICE.findall((ROOT / "docs" / "service.md").read_text(encoding="utf-8")))
    service.add("kuberay_advisor_analysis_failures_in_a_row")
    for one in selected(query.expr):
        assert kind_of(one.name) != "service" or one.name in service, one.name


@each_query
def test_functions_fit_the_type(query: Query) -> None:
    """Counters go through rate or increase and nothing else; gauges through neither."""
    for one in selected(query.expr):
        kind = kind_of(one.name)
        if kind == "counter":
            assert one.function in {"rate", "increase"}, one
        elif kind in {"gauge", "service"}:
            assert one.function in {"", "deriv"}, one
        else:
            # A native histogram as it is, beside or instead of the classic one.
            assert one.function == "rate", one


@each_query
def test_ranges_follow_the_scrape_interval(query: Query) -> None:
    """No fixed range anywhere, and no irate, which forgets all but two samples."""
    assert {one.range for one in selected(query.expr)} <= {"", "$__rate_interval", "$__range"}
    assert "irate" not in {call.func.name for call in calls(query.expr)}


@each_query
def test_divisions_are_guarded(query: Query) -> None:
    """What is divided by is compared with zero first."""
    for one in divisions(query.expr):
        assert re.search(r"> 0\)+$", str(one.rhs)), str(one.rhs)


@each_query
def test_depth_is_added_up_over_priorities(query: Query) -> None:
    """The depth is summed, with its priority only where the legend tells it."""
    if "workqueue_depth{" in query.expr.replace("kuberay_advisor_workqueue_depth", ""):
        legend = query.panel.json["targets"][query.index]["legendFormat"]
        assert re.match(r"(clamp_min\()?sum by", query.expr)
        assert ("priority" in query.expr) == ("{{priority}}" in legend)


@each_query
def test_no_quantile_of_decades(query: Query) -> None:
    """Quantiles come from fine buckets or native histograms; decades are shown as bands with their bounds."""
    for call in calls(query.expr):
        if call.func.name == "histogram_quantile":
            for one in selected(str(call)):
                assert PART.sub("", one.name) not in DECADES or not PART.search(one.name), one.name
    assert {"workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"} <= DECADES


@each_query
def test_buckets_are_a_heat_map_or_a_quantile_or_a_share(query: Query) -> None:
    """A bucket alone is no figure."""
    for one in selected(query.expr):
        if one.name.endswith("_bucket"):
            quantile = "histogram_quantile" in {call.func.name for call in calls(query.expr)}
            assert query.panel.type == "heatmap" or quantile or any(each.startswith("le=") for each in one.matchers)


@each_query
def test_aggregations_say_what_they_keep(query: Query) -> None:
    """Sums over operators that a reader did not ask for: each is by labels, but for what is one value of all."""
    alone = ("min(kube_pod", "min(kuberay_advisor_current", "sum(kuberay_advisor_hot_key", "sum by (le)", "topk(")
    if not query.expr.startswith(alone):
        for found in re.findall(r"\b(?:sum|max|min|avg|count)\b(?! by)\s*\(", query.expr):
            pytest.fail(found)


@each_panel
def test_only_what_adds_up_is_stacked(panel: Panel) -> None:
    """Means and quantiles are never stacked."""
    if panel.json["fieldConfig"]["defaults"]["custom"].get("stacking", {}).get("mode") == "normal":
        assert panel.json["fieldConfig"]["defaults"]["unit"] != "s"
        assert "quantile" not in str(panel.json["targets"])


@each_panel
def test_each_panel_explains_itself(panel: Panel) -> None:
    """How to read it, when to worry, why it may be empty, thresholds and unit."""
    reads, _, worry = panel.json["description"].partition("\n\nWorry: ")
    defaults = panel.json["fieldConfig"]["defaults"]
    assert len(reads) > 50
    assert len(worry) > 20
    assert worry.endswith(".")
    assert len(defaults["noValue"]) > 40
    assert defaults["unit"]
    assert defaults["thresholds"]["steps"][0]["value"] is None
    assert not re.search(r"\{\w", str({**panel.json, "targets": [], "links": []}).replace("${", "").replace("{{", ""))


@each_panel
def test_each_link_leads_to_a_finding(panel: Panel) -> None:
    """By the address of the advisor's service, to a page that exists."""
    (link,) = panel.json["links"]
    found = re.fullmatch(r"\$\{advisor\}/findings/([a-z0-9-]+)", link["url"])
    assert found is not None
    assert (ROOT / "docs" / "findings" / f"{found[1]}.md").is_file()


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_each_dashboard_is_todays(name: str) -> None:
    """No rows of panels, no Angular panel, places that do not overlap, numbers and letters that are unique."""
    dashboard = DASHBOARDS[name]
    assert dashboard["schemaVersion"] >= 39
    assert dashboard["uid"] == f"kuberay-advisor-{name}"
    assert "rows" not in dashboard
    known = {"row", "text", "stat", "table", "timeseries", "heatmap", "state-timeline"}
    assert {one["type"] for one in dashboard["panels"]} <= known
    cells = Counter(
        (x, y)
        for one in dashboard["panels"]
        for place in [one["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    )
    assert max(cells.values()) == 1
    assert max(x for x, _ in cells) == 23
    numbers = [one["id"] for one in dashboard["panels"]]
    assert len(set(numbers)) == len(numbers)
    for one in dashboard["panels"]:
        letters = [target["refId"] for target in one.get("targets", ())]
        assert len(set(letters)) == len(letters)
    assert len({one["title"] for one in dashboard["panels"]}) == len(dashboard["panels"])


def test_dashboards_lead_to_each_other() -> None:
    """One tag, by which each links to all with the same choices and times; uids and titles are unique."""
    assert sorted(DASHBOARDS) == ["client-and-api", "keys", "operator-overview", "queue-and-priorities"]
    assert len({one["uid"] for one in DASHBOARDS.values()} | {one["title"] for one in DASHBOARDS.values()}) == 8
    for one in DASHBOARDS.values():
        assert one["tags"] == ["kuberay-advisor"]
        (link,) = one["links"]
        assert link["tags"] == one["tags"]
        assert (link["includeVars"], link["keepTime"]) == (True, True)


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_variables(name: str) -> None:
    """Those that all have, in the order in which one narrows the next; every variable in a query exists."""
    variables = {one["name"]: one for one in DASHBOARDS[name]["templating"]["list"]}
    assert list(variables)[:6] == ["datasource", "cluster", "namespace", "job", "instance", "controller"]
    assert variables["cluster"]["hide"] == 2
    # Where a store has no such label, all is chosen still.
    assert {variables[one]["allValue"] for one in ("cluster", "namespace")} == {".*"}
    used = set(re.findall(r"\$\{?([a-z_]+)\}?", str(DASHBOARDS[name])))
    assert used - set(variables) <= {"__all", "__rate_interval", "__range", "__value"}
    assert {one["label"] for one in variables.values() if not one["label"]} == set()


def steps(dashboard: str, title: str) -> list[Any]:
    """The values of a panel's thresholds."""
    panel = next(one for one in panels() if (one.dashboard, one.title) == (dashboard, title))
    return [one["value"] for one in panel.json["fieldConfig"]["defaults"]["thresholds"]["steps"]][1:]


def test_thresholds_are_the_products() -> None:
    """The lines in the panels are the defaults of the diagnosis."""
    product = Thresholds()
    assert steps("operator-overview", "Queue wait") == [product.wait_warning_seconds, product.wait_target_seconds]
    assert steps("operator-overview", "Utilisation of the workers") == [product.target_utilisation]
    assert steps("operator-overview", "Failed share of reconciles") == [product.error_ratio]
    assert steps("operator-overview", "Throttled periods") == [product.cpu_throttled_ratio]
    assert steps("client-and-api", "Share of worker time in the limiter") == [
        product.limiter_noticed_share,
        product.limiter_share,
    ]
    assert steps("client-and-api", "Requests that waited in the limiter") == [product.limited_requests_share]
    assert steps("client-and-api", "API time by verb, without the limiter") == [product.slow_write_seconds]
    assert steps("client-and-api", "Conflicts of writes") == [product.conflict_ratio]
    assert steps("client-and-api", "Answers 429") == [product.too_many_requests_ratio]
    assert steps("keys", "Reconciles of each key") == [product.hot_key_per_second, product.hot_key_loop_per_second]
    assert steps("queue-and-priorities", "Age of the oldest ready key")[1] == STARVED_SECONDS


def test_no_number_of_the_sources_is_a_threshold_of_the_product() -> None:
    """Thresholds that the product has are named in the sources, so that they follow it."""
    written = set()
    for path in (FOLDER / "sources").glob("*.yaml"):
        written |= {
            float(one) for one in re.findall(r"(?:warn|critical): ([0-9.]+)$", path.read_text("utf-8"), re.MULTILINE)
        }
    assert written == {1.0, 3.0, 30.0, 60.0, 900.0, 3600.0}


def test_the_leader_is_joined_where_replicas_differ() -> None:
    """Standby replicas do not count as operators: what only the leader should tell is without them."""
    joined = {str(one) for one in QUERIES if "leader_election_master_status" in one.expr and "unless" in one.expr}
    assert joined == {
        "operator-overview: CPU [0]",
        "operator-overview: RayClusters [0]",
        "operator-overview: RayClusters [1]",
    }


def test_parsing_is_of_the_grammar_itself() -> None:
    """What is no PromQL does not pass."""
    with pytest.raises(ValueError, match="parenthesis"):
        promql_parser.parse("sum(")
