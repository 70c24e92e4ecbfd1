import pytest

from advisor.diagnosis import causes
from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    Given,
    adjusted,
    budget,
    case,
    checks_of,
    classic_client,
    client,
    controller,
    demand,
    examine,
    loaded_client,
    must_find,
    process,
    saturated,
    settings,
    unknown_controller,
)

CODE = FindingCode.API_SERVER_SLOW


def slow(
    seconds: float | None = 0.2, share: float | None = 0.9, *, workers: float = 2.0, **given: Given
) -> tuple[object, ...]:
    """Saturated workers that wait for the API server."""
    return saturated(workers=workers), loaded_client(write_api_seconds_mean=seconds, **given), budget(api_server=share)


def test_slow_writes_that_fill_the_time_hold() -> None:
    """Writes of 200 ms in nine tenths of the busy time; what a usual server would take is not counted as lost."""
    made = must_find(CODE, case(*slow()))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.MEDIUM)
    assert made.evidence[0].value == 0.2
    assert made.lost_seconds == pytest.approx(0.9 * (1.0 - 0.03 / 0.2) * 2200.0)
    assert checks_of(made) == {
        "Is it the client's own limiter?": None,
        "Is the process stopped by a CPU quota?": None,
    }


def test_a_single_worker_waits_for_latency_and_no_contention() -> None:
    """One worker at a time sends one request at a time: worth a note, since another worker would help."""
    assert must_find(CODE, case(*slow(workers=1.0))).severity is Severity.INFO
    shedding = must_find(CODE, case(*slow(workers=1.0, too_many_requests_ratio=0.2)))
    assert shedding.severity is Severity.CRITICAL


@pytest.mark.parametrize(
    ("seconds", "share", "holds"), [(0.1, 0.5, True), (0.099, 0.9, False), (0.2, 0.49, False), (None, 0.9, False)]
)
def test_its_thresholds(seconds: float | None, share: float, holds: bool) -> None:
    """Both the time of a write and its share of the busy time have to be there."""
    requests = loaded_client(write_api_seconds_mean=seconds, write_requests_per_second=0.0)
    assert (examine(CODE, case(saturated(), requests, budget(api_server=share))) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition or the loss."""
    assert examine(CODE, case(*slow(0.06), thresholds=adjusted(slow_write_seconds=0.05))) is not None
    assert examine(CODE, case(*slow(0.2, 0.3), thresholds=adjusted(api_share=0.3))) is not None
    assert examine(CODE, case(*slow(), thresholds=adjusted(slow_write_seconds=0.3))) is None
    usual = must_find(CODE, case(*slow(), thresholds=adjusted(usual_write_seconds=0.2)))
    assert usual.lost_seconds == 0.0


@pytest.mark.parametrize(("ratio", "holds"), [(0.05, True), (0.049, False)])
def test_shed_load_holds(ratio: float, holds: bool) -> None:
    """A material part of the answers being 429 is enough, however quick the others are."""
    made = examine(CODE, case(saturated(), loaded_client(too_many_requests_ratio=ratio)))
    assert (made is not None) == holds
    if made is not None:
        assert "429" in made.summary
        assert made.confidence is Confidence.HIGH
        assert made.severity is Severity.CRITICAL


def test_a_few_refusals_are_chance() -> None:
    """One 429 among ten requests of a quiet hour says nothing; an unknown number of requests leaves the ratio."""
    few = client(requests_per_second=0.1, too_many_requests_ratio=0.1)
    assert examine(CODE, case(controller(), few)) is None
    assert examine(CODE, case(controller(), few, thresholds=adjusted(fewest_errors=1))) is not None
    five = client(requests_per_second=0.5, too_many_requests_ratio=0.1)
    assert must_find(CODE, case(controller(), five)).severity is Severity.WARNING
    unknown = client(requests_per_second=None, too_many_requests_ratio=0.1)
    assert examine(CODE, case(controller(), unknown)) is not None


def test_the_refusals_that_count_are_a_setting() -> None:
    """A lower ratio finds fewer refusals."""
    one = case(
        saturated(), loaded_client(too_many_requests_ratio=0.02), thresholds=adjusted(too_many_requests_ratio=0.02)
    )
    assert examine(CODE, one) is not None


@pytest.mark.parametrize(("utilisation", "severity"), [(0.7, Severity.WARNING), (0.69, Severity.INFO)])
def test_severity_without_harm(utilisation: float, severity: Severity) -> None:
    """Where nobody waits yet, mostly busy workers make it a warning."""
    one = case(controller(utilisation=utilisation), loaded_client(write_api_seconds_mean=0.2), budget(api_server=0.9))
    assert must_find(CODE, one).severity is severity


def test_a_cpu_quota_refutes_slow_writes_but_not_refusals() -> None:
    """A stopped process sees every request stretched; a 429 is the server's own word."""
    quota = process(cpu_cores=0.1, cpu_limit_cores=0.1, cpu_throttled_ratio=0.5)
    assert examine(CODE, case(*slow(), quota)) is None
    assert examine(CODE, case(*slow(too_many_requests_ratio=0.5), quota)) is not None


def test_a_limiter_without_histogram_refutes_it() -> None:
    """Before 1.7 a full bucket stretches each write as much as a slow server would."""
    requests = classic_client(write_requests_per_second=5.0)
    known = settings(version="1.6.1", qps=20.0)
    one = case(saturated(), requests, demand(sustained_pods_per_second=20.0), known)
    assert examine(CODE, one) is None


def test_the_time_of_a_write_is_inferred_before_1_7() -> None:
    """Without durations the workers' busy time over the writes stands in, with low confidence."""
    requests = classic_client(write_requests_per_second=5.0, post_requests_per_second=4.0)
    known = settings(version="1.6.1", concurrency=1.0)
    made = must_find(CODE, case(saturated(), requests, known, queue="classic"))
    assert made.confidence is Confidence.LOW
    assert made.evidence[2].value == pytest.approx((100.0 - 1.0) / 500.0)


def test_polling_dashboards_is_not_the_api_server() -> None:
    """Inferred times say nothing where controllers mostly wait for something else."""
    requests = classic_client(write_requests_per_second=0.5, post_requests_per_second=0.2)
    one = case(saturated("rayjob", workers=4.0), controller(utilisation=0.1), requests, settings(version="1.6.1"))
    assert causes.external_bound(one)
    assert examine(CODE, one) is None


def test_a_limiter_that_may_be_why_hides_the_server() -> None:
    """With an unknown QPS the inferred time may be the limiter's: no finding blames the server."""
    requests = classic_client(write_requests_per_second=5.0)
    one = case(saturated(), requests, settings(version="1.6.1", qps=None, burst=None), queue="classic")
    assert causes.cause_hidden(one)
    assert examine(CODE, one) is None


def test_measured_bounds_are_told_in_the_checks() -> None:
    """Where limiter and throttling are measured the checks say so."""
    quota = process(cpu_cores=0.02, cpu_limit_cores=0.1, cpu_throttled_ratio=0.0)
    requests = loaded_client(write_api_seconds_mean=0.2)
    one = case(saturated(), requests, quota, budget(api_server=0.9, client_limiter=0.0))
    made = must_find(CODE, one)
    assert set(checks_of(made).values()) == {False}
    assert made.confidence is Confidence.HIGH


def test_nothing_known_is_no_finding() -> None:
    """Missing durations are not slow ones."""
    one = case(unknown_controller(), classic_client(write_requests_per_second=None), process(cpu_cores=None))
    assert examine(CODE, one) is None
    assert causes.excess_share(one) == 0.0
