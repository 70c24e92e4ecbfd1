"""What is predicted, in words; the unit stands with each value."""

from typing import Final

__all__ = ["quantity_words"]

_WORDS: Final = {
    "queue_wait_seconds_mean": "mean queue wait",
    "ready_seconds_mean": "mean time until ready",
    "drain_seconds": "time to drain",
    "limiter_wait_seconds_mean": "mean limiter wait",
    "api_requests_per_second": "API requests",
    "cpu_cores": "CPU",
}


def quantity_words(name: str) -> str:
    """A quantity by its name in a report."""
    return _WORDS.get(name, name.replace("_", " "))
