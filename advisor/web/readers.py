"""How often each reader may ask for what takes a core for a while. No clock of its own."""

from typing import Final

from advisor.queueing.tokenbucket import TokenBucket

__all__ = ["Readers"]

_MOST_READERS: Final = 1000


class Readers:
    """A token bucket for each reader: so many at once, and then so many a minute. Not for several threads at once.

    Args:
        per_minute: how many; at least one.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._buckets: dict[str, TokenBucket] = {}

    def wait_seconds(self, reader: str, now: float) -> float:
        """Count a question, unless the reader has asked too often: then how long to wait, and nothing is counted.

        Args:
            reader: who asks.
            now: seconds of a clock that never goes back.
        """
        now_ns = round(now * 1e9)
        # The one that asked last stands last; of too many the first has waited longest, so that its bucket is full.
        bucket = self._buckets.pop(reader, None) or TokenBucket(self._per_minute / 60.0, self._per_minute)
        self._buckets[reader] = bucket
        if len(self._buckets) > _MOST_READERS:
            del self._buckets[next(iter(self._buckets))]
        lacking = 1.0 - bucket.tokens(now_ns)
        if lacking > 0.0:
            return lacking / bucket.qps
        bucket.reserve(now_ns)
        return 0.0
