"""Ray dashboards and Serve: calls that hold a worker and that no limiter and no API server sees."""

from advisor.twin.client import Random
from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters

__all__ = ["Dashboard"]


class Dashboard:
    """All dashboards: each call takes the same time, or ends by its time-out."""

    __slots__ = ("_engine", "_faults", "_is_too_slow", "_random", "_seconds_ns", "_timeout_ns")

    def __init__(self, engine: Engine, world: WorldParameters, random: Random) -> None:
        self._engine = engine
        self._random = random
        self._faults = world.faults
        self._seconds_ns = round(world.dashboard_seconds * 1e9)
        self._timeout_ns = round(world.dashboard_timeout_seconds * 1e9)
        self._is_too_slow = self._seconds_ns >= self._timeout_ns

    def call(self) -> tuple[int, bool]:
        """One call: how many nanoseconds it takes, and whether it is answered."""
        if self._is_too_slow or (self._faults.dashboard_timeout_ratio and self._times_out()):
            return self._timeout_ns, False
        return self._seconds_ns, True

    def _times_out(self) -> bool:
        faults, now = self._faults, self._engine.now_ns / 1e9
        if now < faults.from_seconds or (faults.to_seconds is not None and now >= faults.to_seconds):
            return False
        return self._random.random() < faults.dashboard_timeout_ratio
