"""Many settings on the same load: which are enough, which are best, and where a raise gains nothing.

Every cell has the same seed and the same draws, so that cells differ by their settings alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from advisor.twin.calibrate import Calibration
from advisor.twin.parameters import OperatorSettings
from advisor.twin.predict import Forecast, ForecastTask
from advisor.twin.workload import Workload

__all__ = ["AXES", "GAIN", "MOST_CELLS", "OFF", "Cell", "Grid", "GridAxes", "grid_tasks", "size_of"]

OFF = -1.0
"""QPS of a client without limiter."""
AXES = ("concurrency", "qps", "burst", "cpu_limit_cores")
"""What can be varied, in the order in which settings are compared for their size."""
MOST_CELLS = 2000
GAIN = 0.05
"""A raise that improves both queue wait and ready time by less than this part gains nothing."""

_NO_LIMIT = float("inf")
_BURST_OF_QPS = 2.0
_JUDGED = ("queue_wait_seconds_mean", "ready_seconds_mean")
# Waits below this are none: what takes a part of them away helps nobody.
_NO_WAIT_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class GridAxes:
    """The values to try, each in any order and as often as one likes.

    Attributes:
        concurrency: workers of each controller, from 1.
        qps: refill rate of a client bucket, a second; below zero for no limiter.
        burst: capacity of a client bucket, from 1; empty for twice the QPS of each cell.
        cpu_limit_cores: CPU limits above zero, None for no limit; empty for the limit that is in force.
    """

    concurrency: tuple[int, ...]
    qps: tuple[float, ...]
    burst: tuple[int, ...] = ()
    cpu_limit_cores: tuple[float | None, ...] = ()

    def settings(self, base: OperatorSettings) -> tuple[OperatorSettings, ...]:
        """All combinations from the smallest to the largest, each once; what is not varied is as in the base.

        Without a limiter the burst is nothing, so there is one cell for all of its values.

        Raises:
            ValueError: a value cannot be, or there are more than `MOST_CELLS` combinations.
        """
        self._check()
        limits = self.cpu_limit_cores or (base.cpu_limit_cores,)
        found = {
            replace(base, concurrency=workers, qps=qps, burst=burst, cpu_limit_cores=limit): None
            for workers, pace, limit in product(self.concurrency, self.qps, limits)
            for qps, burst in self._buckets(pace, base)
        }
        if len(found) > MOST_CELLS:
            raise ValueError(f"{len(found)} combinations are more than {MOST_CELLS}")
        return tuple(sorted(found, key=size_of))

    def _buckets(self, qps: float, base: OperatorSettings) -> list[tuple[float, int]]:
        if qps < 0:
            return [(OFF, base.burst)]
        return [(qps, burst) for burst in self.burst or (max(1, round(_BURST_OF_QPS * qps)),)]

    def _check(self) -> None:
        if not self.concurrency or not self.qps:
            raise ValueError("concurrency and qps need at least one value each")
        if min(self.concurrency) < 1:
            raise ValueError(f"concurrency {min(self.concurrency)} is less than one worker")
        if 0 in self.qps:
            raise ValueError("qps 0 lets nothing through")
        if self.burst and min(self.burst) < 1:
            raise ValueError(f"burst {min(self.burst)} is less than one request")
        if any(limit is not None and limit <= 0 for limit in self.cpu_limit_cores):
            raise ValueError("a CPU limit is above zero")


def size_of(settings: OperatorSettings) -> tuple[float, float, float, float]:
    """What settings are ordered by: workers, then QPS, burst and CPU limit; no limit is the largest."""
    has_limiter = settings.qps >= 0
    return (
        settings.concurrency,
        settings.qps if has_limiter else _NO_LIMIT,
        settings.burst if has_limiter else _NO_LIMIT,
        _NO_LIMIT if settings.cpu_limit_cores is None else settings.cpu_limit_cores,
    )


def grid_tasks(
    axes: GridAxes,
    workload: Workload,
    base: OperatorSettings,
    calibration: Calibration,
    *,
    draws: int = 12,
    seed: int = 1,
) -> list[ForecastTask]:
    """One task for the settings in force, to compare with, and one for every other cell in order of size.

    Args:
        axes: what to try.
        workload: the load of every cell.
        base: the settings in force.
        calibration: of the world.
        draws: runs for each interval; 0 for none.
        seed: of every cell's random numbers.

    Raises:
        ValueError: see `GridAxes.settings`.
    """
    others = [one for one in axes.settings(base) if size_of(one) != size_of(base)]
    return [ForecastTask(workload, one, calibration, draws, seed) for one in (base, *others)]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination.

    Attributes:
        forecast: what it would do.
        is_now: it is what is in force.
        is_complete: everything that was created and not deleted got ready within the run; if not, its means leave out
            what would have taken longest.
        no_gain: axes on which the next smaller value does as well, within `GAIN`.
    """

    forecast: Forecast
    is_now: bool
    is_complete: bool = True
    no_gain: tuple[str, ...] = ()

    @property
    def settings(self) -> OperatorSettings:
        """The combination."""
        return self.forecast.settings

    @property
    def is_beyond(self) -> bool:
        """It lies beyond the calibrated range: the forecast is a guess."""
        return self.forecast.is_beyond


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells that are finished.

    Attributes:
        cells: from the smallest settings to the largest.
        wanted: how many cells were asked for.
    """

    cells: tuple[Cell, ...]
    wanted: int

    @classmethod
    def of(cls, tasks: Sequence[ForecastTask], finished: Mapping[int, Forecast]) -> "Grid":
        """The grid of `grid_tasks` as far as its forecasts are finished, by their place among the tasks."""
        forecasts = sorted(finished.values(), key=lambda one: size_of(one.settings))
        now = size_of(tasks[0].settings)
        workload = tasks[0].workload
        awaited = {one.key for one in workload.arrivals} - {one.key for one in workload.deletions}
        cells = (
            Cell(
                one,
                is_now=size_of(one.settings) == now,
                is_complete=len(one.result.ready_seconds) >= len(awaited),
                no_gain=tuple(_no_gain(one, forecasts)),
            )
            for one in forecasts
        )
        return cls(tuple(cells), len(tasks))

    @property
    def is_complete(self) -> bool:
        """Whether every cell is finished."""
        return len(self.cells) == self.wanted

    @property
    def now(self) -> Cell | None:
        """The cell of the settings in force; None while it is not finished."""
        return next((one for one in self.cells if one.is_now), None)

    def smallest(self, target_seconds: float, quantity: str = "queue_wait_seconds_mean") -> Cell | None:
        """The smallest settings whose quantity stays at or below a target up to the upper bound of its interval.

        Those within the calibrated range go first; None where nothing meets the target. Runs in which not everything
        got ready do not count.
        """
        enough = [
            one
            for one in self.cells
            if one.is_complete
            and (estimate := one.forecast.estimate(quantity)) is not None
            and estimate.high <= target_seconds
        ]
        return next((one for one in enough if not one.is_beyond), enough[0] if enough else None)

    def best(self, quantity: str) -> Cell | None:
        """The smallest settings that come within `GAIN` of the lowest value; None where no cell has the quantity.

        Settings beyond the calibrated range count only where there are no others, incomplete runs never.
        """
        known = [
            (estimate.value, one)
            for one in self.cells
            if (estimate := one.forecast.estimate(quantity)) is not None and one.is_complete
        ]
        known = [pair for pair in known if not pair[1].is_beyond] or known
        lowest = min((value for value, _ in known), default=0.0)
        return next((one for value, one in known if not _is_gain(value, lowest)), None)


def _no_gain(forecast: Forecast, others: Iterable[Forecast]) -> Iterable[str]:
    """The axes on which the step up to these settings gains nothing."""
    mine = size_of(forecast.settings)
    for index, axis in enumerate(AXES):
        smaller = [one for one in others if _is_below(size_of(one.settings), mine, index)]
        if not smaller:
            continue
        before = max(smaller, key=lambda one: size_of(one.settings)[index])
        steps = [
            (step.value, now.value)
            for quantity in _JUDGED
            if (step := before.estimate(quantity)) is not None and (now := forecast.estimate(quantity)) is not None
        ]
        if steps and not any(_is_gain(*step) for step in steps):
            yield axis


def _is_below(other: tuple[float, ...], mine: tuple[float, ...], index: int) -> bool:
    """Whether only the value at the index differs and is smaller; a burst may go along with its QPS."""
    free = (index, AXES.index("burst")) if AXES[index] == "qps" else (index,)
    same = all(a == b for place, (a, b) in enumerate(zip(other, mine, strict=True)) if place not in free)
    return same and other[index] < mine[index] and _burst_follows(other, mine, free)


def _burst_follows(other: tuple[float, ...], mine: tuple[float, ...], free: tuple[int, ...]) -> bool:
    place = AXES.index("burst")
    return place not in free or other[place] <= mine[place]


def _is_gain(before: float, after: float) -> bool:
    return before > _NO_WAIT_SECONDS and after < before * (1.0 - GAIN)
