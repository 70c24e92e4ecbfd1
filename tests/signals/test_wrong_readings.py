"""The readings of these series that are wrong, one test each: what is naively read, and what is said instead."""

from typing import Final

from advisor.model.raw import Series, Setup, Subject
from advisor.model.signal import Quality, Window
from advisor.model.signals import ControllerSignals, EpisodeKind, OperatorSignals
from advisor.signals.episodes import CutRules
from tests.signals.builders import buckets, controller, every, histogram, observations, record, requests, series, values

WINDOW: Final = Window(0, 20)
DURATION: Final = "rest_client_request_duration_seconds"
LIMITER: Final = "rest_client_rate_limiter_duration_seconds"


def signals(*found: Series, setup: Setup | None = None, window: Window = WINDOW) -> OperatorSignals:
    """All signals of these series."""
    return observations(found, setup=setup).signals(window)


def raycluster(*found: Series, window: Window = WINDOW) -> ControllerSignals:
    """The RayCluster controller's signals."""
    one = signals(*found, window=window).controller("raycluster")
    assert one is not None
    return one


def test_reading_01_retries_are_no_errors() -> None:
    """Wrong: retries_total is high, so there are errors.

    Instead: Each RequeueAfter counts as a retry: errors are counted apart.
    """
    found = raycluster(
        *controller(
            retries=(0, 400, 800), requeue_after=(0, 400, 800), success=(0, 0, 0), errors=(0, 0, 0), workers=(1,)
        )
    )
    assert (found.delayed_adds_per_second.value, found.requeue_after_ratio.value) == (40.0, 1.0)
    assert (found.error_ratio.value, found.errors_per_second.value) == (0.0, 0.0)


def test_reading_02_a_long_queue_wait_is_not_always_a_want_of_workers() -> None:
    """Wrong: queue_duration is high, so add workers.

    Instead: Where keys wait beside idle workers they wait for themselves.
    """
    waits = {"gets": (0, 1, 2), "wait": (0, 9, 18), "workers": (4, 4, 4)}
    hot = raycluster(*controller(given=waits, depth=(1, 1, 1), active=(1, 1, 1)))
    full = raycluster(*controller(given=waits, depth=(9, 9, 9), active=(4, 4, 4)))
    assert hot.queue_wait_seconds_mean.value == full.queue_wait_seconds_mean.value == 9.0
    assert (hot.blocked_ratio.value, hot.backlog_peak.value) == (1.0, 0.0)
    assert (full.blocked_ratio.value, full.backlog_peak.value) == (0.0, 5.0)


def test_reading_03_an_empty_queue_is_not_health() -> None:
    """Wrong: depth is 0, so all is well.

    Instead: Keys in backoff are in no gauge: errors and delayed adds tell of them.
    """
    found = raycluster(
        *controller(depth=(0, 0, 0), error=(0, 50, 100), errors=(0, 50, 100), retries=(0, 50, 100), workers=(1, 1, 1))
    )
    assert (found.depth_peak.value, found.backlog_peak.value) == (0.0, 0.0)
    assert (found.error_ratio.value, found.delayed_adds_per_second.value) == (1.0, 5.0)


def test_reading_04_depth_is_the_sum_over_priorities() -> None:
    """Wrong: depth by priority shows resync load.

    Instead: After the label's cap only the sum is right, and it is what is used.
    """
    stuck = [
        series("workqueue_depth", {"controller": "raycluster", "priority": str(number)}, every(10, 1, 1, 1))
        for number in range(25)
    ]
    rest = {"controller": "raycluster", "priority": "exceeded_cardinality_limit"}
    found = raycluster(*stuck, series("workqueue_depth", rest, every(10, -20, -25, -25)))
    assert (found.depth_peak.value, found.depth_end.value) == (5.0, 0.0)
    assert len(found.depth_by_priority) == 26


def test_reading_04_an_empty_priority_is_the_classic_queue() -> None:
    """Wrong: an empty priority is a priority.

    Instead: It is the classic queue, which has none; sums compare across releases.
    """
    classic = signals(*controller(classic=(0, 90, 3), workers=(1, 1, 1)))
    numbered = signals(*controller(depth=(0, 40, 3), initial=(0, 50, 0), workers=(1, 1, 1)))
    assert (classic.queue, numbered.queue) == ("classic", "priority")
    assert classic.controllers[0].depth_mean == numbered.controllers[0].depth_mean


def test_reading_05_a_controller_without_depth_is_no_broken_scrape() -> None:
    """Wrong: no depth for this controller, the scrape is broken.

    Instead: It had no ready key yet: missing there, absent nowhere.
    """
    found = signals(*controller("raycluster", depth=(0, 1, 0)), *controller("rayjob", workers=(1, 1, 1)))
    rayjob = found.controller("rayjob")
    assert rayjob is not None
    assert (rayjob.max_concurrent_reconciles.value, rayjob.depth_mean.value, rayjob.backlog_peak.value) == (
        1.0,
        None,
        None,
    )
    assert rayjob.depth_by_priority == ()
    assert "workqueue_depth" not in found.absent_series


def test_reading_06_short_waits_can_be_throttling() -> None:
    """Wrong: no throttling line and no slow wait, so not throttled.

    Instead: Waits above 5 ms show it, however short they are.
    """
    count, quick = every(10, 0, 100, 200), every(10, 0, 0, 10)
    bounds = {"0.005": quick, "0.025": count, "+Inf": count}
    found = observations(
        histogram(LIMITER, {"verb": "POST"}, total=every(10, 0, 0.8, 1.6), count=count, bounds=bounds),
        log=[record(5)],
    ).signals(WINDOW)
    assert found.log.throttle_lines.value == 0.0
    assert found.log.throttle_lines.quality is Quality.LOWER_BOUND
    assert (found.client.limited_share.value, found.client.limiter_wait_seconds_mean.value) == (0.95, 0.008)


def test_reading_07_request_duration_is_not_the_api_servers() -> None:
    """Wrong: request_duration is the API server's latency.

    Instead: The client's own wait is in it and is taken out.
    """
    count = every(10, 0, 50, 100)
    found = signals(
        *histogram(DURATION, {"verb": "PUT"}, total=every(10, 0, 25, 50), count=count),
        *histogram(LIMITER, {"verb": "PUT"}, total=every(10, 0, 24, 48), count=count),
    ).client
    assert (found.request_seconds_mean.value, found.api_seconds_mean.value) == (0.5, 0.02)


def test_reading_08_a_rate_above_qps_is_no_broken_limiter() -> None:
    """Wrong: 300 requests a second at QPS 100, the limiter is broken.

    Instead: Each kind has a bucket: nothing waits, so it is well.
    """
    count = every(10, 0, 3000, 6000)
    found = signals(
        requests("200", "PUT", count),
        *histogram(LIMITER, {"verb": "PUT"}, total=every(10, 0, 0, 0), count=count, bounds={"0.005": count}),
        setup=Setup(version="1.7.0", args=("--qps=100",)),
    )
    assert (found.client.requests_per_second.value, found.settings.qps.value) == (300.0, 100.0)
    assert (found.client.limited_share.value, found.client.limiter_wait_seconds.value) == (0.0, 0.0)


def test_reading_09_decade_buckets_give_no_quantile() -> None:
    """Wrong: the quantile of queue_duration is 7 s.

    Instead: Its buckets are decades: the mean of sum and count is what is said.
    """
    decades = buckets(
        "workqueue_queue_duration_seconds", {"controller": "raycluster"}, {"1": every(10, 0, 0), "10": every(10, 0, 5)}
    )
    found = raycluster(*controller(workers=(1, 1, 1), gets=(0, 5, 5), wait=(0, 6, 6)), *decades)
    assert found.queue_wait_seconds_mean.value == 1.2
    quantiles = {name: value for name, value in values(found).items() if "p99" in name or "quantile" in name}
    assert quantiles == {"queue_wait_seconds_p99": None, "reconcile_seconds_p99": None}


def test_reading_10_an_absent_series_is_not_zero() -> None:
    """Wrong: the metric is absent, hence 0.

    Instead: A standby has no controller, and its figures are missing with a reason.
    """
    standby = signals(
        series("leader_election_master_status", {}, every(10, 0, 0, 0)),
        series("process_cpu_seconds_total", {}, every(10, 1, 1, 1)),
        requests("200", "GET", every(10, 1, 2, 3)),
    )
    assert (standby.process.leader.value, standby.controllers) == (0.0, ())
    assert standby.client.limiter_wait_seconds.missing is not None
    assert standby.client.limiter_wait_seconds.missing.startswith(f"{LIMITER} is not exposed")
    assert standby.process.cpu_throttled_ratio.value is None
    assert "workqueue_depth" in standby.absent_series


def test_reading_11_counters_that_drop_are_a_new_process() -> None:
    """Wrong: counters dropped.

    Instead: A restart or another leader begins anew: what both counted is added, nothing is negative.
    """
    restarted = raycluster(*controller(adds=(1000, 1010, 4), success=(900, 909, 3)))
    assert (restarted.adds_per_second.value, restarted.reconciles.value) == (0.7, 12.0)
    changed = signals(
        *controller(times=(0, 10), adds=(1000, 1010), instance="a"),
        *controller(times=(20, 30), adds=(4, 9), instance="b"),
        series("leader_election_master_status", {"instance": "a"}, every(10, 1, 1)),
        series("leader_election_master_status", {"instance": "b"}, every(10, 0, 0, 1, 1)),
        window=Window(0, 30),
    )
    assert changed.controllers[0].adds_per_second.value == 19.0 / 30.0
    assert changed.process.leader.value == 1.0


def test_reading_12_a_higher_error_rate_is_not_a_higher_error_ratio() -> None:
    """Wrong: the error rate doubled after the upgrade.

    Instead: Retries come faster; the share of reconciles that fail tells.
    """
    before = raycluster(
        *controller(error=(0, 50, 100), success=(0, 50, 100), errors=(0, 50, 100)), *controller(workers=(1,))
    )
    after = raycluster(
        *controller(error=(0, 99, 200), success=(0, 99, 200), errors=(0, 99, 200)), *controller(workers=(1,))
    )
    assert (before.errors_per_second.value, after.errors_per_second.value) == (5.0, 10.0)
    assert before.error_ratio.value == after.error_ratio.value == 0.5


def test_reading_13_fewer_reconciles_are_not_less_done() -> None:
    """Wrong: the reconcile rate fell, so it is slower.

    Instead: Timers merge with events: adds fall alike and nothing waits.
    """
    idle = {"depth": (0, 0, 0), "workers": (1, 1, 1), "wait": (0, 1, 2)}
    before = raycluster(*controller(given=idle, adds=(0, 100, 200), success=(0, 100, 200), gets=(0, 100, 200)))
    after = raycluster(*controller(given=idle, adds=(0, 60, 120), success=(0, 60, 120), gets=(0, 60, 120)))
    assert (before.reconciles_per_second.value, after.reconciles_per_second.value) == (10.0, 6.0)
    assert before.adds_per_second.value == before.reconciles_per_second.value
    assert after.adds_per_second.value == after.reconciles_per_second.value
    assert (before.backlog_peak.value, after.backlog_peak.value) == (0.0, 0.0)


def test_reading_14_the_peak_after_a_start_is_the_number_of_objects() -> None:
    """Wrong: depth peaks, so the operator is overloaded.

    Instead: Right after a start all keys enter at once: an episode apart.
    """
    times = [5.0 * number for number in range(7)]
    found = observations(
        [
            *controller(times=times, initial=[500, 300, 0, 0, 0, 0, 0], depth=[0, 0, 0, 0, 2, 0, 0], workers=[1] * 7),
            series("process_start_time_seconds", {}, dict.fromkeys(times, -1.0)),
        ],
        log=[record(1, Subject.START)],
    )
    startup, *rest = found.episodes(CutRules())
    assert (startup.kind, startup.window) == (EpisodeKind.STARTUP, Window(0, 10))
    peaks = [found.signals(one.window).controllers[0].depth_peak.value for one in (startup, *rest)]
    assert [one.kind for one in rest] == [EpisodeKind.QUIET, EpisodeKind.LOAD, EpisodeKind.QUIET]
    assert peaks == [500.0, 0.0, 2.0, 2.0]
