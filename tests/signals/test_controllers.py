import pytest

from advisor.model.raw import Series
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.signals.controllers import ControllerSeries, LogShare, controller_series
from advisor.signals.instances import Instances
from tests.signals.builders import ORIGIN, buckets, controller, every, reasons, series, store, values

WINDOW = Window(0, 20)
NOBODY = LogShare(None, None, None)


def of(*found: Series, name: str = "raycluster") -> ControllerSeries:
    """The controller of that name."""
    samples = store(*found)
    (one,) = (each for each in controller_series(samples, Instances(samples))[0] if each.name == name)
    return one


def example() -> list[Series]:
    """A controller for which each figure can be computed in the head."""
    return [
        *controller(
            workers=(4, 4, 4),
            active=(1, 3, 2),
            depth=(0, 5, 1),
            initial=(2, 0, 0),
            adds=(50, 60, 70),
            gets=(48, 55, 69),
            wait=(10, 24, 31),
            done=(47, 53, 67),
            work=(100, 110, 130),
            unfinished=(1, 6, 3),
            longest=(1, 6, 2),
            success=(10, 12, 14),
            error=(1, 2, 3),
            requeue=(0, 0, 0),
            requeue_after=(36, 39, 50),
            errors=(1, 2, 3),
            terminal=(0, 0, 1),
            retries=(40, 48, 58),
            time_sum=(99, 108, 127),
            time_count=(47, 53, 67),
        ),
        *buckets(
            "controller_runtime_reconcile_time_seconds",
            {"controller": "raycluster"},
            {"1": every(10, 20, 23, 30), "2": every(10, 30, 36, 50), "+Inf": every(10, 47, 53, 67)},
        ),
    ]


class TestEverySignal:
    def test_has_the_value_computed_by_hand(self) -> None:
        """Each signal of a controller, from the samples of ``example``."""
        assert values(of(*example()).signals(WINDOW, LogShare(0.6, 3, 1))) == {
            "configured_concurrency": None,
            "max_concurrent_reconciles": 4.0,
            "busy_worker_seconds": 32.0,  # 130 - 100 ended, 3 - 1 more unfinished
            "busy_workers_mean": 1.6,
            "active_workers_peak": 3.0,
            "utilisation": 0.4,
            "depth_mean": 3.25,  # 2, 5, 1 over all priorities
            "depth_peak": 5.0,
            "depth_end": 1.0,
            "depth_trend_per_second": -0.05,
            "depth_by_priority.0.mean": 0.5,  # priority -100
            "depth_by_priority.0.peak": 2.0,
            "depth_by_priority.1.mean": 2.75,  # priority 0
            "depth_by_priority.1.peak": 5.0,
            "backlog_mean": 1.25,  # 1, 2, 0
            "backlog_peak": 2.0,
            "blocked_ratio": 1.0,
            "adds_per_second": 1.0,
            "reconciles": 20.0,
            "reconciles_per_second": 1.0,
            "queue_wait_seconds_mean": 1.0,
            "waiting_key_seconds": 65.0,  # 3.25 keys for 20 s
            "oldest_wait_seconds_peak": 4.0,  # at 10 s the sixth add was the oldest, of 6 s
            "work_seconds_mean": 1.5,
            "reconcile_seconds_mean": 1.4,
            "reconcile_seconds_p99": 1.98,
            "longest_running_seconds": 6.0,
            "error_ratio": 0.1,
            "error_ratio_net": 0.05,  # one of two failures is control flow
            "errors_per_second": 0.1,
            "terminal_error_ratio": 0.05,
            "requeue_after_ratio": 0.7,
            "delayed_adds_per_second": 0.9,
            "hottest_key_share": 0.6,
            "distinct_keys": 3.0,
            "queue_wait_seconds_p99": None,
            "api_calls_per_reconcile": None,
        }

    def test_without_a_log_control_flow_cannot_be_told(self) -> None:
        """What would remain of the failures is missing, not equal to them."""
        found = of(*example()).signals(WINDOW, NOBODY)
        assert found.error_ratio.value == 0.1
        assert found.error_ratio_net.missing == "no operator log: control-flow errors cannot be told from failures"

    def test_carries_bounds_and_origin(self) -> None:
        """Busy time is known up to the refresh of unfinished work, and says from which series it was made."""
        assert of(*example()).signals(WINDOW, NOBODY).busy_worker_seconds == Signal(
            unit=Unit.WORKER_SECONDS,
            value=32.0,
            low=30.5,
            high=33.5,
            window=WINDOW,
            origin="delta workqueue_work_duration_seconds_sum + delta workqueue_unfinished_work_seconds of raycluster "
            f"[{ORIGIN}]",
        )

    def test_has_the_quality_that_its_identity_gives(self) -> None:
        """Backlog and longest run are lower bounds, blocked keys and ages are estimates, the rest is exact."""
        found = of(*example()).signals(WINDOW, LogShare(0.6, 3, 1))
        assert {
            name: quality
            for name in found.__struct_fields__
            if isinstance(signal := getattr(found, name), Signal) and (quality := signal.quality) is not Quality.EXACT
        } == {
            "backlog_mean": Quality.LOWER_BOUND,
            "backlog_peak": Quality.LOWER_BOUND,
            "blocked_ratio": Quality.ESTIMATED,
            "waiting_key_seconds": Quality.ESTIMATED,
            "oldest_wait_seconds_peak": Quality.ESTIMATED,
            "longest_running_seconds": Quality.LOWER_BOUND,
            "reconcile_seconds_p99": Quality.ESTIMATED,
            "error_ratio_net": Quality.ESTIMATED,
            "hottest_key_share": Quality.ESTIMATED,
            "distinct_keys": Quality.LOWER_BOUND,
        }

    def test_quantile_without_an_upper_bucket_is_a_lower_bound(self) -> None:
        """A p99 in the last bucket is at least the last bound."""
        times = buckets(
            "controller_runtime_reconcile_time_seconds",
            {"controller": "raycluster"},
            {"60": every(10, 0, 0, 1), "+Inf": every(10, 0, 0, 9)},
        )
        assert of(*controller(workers=(1, 1, 1)), *times).signals(WINDOW, NOBODY).reconcile_seconds_p99 == Signal(
            unit=Unit.SECONDS,
            value=60.0,
            low=60.0,
            quality=Quality.LOWER_BOUND,
            window=WINDOW,
            origin="0.99 quantile of controller_runtime_reconcile_time_seconds, interpolated in its bucket "
            f"of raycluster [{ORIGIN}]",
        )


class TestMissing:
    def test_without_its_series_every_signal_is_missing(self) -> None:
        """A controller of which only the number of workers is known has no other figure, and none is zero."""
        found = of(*controller(workers=(2, 2, 2))).signals(WINDOW, NOBODY)
        known = {name: value for name, value in values(found).items() if value is not None}
        assert known == {"max_concurrent_reconciles": 2.0}

    def test_says_why(self) -> None:
        """A missing figure names the expression, or what did not happen."""
        idle = controller(workers=(2, 2, 2), done=(5, 5, 5), work=(9, 9, 9), success=(5, 5, 5), errors=(0, 0, 0))
        found = reasons(of(*idle).signals(WINDOW, NOBODY))
        assert {name: found[name] for name in ("work_seconds_mean", "error_ratio", "depth_mean", "distinct_keys")} == {
            "work_seconds_mean": "none ended in the window",
            "error_ratio": "nothing was counted in the window",
            "depth_mean": "no sample in the window for: mean of workqueue_depth summed over priorities",
            "distinct_keys": "no operator log with keys in this window",
        }

    def test_a_window_with_one_scrape(self) -> None:
        """One scrape gives the gauges; what was counted up to it needs a scrape before, which the first one lacks."""
        found = values(of(*example()).signals(Window(-5, 5), NOBODY))
        assert (found["depth_peak"], found["active_workers_peak"], found["max_concurrent_reconciles"]) == (
            2.0,
            1.0,
            4.0,
        )
        assert [found[name] for name in ("reconciles", "busy_worker_seconds", "adds_per_second", "blocked_ratio")] == [
            None
        ] * 4
        later = values(of(*example()).signals(Window(5, 15), NOBODY))
        assert (later["reconciles"], later["busy_worker_seconds"], later["blocked_ratio"]) == (6.0, 15.0, None)

    def test_a_window_without_length(self) -> None:
        """A window of one moment has gauges and no rates."""
        found = values(of(*example()).signals(Window(10, 10), NOBODY))
        assert (found["depth_end"], found["depth_trend_per_second"], found["utilisation"]) == (5.0, None, None)


class TestBusy:
    def test_is_never_more_than_the_workers(self) -> None:
        """A refresh of unfinished work that comes late cannot make workers busier than they are."""
        found = of(*controller(workers=(1, 1, 1), work=(0, 0, 0), done=(0, 0, 0), unfinished=(0, 10, 21)))
        assert found.busy_seconds(WINDOW) == 20.0

    def test_is_never_negative(self) -> None:
        """Unfinished work that went away without ending, as at a restart, is no negative time."""
        assert of(*controller(workers=(1, 1, 1), work=(0, 0, 0), unfinished=(9, 9, 0))).busy_seconds(WINDOW) == 0.0

    def test_one_long_reconcile_is_busy_all_the_time(self) -> None:
        """A reconcile that does not end is seen by the growth of unfinished work."""
        found = of(*controller(workers=(2, 2, 2), work=(5, 5, 5), unfinished=(30, 40, 50)))
        assert found.busy_seconds(WINDOW) == 20.0

    def test_a_process_that_ended_did_what_it_left_unfinished(self) -> None:
        """Across a change of leader the old process's unfinished work is busy time, once, and never taken off."""
        found = of(
            *controller(times=(0, 10), workers=(2, 2), work=(100, 110), unfinished=(5, 15), instance="a"),
            *controller(times=(20, 30), workers=(2, 2), work=(0, 4), unfinished=(0, 2), instance="b"),
        )
        assert found.busy_seconds(Window(0, 30)) == 10.0 + 4.0 + (15.0 - 5.0) + (2.0 - 0.0)
        assert found.busy_seconds(Window(15, 30)) == 4.0 + 2.0

    def test_without_the_number_of_workers(self) -> None:
        """Busy time does not need the number of workers; utilisation does."""
        found = of(*controller(adds=(0, 0, 0), work=(0, 10, 30))).signals(WINDOW, NOBODY)
        assert (found.busy_worker_seconds.value, found.utilisation.value) == (30.0, None)


class TestWaiting:
    def test_what_was_handed_out_bounds_it_where_nothing_waits_at_the_end(self) -> None:
        """Once the queue is empty, the queue durations are all that was waited, whatever the samples missed."""
        found = of(*controller(depth=(0, 8, 0), wait=(0, 30, 50)))
        assert found.waiting_key_seconds(WINDOW) == 50.0

    def test_keys_that_waited_before_do_not_count(self) -> None:
        """Queue durations of keys that waited before the window are bounded by the area."""
        found = of(*controller(depth=(8, 0, 0), wait=(0, 300, 300)))
        assert found.waiting_key_seconds(WINDOW) == 40.0

    def test_while_keys_wait_the_area_is_what_is_known(self) -> None:
        """A growing queue hands out less than it makes wait."""
        found = of(*controller(depth=(0, 10, 20), wait=(0, 1, 2)))
        assert found.waiting_key_seconds(WINDOW) == 200.0

    def test_without_queue_durations(self) -> None:
        """Depth alone gives the area."""
        assert of(*controller(depth=(0, 8, 0))).waiting_key_seconds(WINDOW) == 80.0


class TestBacklog:
    def test_active_workers_sampled_at_other_times(self) -> None:
        """Backlog is taken at the scrapes of depth, from the last known number of active workers."""
        found = of(
            *controller(times=(0, 10, 20), depth=(6, 6, 6)),
            *controller(times=(4, 14, 24), active=(1, 2, 6)),
        )
        assert list(found.backlog.values) == [6.0, 5.0, 4.0]

    def test_without_active_workers_all_may_be_active(self) -> None:
        """Without active workers as many keys as there are workers may be blocked: it stays a lower bound."""
        assert list(of(*controller(workers=(2, 2, 2), depth=(6, 1, 2))).backlog.values) == [4.0, 0.0, 0.0]

    def test_without_any_workers_it_is_missing(self) -> None:
        """Depth without any number of workers bounds no backlog."""
        found = of(*controller(depth=(6, 1, 2))).signals(WINDOW, NOBODY)
        assert (found.backlog_mean.value, found.depth_mean.value) == (None, 2.5)


class TestBlocked:
    @pytest.mark.parametrize(
        ("depth", "active", "ratio"),
        [
            ((1, 1, 1), (1, 1, 1), 1.0),
            ((1, 0, 1), (1, 1, 1), 0.0),
            ((0, 1, 1), (1, 1, 1), 0.5),
            ((1, 1, 1), (2, 2, 2), 0.0),
            ((1, 1, 1), (1, 2, 1), 0.0),
        ],
    )
    def test_needs_idle_workers_beside_ready_keys_twice(
        self, depth: tuple[int, ...], active: tuple[int, ...], ratio: float
    ) -> None:
        """Only ready keys beside an idle worker at two scrapes in a row are blocked by their own reconcile."""
        assert of(*controller(workers=(2, 2, 2), active=active, depth=depth)).blocked_ratio(WINDOW) == ratio

    def test_without_active_workers_it_is_not_known(self) -> None:
        """Without active workers no worker is known to be idle."""
        assert of(*controller(workers=(2, 2, 2), depth=(1, 1, 1))).blocked_ratio(WINDOW) is None


class TestOldestWait:
    def test_a_queue_that_hands_out_nothing(self) -> None:
        """Keys that arrived one each second and were not taken have waited since."""
        found = of(*controller(adds=(0, 10, 20), depth=(0, 10, 20)))
        assert found.oldest_wait(WINDOW) == 19.0

    def test_keys_from_before_the_observation(self) -> None:
        """Keys that waited at the first scrape waited at least since then."""
        assert of(*controller(adds=(50, 50, 50), depth=(9, 9, 9))).oldest_wait(WINDOW) == 20.0

    def test_an_empty_queue_has_no_age(self) -> None:
        """Nothing waits: the oldest wait is zero, which is known."""
        assert of(*controller(adds=(0, 5, 9), depth=(0, 0, 0))).oldest_wait(WINDOW) == 0.0

    @pytest.mark.parametrize("columns", [{"depth": (1, 1, 1)}, {"adds": (1, 1, 1)}])
    def test_needs_adds_and_depth(self, columns: dict[str, tuple[int, ...]]) -> None:
        """Without the one or the other no age is known."""
        assert of(*controller(given=columns)).oldest_wait(WINDOW) is None


class TestReconciles:
    def test_fall_back_to_the_work_durations(self) -> None:
        """Where results are not stored, each work duration is a reconcile."""
        found = of(*controller(adds=(0, 0, 0), done=(5, 6, 9))).signals(WINDOW, NOBODY)
        assert (found.reconciles.value, found.reconciles_per_second.value) == (4.0, 0.2)


class TestProcesses:
    """A leader and another process that has series of its own, scraped at the same and at other times."""

    @pytest.mark.parametrize("offset", [0.0, 5.0])
    def test_workers_of_both_are_capacity_and_of_one_the_setting(self, offset: float) -> None:
        """Two processes of four workers can do eight reconciles at once, and are set to four."""
        found = of(
            *controller(workers=(4, 4, 4), instance="a"),
            *controller(times=(offset, offset + 10, offset + 20), workers=(4, 4, 4), instance="b"),
        )
        window = Window(5, 20)
        assert (found.workers.last(window), found.concurrency(window)) == (8.0, 4.0)

    def test_the_newest_setting_holds(self) -> None:
        """After a roll-out the new process's number of workers is the setting, and the old one's capacity is gone."""
        found = of(
            *controller(times=(0, 10), workers=(1, 1), instance="a"),
            *controller(times=(23, 33), workers=(4, 4), instance="b"),
        )
        assert (found.workers.last(Window(0, 33)), found.concurrency(Window(0, 33))) == (4.0, 4.0)
        assert found.concurrency(Window(0, 20)) == 1.0
        assert found.concurrency(Window(11, 20)) is None

    def test_the_smallest_setting_of_one_time(self) -> None:
        """Of processes that differ at the same time the smaller number is the setting."""
        found = of(*controller(workers=(4, 4, 4), instance="a"), *controller(workers=(2, 2, 2), instance="b"))
        assert found.concurrency(WINDOW) == 2.0

    def test_a_standby_without_series_changes_nothing(self) -> None:
        """A standby has no controller series, so the leader's figures stay as they are."""
        standby = series("process_cpu_seconds_total", {"instance": "b"}, every(10, 1, 2, 3, start=5))
        alone, beside = (of(*example(), *more).signals(WINDOW, NOBODY) for more in ([], [standby]))
        assert alone == beside

    def test_counters_go_on_with_the_new_leader(self) -> None:
        """After a change of leader the counts of both are added, without the new one's past."""
        found = of(
            *controller(times=(0, 10), adds=(1000, 1010), instance="a"),
            *controller(times=(15, 25), adds=(3, 9), instance="b"),
        )
        assert found.signals(Window(0, 25), NOBODY).adds_per_second.value == 16.0 / 25.0

    def test_the_longest_run_is_that_of_one_reconcile(self) -> None:
        """Runs of two processes are not added up."""
        found = of(
            *controller(adds=(0, 0, 0), longest=(1, 5, 1), instance="a"), *controller(longest=(1, 7, 1), instance="b")
        )
        assert found.signals(WINDOW, NOBODY).longest_running_seconds.value == 7.0


class TestControllers:
    def test_are_found_by_any_of_their_series(self) -> None:
        """Controllers are found by workers, adds or depth, in order of name, whichever label names them."""
        samples = store(
            *controller("rayservice", workers=(1, 1, 1)),
            series("workqueue_adds_total", {"name": "rayjob"}, {0: 1}),
            *controller("raycluster", depth=(1, 1, 1)),
            series("workqueue_retries_total", {"controller": "retries-only"}, {0: 1}),
            series("workqueue_adds_total", {}, {0: 1}),
        )
        assert [one.name for one in controller_series(samples, Instances(samples))[0]] == [
            "raycluster",
            "rayjob",
            "rayservice",
        ]

    def test_the_advisors_own_are_left_out(self) -> None:
        """What this project itself runs is not what is diagnosed."""
        samples = store(*controller("advisor-raycluster", adds=(1, 2, 3)))
        assert controller_series(samples, Instances(samples)) == ((), 0)

    def test_are_kept_apart(self) -> None:
        """Series of another controller do not count."""
        found = of(*controller(adds=(0, 5, 10)), *controller("rayjob", adds=(0, 100, 200)))
        assert found.signals(WINDOW, NOBODY).adds_per_second.value == 0.5

    def test_old_queue_series_belong_to_the_controller_of_their_name(self) -> None:
        """Work queue series of old releases name the controller as ``name``."""
        found = of(
            *controller(workers=(1, 1, 1)), series("workqueue_depth", {"name": "raycluster"}, every(10, 0, 3, 0))
        )
        assert (found.signals(WINDOW, NOBODY).depth_peak.value, found.numbered_priorities) == (3.0, False)
