import pytest

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    adjusted,
    budget,
    case,
    checks_of,
    classic_client,
    client,
    controller,
    demand,
    estimated,
    examine,
    loaded_client,
    log,
    must_find,
    saturated,
    settings,
    unknown_controller,
)

CODE = FindingCode.CLIENT_THROTTLED


def throttled(share: float, limited: float | None = 0.9, **options: Given) -> Case:
    """Saturated workers that spend ``share`` of their time in the limiter."""
    limiter = estimated("client_limiter", share)
    return case(saturated(), loaded_client(limited_share=limited), budget(client_limiter=limiter), **options)


def classic(*parts: object, qps: float | None = 20.0, **options: Given) -> Case:
    """Saturated workers of a release that shows no limiter wait."""
    requests = classic_client(write_requests_per_second=40.0, post_requests_per_second=30.0)
    known = settings(version="1.6.1", concurrency=1.0, qps=qps, burst=30.0)
    return case(saturated(), *parts, requests, known, queue="classic", **options)


def test_time_in_the_limiter_holds() -> None:
    """A measured share of busy time beyond the threshold is proof, and the server is told apart by the histogram."""
    made = must_find(CODE, throttled(0.6))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert made.evidence[0].value == 0.6
    assert [one for one in made.evidence if one.text.startswith("QPS 100, Burst 200")]
    assert checks_of(made) == {"Is the API server slow instead?": False}
    assert made.lost_seconds == pytest.approx(0.6 * (2000.0 + 100.0))


@pytest.mark.parametrize(
    ("share", "limited", "holds"),
    [
        (0.3, 0.0, True),
        (0.29, 0.24, False),
        (0.29, 0.25, True),
        (0.1, 0.25, True),
        (0.09, 0.9, False),
        (0.29, None, False),
    ],
)
def test_its_thresholds(share: float, limited: float | None, holds: bool) -> None:
    """A large share alone, or a noticed one while many requests wait; an unknown number of those proves nothing."""
    assert (examine(CODE, throttled(share, limited)) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition."""
    assert examine(CODE, throttled(0.25, 0.0, thresholds=adjusted(limiter_share=0.2))) is not None
    assert examine(CODE, throttled(0.05, 0.9, thresholds=adjusted(limiter_noticed_share=0.05))) is not None
    assert examine(CODE, throttled(0.2, 0.1, thresholds=adjusted(limited_requests_share=0.1))) is not None
    assert examine(CODE, throttled(0.4, 0.0, thresholds=adjusted(limiter_share=0.5))) is None


def test_a_limiter_that_is_off_refutes_it() -> None:
    """With a negative QPS nothing waits, whatever else the data seems to say."""
    off = settings(qps=-1.0, burst=0.0)
    limiter = budget(client_limiter=0.9)
    assert examine(CODE, case(saturated(), loaded_client(limited_share=0.9), limiter, off)) is None
    assert examine(CODE, classic(log(throttle_lines=50.0), qps=-1.0)) is None


def test_no_wait_in_the_histogram_refutes_it() -> None:
    """Where the wait is measured the plateau is not looked at."""
    one = case(saturated(), loaded_client(), settings(qps=20.0), demand(sustained_pods_per_second=20.0))
    assert examine(CODE, one) is None


@pytest.mark.parametrize(
    ("share", "longest", "p99", "severity"),
    [(0.5, 2.0, 0.1, Severity.WARNING), (0.5, 1.9, 0.1, Severity.INFO), (0.5, None, 2.0, Severity.WARNING)],
)
def test_nobody_waits(share: float, longest: float | None, p99: float, severity: Severity) -> None:
    """An idle operator is warned about only where a single reconcile becomes noticeably longer."""
    idle = controller(longest_running_seconds=longest, reconcile_seconds_p99=p99)
    one = case(idle, loaded_client(limited_share=0.9), budget(client_limiter=share))
    assert must_find(CODE, one).severity is severity


@pytest.mark.parametrize(("busy", "severity"), [(0.5, Severity.WARNING), (0.49, Severity.INFO)])
def test_working_workers_are_warned_about(busy: float, severity: Severity) -> None:
    """From half a busy worker on the loss is a warning, though no key waits."""
    one = case(controller(busy_workers_mean=busy), loaded_client(), budget(client_limiter=0.5))
    assert must_find(CODE, one).severity is severity


@pytest.mark.parametrize(("wait", "severity"), [(5.0, Severity.CRITICAL), (4.9, Severity.WARNING)])
def test_severity_follows_the_wait(wait: float, severity: Severity) -> None:
    """Critical where keys wait beyond the target."""
    one = case(saturated(queue_wait_seconds_mean=wait), loaded_client(), budget(client_limiter=0.5))
    assert must_find(CODE, one).severity is severity


@pytest.mark.parametrize(("rate", "holds"), [(20.0, True), (17.0, True), (16.9, False), (23.0, True), (23.1, False)])
def test_a_plateau_at_qps_holds_before_1_7(rate: float, holds: bool) -> None:
    """Without the histogram: Pods at just the rate that QPS allows while workers are busy."""
    made = examine(CODE, classic(demand(sustained_pods_per_second=rate)))
    assert (made is not None) == holds
    if made is not None:
        assert made.confidence is Confidence.MEDIUM
        assert checks_of(made) == {"Is the API server slow instead?": None}


def test_the_width_of_the_plateau_is_a_setting() -> None:
    """A wider tolerance takes a rate further from QPS for the ceiling."""
    assert examine(CODE, classic(demand(sustained_pods_per_second=15.0))) is None
    wide = adjusted(plateau_tolerance=0.3)
    assert examine(CODE, classic(demand(sustained_pods_per_second=15.0), thresholds=wide)) is not None


def test_no_backlog_no_plateau() -> None:
    """A rate equal to QPS while nobody waits is chance."""
    idle = controller(backlog_peak=0.0)
    known = settings(version="1.6.1", qps=20.0)
    one = case(idle, classic_client(), demand(sustained_pods_per_second=20.0), known)
    assert examine(CODE, one) is None


@pytest.mark.parametrize(("lines", "holds"), [(1.0, True), (0.0, False), (None, False)])
def test_throttling_lines_are_proof(lines: float | None, holds: bool) -> None:
    """A line stands for ten seconds: one in a hundred seconds is a tenth of the time. No line proves nothing."""
    made = examine(CODE, classic(log(throttle_lines=lines, throttled_kind="pods"), qps=None))
    assert (made is not None) == holds
    if made is not None:
        assert (made.confidence, made.subject) == (Confidence.HIGH, "pods")


def test_a_single_line_in_a_long_time_is_a_burst() -> None:
    """Two lines in a hundred seconds do not make a tenth and a half of them."""
    strict = adjusted(limiter_noticed_share=0.25)
    assert examine(CODE, classic(log(throttle_lines=2.0), qps=None, thresholds=strict)) is None
    assert examine(CODE, classic(log(throttle_lines=3.0), qps=None, thresholds=strict)) is not None


def test_lines_while_nobody_waits_are_not_the_bottleneck() -> None:
    """Without a true backlog a throttling line is about some burst."""
    assert examine(CODE, case(controller(), classic_client(), log(throttle_lines=30.0))) is None


def test_metrics_alone_give_a_weak_sign() -> None:
    """POST requests that may fill a bucket and writes that cost a worker long: suspected, with low confidence."""
    known = settings(version="1.6.1", concurrency=1.0, qps=5.0, burst=10.0)
    slow = classic_client(write_requests_per_second=5.0, post_requests_per_second=4.5)
    made = must_find(CODE, case(saturated(), slow, known, queue="classic"))
    assert made.confidence is Confidence.LOW
    fast = classic_client(write_requests_per_second=40.0, post_requests_per_second=30.0)
    assert examine(CODE, case(saturated(), fast, known, queue="classic")) is None


@pytest.mark.parametrize("posts", [4.0, None])
def test_a_total_below_qps_excludes_it(posts: float | None) -> None:
    """Fewer POSTs in all than one bucket lets through fill none; an unknown total excludes nothing."""
    known = settings(version="1.6.1", concurrency=1.0, qps=5.0, burst=10.0)
    slow = classic_client(write_requests_per_second=5.0, post_requests_per_second=posts)
    one = case(saturated(), slow, known, queue="classic")
    assert causes.limiter_excluded(one) == (posts is not None)
    assert (examine(CODE, one) is None) == (posts is not None)


def test_a_measured_or_absent_limiter_is_excluded() -> None:
    """Where the wait is measured, or there is no limiter, nothing has to be inferred."""
    assert causes.limiter_excluded(case(saturated(), loaded_client(), budget(client_limiter=0.0)))
    assert causes.limiter_excluded(case(saturated(), classic_client(), settings(qps=-1.0, burst=0.0)))
    assert not causes.limiter_excluded(case(saturated(), classic_client(), settings(qps=None)))


def test_an_unknown_qps_and_no_line_is_no_finding() -> None:
    """Nothing to compare with."""
    assert examine(CODE, classic(demand(sustained_pods_per_second=20.0), qps=None)) is None
    assert examine(CODE, classic(demand(sustained_pods_per_second=20.0), qps=0.0)) is None


def test_unknown_settings_are_shown_as_unknown() -> None:
    """Measured waits need no settings; these are then shown as unknown."""
    one = case(saturated(), loaded_client(), budget(client_limiter=0.5), settings(qps=None, burst=None))
    made = must_find(CODE, one)
    assert made.evidence[-1].text == "QPS unknown, Burst unknown"
    assert made.evidence[-1].value is None


def test_nothing_known_is_no_finding() -> None:
    """Missing figures are not a full bucket."""
    assert examine(CODE, case(unknown_controller(), classic_client(), demand(), log())) is None


@pytest.mark.parametrize(
    ("share", "wait", "holds"), [(0.25, 1.0, True), (0.24, 1.0, False), (0.25, 0.99, False), (None, 9.0, False)]
)
def test_without_any_controller_long_waits_of_most_requests_hold(share: float | None, wait: float, holds: bool) -> None:
    """Of an operator whose workers are not known the client alone tells."""
    one = case(NO_CONTROLLERS, client(limited_share=share, limiter_wait_seconds_mean=wait), settings(qps=5.0))
    made = examine(CODE, one)
    assert (made is not None) == holds
    if made is not None:
        assert made.confidence is Confidence.HIGH


@pytest.mark.parametrize(
    ("name", "rate", "holds"), [("spark", 20.0, True), ("spark", 16.9, False), ("raycluster", 20.0, False)]
)
def test_all_requests_at_just_qps_of_an_unknown_operator(name: str, rate: float, holds: bool) -> None:
    """It may write a single kind, so its total may be one bucket's; KubeRay's never is."""
    classic = classic_client(requests_per_second=rate, post_requests_per_second=None, write_requests_per_second=None)
    one = case(saturated(name), classic, settings(version=None, qps=20.0, burst=30.0), queue="classic")
    assert (examine(CODE, one) is not None) == holds
