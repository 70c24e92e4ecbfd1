"""The controllers that feature gates turn on."""

from dataclasses import replace

import pytest

from advisor.analysis.loading import load_source
from advisor.analysis.simulated import RecordingPlan, arguments_of, operator_of, record_simulation
from advisor.sources.recording import RecordingSource
from advisor.sources.workloadfile import WorkloadFile
from advisor.twin.networkpolicies import NetworkPolicies
from advisor.twin.parameters import GATES, Faults, OperatorSettings
from advisor.twin.workload import Arrival, CronJob, Deletion, Existing, Restart, Scaling, Workload
from advisor.twin.workloadcheck import WorkloadError, check
from tests.twin.worlds import SETTINGS, arrivals, controller, existing, requests, run, started, world


def on(*gates: str, settings: OperatorSettings = SETTINGS) -> OperatorSettings:
    """Settings with some gates."""
    return replace(settings, gates=frozenset(gates))


def cron(*, workers: int = 1, makes_job: bool = False, is_shut_down: bool = False) -> Workload:
    """A RayCronJob that is due three times in a minute."""
    one = CronJob("a/cron", 20.0, 5.0, workers, run_seconds=2.0, makes_job=makes_job, is_shut_down=is_shut_down)
    return Workload(cron_jobs=(one,), duration_seconds=60.0)


def test_without_gates_there_is_no_trace_of_them() -> None:
    """A RayCronJob that nobody runs changes nothing."""
    workload = Workload(arrivals=arrivals(6, 2), duration_seconds=30.0)
    assert run(replace(workload, cron_jobs=cron().cron_jobs)) == run(workload)
    assert [one.controller for one in run(workload).controllers] == ["raycluster"]


@pytest.mark.parametrize("gate", GATES)
def test_each_is_a_controller_of_its_own(gate: str) -> None:
    """It is on by its name, and takes nothing from the RayClusters when it has nothing to do with them."""
    result = run(Workload(arrivals=arrivals(3, 2), cron_jobs=cron().cron_jobs, duration_seconds=60.0), on(gate))
    assert gate in [one.controller for one in result.controllers]
    assert len(result.ready_seconds) == 3
    assert result == run(Workload(arrivals=arrivals(3, 2), cron_jobs=cron().cron_jobs, duration_seconds=60.0), on(gate))


class TestRayCronJob:
    def test_a_job_each_time(self) -> None:
        """One RayJob and one status write for each run; the timer is the time to the next."""
        result = run(cron(), on("raycronjob"))
        assert (requests(result, "POST", "RayJob"), requests(result, "PUT", "RayCronJob")) == (3, 3)
        assert requests(result, "POST", "RayCluster") == 3
        # Each run by its timer, and once more by the own status write.
        counts = controller(result, "raycronjob").reconciles
        assert (counts["requeue_after"], counts["success"], counts["error"]) == (6, 0, 0)

    def test_jobs_have_what_it_asks_for(self) -> None:
        """Workers, groups and the rest are those of its RayJobs, named by their run."""
        simulation = started(cron(workers=4, makes_job=True, is_shut_down=True), on("raycronjob"))
        simulation.advance(None)
        result = simulation.result()
        assert sorted(simulation.jobs.by_key) == ["a/cron-0", "a/cron-1", "a/cron-2"]
        assert (requests(result, "POST", "Pod"), requests(result, "POST", "Job")) == (15, 3)
        assert requests(result, "DELETE", "RayCluster") == 3

    def test_missed_runs_are_made_up_for(self) -> None:
        """What was due while no operator was up comes one after another, none twice."""
        result = run(replace(cron(), restarts=(Restart(10.0, 40.0),)), on("raycronjob"))
        assert (requests(result, "POST", "RayJob"), requests(result, "PUT", "RayCronJob")) == (3, 3)
        assert controller(result, "raycronjob").reconciles["success"] == 1

    def test_a_status_that_is_lost_makes_no_second_job(self) -> None:
        """After a failed status write the same run is tried again, and its RayJob exists already."""
        faults = Faults(throttled_ratio=1.0, retry_after_seconds=0.1, throttled_kinds=("RayCronJob",), to_seconds=8.0)
        simulation = started(cron(), on("raycronjob"), world(faults=faults))
        simulation.advance(None)
        result = simulation.result()
        assert controller(result, "raycronjob").reconciles["error"] > 0
        assert requests(result, "POST", "RayJob") > len(simulation.jobs.by_key) == 3

    @pytest.mark.parametrize(
        ("one", "message"),
        [
            (CronJob("cron", 20.0), r'cron_jobs\[0\].key must be "namespace/name"'),
            (CronJob("a/cron", 0.0), r"cron_jobs\[0\].period_seconds must be above 0, not 0"),
            (CronJob("a/cron", 20.0, from_seconds=-1.0), r"cron_jobs\[0\].from_seconds must be at least 0, not -1"),
        ],
    )
    def test_what_cannot_be(self, one: CronJob, message: str) -> None:
        """The field that is wrong is named."""
        with pytest.raises(WorkloadError, match=message):
            check(Workload(cron_jobs=(one,), duration_seconds=60.0))

    def test_no_two_of_a_name(self) -> None:
        """Keys are unique."""
        with pytest.raises(WorkloadError, match="there is a RayCronJob a/cron already"):
            check(Workload(cron_jobs=cron().cron_jobs * 2, duration_seconds=60.0))


class TestNetworkPolicy:
    def test_it_posts_first(self) -> None:
        """Two policies for each cluster; every pass tries to create both, and what exists is no error."""
        result = run(Workload(arrivals=arrivals(5, 2), duration_seconds=20.0), on("networkpolicy"))
        passes = controller(result, "networkpolicy").reconciles
        assert (passes["error"], passes["requeue_after"]) == (0, 0)
        # The policies that it owns wake it again.
        assert passes["success"] > 5
        assert requests(result, "POST", "NetworkPolicy") == 2 * passes["success"]
        assert requests(result, "PUT", "NetworkPolicy") == 0

    def test_only_changes_of_the_spec_wake_it(self) -> None:
        """A scaling does, the status writes that follow and other writers' labels do not."""
        workload = Workload(existing=existing(1, 2), duration_seconds=20.0)
        assert controller(run(workload, on("networkpolicy")), "networkpolicy").reconciles["success"] == 0
        scaled = run(replace(workload, scalings=(Scaling(5.0, "old/000", 6),)), on("networkpolicy"))
        assert controller(scaled, "networkpolicy").reconciles["success"] == 1
        assert requests(scaled, "POST", "NetworkPolicy") == 2

    def test_they_go_with_their_cluster(self) -> None:
        """The garbage collector takes them, not the operator; a new cluster of the same name needs its own."""
        workload = Workload(
            arrivals=(Arrival(0.0, "a/one", 1),), deletions=(Deletion(10.0, "a/one"),), duration_seconds=20.0
        )
        simulation = started(workload, on("networkpolicy"))
        policies = simulation._gated["networkpolicy"]
        assert isinstance(policies, NetworkPolicies)
        simulation.advance(5.0)
        assert policies.existing == {("a/one", "head"), ("a/one", "workers")}
        simulation.advance(None)
        assert policies.existing == set()
        assert requests(simulation.result(), "DELETE", "NetworkPolicy") == 0

    def test_it_has_as_many_workers_as_the_flag_says(self) -> None:
        """Unlike raycluster-mtls."""
        settings = on("networkpolicy", "raycluster-mtls", settings=replace(SETTINGS, concurrency=4))
        simulation = started(Workload(arrivals=arrivals(2, 1)), settings)
        simulation.advance(1.0)
        workers = {name: one.loop.metrics.max_concurrent_reconciles for name, one in simulation.controllers.items()}
        assert workers == {"raycluster": 4, "networkpolicy": 4, "raycluster-mtls": 1}


class TestMtls:
    def test_no_pod_before_the_certificates(self) -> None:
        """Finalizer, Issuers and Certificates come first; until these are issued the RayCluster's reconcile fails."""
        workload = Workload(arrivals=arrivals(1, 2), duration_seconds=10.0)
        plain, held = run(workload), run(workload, on("raycluster-mtls"))
        assert controller(plain).reconciles["error"] <= plain.conflicts
        assert controller(held).reconciles["error"] >= 5
        assert (requests(held, "POST", "Issuer"), requests(held, "POST", "Certificate")) == (2, 3)
        assert plain.ready_seconds[0] < 0.5
        assert 1.0 < held.ready_seconds[0] < 3.0
        assert requests(held, "POST", "Pod") == requests(plain, "POST", "Pod") == 3
        # Head and workers have new addresses once: both certificates are asked for again.
        assert requests(held, "PUT", "Certificate") == 2

    def test_slow_certificates_hold_everything_up(self) -> None:
        """The time of cert-manager is in the time until a cluster is ready."""
        workload = Workload(arrivals=arrivals(1, 2), duration_seconds=60.0)
        slow = run(workload, on("raycluster-mtls"), replace(world(), certificate_seconds=10.0))
        assert 10.0 < slow.ready_seconds[0] < 25.0

    def test_one_worker_for_all(self) -> None:
        """Many clusters at once wait for each other's certificates, however many workers the flag asks for."""
        workload = Workload(arrivals=arrivals(40, 1), duration_seconds=60.0)
        few, many = (
            controller(
                run(workload, on("raycluster-mtls", settings=replace(SETTINGS, concurrency=each))), "raycluster-mtls"
            )
            for each in (1, 8)
        )
        for one in (few, many):
            assert one.queue_wait_seconds_mean is not None
            assert one.queue_wait_seconds_mean > 0.3

    def test_at_rest_they_are_looked_at_every_minute(self) -> None:
        """What exists has certificates; nothing is written but the event of each look."""
        result = run(Workload(existing=existing(6, 2), duration_seconds=120.0), on("raycluster-mtls"))
        assert controller(result, "raycluster-mtls").reconciles == {
            "success": 0,
            "error": 0,
            "requeue": 0,
            "requeue_after": 12,
        }
        assert requests(result, "PUT", "Certificate") == requests(result, "POST", "Certificate") == 0

    def test_more_workers_have_other_addresses(self) -> None:
        """The workers' certificate is asked for again once the status shows the new Pods, the head's is not."""
        workload = Workload(existing=existing(1, 2), scalings=(Scaling(5.0, "old/000", 4),), duration_seconds=20.0)
        result = run(workload, on("raycluster-mtls"))
        assert requests(result, "PUT", "Certificate") == 1
        assert controller(result).reconciles["error"] == result.conflicts
        assert len(result.scaled_seconds) == 1

    def test_a_cluster_that_goes_takes_its_secrets_along(self) -> None:
        """Three Secrets are deleted and the finalizer is taken off, also by the process that follows."""
        for restarts in ((), (Restart(9.9, 2.0),)):
            workload = Workload(
                existing=(Existing("a/one", 1),),
                deletions=(Deletion(10.0, "a/one"),),
                restarts=restarts,
                duration_seconds=20.0,
            )
            result = run(workload, on("raycluster-mtls"))
            assert (requests(result, "DELETE", "Secret"), requests(result, "PUT", "RayCluster")) == (3, 1)

    def test_refused_requests_are_tried_again(self) -> None:
        """What was created before stays, and the rest follows."""
        faults = Faults(
            throttled_ratio=1.0,
            retry_after_seconds=0.1,
            throttled_kinds=("Issuer", "Certificate", "NetworkPolicy", "RayJob"),
            to_seconds=8.0,
        )
        workload = Workload(arrivals=arrivals(2, 1), cron_jobs=cron().cron_jobs, duration_seconds=60.0)
        result = run(workload, on(*GATES), world(faults=faults))
        assert controller(result, "raycluster-mtls").reconciles["error"] > 0
        assert controller(result, "networkpolicy").reconciles["error"] > 0
        assert controller(result, "raycronjob").reconciles["error"] > 0
        assert len(result.ready_seconds) == 2


def test_a_new_process_goes_on_with_what_is_there() -> None:
    """It looks at everything, and makes nothing twice."""
    workload = Workload(arrivals=arrivals(5, 2), cron_jobs=cron().cron_jobs, duration_seconds=60.0)
    once = run(workload, on(*GATES))
    again = run(replace(workload, restarts=(Restart(15.0, 2.0),)), on(*GATES))
    for verb, kind in (("POST", "Certificate"), ("POST", "Issuer"), ("POST", "RayJob"), ("POST", "Pod")):
        assert requests(again, verb, kind) == requests(once, verb, kind)
    assert requests(again, "POST", "NetworkPolicy") > requests(once, "POST", "NetworkPolicy")


def test_a_recording_shows_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Series, log and command line are those of an operator with the gates; 409 on POST is no conflict."""
    settings = on(*GATES, settings=replace(SETTINGS, concurrency=2, qps=100.0, burst=200))
    workload = Workload(arrivals=arrivals(5, 2), cron_jobs=cron().cron_jobs, duration_seconds=60.0)
    file = WorkloadFile(workload, world(), settings, 1)
    assert arguments_of(settings)[-1] == (
        "--feature-gates=RayClusterNetworkPolicy=true,RayClusterMTLS=true,RayCronJob=true"
    )
    operator = operator_of(file, 0.0)
    started_lines = [line for line in operator.watcher.log.lines if "Starting workers" in line]
    assert any('"controllers.RayClusterMTLS"' in line and '"worker count":1' in line for line in started_lines)
    folder = tmp_path_factory.mktemp("gated") / "recording"
    record_simulation(file, folder, RecordingPlan())
    loaded = load_source(RecordingSource(folder))
    signals = loaded.observed.signals(loaded.info.window)
    assert {one.controller for one in signals.controllers} == {"raycluster", "rayjob", "rayservice", *GATES}
    main = signals.controller("raycluster")
    assert main is not None
    assert main.error_ratio.or_else(0.0) > 0.3
    # Control flow, as its text in the log tells: no failures.
    assert signals.log.control_flow_errors.or_else(0.0) > 0.0
    assert main.error_ratio_net.or_else(1.0) < 0.2
    refused = signals.client.requests_per_second_by_code["409"].or_else(0.0)
    assert refused > 2 * signals.client.conflicts_per_second.or_else(refused)
    assert signals.settings.concurrency.value == 2.0
