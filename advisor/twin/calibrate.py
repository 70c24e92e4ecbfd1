"""From operating points to the parameters of the world: each by the figure that shows it, in runs of the twin itself.

A parameter is moved until the twin repeats its figure at the point that carries it: times without load come from the
point with the fewest workers, contention from the one with the most. What no point carries gets a documented default
and wide bounds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from advisor.twin.client import Random
from advisor.twin.fitting import exponential, shape, solve
from advisor.twin.parameters import Faults, WorldParameters
from advisor.twin.point import OperatingPoint
from advisor.twin.result import RunResult
from advisor.twin.simulation import simulate

__all__ = ["Calibration", "Parameter", "calibrate"]

RandomSource = Callable[[int], Random]

# Share of a write's time that is work of the API server, where no load shows it (between a fast network and none).
_WORK_SHARE = (0.01, 0.3)
# How far times of the same system differ from one run to the next, as a factor: three equal runs of a real operator
# differed by 4 % in makespan and by 13 % in queue wait (docs/fidelity.md).
_RUN_TO_RUN = 1.08
# Of an operator whose conflicts do not show it: about one in five changes is then seen too late by a reconcile that
# follows at once, as in recordings of clusters that arrive at a steady pace (docs/fidelity.md).
_UNKNOWN_LAG_SECONDS = 0.0006
_LONGEST_LAG_SECONDS = 0.05
# Between two passes of a cluster lies at least the way through queue and cache.
_LEAST_RECONCILE_SECONDS = 0.001
_DEFAULT_WRITE_SECONDS = 0.02
# Requests that hold no worker.
_ASIDE = frozenset({"Event", "Lease"})
_LAG_QUANTILES = 32
# Up to this share of a request's time in the limiter, the pace of Pods tells the time of requests.
_UNLIMITED_SHARE = 0.1
_MANY_STARTERS = 1000
_STARTERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, _MANY_STARTERS)
_ROUNDS = 2
# A point with fewer workers than this times another's shows no more contention than it.
_MORE_WORKERS = 1.5


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the world: its value, bounds that hold it in four cases of five, and what it rests on."""

    name: str
    value: float
    low: float
    high: float
    origin: str

    @property
    def is_measured(self) -> bool:
        """Whether data carries it."""
        return not self.origin.startswith("default")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Parameters for predictions around the points that they come from.

    Attributes:
        world: the parameters.
        parameters: the same with bounds and origin.
        points: names of the points.
        fewest_workers: of any point.
        most_workers: of any point.
        look_on_seconds: how long the points look on after the last ready cluster, on average.
        notes: what the data cannot carry.
    """

    world: WorldParameters
    parameters: tuple[Parameter, ...]
    points: tuple[str, ...]
    fewest_workers: int
    most_workers: int
    look_on_seconds: float
    notes: tuple[str, ...]

    def parameter(self, name: str) -> Parameter:
        """One parameter by name."""
        return next(one for one in self.parameters if one.name == name)


def calibrate(points: Sequence[OperatingPoint], random: RandomSource) -> Calibration:
    """Fit the world to one or more operating points of one operator.

    Args:
        points: at least one; those of the same load at different settings say most.
        random: a fresh source of random numbers for a seed; the same for each run, so that runs differ by parameters.

    Raises:
        ValueError: there is no point.
    """
    if not points:
        raise ValueError("a calibration needs at least one operating point")
    fit = _Fit(points, random)
    fit.run()
    return fit.calibration()


class _Fit:
    def __init__(self, points: Sequence[OperatingPoint], random: RandomSource) -> None:
        by_workers = sorted(points, key=lambda one: (one.settings.concurrency, -_speed(one)))
        self.points = points
        self.low = by_workers[0]
        self.high = by_workers[-1]
        self.random = random
        self.sees_contention = self.high.settings.concurrency >= _MORE_WORKERS * self.low.settings.concurrency
        self.write_seconds = self.low.measured.write_seconds or _DEFAULT_WRITE_SECONDS
        self.work_bounds = self._work_bounds()
        self.work_seconds = math.sqrt(self.work_bounds[0] * self.work_bounds[1])
        self.world = self._first_world()

    def _work_bounds(self) -> tuple[float, float]:
        """What a write can cost the server at least and at most, before contention has been seen.

        Binding a Pod is a write as well, made next to the server: it takes no less than the server's work.
        """
        most = _WORK_SHARE[1] * self.write_seconds
        bound = [one.measured.pod_bound_seconds for one in self.points]
        seen = [seconds for seconds in bound if seconds]
        if seen:
            most = min(most, *seen)
        return min(_WORK_SHARE[0] * self.write_seconds, most / 2.0), most

    def run(self) -> None:
        """Move parameter after parameter until the twin repeats their figures; the later ones move the earlier ones."""
        for _ in range(_ROUNDS):
            # Before the time of a reconcile, which would take conflicts' work for its own.
            self._fit_watch_lag()
            self._fit_low_point()
            if self.sees_contention:
                self._fit_contention()
                self._fit_watch_share()
            elif self._line_is_too_long():
                self._fit_server_work(self.low)
        self._fit_watch_lag()
        self._fit_low_point()

    def _simulate(self, point: OperatingPoint, world: WorldParameters) -> RunResult:
        return simulate(point.workload, point.settings, world, self.random(1))

    def _first_world(self) -> WorldParameters:
        low = self.low.measured
        throttled = max((one.measured.throttled_ratio or 0.0 for one in self.points), default=0.0)
        lag = _UNKNOWN_LAG_SECONDS
        return WorldParameters(
            request_seconds=self._delays(self.work_seconds),
            request_spread=self._request_spread(),
            server_work_seconds=self.work_seconds,
            pod_work_seconds=self.work_seconds,
            pod_start_seconds=self._pod_start(self.work_seconds, lag),
            pod_start_spread=shape(low.running_quantiles),
            pod_starters=_MANY_STARTERS,
            watch_lag_seconds=lag,
            # Most changes are seen at once and a few late: a reconcile that follows its own status write finds it in
            # the cache most times, and sometimes not.
            watch_lag_spread=exponential(_LAG_QUANTILES),
            watch_share=0.3,
            reconcile_seconds=0.002,
            read_seconds=_LEAST_RECONCILE_SECONDS,
            faults=Faults(throttled_ratio=throttled),
        )

    def _delays(self, work_seconds: float) -> dict[str, float]:
        """Time outside the server's line by verb, so that a request at the low point takes what was measured."""
        by_verb = dict(self.low.measured.api_seconds_by_verb)
        verbs = {verb: by_verb.get(verb, self.write_seconds) for verb in ("POST", "PUT", "PATCH", "DELETE")}
        return {verb: max(0.0, seconds - work_seconds) for verb, seconds in verbs.items()}

    def _request_spread(self) -> tuple[float, ...]:
        low = self.low.measured
        limited = (low.limiter_wait_seconds_mean or 0.0) > _UNLIMITED_SHARE * self.write_seconds
        return shape(() if limited else low.interval_quantiles)

    def _pod_start(self, work_seconds: float, lag_seconds: float) -> float:
        running = self.low.measured.pod_running_seconds
        return 0.0 if running is None else max(0.0, running - work_seconds - lag_seconds)

    def _fit_low_point(self) -> None:
        """Delay of a request and CPU time of a reconcile, by two figures that each moves alone."""
        point, measured = self.low, self.low.measured
        if not measured.api_seconds_by_verb:
            self._fit_delay_by_busy_time()
            return
        result = self._simulate(point, self.world)
        got = result.request_seconds_mean
        if got and measured.write_seconds:
            change = measured.write_seconds - got
            delays = {verb: max(0.0, delay + change) for verb, delay in self.world.request_seconds.items()}
            self.world = replace(self.world, request_seconds=delays)
            result = self._simulate(point, self.world)
        main = result.controller("raycluster")
        if main is None or measured.busy_worker_seconds is None or not sum(main.reconciles.values()):
            return
        if point.settings.cpu_limit_cores is not None and measured.cpu_seconds:
            # Under a quota all CPU time of the process counts, and busy workers wait for it as well.
            self.world = replace(self.world, reconcile_seconds=measured.cpu_seconds / sum(main.reconciles.values()))
            return
        missing = measured.busy_worker_seconds - result.busy_worker_seconds("raycluster")
        seconds = self.world.reconcile_seconds + missing / sum(main.reconciles.values())
        self.world = replace(self.world, reconcile_seconds=max(_LEAST_RECONCILE_SECONDS, seconds))

    def _fit_delay_by_busy_time(self) -> None:
        """Where no series tells the time of a request, what busy workers did not wait for in the limiter is theirs."""
        wanted = self.low.measured.busy_worker_seconds
        if wanted is None:
            return

        def with_delay(delay: float) -> WorldParameters:
            return replace(self.world, request_seconds=dict.fromkeys(self.world.request_seconds, delay))

        def busy(delay: float) -> float:
            return self._simulate(self.low, with_delay(delay)).busy_worker_seconds("raycluster")

        delay = solve(busy, wanted, 0.0, 2.0 * self.write_seconds)
        # Chance makes the busy time jump, so that halving may settle beside it; one step along its slope mends that.
        result = self._simulate(self.low, with_delay(delay))
        waited_for = sum(one.requests for one in result.requests if one.kind not in _ASIDE)
        nearer = max(0.0, delay + (wanted - result.busy_worker_seconds("raycluster")) / max(1, waited_for))
        errors = {one: abs(busy(one) - wanted) for one in (delay, nearer)}
        self.world = with_delay(min(errors, key=errors.__getitem__))

    def _line_is_too_long(self) -> bool:
        """Whether requests take longer than measured even without any delay outside the server's line."""
        wanted, delay = self.low.measured.write_seconds, self.world.request_seconds["POST"]
        got = self._simulate(self.low, self.world).request_seconds_mean
        return bool(wanted and got and delay <= 0.0 and got > wanted)

    def _fit_server_work(self, point: OperatingPoint) -> None:
        """Work of a request by the time of requests at a point with many workers, or else by its busy time."""
        measured = point.measured
        by_time = bool(measured.api_seconds_by_verb)
        wanted = measured.write_seconds if by_time else measured.busy_worker_seconds
        if wanted is None:
            return

        def with_work(work: float) -> WorldParameters:
            shift = work - self.world.server_work_seconds
            delays = {verb: max(0.0, delay - shift) for verb, delay in self.world.request_seconds.items()}
            return replace(self.world, request_seconds=delays, server_work_seconds=work, pod_work_seconds=work)

        def figure(work: float) -> float:
            result = self._simulate(point, with_work(work))
            return result.request_seconds_mean or 0.0 if by_time else result.busy_worker_seconds("raycluster")

        low, high = (share * self.write_seconds for share in (_WORK_SHARE[0], 0.9))
        self.world = with_work(solve(figure, wanted, low, high))

    def _fit_contention(self) -> None:
        """Work of a request and Pods that start at a time, by the point with most workers: each moves both figures.

        Pods wait longer the fewer can start at a time, so their number is found by halving; for each number the work is
        fitted anew.
        """
        wanted = self.high.measured.pod_running_seconds
        best, best_error = None, math.inf
        fewest, most = 0, len(_STARTERS) - 1
        while fewest <= most:
            middle = (fewest + most) // 2
            self.world = replace(self.world, pod_starters=_STARTERS[middle])
            self._fit_server_work(self.high)
            got = self._simulate(self.high, self.world).pod_running_seconds_mean
            if wanted is None or got is None:
                return
            if abs(got - wanted) < best_error:
                best, best_error = self.world, abs(got - wanted)
            if got > wanted:
                fewest = middle + 1
            else:
                most = middle - 1
        self.world = best or self.world

    def _fit_watch_lag(self) -> None:
        """How late changes are seen, by the conflicts of an operator that is not held up by the server.

        Only a reconcile that follows its own status write at once shows it; without a conflict nothing is known.
        """
        measured = self.low.measured
        if not measured.conflicts or measured.conflicts < 1.0:
            return

        def conflicts(lag: float) -> float:
            return float(self._simulate(self.low, replace(self.world, watch_lag_seconds=lag)).conflicts)

        most = measured.pod_bound_seconds or _LONGEST_LAG_SECONDS
        lag = solve(conflicts, measured.conflicts, 0.0, most)
        start = self._pod_start(self.world.pod_work_seconds, lag)
        self.world = replace(self.world, watch_lag_seconds=lag, pod_start_seconds=start)

    def _fit_watch_share(self) -> None:
        """How far the operator's cache lags behind a busy server, by the conflicts of the operator with itself."""
        wanted = self.high.measured.conflicts
        if wanted is None:
            return

        def conflicts(share: float) -> float:
            return float(self._simulate(self.high, replace(self.world, watch_share=share)).conflicts)

        self.world = replace(self.world, watch_share=solve(conflicts, wanted, 0.0, 1.5))

    def calibration(self) -> Calibration:
        """The result with bounds."""
        world, low, high = self.world, self.low, self.high
        seen = self.sees_contention
        contention = f"request times at {_workers(high)} ({high.name})"
        floor = f"request times at {_workers(low)} ({low.name})"
        work = world.server_work_seconds
        bounds = (work / _RUN_TO_RUN**2, work * _RUN_TO_RUN**2)
        if not seen:
            bounds = self.work_bounds
        post = world.request_seconds["POST"]
        reconcile = world.reconcile_seconds
        parameters = (
            Parameter("request_seconds", post, post / _RUN_TO_RUN, post * _RUN_TO_RUN, floor),
            Parameter("server_work_seconds", work, *bounds, contention if seen else "default: a share of a request"),
            Parameter(
                "reconcile_seconds",
                reconcile,
                reconcile / _RUN_TO_RUN**4,
                reconcile * _RUN_TO_RUN**4,
                f"busy worker seconds less requests ({low.name})",
            ),
            Parameter(
                "pod_starters",
                world.pod_starters,
                world.pod_starters / _RUN_TO_RUN if seen else 4,
                world.pod_starters * _RUN_TO_RUN if seen else _MANY_STARTERS,
                f"start of Pods ({high.name})" if seen else "default: no limit",
            ),
            Parameter(
                "watch_share",
                world.watch_share,
                world.watch_share / 2,
                min(1.5, world.watch_share * 2),
                f"conflicts ({high.name})" if seen else "default",
            ),
        )
        notes = () if seen else (_no_contention(low),)
        return Calibration(
            world=world,
            parameters=parameters,
            points=tuple(one.name for one in self.points),
            fewest_workers=low.settings.concurrency,
            most_workers=high.settings.concurrency,
            look_on_seconds=sum(one.look_on_seconds for one in self.points) / len(self.points),
            notes=notes,
        )


def _no_contention(point: OperatingPoint) -> str:
    return (
        f"all points have {_workers(point)}, which shows nothing of how the API server slows down "
        "under more: predictions beyond four times as many are wide"
    )


def _workers(point: OperatingPoint) -> str:
    workers = point.settings.concurrency
    return f"{workers} worker{'' if workers == 1 else 's'}"


def _speed(point: OperatingPoint) -> float:
    return point.settings.qps if point.settings.qps >= 0 else float("inf")
