import random
from dataclasses import replace

import pytest

from advisor.twin.calibrate import Calibration, calibrate
from advisor.twin.parameters import OperatorSettings
from advisor.twin.predict import QUANTITIES, Estimate, Forecast, ForecastTask, forecast
from tests.twin.points import BURST, point, result_of

ONE = OperatorSettings(concurrency=1)
MANY = OperatorSettings(concurrency=16)


@pytest.fixture(scope="module")
def two_points() -> Calibration:
    """A calibration on one worker and on sixteen."""
    return calibrate([point(ONE), point(MANY)], random.Random)


@pytest.fixture(scope="module")
def one_point() -> Calibration:
    """A calibration on one worker."""
    return calibrate([point(ONE)], random.Random)


def made(calibration: Calibration, settings: OperatorSettings, draws: int = 8) -> Forecast:
    """A forecast for the burst under other settings."""
    return forecast(ForecastTask(BURST, settings, calibration, draws=draws), random.Random)


def estimate(of: Forecast, quantity: str) -> Estimate:
    """A quantity that did occur."""
    found = of.estimate(quantity)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "settings",
    [
        replace(ONE, concurrency=4),
        replace(ONE, concurrency=8),
        replace(MANY, qps=12.0, burst=24),
        replace(MANY, qps=-1.0),
    ],
)
def test_other_settings_are_predicted(two_points: Calibration, settings: OperatorSettings) -> None:
    """Between and beside the calibrated points the twin is within 15 % of what its own truth does."""
    truth, guess = result_of(settings), made(two_points, settings)
    for quantity in ("makespan_seconds", "ready_seconds_mean"):
        assert estimate(guess, quantity).value == pytest.approx(getattr(truth, quantity), rel=0.15)


def test_the_interval_holds_the_value(two_points: Calibration) -> None:
    """Low, value and high are in order, for every quantity."""
    for one in made(two_points, replace(ONE, concurrency=4)).estimates:
        assert one.quantity in QUANTITIES
        assert one.low <= one.value <= one.high


def test_one_point_is_wider_about_more_workers(one_point: Calibration, two_points: Calibration) -> None:
    """What contention does is not known from one worker, so the interval at sixteen is wider than with both points."""
    narrow, wide = (estimate(made(one, MANY, draws=16), "makespan_seconds") for one in (two_points, one_point))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    assert wide.low <= (result_of(MANY).makespan_seconds or 0.0) <= wide.high


def test_far_beyond_is_said(one_point: Calibration, two_points: Calibration) -> None:
    """More than four times the calibrated workers is a guess."""
    assert not made(one_point, replace(ONE, concurrency=4), draws=0).is_beyond
    assert made(one_point, replace(ONE, concurrency=5), draws=0).is_beyond
    assert not made(two_points, replace(ONE, concurrency=64), draws=0).is_beyond


def test_without_draws_there_is_no_interval(two_points: Calibration) -> None:
    """The value alone, from one run."""
    one = estimate(made(two_points, ONE, draws=0), "makespan_seconds")
    assert one.low == one.value == one.high


def test_what_does_not_occur_is_not_estimated(two_points: Calibration) -> None:
    """Without a limiter there is no wait in it."""
    assert made(two_points, replace(ONE, qps=-1.0), draws=0).estimate("limiter_wait_seconds_mean") is None


def test_a_seed_decides_all_chance(two_points: Calibration) -> None:
    """The same task gives the same forecast, bit for bit; another seed gives another interval."""
    task = ForecastTask(BURST, ONE, two_points, draws=4)
    assert forecast(task, random.Random) == forecast(task, random.Random)
    assert forecast(task, random.Random).estimates != forecast(replace(task, seed=2), random.Random).estimates
