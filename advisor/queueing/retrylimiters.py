"""How long keys that failed wait: the limiters of client-go that controller-runtime uses.

With the priority queue there is the exponential delay of each key alone; the classic queue has a token bucket over all
keys of a controller as well (research: controller-runtime 1.8, 3.4).
"""

from advisor.queueing.tokenbucket import TokenBucket
from advisor.queueing.types import NANOSECONDS_PER_SECOND, RetryLimiter

__all__ = [
    "ExponentialLimiter",
    "MaxOfLimiter",
    "OverallBucketLimiter",
    "default_classic_limiter",
    "default_priority_limiter",
]

BASE_DELAY_NS = 5_000_000
MAX_DELAY_NS = 1_000 * NANOSECONDS_PER_SECOND
OVERALL_QPS = 10.0
OVERALL_BURST = 100


class ExponentialLimiter:
    """A delay that doubles with each failure of a key; failures never age, only `forget` drops them."""

    __slots__ = ("_delays_ns", "_failures")

    def __init__(self, base_ns: int = BASE_DELAY_NS, max_ns: int = MAX_DELAY_NS) -> None:
        """Settings.

        Args:
            base_ns: delay after the first failure in nanoseconds, above zero.
            max_ns: the longest delay in nanoseconds, above zero.

        Raises:
            ValueError: one of them is not above zero.
        """
        if base_ns <= 0 or max_ns <= 0:
            raise ValueError(f"delays must be above 0 ns, not {base_ns} and {max_ns}")
        delays = [base_ns]
        while delays[-1] < max_ns:
            delays.append(delays[-1] * 2)
        delays[-1] = max_ns
        self._delays_ns = tuple(delays)
        self._failures: dict[str, int] = {}

    def when_ns(self, now_ns: int, key: str) -> int:  # noqa: ARG002 - the protocol's argument, for limiters with a clock
        """Count one more failure of the key and return its delay in nanoseconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        delays = self._delays_ns
        return delays[failures] if failures < len(delays) else delays[-1]

    def forget(self, key: str) -> None:
        """Drop the key's failures."""
        self._failures.pop(key, None)

    def num_requeues(self, key: str) -> int:
        """Failures counted since the key was last forgotten."""
        return self._failures.get(key, 0)

    def __len__(self) -> int:
        """Keys with failures: those that end in a terminal error are never forgotten."""
        return len(self._failures)


class OverallBucketLimiter:
    """A token bucket over all keys: each failure of any key reserves one token, so delays have no upper bound."""

    __slots__ = ("bucket",)

    def __init__(self, qps: float = OVERALL_QPS, burst: int = OVERALL_BURST) -> None:
        """Settings of the bucket.

        Raises:
            ValueError: as `TokenBucket`.
        """
        self.bucket = TokenBucket(qps, burst)

    def when_ns(self, now_ns: int, key: str) -> int:  # noqa: ARG002 - the protocol's argument, for limiters by key
        """Reserve one token and return how long it takes to come, in nanoseconds."""
        return self.bucket.reserve(now_ns) - now_ns

    def forget(self, key: str) -> None:
        """Do nothing: tokens taken are not given back."""

    def num_requeues(self, key: str) -> int:  # noqa: ARG002 - the protocol's argument, for limiters by key
        """Return 0: keys are not told apart."""
        return 0


class MaxOfLimiter:
    """The longest delay of several limiters; all of them are asked each time."""

    __slots__ = ("_limiters",)

    def __init__(self, *limiters: RetryLimiter) -> None:
        self._limiters = limiters

    def when_ns(self, now_ns: int, key: str) -> int:
        """Count one more failure with every limiter and return the longest delay in nanoseconds; 0 without any."""
        return max((limiter.when_ns(now_ns, key) for limiter in self._limiters), default=0)

    def forget(self, key: str) -> None:
        """Drop the key's failures everywhere."""
        for limiter in self._limiters:
            limiter.forget(key)

    def num_requeues(self, key: str) -> int:
        """The most failures that one of the limiters holds."""
        return max((limiter.num_requeues(key) for limiter in self._limiters), default=0)


def default_priority_limiter() -> ExponentialLimiter:
    """What a controller with the priority queue has: 5 ms doubling to 1000 s for each key, nothing overall."""
    return ExponentialLimiter()


def default_classic_limiter() -> MaxOfLimiter:
    """What a controller with the classic queue has: the same, and 10/s with burst 100 over all its keys."""
    return MaxOfLimiter(ExponentialLimiter(), OverallBucketLimiter())
