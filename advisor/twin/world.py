"""The API server and the CPU, as lines of work that are served in order.

An order of service (and not shared time) makes each request one sum instead of a change to all others in progress; mean
times are those of a shared server as long as work is of one size.
"""

__all__ = ["CpuQuota", "ServiceLine"]

# Linux grants a quota anew every 100 ms (CFS bandwidth control).
_CFS_PERIOD_NS = 100_000_000


class ServiceLine:
    """One line of work, first come first served.

    Attributes:
        served: pieces of work taken.
        busy_ns: work taken, in nanoseconds.
    """

    __slots__ = ("_free_ns", "busy_ns", "served")

    def __init__(self) -> None:
        self._free_ns = 0
        self.served = 0
        self.busy_ns = 0

    def finish_ns(self, now_ns: int, work_ns: int) -> int:
        """Take a piece of work and say when it is through."""
        free_ns = self._free_ns
        self._free_ns = free_ns = (max(now_ns, free_ns)) + work_ns
        self.served += 1
        self.busy_ns += work_ns
        return free_ns

    def backlog_ns(self, now_ns: int) -> int:
        """How long new work would wait now."""
        return self._free_ns - now_ns if self._free_ns > now_ns else 0


class CpuQuota:
    """CPU time under a CFS quota: full speed while the period's share lasts, then a wait for the next ones.

    Args:
        cores: the quota; None for no limit, which makes all work run at once.

    Attributes:
        used_ns: CPU time taken.
        throttled_ns: time that work had to wait for its share.
    """

    __slots__ = ("_balance_ns", "_cores", "_last_ns", "throttled_ns", "used_ns")

    def __init__(self, cores: float | None) -> None:
        self._cores = cores
        self._balance_ns = (cores or 0.0) * _CFS_PERIOD_NS
        self._last_ns = 0
        self.used_ns = 0
        self.throttled_ns = 0

    def finish_ns(self, now_ns: int, work_ns: int) -> int:
        """Take CPU time and say when the work is through."""
        self.used_ns += work_ns
        cores = self._cores
        if cores is None:
            return now_ns + work_ns
        balance_ns = min(self._balance_ns + (now_ns - self._last_ns) * cores, cores * _CFS_PERIOD_NS) - work_ns
        self._balance_ns = balance_ns
        self._last_ns = now_ns
        if balance_ns >= 0.0:
            return now_ns + work_ns
        wait_ns = int(-balance_ns / cores)
        self.throttled_ns += wait_ns
        return now_ns + work_ns + wait_ns
