from typing import Final

import pytest

from advisor.model.raw import Setup, Subject
from advisor.model.settings import Setting, SettingSource
from advisor.model.signal import Window
from advisor.signals.episodes import CutRules
from advisor.signals.names import CORE_SERIES, SELECTION
from tests.signals.builders import (
    ORIGIN,
    cluster,
    controller,
    every,
    histogram,
    observations,
    pod,
    record,
    requests,
    series,
    signals_in,
    values,
)

WINDOW: Final = Window(0, 20)


class TestWhole:
    def test_is_from_the_first_scrape_to_the_last(self) -> None:
        """All scraped time, of any series of the operator."""
        found = observations([*controller(adds=(1, 2, 3)), series("process_cpu_seconds_total", {}, {25: 1})])
        assert (found.whole(), list(found.scrapes)) == (Window(0, 25), [0.0, 10.0, 20.0, 25.0])

    @pytest.mark.parametrize("samples", [{}, {5: 1.0}])
    def test_needs_two_scrapes(self, samples: dict[float, float]) -> None:
        """No scrape or one is no time to look at."""
        found = observations([series("workqueue_adds_total", {"controller": "raycluster"}, samples)])
        assert (found.whole(), found.episodes(CutRules())) == (None, ())

    def test_series_of_others_alone_are_no_observation(self) -> None:
        """A store that has nothing but the kubelet's and kube-state-metrics' series has seen no operator."""
        found = observations(
            [
                series("container_cpu_cfs_periods_total", {"container": "kuberay-operator"}, every(10, 1, 2, 3)),
                series("kube_pod_container_resource_limits", {"resource": "cpu"}, every(10, 1, 1, 1)),
            ]
        )
        assert (found.whole(), list(found.scrapes), found.controllers) == (None, [], ())


class TestSettings:
    def test_the_smallest_number_of_workers_that_the_flag_sets(self) -> None:
        """One flag sets all controllers; the one that ignores it does not count."""
        found = observations(
            [
                *controller("raycluster", workers=(4, 4, 4)),
                *controller("rayjob", workers=(4, 4, 2)),
                *controller("raycluster-mtls", workers=(1, 1, 1)),
                *controller("rayservice", adds=(1, 1, 1)),
            ]
        ).settings(WINDOW)
        assert found.concurrency == Setting(2.0, SettingSource.METRIC, "controller_runtime_max_concurrent_reconciles")

    def test_limits_and_arguments(self) -> None:
        """Limits come from the samples, QPS and Burst from version and arguments."""
        found = observations(
            [series("kube_pod_container_resource_limits", {"resource": "memory"}, every(10, 512, 512))],
            setup=Setup(version="1.7.0", args=("--qps=50",)),
        ).settings(WINDOW)
        assert (found.memory_limit_bytes.value, found.qps.value, found.burst.value) == (512.0, 50.0, 200.0)
        assert (found.cpu_limit_cores.known, found.concurrency.known) == (False, False)

    def test_of_the_window(self) -> None:
        """What was set in an earlier window is what was in force there."""
        found = observations(controller(workers=(1, 1, 4)))
        assert [found.settings(window).concurrency.value for window in (Window(0, 15), WINDOW, Window(30, 40))] == [
            1.0,
            4.0,
            None,
        ]


class TestSignals:
    def test_put_everything_of_one_window_together(self) -> None:
        """Controllers, log and objects of one window are in one structure, keys with what they took."""
        found = observations(
            controller(workers=(1, 1, 1), work=(0, 4, 10)),
            log=[record(1), record(4), record(5, name="b", reconcile_id="2"), record(6, name="b", reconcile_id="2")],
            changes=[cluster(2, "ADDED")],
        ).signals(WINDOW)
        assert found.window == WINDOW
        raycluster = found.controller("raycluster")
        assert raycluster is not None
        assert (raycluster.hottest_key_share.value, raycluster.distinct_keys.value) == (0.75, 2.0)
        assert found.controller("rayjob") is None
        assert [(one.name, one.busy_share) for one in found.keys] == [("a", 0.75), ("b", 0.25)]
        assert [(one.namespace, one.reconciles) for one in found.namespaces] == [("team", 2)]
        assert found.demand.clusters_created.value == 1.0
        assert found.budget.busy_worker_seconds.value == 10.0

    def test_keys_of_single_lines_have_no_share(self) -> None:
        """Reconciles that wrote one line each show how many keys there are, not which one is hot."""
        found = observations(controller(workers=(1, 1, 1)), log=[record(1), record(2, name="b")]).signals(WINDOW)
        assert (found.controllers[0].hottest_key_share.value, found.controllers[0].distinct_keys.value) == (None, 2.0)

    def test_shares_are_of_one_controller(self) -> None:
        """The hottest key of a controller is compared with that controller's keys alone."""
        log = [record(1), record(4), record(5, controller="rayjob"), record(15, controller="rayjob")]
        found = observations(controller(workers=(1, 1, 1)), log=log).signals(WINDOW)
        assert found.controllers[0].hottest_key_share.value == 1.0

    def test_at_most_twenty_keys_are_shown(self) -> None:
        """A large installation shows the keys that take most."""
        log = [record(float(time), name=f"k{number}") for number in range(30) for time in (number, number + 1)]
        assert len(observations(log=log).signals(Window(0, 40)).keys) == 20

    @pytest.mark.parametrize(
        ("columns", "queue"),
        [
            ({"depth": (0, 0, 0)}, "priority"),
            ({"initial": (0, 0, 0)}, "priority"),
            ({"classic": (0, 0, 0)}, "classic"),
            ({"workers": (1, 1, 1)}, "unknown"),
        ],
    )
    def test_the_queue_is_known_by_its_labels(self, columns: dict[str, tuple[int, ...]], queue: str) -> None:
        """Numbered priorities are the priority queue's; depth without them the classic queue's."""
        assert observations(controller(given=columns)).signals(WINDOW).queue == queue

    def test_absent_series_are_named(self) -> None:
        """Of the series that every operator exposes those that are not there are named."""
        found = observations([*controller(workers=(1, 1, 1), adds=(1, 2, 3)), requests("200", "GET", every(10, 1, 2))])
        assert found.signals(WINDOW).absent_series == (
            "controller_runtime_active_workers",
            "controller_runtime_reconcile_total",
            "workqueue_depth",
            "workqueue_queue_duration_seconds_sum",
            "workqueue_work_duration_seconds_sum",
            "workqueue_unfinished_work_seconds",
        )

    def test_of_nothing(self) -> None:
        """Without any input there is no controller, and no figure but that no restart was seen."""
        found = observations().signals(WINDOW)
        assert found.controllers == ()
        assert {name: value for name, value in values(found).items() if value is not None} == {"process.restarts": 0.0}
        assert found.absent_series == CORE_SERIES


class TestOrigins:
    def test_every_figure_says_where_it_is_from(self) -> None:
        """Each known signal names the file, the log or the objects, and its window; each missing one a reason."""
        limiter, duration = "rest_client_rate_limiter_duration_seconds", "rest_client_request_duration_seconds"
        found = observations(
            [
                *controller(workers=(1, 1, 1), active=(1, 1, 1), depth=(1, 2, 3), adds=(1, 2, 3), work=(0, 4, 10)),
                requests("200", "PUT", every(10, 1, 2, 3)),
                *histogram(duration, {"verb": "PUT"}, total=every(10, 1, 2, 3), count=every(10, 1, 2, 3)),
                *histogram(limiter, {"verb": "PUT"}, total=every(10, 0, 0, 1), count=every(10, 1, 2, 3)),
                series("process_cpu_seconds_total", {}, every(10, 1, 2, 3)),
                series("leader_election_master_status", {}, every(10, 1, 1, 1)),
            ],
            log=[record(1), record(4, Subject.THROTTLED, delay_seconds=1.5)],
            changes=[cluster(2, "ADDED"), pod(3, "ADDED", "p")],
        ).signals(WINDOW)
        known = {name: one for name, one in signals_in(found).items() if one.known}
        endings = {
            "controllers": f"[{ORIGIN}]",
            "client": f"[{ORIGIN}]",
            "process": f"[{ORIGIN}]",
            "demand": "[object timeline]",
            "log": "[operator log]",
            "budget": "busy worker seconds",
        }
        derived = {"client.inferred_write_seconds_mean", "budget.busy_worker_seconds"}
        assert len(known) > 60
        assert [
            name
            for name, one in known.items()
            if name not in derived and not one.origin.endswith(endings[name.partition(".")[0]])
        ] == []
        assert all(one.origin for one in known.values())
        assert {one.window for one in signals_in(found).values()} == {WINDOW}

    def test_the_folder_is_in_no_figure(self) -> None:
        """Where the samples lay changes nothing but the name of their file in each origin."""
        one, other = (
            observations(controller(workers=(1, 1, 1), work=(0, 4, 10)), origin=name).signals(WINDOW)
            for name in ("a.om", "b.om")
        )
        assert values(one) == values(other)
        assert {name: signal.origin.replace("a.om", "b.om") for name, signal in signals_in(one).items()} == {
            name: signal.origin for name, signal in signals_in(other).items()
        }


def test_series_needed_are_selected() -> None:
    """Every series that is always expected is asked for; those of each object are summed over objects."""
    assert set(CORE_SERIES) <= SELECTION.names
    assert SELECTION.names.isdisjoint(SELECTION.aggregated)
    assert {label for labels in SELECTION.aggregated.values() for label in labels}.isdisjoint({"name", "uid"})


class TestConfiguredConcurrency:
    @pytest.mark.parametrize(
        ("window", "configured"), [(Window(0, 10), None), (Window(0, 20), 8.0), (Window(10, 20), 8.0)]
    )
    def test_is_not_held_against_workers_of_before(self, window: Window, configured: float | None) -> None:
        """Arguments are those of the end: of a time with another number of workers than then they say nothing."""
        found = observations(controller(workers=(1, 1, 8)), setup=Setup(args=("--reconcile-concurrency=8",)))
        assert found.signals(window).controllers[0].configured_concurrency.value == configured

    def test_that_never_took_effect_is_told_of_all_time(self) -> None:
        """An operator that goes on with one worker has a flag that says something else."""
        found = observations(controller(workers=(1, 1, 1)), setup=Setup(args=("--reconcile-concurrency=8",)))
        told = [found.signals(one).controllers[0].configured_concurrency.value for one in (Window(0, 10), WINDOW)]
        assert told == [8.0, 8.0]
