"""An onlooker of the twin sees what a real operator shows, and changes nothing."""

import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

import msgspec
import pytest

from advisor.knowledge.catalogue import find
from advisor.model.raw import LogRecord, ObjectChange, Subject
from advisor.model.signal import Window
from advisor.queueing.controller import Work
from advisor.queueing.outcome import Outcome
from advisor.signals.logdigest import Key, LogDigest
from advisor.sources.operatorlog import LogParser
from advisor.twin.exposed import CONTROLLERS, Family, Operator, container_families, operator_families
from advisor.twin.names import object_uid, reconcile_id, suffix
from advisor.twin.observer import ClusterLook, PodLook
from advisor.twin.parameters import Faults, OperatorSettings, QueueKind, WorldParameters
from advisor.twin.result import RunResult
from advisor.twin.simulation import Simulation, simulate
from advisor.twin.watcher import Watcher
from advisor.twin.workers import FAILED
from advisor.twin.workload import Arrival, Deletion, Existing, Restart, Scaling, Workload

START_MS = 1_767_225_600_000
START = START_MS / 1000.0
SECOND_NS = 1_000_000_000
WORKLOAD = Workload(arrivals=tuple(Arrival(1.0 + index / 50, f"team-{index % 2}/rc-{index}", 4) for index in range(20)))
WORLD = WorldParameters()
SETTINGS = OperatorSettings()
THROTTLED = OperatorSettings(concurrency=8, qps=5.0, burst=5)


def started(
    workload: Workload = WORKLOAD, settings: OperatorSettings = SETTINGS, world: WorldParameters = WORLD
) -> Operator:
    """A looked-at operator that has not begun."""
    return Operator(Simulation(workload, settings, world, random.Random(1)), Watcher(START_MS))


def run(
    workload: Workload = WORKLOAD, settings: OperatorSettings = SETTINGS, world: WorldParameters = WORLD
) -> tuple[Operator, RunResult]:
    """A looked-at run, to its end."""
    operator = started(workload, settings, world)
    for _ in operator.looks(SECOND_NS):
        pass
    return operator, operator.simulation.result()


def values(families: Iterable[Family], sample_name: str, /, **labels: str) -> list[float]:
    """Values of the samples of a name that have these labels."""
    return [
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == sample_name and labels.items() <= dict(sample.labels).items()
    ]


def total(operator: Operator, name: str, /, **labels: str) -> float:
    """Their sum over what the operator exposes."""
    return sum(values(operator_families(operator), name, **labels))


def records(operator: Operator) -> list[LogRecord]:
    """The log as an analysis reads it; every line of it can be read."""
    parser = LogParser()
    found = list(parser.records(line.encode() for line in operator.watcher.log.lines))
    assert parser.unreadable == 0
    return found


def messages(operator: Operator) -> Counter[str]:
    """How often each message was written."""
    return Counter(json.loads(line)["msg"] for line in operator.watcher.log.lines)


class TestNothingChanges:
    @pytest.mark.parametrize("settings", [SETTINGS, THROTTLED, replace(THROTTLED, cpu_limit_cores=0.1)])
    def test_a_run_is_the_same_with_and_without(self, settings: OperatorSettings) -> None:
        """Looking on, in steps, changes no figure of a run."""
        world = replace(WORLD, faults=Faults(throttled_ratio=0.1), request_cpu_seconds=0.001)
        _, seen = run(settings=settings, world=world)
        assert seen == simulate(WORKLOAD, settings, world, random.Random(1))

    def test_a_run_with_an_end_of_its_own(self) -> None:
        """A given length ends between two looks as well."""
        workload = replace(WORKLOAD, duration_seconds=2.25)
        operator, seen = run(workload)
        assert operator.is_over
        assert seen == simulate(workload, SETTINGS, WORLD, random.Random(1))
        assert seen.run_seconds == 2.25

    def test_a_run_that_never_gets_ready(self) -> None:
        """It ends after the longest that it may take."""
        workload = replace(WORKLOAD, limit_seconds=4.0)
        world = replace(WORLD, faults=Faults(pod_refused_ratio=1.0))
        operator, seen = run(workload, world=world)
        assert operator.is_over
        assert (seen.run_seconds, seen.makespan_seconds) == (4.0, None)

    def test_the_operator_lives_on(self) -> None:
        """It idles beyond the end of its workload, as an operator does: the lease goes on."""
        operator, seen = run()
        before = total(operator, "rest_client_requests_total", method="PUT")
        operator.live(round(seen.run_seconds + 10.0) * SECOND_NS)
        assert operator.simulation.engine.now_ns == round(seen.run_seconds + 10.0) * SECOND_NS
        assert total(operator, "rest_client_requests_total", method="PUT") - before in (4, 5, 6)


class TestSeries:
    @pytest.mark.parametrize("queue", list(QueueKind))
    def test_all_are_those_of_a_real_operator(self, queue: QueueKind) -> None:
        """Each series is in the catalogue, with its type, labels and buckets, in that release."""
        settings = replace(THROTTLED, queue=queue, cpu_limit_cores=1.0)
        operator, _ = run(settings=settings, world=replace(WORLD, faults=Faults(throttled_ratio=0.05)))
        operator.watcher.owner_changed(0, "ADDED", "RayJob", "a/job", "Running")
        operator.watcher.owner_changed(0, "ADDED", "RayService", "a/service", None)
        names = set()
        for family in (*operator_families(operator), *container_families(operator)):
            metric = find(family.name)
            assert metric is not None, family.name
            assert metric.kind == family.kind
            for sample in family.samples:
                labels = dict(sample.labels)
                bound = labels.pop("le", None)
                assert set(labels) == set(metric.labels), sample
                assert list(labels) == sorted(labels)
                if bound not in (None, "+Inf"):
                    assert float(bound or 0.0) in metric.buckets
                names.add(sample.name)
        client_histograms = {name for name in names if name.startswith("rest_client_r") and name.endswith("_bucket")}
        assert bool(client_histograms) == (queue is QueueKind.PRIORITY)
        assert ("controller_runtime_reconcile_timeouts_total" in names) == (queue is QueueKind.PRIORITY)
        assert {"kuberay_job_deployment_status", "kuberay_service_info", "kuberay_cluster_info"} <= names

    def test_queue_and_reconciles_are_those_of_the_run(self) -> None:
        """Counts and sums are the result's, exactly."""
        operator, seen = run(settings=replace(SETTINGS, concurrency=2))
        main = seen.controller("raycluster")
        assert main is not None
        waits = total(operator, "workqueue_queue_duration_seconds_sum")
        count = total(operator, "workqueue_queue_duration_seconds_count")
        assert waits / count == pytest.approx(main.queue_wait_seconds_mean, rel=1e-12)
        assert total(operator, "workqueue_adds_total") == main.adds
        for result, reconciles in main.reconciles.items():
            shown = total(operator, "controller_runtime_reconcile_total", controller="raycluster", result=result)
            assert shown == reconciles
        assert total(operator, "controller_runtime_max_concurrent_reconciles") == 2 * len(CONTROLLERS)

    @pytest.mark.parametrize("throttled_ratio", [0.0, 0.2])
    def test_requests_are_those_of_the_run(self, throttled_ratio: float) -> None:
        """Attempts, waits in the limiter, and what is left of durations without it."""
        world = replace(WORLD, faults=Faults(throttled_ratio=throttled_ratio, retry_after_seconds=0.5))
        operator, seen = run(settings=THROTTLED, world=world)
        assert total(operator, "rest_client_requests_total") == sum(one.attempts for one in seen.requests)
        for verb in ("POST", "PUT", "PATCH"):
            requests = [one for one in seen.requests if one.verb == verb]
            limiter = total(operator, "rest_client_rate_limiter_duration_seconds_sum", verb=verb)
            assert limiter == pytest.approx(sum(one.limiter_seconds for one in requests), abs=1e-9)
            durations = total(operator, "rest_client_request_duration_seconds_sum", verb=verb)
            assert durations - limiter == pytest.approx(sum(one.api_seconds for one in requests), abs=1e-6)
            assert total(operator, "rest_client_request_duration_seconds_count", verb=verb) == sum(
                one.requests for one in requests
            )
        refused = total(operator, "rest_client_requests_total", code="429")
        assert (refused > 0.0) == (throttled_ratio > 0.0)
        assert total(operator, "rest_client_request_retries_total") == refused

    def test_no_limiter_no_samples(self) -> None:
        """Without a limiter its histogram has none, which is how a real operator shows that."""
        operator, _ = run(settings=replace(SETTINGS, qps=-1.0))
        assert values(operator_families(operator), "rest_client_rate_limiter_duration_seconds_count") == []
        assert total(operator, "rest_client_request_duration_seconds_count") > 0.0

    def test_depth(self) -> None:
        """By priority where there are any; a classic queue has one series for each controller from the start."""
        name = "workqueue_depth"
        operator = started(settings=replace(SETTINGS, queue=QueueKind.CLASSIC))
        assert values(operator_families(operator), name, priority="") == [0.0] * 3
        operator = started()
        assert values(operator_families(operator), name) == []
        operator.advance(2 * SECOND_NS)
        depth = float(len(operator.simulation.controllers["raycluster"].queue))
        assert depth > 0.0
        assert values(operator_families(operator), name, priority="0", controller="raycluster") == [depth]

    def test_unfinished_work_is_refreshed_by_its_timer(self) -> None:
        """Between two of its beats the gauge stands still."""
        operator = started(world=replace(WORLD, request_seconds={"POST": 5.0}))
        operator.advance(1_500_000_000)
        first = total(operator, "workqueue_longest_running_processor_seconds")
        operator.advance(1_900_000_000)
        assert 0.0 < first == total(operator, "workqueue_longest_running_processor_seconds")
        operator.advance(2_000_000_000)
        assert total(operator, "workqueue_longest_running_processor_seconds") == pytest.approx(first + 0.5)
        assert total(operator, "workqueue_unfinished_work_seconds") == pytest.approx(first + 0.5)

    def test_cpu_quota(self) -> None:
        """CPU is had no faster than the quota, and periods are throttled while work waits for it."""
        settings = OperatorSettings(concurrency=8, cpu_limit_cores=0.1)
        operator = started(settings=settings, world=replace(WORLD, reconcile_seconds=0.02, request_cpu_seconds=0.002))
        before = now = 0.0
        for _ in operator.looks(SECOND_NS):
            now = operator.simulation.engine.now_ns / SECOND_NS
            used = values(container_families(operator), "container_cpu_usage_seconds_total")[0]
            assert before <= used <= 0.1 * now + 0.011
            before = used
        shown = {family.name: family.samples[0].value for family in container_families(operator)}
        assert shown["kube_pod_container_resource_limits"] == 0.1
        assert 0.8 < shown["container_cpu_cfs_throttled_periods_total"] / shown["container_cpu_cfs_periods_total"] <= 1
        # Work that has been taken is counted up to its end, which may be a little ahead.
        assert shown["container_cpu_cfs_periods_total"] <= now * 10 + 20
        assert shown["container_cpu_cfs_throttled_seconds_total"] <= now + 2.0
        assert total(operator, "process_cpu_seconds_total") == before


class TestLog:
    def test_each_reconcile_has_its_key(self) -> None:
        """An analysis finds every reconcile, and every Pod with the key that made it."""
        operator, seen = run(settings=replace(SETTINGS, concurrency=3))
        digest = LogDigest()
        for record in records(operator):
            digest.add(record)
        totals = digest.totals(Window(START, START + seen.run_seconds))
        assert set(totals) == {Key("raycluster", *one.key.split("/")) for one in WORKLOAD.arrivals}
        main = seen.controller("raycluster")
        assert main is not None
        assert sum(one.reconciles for one in totals.values()) == sum(main.reconciles.values())
        assert {one.pods_created for one in totals.values()} == {5}

    def test_times_never_go_back(self) -> None:
        """Lines stand in the order of time, within the run."""
        operator, seen = run(settings=THROTTLED)
        times = [record.time for record in records(operator)]
        assert times == sorted(times)
        assert START <= times[0] <= times[-1] <= START + seen.run_seconds

    def test_who_leads(self) -> None:
        """The lease and the workers of each controller."""
        operator = started()
        operator.watcher.leads(0, {"raycluster": 4})
        first, *_, last = (json.loads(line) for line in operator.watcher.log.lines)
        assert first["msg"] == "Successfully acquired lease"
        assert (last["logger"], last["msg"], last["worker count"]) == ("controllers.RayCluster", "Starting workers", 4)
        assert [record.subject for record in records(operator)] == [Subject.LEADER_ACQUIRED, Subject.WORKERS_STARTED]

    def test_the_last_line_of_a_pass_without_a_write(self) -> None:
        """It tells when the key comes again; a pass that writes a status ends before the write."""
        operator, seen = run()
        ends = [record for record in records(operator) if record.subject is Subject.END]
        assert {record.delay_seconds for record in ends} == {300.0}
        main = seen.controller("raycluster")
        assert main is not None
        assert len(ends) == sum(main.reconciles.values()) - messages(operator)["updateRayClusterStatus"]
        assert messages(operator)["updateRayClusterStatus"] == sum(
            one.requests for one in seen.requests if one.kind == "RayCluster"
        )

    def test_conflicts(self) -> None:
        """A refused write is a 409 on PUT, two lines, and a failed reconcile."""
        operator, seen = run(settings=OperatorSettings(concurrency=16), world=replace(WORLD, watch_lag_seconds=0.05))
        assert seen.conflicts > 0
        assert total(operator, "rest_client_requests_total", code="409", method="PUT") == seen.conflicts
        conflicts = [record for record in records(operator) if record.subject is Subject.CONFLICT]
        assert len(conflicts) == seen.conflicts
        assert all(record.name and record.reconcile_id for record in conflicts)
        assert messages(operator)["Error updating status"] == seen.conflicts
        assert total(operator, "rest_client_requests_total", method="PUT") == sum(
            one.attempts for one in seen.requests if one.verb == "PUT"
        )

    def test_long_waits_in_the_limiter(self) -> None:
        """Only those above a second are written, and at most one in ten seconds."""
        operator, seen = run(settings=OperatorSettings(concurrency=16, qps=4.0, burst=1))
        lines = [record for record in records(operator) if record.subject is Subject.THROTTLED]
        assert 0 < len(lines) <= seen.run_seconds / 10.0 + 1.0
        assert all((record.delay_seconds or 0.0) > 1.0 for record in lines)
        address = r"POST https://[\d.:]+/api/v1/namespaces/team-\d/(pods|services)"
        assert all(re.fullmatch(address, record.detail) for record in lines)
        assert all(record.name for record in lines)
        quiet, _ = run(settings=OperatorSettings(qps=4.0, burst=1))
        assert [record for record in records(quiet) if record.subject is Subject.THROTTLED] == []

    def test_refused_pods(self) -> None:
        """The errors of a quota, with what KubeRay writes around them."""
        operator, seen = run(world=replace(WORLD, faults=Faults(pod_refused_ratio=0.3)))
        main = seen.controller("raycluster")
        assert main is not None
        errors = [record for record in records(operator) if record.subject is Subject.ERROR]
        assert 0 < len(errors) == main.reconciles["error"]
        assert {record.detail.partition("\n")[0] for record in errors} == {
            "FailedCreateHeadPod",
            "FailedCreateWorkerPod",
        }
        assert messages(operator)["Error reconcile resources"] == len(errors)
        assert total(operator, "rest_client_requests_total", code="403") == len(errors)

    def test_an_overloaded_server(self) -> None:
        """A request that is answered 429 to the last fails its reconcile."""
        operator, _ = run(
            replace(WORKLOAD, limit_seconds=20.0),
            world=replace(WORLD, faults=Faults(throttled_ratio=1.0, retry_after_seconds=0.1)),
        )
        errors = [record.detail for record in records(operator) if record.subject is Subject.ERROR]
        assert errors
        assert all("too many requests" in detail for detail in errors)

    def test_deleted_pods(self) -> None:
        """A smaller cluster has a line for each Pod that went."""
        workload = Workload(existing=(Existing("a/b", 5),), scalings=(Scaling(1.0, "a/b", 2),), duration_seconds=10.0)
        operator, _ = run(workload)
        deleted = [record for record in records(operator) if record.subject is Subject.POD_DELETED]
        assert [(record.namespace, record.name) for record in deleted] == [("a", "b")] * 3
        assert operator.watcher.objects.pods == 3

    def test_groups_that_wait_for_their_pods(self) -> None:
        """A group that is left as it is because its Pods are not seen yet."""
        operator = started(Workload(arrivals=(Arrival(0.0, "a/b", 3),)))
        watcher = operator.watcher
        watcher.began(0, "raycluster", Work(0, "a/b", 0, 0))
        watcher.held_back(0, "a/b")
        assert [record.detail for record in records(operator) if record.subject is Subject.EXPECTATION] == ["g0"]

    @pytest.mark.parametrize("controller", ["rayjob", "rayservice"])
    def test_other_controllers(self, controller: str) -> None:
        """Their reconciles have a first and a last line too, and their errors."""
        operator = started()
        watcher = operator.watcher
        watcher.began(0, controller, Work(0, "a/b", 0, 0))
        watcher.ended(SECOND_NS, controller, Work(0, "a/b", 0, 0), Outcome(requeue_after_ns=SECOND_NS))
        first, last = records(operator)
        assert (first.controller, first.namespace, first.name) == (controller, "a", "b")
        assert (first.reconcile_id, last.time - first.time) == (last.reconcile_id, 1.0)

    def test_services_whose_head_is_not_there_yet(self) -> None:
        """The pass that makes a cluster fails on purpose; one that takes long has waited for a dashboard."""
        workload = Workload(arrivals=(Arrival(0.0, "a/service", 1, kind="RayService"),), duration_seconds=20.0)
        operator, _ = run(workload)
        errors = [record for record in records(operator) if record.subject is Subject.ERROR]
        assert errors
        assert {(record.controller, record.detail) for record in errors} == {
            ("rayservice", "found 0 head. cluster name service, namespace a")
        }
        slow, _ = run(workload, world=replace(WORLD, dashboard_seconds=9.0, dashboard_timeout_seconds=2.0))
        assert any("context deadline exceeded" in record.detail for record in records(slow))

    @pytest.mark.parametrize("kind", ["RayJob", "RayService"])
    def test_conflicts_of_other_kinds(self, kind: str) -> None:
        """They are a 409 and a failed reconcile as well."""
        operator = started()
        watcher = operator.watcher
        work, call = Work(0, "a/b", 0, 0), object()
        watcher.began(0, kind.lower(), work)
        watcher.sent(0, kind.lower(), work, ("PUT", kind))
        watcher.asked(0, call)
        watcher.passed(0, call, "PUT", is_limited=False)
        watcher.replied(SECOND_NS, call, "PUT", 200, is_final=True)
        watcher.conflicted(SECOND_NS, kind, "a/b")
        watcher.ended(SECOND_NS, kind.lower(), work, FAILED)
        assert [one.controller for one in records(operator) if one.subject is Subject.CONFLICT] == [kind.lower()]
        assert total(operator, "rest_client_requests_total", code="409", method="PUT") == 1.0


class TestRestart:
    WORKLOAD = Workload(
        existing=tuple(Existing(f"a/old-{index}", 2) for index in range(50)),
        arrivals=tuple(Arrival(1.0, f"a/new-{index}", 2) for index in range(5)),
        restarts=(Restart(5.0, 3.0),),
        duration_seconds=20.0,
    )

    def test_a_process_that_is_down_answers_nothing(self) -> None:
        """Between two processes nothing can be scraped; the next one counts from zero."""
        settings = replace(SETTINGS, cpu_limit_cores=0.5)
        operator = started(self.WORKLOAD, settings)
        starts, cpu = [], []
        for _ in operator.looks(SECOND_NS):
            families = list(operator_families(operator))
            now = operator.simulation.engine.now_ns // SECOND_NS
            assert bool(families) == bool(list(container_families(operator))) == (not 5 <= now < 8)
            starts += values(families, "process_start_time_seconds")
            cpu += values(families, "process_cpu_seconds_total")
        assert [one - START for one in starts] == [-30.0] * 5 + [8.0] * 13
        assert cpu[4] > cpu[5] < cpu[-1]

    def test_everything_is_looked_at_again(self) -> None:
        """The first list comes at low priority, and the log tells of the lease and each key."""
        operator = started(self.WORKLOAD)
        operator.advance(8_010_000_000)
        assert values(operator_families(operator), "workqueue_depth", priority="-100")[0] > 40.0
        for _ in operator.looks(SECOND_NS):
            pass
        main = operator.simulation.result().controller("raycluster")
        assert main is not None
        assert total(operator, "controller_runtime_reconcile_total") < sum(main.reconciles.values())
        leads = [record.time for record in records(operator) if record.subject is Subject.LEADER_ACQUIRED]
        assert leads == [START + 8.0]

    def test_what_was_under_way_is_lost(self) -> None:
        """An answer to the process that has ended counts nowhere but in the attempts."""
        operator, _ = run()
        watcher = operator.watcher
        watcher.began(0, "raycluster", Work(0, "a/b", 0, 0))
        watcher.restarted(9 * SECOND_NS)
        assert values(operator_families(operator), "rest_client_requests_total") == []
        watcher.replied(10 * SECOND_NS, object(), "PUT", 200, is_final=True)
        assert watcher.client.durations == {}

    def test_a_lease_that_overtakes_itself(self) -> None:
        """Its next write may leave before the last one is answered; neither is a repetition."""
        world = replace(WORLD, request_seconds={"PUT": 3.0})
        operator, seen = run(Workload(duration_seconds=30.0), world=world)
        lease = next(one for one in seen.requests if one.kind == "Lease")
        assert total(operator, "rest_client_request_duration_seconds_count", verb="PUT") == lease.requests
        assert total(operator, "rest_client_request_retries_total") == 0.0


class TestObjects:
    def test_a_cluster_from_its_creation_to_ready(self) -> None:
        """All changes in order, with the fields of a recording."""
        operator, seen = run(Workload(arrivals=(Arrival(1.0, "team-a/one", 2),)))
        lines = operator.watcher.objects.lines
        changes = [msgspec.json.decode(line, type=ObjectChange) for line in lines]
        times = [change.t for change in changes]
        assert times == sorted(times)
        first, *_, last = [change for change in changes if change.kind == "RayCluster"]
        assert (first.t, first.event, first.state, first.desired) == (START + 1.0, "ADDED", None, None)
        assert (first.generation, first.observed) == (1, None)
        assert (last.event, last.state, last.desired, last.ready_workers) == ("MODIFIED", "ready", 2, 2)
        assert last.t - first.t == pytest.approx(seen.makespan_seconds, abs=0.001)
        pods: dict[str, list[ObjectChange]] = {}
        for change in changes:
            if change.kind == "Pod":
                pods.setdefault(change.name, []).append(change)
        assert sorted(group[0].node_type or "" for group in pods.values()) == ["head", "worker", "worker"]
        for name, group in pods.items():
            assert [(one.event, one.phase, one.ready) for one in group] == [
                ("ADDED", "Pending", False),
                ("MODIFIED", "Pending", False),
                ("MODIFIED", "Running", True),
            ]
            assert re.fullmatch(r"one-(head|g0-worker)-[a-z0-9]{5}", name)
            assert group[0].cluster == "one"
        versions = [int(json.loads(line)["rv"]) for line in lines]
        assert versions == sorted(set(versions))
        assert set(json.loads(lines[0])) == {
            *("t", "event", "kind", "namespace", "name", "rv", "state", "desired", "ready_workers"),
            *("generation", "observed", "created"),
        }

    def test_what_was_there(self) -> None:
        """Existing objects are there before anything happens, ready; what is scaled has a generation more."""
        workload = Workload(
            existing=(Existing("a/b", 2), Existing("a/job", 1, kind="RayJob")),
            scalings=(Scaling(1.0, "a/b", 4),),
            deletions=(Deletion(5.0, "a/b"),),
            duration_seconds=10.0,
        )
        operator = started(workload)
        changes = [msgspec.json.decode(line, type=ObjectChange) for line in operator.watcher.objects.lines]
        assert {(one.event, one.t) for one in changes} == {("EXISTING", START)}
        assert Counter(one.kind for one in changes) == {"RayCluster": 2, "Pod": 5, "RayJob": 1}
        assert total(operator, "kuberay_cluster_info", owner_kind="RayJob") == 1.0
        assert total(operator, "kuberay_job_deployment_status", deployment_status="Running") == 1.0
        operator.advance(4 * SECOND_NS)
        later = [msgspec.json.decode(line, type=ObjectChange) for line in operator.watcher.objects.lines]
        look = [(one.generation, one.observed, one.desired, one.ready_workers) for one in later if one.name == "b"]
        assert look[:2] == [(1, 1, 2, 2), (2, 1, 2, 2)]
        assert look[-1] == (2, 2, 4, 4)
        operator.advance(10 * SECOND_NS)
        assert values(operator_families(operator), "kuberay_cluster_info", name="b") == []
        assert operator.watcher.objects.pods == 2

    def test_what_is_gone_is_gone(self) -> None:
        """Deleted objects leave the series."""
        operator = started()
        watcher, pod = operator.watcher, object()
        look = ClusterLook("a/b", 1, 1, 1, 1, was_ready=True)
        watcher.cluster_changed(0, "EXISTING", look)
        watcher.pod_changed(0, "EXISTING", PodLook(pod, "a/b", is_head=True, is_running=True))
        watcher.owner_changed(0, "ADDED", "RayJob", "a/job", None)
        memory = total(operator, "process_resident_memory_bytes")
        assert total(operator, "kuberay_cluster_condition_provisioned", condition="true") == 1.0
        assert values(operator_families(operator), "kuberay_cluster_provisioned_duration_seconds") == []
        watcher.pod_changed(1, "DELETED", PodLook(pod, "a/b", is_head=True, is_running=True))
        watcher.cluster_changed(2, "DELETED", look)
        watcher.owner_changed(3, "DELETED", "RayJob", "a/job", "Complete")
        assert total(operator, "process_resident_memory_bytes") < memory
        # Watches lag: what is told of an object after its end is about nothing.
        watcher.pod_changed(4, "MODIFIED", PodLook(pod, "a/b", is_head=True, is_running=True))
        watcher.cluster_changed(4, "MODIFIED", look)
        watcher.owner_changed(4, "MODIFIED", "RayJob", "a/job", "Complete")
        for name in ("kuberay_cluster_info", "kuberay_job_info"):
            assert values(operator_families(operator), name) == []
        events = [json.loads(line)["event"] for line in watcher.objects.lines]
        assert events == ["EXISTING", "EXISTING", "ADDED", "DELETED", "DELETED", "DELETED"]

    def test_names_are_all_different(self) -> None:
        """Names and ids look like those of Kubernetes, and none comes twice."""
        numbers = range(50_000)
        assert len({suffix(number) for number in numbers}) == len(numbers)
        ids = {reconcile_id(number) for number in numbers} | {object_uid(number) for number in numbers}
        assert len(ids) == 2 * len(numbers)
        form = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}")
        assert all(form.fullmatch(one) for one in list(ids)[:100])
