"""What is measured and predicted, in words, for reports, what-ifs and pages; the unit stands with each value."""

from typing import Final

__all__ = ["quantity_words"]

_WORDS: Final = {
    "queue_wait_seconds_mean": "mean queue wait",
    "ready_seconds_mean": "mean time until ready",
    "makespan_seconds": "time until all is ready",
    "drain_seconds": "time to drain",
    "limiter_wait_seconds_mean": "mean limiter wait",
    "api_requests_per_second": "API requests",
    "requests_per_second": "API requests",
    "cpu_cores": "CPU",
    "utilisation": "busy workers",
}


def quantity_words(name: str) -> str:
    """A quantity by its name in a report."""
    return _WORDS.get(name, name.replace("_", " "))
