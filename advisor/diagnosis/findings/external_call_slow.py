"""Workers wait for Ray dashboards, which no client series sees."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "RayJob and RayService reconciles ask the Ray dashboard or Serve over HTTP while they hold a worker. These "
        "calls are in no `rest_client_*` series and pass no limiter. Slow or dead heads keep workers busy while the "
        "API server is idle."
    ),
    condition=(
        "The busy time of the controllers that make such calls cannot be explained by the API server, the limiter and "
        "CPU together: what is left over is at least half of it."
    ),
    refuted_by=(
        "Request durations that account for the time, a CPU quota that stops the process, or a client limiter that "
        "binds without showing its wait."
    ),
    what_to_do=(
        "Find the heads that answer slowly (the log names the job or service). Until they are mended, more workers do "
        "help here: the time is spent waiting for others, at little cost to the API server."
    ),
    what_not_to_do="Do not tune QPS or Burst: these calls do not pass the limiter.",
    rests_on="Research kuberay 4.2, 4.3, 2.3 and cases 7 to 10.",
    thresholds=("external_share", "idle_workers", "slow_write_seconds", "wait_warning_seconds", "wait_target_seconds"),
)


_SUCH_AS = ", such as Ray dashboards"
_KUBERAY_STEPS = (
    "look for time-outs and slow answers of the dashboards in the log (Failed to get job info)",
    "check the network path to the head services, or the Kubernetes proxy if it is used",
)
_OTHER_STEPS = (
    "look for time-outs and slow answers of what the operator calls in its log",
    "check the network path to it, and whether calls have a time-out",
)


def _severity(case: Case) -> Severity:
    """As the wait is; calls that time out are worth a warning even where nobody waits yet."""
    if case.harm is Severity.INFO and case.signals.external.timeouts_per_second.or_else(0.0) > 0.0:
        return Severity.WARNING
    return case.harm


def _examine(case: Case) -> Finding | None:
    if not causes.external_bound(case):
        return None
    signals = case.signals
    worst = max(case.external_controllers, key=lambda one: one.busy_worker_seconds.or_else(0.0))
    measured = signals.budget.external.known
    share = signals.budget.external.or_else(causes.external_controllers_busy_share(case))
    kuberay = signals.profile.is_kuberay
    return finding(
        case,
        FindingCode.EXTERNAL_CALL_SLOW,
        RULE.title,
        severity=_severity(case),
        confidence=Confidence.HIGH if measured else Confidence.MEDIUM,
        summary=(
            f"Workers of {worst.controller} wait for answers from outside{_SUCH_AS if kuberay else ''}: API server, "
            f"limiter and CPU together cannot explain their time."
        ),
        shown=(
            evidence("share of busy worker time outside API server, limiter and CPU", signals.budget.external),
            evidence(f"time of one {worst.controller} reconcile, mean", worst.work_seconds_mean),
            evidence(f"workers of {worst.controller} busy", worst.utilisation),
            evidence("queue wait, mean", worst.queue_wait_seconds_mean),
            evidence("longest reconcile", worst.longest_running_seconds),
            evidence("time of a request at the API server, mean", signals.client.api_seconds_mean),
        ),
        checks=(
            check(
                "Can the API server's time explain it?",
                evidence("API server's share at most", signals.budget.api_server).text,
                refuted=False if measured else None,
            ),
        ),
        next_steps=_KUBERAY_STEPS if kuberay else _OTHER_STEPS,
        subject=worst.controller,
        lost_seconds=share * (case.waiting.backlog_key_seconds + case.busy_seconds),
    )


RULE = Rule(
    code=FindingCode.EXTERNAL_CALL_SLOW,
    title="Workers wait for slow external calls",
    page=_PAGE,
    examine=_examine,
)
