"""How long what is kept, in seconds."""

from dataclasses import dataclass
from typing import Final

__all__ = [
    "ALL_REPORTS_SECONDS",
    "CHANGES_SECONDS",
    "DAY",
    "FAILURES_SECONDS",
    "HOUR",
    "REPORTS_AN_HOUR",
    "REPORTS_SECONDS",
    "TIERS",
    "Tier",
]

HOUR: Final = 3600.0
DAY: Final = 86_400.0

ALL_REPORTS_SECONDS: Final = 2 * DAY
REPORTS_SECONDS: Final = 30 * DAY
FAILURES_SECONDS: Final = 30 * DAY
CHANGES_SECONDS: Final = 365 * DAY

REPORTS_AN_HOUR: Final = 12
"""At most so many of an hour that is thinned, even where each differs from the one before: verdicts may flap."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Samples of one resolution.

    Attributes:
        bucket_seconds: of each so much one scrape stays; 0 where all do.
        keep_seconds: how old samples get before the next tier takes them, or, of the last one, nobody.
        block_seconds: so much of time is taken from the tier above at once, and becomes blocks.
    """

    bucket_seconds: float
    keep_seconds: float
    block_seconds: float


TIERS: Final = (
    Tier(bucket_seconds=0.0, keep_seconds=2 * HOUR, block_seconds=0.0),
    Tier(bucket_seconds=60.0, keep_seconds=2 * DAY, block_seconds=HOUR),
    Tier(bucket_seconds=600.0, keep_seconds=30 * DAY, block_seconds=DAY),
)
