"""How often the operator may be scraped: a scrape makes it list its objects, and that comes out of its CPU."""

from dataclasses import dataclass

__all__ = ["Pacing", "PacingRules", "WideReading"]

_QUOTA_PERIOD_SECONDS = 0.1
"""Linux hands out a CPU limit in pieces of this length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PacingRules:
    """What pacing goes by.

    Raises:
        ValueError: one is not positive, or the longest interval is shorter than the default.
    """

    default_seconds: float = 5.0
    """From one scrape to the next while they are cheap: five seconds show bursts that a minute hides."""
    longest_seconds: float = 60.0
    """However dear they are: rarer scrapes would tell less than the operator's own Prometheus."""
    cpu_limit_cores: float = 0.1
    """The operator's CPU limit; KubeRay's chart sets 100m."""
    cpu_share: float = 0.02
    """Of that limit, what all scrapes together may take: too little to change what is measured."""

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if min(self.default_seconds, self.cpu_limit_cores, self.cpu_share) <= 0.0:
            raise ValueError("an interval, a CPU limit and a share are more than zero")
        if self.longest_seconds < self.default_seconds:
            raise ValueError(f"an interval is at most {self.longest_seconds:g} s")

    def cpu_seconds(self, took_seconds: float) -> float:
        """CPU that a scrape may have taken from the operator, at most.

        It took no longer than its answer, and under the limit no more than the pieces of quota that the answer's time
        touches: a throttled operator answers late, but not because the scrape is dear. The second bound in proportion
        to the limit is the same for any limit, so one that is larger than stated leads to no more scrapes.
        """
        return min(took_seconds, self.cpu_limit_cores * (took_seconds + 2.0 * _QUOTA_PERIOD_SECONDS))


class Pacing:
    """When to scrape next, in such a way that the CPU of all scrapes stays below its share.

    Cheap scrapes leave something over, up to one longest interval's worth; dear ones use it up, and then each waits
    until it is paid for. So one slow answer changes nothing, many do, and cheap ones lead back to the default.
    """

    def __init__(self, rules: PacingRules) -> None:
        self._rules = rules
        self._cores = rules.cpu_share * rules.cpu_limit_cores
        self._saved = 0.0
        self._interval = rules.default_seconds

    @property
    def interval_seconds(self) -> float:
        """From the last scrape's begin to the next."""
        return self._interval

    def took(self, seconds: float) -> float:
        """Learn how long a scrape took; seconds from its begin to that of the next one.

        A failed scrape counts as well: the operator may have worked for it.
        """
        rules = self._rules
        self._saved -= rules.cpu_seconds(max(0.0, seconds))
        wanted = max(rules.default_seconds, seconds, -self._saved / self._cores)
        self._interval = min(rules.longest_seconds, wanted)
        # What is not paid by then is let off; what is left over is kept within bounds.
        most = rules.longest_seconds * self._cores
        self._saved = min(most, max(0.0, self._saved + self._interval * self._cores))
        return self._interval


class WideReading:
    """Whether the series that exist once an object are read this time: ten thousand take a third of a CPU second.

    They are read as often as takes at most a hundredth of a core, so always while there are few.
    """

    _CORES = 0.01

    def __init__(self) -> None:
        self._due = float("-inf")

    def is_due(self, now: float) -> bool:
        """Whether it is time, in seconds of the clock that :meth:`read` is given."""
        return now >= self._due

    def read(self, now: float, cpu_seconds: float) -> None:
        """Learn that they were read, and the CPU that this process took for the scrape."""
        self._due = now + cpu_seconds / self._CORES
