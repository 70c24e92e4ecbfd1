from typing import Final

import pytest

from advisor.analysis import Options, load_facts, report_of
from advisor.model.facts import ClientFacts, ControllerFacts, DemandFacts, Facts

FIGURES: Final = (
    "drain_seconds",
    "needed_qps",
    "needed_workers",
    "throughput_per_second",
    "limiter_wait_seconds",
    "bucket_demand_per_second",
)


def figures(
    *controllers: ControllerFacts, client: ClientFacts | None = None, demand: DemandFacts | None = None
) -> dict[str, object]:
    """The figures that follow from several facts; controllers are RayClusters, then RayJobs."""
    names = ("raycluster", "rayjob")
    facts = Facts(
        controllers=dict(zip(names, controllers, strict=False)),
        client=client or ClientFacts(),
        demand=demand or DemandFacts(),
    )
    found = report_of(load_facts(facts), Options()).figures
    assert all(found[name].quality == "estimated" and found[name].origin for name in FIGURES if name in found)
    return {name: pytest.approx(found[name].value) for name in FIGURES if name in found}


WORKING: Final = ControllerFacts(
    max_concurrent_reconciles=4.0, reconciles_per_second=2.0, reconcile_seconds_mean=0.7, adds_per_second=3.0
)


def test_nothing_follows_from_nothing() -> None:
    """No controller, or one without figures."""
    assert figures() == {}
    assert figures(ControllerFacts()) == {}


def test_workers_for_what_arrives() -> None:
    """3 a second of 0.7 s keep 2.1 workers busy, which are 70% of 3."""
    assert figures(WORKING) == {"needed_workers": 3.0, "throughput_per_second": 2.0}


@pytest.mark.parametrize(
    ("demand", "client", "seconds"),
    [
        (DemandFacts(items_in_burst=1150.0, api_calls_per_item=1.0), ClientFacts(qps=5.0, burst=150.0), 201.25),
        (DemandFacts(items_in_burst=1150.0, api_calls_per_item=1.0), ClientFacts(qps=20.0, burst=30.0), 201.25),
        (DemandFacts(items_in_burst=1150.0, api_calls_per_item=1.0), ClientFacts(qps=5.0), 230.0),
        (DemandFacts(items_in_burst=1150.0, api_calls_per_item=1.0), ClientFacts(qps=4.0, burst=150.0), 250.0),
        (DemandFacts(items_in_burst=1150.0, api_calls_per_item=1.0), ClientFacts(qps=-1.0), 201.25),
        (DemandFacts(items_in_burst=1150.0), ClientFacts(qps=1.0, burst=0.0), 201.25),
        (DemandFacts(items_in_burst=10.0, api_calls_per_item=1.0), ClientFacts(qps=1.0, burst=50.0), 1.75),
    ],
)
def test_a_batch_drains_no_faster_than_workers_and_limiter(
    demand: DemandFacts, client: ClientFacts, seconds: float
) -> None:
    """The larger of items x 0.7 s / 4 workers and (calls - Burst) / QPS; without a limiter the workers alone."""
    assert figures(WORKING, demand=demand, client=client)["drain_seconds"] == seconds


def test_without_a_batch_the_backlog_drains() -> None:
    """40 keys at most less 4 workers, 0.7 s each, by 4 workers."""
    deep = ControllerFacts(
        max_concurrent_reconciles=4.0,
        reconciles_per_second=2.0,
        reconcile_seconds_mean=0.7,
        depth_max=40.0,
        queue_wait_seconds_mean=1.0,
    )
    assert figures(deep)["drain_seconds"] == 6.3


@pytest.mark.parametrize(
    ("calls", "adds", "demand", "qps"),
    [
        (5.0, 3.0, DemandFacts(), 15.0),
        (5.0, None, DemandFacts(objects={"raycluster": 600}, resync_seconds=100.0), 30.0),
        (5.0, 3.0, DemandFacts(objects={"raycluster": 60}, resync_seconds=100.0), 15.0),
        (5.0, 3.0, DemandFacts(objects={"raycluster": 600}), 15.0),
        (5.0, 3.0, DemandFacts(objects={"pod": 6000}, resync_seconds=100.0), 15.0),
        (5.0, None, DemandFacts(), 0.0),
    ],
)
def test_qps_for_what_arrives(calls: float, adds: float | None, demand: DemandFacts, qps: float) -> None:
    """Arrivals or the periodic load, whichever is more, times the calls of a reconcile."""
    one = ControllerFacts(api_calls_per_reconcile=calls, adds_per_second=adds)
    assert figures(one, demand=demand)["needed_qps"] == qps


def test_qps_is_that_of_the_neediest_controller() -> None:
    """Each kind has a bucket of its own."""
    one = ControllerFacts(api_calls_per_reconcile=5.0, adds_per_second=3.0)
    other = ControllerFacts(api_calls_per_reconcile=2.0, adds_per_second=20.0)
    assert figures(one, other, demand=DemandFacts())["needed_qps"] == 40.0


@pytest.mark.parametrize(("qps", "wait"), [(20.0, 0.1), (100.0, 0.0)])
def test_the_wait_in_the_limiter(qps: float, wait: float) -> None:
    """Four workers that all write: 4 / QPS less the 0.1 s of a write, never negative."""
    client = ClientFacts(qps=qps, request_seconds_mean=0.1, limiter_wait_seconds_mean=0.0)
    made = figures(WORKING, client=client)
    assert made["limiter_wait_seconds"] == wait
    assert made["bucket_demand_per_second"] == 40.0


def test_no_limiter_no_wait() -> None:
    """Off, or not known: nothing is said."""
    for client in (ClientFacts(qps=-1.0, request_seconds_mean=0.1), ClientFacts(qps=20.0)):
        assert "limiter_wait_seconds" not in figures(WORKING, client=client)


def test_the_throughput_is_that_of_the_busiest() -> None:
    """Of several controllers."""
    assert (
        figures(WORKING, ControllerFacts(active_workers_mean=3.0, reconciles_per_second=9.0))["throughput_per_second"]
        == 9.0
    )
