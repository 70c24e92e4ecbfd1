"""Runs every rule on an episode, ranks what it finds, and picks the episode that the verdict is for."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.diagnosis.case import Case
from advisor.diagnosis.findings import RULES, insufficient_data
from advisor.diagnosis.rule import Rule
from advisor.errors import UnknownNameError, nearest
from advisor.model.finding import Finding, FindingCode, Severity
from advisor.model.signals import EpisodeKind

__all__ = ["Diagnosis", "diagnose", "rule_for", "verdict_index"]

_RANK = {Severity.CRITICAL: 2, Severity.WARNING: 1, Severity.INFO: 0}
_CONTEXT = frozenset({FindingCode.METRICS_MISSING, FindingCode.HEALTHY})
"""Findings that describe the data or the absence of trouble."""
_PLACE = {FindingCode.HEALTHY: 0, FindingCode.OVER_PROVISIONED: 0, FindingCode.METRICS_MISSING: 2}
"""Among findings of one severity: the all-clear before what hardly matters, the state of the data last."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings of one episode in rank order; never empty."""

    case: Case
    findings: tuple[Finding, ...]

    @property
    def primary(self) -> Finding:
        """The finding that explains most."""
        return self.findings[0]

    @property
    def refuses(self) -> bool:
        """Whether no advice may rest on this episode."""
        return any(one.refuses for one in self.findings)


def rule_for(code: str) -> Rule:
    """The rule of a finding code.

    Raises:
        UnknownNameError: no rule has that code.
    """
    for rule in RULES:
        if rule.code == code:
            return rule
    known = sorted(rule.code for rule in RULES)
    raise UnknownNameError(f"there is no finding {code!r}", where="explain", hint=nearest(code, known))


def diagnose(case: Case) -> Diagnosis:
    """Every finding that holds, ranked by severity and then by the lost time that it explains.

    A refusal stands alone with what explains it. ``healthy`` stays only where nothing is a problem; where it does not
    hold either, keys wait for an unknown reason and that is said.
    """
    found = {rule.code: one for rule in RULES if (one := rule.examine(case)) is not None}
    problem = any(_is_problem(one) and not one.refuses for code, one in found.items() if code not in _CONTEXT)
    if problem and not case.too_few_scrapes:
        found.pop(FindingCode.INSUFFICIENT_DATA, None)  # what the process alone tells is enough
    refusals = [one for one in found.values() if one.refuses]
    if refusals:
        context = [one for code, one in found.items() if code is FindingCode.METRICS_MISSING and not one.refuses]
        return Diagnosis(case, (*refusals, *context))
    if problem or FindingCode.OVER_PROVISIONED in found:
        found.pop(FindingCode.HEALTHY, None)
    elif FindingCode.HEALTHY not in found:
        found[FindingCode.INSUFFICIENT_DATA] = insufficient_data.unexplained(case)
    return Diagnosis(case, tuple(sorted(found.values(), key=_order)))


def _is_problem(finding: Finding) -> bool:
    return finding.severity is not Severity.INFO


def _order(finding: Finding) -> tuple[int, int, float, str]:
    place = _PLACE.get(finding.code, 1)
    return (-_RANK[finding.severity], place, -finding.lost_seconds, finding.code.value)


def verdict_index(diagnoses: Sequence[Diagnosis]) -> int:
    """Which episode the verdict is for: the one where most time was lost to something worth a warning.

    Where nothing is worth a warning it is the one after start-up in which workers were busy longest in sum: what a
    quiet hour says of the operator is less than what a burst does.
    """

    def weight(index: int) -> tuple[int, float, float]:
        one = diagnoses[index]
        severe = one.primary.severity is not Severity.INFO and not one.refuses
        settled = one.case.episode.kind is not EpisodeKind.STARTUP
        if severe:
            return (2, one.case.lost_seconds, 0.0)
        return (1 if settled else 0, one.case.busy_seconds, one.case.signals.window.seconds)

    return max(range(len(diagnoses)), key=weight)
