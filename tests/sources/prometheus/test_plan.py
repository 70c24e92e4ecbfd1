"""What is asked of a store, over which time and in which steps."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.signal import Window
from advisor.signals.names import SELECTION
from advisor.sources.prometheus.explain import planned_queries
from advisor.sources.prometheus.operators import Operator
from advisor.sources.prometheus.plan import coarse_step, make_plan, spans_within

OPERATOR = Operator("eu", "ray", "kuberay-operator", "cluster", ("raycluster",), ("op-1", "op.2"))
HOUR, DAY = 3600.0, 86400.0


def span(seconds: float) -> Window:
    """A span that ends at a fixed time."""
    return Window(1_796_000_000.0 - seconds, 1_796_000_000.0)


def test_a_short_range_is_read_as_scraped() -> None:
    """Six hours at 15 s are read whole, with buckets; only the number of objects is read in steps."""
    plan = make_plan(OPERATOR, SELECTION, span(6 * HOUR), 15.0)
    assert [one.step for one in plan.first] == [None, None, None, None, 15.0, 15.0]
    assert (plan.fine, plan.fine_points) == (None, 0)


def test_a_long_range_is_read_twice() -> None:
    """A week is read at one sample a minute without buckets; the fine pass has everything, and fewer samples."""
    plan = make_plan(OPERATOR, SELECTION, span(7 * DAY), 15.0)
    assert {one.step for one in plan.first} == {60.0}
    assert not any("_bucket" in one.query.text for one in plan.first)
    assert plan.fine is not None
    assert "controller_runtime_reconcile_time_seconds_bucket" in plan.fine.query.text
    assert plan.fine_points < 7 * DAY / 60.0


@pytest.mark.parametrize(
    ("days", "interval", "step"), [(1.0, 15.0, 60.0), (7.0, 30.0, 60.0), (30.0, 30.0, 300.0), (7.0, 120.0, 120.0)]
)
def test_steps_are_whole_minutes(days: float, interval: float, step: float) -> None:
    """No step is shorter than the scrape interval, and no range has more than some ten thousand."""
    assert coarse_step(span(days * DAY), interval) == step


def test_every_name_that_signals_need_is_asked_for_once() -> None:
    """The queries of a whole reading cover the selection, and no name is in two of them."""
    texts = [one.query.text for one in make_plan(OPERATOR, SELECTION, span(HOUR), 15.0).first]
    for name in (*SELECTION.names, *SELECTION.aggregated):
        if name != "up":
            assert len([text for text in texts if name in _names(text)]) == 1, name


def _names(text: str) -> set[str]:
    listed = {name for found in re.findall(r'__name__=~"([^"]*)"', text) for name in found.split("|")}
    return listed | set(re.findall(r"\((\w+)\{", text))


def test_selectors_name_the_operator_and_its_pods() -> None:
    """The operator's own series by cluster, namespace and job; what others expose by its Pods, literally."""
    plan = make_plan(OPERATOR, SELECTION, span(HOUR), 15.0)
    own, container = plan.first[0].query.text, plan.first[3].query.text
    assert own.endswith('cluster="eu",namespace="ray",job="kuberay-operator"}')
    assert "job=" not in container
    assert container.endswith('pod=~"op-1|op\\\\.2"}')


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)), max_size=6),
    st.integers(0, 5000),
    st.sampled_from([5.0, 15.0, 60.0]),
)
def test_fine_spans_keep_to_their_bound(spans: list[tuple[float, float]], points: int, interval: float) -> None:
    """However much there is to refine, no more samples than allowed are read for it, beside the margins."""
    given_spans = [Window(start, start + length) for start, length in spans]
    chosen = spans_within(given_spans, points, interval, 30.0)
    assert sum(one.seconds - 30.0 for one in chosen) <= points * interval + 1e-6
    assert list(chosen) == sorted(chosen, key=lambda one: one.start)


def test_a_week_costs_at_most_a_dozen_requests() -> None:
    """The plan that is shown is the plan that is carried out; it fits the budget."""
    queries = list(planned_queries(OPERATOR, SELECTION, span(7 * DAY), 30.0))
    assert sum(one.requests for one in queries) <= 12
    assert queries[0].path == "series"
