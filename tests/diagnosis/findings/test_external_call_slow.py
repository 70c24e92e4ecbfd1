import pytest

from advisor.diagnosis import causes
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
    external,
    must_find,
    process,
    saturated,
    settings,
    unknown_controller,
)

CODE = FindingCode.EXTERNAL_CALL_SLOW


def polling(low: float | None = 0.8, *, busy: float = 2.0, **given: Given) -> tuple[object, ...]:
    """RayJob workers whose time is, by the others' bounds, at least ``low`` outside."""
    values: Given = {"workers": 2.0, "busy_workers_mean": busy, "work_seconds_mean": 2.0}
    share = None if low is None else estimated("external", max(low, 0.85), low=low, high=1.0)
    return saturated("rayjob", **(values | given)), controller(busy_workers_mean=0.0), client(), budget(external=share)


def test_time_that_nothing_else_explains_holds() -> None:
    """At least eight tenths of the RayJob workers' time is outside API server, limiter and CPU."""
    made = must_find(CODE, case(*polling()))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert made.subject == "rayjob"
    assert made.evidence[0].value == 0.85
    assert checks_of(made) == {"Can the API server's time explain it?": False}


@pytest.mark.parametrize(("low", "holds"), [(0.5, True), (0.49, False), (0.0, False)])
def test_the_share_that_decides(low: float, holds: bool) -> None:
    """The lower bound has to reach half, as only that is certain; the setting moves it."""
    assert (examine(CODE, case(*polling(low))) is not None) == holds
    assert examine(CODE, case(*polling(0.3), thresholds=adjusted(external_share=0.3))) is not None
    assert examine(CODE, case(*polling(0.8), thresholds=adjusted(external_share=0.9))) is None


def test_a_share_without_bounds_proves_nothing() -> None:
    """Only a lower bound is certain."""
    assert examine(CODE, case(saturated("rayjob"), client(), budget(external=0.9))) is None


@pytest.mark.parametrize(("busy", "holds"), [(0.5, True), (0.49, False)])
def test_idle_workers_wait_for_nothing(busy: float, holds: bool) -> None:
    """From half a busy worker on; the setting moves it."""
    assert (examine(CODE, case(*polling(busy=busy))) is not None) == holds
    assert examine(CODE, case(*polling(busy=0.2), thresholds=adjusted(idle_workers=0.1))) is not None


@pytest.mark.parametrize(
    ("wait", "severity"), [(5.0, Severity.CRITICAL), (1.0, Severity.WARNING), (0.9, Severity.INFO)]
)
def test_severity_follows_the_wait(wait: float, severity: Severity) -> None:
    """Slow dashboards that make nobody wait are worth a note."""
    one = case(*polling(queue_wait_seconds_mean=wait, oldest_wait_seconds_peak=wait))
    assert must_find(CODE, one).severity is severity


def test_controllers_without_external_calls_refute_it() -> None:
    """RayClusters wait for nothing but the API server."""
    one = case(saturated("raycluster"), client(), budget(external=estimated("external", 0.9, low=0.9, high=1.0)))
    assert causes.external_controllers_busy_share(one) == 0.0
    assert examine(CODE, one) is None


def classic(writes: float | None = 1.0, *more: object, busy: float = 2.0) -> tuple[object, ...]:
    """The same in a release without durations."""
    requests = classic_client(write_requests_per_second=writes, post_requests_per_second=0.5)
    jobs = saturated("rayjob", workers=2.0, busy_workers_mean=busy)
    return (jobs, requests, settings(version="1.6.1", concurrency=2.0), *more)


def test_before_1_7_writes_that_cannot_fill_the_time_hold() -> None:
    """One write a second, even if each took 100 ms, fills a twentieth of two workers' time."""
    made = must_find(CODE, case(*classic(), queue="classic"))
    assert made.confidence is Confidence.MEDIUM
    assert checks_of(made) == {"Can the API server's time explain it?": None}


@pytest.mark.parametrize(("writes", "holds"), [(9.7, True), (9.9, False), (None, False)])
def test_before_1_7_writes_may_explain_it(writes: float | None, holds: bool) -> None:
    """Writes and CPU that may fill half of the time refute it; unknown writes prove nothing."""
    assert (examine(CODE, case(*classic(writes))) is not None) == holds


def test_what_a_slow_write_takes_is_a_setting() -> None:
    """Were writes usually as slow as a second, they might explain it."""
    assert examine(CODE, case(*classic(), thresholds=adjusted(slow_write_seconds=1.0))) is None


def test_before_1_7_cpu_time_may_explain_it() -> None:
    """Two cores of computing are not two workers waiting."""
    assert examine(CODE, case(*classic(1.0, process(cpu_cores=1.5)))) is None
    assert examine(CODE, case(*classic(1.0, process(cpu_cores=None)))) is not None


def test_before_1_7_a_cpu_quota_refutes_it() -> None:
    """A stopped process waits for nobody."""
    quota = process(cpu_cores=0.1, cpu_limit_cores=0.1, cpu_throttled_ratio=0.9)
    assert examine(CODE, case(*classic(1.0, quota))) is None


def test_before_1_7_a_full_bucket_refutes_it() -> None:
    """Waits in the client's limiter look the same from the workers."""
    known = settings(version="1.6.1", concurrency=2.0, qps=5.0)
    jobs = saturated("rayjob", workers=2.0)
    one = case(jobs, classic_client(write_requests_per_second=1.0), known, demand(sustained_pods_per_second=5.0))
    assert examine(CODE, one) is None


def test_nothing_known_is_no_finding() -> None:
    """Unknown busy time is no waiting."""
    assert examine(CODE, case(unknown_controller("rayjob"))) is None
    assert examine(CODE, case(NO_CONTROLLERS)) is None


@pytest.mark.parametrize(
    ("timeouts", "severity"), [(0.1, Severity.WARNING), (0.0, Severity.INFO), (None, Severity.INFO)]
)
def test_time_outs_are_a_warning_though_nobody_waits(timeouts: float | None, severity: Severity) -> None:
    """Calls that end in a time-out hold a worker for all of it; the next few will make keys wait."""
    calm: Given = {"queue_wait_seconds_mean": 0.1, "oldest_wait_seconds_peak": 0.2}
    one = case(*polling(**calm), external(timeouts_per_second=timeouts))
    assert must_find(CODE, one).severity is severity


def test_told_calls_make_an_unknown_controller_one_that_calls() -> None:
    """Of an operator that is not known, somebody has to tell that it calls others."""
    share = budget(external=estimated("external", 0.9, low=0.9, high=0.9))
    unknown = saturated("spark", workers=2.0)
    assert examine(CODE, case(unknown, client(), share)) is None
    assert must_find(CODE, case(unknown, client(), share, external(call_seconds_mean=2.0))).subject == "spark"
