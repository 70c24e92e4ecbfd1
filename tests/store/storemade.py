"""What the tests of the history keep in it."""

from typing import Final

from advisor.model.advice import Direction
from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.fleet import FleetFailure, FleetKnob, FleetVerdict

__all__ = ["FAILURE", "HOUR", "NOW", "document_of", "failure", "samples_of", "verdict"]

NOW: Final = 1_800_000_000.0
"""A whole hour and a whole day of Unix time would be 1 799 971 200."""
HOUR: Final = 3600.0

FAILURE: Final = FleetFailure(error="no answer", where="http://a", hint="look", exit_code=3)


def failure(error: str) -> FleetFailure:
    """A failure with this error."""
    return FleetFailure(error=error, where="", hint="", exit_code=3)


def verdict(
    finding: FindingCode = FindingCode.HEALTHY, *, concurrency: float | None = None, wait_seconds: float = 0.25
) -> FleetVerdict:
    """A verdict that advises this concurrency."""
    keep = FleetKnob(direction=Direction.KEEP, current=100.0, value=100.0)
    moved = FleetKnob(direction=Direction.RAISE, current=1.0, value=concurrency)
    return FleetVerdict(
        version="1.7.0",
        verdict="All is well.",
        finding=finding,
        severity=Severity.INFO,
        confidence=Confidence.HIGH,
        lost_seconds=0.0,
        concurrency=keep if concurrency is None else moved,
        qps=keep,
        burst=keep,
        queue_wait_seconds=wait_seconds,
        data_until=NOW,
        notes=0,
    )


def document_of(number: int, length: int = 400) -> bytes:
    """A document like a report: mostly as the others, with figures of its own."""
    lines = (f'{{"quantity": "figure {at}", "value": {(at * 7919 + number * 31) % 1000}}}' for at in range(length))
    return "\n".join(lines).encode()


def samples_of(adds: float, depth: float, **labels: str) -> list[tuple[str, tuple[tuple[str, str], ...], float]]:
    """A scrape of a counter and a gauge."""
    pairs = tuple(sorted({"name": "raycluster", **labels}.items()))
    return [("workqueue_adds_total", pairs, adds), ("workqueue_depth", pairs, depth)]
