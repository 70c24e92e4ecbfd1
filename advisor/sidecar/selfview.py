"""What the sidecar tells of itself, and what it reads of its own process for that."""

import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["SelfView", "cpu_seconds", "resident_bytes"]

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = resource.getpagesize()


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfView:
    """The sidecar's own figures at one time; counts are since its start.

    Attributes:
        cpu_seconds: CPU time of the process.
        resident_bytes: its resident memory.
        log_lag_seconds: from the time in the last line read to now; None where no log is read, or no line came yet.
        log_lines: lines of log by outcome: parsed, unreadable, dropped.
        scrape_interval_seconds: from one scrape of the operator to the next, just now.
        scrape_seconds: how long all scrapes took together.
        scrapes: how many by outcome: ok, failed.
        component_failures: how often a part of the sidecar failed and was started again, by its name.
        throttled_seconds: pauses of the log's reader that kept the CPU budget.
        clock_jumps: how often the wall clock was set.
        memory_share: share of their usual bounds that rings and digests may hold; below 1 at the memory limit.
    """

    cpu_seconds: float
    resident_bytes: int
    log_lag_seconds: float | None = None
    log_lines: dict[str, int] = field(default_factory=dict)
    scrape_interval_seconds: float | None = None
    scrape_seconds: float = 0.0
    scrapes: dict[str, int] = field(default_factory=dict)
    component_failures: dict[str, int] = field(default_factory=dict)
    throttled_seconds: float = 0.0
    clock_jumps: int = 0
    memory_share: float = 1.0


def cpu_seconds() -> float:
    """CPU time that this process has used, user and system."""
    return time.process_time()


def resident_bytes() -> int:
    """Resident memory of this process; its largest so far where the system does not tell the present one."""
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
