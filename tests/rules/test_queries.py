"""What pint checks offline, and the mistakes that others make, as tests of the rules (research: peers 2)."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import promql_parser as promql
import pytest
import yaml

from advisor.model.finding import Severity
from scripts.rules.model import Alert, Record
from scripts.rules.rendering import Settings, expression, seconds
from scripts.rules.sources import ALERT_GROUPS, ALERTS, RECORDING_GROUPS
from tests.rules.queries import TARGET, is_a, known, metric_of, walk
from tests.rules.replaying import RECORDED
from tests.support import ROOT

RULES: Final = [rule for group in (*RECORDING_GROUPS, *ALERT_GROUPS) for rule in group.rules]
RECORDS: Final = [rule for rule in RULES if isinstance(rule, Record)]
FAMILIES: Final = known()
LEVELS: Final = {
    "controller": ("cluster", "namespace", "job", "controller"),
    "operator": ("cluster", "namespace", "job"),
    "container": ("cluster", "namespace", "pod", "container"),
}
COUNTING: Final = {"rate", "increase"}
OF_GAUGES: Final = {"delta", "changes", "max_over_time", "min_over_time", "avg_over_time", "present_over_time"}


def nodes(rule: Record | Alert) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The nodes of its expression; what does not parse raises."""
    return walk(promql.parse(expression(rule.expr, Settings())))


def rules(kind: type = object) -> pytest.MarkDecorator:
    """Each rule as a parameter."""
    found = [rule for rule in RULES if isinstance(rule, kind)]
    return pytest.mark.parametrize("rule", found, ids=lambda rule: rule.name)


@rules(Record)
def test_names_say_level_metric_operations(rule: Record) -> None:
    """A level that exists, and by what is aggregated: all sums keep the labels of the level, so that none is lost."""
    assert RECORDED.fullmatch(rule.name)
    level = LEVELS[rule.name.partition(":")[0]]
    for node, _ in nodes(rule):
        if is_a(node, promql.AggregateExpr):
            assert tuple(node.modifier.labels) == level


@rules()
def test_series_exist_with_their_labels(rule: Record | Alert) -> None:
    """Each series is exposed by somebody or recorded before; each matcher is on a label that it has."""
    recorded = {record.name for record in RECORDS}
    for node, _ in nodes(rule):
        if not is_a(node, promql.VectorSelector):
            continue
        assert node.name is not None
        if node.name in recorded:
            # Replay writes recorded series out, which matchers and ranges would not survive.
            assert node.matchers.matchers == []
            assert node.offset is None
            continue
        labels = metric_of(node.name, FAMILIES).labels | TARGET
        assert {matcher.name for matcher in node.matchers.matchers} <= labels


@rules()
def test_the_operators_series_are_selected(rule: Record | Alert) -> None:
    """No series of another program gets in: by job or container, and the sidecar's own controllers are left out."""
    for node, _ in nodes(rule):
        if is_a(node, promql.VectorSelector) and not re.match(r"kuberay_advisor_|\w+:", node.name):
            matchers = {matcher.name: matcher for matcher in node.matchers.matchers}
            assert "job" in matchers or "container" in matchers
            if node.name.startswith(("workqueue_", "controller_runtime_")):
                assert any(
                    matcher.name == "controller" and matcher.op == promql.MatchOp.NotRe
                    for matcher in node.matchers.matchers
                )


@rules()
def test_functions_fit_types(rule: Record | Alert) -> None:
    """rate() on counters and on nothing else, no counter without it; ranges of twice the slowest usual scrape."""
    for node, above in nodes(rule):
        if is_a(node, promql.MatrixSelector):
            assert node.range >= timedelta(minutes=5)
            function = above[-1].func.name
            counter = metric_of(node.vector_selector.name, FAMILIES).type == "counter"
            assert function in (COUNTING if counter else OF_GAUGES), function
        elif is_a(node, promql.VectorSelector) and not RECORDED.fullmatch(node.name):
            is_ranged = any(is_a(one, promql.MatrixSelector) for one in above)
            assert is_ranged or metric_of(node.name, FAMILIES).type == "gauge", node.name


@rules()
def test_no_guesses(rule: Record | Alert) -> None:
    """No quantile of buckets that are a decade wide, no topk, whose members change, no subquery, no irate."""
    assert not re.search(r"quantile|topk|bottomk|irate|\[\d+[smh]:", rule.expr)


@rules()
def test_aggregations_keep_the_cluster(rule: Record | Alert) -> None:
    """Each says by what, and never joins clusters."""
    for node, _ in nodes(rule):
        if is_a(node, promql.AggregateExpr):
            assert node.modifier is not None
            assert node.modifier.type == promql.AggModifierType.By
            assert "cluster" in node.modifier.labels


@rules()
def test_matching_keeps_the_cluster(rule: Record | Alert) -> None:
    """Where two sides are joined on labels, the cluster is one of them."""
    for node, _ in nodes(rule):
        if is_a(node, promql.BinaryExpr) and node.modifier is not None and node.modifier.matching is not None:
            assert "cluster" in node.modifier.matching.labels


@rules()
def test_divisions_are_guarded(rule: Record | Alert) -> None:
    """By a number, or by what is above zero; never inside a sum, where one 0/0 spoils all."""
    for node, above in nodes(rule):
        if is_a(node, promql.BinaryExpr) and str(node.op) == "/":
            assert not any(is_a(one, promql.AggregateExpr) for one in above)
            if not is_a(node.rhs, promql.NumberLiteral):
                assert is_a(node.rhs, promql.ParenExpr)
                assert str(node.rhs.expr.op) == ">"
                assert node.rhs.expr.rhs.val == 0


@rules()
def test_regular_expressions_are_some(rule: Record | Alert) -> None:
    """A matcher that is a plain word is no regular expression, and none matches everything."""
    for node, _ in nodes(rule):
        if is_a(node, promql.VectorSelector):
            for matcher in node.matchers.matchers:
                if matcher.op in (promql.MatchOp.Re, promql.MatchOp.NotRe):
                    assert re.search(r"[.*+|]", matcher.value)
                    assert matcher.value not in (".*", ".+")


@rules()
def test_depth_is_summed_over_priorities(rule: Record | Alert) -> None:
    """Or a priority is asked for: KubeRay 1.7 has two series where older ones have one."""
    for node, above in nodes(rule):
        if is_a(node, promql.VectorSelector) and node.name == "workqueue_depth":
            sums = [one for one in above if is_a(one, promql.AggregateExpr)]
            assert sums
            assert "priority" not in sums[-1].modifier.labels


@rules(Alert)
def test_alerts_compare(rule: Alert) -> None:
    """Something is above or below something, or missing: no alert fires on the mere existence of a value."""
    top: Any = promql.parse(expression(rule.expr, Settings()))
    while is_a(top, promql.ParenExpr) or (is_a(top, promql.BinaryExpr) and str(top.op) in {"and", "or", "unless"}):
        if rule.name == "KubeRayOperatorAbsent":
            assert str(top.op) == "unless"
            return
        top = top.expr if is_a(top, promql.ParenExpr) else top.lhs
    if is_a(top, promql.AggregateExpr):
        assert rule.name == "KubeRayClustersNotProvisioned"  # a count of what is false
    elif is_a(top, promql.Call):
        assert top.func.name == "absent"
    else:
        assert str(top.op) in {">=", "<=", ">", "<", "=="}


@rules(Alert)
def test_alerts_are_worded(rule: Alert) -> None:
    """A name that says whose it is, sentences, a time to hold, a known severity."""
    assert re.fullmatch(r"KubeRay[A-Z][A-Za-z0-9]+", rule.name)
    assert seconds(rule.hold) >= seconds("1m")
    assert isinstance(rule.severity, Severity)
    for text in (rule.summary, rule.description):
        assert text.endswith(".")
        assert "  " not in text
    assert rule.summary[0].isupper()
    assert "{{" not in rule.summary


@rules(Alert)
def test_templates_use_labels_that_are_there(rule: Alert) -> None:
    """No label that the expression drops, no function that Prometheus lacks; labels without templates."""
    used = set(re.findall(r"\$labels\.(\w+)", rule.description))
    assert used <= set(rule.labels)
    functions = set(re.findall(r"\| (\w+)", rule.description))
    assert functions <= {"humanize", "humanizePercentage", "humanizeDuration"}
    if rule.labels:
        assert used, "does not say which one"


def test_groups() -> None:
    """Evaluated every minute; no name twice; what is recorded is recorded before it is used."""
    seen: set[str] = set()
    for rule in RULES:
        assert rule.name not in seen
        used = set(RECORDED.findall(rule.expr))
        assert used <= seen, rule.name
        seen.add(rule.name)
    for name in ("recording.yaml", "alerts.yaml"):
        groups = yaml.safe_load((ROOT / "rules" / name).read_text("utf-8"))["groups"]
        assert {group["interval"] for group in groups} == {"1m"}
        assert len({group["name"] for group in groups}) == len(groups)
        for group in groups:
            for rule in group["rules"]:
                assert set(rule.get("labels", {"severity": ""})) == {"severity"}


def test_alerts_on_own_series_say_so() -> None:
    """An alert that needs the sidecar or the service says it, and no other does."""
    for alert in ALERTS.values():
        own = "kuberay_advisor_" in alert.expr or "$advisor" in alert.expr
        assert (alert.need in {"sidecar", "service"}) == own, alert.name


def test_the_operators_alone_are_most() -> None:
    """KubeRay up to 1.6 with its own series alone: queue, errors, conflicts, 429, leader and process are covered."""
    plain = {name for name, alert in ALERTS.items() if alert.need == "operator"}
    assert len(plain) >= 15
    for name in plain:
        assert not re.search(r"rest_client_(rate_limiter|request)_duration|priority", ALERTS[name].expr), name


WRONG: Final = (
    (test_names_say_level_metric_operations, "sum by (job) (up)"),
    (test_series_exist_with_their_labels, 'workqueue_depth{shard="1"}'),
    (test_the_operators_series_are_selected, "workqueue_depth"),
    (test_functions_fit_types, "rate(workqueue_depth[5m])"),
    (test_functions_fit_types, "rate(workqueue_adds_total[1m])"),
    (test_functions_fit_types, "workqueue_adds_total"),
    (test_no_guesses, "topk(1, up)"),
    (test_aggregations_keep_the_cluster, "sum(up)"),
    (test_aggregations_keep_the_cluster, "sum without (pod) (up)"),
    (test_matching_keeps_the_cluster, "up and on (job) up"),
    (test_divisions_are_guarded, "up / up"),
    (test_divisions_are_guarded, "sum by (cluster) (up / (up > 0))"),
    (test_regular_expressions_are_some, 'up{job=~"kuberay"}'),
    (test_depth_is_summed_over_priorities, "max by (cluster, priority) (workqueue_depth)"),
)


@pytest.mark.parametrize(("check", "expr"), WRONG)
def test_checks_find_what_is_wrong(check: Callable[[Record], None], expr: str) -> None:
    """Each of the checks above fails on the mistake that it is about."""
    with pytest.raises((AssertionError, KeyError)):
        check(Record("controller:wrong:sum", expr, "Wrong."))
