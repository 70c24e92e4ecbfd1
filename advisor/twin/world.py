"""The API server and the CPU, as lines of work that are served in order.

An order of service (and not shared time) makes each request one sum instead of a change to all others in progress; mean
times are those of a shared server as long as work is of one size.
"""

__all__ = ["CFS_PERIOD_NS", "CpuQuota", "ServiceLine"]

# Linux grants a quota anew every 100 ms (CFS bandwidth control).
CFS_PERIOD_NS = 100_000_000


class ServiceLine:
    """One line of work, first come first served.

    Attributes:
        served: pieces of work taken.
        busy_ns: work taken, in nanoseconds.
        free_ns: when all that has been taken is through.
    """

    __slots__ = ("busy_ns", "free_ns", "served")

    def __init__(self) -> None:
        self.free_ns = 0
        self.served = 0
        self.busy_ns = 0

    def finish_ns(self, now_ns: int, work_ns: int) -> int:
        """Take a piece of work and say when it is through."""
        free_ns = self.free_ns
        self.free_ns = free_ns = (now_ns if free_ns < now_ns else free_ns) + work_ns  # noqa: FURB136 - max() is slower
        self.served += 1
        self.busy_ns += work_ns
        return free_ns

    def backlog_ns(self, now_ns: int) -> int:
        """How long new work would wait now."""
        return self.free_ns - now_ns if self.free_ns > now_ns else 0


class CpuQuota:
    """CPU time under a CFS quota.

    Each period of 100 ms grants its share, which work uses at full speed; when it is used up all work of the process
    stands still until the next period. Work is granted in order of its start, and pieces within one period's share run
    side by side, as on a machine with cores to spare.

    Args:
        cores: the quota; None for no limit, which makes all work run at once.

    Attributes:
        used_ns: CPU time taken, also by work that still waits for its share.
        throttled_ns: time that work had to wait for its share, over all pieces of work.
        stopped_ns: time for which the quota was used up, however much work waited.
        periods: periods in which there was work.
        throttled_periods: of these, the ones in which the quota was used up.
    """

    __slots__ = (
        "_cores",
        "_counted_period",
        "_period",
        "_share_ns",
        "_throttled_period",
        "_used_ns",
        "periods",
        "stopped_ns",
        "throttled_ns",
        "throttled_periods",
        "used_ns",
    )

    def __init__(self, cores: float | None) -> None:
        self._cores = cores
        self._share_ns = 0 if cores is None else max(1, round(cores * CFS_PERIOD_NS))
        # The period that grants what is asked for next, and what is used of it.
        self._period = 0
        self._used_ns = 0
        self._counted_period = -1
        self._throttled_period = -1
        self.used_ns = 0
        self.throttled_ns = 0
        self.stopped_ns = 0
        self.periods = 0
        self.throttled_periods = 0

    @property
    def limit_cores(self) -> float | None:
        """The quota."""
        return self._cores

    def spent_ns(self, now_ns: int) -> int:
        """CPU time that has been had by now; work that waits for its share has not had it yet."""
        ahead = self._period - now_ns // CFS_PERIOD_NS
        return self.used_ns if ahead <= 0 else self.used_ns - self._used_ns - (ahead - 1) * self._share_ns

    def finish_ns(self, now_ns: int, work_ns: int) -> int:
        """Take CPU time and say when the work is through."""
        self.used_ns += work_ns
        if not self._share_ns:
            return now_ns + work_ns
        period = now_ns // CFS_PERIOD_NS
        if period > self._period:
            self._period = period
            self._used_ns = 0
        start_ns = max(now_ns, self._period * CFS_PERIOD_NS)
        left_ns = self._share_ns - self._used_ns
        if work_ns <= left_ns:
            self._used_ns += work_ns
            finish_ns = start_ns + work_ns
        else:
            # What is left now, then whole shares, and the rest at the start of the last period.
            periods, rest_ns = divmod(work_ns - left_ns - 1, self._share_ns)
            self._count_throttled(start_ns + left_ns, periods)
            self._period += periods + 1
            self._used_ns = rest_ns + 1
            # One piece of work runs on one core: it is not faster than time, however much it is granted at once.
            finish_ns = max(self._period * CFS_PERIOD_NS + rest_ns + 1, now_ns + work_ns)
        self.throttled_ns += finish_ns - now_ns - work_ns
        self._count_periods(period)
        return finish_ns

    def _count_periods(self, first: int) -> None:
        """Periods from the one in which work came to the one that grants the last of it, each once."""
        first = max(first, self._counted_period + 1)
        if self._period >= first:
            self.periods += self._period - first + 1
            self._counted_period = self._period

    def _count_throttled(self, stopped_ns: int, whole_periods: int) -> None:
        """The share of the present period ends then, and those of so many after it at once."""
        if self._period > self._throttled_period:
            self.throttled_periods += 1
            self.stopped_ns += max(0, (self._period + 1) * CFS_PERIOD_NS - stopped_ns)
        self.throttled_periods += whole_periods
        self.stopped_ns += whole_periods * (CFS_PERIOD_NS - self._share_ns)
        self._throttled_period = self._period + whole_periods
