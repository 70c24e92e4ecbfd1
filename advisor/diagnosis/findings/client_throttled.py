"""The operator's own client limiter takes the workers' time."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Requests wait in the operator's own token bucket (`--qps`, `--burst`) before they are sent. There is one "
        "bucket for each kind of object, so Pods can wait while the total rate looks harmless. A worker that waits "
        "is busy, so queue wait and reconcile time rise as well."
    ),
    condition=(
        "The share of busy worker time spent in the limiter, bounded by the limiter histogram, the API server's time "
        "and CPU, is material. Where the limiter histogram is not exposed (KubeRay before 1.7): a throttling line in "
        "the log, or workers busy while Pods are created at just the rate that QPS allows."
    ),
    refuted_by=(
        "No wait in the limiter histogram; a limiter that is switched off; a request rate that stays below QPS. "
        "Missing throttling lines refute nothing: waits under 1 s are never logged, and with one worker a wait cannot "
        "exceed 1 / QPS."
    ),
    what_to_do="Raise `--qps` and `--burst` first. Workers come after that, once the wait is gone and keys still wait.",
    what_not_to_do=(
        "Do not raise concurrency: workers that share a full bucket wait longer each and finish no more. Do not "
        "compare the total request rate with QPS: the limit is per kind."
    ),
    rests_on="Research controller-runtime 5.1 to 5.3, kuberay 1.7; reading 8.2.6 to 8.2.8 as tests.",
    thresholds=("limiter_share", "limiter_noticed_share", "limited_requests_share", "plateau_tolerance"),
)


def _examine(case: Case) -> Finding | None:
    if not causes.limiter_bound(case):
        return None
    signals = case.signals
    measured = signals.budget.client_limiter.known
    share = signals.budget.client_limiter.or_else(1.0)
    shown = [
        evidence("limiter share of busy worker time", signals.budget.client_limiter),
        evidence("limiter wait of a request, mean", signals.client.limiter_wait_seconds_mean),
        evidence("requests that waited", signals.client.limited_share),
        Evidence(text=f"QPS {_shown(signals.settings.qps.value)}, Burst {_shown(signals.settings.burst.value)}"),
    ]
    if not measured:
        shown = [
            evidence("Pods created, sustained", signals.demand.sustained_pods_per_second),
            evidence("POST requests", signals.client.post_requests_per_second),
            evidence("throttling lines in the log", signals.log.throttle_lines),
            shown[-1],
        ]
    proven = measured or signals.log.throttle_lines.at_least(1.0)
    return finding(
        case,
        FindingCode.CLIENT_THROTTLED,
        RULE.title,
        severity=Severity.CRITICAL if case.harm is Severity.CRITICAL else Severity.WARNING,
        confidence=Confidence.HIGH if proven else Confidence.MEDIUM,
        summary=(
            "Workers spend their time waiting for the client's own rate limiter, not for the API server: more workers "
            "would only wait longer each."
            if measured
            else "Pods are created at just the rate that QPS allows while workers are busy: the client limiter is "
            "full. This release does not expose the wait itself."
        ),
        shown=tuple(shown),
        checks=(
            check(
                "Is the API server slow instead?",
                evidence("mean time of a request at the API server", signals.client.api_seconds_mean).text,
                refuted=False if measured else None,
            ),
        ),
        next_steps=("raise QPS and Burst as advised; look at concurrency again when the limiter wait is gone",),
        subject=signals.log.throttled_kind,
        lost_seconds=share * (case.waiting.backlog_key_seconds + case.busy_seconds),
    )


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"


RULE = Rule(
    code=FindingCode.CLIENT_THROTTLED,
    title="The operator's own client limiter takes the time",
    page=_PAGE,
    examine=_examine,
)
