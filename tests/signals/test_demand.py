from typing import Final

import pytest

from advisor.model.raw import ObjectChange, Series
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import DemandSignals
from advisor.signals.demand import DemandSeries
from advisor.signals.instances import Instances
from tests.signals.builders import ORIGIN, cluster, every, pod, reasons, series, store, timeline, values

WINDOW: Final = Window(0, 20)
INFO: Final = "kuberay_cluster_info"
PROVISIONED: Final = "kuberay_cluster_condition_provisioned"


def demand(*found: Series, changes: tuple[ObjectChange, ...] = (), window: Window = WINDOW) -> DemandSignals:
    """What the cluster asked for, by series and object changes."""
    samples = store(*found)
    return DemandSeries(samples, timeline(*changes), Instances(samples)).signals(window)


def condition(value: str, samples: dict[float, float], **labels: str) -> Series:
    """RayClusters by whether they are provisioned."""
    return series(PROVISIONED, {"condition": value, **labels}, samples)


class TestFromSeries:
    def test_counts_and_conditions(self) -> None:
        """Without an object timeline the series give numbers of objects and RayClusters that are not provisioned."""
        found = demand(
            series(INFO, {"owner_kind": "None"}, every(10, 5, 6, 7)),
            series(INFO, {"owner_kind": "RayJob"}, every(10, 1, 1, 2)),
            series("kuberay_job_info", {}, every(10, 1, 1, 2)),
            condition("false", every(10, 4, 2, 0)),
            condition("true", every(10, 1, 5, 9)),
        )
        assert {name: value for name, value in values(found).items() if value is not None} == {
            "objects.raycluster": 9.0,
            "objects.rayjob": 2.0,
            "unready_cluster_seconds": 40.0,
            "unready_clusters_peak": 4.0,
        }
        assert {name for name, reason in reasons(found).items() if reason == "no object timeline in the input"} == {
            "clusters_created",
            "ready_seconds_mean",
            "ready_seconds_p95",
            "pods_created",
            "peak_pods_created_per_second",
            "sustained_pods_per_second",
            "largest_fanout_pods",
            "pending_pod_seconds",
            "missing_pod_cluster_seconds",
        }

    def test_says_how_it_was_made(self) -> None:
        """The time of RayClusters that are not provisioned is an estimate of the scrapes."""
        assert demand(condition("false", every(10, 1, 1, 1))).unready_cluster_seconds == Signal(
            unit=Unit.SECONDS,
            value=20.0,
            quality=Quality.ESTIMATED,
            window=WINDOW,
            origin=f'integral of {PROVISIONED}{{condition="false"}} [{ORIGIN}]',
        )

    def test_all_provisioned_is_zero(self) -> None:
        """Where all are provisioned, the series of RayClusters that are not is absent: a zero that is known."""
        found = demand(condition("true", every(10, 3, 3, 3)))
        assert (found.unready_cluster_seconds.value, found.unready_clusters_peak.value) == (0.0, 0.0)

    def test_a_series_that_went_away_counts_no_more(self) -> None:
        """Once all are provisioned the series of those that are not ends, and so does the time."""
        found = demand(condition("false", {0: 4}), condition("true", every(10, 1, 5, 5)))
        assert found.unready_cluster_seconds.value == 20.0

    @pytest.mark.parametrize("window", [Window(30, 40), Window(11, 19)])
    def test_a_window_without_scrapes(self, window: Window) -> None:
        """Outside the scrapes nothing is known, which is not zero."""
        found = demand(condition("true", every(10, 3, 3, 3)), series(INFO, {}, every(10, 1, 1, 1)), window=window)
        assert [name for name, value in values(found).items() if value is not None] == []

    def test_each_replica_counts_the_same_objects(self) -> None:
        """A standby exposes the same RayClusters as the leader; they are not twice as many."""
        found = demand(
            *(series(INFO, {"instance": name}, every(10, 5, 5, 5)) for name in ("a", "b")),
            *(condition("false", every(10, 2, 2, 2), instance=name) for name in ("a", "b")),
        )
        assert (found.objects["raycluster"].value, found.unready_clusters_peak.value) == (5.0, 2.0)

    def test_without_any_series(self) -> None:
        """Nothing to go by: nothing is known and no kind is named."""
        found = demand()
        assert found.objects == {}
        assert [name for name, value in values(found).items() if value is not None] == []


class TestFromTimeline:
    def test_every_signal_has_the_value_computed_by_hand(self) -> None:
        """Two RayClusters: one waits for its Pods and one for the operator."""
        found = demand(
            series(INFO, {}, every(10, 1, 2, 3)),
            changes=(
                cluster(0, "EXISTING", "old", state="ready"),
                cluster(2, "ADDED", "a"),
                cluster(3, "ADDED", "b"),
                pod(4, "ADDED", "a1"),
                pod(4.5, "ADDED", "a2"),
                pod(8, "MODIFIED", "a1", ready=True),
                pod(9, "MODIFIED", "a2", ready=True),
                cluster(10, "MODIFIED", "a", state="ready"),
                pod(15, "ADDED", "b1", of="b"),
                ObjectChange(t=16, event="ADDED", kind="RayJob", namespace="team", name="j"),
            ),
        )
        assert values(found) == {
            "objects.raycluster": 3.0,  # the series win over the timeline
            "objects.pod": 3.0,
            "objects.rayjob": 1.0,
            "clusters_created": 2.0,
            "ready_seconds_mean": 8.0,
            "ready_seconds_p95": 8.0,
            "unready_cluster_seconds": 8.0 + 17.0,
            "unready_clusters_peak": 2.0,
            "pods_created": 3.0,
            "peak_pods_created_per_second": 2.0,
            "sustained_pods_per_second": None,
            "largest_fanout_pods": 2.0,
            "pending_pod_seconds": 4.0 + 4.5 + 5.0,
            "missing_pod_cluster_seconds": 25.0 - 5.0 - 5.0,
            "resync_seconds": None,
            "items_in_burst": None,
            "drain_seconds": None,
            "api_calls_per_item": None,
        }
        untold = dict.fromkeys(
            ("resync_seconds", "items_in_burst", "drain_seconds", "api_calls_per_item"), "no series tells it"
        )
        assert reasons(found) == {"sustained_pods_per_second": "fewer than 20 Pods, or all within 5 s", **untold}
        assert found.clusters_created.origin == "RayClusters created [object timeline]"
        assert found.objects["raycluster"].origin == f"number of {INFO} series [{ORIGIN}]"

    def test_a_quiet_window(self) -> None:
        """With a timeline, nothing created is zero; the time to ready of nothing is not."""
        found = demand(changes=(cluster(0, "EXISTING", state="ready"),))
        assert values(found) == {
            "objects.raycluster": 1.0,
            "clusters_created": 0.0,
            "ready_seconds_mean": None,
            "ready_seconds_p95": None,
            "unready_cluster_seconds": 0.0,
            "unready_clusters_peak": 0.0,
            "pods_created": 0.0,
            "peak_pods_created_per_second": 0.0,
            "sustained_pods_per_second": None,
            "largest_fanout_pods": 0.0,
            "pending_pod_seconds": 0.0,
            "missing_pod_cluster_seconds": 0.0,
            "resync_seconds": None,
            "items_in_burst": None,
            "drain_seconds": None,
            "api_calls_per_item": None,
        }
        assert reasons(found)["ready_seconds_mean"] == "no RayCluster became ready in the window"

    def test_the_95th_percentile_of_many(self) -> None:
        """Of 20 times to ready the 0.95 quantile is the largest."""
        changes = [cluster(0, "ADDED", f"c{number}") for number in range(20)]
        changes += [cluster(number + 1, "MODIFIED", f"c{number}", state="ready") for number in range(20)]
        assert demand(changes=tuple(changes)).ready_seconds_p95.value == 20.0


class TestPodRates:
    def test_the_peak_is_of_one_second(self) -> None:
        """Pods within one second count together, whatever comes before and after."""
        times = [0.0, 3.0, 3.25, 3.5, 4.0, 4.25, 9.0]
        changes = [pod(time, "ADDED", f"p{number}") for number, time in enumerate(times)]
        assert demand(changes=tuple(changes)).peak_pods_created_per_second.value == 4.0

    def test_the_sustained_rate_leaves_out_burst_and_tail(self) -> None:
        """A burst of 20, then 2 a second: the burst and the last tenth do not count."""
        times = [0.0] * 20 + [0.5 * number for number in range(1, 81)]
        changes = [pod(time, "ADDED", f"p{number}") for number, time in enumerate(times)]
        assert demand(changes=tuple(changes), window=Window(0, 100)).sustained_pods_per_second == Signal(
            unit=Unit.PER_SECOND,
            value=2.0,
            quality=Quality.ESTIMATED,
            window=Window(0, 100),
            origin="rate of Pod creations from the first fifth to the last tenth of them [object timeline]",
        )

    @pytest.mark.parametrize(
        "times",
        [
            [float(number) for number in range(19)],
            [number * 0.2 for number in range(25)],
            [0.0] + [3.0] * 28 + [9.0],
        ],
        ids=["too few", "too fast", "all in the middle at once"],
    )
    def test_the_sustained_rate_needs_a_long_run(self, times: list[float]) -> None:
        """Few Pods, or all of them at once, have no sustained rate."""
        changes = [pod(time, "ADDED", f"p{number}") for number, time in enumerate(times)]
        assert demand(changes=tuple(changes)).sustained_pods_per_second.value is None
