import pytest

from advisor.diagnosis.case import Case
from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.signal import Quality, measured
from tests.diagnosis.builders import (
    Given,
    adjusted,
    case,
    checks_of,
    classic_client,
    controller,
    demand,
    examine,
    key,
    loaded_client,
    log,
    must_find,
    points,
    process,
    saturated,
    settings,
    unknown_controller,
)

CODE = FindingCode.WORKERS_SATURATED


def busy(**given: Given) -> Case:
    """All workers busy, twenty keys waiting, requests of usual length, a log with many keys."""
    options = {name: given.pop(name) for name in ("thresholds",) if name in given}
    return case(saturated(**given), loaded_client(), key(share=0.02), log(conflicts=0.0), **options)


def test_busy_workers_and_waiting_keys_hold() -> None:
    """A true backlog that is noticed, with nothing slow, is a lack of workers; the evidence shows the figures."""
    made = must_find(CODE, busy())
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert made.subject == "raycluster"
    assert made.evidence[0].value == 20.0
    assert made.evidence[0].origin == "series of backlog_mean"
    assert set(checks_of(made).values()) == {False}
    assert made.lost_ratio > 0.8


@pytest.mark.parametrize(
    ("mean", "oldest", "severity"),
    [
        (5.0, 0.0, Severity.CRITICAL),
        (4.99, 0.0, Severity.WARNING),
        (1.0, 0.0, Severity.WARNING),
        (0.99, 5.0, Severity.WARNING),
        (0.99, 4.99, None),
    ],
)
def test_severity_follows_the_wait(mean: float, oldest: float, severity: Severity | None) -> None:
    """Critical beyond the target on average, a warning where people notice a wait, nothing below that."""
    made = examine(CODE, busy(queue_wait_seconds_mean=mean, oldest_wait_seconds_peak=oldest))
    assert (made.severity if made else None) == severity


def test_the_wait_that_counts_is_a_setting() -> None:
    """A lower warning threshold finds a shorter wait, a higher target makes a critical one a warning."""
    short = {"queue_wait_seconds_mean": 0.5, "oldest_wait_seconds_peak": 1.0}
    assert examine(CODE, busy(**short)) is None
    assert examine(CODE, busy(**short, thresholds=adjusted(wait_warning_seconds=0.5))) is not None
    made = must_find(CODE, busy(thresholds=adjusted(wait_target_seconds=10.0)))
    assert made.severity is Severity.WARNING


def test_without_a_true_backlog_it_does_not_hold() -> None:
    """Depth that equals the busy workers may be keys behind their own reconcile: that proves nothing."""
    assert examine(CODE, busy(backlog_mean=0.4, backlog_peak=0.9, depth_mean=1.4)) is None
    assert examine(CODE, busy(backlog_mean=None, backlog_peak=None, depth_mean=20.0)) is None


def test_a_worker_that_finishes_nothing_is_saturated_too() -> None:
    """With no reconcile finished there is no mean wait and no error ratio; the oldest key's age still tells."""
    stuck = saturated(
        reconciles_per_second=0.0,
        queue_wait_seconds_mean=None,
        oldest_wait_seconds_peak=95.0,
        work_seconds_mean=None,
        errors_per_second=None,
        error_ratio=None,
    )
    made = must_find(CODE, case(stuck, loaded_client(write_requests_per_second=30.0)))
    assert made.severity is Severity.WARNING


def test_a_client_limiter_refutes_it() -> None:
    """Workers that wait in the token bucket are not too few."""
    one = case(
        saturated(),
        loaded_client(limiter_wait_seconds=60.0, limited_share=0.9, api_seconds=30.0),
        key(share=0.02),
    )
    assert examine(CODE, one) is None


def test_a_limiter_without_histogram_refutes_it_at_its_ceiling() -> None:
    """Before 1.7: Pods created at just the rate that QPS allows."""
    parts = (saturated(), classic_client(write_requests_per_second=35.0))
    assert examine(CODE, case(*parts, demand(sustained_pods_per_second=95.0))) is None
    assert examine(CODE, case(*parts, demand(sustained_pods_per_second=60.0))) is not None


def test_a_cpu_quota_refutes_it() -> None:
    """A process that the kernel stops is not short of workers."""
    quota = process(cpu_cores=0.095, cpu_limit_cores=0.1, cpu_throttled_ratio=0.6)
    assert examine(CODE, case(saturated(), loaded_client(), quota)) is None


def test_a_slow_api_server_refutes_it() -> None:
    """Writes of 150 ms that fill the workers' time are the API server's doing."""
    slow = loaded_client(write_api_seconds_mean=0.15, api_seconds=950.0)
    assert examine(CODE, case(saturated(workers=10.0), slow)) is None


def test_a_slow_api_server_does_not_refute_it_for_a_single_worker() -> None:
    """One worker alone waits for latency and causes no contention: a second one shortens the others' wait."""
    slow = loaded_client(write_api_seconds_mean=0.15, api_seconds=95.0)
    made = must_find(CODE, case(saturated(), slow))
    assert made.severity is Severity.CRITICAL
    assert checks_of(made)["Is the API server slow?"] is False
    shedding = loaded_client(write_api_seconds_mean=0.15, api_seconds=95.0, too_many_requests_ratio=0.2)
    assert examine(CODE, case(saturated(), shedding)) is None


@pytest.mark.parametrize(
    ("mean", "utilisation", "holds"),
    [(1.0, 0.2, True), (0.99, 0.2, False), (0.99, 0.69, False), (0.99, 0.7, True), (0.99, None, True)],
)
def test_a_burst_now_and_then_is_no_lack_of_workers(mean: float, utilisation: float | None, holds: bool) -> None:
    """A backlog lasts where keys wait most of the time, or now and then for workers that are mostly busy."""
    one = saturated(workers=4.0, backlog_mean=mean, backlog_peak=30.0, busy_workers_mean=1.0, utilisation=utilisation)
    assert (examine(CODE, case(one, loaded_client())) is not None) == holds


def test_fewer_workers_that_got_more_done_refute_it() -> None:
    """Measured points decide over any backlog."""
    scaled = saturated(workers=8.0, scaling=points(w4=0.3, w8=0.2))
    assert examine(CODE, case(scaled, loaded_client())) is None
    level = saturated(workers=8.0, scaling=points(w4=0.3, w8=0.3))
    assert examine(CODE, case(level, loaded_client())) is not None


def test_a_server_that_sheds_load_refutes_it() -> None:
    """Workers that sleep for what Retry-After says are not too few."""
    assert examine(CODE, case(saturated(), loaded_client(too_many_requests_ratio=0.2))) is None


def test_one_hot_key_refutes_it_while_workers_are_idle() -> None:
    """Keys that mostly wait beside idle workers wait for themselves, even if once others waited too."""
    beside_idle = saturated(workers=4.0, utilisation=0.25, blocked_ratio=0.9, backlog_mean=1.0, backlog_peak=3.0)
    assert examine(CODE, case(beside_idle, loaded_client(), key(share=0.95))) is None
    assert examine(CODE, case(beside_idle, loaded_client(), key(share=0.3))) is not None


def test_one_long_reconcile_beside_idle_workers_refutes_it_without_a_log() -> None:
    """Without a log the long reconcile beside idle workers tells the same."""
    one = saturated(
        workers=4.0,
        utilisation=0.25,
        blocked_ratio=0.9,
        backlog_mean=1.0,
        backlog_peak=3.0,
        longest_running_seconds=60.0,
    )
    assert examine(CODE, case(one, loaded_client())) is None


def test_one_big_key_that_holds_the_only_worker_does_not_refute_it() -> None:
    """With one worker a big cluster starves the others, and a second worker frees them (kuberay case 1)."""
    one = case(saturated(longest_running_seconds=90.0), loaded_client(), key(share=0.95))
    made = must_find(CODE, one)
    assert checks_of(made)["Does one key carry the backlog?"] is False


@pytest.mark.parametrize(("failures", "holds"), [(0.6, True), (0.7, False)])
def test_failures_refute_it_from_the_error_ratio_on(failures: float, holds: bool) -> None:
    """A fifth of the reconciles failing is a load of its own; less is not."""
    one = case(saturated(errors_per_second=failures), loaded_client(), log(control_flow_errors=0.0, conflicts=0.0))
    assert (examine(CODE, one) is not None) == holds


def test_a_few_failures_are_chance() -> None:
    """Four failures refute nothing, however few reconciles there were."""
    one = saturated(reconciles_per_second=0.1, errors_per_second=0.04, work_seconds_mean=10.0)
    assert examine(CODE, case(one, loaded_client(write_requests_per_second=30.0))) is not None
    few = adjusted(fewest_errors=3)
    assert examine(CODE, case(one, loaded_client(write_requests_per_second=30.0), thresholds=few)) is None


@pytest.mark.parametrize(("conflicts", "holds"), [(60.0, True), (70.0, False)])
def test_conflicts_with_another_writer_refute_it(conflicts: float, holds: bool) -> None:
    """Where somebody else writes, a fifth of the reconciles being done again is a load of its own."""
    quiet = loaded_client(write_requests_per_second=1.5, api_seconds=40.0)
    one = case(saturated(errors_per_second=conflicts / 100), quiet, log(conflicts=conflicts, control_flow_errors=0.0))
    assert (examine(CODE, one) is not None) == holds


def test_own_conflicts_do_not_refute_it() -> None:
    """An operator that conflicts with its own stale cache under load lacks workers all the same."""
    one = case(saturated(errors_per_second=0.9), loaded_client(), log(conflicts=90.0, control_flow_errors=0.0))
    assert examine(CODE, one) is not None


def test_the_controller_whose_keys_wait_for_a_worker_is_named() -> None:
    """A hot RayCluster with the larger area of waiting does not hide RayJobs that wait for a worker."""
    hot = controller(
        "raycluster", workers=2.0, depth_mean=60.0, backlog_peak=0.0, blocked_ratio=0.0, queue_wait_seconds_mean=0.1
    )
    made = must_find(CODE, case(hot, saturated("rayjob", workers=2.0), loaded_client()))
    assert made.subject == "rayjob"


def test_a_backlog_that_nobody_notices_does_not_borrow_the_harm_of_another() -> None:
    """A moment's backlog of one controller is not critical because keys of another wait for themselves."""
    moment = controller("raycluster", workers=2.0, backlog_mean=0.01, backlog_peak=1.0, queue_wait_seconds_mean=0.02)
    waits = controller("rayservice", workers=2.0, queue_wait_seconds_mean=9.0, depth_mean=1.0)
    assert examine(CODE, case(moment, waits, loaded_client())) is None


def test_a_controller_with_a_fixed_number_of_workers_is_told_apart() -> None:
    """The step beside the finding does not ask for what the flag cannot do."""
    made = must_find(CODE, case(controller(), saturated("raycluster-mtls"), loaded_client()))
    assert made.subject == "raycluster-mtls"
    assert "fixed" in made.next_steps[0]


def test_the_classic_queue_without_log_objects_and_container_holds_too() -> None:
    """Release 1.6 with metrics alone: what cannot be told is None in the checks, not no."""
    one = case(
        saturated(),
        classic_client(write_requests_per_second=35.0),
        process(cpu_cores=None),
        settings(version="1.6.1", concurrency=1.0),
        queue="classic",
    )
    made = must_find(CODE, one)
    questions = checks_of(made)
    assert questions["Does a CPU quota stop the process?"] is None
    assert questions["Does one key carry the backlog?"] is None


def test_without_any_write_the_api_server_is_not_judged() -> None:
    """No write and no duration: whether the API server is slow is not known."""
    client_series = classic_client(write_requests_per_second=0.0, post_requests_per_second=0.0)
    made = must_find(CODE, case(saturated(workers=2.0), client_series))
    assert checks_of(made)["Is the API server slow?"] is None


def test_a_cause_that_cannot_be_told_is_not_taken_for_a_lack_of_workers() -> None:
    """Writes that cost long where limiter and server cannot be told apart: no advice can rest on it."""
    parts = (saturated(), classic_client(write_requests_per_second=5.0, post_requests_per_second=4.0))
    unknown = settings(version="1.6.1", concurrency=1.0, qps=None, burst=None)
    assert examine(CODE, case(*parts, unknown)) is None


def test_only_estimates_lower_the_confidence() -> None:
    """Evidence that is estimated throughout gives no more than medium confidence."""
    names = (
        "backlog_mean",
        "backlog_peak",
        "queue_wait_seconds_mean",
        "oldest_wait_seconds_peak",
        "utilisation",
        "work_seconds_mean",
    )
    sure = saturated()
    guesses: Given = {
        name: measured(
            getattr(sure, name).value, getattr(sure, name).unit, origin="a person's guess", quality=Quality.ESTIMATED
        )
        for name in names
    }
    guessed = saturated(busy_workers_mean=1.0, **guesses)
    made = must_find(CODE, case(guessed, loaded_client()))
    assert made.confidence is Confidence.MEDIUM


def test_nothing_known_is_no_finding() -> None:
    """A controller without a single figure is not saturated."""
    assert examine(CODE, case(unknown_controller())) is None
