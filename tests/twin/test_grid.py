from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.twin.grid import OFF, Grid, GridAxes, grid_tasks, size_of
from advisor.twin.parameters import OperatorSettings
from advisor.twin.predict import Estimate, Forecast, ForecastTask
from advisor.twin.result import RunResult
from advisor.twin.workload import Arrival, Deletion, Workload
from tests.engines.material import CALIBRATION, burst

NOW = OperatorSettings(concurrency=1, qps=100.0, burst=200)
WAIT, READY = "queue_wait_seconds_mean", "ready_seconds_mean"


def made(settings: OperatorSettings, wait: float, *, high: float | None = None, **other: object) -> Forecast:
    """A forecast with a queue wait, and the ready time that goes with it."""
    ready = other.get("ready", (1.0,) * 4)
    assert isinstance(ready, tuple)
    result = RunResult(
        settings=settings,
        run_seconds=10.0,
        makespan_seconds=1.0,
        ready_seconds=ready,
        controllers=(),
        requests=(),
        server_requests=0,
        pod_running_seconds_mean=None,
        conflicts=0,
        cpu_seconds=0.0,
        cpu_throttled_seconds=0.0,
        depth_samples=(),
        events=0,
    )
    top = wait if high is None else high
    estimates = (Estimate(WAIT, wait, wait, top), Estimate(READY, 2.0 * wait, 2.0 * wait, 2.0 * top))
    return Forecast(settings, estimates, result, is_beyond=bool(other.get("beyond")))


def grid(forecasts: Sequence[Forecast], workload: Workload | None = None) -> Grid:
    """A grid whose first forecast is of the settings in force."""
    load = burst() if workload is None else workload
    tasks = [ForecastTask(load, one.settings, CALIBRATION) for one in forecasts]
    return Grid.of(tasks, dict(enumerate(forecasts)))


def by_workers(*waits: float) -> list[Forecast]:
    """Forecasts of 1, 2, 4, ... workers."""
    return [made(replace(NOW, concurrency=2**power), wait) for power, wait in enumerate(waits)]


def test_all_combinations_once_from_the_smallest() -> None:
    """Values in any order and twice are each tried once; burst follows QPS; no limiter has no burst and is largest."""
    axes = GridAxes((4, 1, 4), (-1.0, 20.0, -5.0, 0.2))
    found = [(one.concurrency, one.qps, one.burst) for one in axes.settings(NOW)]
    one = [(0.2, 1), (20.0, 40), (OFF, 200)]
    assert found == [(workers, *bucket) for workers in (1, 4) for bucket in one]


def test_burst_and_cpu_are_tried_where_they_are_given() -> None:
    """Every burst with every QPS that has a limiter, and every limit with all; what is not given is as in force."""
    base = replace(NOW, cpu_limit_cores=2.0)
    axes = GridAxes((1,), (20.0, OFF), burst=(10, 30))
    assert [(one.qps, one.burst, one.cpu_limit_cores) for one in axes.settings(base)] == [
        (20.0, 10, 2.0),
        (20.0, 30, 2.0),
        (OFF, 200, 2.0),
    ]
    limits = [one.cpu_limit_cores for one in replace(axes, qps=(OFF,), cpu_limit_cores=(None, 0.5)).settings(base)]
    assert limits == [0.5, None]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (GridAxes((), (1.0,)), "at least one value"),
        (GridAxes((1,), ()), "at least one value"),
        (GridAxes((0,), (1.0,)), "less than one worker"),
        (GridAxes((1,), (0.0,)), "lets nothing through"),
        (GridAxes((1,), (1.0,), burst=(0,)), "less than one request"),
        (GridAxes((1,), (1.0,), cpu_limit_cores=(0.0,)), "above zero"),
        (GridAxes(tuple(range(1, 60)), tuple(map(float, range(1, 60)))), "3481 combinations are more than 2000"),
    ],
)
def test_what_cannot_be_is_refused(axes: GridAxes, message: str) -> None:
    """The message says which value."""
    with pytest.raises(ValueError, match=message):
        axes.settings(NOW)


def test_tasks_share_seed_draws_and_load() -> None:
    """The settings in force come first and once, and nothing but the settings differs between tasks."""
    tasks = grid_tasks(GridAxes((1, 2), (100.0,)), burst(), NOW, CALIBRATION, draws=3, seed=9)
    assert [one.settings.concurrency for one in tasks] == [1, 2]
    assert {(one.draws, one.seed, id(one.workload), id(one.calibration)) for one in tasks} == {
        (3, 9, id(tasks[0].workload), id(CALIBRATION))
    }
    apart = grid_tasks(GridAxes((2,), (100.0,)), burst(), NOW, CALIBRATION)
    assert [one.settings.concurrency for one in apart] == [1, 2]


@given(st.permutations(range(6)))
def test_the_order_of_finishing_does_not_matter(order: list[int]) -> None:
    """However forecasts come in, the grid is the same."""
    forecasts = by_workers(30.0, 10.0, 5.0, 4.0, 4.0, 4.0)
    tasks = [ForecastTask(burst(), one.settings, CALIBRATION) for one in forecasts]
    assert Grid.of(tasks, {place: forecasts[place] for place in order}) == grid(forecasts)


def test_a_part_of_a_grid_is_a_grid() -> None:
    """What is finished is there, without the settings in force while these are not."""
    forecasts = by_workers(30.0, 10.0)
    tasks = [ForecastTask(burst(), one.settings, CALIBRATION) for one in forecasts]
    part = Grid.of(tasks, {1: forecasts[1]})
    assert (part.is_complete, part.now, len(part.cells), part.wanted) == (False, None, 1, 2)
    assert grid(forecasts).is_complete
    now = grid(forecasts).now
    assert now is not None
    assert now.settings == NOW


def test_the_smallest_that_meets_the_target() -> None:
    """The upper bound counts; workers are compared before QPS, and no cell that meets it means none."""
    cells = [
        made(NOW, 30.0),
        made(replace(NOW, concurrency=2), 4.0, high=6.0),
        made(replace(NOW, concurrency=4, qps=OFF), 3.0),
        made(replace(NOW, concurrency=4, qps=20.0), 4.0, high=5.0),
        made(replace(NOW, concurrency=8, qps=1.0), 1.0),
    ]
    chosen = grid(cells).smallest(5.0)
    assert chosen is not None
    assert (chosen.settings.concurrency, chosen.settings.qps) == (4, 20.0)
    assert grid(cells).smallest(0.5) is None


def test_guesses_and_unfinished_runs_are_chosen_last_or_never() -> None:
    """A cell beyond the calibrated range is taken only where no other will do; one that left something undone never."""
    undone = made(replace(NOW, concurrency=2), 0.1, ready=(1.0,))
    guess = made(replace(NOW, concurrency=4), 1.0, beyond=True)
    sure = made(replace(NOW, concurrency=8), 2.0)
    assert [one.is_complete for one in grid([undone, guess, sure]).cells] == [False, True, True]
    for chosen in (grid([undone, guess, sure]).smallest(5.0), grid([undone, guess, sure]).best(WAIT)):
        assert chosen is not None
        assert chosen.settings.concurrency == 8
    only = grid([undone, guess]).smallest(5.0)
    assert only is not None
    assert only.is_beyond
    assert grid([undone]).smallest(5.0) is None
    assert grid([undone]).best(WAIT) is None


def test_what_is_deleted_is_not_waited_for() -> None:
    """A run is whole when all has got ready that was not deleted."""
    workload = Workload(arrivals=(Arrival(0.0, "a/b", 1), Arrival(0.0, "a/c", 1)), deletions=(Deletion(1.0, "a/c"),))
    assert [one.is_complete for one in grid([made(NOW, 1.0, ready=(1.0,))], workload).cells] == [True]


def test_the_best_is_the_smallest_within_five_percent() -> None:
    """A little better is not worth larger settings."""
    best = grid(by_workers(30.0, 10.2, 10.0, 9.9)).best(WAIT)
    assert best is not None
    assert best.settings.concurrency == 2
    assert grid(by_workers(1.0)).best("limiter_wait_seconds_mean") is None


def test_a_raise_that_gains_nothing_is_flagged() -> None:
    """Compared is the next smaller value of one setting, the others being equal; burst goes along with its QPS."""
    flags = [one.no_gain for one in grid(by_workers(30.0, 29.0, 20.0, 19.5)).cells]
    assert flags == [(), ("concurrency",), (), ("concurrency",)]
    paced = [
        made(replace(NOW, qps=20.0, burst=40), 30.0),
        made(replace(NOW, qps=50.0, burst=100), 29.9),
        made(replace(NOW, qps=OFF), 5.0),
        made(replace(NOW, qps=20.0, burst=80), 29.9),
        made(replace(NOW, qps=20.0, burst=40, cpu_limit_cores=1.0), 30.1),
    ]
    found = {(one.settings.qps, one.settings.burst, one.settings.cpu_limit_cores): one for one in grid(paced).cells}
    assert found[50.0, 100, None].no_gain == ("qps",)
    assert found[OFF, 200, None].no_gain == ()
    assert found[20.0, 80, None].no_gain == ("burst",)
    assert found[20.0, 40, None].no_gain == ("cpu_limit_cores",)


def test_waits_that_are_none_are_no_gain() -> None:
    """Half of a millisecond is nothing to win."""
    assert [one.no_gain for one in grid(by_workers(0.004, 0.001)).cells] == [(), ("concurrency",)]


def test_no_limit_is_the_largest() -> None:
    """Settings are compared by workers, QPS, burst and limit, each without a bound above all others."""
    ordered = [
        replace(NOW, qps=20.0, cpu_limit_cores=1.0),
        replace(NOW, qps=20.0),
        replace(NOW, qps=OFF, burst=1),
        replace(NOW, concurrency=2, qps=1.0),
    ]
    assert sorted((ordered[2], ordered[3], ordered[1], ordered[0]), key=size_of) == ordered
    assert size_of(replace(NOW, qps=OFF, burst=1)) == size_of(replace(NOW, qps=-2.0, burst=9))
