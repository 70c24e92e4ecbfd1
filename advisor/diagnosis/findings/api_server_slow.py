"""The API server answers slowly or sheds load."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity
from advisor.model.signals import ApiServerSignals

_PAGE = Page(
    meaning=(
        "Reconciles take long because each write takes long at the API server, or because the server refuses part of "
        "the requests with 429 and the client sleeps for what Retry-After says. The controller is the messenger."
    ),
    condition=(
        "Request duration less limiter wait, per write, is far above a healthy server's, and such time is most of a "
        "busy worker's second; or a material part of the answers is 429. Without request durations the time per write "
        "is inferred from the busy time of controllers that call nothing but the API server."
    ),
    refuted_by=(
        "The limiter's own wait, which the exported request duration contains; a CPU quota that stops this process, "
        "which stretches every request as it sees it."
    ),
    what_to_do=(
        "Look at the API server and etcd: latency by verb and resource, priority and fairness, admission webhooks, "
        "disk. If latency rises only with this operator's load, its concurrency is already past what the server gives."
    ),
    what_not_to_do="Do not raise concurrency or QPS: more requests at once make a slow server slower.",
    rests_on="Research controller-runtime 5.2, 8.2.7; kuberay 2.3. Field: peers, point 4.",
    thresholds=(
        "slow_write_seconds",
        "usual_write_seconds",
        "api_share",
        "too_many_requests_ratio",
        "fewest_errors",
        "target_utilisation",
    ),
)


def _severity(case: Case) -> Severity:
    if causes.one_at_a_time(case):
        return Severity.INFO  # a worker alone waits for latency; another one would help
    if case.harm is not Severity.INFO:
        return case.harm
    mostly_busy = any(one.utilisation.at_least(case.thresholds.target_utilisation) for one in case.signals.controllers)
    return Severity.WARNING if mostly_busy or causes.server_sheds_load(case) else Severity.INFO


def _confidence(case: Case) -> Confidence:
    """High where the time is measured and a CPU quota, which looks alike from inside, is known not to be why.

    A 429 is the server's own word.
    """
    if causes.server_sheds_load(case):
        return Confidence.HIGH
    if not case.signals.client.write_api_seconds_mean.known:
        return Confidence.LOW
    return Confidence.HIGH if case.signals.process.cpu_throttled_ratio.known else Confidence.MEDIUM


def _examine(case: Case) -> Finding | None:
    if not causes.api_slow(case):
        return None
    signals = case.signals
    shedding = causes.server_sheds_load(case)
    lost = causes.excess_share(case) * (case.waiting.backlog_key_seconds + case.busy_seconds)
    return finding(
        case,
        FindingCode.API_SERVER_SLOW,
        RULE.title,
        severity=_severity(case),
        confidence=_confidence(case),
        summary=(
            "The API server refuses part of the requests (429) and workers sleep until it lets them through."
            if shedding
            else "Workers spend their time waiting for the API server's answers, and each write takes unusually long."
        ),
        shown=(
            evidence("time of a write at the API server, mean", signals.client.write_api_seconds_mean),
            evidence("API server's share of busy worker time", signals.budget.api_server),
            evidence("time of a write by the workers' busy time", signals.client.inferred_write_seconds_mean),
            evidence("answers 429", signals.client.too_many_requests_ratio),
            evidence("requests in flight, mean", signals.client.in_flight),
            *_own_words(signals.api_server),
        ),
        checks=(
            check(
                "Is it the client's own limiter?",
                evidence("limiter share of busy worker time", signals.budget.client_limiter).text,
                refuted=False if signals.budget.client_limiter.known else None,
            ),
            check(
                "Is the process stopped by a CPU quota?",
                evidence("CPU periods throttled", signals.process.cpu_throttled_ratio).text,
                refuted=False if signals.process.cpu_throttled_ratio.known else None,
            ),
        ),
        next_steps=(
            "compare with apiserver_request_duration_seconds and etcd_request_duration_seconds of the control plane",
            "look for admission webhooks on pods and rayclusters",
        ),
        lost_seconds=lost,
    )


def _own_words(server: ApiServerSignals | None) -> tuple[Evidence, ...]:
    """What the API server says of itself, where its own series are there."""
    if server is None:
        return ()
    return (
        evidence("time of a write by the API server's own series, mean", server.write_seconds_mean),
        evidence("answers 429 by the API server's own series", server.rejected_per_second),
    )


RULE = Rule(
    code=FindingCode.API_SERVER_SLOW,
    title="The API server is slow or sheds load",
    page=_PAGE,
    examine=_examine,
)
