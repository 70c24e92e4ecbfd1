"""Loads out of rates and means, from facts, samples and recordings whose objects nobody watched."""

import msgspec
import pytest

from advisor.analysis.loading import Loaded, load_facts, load_source
from advisor.analysis.ratesload import rates_point_of
from advisor.errors import NothingToAnalyseError
from advisor.model.facts import ClientFacts, ControllerFacts, DemandFacts, Facts, OperatorFacts
from advisor.model.raw import Setup
from advisor.sources.recording import RecordingSource
from advisor.twin.point import OperatingPoint
from tests.support import ROOT

RECORDINGS = ROOT / "tests" / "data" / "recordings"
BUSY = ControllerFacts(
    max_concurrent_reconciles=1,
    reconciles_per_second=4.0,
    reconcile_seconds_mean=0.24,
    api_calls_per_reconcile=4.0,
)
CLIENT = ClientFacts(qps=-1.0, request_seconds_mean=0.05)


def told(controller: ControllerFacts = BUSY, client: ClientFacts = CLIENT, **demand: object) -> Facts:
    """A facts file about one controller."""
    return Facts(controllers={"raycluster": controller}, client=client, demand=msgspec.convert(demand, DemandFacts))


def made(facts: Facts) -> OperatingPoint:
    """The point of a facts file."""
    return rates_point_of("some.facts.yaml", load_facts(facts)).loaded.point


def samples(name: str, qps: int = 100) -> Loaded:
    """A recording's metrics alone, with the arguments that go with it."""
    setup = Setup(version="1.7.0", args=(f"--qps={qps}", f"--burst={2 * qps}"))
    return load_source(RecordingSource(RECORDINGS / name / "metrics.om.gz"), told=setup)


@pytest.mark.parametrize(
    ("name", "clusters", "pods", "within"),
    [
        ("grid-c1-q100", 50, 450, 0.05),
        ("grid-c16-q100", 50, 450, 0.4),
        ("after-ten-workers", 100, 600, 0.4),
        ("throttled-one-worker", 20, 220, 0.4),
    ],
)
def test_samples_tell_how_many_clusters_of_what_size(name: str, clusters: int, pods: int, within: float) -> None:
    """The number is what the series of objects grew by; Pods follow from time, of which conflicts take some.

    A client that waits in its limiter waits longer for Pods than on average over all buckets.
    """
    found = rates_point_of(name, samples(name)).loaded.point
    assert len(found.workload.arrivals) == clusters
    assert sum(1 + one.workers for one in found.workload.arrivals) == pytest.approx(pods, rel=within)
    assert found.workload.existing == ()


def test_a_cluster_that_was_scaled_is_one_large_cluster() -> None:
    """Where the number of clusters did not grow, the reconciles tell it."""
    found = rates_point_of("hot", samples("hot-key-big-scale-up"))
    (one,) = found.loaded.point.workload.arrivals
    assert one.workers == pytest.approx(500, rel=0.05)
    assert "1 cluster with" in found.note
    assert found.loaded.window.seconds == pytest.approx(20.0, abs=0.5)


def test_releases_without_request_times_are_taken_by_the_time_of_workers() -> None:
    """Nothing says how long a request took, so the calibration takes it from what workers did."""
    full = samples("grid-c1-q100")
    signals = full.observed.signals
    gone = {"api_seconds_mean", "write_api_seconds_mean", "request_seconds_mean", "limiter_wait_seconds_mean"}

    class Old:
        """The same operator without the histograms of requests."""

        def __getattr__(self, name: str) -> object:
            return getattr(full.observed, name)

        def signals(self, window: object) -> object:
            found = signals(window)  # type: ignore[arg-type]
            absent = dict.fromkeys(gone, found.log.throttle_lines)
            client = msgspec.structs.replace(found.client, verbs=(), **absent)
            return msgspec.structs.replace(found, client=client)

    loaded = Loaded(full.operator, Old(), full.args, full.info)  # type: ignore[arg-type]
    measured = rates_point_of("old", loaded).loaded.point.measured
    assert measured.api_seconds_by_verb == ()
    assert measured.write_seconds == pytest.approx(0.053, abs=0.001)


def test_keys_that_waited_long_came_at_once() -> None:
    """The longer keys waited, the shorter the time within which clusters are created; without waits it is all of it."""
    spans = []
    for wait in (None, 5.0, 1e6):
        arrivals = made(told(msgspec.structs.replace(BUSY, queue_wait_seconds_mean=wait))).workload.arrivals
        spans.append(arrivals[-1].at_seconds)
    assert spans[0] == pytest.approx(150.0, rel=0.02)
    assert spans[0] > spans[1] > spans[2]
    assert spans[2] < 2.0


def test_an_operator_that_only_resyncs_gets_no_new_clusters() -> None:
    """Where objects at rest make up all reconciles, nothing is created; the run is as long as the rates are taken."""
    point = made(told(msgspec.structs.replace(BUSY, reconciles_per_second=0.5), objects={"raycluster": 150}))
    assert (point.workload.arrivals, len(point.workload.existing)) == ((), 150)
    assert point.workload.duration_seconds == 1200.0


def test_answers_429_count_as_their_share_of_all_answers() -> None:
    """Rates by code are made a share."""
    codes = {"200": 3.0, "429": 1.0}
    client = msgspec.structs.replace(CLIENT, requests_per_second_by_code=codes)
    assert made(told(client=client)).measured.throttled_ratio == 0.25


def test_what_a_flag_asks_for_stands_in_for_the_workers() -> None:
    """Configured concurrency is taken where that in force is not told."""
    controller = msgspec.structs.replace(BUSY, max_concurrent_reconciles=None, configured_concurrency=3)
    assert made(told(controller)).settings.concurrency == 3


def test_a_release_whose_qps_is_a_flag_does_not_tell_it() -> None:
    """Nothing is assumed about what somebody may have set."""
    facts = told(client=ClientFacts(request_seconds_mean=0.05, limiter_wait_seconds_mean=0.01))
    assert made(msgspec.structs.replace(facts, operator=OperatorFacts(version="1.3.0"))).settings.qps == 20.0
    with pytest.raises(NothingToAnalyseError, match=r"missing client.qps or operator.version"):
        made(msgspec.structs.replace(facts, operator=OperatorFacts(version="1.7.0")))
