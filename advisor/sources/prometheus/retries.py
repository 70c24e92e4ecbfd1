"""When to ask a store again that is overloaded or was not reached."""

from email.utils import parsedate_to_datetime
from random import Random

from advisor.sources.logtime import unix_seconds
from advisor.sources.prometheus.failures import Failure
from advisor.sources.prometheus.limits import Limits
from advisor.sources.scraping import Clock

__all__ = ["Retries", "retry_after_seconds"]


class Retries:
    """The attempts at one request, bounded in number and time.

    Args:
        limits: the bounds.
        clock: the clock.
        random: shortens pauses, so that clients that failed together do not come back together.
    """

    def __init__(self, limits: Limits, clock: Clock, random: Random) -> None:
        self._limits = limits
        self._clock = clock
        self._random = random
        self._end = clock.monotonic() + limits.total_seconds
        self._once = False
        self.attempts = 1

    @property
    def left_seconds(self) -> float:
        """Time for all that is still to come."""
        return max(0.0, self._end - self._clock.monotonic())

    def pause_seconds(self, failure: Failure) -> float | None:
        """How long to wait before the next attempt, which is counted; None where there is none."""
        if not failure.again or self.attempts >= self._limits.attempts or (failure.once and self._once):
            return None
        longest = self._limits.longest_pause_seconds
        pause = min(longest, self._limits.first_pause_seconds * 2.0 ** (self.attempts - 1))
        pause *= self._random.uniform(0.5, 1.0)
        if failure.retry_after is not None:
            pause = max(pause, min(longest, failure.retry_after))
        if pause >= self.left_seconds:
            return None
        self._once = self._once or failure.once
        self.attempts += 1
        return pause


def retry_after_seconds(text: str | None, now: float) -> float | None:
    """Seconds of a header ``Retry-After``, which has a number or a date; None where it has neither.

    Args:
        text: the header.
        now: Unix seconds.
    """
    if text is None:
        return None
    if text.strip().isdecimal():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, unix_seconds(moment) - now)
