"""Findings: what holds an operator back, with evidence and what was checked against it."""

import enum

import msgspec

from advisor.model.signal import Quality

__all__ = ["Check", "Confidence", "Evidence", "Finding", "FindingCode", "Severity"]


class FindingCode(enum.StrEnum):
    """Every code that a finding can have."""

    WORKERS_SATURATED = "workers-saturated"
    CLIENT_THROTTLED = "client-throttled"
    API_SERVER_SLOW = "api-server-slow"
    HOT_KEY = "hot-key"
    EXTERNAL_CALL_SLOW = "external-call-slow"
    ERROR_RETRIES = "error-retries"
    QUEUE_LIMITER_BOUND = "queue-limiter-bound"
    WRITE_CONFLICTS = "write-conflicts"
    CPU_LIMITED = "cpu-limited"
    MEMORY_LIMITED = "memory-limited"
    OVER_PROVISIONED = "over-provisioned"
    CONTENTION = "contention"
    RESYNC_LOAD = "resync-load"
    PRIORITY_STARVATION = "priority-starvation"
    CACHE_LAG = "cache-lag"
    NOT_LEADER = "not-leader"
    SETTING_NOT_APPLIED = "setting-not-applied"
    METRICS_MISSING = "metrics-missing"
    METRICS_MISREAD = "metrics-misread"
    BOTTLENECK_ELSEWHERE = "bottleneck-elsewhere"
    INSUFFICIENT_DATA = "insufficient-data"
    HEALTHY = "healthy"


class Severity(enum.StrEnum):
    """How much a finding matters now."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for what matters most."""
        return list(Severity).index(self)


class Confidence(enum.StrEnum):
    """How sure a finding is, given the quality of its evidence."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One figure that supports a finding: text for people, the number, and where it comes from."""

    text: str
    value: float | None = None
    unit: str = ""
    origin: str = ""
    quality: Quality = Quality.EXACT


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Something that would refute a finding. ``refuted`` is None when the data could not tell."""

    question: str
    answer: str
    refuted: bool | None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding about one episode.

    ``refuses`` says that no advice on any setting may rest on this episode. ``lost_seconds`` is the waiting time (key,
    worker or cluster seconds) that the finding explains, and ``lost_ratio`` its share of all that was lost in the
    episode; findings are ranked by it.
    """

    code: FindingCode
    severity: Severity
    confidence: Confidence
    title: str
    summary: str
    evidence: tuple[Evidence, ...]
    checks: tuple[Check, ...] = ()
    next_steps: tuple[str, ...] = ()
    subject: str = ""
    refuses: bool = False
    lost_seconds: float = 0.0
    lost_ratio: float = 0.0
