"""What a finding's module has to provide: one rule with its page."""

from collections.abc import Callable
from dataclasses import dataclass

from advisor.diagnosis.case import Case
from advisor.model.finding import Check, Confidence, Evidence, Finding, FindingCode, Severity
from advisor.model.signal import Quality, Signal
from advisor.model.text import format_signal

__all__ = ["Page", "Rule", "check", "evidence", "finding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What ``explain`` and ``docs/findings`` say about a finding. Each part is Markdown of one or more paragraphs."""

    meaning: str
    condition: str
    refuted_by: str
    what_to_do: str
    what_not_to_do: str
    rests_on: str
    thresholds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One hypothesis. ``examine`` gives the finding where its condition holds, else None."""

    code: FindingCode
    title: str
    page: Page
    examine: Callable[[Case], Finding | None]


def evidence(text: str, signal: Signal) -> Evidence:
    """Evidence from one signal: ``text`` with the formatted value behind it."""
    return Evidence(
        text=f"{text}: {format_signal(signal)}",
        value=signal.value,
        unit=signal.unit.value,
        origin=signal.origin or (signal.missing or ""),
        quality=signal.quality,
    )


def check(question: str, answer: str, *, refuted: bool | None) -> Check:
    """Something that would refute the finding, and what the data says about it."""
    return Check(question=question, answer=answer, refuted=refuted)


def finding(  # noqa: PLR0913 - one keyword for each part of a finding
    case: Case,
    rule_code: FindingCode,
    title: str,
    *,
    severity: Severity,
    summary: str,
    confidence: Confidence = Confidence.HIGH,
    shown: tuple[Evidence, ...] = (),
    checks: tuple[Check, ...] = (),
    next_steps: tuple[str, ...] = (),
    subject: str = "",
    refuses: bool = False,
    lost_seconds: float = 0.0,
) -> Finding:
    """A finding whose share of lost time is taken from the case; estimated evidence lowers a high confidence."""
    if confidence is Confidence.HIGH and shown and all(one.quality is Quality.ESTIMATED for one in shown):
        confidence = Confidence.MEDIUM
    lost_ratio = min(1.0, lost_seconds / case.lost_seconds) if case.lost_seconds > 0 else 0.0
    return Finding(
        code=rule_code,
        severity=severity,
        confidence=confidence,
        title=title,
        summary=summary,
        evidence=shown,
        checks=checks,
        next_steps=next_steps,
        subject=subject,
        refuses=refuses,
        lost_seconds=lost_seconds,
        lost_ratio=lost_ratio,
    )
