"""How much of its host the sidecar may take: CPU by a token bucket, memory by shares of what its rings may hold."""

__all__ = ["CpuBudget", "MemoryGuard"]

_SHORTEST_PAUSE_SECONDS = 0.005


class CpuBudget:
    """Holds the process to a number of cores by pauses of the one thread that can wait: the log's.

    Unused CPU is saved up to a burst, so that the first list of objects and bursts of the log go through at once. After
    that the log is read later, never less: its lag grows, and no line is dropped. All threads spend, only the log's
    pauses; where the others alone exceed the budget, it still gets a turn after each longest pause.

    Args:
        cores: the budget.
        burst_seconds: CPU seconds that may be saved.
        longest_pause_seconds: of one pause.

    Raises:
        ValueError: one is not positive.
    """

    def __init__(self, cores: float = 0.05, *, burst_seconds: float = 2.0, longest_pause_seconds: float = 1.0) -> None:
        if min(cores, burst_seconds, longest_pause_seconds) <= 0.0:
            raise ValueError("a budget, a burst and a pause are more than zero")
        self._cores = cores
        self._burst = burst_seconds
        self._longest = longest_pause_seconds
        self._saved = burst_seconds
        self._before: tuple[float, float] | None = None
        self._throttled = 0.0

    @property
    def throttled_seconds(self) -> float:
        """All pauses so far."""
        return self._throttled

    def pause_seconds(self, now: float, cpu_seconds: float) -> float:
        """How long to pause before the next piece of log is read; 0 while there is something saved.

        Args:
            now: seconds of a clock that never goes back.
            cpu_seconds: CPU that the process has used so far.
        """
        if self._before is not None:
            passed, used = now - self._before[0], cpu_seconds - self._before[1]
            saved = self._saved + max(0.0, passed) * self._cores - max(0.0, used)
            # A debt is bounded as well: hours of work are not followed by hours of silence.
            self._saved = min(self._burst, max(-self._burst, saved))
        self._before = (now, cpu_seconds)
        if self._saved >= 0.0:
            return 0.0
        # Never so short that it ends before the clock has gone on.
        pause = min(self._longest, max(_SHORTEST_PAUSE_SECONDS, -self._saved / self._cores))
        self._throttled += pause
        return pause


class MemoryGuard:
    """Which share of their usual bounds rings and digests may hold, by how much memory the process has.

    At the limit the share is halved, again after each while in which that did not help; well below it, it is doubled.

    Args:
        limit_bytes: the resident memory that should not be exceeded.

    Raises:
        ValueError: the limit is not positive.
    """

    SMALLEST = 1.0 / 16.0
    _SHRINK_SECONDS = 30.0
    _GROW_SECONDS = 300.0
    _WELL_BELOW = 0.85

    def __init__(self, limit_bytes: int) -> None:
        if limit_bytes <= 0:
            raise ValueError("a memory limit is more than zero")
        self._limit = limit_bytes
        self._changed = float("-inf")
        self.share = 1.0

    def look(self, now: float, resident_bytes: int) -> bool:
        """Learn what the process has; whether the share changed.

        Args:
            now: seconds of a clock that never goes back.
            resident_bytes: its resident memory.
        """
        before, passed = self.share, now - self._changed
        if resident_bytes >= self._limit:
            if passed >= self._SHRINK_SECONDS:
                self.share = max(self.SMALLEST, self.share / 2.0)
        elif resident_bytes < self._WELL_BELOW * self._limit and passed >= self._GROW_SECONDS:
            self.share = min(1.0, self.share * 2.0)
        if self.share == before:
            return False
        self._changed = now
        return True
