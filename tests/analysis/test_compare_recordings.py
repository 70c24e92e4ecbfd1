import itertools
import json
import math
from functools import cache
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse, override
from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Comparison, Outcome, PredictionResult, Quantity, Trend
from advisor.model.report import Report
from advisor.sources.recording import RecordingSource
from tests.analysis.reportsmade import after_ten, example

RULES = ComparisonRules()


def verdict(before: Report, after: Report) -> Comparison:
    """The comparison with the default rules."""
    return compare(before, after, RULES)


def quantity(comparison: Comparison, name: str) -> Quantity:
    """One quantity by its name."""
    (found,) = (one for one in comparison.quantities if one.name == name)
    return found


def test_ten_workers_instead_of_one() -> None:
    """The worked example: better, at the cost of a slower API server and of conflicts."""
    result = verdict(example(), after_ten())
    assert result.outcome is Outcome.BETTER
    wait, ready = quantity(result, "queue_wait_seconds_mean"), quantity(result, "ready_seconds_mean")
    assert (wait.before, wait.after) == pytest.approx((9.1, 1.89), abs=0.01)
    assert (ready.before, ready.after) == pytest.approx((24.0, 7.26), abs=0.01)
    assert quantity(result, "write_api_seconds_mean").ratio == pytest.approx(5.37, abs=0.01)
    assert quantity(result, "conflict_ratio").trend is Trend.WORSE
    assert result.notes == (
        "the API server is now the limit (api-server-slow; before it was workers-saturated)",
        "10 times the workers gave 1.6 times the throughput: most of the added workers bought little",
    )
    assert {one.reason for one in result.predictions} == {"concurrency was to become 4 and is 10"}


@cache
def recorded(shared: Path, name: str, *, simulated: bool = False) -> Report:
    """The report on a recording of the real operator; simulating the effect of its advice takes most of the time."""
    options = Options() if simulated else override(Options(), ("policy.most_simulated_pods=0",))
    return analyse(RecordingSource(shared / "recordings" / name), options)


REPEATS = ("grid-1.7.0-c4-q100", "grid-1.7.0-c4-q100-repeat1", "grid-1.7.0-c4-q100-repeat2")


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(REPEATS, 2)))
def test_identical_runs_show_no_clear_change(shared: Path, before: str, after: str) -> None:
    """Three runs of the same are told apart neither way."""
    assert verdict(recorded(shared, before), recorded(shared, after)).outcome is Outcome.NO_CLEAR_CHANGE


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ("c1-q100", "c4-q100", Outcome.BETTER),
        ("c4-q100", "c16-q100", Outcome.BETTER),
        ("c16-q10", "c16-q100", Outcome.BETTER),
        ("c16-q100", "c16-q10", Outcome.WORSE),
        ("c4-q100", "c4-q10", Outcome.WORSE),
        ("c4-q10", "c16-q10", Outcome.NO_CLEAR_CHANGE),
        ("c1-q100", "c1-q25", Outcome.NO_CLEAR_CHANGE),
        ("c4-q100", "c4-qoff", Outcome.NO_CLEAR_CHANGE),
        ("c16-q100", "c16-qoff", Outcome.NO_CLEAR_CHANGE),
    ],
)
def test_settings_of_one_load_are_told_apart(shared: Path, before: str, after: str, outcome: Outcome) -> None:
    """One load under two settings: the verdict agrees with how long the load really took."""
    names = [f"grid-1.7.0-{name}" for name in (before, after)]
    before_report, after_report = (recorded(shared, name) for name in names)
    assert verdict(before_report, after_report).outcome is outcome
    took = [
        json.loads((shared / "recordings" / name / "expected.json").read_text(encoding="utf-8"))["measured"][
            "makespan_seconds"
        ]
        for name in names
    ]
    # Makespans of identical runs are up to 8 % apart, those of the short runs with 16 workers by 1.7 s.
    same = abs(math.log(took[1] / took[0])) <= math.log(1.25)
    assert same == (outcome is Outcome.NO_CLEAR_CHANGE)
    assert same or (took[1] < took[0]) == (outcome is Outcome.BETTER)


def test_four_workers_were_predicted(shared: Path) -> None:
    """The advice for one worker was four; waits, ready times, requests and CPU came out inside the intervals."""
    before = recorded(shared, "grid-1.7.0-c1-q100", simulated=True)
    result = verdict(before, recorded(shared, "grid-1.7.0-c4-q100"))
    results = {one.quantity: one.result for one in result.predictions}
    assert results == {
        "queue_wait_seconds_mean": PredictionResult.INSIDE,
        "ready_seconds_mean": PredictionResult.INSIDE,
        "drain_seconds": PredictionResult.NOT_CHECKED,
        "api_requests_per_second": PredictionResult.INSIDE,
        "cpu_cores": PredictionResult.INSIDE,
    }


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("grid-1.6.1-c1-q100", "grid-1.7.0-c1-q100", "the queues are of different generations"),
        ("standby-replica", "after-ten-workers", "refuses a verdict (not-leader)"),
        ("errors-quota-refused", "after-ten-workers", "error-retries dominates before only"),
        ("paced-c2-1-per-s", "paced-c4-3-per-s", "the loads differ by more than a factor 1.5"),
    ],
)
def test_runs_that_mean_different_things_are_not_comparable(shared: Path, before: str, after: str, words: str) -> None:
    """Another queue, a standby, errors, another pace: each is the first reason."""
    result = verdict(recorded(shared, before), recorded(shared, after))
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert words in result.reasons[0]


@pytest.mark.timeout(400)
def test_every_pair_of_one_load_is_told_apart(shared: Path) -> None:
    """Over all pairs of settings the verdict never contradicts the time until all clusters were ready.

    Makespans of identical runs lie 8 % apart: within that nothing may be claimed, and from a quarter on it must be.
    What lies between is left to the verdict, so long as it does not point the other way.
    """
    took = {
        folder.name: json.loads((folder / "expected.json").read_text(encoding="utf-8"))["measured"]["makespan_seconds"]
        for folder in sorted((shared / "recordings").glob("grid-1.7.0-*"))
    }
    wrong = []
    for before, after in itertools.combinations(took, 2):
        ratio = took[after] / took[before]
        outcome = verdict(recorded(shared, before), recorded(shared, after)).outcome
        moved = Outcome.BETTER if ratio < 1.0 else Outcome.WORSE
        apart = abs(math.log(ratio))
        allowed = {Outcome.NO_CLEAR_CHANGE} if apart <= math.log(1.25) else set()
        allowed |= {moved} if apart > math.log(1.09) else set()
        if outcome not in allowed:
            wrong.append((before, after, outcome, ratio))
    assert wrong == []
