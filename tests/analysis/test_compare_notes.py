import msgspec
import pytest

from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.advice import Direction, Prediction
from advisor.model.comparison import Comparison, PredictionResult
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from tests.analysis.reportsmade import CONTROLLER, made, scaled

RULES = ComparisonRules()


def verdict(before: Report, after: Report) -> Comparison:
    """The comparison with the default rules."""
    return compare(before, after, RULES)


LESS_WAIT = scaled(waiting_key_seconds=0.3, busy_worker_seconds=1.0, queue_wait_seconds_mean=0.3)
PACED: dict[str, float | None] = {f"{CONTROLLER}depth_peak": 2.0}


def test_settings_that_changed_are_listed() -> None:
    """Each setting has both values; what a side does not know is not called a change."""
    result = verdict(made(known={"concurrency": 1.0, "qps": None}), made(known={"concurrency": 4.0, "qps": 50.0}))
    found = {one.name: one for one in result.settings}
    assert (found["concurrency"].before, found["concurrency"].after, found["concurrency"].changed) == (1.0, 4.0, True)
    assert (found["qps"].changed, found["burst"].changed, found["version"].changed) == (None, False, False)


@pytest.mark.parametrize(
    ("before", "after", "note"),
    [
        ({}, {}, "no known setting changed between the two"),
        (
            {"concurrency": 1.0},
            {"concurrency": 2.0, "qps": 5.0},
            "several things changed at once (concurrency, qps): which of them did it cannot be told",
        ),
    ],
)
def test_what_changed_is_judged(before: dict[str, float | None], after: dict[str, float | None], note: str) -> None:
    """No change, or several at once, leave open what did it."""
    assert note in verdict(made(known=before), made(known=after)).notes


def test_qps_and_burst_are_one_change() -> None:
    """They are two settings of one limiter."""
    notes = verdict(made(known={"qps": 10.0, "burst": 20.0}), made(known={"qps": 100.0, "burst": 200.0})).notes
    assert not any("changed" in note for note in notes)


@pytest.mark.parametrize(
    ("code", "severity", "note"),
    [
        (FindingCode.API_SERVER_SLOW, Severity.WARNING, "the API server is now the limit (api-server-slow; before it"),
        (FindingCode.HEALTHY, Severity.INFO, "nothing holds the operator back any more (healthy; before it"),
    ],
)
def test_a_limit_that_moved_is_named(code: FindingCode, severity: Severity, note: str) -> None:
    """What limits now, and what did before."""
    notes = verdict(made(), made(LESS_WAIT, code=code, severity=severity)).notes
    assert any(one.startswith(note) for one in notes)


def test_what_is_only_mentioned_is_no_limit() -> None:
    """A first finding that does no harm does not limit."""
    notes = verdict(made(), made(LESS_WAIT, code=FindingCode.API_SERVER_SLOW, severity=Severity.INFO)).notes
    assert not any("limit" in one for one in notes)


@pytest.mark.parametrize(
    ("factor", "note"),
    [
        (1.6, "8 times the workers gave 1.6 times the throughput: most of the added workers bought little"),
        (1.0, "8 times the workers gave no more throughput: most of the added workers bought little"),
        (6.0, None),
    ],
)
def test_added_workers_that_bought_little_are_named(factor: float, note: str | None) -> None:
    """Less than half of the throughput that the workers promised is little."""
    after = scaled(sustained_pods_per_second=factor)
    notes = verdict(made(known={"concurrency": 1.0}), made(after, known={"concurrency": 8.0})).notes
    assert [one for one in notes if "times the workers" in one] == ([] if note is None else [note])


def test_paced_work_comes_at_its_own_rate_whatever_the_workers() -> None:
    """Where clusters came one by one, throughput is the demand, and says nothing about workers."""
    notes = verdict(made(PACED, known={"concurrency": 1.0}), made(PACED, known={"concurrency": 8.0})).notes
    assert not any("times the workers" in one for one in notes)


def predicting() -> Report:
    """A report that advises four workers instead of one and predicts a wait of 2 to 9 s."""
    prediction = Prediction(
        quantity="queue_wait_seconds_mean", unit="seconds", now=9.0, then=2.25, low=2.25, high=9.0, method="made"
    )
    return made(predictions=(prediction,))


@pytest.mark.parametrize(
    ("wait", "result"),
    [(3.0, PredictionResult.INSIDE), (1.0, PredictionResult.BELOW), (10.0, PredictionResult.ABOVE)],
)
@pytest.mark.parametrize("workers", [2.0, 4.0])
def test_predictions_are_checked_where_the_advice_was_followed(
    wait: float, result: PredictionResult, workers: float
) -> None:
    """With the advised workers, or some between, what was measured lies inside, below or above the interval."""
    after = made({f"{CONTROLLER}queue_wait_seconds_mean": wait}, known={"concurrency": workers})
    (check,) = verdict(predicting(), after).predictions
    assert (check.measured, check.result, check.reason) == (wait, result, "")


@pytest.mark.parametrize(
    ("settings_after", "reason"),
    [
        ({"concurrency": 10.0}, "concurrency was to become 4 and is 10"),
        ({"concurrency": None}, "concurrency was to become 4 and is not known after"),
        ({"concurrency": 1.0}, "nothing of what was advised was set"),
        ({"concurrency": 4.0, "qps": -1.0}, "qps was to stay 100 and is -1"),
    ],
)
def test_predictions_for_other_settings_are_not_checked(settings_after: dict[str, float | None], reason: str) -> None:
    """The difference is named; what was measured is still there."""
    (check,) = verdict(predicting(), made(known=settings_after)).predictions
    assert (check.measured, check.result, check.reason) == (9.0, PredictionResult.NOT_CHECKED, reason)


def test_a_kept_setting_that_is_not_known_after_does_not_matter() -> None:
    """Only a difference that is known stands against a check."""
    (check,) = verdict(predicting(), made(known={"concurrency": 4.0, "qps": None})).predictions
    assert check.result is PredictionResult.INSIDE


def test_a_limiter_that_is_off_lies_beyond_any_limit() -> None:
    """Advice to raise QPS is not followed by turning the limiter off, which is more than was advised."""
    before = predicting()
    qps = msgspec.structs.replace(before.advice.qps, direction=Direction.RAISE, current=10.0, value=50.0)
    before = msgspec.structs.replace(before, advice=msgspec.structs.replace(before.advice, qps=qps))
    (check,) = verdict(before, made(known={"concurrency": 4.0, "qps": -1.0})).predictions
    assert check.reason == "qps was to become 50 and is -1"


def test_a_prediction_without_a_measure_is_not_checked() -> None:
    """Where the figure is missing after, that is said."""
    after = made({f"{CONTROLLER}queue_wait_seconds_mean": None}, known={"concurrency": 4.0})
    (check,) = verdict(predicting(), after).predictions
    assert check.reason == "not measured after: not among its figures"


def test_predictions_are_not_checked_against_another_load() -> None:
    """They were for the load before."""
    after = made({"demand.clusters_created": 200.0, "demand.pods_created": 1200.0}, known={"concurrency": 4.0})
    (check,) = verdict(predicting(), after).predictions
    assert (check.result, check.reason) == (PredictionResult.NOT_CHECKED, "the two cannot be compared")


def test_advice_without_a_change_has_nothing_to_follow() -> None:
    """Predictions with advice to keep everything are checked as they stand."""
    before = predicting()
    knob = msgspec.structs.replace(before.advice.concurrency, direction=Direction.KEEP, current=1.0, value=1.0)
    before = msgspec.structs.replace(before, advice=msgspec.structs.replace(before.advice, concurrency=knob))
    (check,) = verdict(before, made(known={"concurrency": 1.0})).predictions
    assert check.result is PredictionResult.INSIDE
