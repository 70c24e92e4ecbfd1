"""A change of settings, predicted against measured: which reports may tell, and what is known of it so far.

No input or output here; times are Unix seconds.
"""

import msgspec

from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.analysis.predictioncheck import departures
from advisor.model.change import ChangeBasis, ChangeState
from advisor.model.comparison import Comparison, Outcome
from advisor.model.report import Report
from advisor.model.settings import Settings
from advisor.model.signals import EpisodeKind

__all__ = ["ChangeRules", "basis_of", "error_ratio", "is_settled", "measure", "state_of"]

_NOTHING_PREDICTED = "the report before predicted nothing, as it advised nothing else than what was set"


class ChangeRules(msgspec.Struct, frozen=True, kw_only=True):
    """When what follows a change is taken for its effect."""

    settle_seconds: float = 120.0
    """An operator starts anew to take its arguments: it lists everything, and has to win the lease, which by default
    another may hold for 15 s. After two minutes the queue that built up meanwhile is mostly worked off."""
    watch_seconds: float = 7 * 86_400.0
    """How long a comparable time is waited for. Load comes back by the day and by the week."""
    comparison: ComparisonRules = ComparisonRules()


def basis_of(before: Report, report: int, time: float, settings: Settings) -> ChangeBasis:
    """What a change is to be held against.

    Args:
        before: the last report before it.
        report: that report's id.
        time: and its time.
        settings: those in force after the change.
    """
    reason = "; ".join(departures(before.advice, settings)) if before.predictions else _NOTHING_PREDICTED
    lean = msgspec.structs.replace(before, timeline=None, keys=(), namespaces=())
    return ChangeBasis(report=report, time=time, predictions=before.predictions, reason=reason, before=lean)


def measure(before: Report, after: Report, seen: float, rules: ChangeRules) -> Comparison | None:
    """The report before a change compared with one after it; None where that is not wholly after it.

    Args:
        before: the last report before the change.
        after: a report since.
        seen: when the change was seen, which is later than when it was made.
        rules: how long it takes to settle, and what can be compared.
    """
    begin, kind = _measured_from(after)
    if begin < seen + rules.settle_seconds or kind is EpisodeKind.STARTUP:
        return None
    return compare(before, after, rules.comparison)


def _measured_from(report: Report) -> tuple[float, EpisodeKind]:
    """When the episode begins that a report's figures are of, and its kind."""
    found = next((one.episode for one in report.episodes if one.is_verdict), None)
    return (report.source.window.start, EpisodeKind.QUIET) if found is None else (found.window.start, found.kind)


def is_settled(comparison: Comparison | None) -> bool:
    """Whether a comparison is the last word on a change: one that told nothing gives way to a later one."""
    return comparison is not None and comparison.outcome is not Outcome.NOT_COMPARABLE


def state_of(
    comparison: Comparison | None, seen: float, following: float | None, now: float, rules: ChangeRules
) -> ChangeState:
    """What is known of a change.

    Args:
        comparison: what was measured after it, if anything.
        seen: when it was seen.
        following: when the next change was seen; None where there is none.
        now: the time.
        rules: how long is waited.
    """
    if is_settled(comparison):
        return ChangeState.MEASURED
    if following is not None:
        return ChangeState.OVERTAKEN
    if comparison is not None:
        return ChangeState.NOT_COMPARABLE
    return ChangeState.SETTLING if now < seen + rules.watch_seconds else ChangeState.NOT_MEASURED


def error_ratio(then: float, measured: float) -> float | None:
    """How far a prediction was off, as a part of it; above zero where more was measured. None where it was zero."""
    return measured / then - 1.0 if then else None
