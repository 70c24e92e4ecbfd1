import pytest

from advisor.model.raw import ObjectChange
from advisor.model.signal import Window
from tests.signals.builders import cluster, pod, timeline

WINDOW = Window(0, 100)
NAME = ("team", "a")


class TestClusters:
    def test_from_asked_for_to_ready(self) -> None:
        """A RayCluster is not as asked for from its creation until it is ready with all its workers."""
        found = timeline(
            cluster(10, "ADDED"),
            cluster(20, "MODIFIED", desired=4, ready_workers=0),
            cluster(30, "MODIFIED", state="ready", desired=4, ready_workers=3),
            cluster(40, "MODIFIED", state="ready", desired=4, ready_workers=4),
        )
        assert found.unready_spans(WINDOW) == [(NAME, 10, 40)]
        assert (found.created(WINDOW), found.ready_seconds(WINDOW)) == (1, [30.0])

    def test_a_newer_spec_is_not_ready_until_observed(self) -> None:
        """A status about an older generation does not speak of what is asked for now."""
        found = timeline(
            cluster(0, "ADDED"),
            cluster(5, "MODIFIED", state="ready"),
            cluster(20, "MODIFIED", state="ready", generation=3, observed=2),
            cluster(30, "MODIFIED", state="ready", generation=3, observed=3),
            cluster(40, "MODIFIED", state="ready", generation=2, observed=3),
        )
        assert found.unready_spans(WINDOW) == [(NAME, 0, 5), (NAME, 20, 30)]

    def test_a_suspended_cluster_is_as_asked_for(self) -> None:
        """Suspended means that nothing should run, so workers that its groups would have are not missed."""
        found = timeline(
            cluster(0, "ADDED"),
            cluster(10, "MODIFIED", state="suspended", desired=4, ready_workers=0),
            cluster(50, "MODIFIED", state="suspended", generation=2, observed=1),
        )
        assert found.unready_spans(WINDOW) == [(NAME, 0, 10), (NAME, 50, 100)]

    def test_one_that_was_there_before(self) -> None:
        """A RayCluster that exists when the observation begins was not created in it and takes no time to be ready."""
        found = timeline(
            cluster(0, "EXISTING", "old", state="ready"),
            cluster(0, "EXISTING", "late"),
            cluster(30, "MODIFIED", "late", state="ready"),
        )
        assert (found.created(WINDOW), found.ready_seconds(WINDOW)) == (0, [])
        assert found.unready_spans(WINDOW) == [(("team", "late"), 0, 30)]
        assert found.count("RayCluster") == 2

    def test_never_ready_lasts_to_the_end_of_the_window(self) -> None:
        """A RayCluster that does not become ready is not ready for all of the window after its creation."""
        found = timeline(cluster(30, "ADDED"))
        assert found.unready_spans(Window(0, 50)) == [(NAME, 30, 50)]
        assert found.unready_spans(Window(60, 80)) == [(NAME, 60, 80)]
        assert found.unready_spans(Window(0, 30)) == []

    def test_deleting_ends_it(self) -> None:
        """Nobody waits for a RayCluster that is deleted."""
        found = timeline(cluster(10, "ADDED"), cluster(25, "DELETED"))
        assert found.unready_spans(WINDOW) == [(NAME, 10, 25)]
        assert found.count("RayCluster") == 0

    def test_one_that_is_recreated_is_another_one(self) -> None:
        """Two RayClusters of one name, one after the other, both count: creations, waiting and time to ready."""
        found = timeline(
            cluster(0, "ADDED"),
            cluster(10, "MODIFIED", state="ready"),
            cluster(20, "DELETED"),
            cluster(30, "ADDED"),
            cluster(35, "MODIFIED", state="ready"),
        )
        assert (found.created(WINDOW), found.ready_seconds(WINDOW)) == (2, [5.0, 10.0])
        assert found.unready_spans(WINDOW) == [(NAME, 0, 10), (NAME, 30, 35)]
        assert found.count("RayCluster") == 1

    def test_seen_for_the_first_time_when_it_goes(self) -> None:
        """A deletion alone is no waiting and no object."""
        found = timeline(cluster(10, "DELETED"))
        assert (found.unready_spans(WINDOW), found.count("RayCluster"), found.changes) == ([], 0, 1)

    def test_ready_counts_in_the_window_in_which_it_became_so(self) -> None:
        """The time to ready belongs to one window: that of the first ready status."""
        found = timeline(
            cluster(10, "ADDED"),
            cluster(40, "MODIFIED", state="ready"),
            cluster(60, "MODIFIED", state="failed"),
            cluster(70, "MODIFIED", state="ready"),
        )
        assert [found.ready_seconds(window) for window in (Window(0, 30), Window(30, 50), Window(50, 90))] == [
            [],
            [30.0],
            [],
        ]
        assert found.unready_spans(WINDOW) == [(NAME, 10, 40), (NAME, 60, 70)]

    def test_the_peak_is_of_one_moment(self) -> None:
        """Two that wait one after the other are one at once, also when one begins as the other ends."""
        changes = [cluster(0, "ADDED", "a"), cluster(10, "MODIFIED", "a", state="ready")]
        after = [cluster(10, "ADDED", "b"), cluster(20, "MODIFIED", "b", state="ready")]
        beside = [cluster(5, "EXISTING", "c"), cluster(8, "MODIFIED", "c", state="ready")]
        assert timeline(*changes, *after).unready_peak(WINDOW) == 1
        assert timeline(*changes, *beside, *after).unready_peak(WINDOW) == 2
        assert timeline().unready_peak(WINDOW) == 0


class TestPods:
    def test_created_by_cluster(self) -> None:
        """Pods that were created in the window, by RayCluster; those that were there before are not."""
        found = timeline(
            pod(0, "EXISTING", "old"),
            pod(10, "ADDED", "a1"),
            pod(12, "ADDED", "a2"),
            pod(12, "MODIFIED", "a2", ready=True),
            pod(15, "ADDED", "b1", of="b"),
            pod(16, "ADDED", "stray", of=None),
            pod(101, "ADDED", "a3"),
        )
        assert found.pods_created(WINDOW) == {
            ("team", "a"): [10.0, 12.0],
            ("team", "b"): [15.0],
            ("team", ""): [16.0],
        }
        assert found.count("Pod") == 6

    def test_pending_until_ready_or_gone(self) -> None:
        """A Pod is pending from when it is seen until it is ready or deleted, else to the end of the window."""
        found = timeline(
            pod(0, "EXISTING", "x"),
            pod(10, "ADDED", "y"),
            pod(20, "MODIFIED", "x", ready=True),
            pod(40, "DELETED", "y"),
            pod(90, "ADDED", "z"),
        )
        assert found.pending_pod_seconds(WINDOW) == 20.0 + 30.0 + 10.0
        assert found.pending_pod_seconds(Window(30, 50)) == 10.0

    def test_ready_at_time_zero_is_ready(self) -> None:
        """A Pod that is ready at the very beginning was never pending."""
        assert timeline(pod(0, "EXISTING", "x", ready=True)).pending_pod_seconds(WINDOW) == 0.0

    def test_ready_once_is_not_pending_again(self) -> None:
        """A Pod that loses its readiness does not wait for a place again."""
        found = timeline(
            pod(0, "ADDED", "x", ready=False), pod(5, "MODIFIED", "x", ready=True), pod(9, "MODIFIED", "x")
        )
        assert found.pending_pod_seconds(WINDOW) == 5.0

    def test_one_that_is_recreated_is_another_one(self) -> None:
        """A head Pod that comes back under its name is created, and pending, twice."""
        found = timeline(
            pod(0, "ADDED", "a-head"),
            pod(10, "MODIFIED", "a-head", ready=True),
            pod(20, "DELETED", "a-head", ready=True),
            pod(30, "ADDED", "a-head"),
            pod(45, "MODIFIED", "a-head", ready=True),
        )
        assert found.pods_created(WINDOW) == {NAME: [0.0, 30.0]}
        assert (found.pending_pod_seconds(WINDOW), found.count("Pod")) == (25.0, 1)


class TestWaitingForPods:
    def test_is_the_part_of_an_unready_stretch_with_a_pending_pod(self) -> None:
        """While one of its Pods is pending a RayCluster waits for it; overlapping Pods count once."""
        found = timeline(
            cluster(0, "ADDED"),
            pod(10, "ADDED", "a1"),
            pod(20, "ADDED", "a2"),
            pod(30, "MODIFIED", "a1", ready=True),
            pod(40, "MODIFIED", "a2", ready=True),
            pod(45, "ADDED", "a3"),
            cluster(60, "MODIFIED", state="ready"),
        )
        assert found.waiting_for_pods(WINDOW) == {NAME: 45.0}
        assert found.waiting_for_pods(Window(35, 50)) == {NAME: 10.0}

    def test_pods_of_others_do_not_count(self) -> None:
        """A RayCluster does not wait for Pods of another one, nor for those that were ready before."""
        found = timeline(
            cluster(10, "ADDED"),
            pod(0, "ADDED", "a1"),
            pod(5, "MODIFIED", "a1", ready=True),
            pod(20, "ADDED", "b1", of="b"),
        )
        assert found.waiting_for_pods(WINDOW) == {}

    def test_several_stretches_add_up(self) -> None:
        """Each unready stretch counts its own part."""
        found = timeline(
            cluster(0, "ADDED"),
            pod(0, "ADDED", "a1"),
            cluster(10, "MODIFIED", state="ready"),
            cluster(50, "MODIFIED", state="failed"),
            cluster(60, "MODIFIED", state="ready"),
        )
        assert found.waiting_for_pods(WINDOW) == {NAME: 20.0}


class TestOtherKinds:
    def test_are_counted(self) -> None:
        """Objects of other kinds are counted as they come and go."""
        changes = [
            ObjectChange(t=t, event=event, kind="RayJob", namespace="team", name=name)
            for t, event, name in ((0, "EXISTING", "x"), (1, "ADDED", "y"), (2, "MODIFIED", "y"), (3, "DELETED", "x"))
        ]
        gone = ObjectChange(t=4, event="DELETED", kind="RayService", namespace="team", name="z")
        found = timeline(*changes, gone)
        assert {kind: found.count(kind) for kind in ("RayJob", "RayService", "Job")} == {
            "RayJob": 1,
            "RayService": 0,
            "Job": 0,
        }
        assert found.kinds() == ("RayJob", "RayService")

    @pytest.mark.parametrize(
        ("change", "kinds"), [(cluster(0, "ADDED"), ("RayCluster",)), (pod(0, "ADDED", "p"), ("Pod",))]
    )
    def test_kinds_that_were_seen(self, change: ObjectChange, kinds: tuple[str, ...]) -> None:
        """Only kinds that were seen are named."""
        assert timeline(change).kinds() == kinds
