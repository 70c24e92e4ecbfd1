import math

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Comparison, Outcome, Trend
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from advisor.model.signals import EpisodeKind
from advisor.report.comparisonjson import render_comparison_json
from tests.analysis.reportsmade import BURST, made, scaled

RULES = ComparisonRules()


def verdict(before: Report, after: Report) -> Comparison:
    """The comparison with the default rules."""
    return compare(before, after, RULES)


SWAPPED = {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}


AMOUNTS = st.one_of(st.none(), st.just(0.0), st.floats(min_value=0.0, max_value=1e300), st.floats(1e-3, 1e4))
ANYTHING = st.one_of(AMOUNTS, st.floats(min_value=-1e3, max_value=-1e-3))


def reports(values: st.SearchStrategy[float | None]) -> st.SearchStrategy[Report]:
    """Reports with any figures, situations and lengths."""
    return st.builds(
        made,
        st.fixed_dictionaries(dict.fromkeys(BURST, values)),
        code=st.sampled_from(FindingCode),
        severity=st.sampled_from(Severity),
        kind=st.sampled_from(EpisodeKind),
        seconds=st.floats(min_value=0.0, max_value=1e6),
        version=st.sampled_from([None, "1.6.1", "1.7.0"]),
        known=st.fixed_dictionaries({"concurrency": st.sampled_from([None, 0.0, 1.0, 4.0])}),
    )


@given(before=reports(ANYTHING), after=reports(ANYTHING))
@settings(max_examples=150)
def test_any_two_reports_can_be_compared(before: Report, after: Report) -> None:
    """Whatever the figures, there is a verdict with a reason, and it can be written as JSON with finite numbers."""
    result = verdict(before, after)
    assert result.reasons
    assert msgspec.json.decode(render_comparison_json(result), type=Comparison) == result
    for one in result.quantities:
        assert all(value is None or math.isfinite(value) for value in (one.change, one.ratio, one.normalised_ratio))


@given(report=reports(AMOUNTS))
@settings(max_examples=100)
def test_a_report_does_not_differ_from_itself(report: Report) -> None:
    """Nothing is better or worse than itself, and where it is comparable there is no clear change."""
    result = verdict(report, report)
    assert result.outcome in (Outcome.NO_CLEAR_CHANGE, Outcome.NOT_COMPARABLE)
    assert {one.trend for one in result.quantities} <= {Trend.SAME, Trend.UNKNOWN}


@given(before=reports(AMOUNTS), after=reports(AMOUNTS))
@settings(max_examples=150)
def test_swapping_the_sides_swaps_better_and_worse(before: Report, after: Report) -> None:
    """The verdict, and the trend of each quantity, turn round with the sides."""
    forth, back = verdict(before, after), verdict(after, before)
    assert back.outcome is SWAPPED.get(forth.outcome, forth.outcome)
    turned = {Trend.BETTER: Trend.WORSE, Trend.WORSE: Trend.BETTER}
    for one, other in zip(forth.quantities, back.quantities, strict=True):
        assert other.trend is turned.get(one.trend, one.trend), one.name


@given(
    factor=st.floats(0.01, 100.0), before=st.floats(0.1, 1e3), pods=st.floats(0.7, 1.4), ready=st.floats(0.01, 100.0)
)
@settings(max_examples=150)
def test_swapping_comparable_sides_swaps_the_verdict(factor: float, before: float, pods: float, ready: float) -> None:
    """The same for loads close enough for a verdict."""
    one = made(scaled(waiting_key_seconds=before))
    other = made(
        scaled(
            waiting_key_seconds=before * factor,
            pods_created=pods,
            ready_seconds_mean=ready,
            ready_seconds_p95=ready,
        )
    )
    forth, back = verdict(one, other), verdict(other, one)
    assert forth.outcome is not Outcome.NOT_COMPARABLE
    assert back.outcome is SWAPPED.get(forth.outcome, forth.outcome)
