import pytest

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.signals.instances import instance_of
from tests.signals.builders import every, instances, series

ADDS = "workqueue_adds_total"


def start_time(samples: dict[float, float], **labels: str) -> Series:
    """When a process says that it started."""
    return series("process_start_time_seconds", labels, samples)


def leads(samples: dict[float, float], **labels: str) -> Series:
    """Whether a process leads."""
    return series("leader_election_master_status", {"name": "ray-operator-leader", **labels}, samples)


@pytest.mark.parametrize(
    ("labels", "instance"),
    [
        ({}, ""),
        ({"job": "kuberay"}, ""),
        ({"pod": "operator-0"}, "operator-0"),
        ({"pod": "operator-0", "instance": "10.0.0.1:8080"}, "10.0.0.1:8080"),
        ({"pod": "operator-0", "instance": ""}, "operator-0"),
    ],
)
def test_instance_of(labels: dict[str, str], instance: str) -> None:
    """The address tells processes apart, else the Pod, else nothing does."""
    assert instance_of(labels) == instance


class TestScrapes:
    def test_are_all_times_of_all_processes(self) -> None:
        """Scrapes are the times of any series of any process, each once, in order."""
        found = instances(
            series(ADDS, {"instance": "a"}, every(10, 1, 2)),
            series("workqueue_depth", {"instance": "a"}, {10: 0, 20: 0}),
            series(ADDS, {"instance": "b"}, {5: 0, 10: 0}),
        )
        assert list(found.scrape_times()) == [0.0, 5.0, 10.0, 20.0]

    @pytest.mark.parametrize(
        "name", ["up", "container_cpu_cfs_periods_total", "kube_pod_container_resource_limits", "container_spec"]
    )
    def test_what_others_expose_is_no_scrape(self, name: str) -> None:
        """Samples of the kubelet, of kube-state-metrics and of Prometheus itself are no scrape of the operator."""
        assert not instances(series(name, {}, every(10, 1, 2))).scrape_times()

    def test_without_samples_nothing_is_known(self) -> None:
        """No samples: no scrape, no start, no restart and no leader."""
        found = instances()
        assert (
            list(found.scrape_times()),
            found.starts(),
            found.restarts(Window(0, 9)),
            found.leader(Window(0, 9)),
        ) == (
            [],
            [],
            0,
            None,
        )


class TestStarts:
    def test_a_changed_start_time_is_a_restart(self) -> None:
        """Each start is known once; the first is no restart, a change is one at its first scrape."""
        found = instances(start_time(every(10, -100, -100, 15, 15, 35)))
        assert found.starts() == [-100.0, 15.0, 35.0]
        assert [found.restarts(window) for window in (Window(0, 40), Window(0, 19), Window(20, 30))] == [2, 0, 1]

    def test_of_several_processes(self) -> None:
        """Starts of all processes are known; a second process is no restart of the first."""
        found = instances(start_time(every(10, -5, -5), instance="a"), start_time(every(10, -9, -9), instance="b"))
        assert found.starts() == [-9.0, -5.0]
        assert found.restarts(Window(0, 10)) == 0


class TestCurve:
    def test_a_restart_of_its_own_process_counts(self) -> None:
        """A counter that rose across a restart of its process counted all of its value; another process's does not."""
        of_a = series(ADDS, {"instance": "a"}, every(10, 5, 50))
        of_b = series(ADDS, {"instance": "b"}, every(10, 5, 50))
        found = instances(of_a, of_b, start_time(every(10, -9, 4), instance="a"), start_time({0: 1}, instance="b"))
        assert [found.curve(one).increase(Window(0, 10)) for one in (of_a, of_b)] == [50.0, 45.0]

    def test_a_series_that_appears_later_began_at_zero(self) -> None:
        """A label set that its process did not expose before counts from zero, of its own process's scrapes."""
        rare = series("rest_client_requests_total", {"instance": "a", "code": "409"}, {20: 3, 30: 4})
        found = instances(rare, series(ADDS, {"instance": "a"}, every(10, 0, 0, 0, 0)))
        assert found.curve(rare).increase(Window(10, 20)) == 3.0

    def test_a_process_that_started_meanwhile_counted_from_zero(self) -> None:
        """A new leader's process that started during the observation has counted all of its first value since."""
        old = series(ADDS, {"instance": "a"}, every(10, 100, 110))
        new = series(ADDS, {"instance": "b"}, {22: 40, 32: 41})
        found = instances(old, new, start_time({22: 14, 32: 14}, instance="b"))
        assert found.curve(new).increase(Window(10, 32)) == 41.0
        assert list(found.scrape_times()) == [0.0, 10.0, 22.0, 32.0]

    @pytest.mark.parametrize("started", [-500, 23])
    def test_else_its_first_scrape_is_a_baseline(self, started: float) -> None:
        """A process that started before the observation, or by a clock that is ahead, begins with its first scrape."""
        old = series(ADDS, {"instance": "a"}, every(10, 100, 110))
        new = series(ADDS, {"instance": "b"}, {22: 40, 32: 41})
        found = instances(old, new, start_time({22: started, 32: started}, instance="b"))
        assert found.curve(new).increase(Window(10, 32)) == 1.0

    def test_a_counter_of_the_kubelet_is_on_its_own(self) -> None:
        """The kubelet's counters have scrapes of their own; the operator's do not make them begin at zero."""
        periods = series("container_cpu_cfs_periods_total", {"pod": "operator-0"}, every(10, 5000, 5100, start=3))
        found = instances(periods, series(ADDS, {"pod": "operator-0"}, every(10, 0, 0)))
        assert found.curve(periods).increase(Window(0, 20)) == 100.0

    def test_a_counter_that_is_not_in_the_store(self) -> None:
        """A counter of an unknown process is a curve of its own samples."""
        stray = series(ADDS, {"instance": "x"}, every(10, 5, 7))
        assert instances().curve(stray).increase(Window(0, 10)) == 2.0


class TestLeader:
    def test_the_only_process_leads(self) -> None:
        """A leader that is scraped all the time led all the time."""
        assert instances(leads(every(10, 1, 1, 1))).leader(Window(0, 20)) == 1.0

    def test_a_standby_alone_does_not_lead(self) -> None:
        """Only a standby is scraped: nobody that we see leads."""
        assert instances(leads(every(10, 0, 0, 0))).leader(Window(0, 20)) == 0.0

    @pytest.mark.parametrize("offset", [0, 5])
    def test_a_leader_beside_a_standby(self, offset: float) -> None:
        """With a standby scraped at the same or other times there is still one leader all the time."""
        found = instances(
            leads(every(10, 1, 1, 1), instance="a"), leads(every(10, 0, 0, 0, start=offset), instance="b")
        )
        assert found.leader(Window(0, 20)) == 1.0

    def test_a_change_of_leader_in_one_process(self) -> None:
        """A process that leads from the middle on led half the time."""
        assert instances(leads(every(10, 0, 0, 1, 1))).leader(Window(0, 30)) == 0.5

    def test_a_leader_that_vanished_leads_no_more(self) -> None:
        """When the leader's process ends and only the standby goes on, nobody leads from then on."""
        found = instances(leads(every(10, 1, 1), instance="a"), leads(every(10, *[0] * 11), instance="b"))
        assert found.leader(Window(0, 100)) == pytest.approx(0.15)

    def test_never_above_one(self) -> None:
        """Two processes that both say to lead are one leader."""
        found = instances(leads(every(10, 1, 1), instance="a"), leads(every(10, 1, 1), instance="b"))
        assert found.leader(Window(0, 10)) == 1.0

    def test_without_the_series_it_is_not_known(self) -> None:
        """An operator without leader election tells nothing about it."""
        assert instances(series(ADDS, {}, every(10, 1, 2))).leader(Window(0, 10)) is None


class TestGauges:
    def test_each_process_has_one(self) -> None:
        """Series are summed within a process and kept apart between processes."""
        found = instances().gauges(
            [
                series("workqueue_depth", {"instance": "a", "priority": "0"}, every(10, 1, 2)),
                series("workqueue_depth", {"instance": "b", "priority": "0"}, every(10, 7, 7, start=5)),
                series("workqueue_depth", {"instance": "a", "priority": "-100"}, every(10, 10, 20)),
            ]
        )
        assert [list(gauge.values) for gauge in found] == [[11.0, 22.0], [7.0, 7.0]]

    def test_a_label_set_that_a_restarted_process_lacks_is_gone(self) -> None:
        """A priority that the process no longer exposes counts nothing, though it comes back later."""
        found = instances().gauge(
            [
                series("workqueue_depth", {"instance": "a", "priority": "0"}, every(10, 1, 1, 1)),
                series("workqueue_depth", {"instance": "a", "priority": "-100"}, {0: 50, 20: 30}),
            ]
        )
        assert list(found.values) == [51.0, 1.0, 31.0]
