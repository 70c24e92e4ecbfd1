"""The metrics of a work queue as plain values: controller-runtime's own, and those that it lacks.

What each counts, and when, is research: controller-runtime 1.6; the further ones are its section 8.3. Durations are
summed in integer nanoseconds, so that sums are exact and equal to those of the real queue.
"""

from bisect import bisect_left
from collections.abc import Iterator

__all__ = [
    "DURATION_BOUNDS_NS",
    "EXCEEDED_CARDINALITY_LIMIT",
    "MAX_PRIORITIES",
    "UNFINISHED_WORK_PERIOD_NS",
    "DurationHistogram",
    "PriorityCounters",
    "QueueMetrics",
]

# Decades from 10 ns to 1000 s, upper bounds inclusive (research: controller-runtime 4.1).
DURATION_BOUNDS_NS = tuple(10**exponent for exponent in range(1, 13))
MAX_PRIORITIES = 25
EXCEEDED_CARDINALITY_LIMIT = "exceeded_cardinality_limit"
# The real queue refreshes its two gauges of unfinished work on a timer of its own.
UNFINISHED_WORK_PERIOD_NS = 500_000_000


class DurationHistogram:
    """Counts per bucket and exact sum of observed nanoseconds."""

    __slots__ = ("bounds_ns", "buckets", "sum_ns")

    def __init__(self, bounds_ns: tuple[int, ...] = DURATION_BOUNDS_NS) -> None:
        self.bounds_ns = bounds_ns
        self.buckets = [0] * (len(bounds_ns) + 1)
        self.sum_ns = 0

    @property
    def count(self) -> int:
        """Number of observations."""
        return sum(self.buckets)

    def observe(self, nanoseconds: int) -> None:
        """Count one duration; the last bucket takes what is above every bound."""
        self.buckets[bisect_left(self.bounds_ns, nanoseconds)] += 1
        self.sum_ns += nanoseconds

    def mean_seconds(self) -> float | None:
        """Mean in seconds; None without observations."""
        count = self.count
        return self.sum_ns / count / 1e9 if count else None

    def cumulative(self) -> Iterator[tuple[float, int]]:
        """Upper bound in seconds and the count up to it, the last with an infinite bound."""
        running = 0
        for bound_ns, bucket in zip(self.bounds_ns, self.buckets, strict=False):
            running += bucket
            yield bound_ns / 1e9, running
        yield float("inf"), running + self.buckets[-1]


class PriorityCounters:
    """Counters of one priority; of these controller-runtime has the depth alone.

    Attributes:
        depth: keys ready, those blocked behind their own run included.
        adds: keys that became ready at this priority.
        gets: keys handed out at it.
        queue_ns: their time from ready to hand-off.
    """

    __slots__ = ("adds", "depth", "gets", "queue_ns")

    def __init__(self) -> None:
        self.depth = 0
        self.adds = 0
        self.gets = 0
        self.queue_ns = 0


class QueueMetrics:
    """All metrics of one queue.

    Attributes:
        by_priority: counters by label: the priority, or "" in a queue without priorities.
        retries: adds with a delay, also those discarded by a merge.
        queue_duration: from ready to hand-off.
        work_duration: from hand-off to done.
        unfinished_work_ns: age of all keys in work at the last refresh.
        longest_running_ns: the largest of these.
        deduplicated_adds: adds of a key that was already ready.
        discarded_delays: delays of adds to a key that was ready already, which count for nothing.
    """

    __slots__ = (
        "_capped",
        "_uncapped",
        "by_priority",
        "deduplicated_adds",
        "discarded_delays",
        "longest_running_ns",
        "queue_duration",
        "retries",
        "unfinished_work_ns",
        "work_duration",
    )

    def __init__(self) -> None:
        self.by_priority: dict[int | str, PriorityCounters] = {}
        self.retries = 0
        self.queue_duration = DurationHistogram()
        self.work_duration = DurationHistogram()
        self.unfinished_work_ns = 0
        self.longest_running_ns = 0
        self.deduplicated_adds = 0
        self.discarded_delays = 0
        self._capped: PriorityCounters | None = None
        self._uncapped: dict[int | str, PriorityCounters] = {}

    @property
    def adds(self) -> int:
        """Keys that became ready; not calls of add."""
        return sum(counters.adds for counters in self.by_priority.values())

    @property
    def gets(self) -> int:
        """Keys handed out."""
        return sum(counters.gets for counters in self.by_priority.values())

    @property
    def depth(self) -> dict[int | str, int]:
        """The depth gauge by label; a priority that never had a ready key is absent."""
        return {label: counters.depth for label, counters in self.by_priority.items()}

    def at(self, label: int | str) -> PriorityCounters:
        """The counters of one priority, with controller-runtime's cap (research: controller-runtime 1.6).

        The 26th distinct priority sends every later change, at any priority, to one placeholder, for good. What had
        been counted under a number is then taken from the placeholder: only sums over the label stay right.
        """
        if (counters := self._uncapped.get(label) or self._capped) is not None:
            return counters
        counters = PriorityCounters()
        if len(self.by_priority) == MAX_PRIORITIES:
            self._capped = counters
            # Emptied, so that no priority is looked up under its own number any more.
            self._uncapped = {}
            label = EXCEEDED_CARDINALITY_LIMIT
        else:
            self._uncapped[label] = counters
        self.by_priority[label] = counters
        return counters

    def became_ready(self, label: int | str) -> None:
        """Count one key that is ready from now on."""
        counters = self._uncapped.get(label) or self.at(label)
        counters.adds += 1
        counters.depth += 1

    def raised(self, before: int, after: int) -> None:
        """Move one ready key from one priority to a higher one; neither adds nor its waiting time change."""
        self.at(before).depth -= 1
        self.at(after).depth += 1

    def handed_out(self, label: int | str, waited_ns: int) -> None:
        """Count one hand-off."""
        counters = self._uncapped.get(label) or self.at(label)
        counters.depth -= 1
        counters.gets += 1
        counters.queue_ns += waited_ns
        duration = self.queue_duration
        duration.buckets[bisect_left(duration.bounds_ns, waited_ns)] += 1
        duration.sum_ns += waited_ns

    def refresh_unfinished(self, now_ns: int, started_ns: dict[str, int]) -> None:
        """Set both gauges of unfinished work, as the real queue does every `UNFINISHED_WORK_PERIOD_NS`."""
        ages = [now_ns - began for began in started_ns.values()]
        self.unfinished_work_ns = sum(ages)
        self.longest_running_ns = max(ages, default=0)
