"""Series that an operator of this kind exposes are not there."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Series that every controller-runtime operator has are absent, or a part that this release should have is. An "
        "absent series is not a zero, and what rests on it is unknown."
    ),
    condition="Core series are absent while others of the same process are there, or client durations are not exposed.",
    refuted_by="A standby replica, which has no controller series by design.",
    what_to_do=(
        "Scrape the operator's own port 8080, check metric relabelling and that no library has taken the workqueue "
        "provider; from KubeRay 1.7 the client's durations and limiter waits are exposed as well."
    ),
    what_not_to_do="Do not read an absent series as nothing happening.",
    rests_on="Research controller-runtime 6 (rows 17, 18), 8.2.5, 8.2.10; kuberay 1.6.",
)


def _blind(case: Case) -> bool:
    """Queue series are absent, and for a controller that works nothing tells whether its keys wait."""
    if not any(name.startswith("workqueue_") for name in case.signals.absent_series):
        return False
    return any(
        one.reconciles.or_else(0.0) > 0.0 and not (one.waiting_key_seconds.known or one.queue_wait_seconds_mean.known)
        for one in case.signals.controllers
    )


def _examine(case: Case) -> Finding | None:
    signals = case.signals
    absent = signals.absent_series
    if signals.process.leader.below(0.5) and not signals.controllers:
        return None  # a standby has none of them by design
    client_known = signals.client.request_seconds_mean.known or not signals.client.requests_per_second.at_least(0.001)
    if not absent and client_known:
        return None
    shown = [Evidence(text=f"absent: {name}") for name in absent]
    if not client_known:
        shown.append(evidence("request duration", signals.client.request_seconds_mean))
        if not signals.settings.limiter_off:
            shown.append(evidence("limiter wait", signals.client.limiter_wait_seconds_mean))
    return finding(
        case,
        FindingCode.METRICS_MISSING,
        RULE.title,
        severity=Severity.WARNING if absent else Severity.INFO,
        confidence=Confidence.HIGH,
        summary=(
            "Core series of the operator are absent, so part of the diagnosis is blind."
            if absent
            else "This operator does not expose how long its requests take or wait; both are inferred where possible."
        ),
        shown=tuple(shown),
        refuses=_blind(case),
        next_steps=("scrape the operator's port 8080 without dropping series",) if absent else (),
    )


RULE = Rule(
    code=FindingCode.METRICS_MISSING,
    title="Series are missing",
    page=_PAGE,
    examine=_examine,
)
