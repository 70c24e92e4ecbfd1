import msgspec
import pytest

from advisor.diagnosis.causes import stuck_workers
from advisor.diagnosis.engine import diagnose
from advisor.model.advice import Direction
from advisor.model.facts import ScalingPoint
from advisor.model.finding import FindingCode, Severity
from advisor.recommend.concurrency import concurrency_advice, flag_reaches, needed_workers, offered_workers
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    Given,
    a_finding,
    case,
    controller,
    diagnosis_of,
    loaded_client,
    points,
    process,
    saturated,
    settings,
    signals,
    unknown_controller,
)

POLICY = Policy()
SATURATED = a_finding(FindingCode.WORKERS_SATURATED, Severity.CRITICAL)


def policy(**values: float) -> Policy:
    """The default policy but for the given values."""
    return msgspec.structs.replace(POLICY, **values)


def advised(*parts: object, **options: Given) -> tuple[Direction, float | None, float | None]:
    """Direction, current and value of the advice for a saturated operator."""
    chosen = options.pop("policy", POLICY)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(*parts, **options)), chosen)
    return made.direction, made.current, made.value


def polling(name: str, *, work: float, wait: float, workers: float, rate: float) -> object:
    """A controller whose keys come back by a timer."""
    return controller(
        name,
        workers=workers,
        busy_workers_mean=min(workers, rate * work),
        work_seconds_mean=work,
        queue_wait_seconds_mean=wait,
        reconciles_per_second=rate,
    )


def test_offered_load_is_the_busy_time_without_a_backlog() -> None:
    """Workers that nobody waits for do all the work there is."""
    assert offered_workers(controller(busy_workers_mean=1.4)) == 1.4


@pytest.mark.parametrize(("backlog", "offered"), [(1.0, 4.0), (0.9, 2.0)])
def test_with_a_backlog_it_is_at_least_the_workers(backlog: float, offered: float) -> None:
    """While keys wait all the time every worker would have work."""
    assert offered_workers(controller(workers=4.0, busy_workers_mean=2.0, backlog_mean=backlog)) == offered


def test_unknown_workers_leave_the_busy_time() -> None:
    """A backlog without a number of workers adds nothing."""
    assert offered_workers(controller(workers=None, busy_workers_mean=2.0, backlog_mean=9.0)) == 2.0
    assert offered_workers(unknown_controller()) is None
    assert needed_workers(unknown_controller(), POLICY) is None


def test_a_timer_makes_a_closed_loop() -> None:
    """20 services, 0.43 s of work, a timer of 2 s: one worker serves 2.3/s, the load is 20 x 0.43 / 2.43 workers."""
    rate = 1.0 / 0.43
    services = polling("rayservice", work=0.43, wait=20.0 / rate - 2.43, workers=1.0, rate=rate)
    assert isinstance(services, type(controller()))
    assert offered_workers(services) == pytest.approx(20 * 0.43 / 2.43)
    assert needed_workers(services, POLICY) == pytest.approx(20 * 0.43 / 2.43 / 0.7)


def test_rayjobs_come_back_after_three_seconds() -> None:
    """The timer is the controller's own."""
    jobs = polling("rayjob", work=2.0, wait=35.0, workers=2.0, rate=1.0)
    assert isinstance(jobs, type(controller()))
    assert offered_workers(jobs) == pytest.approx(40.0 * 2.0 / 5.0)


@pytest.mark.parametrize("missing", ["reconciles_per_second", "work_seconds_mean"])
def test_a_loop_without_its_figures_is_taken_as_open(missing: str) -> None:
    """Unknown rate or work leave the busy time."""
    given: Given = {"busy_workers_mean": 0.9, missing: None}
    assert offered_workers(controller("rayservice", workers=1.0, **given)) == 0.9


def test_need_is_load_over_target() -> None:
    """At 70 % busy; the target is a setting."""
    one = controller(busy_workers_mean=1.4)
    assert needed_workers(one, POLICY) == pytest.approx(2.0)
    assert needed_workers(one, policy(target_utilisation=0.5)) == pytest.approx(2.8)


def test_need_meets_the_wait_target() -> None:
    """A wait four times the target needs four times the workers, where a true backlog caused it."""
    one = controller(workers=2.0, busy_workers_mean=0.5, backlog_peak=3.0, oldest_wait_seconds_peak=20.0)
    assert needed_workers(one, POLICY) == pytest.approx(8.0)
    assert needed_workers(one, policy(wait_target_seconds=20.0)) == pytest.approx(2.0)
    itself = controller(workers=2.0, busy_workers_mean=0.5, backlog_peak=0.0, oldest_wait_seconds_peak=20.0)
    assert needed_workers(itself, POLICY) == pytest.approx(0.5 / 0.7)


def test_the_advice_is_the_need_rounded_up() -> None:
    """Four busy workers at 70 % are six."""
    one = saturated(workers=4.0, oldest_wait_seconds_peak=2.0)
    assert advised(one) == (Direction.RAISE, 4.0, 6.0)


def test_never_more_than_fourfold() -> None:
    """A wait of minutes still gives four times the workers; the step is a setting."""
    one = saturated(workers=2.0, oldest_wait_seconds_peak=600.0)
    assert advised(one) == (Direction.RAISE, 2.0, 8.0)
    assert advised(one, policy=policy(largest_step=2.0)) == (Direction.RAISE, 2.0, 4.0)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(one)), POLICY)
    assert "at most 4 x in one step" in made.reason


def test_it_stops_where_one_more_worker_hardly_helps() -> None:
    """The n-th worker shortens a wait of 2 s at 10 workers by 20 / (n (n - 1)) s; 0.25 s is the least worth having."""
    busy = saturated(workers=10.0, oldest_wait_seconds_peak=2.0)
    assert advised(busy, settings(concurrency=10.0)) == (Direction.KEEP, 10.0, 10.0)
    assert advised(busy, settings(concurrency=10.0), policy=policy(smallest_gain_ratio=0.02)) == (
        Direction.RAISE,
        10.0,
        14.0,
    )
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(busy, settings(concurrency=10.0))), POLICY)
    assert made.reason == "keys of raycluster wait so briefly that one more worker would hardly shorten it"


def test_a_stop_below_the_need_is_said() -> None:
    """The advice names the number beyond which more workers gain little."""
    busy = saturated(workers=10.0, oldest_wait_seconds_peak=4.0)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(busy, settings(concurrency=10.0))), POLICY)
    assert made.value == 13.0
    assert made.reason.endswith("; beyond 13 one more would hardly shorten the wait")


def test_one_flag_serves_the_neediest() -> None:
    """RayClusters need six workers, RayJobs more."""
    jobs = saturated("rayjob", workers=4.0, oldest_wait_seconds_peak=11.0, reconciles_per_second=None)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(saturated(workers=4.0), jobs)), POLICY)
    assert made.value == 12.0
    assert made.reason.startswith("raycluster needs 12 workers")
    jobs = saturated("rayjob", workers=4.0, oldest_wait_seconds_peak=25.0)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(saturated(workers=4.0), jobs)), POLICY)
    assert made.value == 16.0
    assert made.reason.startswith("rayjob needs 20 workers")


def test_a_controller_of_fixed_workers_neither_drives_nor_bounds_the_flag() -> None:
    """raycluster-mtls has one worker whatever the flag says."""
    mtls = saturated("raycluster-mtls", oldest_wait_seconds_peak=90.0)
    calm = controller(workers=4.0, busy_workers_mean=0.5)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(calm, mtls)), POLICY)
    assert (made.direction, made.value) == (Direction.KEEP, 4.0)
    assert "does not reach raycluster-mtls" in made.reason
    busy = saturated(workers=4.0, oldest_wait_seconds_peak=2.0)
    assert advised(mtls, busy, settings(concurrency=4.0)) == (Direction.RAISE, 4.0, 6.0)


def test_only_controllers_of_fixed_workers_leave_the_flag() -> None:
    """Where nothing else is known, the flag stays."""
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(saturated("raycluster-mtls"), settings())), POLICY)
    assert (made.direction, made.value) == (Direction.KEEP, 4.0)
    assert "does not reach" in made.reason


@pytest.mark.parametrize(
    ("version", "controller_name", "reached"),
    [
        ("1.7.0", "raycluster", True),
        ("1.7.0", "raycluster-mtls", False),
        ("1.1.1", "raycluster", True),
        ("1.1.1", "rayjob", False),
        ("1.0.0", "raycluster-controller", True),
        ("1.2.2", "rayjob", True),
        (None, "rayjob", True),
        ("0.4", "rayjob", True),
        ("1.1.1", "somebody-elses", True),
    ],
)
def test_whom_the_flag_reaches(version: str | None, controller_name: str, reached: bool) -> None:
    """Up to 1.1 RayClusters alone; nothing is assumed about unknown releases and controllers."""
    assert flag_reaches(signals(settings(version=version)), controller_name) == reached


def test_before_1_2_the_flag_is_not_raised_for_rayjobs() -> None:
    """Their one worker stays one (kuberay case 3)."""
    jobs = saturated("rayjob")
    calm = controller(workers=10.0, busy_workers_mean=1.0)
    known = settings(version="1.1.1", concurrency=1.0)
    made = concurrency_advice(diagnosis_of(SATURATED, of=case(jobs, calm, known)), POLICY)
    assert made.direction is Direction.KEEP
    assert "does not reach rayjob" in made.reason


def test_the_neediest_controllers_own_number_counts() -> None:
    """Where controllers differ, the smallest of them is not what is raised from."""
    busy = saturated(workers=10.0, oldest_wait_seconds_peak=6.0)
    other = controller("rayjob", workers=1.0)
    assert advised(busy, other, settings(concurrency=1.0)) == (Direction.RAISE, 10.0, 15.0)


def test_enough_workers_are_kept() -> None:
    """Slow dashboards with idle workers beside them need no more."""
    one = case(controller("rayjob", workers=8.0, busy_workers_mean=2.0))
    slow = a_finding(FindingCode.EXTERNAL_CALL_SLOW, Severity.WARNING)
    made = concurrency_advice(diagnosis_of(slow, of=one), POLICY)
    assert (made.direction, made.current, made.value) == (Direction.KEEP, 8.0, 8.0)
    assert "for a wait of 5 s" in made.reason


def test_an_unknown_number_of_workers_gives_a_direction_only() -> None:
    """Saturated workers of unknown number."""
    one = saturated(max_concurrent_reconciles=None)
    assert advised(one, settings(concurrency=None)) == (Direction.RAISE, None, None)


def test_unknown_busy_time_gives_no_number() -> None:
    """A number needs the load."""
    assert advised(unknown_controller(), settings(concurrency=2.0)) == (Direction.NO_NUMBER, 2.0, None)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (FindingCode.CLIENT_THROTTLED, "wait in it as well"),
        (FindingCode.API_SERVER_SLOW, "API server is slow"),
        (FindingCode.HOT_KEY, "one key takes the time"),
        (FindingCode.ERROR_RETRIES, "only fail faster"),
        (FindingCode.WRITE_CONFLICTS, "conflicts are not caused"),
        (FindingCode.CPU_LIMITED, "raise it first"),
        (FindingCode.RESYNC_LOAD, "drains by itself"),
        (FindingCode.BOTTLENECK_ELSEWHERE, "the operator is idle"),
        (FindingCode.CACHE_LAG, "waits for its cache"),
        (FindingCode.HEALTHY, "taken up at once"),
        (FindingCode.METRICS_MISSING, "what would tell is not exposed"),
        (FindingCode.NOT_LEADER, "keeps starting anew"),
        (FindingCode.MEMORY_LIMITED, "each worker holds memory"),
        (FindingCode.QUEUE_LIMITER_BOUND, "retry bucket is the limit"),
        (FindingCode.PRIORITY_STARVATION, "changes keep the workers busy"),
        (FindingCode.SETTING_NOT_APPLIED, "does not take effect"),
        (FindingCode.METRICS_MISREAD, "summary of metrics-misread"),
    ],
)
def test_other_findings_keep_it_with_their_reason(code: FindingCode, reason: str) -> None:
    """Only a lack of workers and slow external calls ask for more."""
    made = concurrency_advice(diagnosis_of(a_finding(code), of=case(saturated())), POLICY)
    assert (made.direction, made.current, made.value) == (Direction.KEEP, 1.0, 1.0)
    assert reason in made.reason


def test_a_note_asks_for_nothing() -> None:
    """Slow external calls that make nobody wait."""
    note = a_finding(FindingCode.EXTERNAL_CALL_SLOW, Severity.INFO)
    assert concurrency_advice(diagnosis_of(note, of=case(saturated())), POLICY).direction is Direction.KEEP


@pytest.mark.parametrize("code", [FindingCode.INSUFFICIENT_DATA, FindingCode.NOT_LEADER])
def test_a_refusal_gives_no_number(code: FindingCode) -> None:
    """Nothing may rest on it."""
    made = concurrency_advice(diagnosis_of(a_finding(code, refuses=True), of=case(saturated())), POLICY)
    assert (made.direction, made.current, made.value) == (Direction.NO_NUMBER, 1.0, None)


@pytest.mark.parametrize("code", [FindingCode.CPU_LIMITED, FindingCode.API_SERVER_SLOW, FindingCode.CLIENT_THROTTLED])
def test_a_guard_forbids_a_raise_though_another_finding_comes_first(code: FindingCode) -> None:
    """More workers would only share what is short; a note is no guard."""
    first = a_finding(FindingCode.EXTERNAL_CALL_SLOW, Severity.CRITICAL)
    one = case(saturated("rayjob"))
    held = concurrency_advice(diagnosis_of(first, a_finding(code, Severity.WARNING), of=one), POLICY)
    assert held.direction is Direction.KEEP
    free = concurrency_advice(diagnosis_of(first, a_finding(code, Severity.INFO), of=one), POLICY)
    assert free.direction is Direction.RAISE


def lowered(workers: float, peak: float, chosen: Policy = POLICY) -> tuple[Direction, float | None]:
    """Advice for an operator with far too many workers."""
    one = case(controller(workers=workers, active_workers_peak=peak))
    made = concurrency_advice(diagnosis_of(a_finding(FindingCode.OVER_PROVISIONED, Severity.INFO), of=one), chosen)
    return made.direction, made.value


def test_lowering_leaves_headroom() -> None:
    """Four workers for each that was ever busy, never fewer than four; both are settings."""
    assert lowered(64.0, 3.0) == (Direction.LOWER, 12.0)
    assert lowered(64.0, 0.0) == (Direction.LOWER, 4.0)
    assert lowered(64.0, 3.0, policy(lower_headroom=2.0)) == (Direction.LOWER, 6.0)
    assert lowered(64.0, 0.0, policy(fewest_workers=8.0)) == (Direction.LOWER, 8.0)
    assert lowered(16.0, 4.0) == (Direction.KEEP, 16.0)


def test_an_unknown_setting_is_not_lowered() -> None:
    """Without a current value there is nothing to lower."""
    one = case(controller(workers=64.0), settings(concurrency=None))
    found = a_finding(FindingCode.OVER_PROVISIONED, Severity.INFO)
    made = concurrency_advice(diagnosis_of(found, of=one), POLICY)
    assert (made.direction, made.value) == (Direction.KEEP, None)


def test_the_diagnosis_of_a_saturated_operator_raises_it() -> None:
    """From signals to advice without a shortcut."""
    made = concurrency_advice(diagnose(case(saturated(), loaded_client())), POLICY)
    assert (made.direction, made.current, made.value) == (Direction.RAISE, 1.0, 3.0)


CONTENTION = a_finding(FindingCode.CONTENTION, Severity.CRITICAL)
MEMORY = a_finding(FindingCode.MEMORY_LIMITED, Severity.CRITICAL)


def test_contention_goes_back_to_the_best_number() -> None:
    """The number of workers that got most done, by the measured points."""
    one = case(saturated(workers=8.0, scaling=points(w4=0.3, w8=0.22)))
    made = concurrency_advice(diagnosis_of(CONTENTION, of=one), POLICY)
    assert (made.direction, made.current, made.value) == (Direction.LOWER, 8.0, 4.0)
    assert made.reason == "4 workers got more done than the present number"


@pytest.mark.parametrize(
    ("busy", "kills", "current", "direction", "value"),
    [
        (3.7, 2.0, 10.0, Direction.LOWER, 6.0),
        (3.7, 0.0, 10.0, Direction.KEEP, 10.0),
        (3.7, None, 10.0, Direction.KEEP, 10.0),
        (0.7, 2.0, 10.0, Direction.KEEP, 10.0),
        (2.1, 2.0, 3.0, Direction.KEEP, 3.0),
        (3.7, 2.0, None, Direction.KEEP, None),
    ],
)
def test_killed_for_memory_lowers_to_what_the_load_needs(
    busy: float, kills: float | None, current: float | None, direction: Direction, value: float | None
) -> None:
    """Only after a kill, and never below the busy workers at 70%; else the limit is raised first."""
    parts = (controller(workers=10.0, busy_workers_mean=busy), process(oom_kills=kills), settings(concurrency=current))
    made = concurrency_advice(diagnosis_of(MEMORY, of=case(*parts)), POLICY)
    assert (made.direction, made.current, made.value) == (direction, current, value)


def test_memory_that_is_nearly_used_up_forbids_a_raise() -> None:
    """Each worker holds memory of its own: the limit comes first."""
    short = a_finding(FindingCode.MEMORY_LIMITED, Severity.WARNING)
    made = concurrency_advice(diagnosis_of(SATURATED, short, of=case(saturated())), POLICY)
    assert (made.direction, made.value) == (Direction.KEEP, 1.0)
    assert "raise the memory limit first" in made.reason


@pytest.mark.parametrize(
    ("rate", "longest", "direction"),
    [(1.0, 20.0, Direction.KEEP), (1.0, 19.9, Direction.RAISE), (1.1, 20.0, Direction.RAISE)],
)
def test_reconciles_that_never_end_hold_the_workers(rate: float, longest: float, direction: Direction) -> None:
    """Three busy workers of which finished work explains two or fewer, beside a run ten times as long as usual."""
    stuck = saturated(
        "rayjob", workers=3.0, work_seconds_mean=2.0, reconciles_per_second=rate, longest_running_seconds=longest
    )
    slow = a_finding(FindingCode.EXTERNAL_CALL_SLOW, Severity.CRITICAL)
    made = concurrency_advice(diagnosis_of(slow, of=case(stuck)), POLICY)
    assert made.direction is direction
    if direction is Direction.KEEP:
        assert made.reason == "1 workers are held by reconciles that never end; more of them would be held as well"


@pytest.mark.parametrize(
    "given",
    [
        {"busy_workers_mean": None},
        {"work_seconds_mean": None},
        {"work_seconds_mean": 0.0},
        {"reconciles_per_second": None},
        {"longest_running_seconds": None},
    ],
)
def test_unknown_figures_make_no_worker_stuck(given: Given) -> None:
    """Each figure is needed."""
    values: Given = {"work_seconds_mean": 2.0, "reconciles_per_second": 0.1, "longest_running_seconds": 500.0}
    assert stuck_workers(saturated("rayjob", workers=3.0, **values)) == pytest.approx(2.8)
    assert stuck_workers(saturated("rayjob", workers=3.0, **(values | given))) == 0.0


def test_offered_load_includes_what_arrives() -> None:
    """Work that arrives faster than it is done is load too: 10 a second of 0.5 s are five workers."""
    one = controller(workers=4.0, busy_workers_mean=2.0, adds_per_second=10.0, work_seconds_mean=0.5)
    assert offered_workers(one) == 5.0
    assert offered_workers(controller(busy_workers_mean=2.0, adds_per_second=None)) == 2.0
    assert offered_workers(controller(busy_workers_mean=2.0, work_seconds_mean=None)) == 2.0


def test_lowering_without_a_seen_peak_guesses_it() -> None:
    """Two busy on average are eight at a peak, and each of those is left with four."""
    one = case(controller(workers=64.0, active_workers_peak=None, busy_workers_mean=2.0))
    found = a_finding(FindingCode.OVER_PROVISIONED, Severity.INFO)
    made = concurrency_advice(diagnosis_of(found, of=one), POLICY)
    assert (made.direction, made.value) == (Direction.LOWER, 32.0)
    unknown = case(unknown_controller(max_concurrent_reconciles=64.0), settings(concurrency=64.0))
    assert concurrency_advice(diagnosis_of(found, of=unknown), POLICY).value == 4.0


@pytest.mark.parametrize(
    ("workers", "scaling", "direction"),
    [
        (16.0, points(w8=5.0, w16=5.1), Direction.KEEP),
        (16.0, points(w8=5.0, w16=5.5), Direction.KEEP),
        (16.0, points(w8=5.0, w16=5.6), Direction.RAISE),
        (10.0, points(w8=5.0, w10=5.1), Direction.RAISE),
        (8.0, points(w8=5.0, w16=5.1), Direction.RAISE),
        (4.0, points(w8=5.0, w16=5.1), Direction.RAISE),
        (8.0, (), Direction.RAISE),
    ],
)
def test_a_throughput_that_has_levelled_off_asks_for_no_more_workers(
    workers: float, scaling: tuple[ScalingPoint, ...], direction: Direction
) -> None:
    """Half of the workers got as much done: the next ones would get nothing done either."""
    one = case(saturated(workers=workers, scaling=scaling, oldest_wait_seconds_peak=60.0), loaded_client())
    made = concurrency_advice(diagnosis_of(SATURATED, of=one), POLICY)
    assert made.direction is direction
    if direction is Direction.KEEP:
        assert made.reason == "by the measured points raycluster gets no more done with more workers"
