import random
from dataclasses import replace

import pytest

from advisor.twin.calibrate import Calibration, calibrate
from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.point import Measured
from tests.twin.points import TRUTH, point, result_of

ONE = OperatorSettings(concurrency=1)
MANY = OperatorSettings(concurrency=16)


@pytest.fixture(scope="module")
def two_points() -> Calibration:
    """A calibration on one worker and on sixteen."""
    return calibrate([point(MANY), point(ONE)], random.Random)


def test_two_points_find_the_world_again(two_points: Calibration) -> None:
    """Delay outside the server, work in it, and how many Pods start at a time are found within a tenth or so."""
    world = two_points.world
    assert world.request_seconds["POST"] == pytest.approx(TRUTH.request_seconds["POST"], rel=0.1)
    assert world.server_work_seconds == pytest.approx(TRUTH.server_work_seconds, rel=0.15)
    assert 4 <= world.pod_starters <= 8
    assert world.reconcile_seconds == pytest.approx(TRUTH.reconcile_seconds, abs=0.003)


def test_every_parameter_has_bounds_and_an_origin(two_points: Calibration) -> None:
    """Bounds hold the value; the origin names the point that carries it."""
    assert (two_points.fewest_workers, two_points.most_workers, two_points.notes) == (1, 16, ())
    for parameter in two_points.parameters:
        assert parameter.low <= parameter.value <= parameter.high
        assert parameter.is_measured
        assert "c1-q100" in parameter.origin or "c16-q100" in parameter.origin


def test_one_worker_shows_nothing_of_contention() -> None:
    """What the data cannot carry is a default with wide bounds, and is said."""
    found = calibrate([point(ONE)], random.Random)
    work = found.parameter("server_work_seconds")
    assert not work.is_measured
    assert work.high / work.low > 2
    # Binding a Pod is one write: it takes no less than the server's work.
    assert work.high <= TRUTH.pod_work_seconds + TRUTH.watch_lag_seconds
    assert "shows nothing" in found.notes[0]
    assert found.world.request_seconds["POST"] + found.world.server_work_seconds == pytest.approx(0.056, rel=0.05)


def test_two_points_with_as_many_workers_show_no_contention() -> None:
    """Another QPS at the same workers adds nothing about the server."""
    found = calibrate([point(ONE), point(replace(ONE, qps=20.0, burst=40))], random.Random)
    assert not found.parameter("server_work_seconds").is_measured


def test_without_client_histograms_busy_time_tells_the_delay() -> None:
    """Up to KubeRay 1.6 no series has the time of a request; the time of busy workers has it, queueing included."""
    settings = replace(ONE, queue=QueueKind.CLASSIC, events_as_series=False)
    seen = point(settings)
    blind = replace(seen.measured, api_seconds_by_verb=(), write_seconds=0.05, limiter_wait_seconds_mean=None)
    found = calibrate([replace(seen, measured=blind)], random.Random)
    result = result_of(settings)
    main = result.controller("raycluster")
    assert main is not None
    held = sum(one.requests for one in result.requests if one.kind not in {"Event", "Lease"})
    seconds = main.budget_seconds["api_server"] / held
    assert found.world.request_seconds["POST"] + found.world.server_work_seconds == pytest.approx(seconds, rel=0.05)


def test_a_throttled_point_does_not_take_the_limiter_for_the_server() -> None:
    """Time in the client's bucket is in the run itself, so the rest of a request is found beside it."""
    seen = point(replace(MANY, qps=15.0, burst=15, queue=QueueKind.CLASSIC, events_as_series=False))
    blind = replace(seen.measured, api_seconds_by_verb=(), write_seconds=0.5, limiter_wait_seconds_mean=None)
    found = calibrate([replace(seen, measured=blind)], random.Random)
    assert found.world.request_seconds["POST"] < 0.2


def test_what_was_not_measured_is_a_default() -> None:
    """A point without a single figure still makes a world that can run."""
    found = calibrate([replace(point(ONE), measured=Measured())], random.Random)
    assert found.world.request_seconds["POST"] > 0.0
    assert found.world.server_work_seconds > 0.0


def test_answers_429_are_taken_over() -> None:
    """The share of answers 429 is a parameter as it was measured."""
    seen = point(ONE)
    refused = replace(seen, measured=replace(seen.measured, throttled_ratio=0.3))
    assert calibrate([refused], random.Random).world.faults.throttled_ratio == 0.3


def test_no_point_is_refused() -> None:
    """There is nothing to calibrate on."""
    with pytest.raises(ValueError, match="at least one operating point"):
        calibrate([], random.Random)


def test_the_same_points_give_the_same_world(two_points: Calibration) -> None:
    """A calibration is a function of its points."""
    assert calibrate([point(MANY), point(ONE)], random.Random) == two_points
