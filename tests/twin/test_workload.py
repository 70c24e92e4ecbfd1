import dataclasses
from dataclasses import replace
from random import Random

import pytest

from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.simulation import Simulation, simulate
from advisor.twin.workload import Arrival, Deletion, Existing, Restart, Scaling, Workload, Writer
from advisor.twin.workloadcheck import WorkloadError, check
from tests.twin.worlds import SETTINGS, arrivals, existing, run, world

GOOD = Workload(
    existing=(Existing("a/old", 2), Existing("a/job", 1, kind="RayJob")),
    arrivals=(Arrival(1.0, "a/new", 3), Arrival(2.0, "a/svc", 3, kind="RayService")),
    scalings=(Scaling(3.0, "a/new", 4),),
    deletions=(Deletion(5.0, "a/job", "RayJob"),),
    writers=(Writer(("a/old",), 2.0, 1.0, 3.0),),
    restarts=(Restart(4.0, 1.0),),
)


def with_first(name: str, **fields: object) -> Workload:
    """The good workload with the first of one part changed."""
    first, *others = getattr(GOOD, name)
    parts = {one.name: getattr(GOOD, one.name) for one in dataclasses.fields(GOOD)}
    return Workload(**{**parts, name: (replace(first, **fields), *others)})


def test_good() -> None:
    """What can be is accepted."""
    check(GOOD)
    check(Workload(existing=existing(1, 0), duration_seconds=1.0))


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (with_first("existing", workers=-1), "existing[0].workers must be at least 0, not -1"),
        (with_first("existing", key="old"), 'existing[0].key must be "namespace/name", not "old"'),
        (with_first("existing", key="a/b/c"), 'existing[0].key must be "namespace/name", not "a/b/c"'),
        (with_first("existing", key="/old"), 'existing[0].key must be "namespace/name", not "/old"'),
        (
            with_first("existing", kind="Pod"),
            'existing[0].kind must be one of RayCluster, RayJob, RayService, not "Pod"',
        ),
        (with_first("existing", run_seconds=-2.0), "existing[0].run_seconds must be at least 0, not -2"),
        (with_first("arrivals", workers=-1), "arrivals[0].workers must be at least 0, not -1"),
        (with_first("arrivals", groups=0), "arrivals[0].groups must be at least 1, not 0"),
        (with_first("arrivals", at_seconds=-0.5), "arrivals[0].at_seconds must be at least 0, not -0.5"),
        (with_first("arrivals", at_seconds=float("nan")), "arrivals[0].at_seconds must be at least 0, not nan"),
        (with_first("arrivals", at_seconds=float("inf")), "arrivals[0].at_seconds must be at least 0, not inf"),
        (with_first("arrivals", key="a/old"), "arrivals[0].key: there is another RayCluster a/old"),
        (
            with_first("arrivals", key="a/svc-raycluster"),
            "the RayCluster a/svc-raycluster has the name of the one that the RayService a/svc has",
        ),
        (
            replace(GOOD, arrivals=(*GOOD.arrivals, Arrival(1.0, "a/job", 1, kind="RayService"))),
            "the RayService and the RayJob a/job would both have the RayCluster a/job-raycluster",
        ),
        (with_first("scalings", workers=-3), "scalings[0].workers must be at least 0, not -3"),
        (with_first("scalings", key="a/none"), "scalings[0].key: there is no RayCluster a/none"),
        (with_first("scalings", key="a/job"), "scalings[0].key: there is no RayCluster a/job"),
        (
            with_first("scalings", at_seconds=0.5),
            "scalings[0].at_seconds is 0.5, before the RayCluster a/new is created at 1 seconds",
        ),
        (
            with_first("deletions", kind="Job"),
            'deletions[0].kind must be one of RayCluster, RayJob, RayService, not "Job"',
        ),
        (with_first("deletions", kind="RayService"), "deletions[0].key: there is no RayService a/job"),
        (with_first("deletions", at_seconds=-1.0), "deletions[0].at_seconds must be at least 0, not -1"),
        (with_first("writers", keys=()), "writers[0].keys must not be empty"),
        (with_first("writers", keys=("a/old", "a/x")), "writers[0].keys[1]: there is no RayCluster a/x"),
        (with_first("writers", writes_per_second=0.0), "writers[0].writes_per_second must be above 0, not 0"),
        (with_first("writers", from_seconds=-1.0), "writers[0].from_seconds must be at least 0, not -1"),
        (with_first("writers", to_seconds=1.0), "writers[0].to_seconds must be after from_seconds, not 1"),
        (with_first("restarts", down_seconds=-1.0), "restarts[0].down_seconds must be at least 0, not -1"),
        (
            replace(GOOD, restarts=(Restart(4.0, 2.0), Restart(5.0))),
            "restarts[1].at_seconds is 5, when the operator is still down",
        ),
        (replace(GOOD, tail_seconds=-1.0), "tail_seconds must be at least 0, not -1"),
        (replace(GOOD, limit_seconds=0.0), "limit_seconds must be above 0, not 0"),
        (replace(GOOD, duration_seconds=0.0), "duration_seconds must be above 0, not 0"),
        (replace(GOOD, duration_seconds=8000.0), "duration_seconds is 8000, above limit_seconds, 7200"),
        (
            Workload(existing=existing(1, 1)),
            "duration_seconds must be given where nothing arrives and nothing is scaled",
        ),
    ],
)
def test_bad(workload: Workload, message: str) -> None:
    """What cannot be is rejected with the path of the field and what it must be."""
    with pytest.raises(WorkloadError) as caught:
        check(workload)
    assert str(caught.value) == message
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("queue", list(QueueKind))
def test_same_numbers_same_result(queue: QueueKind) -> None:
    """Equal arguments and random numbers give equal results, bit for bit, with everything that can happen in it."""
    parameters = replace(world(), dashboard_seconds=0.05, request_spread=(0.5, 0.8, 1.7), pod_start_spread=(0.5, 1.5))
    settings = OperatorSettings(concurrency=3, qps=20.0, burst=5, cpu_limit_cores=0.3, queue=queue)
    workload = replace(GOOD, arrivals=(*GOOD.arrivals, *arrivals(5, 2), *arrivals(3, 1, kind="RayJob")))
    first = run(workload, settings, parameters)
    assert run(workload, settings, parameters) == first
    assert run(workload, settings, parameters, seed=2) != first


def test_steps_do_not_matter() -> None:
    """A run that is advanced in steps comes to the same as one that is not."""
    workload = Workload(arrivals=arrivals(8, 3, every_seconds=0.1))
    whole = simulate(workload, SETTINGS, world(), Random(1), sample_seconds=0.5)
    stepwise = Simulation(workload, SETTINGS, world(), Random(1), sample_seconds=0.5)
    for step in range(200):
        stepwise.advance(step * 0.05)
    stepwise.advance(None)
    assert stepwise.result() == whole


def test_end_of_a_run() -> None:
    """A run ends some time after the last arrival is ready, at its duration, or at its limit."""
    workload = Workload(arrivals=arrivals(2, 1), tail_seconds=3.0)
    result = run(workload)
    assert result.makespan_seconds is not None
    assert result.run_seconds == pytest.approx(result.makespan_seconds + 3.0)
    assert run(replace(workload, duration_seconds=0.01)).run_seconds == 0.01
    never = replace(workload, deletions=(Deletion(0.001, "team-a/000"),), limit_seconds=50.0)
    assert run(never).run_seconds < 50.0
    slow = world(request_seconds=100.0)
    assert run(replace(workload, limit_seconds=50.0), parameters=slow).run_seconds == 50.0
