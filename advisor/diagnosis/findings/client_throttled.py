"""The operator's own client limiter takes the workers' time."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity
from advisor.model.signal import Unit

_PAGE = Page(
    meaning=(
        "Requests wait in the operator's own token bucket (`--qps`, `--burst`) before they are sent. There is one "
        "bucket for each kind of object, so Pods can wait while the total rate looks harmless. A worker that waits "
        "is busy, so queue wait and reconcile time rise as well."
    ),
    condition=(
        "The share of busy worker time spent in the limiter, bounded by the limiter histogram, the API server's time "
        "and CPU, is material. Where the limiter histogram is not exposed (KubeRay before 1.7): throttling lines in "
        "the log through a material part of the time, or workers busy while Pods are created at just the rate that QPS "
        "allows. Without an object timeline: writes that cost a worker long and POST requests that may fill a bucket."
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
    thresholds=(
        "limiter_share",
        "limiter_noticed_share",
        "limited_requests_share",
        "plateau_tolerance",
        "wait_warning_seconds",
        "idle_workers",
    ),
)


def _severity(case: Case, share: float) -> Severity:
    """Nothing to act on where nobody waits: no key, hardly a worker, and no single reconcile noticeably longer."""
    if case.harm is Severity.CRITICAL:
        return case.harm
    working = case.busy_workers >= case.thresholds.idle_workers
    longest = max(
        (
            max(signal.or_else(0.0) for signal in (one.longest_running_seconds, one.reconcile_seconds_p99))
            for one in case.signals.controllers
        ),
        default=0.0,
    )
    stretched = share * longest >= case.thresholds.wait_warning_seconds
    return Severity.WARNING if case.harm is Severity.WARNING or working or stretched else Severity.INFO


def _examine(case: Case) -> Finding | None:
    if not causes.limiter_bound(case):
        return None
    signals = case.signals
    measured = signals.budget.client_limiter.known or not signals.controllers
    share = signals.budget.client_limiter.or_else(1.0)
    shown = [
        evidence("limiter share of busy worker time", signals.budget.client_limiter),
        evidence("limiter wait of a request, mean", signals.client.limiter_wait_seconds_mean),
        evidence("requests that waited", signals.client.limited_share),
        Evidence(
            text=f"QPS {_shown(signals.settings.qps.value)}, Burst {_shown(signals.settings.burst.value)}",
            value=signals.settings.qps.value,
            unit=Unit.PER_SECOND.value,
            origin=signals.settings.qps.detail,
        ),
    ]
    if not measured:
        shown = [
            evidence("Pods created, sustained", signals.demand.sustained_pods_per_second),
            evidence("POST requests", signals.client.post_requests_per_second),
            evidence("time of a write by the workers' busy time", signals.client.inferred_write_seconds_mean),
            evidence("throttling lines in the log", signals.log.throttle_lines),
            shown[-1],
        ]
    proven = measured or causes.throttled_in_log(case)
    plateau = signals.demand.sustained_pods_per_second.known
    return finding(
        case,
        FindingCode.CLIENT_THROTTLED,
        RULE.title,
        severity=_severity(case, share),
        confidence=Confidence.HIGH if proven else Confidence.MEDIUM if plateau else Confidence.LOW,
        summary=(
            "Workers spend their time waiting for the client's own rate limiter, not for the API server: more workers "
            "would only wait longer each."
            if measured
            else "Requests go out at just the rate that QPS allows while workers are busy, and each costs a worker "
            "long: the client limiter is full. This release does not expose the wait itself."
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
