"""How long what is kept, in seconds."""

import math
from dataclasses import dataclass
from typing import Final

__all__ = [
    "DAY",
    "HOUR",
    "REPORTS_AN_HOUR",
    "TIERS",
    "Retention",
    "Tier",
]

HOUR: Final = 3600.0
DAY: Final = 86_400.0

REPORTS_AN_HOUR: Final = 12
"""At most so many of an hour that is thinned, even where each differs from the one before: verdicts may flap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How old what is kept may get.

    Attributes:
        each_report_seconds: every report; of older ones stay the last of each hour, and those that say something new.
        reports_seconds: any report.
        failures_seconds: an analysis that failed.
        changes_seconds: a change of a setting.
        samples_seconds: a sample, however coarse.
    """

    each_report_seconds: float = 2 * DAY
    reports_seconds: float = 30 * DAY
    failures_seconds: float = 30 * DAY
    changes_seconds: float = 365 * DAY
    samples_seconds: float = 30 * DAY


@dataclass(frozen=True, slots=True)
class Tier:
    """Samples of one resolution.

    Attributes:
        bucket_seconds: of each so much one scrape stays; 0 where all do.
        keep_seconds: how old samples get before the next tier takes them; those of the last one go with `Retention`.
        block_seconds: so much of time is taken from the tier above at once, and becomes blocks.
    """

    bucket_seconds: float
    keep_seconds: float
    block_seconds: float


TIERS: Final = (
    Tier(bucket_seconds=0.0, keep_seconds=2 * HOUR, block_seconds=0.0),
    Tier(bucket_seconds=60.0, keep_seconds=2 * DAY, block_seconds=HOUR),
    Tier(bucket_seconds=600.0, keep_seconds=math.inf, block_seconds=DAY),
)
