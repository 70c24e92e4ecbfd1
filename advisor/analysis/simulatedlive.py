"""A simulated operator in step with a clock, so that others can look at it while it runs."""

import threading
import time
from collections.abc import Callable

from advisor.sources.feed import Feed
from advisor.twin.exposed import Family, Operator, container_families, operator_families

__all__ = ["LiveOperator"]

_SLICE_NS = 100_000_000
_LONGEST_CATCH_UP_SECONDS = 0.2


class LiveOperator:
    """Goes on with the clock, also beyond the end of its workload: the operator idles then.

    Safe to use from several threads.

    Args:
        operator: goes on from where it is.
        pace: virtual seconds for each of the clock's.
        clock: seconds that never go back.

    Attributes:
        log: lines of its log.
        objects: lines of object changes.
    """

    def __init__(self, operator: Operator, pace: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.log = Feed()
        self.objects = Feed()
        self._operator = operator
        self._pace = pace
        self._clock = clock
        self._begin = clock() - operator.simulation.engine.now_ns / 1e9 / pace
        self._lock = threading.Lock()
        with self._lock:
            self._publish()

    @property
    def seconds(self) -> float:
        """Virtual time."""
        return self._operator.simulation.engine.now_ns / 1e9

    @property
    def is_over(self) -> bool:
        """Whether the workload has come to its end."""
        with self._lock:
            return self._operator.is_over

    def catch_up(self) -> float:
        """Go on as far as the clock, or for a moment; how many virtual seconds are still missing."""
        with self._lock:
            return self._catch_up()

    def metrics(self) -> list[Family]:
        """What the operator's own endpoint answers now; nothing while it is down."""
        with self._lock:
            self._catch_up()
            return list(operator_families(self._operator))

    def container_metrics(self) -> list[Family]:
        """What kubelet and kube-state-metrics answer about its container now; nothing while there is none."""
        with self._lock:
            self._catch_up()
            return list(container_families(self._operator))

    def _catch_up(self) -> float:
        engine = self._operator.simulation.engine
        began = self._clock()
        target_ns = round((began - self._begin) * self._pace * 1e9)
        # In pieces, so that nobody waits long where it cannot keep up.
        while engine.now_ns < target_ns:
            self._operator.live(min(target_ns, engine.now_ns + _SLICE_NS))
            if self._clock() - began > _LONGEST_CATCH_UP_SECONDS:
                break
        self._publish()
        return max(0.0, (target_ns - engine.now_ns) / 1e9)

    def _publish(self) -> None:
        watcher = self._operator.watcher
        for lines, feed in ((watcher.log.lines, self.log), (watcher.objects.lines, self.objects)):
            feed.add(lines)
            lines.clear()
