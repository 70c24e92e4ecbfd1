"""Which findings are worth a notice: those that are new or resolved since the last report. Pure; nothing is sent here.

A finding is told once when it appears and once when it is gone. One that comes and goes is told as new at most once in
each cool-down, and as resolved only where it was told as new.
"""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from advisor.model.finding import Finding, FindingCode, Severity
from advisor.model.report import Report

__all__ = ["Notice", "NoticeKind", "Notifier", "NotifyRules", "Told", "judge"]

_NO_PROBLEM: Final = frozenset({FindingCode.HEALTHY, FindingCode.INSUFFICIENT_DATA})
"""Never told: the one says that all is well, the other that nobody knows."""


class NoticeKind(enum.StrEnum):
    """What has happened to a finding."""

    NEW = "new"
    RESOLVED = "resolved"


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to tell; ``time`` is the Unix time of the report it follows from."""

    operator: str
    kind: NoticeKind
    code: FindingCode
    severity: Severity
    title: str
    summary: str
    verdict: str
    time: float


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What was told of one finding of one operator, to be remembered over a restart.

    Attributes:
        told: Unix time at which it was last told as new.
        is_open: whether it has not been told as resolved since.
        severity: as it was told.
        title: as it was told.
    """

    told: float
    is_open: bool
    severity: Severity
    title: str


@dataclass(frozen=True, slots=True)
class NotifyRules:
    """What is worth a notice.

    Attributes:
        severities: of findings that are told.
        cooldown_seconds: for so long a finding is not told as new again.
    """

    severities: frozenset[Severity] = frozenset({Severity.CRITICAL})
    cooldown_seconds: float = 6 * 3600.0


def judge(
    known: Mapping[FindingCode, Told], operator: str, time: float, report: Report, rules: NotifyRules
) -> tuple[dict[FindingCode, Told], tuple[Notice, ...]]:
    """What is to be told after a report of one operator, and what to remember for the next.

    Args:
        known: what was told of this operator before.
        operator: which one.
        time: of the report, Unix seconds.
        report: what it says; one that refuses to judge resolves nothing.
        rules: what is worth a notice.
    """
    present = _present(report.findings)
    after: dict[FindingCode, Told] = {}
    notices: list[Notice] = []
    for code, finding in present.items():
        told = known.get(code)
        # A clock that was set back must not silence a finding for longer than the cool-down.
        last = None if told is None else min(told.told, time)
        if told is not None and told.is_open:
            after[code] = msgspec.structs.replace(told, told=last)
        elif finding.severity in rules.severities and (last is None or time - last >= rules.cooldown_seconds):
            after[code] = Told(told=time, is_open=True, severity=finding.severity, title=finding.title)
            notices.append(_new(operator, time, report, finding))
        elif told is not None:
            after[code] = msgspec.structs.replace(told, told=last)
    is_blind = any(one.refuses or one.code is FindingCode.INSUFFICIENT_DATA for one in report.findings)
    for code, told in known.items():
        if code in present:
            continue
        if told.is_open and is_blind:
            after[code] = told
        elif told.is_open:
            after[code] = msgspec.structs.replace(told, is_open=False)
            notices.append(_resolved(operator, time, report, code, told))
        elif time - told.told < rules.cooldown_seconds:
            after[code] = msgspec.structs.replace(told, told=min(told.told, time))
    return after, tuple(notices)


def _present(findings: Iterable[Finding]) -> dict[FindingCode, Finding]:
    """Findings by code; of several with the same one, the gravest."""
    found: dict[FindingCode, Finding] = {}
    for one in findings:
        if one.code in _NO_PROBLEM:
            continue
        if one.code not in found or one.severity.rank < found[one.code].severity.rank:
            found[one.code] = one
    return found


def _new(operator: str, time: float, report: Report, finding: Finding) -> Notice:
    return Notice(
        operator=operator,
        kind=NoticeKind.NEW,
        code=finding.code,
        severity=finding.severity,
        title=finding.title,
        summary=finding.summary,
        verdict=report.verdict,
        time=time,
    )


def _resolved(operator: str, time: float, report: Report, code: FindingCode, told: Told) -> Notice:
    return Notice(
        operator=operator,
        kind=NoticeKind.RESOLVED,
        code=code,
        severity=told.severity,
        title=told.title,
        summary="",
        verdict=report.verdict,
        time=time,
    )


@dataclass(slots=True)
class Notifier:
    """Remembers what was told of all operators. Not for several threads at once.

    Attributes:
        rules: what is worth a notice; they may be replaced.
        known: what was told, by operator; given back to another notifier, that goes on where this one is.
    """

    rules: NotifyRules
    known: dict[str, dict[FindingCode, Told]] = field(default_factory=dict)

    def report(self, operator: str, time: float, report: Report) -> tuple[Notice, ...]:
        """What is to be told after a report."""
        after, notices = judge(self.known.get(operator, {}), operator, time, report, self.rules)
        if after:
            self.known[operator] = after
        else:
            self.known.pop(operator, None)
        return notices

    def forget(self, operators: Iterable[str]) -> None:
        """Forget what was told of operators that are no longer watched."""
        for one in operators:
            self.known.pop(one, None)
