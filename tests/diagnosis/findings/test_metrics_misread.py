import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    Value,
    adjusted,
    case,
    client,
    codes,
    controller,
    diagnosed,
    examine,
    loaded_client,
    must_find,
    saturated,
    unknown_controller,
)

CODE = FindingCode.METRICS_MISREAD


def test_a_percentile_that_a_decade_bucket_made_up() -> None:
    """A mean of 0.05 s beside a quantile of 7 s, which may be anything from 1 s on: a note beside the all-clear."""
    made = diagnosed(controller(queue_wait_seconds_mean=0.05, queue_wait_seconds_p99=7.0))
    assert codes(made) == ["healthy", "metrics-misread"]
    one = must_find(CODE, made.case)
    assert (one.severity, one.confidence) == (Severity.INFO, Confidence.HIGH)
    assert "a bucket up to 10 s; the mean is exact." in one.summary
    assert [shown.value for shown in one.evidence] == [7.0]


@pytest.mark.parametrize(
    ("quantile", "mean", "holds"),
    [
        (1.5, 0.5, True),
        (1.4, 0.5, False),
        (0.99, 0.01, False),
        (1.0, 0.01, True),
        (999.0, 1.0, True),
        (1001.0, 1.0, False),
        (7.0, None, False),
        (7.0, 0.0, False),
        (None, 0.01, False),
    ],
)
def test_the_quantiles_that_count(quantile: Value, mean: Value, holds: bool) -> None:
    """At least three times the mean, long enough to alarm somebody, and inside a bucket."""
    one = case(controller(queue_wait_seconds_mean=mean, queue_wait_seconds_p99=quantile))
    assert (examine(CODE, one) is not None) == holds


def test_limiter_waits_of_others() -> None:
    """A third of the requests wait while no worker is busy: events and the lease, not reconciles."""
    made = must_find(CODE, case(controller(), client(limited_share=0.37, limiter_wait_seconds_mean=0.28)))
    assert made.severity is Severity.INFO
    assert made.evidence[0].value == 0.37
    assert "these are not their waits" in made.summary


@pytest.mark.parametrize(
    ("share", "busy", "holds"), [(0.25, 0.49, True), (0.249, 0.1, False), (0.9, 0.5, False), (None, 0.1, False)]
)
def test_the_waits_that_count(share: Value, busy: float, holds: bool) -> None:
    """A quarter of the requests, and workers idle."""
    assert (examine(CODE, case(controller(busy_workers_mean=busy), client(limited_share=share))) is not None) == holds


def test_busy_workers_refute_it() -> None:
    """Where keys wait for workers the limiter's waits may be theirs."""
    assert examine(CODE, case(saturated(), loaded_client(limited_share=0.9))) is None
    brief = controller(busy_workers_mean=0.1, backlog_peak=3.0)
    assert examine(CODE, case(brief, client(limited_share=0.9))) is None


def test_both_are_told_together() -> None:
    """In one sentence, each with its evidence."""
    one = case(controller(queue_wait_seconds_p99=7.0), client(limited_share=0.37))
    assert len(must_find(CODE, one).evidence) == 2


def test_the_thresholds_are_settings() -> None:
    """Each moves the condition."""
    wait = controller(queue_wait_seconds_mean=1.0, queue_wait_seconds_p99=2.0, busy_workers_mean=0.6)
    assert examine(CODE, case(wait, thresholds=adjusted(misread_quantile_factor=2.0))) is not None
    limited = client(limited_share=0.1)
    assert examine(CODE, case(wait, limited, thresholds=adjusted(limited_requests_share=0.1))) is None
    moved = adjusted(limited_requests_share=0.1, idle_workers=1.0)
    assert examine(CODE, case(wait, limited, thresholds=moved)) is not None


def test_nothing_known_is_no_finding() -> None:
    """No quantile and no limiter histogram."""
    assert examine(CODE, case(unknown_controller(), client(limited_share=None))) is None
